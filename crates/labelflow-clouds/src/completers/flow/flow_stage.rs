//! Alternating training: the generator takes a step against the discriminator, then the discriminator against the generator.

use std::cell::RefCell;
use std::sync::mpsc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::training::{Adam, Report, flat_gradient};
use labelflow::{Error, Result};
use labelflow_flow::{Mode, State, StatisticsRecorder, absorb, flat_weights, load_state, state};

use super::completion_batch::draw_step;
use super::completion_objective::{NAMES, discriminator_loss};
use super::flow_networks::{CompletionNetwork, Discriminator, FlowNetworks};
use super::generator_step::generator_step;
use crate::completers::stages::{
    CloudDraw, Course, NetworkSlots, Schedule, Stage, StepBatch, StepResult, TrainedNetwork, UpdateRule, fields,
    foreign, to_batch,
};
use crate::completers::{CompletionDataset, PointCloudCompleter};

/// Batches that are drawn while the device computes.
const BATCHES_AHEAD: usize = 2;
/// Trains both networks from where their course is; the generator that comes back has settled statistics.
pub(crate) fn train_flow(
    config: &PointCloudCompleter,
    mut course: Course<'_, FlowNetworks>,
) -> Result<(FlowNetworks, Report)> {
    let dataset = course.dataset;
    if dataset.n_partials() < 2 {
        return Err(Error::data("partial clouds", "at least two", dataset.n_partials()));
    }
    let training = &config.training;
    let FlowNetworks { generator, discriminator } = course.model.clone();
    let average = match course.memory.take() {
        Some(memory) => flat_weights(&load_state(generator.clone(), memory).map_err(foreign)?),
        None => flat_weights(&generator),
    };
    let plain = UpdateRule::plain(Adam::BETAS);
    let rule = UpdateRule { max_norm: training.max_gradient_norm, ..plain };
    let of_discriminator = UpdateRule { rate_share: training.discriminator_rate, ..rule };
    let (sender, drawn) = mpsc::sync_channel(BATCHES_AHEAD);
    let stage = FlowStage {
        config,
        dataset,
        generator: course.network(generator, rule)?,
        discriminator: course.network(discriminator, of_discriminator)?,
        average: RefCell::new(average),
        drawn,
    };
    let first_step = course.n_epochs() * stage.schedule().steps_per_epoch;
    let (generator, discriminator) = std::thread::scope(|scope| {
        // Taken into this scope, it is dropped before the thread is waited for.
        let stage = stage;
        scope.spawn(move || {
            for step in first_step.. {
                // Nobody listens any more once training has ended.
                if sender.send(draw_step(dataset, config, step)).is_err() {
                    break;
                }
            }
        });
        course.go_through(&stage, 0..training.max_epochs, training.max_epochs)?;
        let generator = match training.averaging {
            0.0 => stage.generator.network(),
            _ => stage.averaged(),
        };
        Ok::<_, Error>((generator, stage.discriminator.network()))
    })?;
    let generator = settled(&generator, config, dataset)?;
    Ok((FlowNetworks { generator, discriminator: discriminator.valid() }, course.report()))
}

/// Both networks in training.
struct FlowStage<'a> {
    config: &'a PointCloudCompleter,
    dataset: &'a CompletionDataset,
    generator: TrainedNetwork<CompletionNetwork>,
    discriminator: TrainedNetwork<Discriminator>,
    /// The moving average of the generator's weights.
    average: RefCell<Tensor<1>>,
    /// The clouds of all steps to come, in order.
    drawn: mpsc::Receiver<Result<Vec<CloudDraw>>>,
}

impl FlowStage<'_> {
    /// The generator with averaged weights.
    fn averaged(&self) -> CompletionNetwork {
        self.generator.network_with(self.average.borrow().clone())
    }
}

impl Stage for FlowStage<'_> {
    type Model = FlowNetworks;

    fn terms(&self) -> &[&'static str] {
        &NAMES
    }

    fn schedule(&self) -> Schedule<'_> {
        let (training, n_clouds) = (&self.config.training, self.dataset.n_partials());
        let steps_per_epoch = n_clouds / training.batch_size.min(n_clouds);
        let n_steps = training.max_epochs * steps_per_epoch;
        Schedule { steps_per_epoch, rate: Box::new(move |step| training.rate(step, n_steps)) }
    }

    fn networks(&self) -> Vec<&NetworkSlots> {
        vec![&self.generator.slots, &self.discriminator.slots]
    }

    fn draw(&self, _step: usize, device: &Device) -> Result<StepBatch> {
        let draws = self.drawn.recv().expect("batches are drawn as long as training asks")?;
        Ok(to_batch(&draws, device))
    }

    /// A step of both networks. The discriminator sees the clouds that the generator made before its step.
    fn step(&self, batch: StepBatch) -> StepResult {
        let mut generator = self.generator.begin_step();
        let mut discriminator = self.discriminator.begin_step();
        let now = discriminator.network();
        let recorder = StatisticsRecorder::default();
        let shapes = batch[1].clone();
        let value = generator_step(self.config, &generator.network(), &now, batch, &recorder);
        let (of_shapes, of_clouds) = (StatisticsRecorder::default(), StatisticsRecorder::default());
        let loss = discriminator_loss(
            now.forward(shapes, Mode::Train(&of_shapes)),
            now.forward(value.seen, Mode::Train(&of_clouds)),
        );
        let length = generator.update(value.gradient);
        discriminator.update(flat_gradient(&now, loss.backward()));
        generator.absorb(recorder);
        discriminator.absorb(of_shapes);
        discriminator.absorb(of_clouds);
        let terms = [loss.inner()].into_iter().chain(value.terms);
        StepResult::new(value.loss, length, terms, vec![generator.values(), discriminator.values()])
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

    fn model(&self) -> FlowNetworks {
        FlowNetworks { generator: self.generator.network(), discriminator: self.discriminator.network() }
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
        let mut batch = to_batch(&draw_step(dataset, config, index)?, &device);
        batch.truncate(4);
        let [partials, _, latent_noise, noise] = fields(batch);
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let encoded = generator.encode(partials, mode);
        let latent = encoded.latent.sample(latent_noise.squeeze_dim(1));
        generator.generate(latent, encoded.features, noise, mode);
        generator = absorb(generator, recorder, 1.0 / (index + 1) as f64);
    }
    Ok(generator)
}
