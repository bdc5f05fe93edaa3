//! The training loop on a device with graphs: a step is recorded once and repeated.
//!
//! The same steps as those of [`train`](crate::train()), with all rows at once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use burn::tensor::{Tensor, TensorData};
use labelflow_flow::{
    Bijection, Flow, Mode, Recording, Slot, StatisticsRecorder, flat_batch_statistics, state,
};

use crate::adam::{Adam, flat_gradient};
use crate::flat_module::FlatModule;
use crate::stream::stream;
use crate::train::{
    EpochRecord, Report, StopReason, Task, TrainConfig, check_finite, clip, draw_noise, numbers_of,
    step_numbers, summarize,
};
use crate::{Batch, Checkpoint, EpochEvent, Observer, Result};

/// What a step computes from weights and noise.
struct StepResult {
    /// Loss, length of the gradient, terms.
    numbers: Tensor<1>,
    gradient: Tensor<1>,
    statistics: Option<Tensor<1>>,
}

/// Trains a flow from where the optimiser and the history are.
pub(crate) fn train<B: Bijection>(
    flow: Flow<B>,
    adam: Adam,
    mut history: Vec<EpochRecord>,
    task: &Task<'_>,
    config: &TrainConfig,
    observer: &mut dyn Observer,
) -> Result<(Flow<B>, Report)> {
    let device = task.features.device();
    let n_rows = task.features.dims()[0];
    let mut flow = FlatModule::new(flow, adam);
    let noise = Slot::new(Tensor::<2>::zeros([n_rows, task.d_labels], &device.clone().inner()));
    let weight = Slot::new(Tensor::<1>::zeros([1], &device.clone().inner()));
    let (current, drawn, weighted) = (flow.current(), noise.clone(), weight.clone());
    let mut step = Recording::new(&device, || {
        let flow = current();
        let recorder = StatisticsRecorder::default();
        let noise = Tensor::from_inner(drawn.value());
        let mode = Mode::Train(&recorder);
        let (labels, log_prob) = flow.sample_with_log_prob(noise, task.features.clone(), mode);
        let weight = Tensor::from_inner(weighted.value());
        let value = task.objective.evaluate_with(weight, &labels, log_prob, &Batch::full());
        let gradient = flat_gradient(&flow, value.loss.clone().backward());
        StepResult {
            numbers: step_numbers(value.loss, value.terms, &gradient),
            gradient,
            statistics: flat_batch_statistics(&flow, recorder),
        }
    });
    let mut stop = StopReason::MaxEpochs;
    for epoch in history.len()..config.max_epochs {
        if config.has_converged(&history) {
            stop = StopReason::Converged;
            break;
        }
        let drawn = draw_noise(stream(task.seed, "noise", epoch as u64), n_rows, task.d_labels);
        let drawn = TensorData::new(drawn, [n_rows, task.d_labels]);
        noise.write(Tensor::from_data(drawn, &device.clone().inner()));
        let likelihood_weight = task.objective.likelihood_weight_at(config.progress(epoch));
        weight.write(Tensor::full([1], likelihood_weight, &device.clone().inner()));
        let result = step.repeat();
        let numbers = numbers_of(result.numbers.clone());
        check_finite(&numbers, task.objective, epoch)?;
        let rate = config.learning_rate(epoch);
        let gradient = result.gradient.clone();
        if let Some(gradient) = clip(gradient, numbers.gradient_norm, config.max_gradient_norm) {
            flow.step(gradient, rate);
        }
        if task.weight_decay > 0.0 {
            flow.shrink(config.weight_decay(epoch, task.weight_decay));
        }
        flow.absorb(result.statistics.clone());
        history.push(summarize(epoch, &[numbers], &task.objective.terms(), rate));

        let snapshot = || Checkpoint {
            run: task.run.clone(),
            history: history.clone(),
            state: state(&flow.module()),
            optimizers: vec![flow.adam().state()],
            memory: BTreeMap::new(),
        };
        let event = EpochEvent {
            record: &history[epoch],
            max_epochs: config.max_epochs,
            snapshot: &snapshot,
        };
        if let ControlFlow::Break(reason) = observer.observe(event)? {
            stop = reason;
            break;
        }
    }
    Ok((flow.module(), Report { history, stop }))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::{CouplingFlowConfig, n_parameters};

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
        let config = TrainConfig { max_epochs: 12, ..TrainConfig::default() };
        let mut silent = ();
        let (_, plain) = train::train(flow.clone(), &task, &config, None, &mut silent).unwrap();
        let adam = Adam::new(n_parameters(&flow), &Device::flex());
        let (trained, recorded) =
            super::train(flow.clone(), adam, Vec::new(), &task, &config, &mut silent).unwrap();
        assert_eq!(recorded.stop, plain.stop);
        assert_ne!(state(&trained), state(&flow));
        for (one, other) in recorded.history.iter().zip(&plain.history) {
            assert!((one.loss - other.loss).abs() < 1e-4, "{one:?} and {other:?}");
            assert!((one.gradient_norm - other.gradient_norm).abs() < 1e-3, "{one:?}, {other:?}");
        }
        assert_eq!(recorded.history.len(), 12);
    }
}
