//! Training in stages: the same step again and again, for some epochs.
//!
//! A step is one computation from slots: the losses of all networks, their gradients and their updates. On a device with graphs it is
//! recorded once per stage and repeated as one launch, and the host waits for the device once per epoch.

use std::ops::{ControlFlow, Range};

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::storage::Checkpoint;
use labelflow::training::{
    Adam, AdamState, EpochLog, EpochRecord, Observer, Report, StepNumbers, StopReason, Trainee, TrainingState,
};
use labelflow::{Error, Result};
use labelflow_flow::{NOT_RECORDED, Recording, Slot, State, load_state, n_parameters, state};

use super::step_batch::StepBatch;
use super::trained_network::{NetworkSlots, NetworkValues, TrainedNetwork, UpdateRule};
use crate::completers::{CompletionDataset, CompletionLearner};

/// What a step computes.
#[derive(Debug)]
pub(crate) struct StepResult {
    /// The loss, the length of its gradient, and the terms.
    numbers: Tensor<1>,
    networks: Vec<NetworkValues>,
}

impl StepResult {
    /// Of numbers of one value each, and of what the networks came to in the order of [`Stage::networks`].
    pub(crate) fn new(
        loss: Tensor<1>,
        gradient_norm: Tensor<1>,
        terms: impl IntoIterator<Item = Tensor<1>>,
        networks: Vec<NetworkValues>,
    ) -> Self {
        let numbers = [loss, gradient_norm].into_iter().chain(terms).collect();
        Self { numbers: Tensor::cat(numbers, 0), networks }
    }
}

/// One stage.
pub(crate) trait Stage {
    /// The whole model, of which the stage may train a part.
    type Model: Module;

    /// The names of the terms among a step's numbers.
    fn terms(&self) -> &[&'static str];

    /// The steps of an epoch, and their sizes.
    fn schedule(&self) -> Schedule<'_>;

    /// Where the values of all networks lie.
    fn networks(&self) -> Vec<&NetworkSlots>;

    /// What a step sees, on a device without gradients. It depends on nothing but the settings, the data and the step's number, so that
    /// training can go on at any epoch.
    fn draw(&self, step: usize, device: &Device) -> Result<StepBatch>;

    /// A step. It must not read values back, send values over, or decide anything by them.
    fn step(&self, batch: StepBatch) -> StepResult;

    /// What follows a step outside of its computation: by default nothing.
    fn end_step(&self, _step: usize) {}

    /// The model as it is now.
    fn model(&self) -> Self::Model;

    /// What else a checkpoint must keep: by default nothing.
    fn memory(&self) -> State {
        State::new()
    }
}

/// The steps of an epoch, and the step size of each step, counted through the stage.
pub(crate) struct Schedule<'a> {
    pub(crate) steps_per_epoch: usize,
    pub(crate) rate: Box<dyn Fn(usize) -> f64 + 'a>,
}

/// Training of a model through all of its stages.
pub struct Course<'a, M> {
    /// What is learned from.
    pub(crate) dataset: &'a CompletionDataset,
    /// Where it is computed, with gradients.
    pub(crate) device: Device,
    /// As it was when training began or went on.
    pub(crate) model: M,
    /// What else the checkpoint kept.
    pub(crate) memory: Option<State>,
    /// The optimisers of the checkpoint that no network has taken yet.
    optimizers: Option<std::vec::IntoIter<AdamState>>,
    n_optimizers: usize,
    log: EpochLog<'a>,
    stop: StopReason,
    /// One warning is enough, however many stages there are.
    has_warned: bool,
}

impl<'a, M: Module> Course<'a, M> {
    /// From a checkpoint, or from the start. `run` gives the digest of settings and data, for checkpoints.
    pub(crate) fn start<L: CompletionLearner<Networks = M>>(
        learner: &L,
        dataset: &'a CompletionDataset,
        run: &'a dyn Fn() -> String,
        checkpoint: Option<Checkpoint>,
        observer: &'a mut dyn Observer,
    ) -> Result<Self> {
        let device = learner.clone().common().device.open()?.autodiff();
        let mut model = learner.init(&device);
        let (mut history, mut optimizers, mut memory) = (Vec::new(), None, None);
        if let Some(checkpoint) = checkpoint {
            model = load_state(model, checkpoint.state).map_err(foreign)?;
            history = checkpoint.history;
            optimizers = Some(checkpoint.optimizers.into_iter());
            memory = Some(checkpoint.memory);
        }
        let n_optimizers = optimizers.as_ref().map_or(0, ExactSizeIterator::len);
        let (log, stop) = (EpochLog::new(run, history, observer), StopReason::MaxEpochs);
        let has_warned = false;
        Ok(Self { dataset, device, model, memory, optimizers, n_optimizers, log, stop, has_warned })
    }

    /// The epochs so far.
    pub(crate) fn n_epochs(&self) -> usize {
        self.log.n_epochs()
    }

    /// Whether the observer has ended training.
    pub(crate) fn is_ended(&self) -> bool {
        self.stop != StopReason::MaxEpochs
    }

    /// Forgets the optimisers of the checkpoint, which are those of an earlier stage.
    pub(crate) fn forget_optimizers(&mut self) {
        self.optimizers = None;
    }

    /// A network in training, with the next optimiser of the checkpoint or a new one.
    pub(crate) fn network<N: Module>(&mut self, network: N, rule: UpdateRule) -> Result<TrainedNetwork<N>> {
        let (inner, n_weights) = (self.device.clone().inner(), n_parameters(&network));
        let adam = match &mut self.optimizers {
            None => Adam::new(n_weights, &inner),
            Some(states) => {
                let state = states.next();
                let state = state.ok_or_else(|| wrong_optimizers(self.n_optimizers))?;
                Adam::from_state(state, n_weights, &inner)?
            }
        };
        Ok(TrainedNetwork::new(network, rule, adam, &inner))
    }

