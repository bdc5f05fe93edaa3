//! The training loop on a device with graphs: a step is recorded once and repeated.
//!
//! The same steps as those of a [`WindowPass`] over one window. Batches differ in size by one row at most, so that two recordings do for all of them.

use std::collections::{BTreeMap, BTreeSet};

use burn::tensor::{Device, Int, Tensor, TensorData};
use labelflow_flow::{
    Bijection, Flow, Mode, NOT_RECORDED, Recording, Slot, StatisticsRecorder, flat_batch_statistics, state,
};

use super::train::{clip, numbers_of, select_noise, step_numbers};
use super::window_pass::{TRACKED_LABELS, Task, Window, WindowPass};
use crate::Result;
use crate::learners::FlowSettings;
use crate::training::{
    Batch, EpochRecord, FlatModule, Observer, Report, Rows, StepNumbers, Tracker, Trainee, TrainingState,
    flat_gradient, run_epochs,
};

/// Trains a flow from where its course is.
pub(crate) fn train<B: Bijection>(
    pass: &mut WindowPass<'_, B>,
    window: &Window,
    run: &dyn Fn() -> String,
    observer: &mut dyn Observer,
) -> Result<(Flow<B>, Report)> {
    let (task, course) = (pass.task, &mut pass.course);
    let device = &task.device;
    let inner = device.clone().inner();
    let flow = FlatModule::new(course.take_flow(), course.adam.clone());
    let memory = pass.labels.clone().map(|labels| Memory::new(&Tracker::from_labels(labels), window));
    let likelihood_weight = Slot::new(Tensor::zeros([1], &inner));
    let record = |n_rows: usize| {
        let (current, memory, weight) = (flow.current(), memory.clone(), likelihood_weight.clone());
        let input = StepInput {
            rows: Slot::new(Tensor::arange(0..n_rows as i64, &inner)),
            noise: Slot::new(Tensor::zeros([n_rows, task.d_labels], &inner)),
        };
        let read = input.clone();
        let step = Recording::new(device, move || {
            let weight = Tensor::from_inner(weight.value());
            StepResult::compute(&current(), window, &read, memory.as_ref(), weight)
        });
        (n_rows, RecordedStep { input, step })
    };
    let sizes: BTreeSet<usize> = task.batches(window, 0).iter().map(Vec::len).collect();
    let steps: BTreeMap<_, _> = sizes.into_iter().map(record).collect();
    if steps.values().any(|recorded| recorded.step.has_failed()) {
        observer.warn(NOT_RECORDED);
    }
    let mut trainee = RecordedSteps { flow, steps, memory, likelihood_weight, task, window, device: inner };
    let (history, config) = (std::mem::take(&mut course.history), task.settings.training);
    let report = run_epochs(&mut trainee, history, run, config, observer)?;
    Ok((trainee.flow.module(), report))
}

/// What a step reads that is new in every step.
#[derive(Debug, Clone)]
struct StepInput {
    rows: Slot<1, Int>,
    noise: Slot<2>,
}

/// What steps leave for the next one when there are several in an epoch: what a [`Tracker`] holds.
#[derive(Debug, Clone)]
struct Memory {
    labels: Slot<2>,
    totals: Vec<Slot<1>>,
}

impl Memory {
    fn new(tracker: &Tracker, window: &Window) -> Self {
        let totals = tracker.count(&window.objective);
        Self {
            labels: Slot::new(tracker.labels().inner()),
            totals: totals.into_iter().map(|total| Slot::new(total.inner())).collect(),
        }
    }

    fn tracker(&self) -> Tracker {
        let totals = self.totals.iter().map(|total| Tensor::from_inner(total.value()));
        Tracker::from_step(Tensor::from_inner(self.labels.value()), totals.collect())
    }

    fn start_epoch(&self, window: &Window) {
        self.write_totals(self.tracker().count(&window.objective));
    }

    fn write(&self, tracker: &Tracker) {
        self.labels.write(tracker.labels().inner());
        self.write_totals(tracker.totals());
    }

