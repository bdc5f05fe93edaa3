//! Alternating training: the generator takes a step against the discriminator, then the discriminator against the generator.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::mpsc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Tensor};
use labelflow_flow::{
    Initializer, MOMENTUM, Mode, StatisticsRecorder, absorb, load_state, n_parameters, state,
};
use serde::{Deserialize, Serialize};

use super::CompletionDataset;
use super::completion_batch::{CompletionBatch, DeviceBatch};
use super::completion_network::CompletionNetwork;
use super::completion_objective::{TERMS, discriminator_loss};
use super::discriminator::Discriminator;
use super::generator_step::generator_step;
use crate::adam::{Adam, flat_gradient};
use crate::train::clip;
use crate::{
    Checkpoint, EpochEvent, EpochRecord, Error, Observer, PointCloudCompleter, Report, Result,
    StopReason,
};

/// The discriminator's loss, beside the generator's terms in the records of epochs.
const DISCRIMINATOR: &str = "discriminator";
/// Batches that are drawn while the device computes.
const BATCHES_AHEAD: usize = 2;
/// Averaged weights follow once in so many steps, after the first hundred: more often is not worth the passes over all weights.
const AVERAGE_EVERY: usize = 8;

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
    players: Players,
    /// The generator's and the discriminator's.
    optimizers: [Adam; 2],
    /// The moving average of the generator's weights.
    average: CompletionNetwork,
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
    let device = config.device.open()?.autodiff();
    let mut course = Course::new(config, &device);
    if let Some(checkpoint) = checkpoint {
        course = course.resumed(checkpoint, &device)?;
    }
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
        course.go_on(config, dataset, run, observer, &mut next_batch)
    })?;
    let Course { players, average, history, .. } = course;
    let generator = match config.training.averaging {
        0.0 => players.generator,
        _ => average,
    };
    let players = Players {
        generator: settled(&generator, config, dataset)?,
        discriminator: players.discriminator.valid(),
    };
    Ok((players, Report { history, stop }))
}

impl Course {
    fn new(config: &PointCloudCompleter, device: &Device) -> Self {
        let players = Players::init(config, device);
        let inner = device.clone().inner();
        Self {
            optimizers: [
                Adam::new(n_parameters(&players.generator), &inner),
                Adam::new(n_parameters(&players.discriminator), &inner),
            ],
            average: players.generator.clone(),
            players,
            history: Vec::new(),
        }
    }

    fn resumed(self, checkpoint: Checkpoint, device: &Device) -> Result<Self> {
        let foreign = |error| Error::data("checkpoint", "the tensors of this model", error);
        let found = checkpoint.optimizers.len();
        let [generator, discriminator] = <[_; 2]>::try_from(checkpoint.optimizers)
            .map_err(|_| Error::data("checkpoint", "two optimisers", found))?;
        let inner = device.clone().inner();
        let players = load_state(self.players, checkpoint.state).map_err(foreign)?;
        Ok(Self {
            average: load_state(self.average, checkpoint.memory).map_err(foreign)?,
            optimizers: [
                Adam::from_state(generator, n_parameters(&players.generator), &inner)?,
                Adam::from_state(discriminator, n_parameters(&players.discriminator), &inner)?,
            ],
            players,
            history: checkpoint.history,
        })
    }

    fn snapshot(&self, run: &str) -> Checkpoint {
        Checkpoint {
            run: run.to_owned(),
            history: self.history.clone(),
            state: state(&self.players),
            optimizers: self.optimizers.iter().map(Adam::state).collect(),
            memory: state(&self.average),
        }
    }

