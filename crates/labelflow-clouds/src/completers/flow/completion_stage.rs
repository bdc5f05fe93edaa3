//! Alternating training: the generator takes a step against the discriminator, then the discriminator against the generator.

use std::cell::RefCell;
use std::sync::mpsc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::storage::Checkpoint;
use labelflow::training::{Adam, Observer, Report};
use labelflow::{Error, Result};
use labelflow_flow::{
    Initializer, Mode, State, StatisticsRecorder, absorb, flat_weights, load_state, state,
};

use super::completion_batch::{CompletionBatch, DeviceBatch};
use super::completion_network::CompletionNetwork;
use super::completion_objective::TERMS;
use super::discriminator::Discriminator;
use super::players_step::{DISCRIMINATOR, players_step};
use crate::completers::stages::batch_slots::BatchSlots;
use crate::completers::stages::player::{Habits, OptimizerStates, Player, PlayerSlots, one_each};
use crate::completers::stages::stage::{Course, Resumed, Stage, StepResult};
use crate::completers::{CompletionDataset, PointCloudCompleter};

/// Batches that are drawn while the device computes.
const BATCHES_AHEAD: usize = 2;
/// What the numbers of a step are, after loss and length of the gradient.
const NAMES: [&str; TERMS.len() + 1] = {
    let mut names = [DISCRIMINATOR; TERMS.len() + 1];
    let mut index = 0;
    while index < TERMS.len() {
        names[index + 1] = TERMS[index];
        index += 1;
    }
    names
};

/// The two networks that are trained against each other.
#[derive(Module, Debug)]
pub struct Players {
    pub(crate) generator: CompletionNetwork,
    pub(crate) discriminator: Discriminator,
}

impl Players {
    /// Initial weights.
    pub(crate) fn init(config: &PointCloudCompleter, device: &Device) -> Self {
        let mut init = Initializer::new(config.seed, device);
        Self {
            generator: CompletionNetwork::init(config, &mut init),
            discriminator: Discriminator::init(config, &mut init),
        }
    }
}

/// Trains both players, from the start or from a checkpoint; the generator that comes back has settled statistics.
pub(crate) fn train_completion(
    config: &PointCloudCompleter,
    dataset: &CompletionDataset,
    run: &str,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<(Players, Report)> {
    if dataset.n_partials() < 2 {
        return Err(Error::data("partial clouds", "at least two", dataset.n_partials()));
    }
    let device = config.device.open()?.autodiff();
    let memory = checkpoint.as_ref().map(|checkpoint| checkpoint.memory.clone());
    let start = Resumed::at(checkpoint, Players::init(config, &device))?;
    let first_step = start.history.len() * config.steps_an_epoch(dataset);
    let max_epochs = config.training.max_epochs;
    let mut course = Course::new(run, max_epochs, start.history, observer);
    let (players, stop) = std::thread::scope(|scope| {
        let (sender, drawn) = mpsc::sync_channel(BATCHES_AHEAD);
        let stage =
            CompletionStage::new(config, dataset, start.model, start.optimizers, memory, drawn)?;
        scope.spawn(move || {
            for step in first_step.. {
                // Nobody listens any more once training has ended.
                if sender.send(CompletionBatch::draw(dataset, config, step)).is_err() {
                    break;
                }
            }
        });
        let stop = course.go_through(&stage, 0..max_epochs)?;
        Ok::<_, Error>((stage.result(), stop))
    })?;
    let players = Players {
        generator: settled(&players.generator, config, dataset)?,
        discriminator: players.discriminator.valid(),
    };
    Ok((players, course.report(stop)))
}

/// Both players in training.
struct CompletionStage<'a> {
    config: &'a PointCloudCompleter,
    dataset: &'a CompletionDataset,
    device: Device,
    generator: Player<CompletionNetwork>,
    discriminator: Player<Discriminator>,
    /// The moving average of the generator's weights.
    average: RefCell<Tensor<1>>,
    /// The batches of all steps to come, in order.
    drawn: mpsc::Receiver<Result<CompletionBatch>>,
    batches: BatchSlots<DeviceBatch>,
}