    fn write_totals(&self, totals: Vec<Tensor<1>>) {
        self.totals.iter().zip(totals).for_each(|(slot, total)| slot.write(total.inner()));
    }
}

/// What a step computes from weights and noise.
struct StepResult {
    /// Loss, length of the gradient, terms.
    numbers: Tensor<1>,
    gradient: Tensor<1>,
    statistics: Option<Tensor<1>>,
    /// What the step leaves for the next one.
    tracker: Option<Tracker>,
}

impl StepResult {
    fn compute<B: Bijection>(
        flow: &Flow<B>,
        window: &Window,
        input: &StepInput,
        memory: Option<&Memory>,
        likelihood_weight: Tensor<1>,
    ) -> Self {
        let tracker = memory.map(Memory::tracker);
        let batch = match &tracker {
            Some(tracker) => tracker.batch(Rows::at(Tensor::from_inner(input.rows.value()))),
            None => Batch::full(),
        };
        let recorder = StatisticsRecorder::default();
        let (labels, log_prob) = flow.sample_with_log_prob(
            Tensor::from_inner(input.noise.value()),
            batch.rows().select(&window.features, 0),
            Mode::Train(&recorder),
        );
        let value = window.objective.evaluate_with(likelihood_weight, &labels, log_prob, &batch);
        let gradient = flat_gradient(flow, value.loss.clone().backward());
        if let Some(tracker) = &tracker {
            tracker.remember(&batch, labels);
        }
        drop(batch);
        Self {
            numbers: step_numbers(value.loss, value.terms, &gradient),
            gradient,
            statistics: flat_batch_statistics(flow, recorder),
            tracker,
        }
    }
}

/// A step with batches of one size.
struct RecordedStep<F> {
    input: StepInput,
    step: Recording<StepResult, F>,
}

/// A flow that repetitions of recorded steps train.
struct RecordedSteps<'a, B: Bijection, F> {
    flow: FlatModule<Flow<B>>,
    /// By the size of their batches.
    steps: BTreeMap<usize, RecordedStep<F>>,
    memory: Option<Memory>,
    likelihood_weight: Slot<1>,
    task: &'a Task<'a>,
    window: &'a Window,
    device: Device,
}

impl<B: Bijection, F: FnMut() -> StepResult> RecordedSteps<'_, B, F> {
    /// One step with these rows and their noise.
    fn step(&mut self, epoch: usize, rows: &[i64], noise: TensorData) -> Result<StepNumbers> {
        let FlowSettings { training: config, weight_decay, .. } = self.task.settings;
        let RecordedStep { input, step } = self.steps.get_mut(&rows.len()).expect("a step for every size of batch");
        input.noise.write(Tensor::from_data(noise, &self.device));
        if self.memory.is_some() {
            input.rows.write(Tensor::from_data(rows, &self.device));
        }

        let result = step.repeat();
        let numbers = numbers_of(result.numbers.clone());
        numbers.check_finite(&self.window.objective.terms(), epoch)?;
        let gradient = result.gradient.clone();
        if let Some(gradient) = clip(gradient, numbers.gradient_norm, config.max_gradient_norm) {
            self.flow.step(gradient, config.learning_rate(epoch));
        }
        if weight_decay > 0.0 {
            self.flow.shrink(config.weight_decay(epoch, weight_decay));
        }
        self.flow.absorb(result.statistics.clone());
        if let Some((memory, tracker)) = self.memory.as_ref().zip(result.tracker.as_ref()) {
            memory.write(tracker);
        }
        Ok(numbers)
    }
}

