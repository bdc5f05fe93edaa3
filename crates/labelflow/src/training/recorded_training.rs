//! The training loop on a device with graphs: a step is recorded once and repeated.
//!
//! The same steps as those of a [`MemoryPass`]. Batches differ in size by one row at most, so that two recordings do for all of them.

use std::collections::{BTreeMap, BTreeSet};

use burn::tensor::{Device, Int, Tensor, TensorData};
use labelflow_flow::{
    Bijection, Flow, Mode, NOT_RECORDED, Recording, Slot, StatisticsRecorder, flat_batch_statistics, state,
};

use super::stream;
use crate::Result;
use crate::learners::FlowSettings;
use crate::training::{
    Batch, FlatModule, MemoryPass, Observer, Report, Rows, StepNumbers, TRACKED_LABELS, Task, Tracker, Trainee,
    TrainingState, batches, check_finite, clip, draw_noise, flat_gradient, numbers_of, run_epochs, select_noise,
    step_numbers,
};

/// Trains a flow from where its course is.
pub(crate) fn train<B: Bijection>(
    pass: MemoryPass<'_, B>,
    run: &dyn Fn() -> String,
    observer: &mut dyn Observer,
) -> Result<(Flow<B>, Report)> {
    let MemoryPass { task, n_batches, tracker, mut course } = pass;
    let device = task.features.device();
    let inner = device.clone().inner();
    let flow = FlatModule::new(course.take_flow(), course.adam);
    let memory = (n_batches > 1).then(|| Memory::new(&tracker, task));
    let likelihood_weight = Slot::new(Tensor::zeros([1], &inner));
    let record = |n_rows: usize| {
        let (current, memory, weight) = (flow.current(), memory.clone(), likelihood_weight.clone());
        let input = StepInput {
            rows: Slot::new(Tensor::arange(0..n_rows as i64, &inner)),
            noise: Slot::new(Tensor::zeros([n_rows, task.d_labels], &inner)),
        };
        let read = input.clone();
        let step = Recording::new(&device, move || {
            let weight = Tensor::from_inner(weight.value());
            StepResult::compute(&current(), task, &read, memory.as_ref(), weight)
        });
        (n_rows, RecordedStep { input, step })
    };
    let batches = batches(task.settings.seed, 0, task.features.dims()[0], n_batches);
    let sizes: BTreeSet<usize> = batches.iter().map(Vec::len).collect();
    let steps: BTreeMap<_, _> = sizes.into_iter().map(record).collect();
    if steps.values().any(|recorded| recorded.step.has_failed()) {
        observer.warn(NOT_RECORDED);
    }
    let mut trainee = RecordedSteps { flow, steps, memory, likelihood_weight, n_batches, task, device: inner };
    let report = run_epochs(&mut trainee, course.history, run, task.settings.training, observer)?;
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
    fn new(tracker: &Tracker, task: &Task<'_>) -> Self {
        let totals = tracker.count(task.objective);
        Self {
            labels: Slot::new(tracker.labels().inner()),
            totals: totals.into_iter().map(|total| Slot::new(total.inner())).collect(),
        }
    }

    fn tracker(&self) -> Tracker {
        let totals = self.totals.iter().map(|total| Tensor::from_inner(total.value()));
        Tracker::from_step(Tensor::from_inner(self.labels.value()), totals.collect())
    }

    fn start_epoch(&self, task: &Task<'_>) {
        self.write_totals(self.tracker().count(task.objective));
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
        task: &Task<'_>,
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
            batch.rows().select(&task.features, 0),
            Mode::Train(&recorder),
        );
        let value = task.objective.evaluate_with(likelihood_weight, &labels, log_prob, &batch);
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
    n_batches: usize,
    task: &'a Task<'a>,
    device: Device,
}

impl<B: Bijection, F: FnMut() -> StepResult> RecordedSteps<'_, B, F> {
    /// One step with these rows and their noise.
    fn step(&mut self, epoch: usize, rows: &[i64], noise: TensorData) -> Result<StepNumbers> {
        let task = self.task;
        let FlowSettings { training: config, weight_decay, .. } = task.settings;
        let RecordedStep { input, step } = self.steps.get_mut(&rows.len()).expect("a step for every size of batch");
        input.noise.write(Tensor::from_data(noise, &self.device));
        if self.memory.is_some() {
            input.rows.write(Tensor::from_data(rows, &self.device));
        }

        let result = step.repeat();
        let numbers = numbers_of(result.numbers.clone());
        check_finite(&numbers, task.objective, epoch)?;
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
    fn epoch(&mut self, epoch: usize) -> Result<Vec<StepNumbers>> {
        let task = self.task;
        let FlowSettings { seed, training, .. } = task.settings;
        let [n_rows, d_labels] = [task.features.dims()[0], task.d_labels];
        let noise = draw_noise(stream(seed, "noise", epoch as u64), n_rows, d_labels);
        let weight = task.objective.likelihood_weight_at(training.progress(epoch));
        self.likelihood_weight.write(Tensor::full([1], weight, &self.device));
        if let Some(memory) = &self.memory {
            memory.start_epoch(task);
        }
        let batches = batches(seed, epoch as u64, n_rows, self.n_batches).into_iter();
        let step = |rows: Vec<i64>| {
            let noise = select_noise(&noise, &rows, d_labels);
            self.step(epoch, &rows, noise)
        };
        batches.map(step).collect()
    }

    fn state(&self) -> TrainingState {
        let memory = self.memory.iter().map(|memory| (TRACKED_LABELS.to_owned(), memory.labels.value().into_data()));
        TrainingState {
            weights: state(&self.flow.module()),
            optimizers: vec![self.flow.adam.state()],
            memory: memory.collect(),
        }
    }

    fn terms(&self) -> Vec<String> {
        self.task.objective.terms()
    }
}

#[cfg(test)]
mod tests {
    use labelflow_flow::CouplingFlowConfig;

    use super::*;
    use crate::constraints::{Group, GroupMean, Penalty, Range, SumToOne};
    use crate::learners::{FlowLearner, LabelFlowRegressor};
    use crate::training::{BatchSize, Course, Objective, Start, TrainConfig, no_labels, train};

    const N_ROWS: usize = 20;

    /// Trains with plain steps and with recorded ones.
    fn train_both_ways(batch_size: BatchSize) {
        let device = Device::flex().autodiff();
        let config = CouplingFlowConfig { d_features: 3, d_labels: 2, d_hidden: 4, n_steps: 2 };
        let flow = config.init(5, &device);
        let members = (0..N_ROWS).map(|row| row % 3 == 0).collect();
        let group = Group { members, label: 1, lower: 0.8, upper: 0.9 };
        let objective = Objective {
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
        let task = Task { objective: &objective, features, d_labels: 2, settings };
        let start = Start { run: &String::new, checkpoint: None, observer: &mut () };
        let (_, plain) = train::train(flow.clone(), &task, start).unwrap();

        let course = Course::new(flow.clone(), None, settings.training, &device).unwrap();
        let n_batches = match batch_size {
            BatchSize::Rows(rows) => N_ROWS.div_ceil(rows),
            _ => 1,
        };
        let tracker = Tracker::from_labels(no_labels(N_ROWS, 2, &device));
        let pass = MemoryPass { task: &task, n_batches, tracker, course };
        let (trained, recorded) = super::train(pass, &String::new, &mut ()).unwrap();
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
        train_both_ways(BatchSize::Full);
    }

    #[test]
    fn recorded_batches_are_those_of_plain_training() {
        // Of 6, 7 and 7 rows.
        train_both_ways(BatchSize::Rows(7));
    }
}
