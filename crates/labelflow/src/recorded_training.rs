//! The training loop on a device with graphs: a step is recorded once and repeated.
//!
//! The same steps as those of [`train`](crate::train()), with all rows at once.

use burn::tensor::{Device, Tensor, TensorData};
use labelflow_flow::{
    Bijection, Flow, Mode, NOT_RECORDED, Recording, Slot, State, StatisticsRecorder,
    flat_batch_statistics, state,
};

use crate::adam::flat_gradient;
use crate::epochs::{Course, Trainee, TraineeState, run_epochs};
use crate::flat_module::FlatModule;
use crate::stream::stream;
use crate::train::{
    Report, StepNumbers, Task, TrainConfig, check_finite, clip, draw_noise, numbers_of,
    step_numbers,
};
use crate::{Batch, Observer, Result};

/// Trains a flow from where its course is.
pub(crate) fn train<B: Bijection>(
    course: Course<B>,
    task: &Task<'_>,
    config: &TrainConfig,
    observer: &mut dyn Observer,
) -> Result<(Flow<B>, Report)> {
    let device = task.features.device();
    let inner = device.clone().inner();
    let flow = FlatModule::new(course.flow, course.adam);
    let noise = Slot::new(Tensor::zeros([task.features.dims()[0], task.d_labels], &inner));
    let likelihood_weight = Slot::new(Tensor::zeros([1], &inner));
    let (current, drawn, weight) = (flow.current(), noise.clone(), likelihood_weight.clone());
    let step = Recording::new(&device, || {
        StepResult::compute(&current(), task, drawn.value(), weight.value())
    });
    if step.has_failed() {
        observer.warn(NOT_RECORDED);
    }
    let mut steps =
        RecordedSteps { flow, noise, likelihood_weight, step, task, config, device: inner };
    let report = run_epochs(&mut steps, course.history, &task.run, config, observer)?;
    Ok((steps.flow.module(), report))
}

/// What a step computes from weights and noise.
struct StepResult {
    /// Loss, length of the gradient, terms.
    numbers: Tensor<1>,
    gradient: Tensor<1>,
    statistics: Option<Tensor<1>>,
}

impl StepResult {
    fn compute<B: Bijection>(
        flow: &Flow<B>,
        task: &Task<'_>,
        noise: Tensor<2>,
        likelihood_weight: Tensor<1>,
    ) -> Self {
        let recorder = StatisticsRecorder::default();
        let (noise, weight) = (Tensor::from_inner(noise), Tensor::from_inner(likelihood_weight));
        let mode = Mode::Train(&recorder);
        let (labels, log_prob) = flow.sample_with_log_prob(noise, task.features.clone(), mode);
        let value = task.objective.evaluate_with(weight, &labels, log_prob, &Batch::full());
        let gradient = flat_gradient(flow, value.loss.clone().backward());
        Self {
            numbers: step_numbers(value.loss, value.terms, &gradient),
            gradient,
            statistics: flat_batch_statistics(flow, recorder),
        }
    }
}

/// A flow that repetitions of one step train.
struct RecordedSteps<'a, B: Bijection, F> {
    flow: FlatModule<Flow<B>>,
    noise: Slot<2>,
    likelihood_weight: Slot<1>,
    step: Recording<StepResult, F>,
    task: &'a Task<'a>,
    config: &'a TrainConfig,
    device: Device,
}

impl<B: Bijection, F: FnMut() -> StepResult> Trainee for RecordedSteps<'_, B, F> {
    fn epoch(&mut self, epoch: usize) -> Result<Vec<StepNumbers>> {
        let &mut Self { task, config, .. } = self;
        let [n_rows, d_labels] = [task.features.dims()[0], task.d_labels];
        let noise = draw_noise(stream(task.seed, "noise", epoch as u64), n_rows, d_labels);
        let noise = TensorData::new(noise, [n_rows, d_labels]);
        self.noise.write(Tensor::from_data(noise, &self.device));
        let weight = task.objective.likelihood_weight_at(config.progress(epoch));
        self.likelihood_weight.write(Tensor::full([1], weight, &self.device));

        let result = self.step.repeat();
        let numbers = numbers_of(result.numbers.clone());
        check_finite(&numbers, task.objective, epoch)?;
        let gradient = result.gradient.clone();
        if let Some(gradient) = clip(gradient, numbers.gradient_norm, config.max_gradient_norm) {
            self.flow.step(gradient, config.learning_rate(epoch));
        }
        if task.weight_decay > 0.0 {
            self.flow.shrink(config.weight_decay(epoch, task.weight_decay));
        }
        self.flow.absorb(result.statistics.clone());
        Ok(vec![numbers])
    }

    fn state(&self) -> TraineeState {
        TraineeState {
            weights: state(&self.flow.module()),
            adam: self.flow.adam().state(),
            memory: State::new(),
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
    use crate::train;
    use crate::{Objective, Penalty, Range, SumToOne};

    #[test]
    fn recorded_steps_are_those_of_plain_training() {
        let device = Device::flex().autodiff();
        let config = CouplingFlowConfig { d_features: 3, d_labels: 2, d_hidden: 4, n_steps: 2 };
        let flow = config.init(5, &device);
        let objective = Objective {
            likelihood_weight: 0.1,
            final_likelihood_weight: Some(-0.3),
            penalties: vec![
                Penalty::new(Range::unit(), 2.0).unwrap(),
                Penalty::new(SumToOne, 3.0).unwrap(),
            ],
        };
        let features = Tensor::arange(0..60, &device).float().sin().reshape([20, 3]);
        let task = Task {
            objective: &objective,
            features,
            d_labels: 2,
            weight_decay: 0.5,
            seed: 1,
            run: String::new(),
        };
        let config = TrainConfig { max_epochs: 12, betas: [0.7, 0.95], ..TrainConfig::default() };
        let mut silent = ();
        let (_, plain) = train::train(flow.clone(), &task, &config, None, &mut silent).unwrap();
        let course = Course::start(flow.clone(), &config, &device);
        let (trained, recorded) = super::train(course, &task, &config, &mut silent).unwrap();
        assert_eq!(recorded.stop, plain.stop);
        assert_ne!(state(&trained), state(&flow));
        for (one, other) in recorded.history.iter().zip(&plain.history) {
            assert!((one.loss - other.loss).abs() < 1e-4, "{one:?} and {other:?}");
            assert!((one.gradient_norm - other.gradient_norm).abs() < 1e-3, "{one:?}, {other:?}");
        }
        assert_eq!(recorded.history.len(), 12);
    }
}