impl<B: Bijection, F: FnMut() -> StepResult> Trainee for RecordedSteps<'_, B, F> {
    fn epoch(&mut self, epoch: usize) -> Result<EpochRecord> {
        let (task, window, visit) = (self.task, self.window, epoch as u64);
        let noise = task.noise(window, visit);
        let config = task.settings.training;
        let weight = window.objective.likelihood_weight_at(config.progress(epoch));
        self.likelihood_weight.write(Tensor::full([1], weight, &self.device));
        if let Some(memory) = &self.memory {
            memory.start_epoch(window);
        }
        let step = |rows: Vec<i64>| {
            let noise = select_noise(&noise, &rows, task.d_labels);
            self.step(epoch, &rows, noise)
        };
        let steps = task.batches(window, visit).into_iter().map(step).collect::<Result<Vec<_>>>()?;
        Ok(EpochRecord::of_steps(epoch, &steps, &window.objective.terms(), config.learning_rate(epoch)))
    }

    fn state(&self) -> TrainingState {
        let memory = self.memory.iter().map(|memory| (TRACKED_LABELS.to_owned(), memory.labels.value().into_data()));
        TrainingState {
            weights: state(&self.flow.module()),
            optimizers: vec![self.flow.adam.state()],
            memory: memory.collect(),
        }
    }

    fn has_converged(&self, history: &[EpochRecord]) -> bool {
        self.task.settings.training.has_converged(history)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use labelflow_flow::CouplingFlowConfig;

    use super::*;
    use crate::constraints::{Group, GroupMean, Penalty, Range, SumToOne};
    use crate::learners::{FlowLearner, LabelFlowRegressor};
    use crate::training::window_pass::{Windows, train};
    use crate::training::{BatchSize, Objective, Start, TrainConfig};

    const N_ROWS: usize = 20;

    /// Trains so many flows side by side with plain steps and with recorded ones.
    fn train_both_ways(batch_size: BatchSize, n_members: usize) {
        let device = Device::flex().autodiff();
        let config = CouplingFlowConfig { d_features: 3, d_hidden: 4, n_steps: 2, n_members, ..Default::default() };
        let flow = config.init(5, &device);
        let members = (0..N_ROWS).map(|row| row % 3 == 0).collect();
        let group = Group { members, label: 1, lower: 0.8, upper: 0.9 };
        let objective = Objective {
            n_members,
            likelihood_weight: 0.1,
            final_likelihood_weight: Some(-0.3),
            penalties: vec![
                Penalty::new(Range::unit(), 2.0).unwrap(),
                Penalty::new(SumToOne, 3.0).unwrap(),
                Penalty::new(GroupMean::new(&[group], 2, &device).unwrap(), 10.0).unwrap(),
            ],
        };
        let features = Tensor::arange(0..3 * N_ROWS as i64, &device).float().sin();
        let config = TrainConfig { max_epochs: 12, betas: [0.7, 0.95], batch_size, ..TrainConfig::default() };
        let learner = LabelFlowRegressor { seed: 1, weight_decay: 0.5, training: config, ..Default::default() };
        let (features, settings) = (features.reshape([N_ROWS, 3]), learner.settings());
        let batch_rows = settings.training.batch_rows(N_ROWS, 1);
        let window = Rc::new(Window { features, objective, blocks: Vec::new() });
        let windows = Windows::Kept(Rc::clone(&window));
        let task = Task { windows, n_rows: N_ROWS as u64, batch_rows, d_labels: 2 * n_members, settings, device };
        let start = Start { run: &String::new, checkpoint: None, observer: &mut () };
        let (_, plain) = train(flow.clone(), &task, start).unwrap();

        let mut pass = WindowPass::new(flow.clone(), &task, None).unwrap();
        let (trained, recorded) = super::train(&mut pass, &window, &String::new, &mut ()).unwrap();
        assert_eq!(recorded.stop, plain.stop);
        assert_ne!(state(&trained), state(&flow));
        for (one, other) in recorded.history.iter().zip(&plain.history) {
            assert!((one.loss - other.loss).abs() < 1e-4, "{one:?} and {other:?}");
            assert!((one.gradient_norm - other.gradient_norm).abs() < 1e-3, "{one:?}, {other:?}");
        }
        assert_eq!(recorded.history.len(), 12);
    }

    #[test]
    fn recorded_steps_are_those_of_plain_training() {
        [1, 3].into_iter().for_each(|n_members| train_both_ways(BatchSize::Full, n_members));
    }

    #[test]
    fn recorded_batches_are_those_of_plain_training() {
        // Of 6, 7 and 7 rows.
        [1, 3].into_iter().for_each(|n_members| train_both_ways(BatchSize::Rows(7), n_members));
    }
}
