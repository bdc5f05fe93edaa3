//! Alternating training: the generator takes a step against the discriminator, then the discriminator against the generator.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow_flow::{
    Initializer, Mode, Recording, StatisticsRecorder, absorb, flat_weights, load_state,
    n_parameters, state,
};
use serde::{Deserialize, Serialize};

use super::CompletionDataset;
use super::completion_batch::{CompletionBatch, DeviceBatch};
use super::completion_network::CompletionNetwork;
use super::completion_objective::TERMS;
use super::discriminator::Discriminator;
use super::players_step::{BatchSlots, PlayersStep, StepNumbers};
use crate::adam::Adam;
use crate::flat_module::FlatModule;
use crate::train::clip;
use crate::{
    Checkpoint, EpochEvent, EpochRecord, Error, Observer, PointCloudCompleter, Report, Result,
    StopReason,
};

/// Batches that are drawn while the device computes.
const BATCHES_AHEAD: usize = 2;

/// How training of a completer proceeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompletionTraining {
    /// Passes over the partial clouds. Default: 100.
    pub max_epochs: usize,
    /// Clouds of one step; a last batch with fewer is left out. Default: 32.
    pub batch_size: usize,
    /// Adam's step size, of both players. Default: 5e-4.
    pub learning_rate: f64,
    /// The discriminator's step size as a share of it. Default: 1.
    pub discriminator_rate: f64,
    /// The step size grows over so many steps at the start. Default: 100.
    pub warmup_steps: usize,
    /// The share of the step size that is left at the end; it falls along half a cosine. 1 keeps it constant. Default: 0.02.
    pub final_rate: f64,
    /// Longer gradients are shortened to this norm. Default: 1000.
    pub max_gradient_norm: f64,
    /// The generator that is kept is a moving average of its weights, which remembers this share from step to step. 0 keeps the last
    /// weights. Default: 0.999.
    pub averaging: f64,
    /// After training, normalisation statistics are those of so many batches under the final weights. Default: 200.
    pub statistics_batches: usize,
}

impl Default for CompletionTraining {
    fn default() -> Self {
        Self {
            max_epochs: 100,
            batch_size: 32,
            learning_rate: 5e-4,
            discriminator_rate: 1.0,
            warmup_steps: 100,
            final_rate: 0.02,
            max_gradient_norm: 1000.0,
            averaging: 0.999,
            statistics_batches: 200,
        }
    }
}

impl CompletionTraining {
    /// As in the paper, where it says.
    pub fn paper() -> Self {
        Self {
            max_epochs: 2000,
            learning_rate: 1e-4,
            warmup_steps: 0,
            final_rate: 1.0,
            averaging: 0.0,
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (setting, value) in [
            ("learning_rate", self.learning_rate),
            ("discriminator_rate", self.discriminator_rate),
            ("max_gradient_norm", self.max_gradient_norm),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::config(setting, "a positive number", value));
            }
        }
        for (setting, share) in [("final_rate", self.final_rate), ("averaging", self.averaging)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::config(setting, "a share between 0 and 1", share));
            }
        }
        for (setting, number, least) in [
            ("max_epochs", self.max_epochs, 1),
            ("batch_size", self.batch_size, 2),
            ("statistics_batches", self.statistics_batches, 1),
        ] {
            if number < least {
                return Err(Error::config(setting, format!("at least {least}"), number));
            }
        }
        Ok(())
    }

    /// The step size of a step.
    fn rate(&self, step: usize, n_steps: usize) -> f64 {
        let warmth = ((step + 1) as f64 / self.warmup_steps.max(1) as f64).min(1.0);
        let progress = step as f64 / n_steps as f64;
        let cosine = 0.5 + 0.5 * (std::f64::consts::PI * progress).cos();
        self.learning_rate * warmth * (self.final_rate + (1.0 - self.final_rate) * cosine)
    }
}