impl<'a> CompletionStage<'a> {
    fn new(
        config: &'a PointCloudCompleter,
        dataset: &'a CompletionDataset,
        players: Players,
        optimizers: OptimizerStates,
        memory: Option<State>,
        drawn: mpsc::Receiver<Result<CompletionBatch>>,
    ) -> Result<Self> {
        let device = config.device.open()?.autodiff();
        let Players { generator, discriminator } = players;
        let average = match memory {
            Some(memory) => {
                let foreign = |error| Error::data("checkpoint", "the tensors of this model", error);
                flat_weights(&load_state(generator.clone(), memory).map_err(foreign)?)
            }
            None => flat_weights(&generator),
        };
        let training = &config.training;
        let habits = Habits { max_norm: training.max_gradient_norm, ..Habits::plain(Adam::BETAS) };
        let own_habits = Habits { rate_share: training.discriminator_rate, ..habits };
        let [of_generator, of_discriminator] = one_each(optimizers)?;
        let first = CompletionBatch::draw(dataset, config, 0)?;
        Ok(Self {
            generator: Player::new(generator, habits, of_generator, &device)?,
            discriminator: Player::new(discriminator, own_habits, of_discriminator, &device)?,
            average: RefCell::new(average),
            batches: BatchSlots::new(first.on_device(config, &device.clone().inner())),
            drawn,
            config,
            dataset,
            device,
        })
    }

    /// The generator with averaged weights.
    fn averaged(&self) -> CompletionNetwork {
        self.generator.module_with(self.average.borrow().clone())
    }

    /// The players that are kept.
    fn result(&self) -> Players {
        Players {
            generator: match self.config.training.averaging {
                0.0 => self.generator.module(),
                _ => self.averaged(),
            },
            discriminator: self.discriminator.module(),
        }
    }
}

impl Stage for CompletionStage<'_> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn terms(&self) -> &[&'static str] {
        &NAMES
    }

    fn steps_an_epoch(&self) -> usize {
        self.config.steps_an_epoch(self.dataset)
    }

    fn rate(&self, step: usize) -> f64 {
        let n_steps = self.config.training.max_epochs * self.steps_an_epoch();
        self.config.training.rate(step, n_steps)
    }

    fn players(&self) -> Vec<&PlayerSlots> {
        vec![self.generator.slots(), self.discriminator.slots()]
    }

    fn write_batch(&self, _step: usize) -> Result<()> {
        let batch = self.drawn.recv().expect("batches are drawn as long as training asks")?;
        self.batches.write(batch.on_device(self.config, &self.device.clone().inner()));
        Ok(())
    }

    fn computation(&self) -> impl FnMut() -> StepResult {
        || {
            let (generator, discriminator) =
                (self.generator.playing(), self.discriminator.playing());
            players_step(self.config, generator, discriminator, self.batches.batch())
        }
    }

    /// Moves the averaged weights. At the start they remember less, so that they do not stay where training began.
    fn end_step(&self, step: usize) {
        let averaging = self.config.training.averaging;
        if averaging > 0.0 {
            let remembered = averaging.min((step + 1) as f64 / (step + 10) as f64);
            let mut average = self.average.borrow_mut();
            *average = average.clone() * remembered + self.generator.weights() * (1.0 - remembered);
        }
    }

    fn state(&self) -> State {
        state(&Players {
            generator: self.generator.module(),
            discriminator: self.discriminator.module(),
        })
    }

    fn memory(&self) -> State {
        state(&self.averaged())
    }
}

/// The generator with the statistics of many batches under its final weights.
///
/// Running ones are an average over the last ten or so, taken while the weights still moved.
fn settled(
    generator: &CompletionNetwork,
    config: &PointCloudCompleter,
    dataset: &CompletionDataset,
) -> Result<CompletionNetwork> {
    let mut generator = generator.valid();
    let device = config.device.open()?;
    for index in 0..config.training.statistics_batches {
        let batch = CompletionBatch::draw(dataset, config, index)?.on_device(config, &device);
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let encoded = generator.encode(batch.partials, mode);
        let latent = encoded.latent.sample(batch.latent_noise);
        generator.generate(latent, encoded.features, batch.noise, mode);
        generator = absorb(generator, recorder, 1.0 / (index + 1) as f64);
    }
    Ok(generator)
}

#[cfg(test)]
mod tests {
    use labelflow_flow::n_parameters;

    use super::*;

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let players = Players::init(&PointCloudCompleter::default(), &Device::flex());
        assert_eq!(n_parameters(&players.generator), 5_124_488);
        assert_eq!(n_parameters(&players.discriminator), 257_537);
    }
}