    /// Trains a model of a single stage to the end.
    pub(crate) fn finish(mut self, stage: &impl Stage<Model = M>, max_epochs: usize) -> Result<(M, Report)> {
        self.go_through(stage, 0..max_epochs, max_epochs)?;
        Ok((stage.model().valid(), self.report()))
    }

    /// What is left of the epochs of a stage, of so many in all stages.
    pub(crate) fn go_through(
        &mut self,
        stage: &impl Stage<Model = M>,
        epochs: Range<usize>,
        max_epochs: usize,
    ) -> Result<()> {
        if self.optimizers.take().is_some_and(|left| left.len() > 0) {
            return Err(wrong_optimizers(self.n_optimizers));
        }
        if self.n_epochs() >= epochs.end {
            return Ok(());
        }
        let inner = self.device.clone().inner();
        let schedule = stage.schedule();
        let next_step = (self.n_epochs() - epochs.start) * schedule.steps_per_epoch;
        let batch: Vec<Slot<3>> = stage.draw(next_step, &inner)?.into_iter().map(Slot::new).collect();
        let computation = Recording::new(&self.device, || {
            stage.step(batch.iter().map(|slot| Tensor::from_inner(slot.value())).collect())
        });
        if computation.has_failed() && !std::mem::replace(&mut self.has_warned, true) {
            self.log.warn(NOT_RECORDED);
        }
        let networks = stage.networks();
        let (first_epoch, batch) = (epochs.start, &batch);
        let mut stage_epochs =
            StageEpochs { stage, schedule, networks, first_epoch, batch, next_step, computation, device: inner };
        if let ControlFlow::Break(reason) = self.log.run(&mut stage_epochs, epochs.end, max_epochs)? {
            self.stop = reason;
        }
        Ok(())
    }

    /// The course of training.
    pub(crate) fn report(self) -> Report {
        self.log.report(self.stop)
    }
}

/// A stage that repetitions of its step train.
struct StageEpochs<'a, S, F> {
    stage: &'a S,
    schedule: Schedule<'a>,
    networks: Vec<&'a NetworkSlots>,
    /// The epoch of the course with which the stage begins.
    first_epoch: usize,
    batch: &'a [Slot<3>],
    /// The step whose batch is there already.
    next_step: usize,
    computation: Recording<StepResult, F>,
    device: Device,
}

impl<S: Stage, F: FnMut() -> StepResult> Trainee for StageEpochs<'_, S, F> {
    fn epoch(&mut self, epoch: usize) -> Result<EpochRecord> {
        let Schedule { steps_per_epoch, rate } = &self.schedule;
        let first = (epoch - self.first_epoch) * steps_per_epoch;
        let mut numbers = Vec::with_capacity(*steps_per_epoch);
        for step in first..first + steps_per_epoch {
            if step > self.next_step {
                let tensors = self.stage.draw(step, &self.device)?;
                self.batch.iter().zip(tensors).for_each(|(slot, tensor)| slot.write(tensor));
                self.next_step = step;
            }
            self.networks.iter().for_each(|network| network.prepare(rate(step), &self.device));
            let result = self.computation.repeat();
            // A copy: a recording writes those of its next repetition over them.
            numbers.push(result.numbers.clone() * 1.0);
            let values = self.networks.iter().zip(&result.networks);
            values.for_each(|(network, values)| network.accept(values));
            self.stage.end_step(step);
        }
        record_of(numbers, self.stage.terms(), epoch, rate(first + steps_per_epoch - 1))
    }

    fn state(&self) -> TrainingState {
        TrainingState {
            weights: state(&self.stage.model()),
            optimizers: self.networks.iter().map(|network| network.adam_state()).collect(),
            memory: self.stage.memory(),
        }
    }
}

/// Fetches the numbers of the steps of an epoch: their means, and those of terms with these names.
fn record_of(steps: Vec<Tensor<1>>, names: &[&str], epoch: usize, learning_rate: f64) -> Result<EpochRecord> {
    let numbers: Vec<f64> = Tensor::cat(steps, 0).into_data().iter::<f64>().collect();
    let steps: Vec<StepNumbers> = numbers.chunks(2 + names.len()).map(StepNumbers::of).collect();
    steps.iter().try_for_each(|step| step.check_finite(names, epoch))?;
    Ok(EpochRecord::of_steps(epoch, &steps, names, learning_rate))
}

/// That a checkpoint holds other tensors than this model.
pub(crate) fn foreign(error: impl std::fmt::Display) -> Error {
    Error::data("checkpoint", "the tensors of this model", error)
}

fn wrong_optimizers(found: usize) -> Error {
    Error::data("checkpoint", "as many optimisers as networks", found)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn records_are_means_and_the_first_bad_term_is_named() {
        let device = Device::flex();
        let record = |steps: [[f32; 4]; 2]| {
            let steps = steps.map(|step| Tensor::from_floats(step, &device));
            record_of(steps.into(), &["a", "b"], 7, 0.5)
        };
        let means = record([[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 5.0, 0.0]]).unwrap();
        assert_eq!((means.epoch, means.loss, means.gradient_norm), (7, 2.0, 2.0));
        assert_eq!((means.terms["a"], means.terms["b"]), (4.0, 2.0));
        assert_eq!(means.learning_rate, 0.5);
        let bad = [[1.0, f32::NAN, 3.0, 4.0], [3.0, 2.0, 5.0, f32::INFINITY]];
        let error = record(bad).unwrap_err().to_string();
        assert!(error.contains('b') && error.contains('7'), "{error}");
    }
}