/// The two networks that are trained against each other.
#[derive(Module, Debug)]
pub(crate) struct Players {
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

/// Training between two steps.
struct Course {
    generator: FlatModule<CompletionNetwork>,
    discriminator: FlatModule<Discriminator>,
    /// The moving average of the generator's weights.
    average: Tensor<1>,
    history: Vec<EpochRecord>,
}

/// Trains both players, from the start or from a checkpoint; the generator that comes back has settled statistics.
pub(crate) fn train_completion(
    config: &PointCloudCompleter,
    dataset: &CompletionDataset,
    run: &str,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<(Players, Report)> {
    let device = config.device.open()?;
    let mut course = match checkpoint {
        Some(checkpoint) => Course::resumed(config, checkpoint, &device)?,
        None => Course::new(config, &device),
    };
    let first_step = course.history.len() * config.steps_an_epoch(dataset);
    let stop = std::thread::scope(|scope| {
        let (sender, batches) = mpsc::sync_channel(BATCHES_AHEAD);
        scope.spawn(move || {
            for step in first_step.. {
                // Nobody listens any more once training has ended.
                if sender.send(CompletionBatch::draw(dataset, config, step)).is_err() {
                    break;
                }
            }
        });
        let mut next_batch = || -> Result<DeviceBatch> {
            let batch = batches.recv().expect("batches are drawn as long as training asks")?;
            Ok(batch.on_device(config, &device))
        };
        course.go_on(config, dataset, run, &device, observer, &mut next_batch)
    })?;
    let generator = match config.training.averaging {
        0.0 => course.generator.module(),
        _ => course.averaged(),
    };
    let players = Players {
        generator: settled(&generator, config, dataset)?,
        discriminator: course.discriminator.module().valid(),
    };
    Ok((players, Report { history: course.history, stop }))
}

impl Course {
    fn new(config: &PointCloudCompleter, device: &Device) -> Self {
        let Players { generator, discriminator } =
            Players::init(config, &device.clone().autodiff());
        let optimizers = [n_parameters(&generator), n_parameters(&discriminator)]
            .map(|n_weights| Adam::new(n_weights, device));
        let average = flat_weights(&generator);
        Self::from(Players { generator, discriminator }, optimizers, average, Vec::new())
    }

    fn from(
        players: Players,
        [of_generator, of_discriminator]: [Adam; 2],
        average: Tensor<1>,
        history: Vec<EpochRecord>,
    ) -> Self {
        Self {
            generator: FlatModule::new(players.generator, of_generator),
            discriminator: FlatModule::new(players.discriminator, of_discriminator),
            average,
            history,
        }
    }

    fn resumed(
        config: &PointCloudCompleter,
        checkpoint: Checkpoint,
        device: &Device,
    ) -> Result<Self> {
        let foreign = |error| Error::data("checkpoint", "the tensors of this model", error);
        let found = checkpoint.optimizers.len();
        let [generator, discriminator] = <[_; 2]>::try_from(checkpoint.optimizers)
            .map_err(|_| Error::data("checkpoint", "two optimisers", found))?;
        let players = Players::init(config, &device.clone().autodiff());
        let average = load_state(players.generator.clone(), checkpoint.memory).map_err(foreign)?;
        let players = load_state(players, checkpoint.state).map_err(foreign)?;
        let optimizers = [
            Adam::from_state(generator, n_parameters(&players.generator), device)?,
            Adam::from_state(discriminator, n_parameters(&players.discriminator), device)?,
        ];
        Ok(Self::from(players, optimizers, flat_weights(&average), checkpoint.history))
    }

    /// The generator with averaged weights.
    fn averaged(&self) -> CompletionNetwork {
        self.generator.module_with(self.average.clone())
    }

    fn snapshot(&self, run: &str) -> Checkpoint {
        Checkpoint {
            run: run.to_owned(),
            history: self.history.clone(),
            state: state(&Players {
                generator: self.generator.module(),
                discriminator: self.discriminator.module(),
            }),
            optimizers: vec![self.generator.adam().state(), self.discriminator.adam().state()],
            memory: state(&self.averaged()),
        }
    }

    /// The rest of the epochs.
    fn go_on(
        &mut self,
        config: &PointCloudCompleter,
        dataset: &CompletionDataset,
        run: &str,
        device: &Device,
        observer: &mut dyn Observer,
        next_batch: &mut dyn FnMut() -> Result<DeviceBatch>,
    ) -> Result<StopReason> {
        let steps_an_epoch = config.steps_an_epoch(dataset);
        let slots = BatchSlots::new(config, config.clouds_a_step(dataset), device);
        let (generator, discriminator) = (self.generator.current(), self.discriminator.current());
        let mut players_step = Recording::new(device, || {
            PlayersStep::compute(config, &generator(), &discriminator(), slots.batch())
        });
        for epoch in self.history.len()..config.training.max_epochs {
            let mut steps = Vec::with_capacity(steps_an_epoch);
            for step in epoch * steps_an_epoch..(epoch + 1) * steps_an_epoch {
                let n_steps = config.training.max_epochs * steps_an_epoch;
                let rate = config.training.rate(step, n_steps);
                slots.write(next_batch()?);
                let numbers = self.step(config, players_step.repeat(), step, rate);
                numbers.check(epoch)?;
                steps.push(numbers);
            }
            self.history.push(summarize(epoch, &steps));
            let record = &self.history[epoch];
            let snapshot = || self.snapshot(run);
            let max_epochs = config.training.max_epochs;
            let event = EpochEvent { record, max_epochs, snapshot: &snapshot };
            if let ControlFlow::Break(reason) = observer.observe(event)? {
                return Ok(reason);
            }
        }
        Ok(StopReason::MaxEpochs)
    }

    /// Both players follow their gradients.
    fn step(
        &mut self,
        config: &PointCloudCompleter,
        computed: &PlayersStep,
        step: usize,
        rate: f64,
    ) -> StepNumbers {
        let numbers = computed.numbers(rate);
        let max_norm = config.training.max_gradient_norm;
        let [of_generator, of_discriminator] = computed.gradients.clone();
        if let Some(gradient) = clip(of_generator, numbers.gradient_norm, max_norm) {
            self.generator.step(gradient, rate);
        }
        if let Some(gradient) = clip(of_discriminator, numbers.discriminator_norm, max_norm) {
            self.discriminator.step(gradient, rate * config.training.discriminator_rate);
        }
        let [of_generator, of_shapes, of_clouds] = computed.statistics.clone();
        self.generator.absorb(of_generator);
        self.discriminator.absorb(of_shapes);
        self.discriminator.absorb(of_clouds);
        self.follow(config.training.averaging, step);
        numbers
    }

    /// Moves the averaged weights. At the start they remember less, so that they do not stay where training began.
    fn follow(&mut self, averaging: f64, step: usize) {
        if averaging > 0.0 {
            let remembered = averaging.min((step + 1) as f64 / (step + 10) as f64);
            self.average =
                self.average.clone() * remembered + self.generator.weights() * (1.0 - remembered);
        }
    }
}

fn summarize(epoch: usize, steps: &[StepNumbers]) -> EpochRecord {
    let mean = |number: &dyn Fn(&StepNumbers) -> f64| {
        steps.iter().map(number).sum::<f64>() / steps.len() as f64
    };
    let terms: BTreeMap<String, f64> = (0..TERMS.len() + 1)
        .map(|index| (steps[0].terms[index].0.to_owned(), mean(&|step| step.terms[index].1)))
        .collect();
    EpochRecord {
        epoch,
        loss: mean(&|step| step.loss),
        terms,
        learning_rate: steps.last().map_or(0.0, |step| step.rate),
        gradient_norm: mean(&|step| step.gradient_norm),
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
    use super::*;

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let players = Players::init(&PointCloudCompleter::default(), &Device::flex());
        assert_eq!(n_parameters(&players.generator), 5_124_488);
        assert_eq!(n_parameters(&players.discriminator), 257_537);
    }

    #[test]
    fn the_rate_warms_up_and_falls() {
        let training = CompletionTraining {
            learning_rate: 1.0,
            warmup_steps: 10,
            final_rate: 0.1,
            ..CompletionTraining::default()
        };
        assert!((training.rate(0, 1000) - 0.1).abs() < 1e-6);
        assert!((training.rate(500, 1000) - 0.55).abs() < 1e-9);
        assert!((training.rate(999, 1000) - 0.1).abs() < 1e-4);
        let constant = CompletionTraining::paper();
        assert_eq!(constant.rate(0, 7), 1e-4);
        assert_eq!(constant.rate(6, 7), 1e-4);
    }
}