    /// The rest of the epochs.
    fn go_on(
        &mut self,
        config: &PointCloudCompleter,
        dataset: &CompletionDataset,
        run: &str,
        observer: &mut dyn Observer,
        next_batch: &mut dyn FnMut() -> Result<DeviceBatch>,
    ) -> Result<StopReason> {
        let steps_an_epoch = config.steps_an_epoch(dataset);
        for epoch in self.history.len()..config.training.max_epochs {
            let mut steps = Vec::with_capacity(steps_an_epoch);
            for step in epoch * steps_an_epoch..(epoch + 1) * steps_an_epoch {
                let n_steps = config.training.max_epochs * steps_an_epoch;
                let rate = config.training.rate(step, n_steps);
                let numbers = self.step(config, next_batch()?, step, rate);
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

    /// One step of each player.
    fn step(
        &mut self,
        config: &PointCloudCompleter,
        batch: DeviceBatch,
        step: usize,
        rate: f64,
    ) -> StepNumbers {
        let Players { generator, discriminator } = self.players.clone();
        let max_norm = config.training.max_gradient_norm;
        let [of_generator, of_discriminator] = &mut self.optimizers;

        let recorder = StatisticsRecorder::default();
        let shapes = batch.shapes.clone();
        let value = generator_step(config, &generator, &discriminator, batch, &recorder);
        let gradient = value.gradient;

        let (of_shapes, of_clouds) = (StatisticsRecorder::default(), StatisticsRecorder::default());
        let loss = discriminator_loss(
            discriminator.forward(shapes, Mode::Train(&of_shapes)),
            discriminator.forward(value.seen, Mode::Train(&of_clouds)),
        );
        let other_gradient = flat_gradient(&discriminator, loss.backward());

        // One fetch for both players: every fetch waits for the device.
        let mut parts = vec![value.loss, norm(&gradient), norm(&other_gradient), loss.inner()];
        parts.extend(value.terms);
        let numbers: Vec<f64> = Tensor::cat(parts, 0).into_data().iter::<f64>().collect();
        let terms = [DISCRIMINATOR].into_iter().chain(TERMS).zip(numbers[3..].iter().copied());
        let numbers = StepNumbers {
            loss: numbers[0],
            gradient_norm: numbers[1],
            discriminator_norm: numbers[2],
            terms: terms.collect(),
            rate,
        };
        let generator = match clip(gradient, numbers.gradient_norm, max_norm) {
            Some(gradient) => of_generator.step(generator, gradient, rate),
            None => generator,
        };
        let discriminator = match clip(other_gradient, numbers.discriminator_norm, max_norm) {
            Some(gradient) => {
                let rate = rate * config.training.discriminator_rate;
                of_discriminator.step(discriminator, gradient, rate)
            }
            None => discriminator,
        };
        let discriminator = absorb(discriminator, of_shapes, MOMENTUM);
        self.players = Players {
            generator: absorb(generator, recorder, MOMENTUM),
            discriminator: absorb(discriminator, of_clouds, MOMENTUM),
        };
        self.follow(config.training.averaging, step);
        numbers
    }

    /// Moves the averaged weights. At the start they remember less, so that they do not stay where training began.
    fn follow(&mut self, averaging: f64, step: usize) {
        let every = if step < 100 { 1 } else { AVERAGE_EVERY };
        if averaging == 0.0 || !(step + 1).is_multiple_of(every) {
            return;
        }
        let remembered = averaging.min((step + 1) as f64 / (step + 10) as f64);
        let share = 1.0 - remembered.powi(every as i32);
        let average = self.average.clone();
        self.average = moved_towards(average, &self.players.generator, share);
    }
}

fn norm(gradient: &Tensor<1>) -> Tensor<1> {
    gradient.clone().square().sum().sqrt()
}

/// The numbers of one step, on the host.
struct StepNumbers {
    loss: f64,
    gradient_norm: f64,
    discriminator_norm: f64,
    terms: Vec<(&'static str, f64)>,
    rate: f64,
}

impl StepNumbers {
    fn check(&self, epoch: usize) -> Result<()> {
        match self.terms.iter().find(|(_, value)| !value.is_finite()) {
            Some(&(term, value)) => Err(Error::NotFinite { term: term.to_owned(), value, epoch }),
            None => Ok(()),
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

/// A module whose trained weights are moved by this share of the way towards those of `target`, of which it is a copy.
fn moved_towards<M: Module>(module: M, target: &M, share: f64) -> M {
    struct Collect(HashMap<ParamId, Tensor<1>>);
    impl ModuleVisitor for Collect {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let weight = param.val().inner();
            let n_weights = weight.shape().num_elements();
            self.0.insert(param.id, weight.reshape([n_weights]));
        }
    }
    struct Move {
        targets: HashMap<ParamId, Tensor<1>>,
        share: f64,
    }
    impl ModuleMapper for Move {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let Some(target) = self.targets.remove(&param.id) else {
                return param;
            };
            let is_trained = param.is_require_grad();
            param
                .map(|weight| {
                    let weight = weight.inner();
                    let target = target.reshape(weight.shape());
                    let moved = weight * (1.0 - self.share) + target * self.share;
                    Tensor::from_inner(moved)
                })
                .set_require_grad(is_trained)
        }
    }
    let mut collect = Collect(HashMap::new());
    target.visit(&mut collect);
    module.map(&mut Move { targets: collect.0, share })
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
    use burn::tensor::TensorData;

    use super::*;
    use crate::adam::add_flat;
    use crate::completion::generator_step::GeneratorStep;

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let players = Players::init(&PointCloudCompleter::default(), &Device::flex());
        assert_eq!(n_parameters(&players.generator), 5_124_488);
        assert_eq!(n_parameters(&players.discriminator), 257_537);
    }

    fn wave(n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|index| (1.0 + factor * index as f64).sin()).collect()
    }

    /// The derivative along a direction that moves one tensor of a module alone, for each of its tensors: by the gradient, and by central
    /// differences of the loss.
    fn compare_derivatives<M: Module>(
        module: &M,
        gradient: Tensor<1>,
        loss: impl Fn(&M) -> Tensor<1>,
    ) {
        const STEP: f64 = 1e-6;
        let device = Device::flex();
        let gradient: Vec<f64> = gradient.into_data().iter::<f64>().collect();
        let mut sizes = Sizes(Vec::new());
        module.visit(&mut sizes);
        let mut start = 0;
        for n_weights in sizes.0 {
            let mut direction = vec![0.0; gradient.len()];
            direction[start..start + n_weights].copy_from_slice(&wave(n_weights, 1.7));
            let along: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let at = |by: f64| {
                let change: Vec<f64> = direction.iter().map(|value| by * value).collect();
                let n_values = change.len();
                let change = Tensor::from_data(TensorData::new(change, [n_values]), &device);
                let moved = add_flat(module.clone(), change);
                loss(&moved).into_data().iter::<f64>().next().unwrap()
            };
            let numerical = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            let scale = numerical.abs().max(1.0);
            assert!((along - numerical).abs() < 1e-4 * scale, "{start}: {along} and {numerical}");
            start += n_weights;
        }
        assert_eq!(start, gradient.len());
    }

    struct Sizes(Vec<usize>);

    impl ModuleVisitor for Sizes {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if param.is_require_grad() {
                self.0.push(param.val().shape().num_elements());
            }
        }
    }

    #[test]
    fn gradients_of_both_players_are_those_of_central_differences() {
        let mut device = Device::flex().autodiff();
        let _ = device.configure(burn::tensor::FloatDType::F64);
        let config = PointCloudCompleter {
            n_steps: 2,
            d_hidden: 3,
            d_latent: 2,
            feature_widths: vec![4, 5],
            discriminator_widths: vec![4, 5],
            discriminator_head: vec![3],
            base_deviation: 0.5,
            ..PointCloudCompleter::default()
        };
        let players = Players::init(&config, &device);
        let n_weights = n_parameters(&players);
        // Away from the start, where the last layers are close to nothing.
        let change: Vec<f64> = wave(n_weights, 0.37).iter().map(|value| 0.2 * value).collect();
        let change = TensorData::new(change, [n_weights]);
        let players = add_flat(players, Tensor::from_data(change, &Device::flex()));
        let clouds = |n_points: usize, factor: f64| {
            let data = TensorData::new(wave(3 * n_points * 3, factor), [3, n_points, 3]);
            Tensor::<3>::from_data(data, &device)
        };
        let (partials, shapes, noise) = (clouds(6, 0.9), clouds(8, 1.3), clouds(8, 2.1));
        let latent_noise = TensorData::new(wave(6, 0.8), [3, 2]);
        let latent_noise = Tensor::<2>::from_data(latent_noise, &device);
        let step = |generator: &CompletionNetwork| {
            let batch = DeviceBatch {
                partials: partials.clone(),
                shapes: shapes.clone(),
                latent_noise: latent_noise.clone(),
                noise: noise.clone(),
                blur: Some(noise.clone() * 0.1),
            };
            let recorder = StatisticsRecorder::default();
            generator_step(&config, generator, &players.discriminator, batch, &recorder)
        };
        let GeneratorStep { gradient, seen, .. } = step(&players.generator);
        compare_derivatives(&players.generator, gradient, |generator| step(generator).loss);
        let loss = |discriminator: &Discriminator| {
            let unused = StatisticsRecorder::default();
            let score =
                |clouds: &Tensor<3>| discriminator.forward(clouds.clone(), Mode::Train(&unused));
            discriminator_loss(score(&shapes), score(&seen))
        };
        let gradient =
            flat_gradient(&players.discriminator, loss(&players.discriminator).backward());
        compare_derivatives(&players.discriminator, gradient, loss);
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

    #[test]
    fn averaged_weights_follow() {
        let device = Device::flex().autodiff();
        let config = PointCloudCompleter::small();
        let from = Players::init(&config, &device).discriminator;
        let zero = moved_towards(from.clone(), &from, 0.0);
        assert_eq!(state(&zero), state(&from));
        let gradient = Tensor::ones([n_parameters(&from)], &Device::flex());
        let to = Adam::new(n_parameters(&from), &Device::flex()).step(from.clone(), gradient, 0.5);
        let moved = state(&moved_towards(from.clone(), &to, 0.25));
        for (name, target) in state(&to) {
            let start: Vec<f32> = state(&from)[&name].iter::<f32>().collect();
            let target: Vec<f32> = target.iter::<f32>().collect();
            for ((start, target), moved) in start.iter().zip(target).zip(moved[&name].iter::<f32>())
            {
                assert!((0.75 * start + 0.25 * target - moved).abs() < 1e-6, "{name}");
            }
        }
    }
}
