//! All weights of a module as one vector, and all running statistics as another.
//!
//! What is done to every weight alike (a step of an optimiser, a moving average) is then a few operations on one tensor instead of a
//! few on each of a hundred. The order is that of the module's fields; modules are those that are trained, on a device with gradients.

use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::Tensor;

use crate::StatisticsRecorder;

/// The trained weights, without gradients.
///
/// # Panics
///
/// If there are none.
pub fn flat_weights<M: Module>(module: &M) -> Tensor<1> {
    Collect::from(module, true, &HashMap::new()).expect("a module in training has weights")
}

/// The running statistics of all normalisations, if there are any.
pub fn flat_statistics<M: Module>(module: &M) -> Option<Tensor<1>> {
    Collect::from(module, false, &HashMap::new())
}

/// The statistics of one batch in the order of [`flat_statistics`]; the running ones where the pass did not come by.
pub fn flat_batch_statistics<M: Module>(module: &M, recorder: StatisticsRecorder) -> Option<Tensor<1>> {
    Collect::from(module, false, &recorder.into_batch())
}

/// The module with other [weights](flat_weights).
pub fn with_flat_weights<M: Module>(module: M, weights: Tensor<1>) -> M {
    module.map(&mut Replace { values: weights, start: 0, trained: true })
}

/// The module with other [running statistics](flat_statistics).
pub fn with_flat_statistics<M: Module>(module: M, statistics: Tensor<1>) -> M {
    module.map(&mut Replace { values: statistics, start: 0, trained: false })
}

struct Collect<'a> {
    parts: Vec<Tensor<1>>,
    trained: bool,
    /// What stands in for parameters.
    instead: &'a HashMap<ParamId, Tensor<3>>,
}

impl<'a> Collect<'a> {
    fn from<M: Module>(module: &M, trained: bool, instead: &'a HashMap<ParamId, Tensor<3>>) -> Option<Tensor<1>> {
        let mut collect = Self { parts: Vec::new(), trained, instead };
        module.visit(&mut collect);
        (!collect.parts.is_empty()).then(|| Tensor::cat(collect.parts, 0))
    }
}

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.is_require_grad() != self.trained {
            return;
        }
        self.parts.push(match self.instead.get(&param.id) {
            Some(value) => value.clone().inner().reshape([-1]),
            None => param.val().inner().reshape([-1]),
        });
    }
}

struct Replace {
    values: Tensor<1>,
    start: usize,
    trained: bool,
}

impl ModuleMapper for Replace {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if param.is_require_grad() != self.trained {
            return param;
        }
        let replaced = param.map(|old| {
            let shape = old.shape();
            let n_values = shape.num_elements();
            let new = self.values.clone().narrow(0, self.start, n_values).reshape(shape);
            self.start += n_values;
            Tensor::from_inner(new).set_require_grad(self.trained)
        });
        replaced.set_require_grad(self.trained)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::{CouplingFlowConfig, Mode, absorb, n_parameters, state};

    #[test]
    fn weights_and_statistics_come_back_as_they_went() {
        let device = Device::flex().autodiff();
        let config =
            CouplingFlowConfig { d_features: 3, d_labels: 2, d_hidden: 4, n_steps: 2, ..CouplingFlowConfig::default() };
        let (one, other) = (config.init(0, &device), config.init(1, &device));
        let weights = flat_weights(&one);
        assert_eq!(weights.dims(), [n_parameters(&one)]);
        let copy = with_flat_weights(other, weights);
        let copy = with_flat_statistics(copy, flat_statistics(&one).unwrap());
        assert_eq!(state(&copy), state(&one));
        assert_eq!(n_parameters(&copy), n_parameters(&one));
    }

    #[test]
    fn statistics_of_a_batch_are_absorbed_alike() {
        let device = Device::flex().autodiff();
        let config =
            CouplingFlowConfig { d_features: 3, d_labels: 2, d_hidden: 4, n_steps: 2, ..CouplingFlowConfig::default() };
        let flow = config.init(0, &device);
        let pass = || {
            let recorder = StatisticsRecorder::default();
            let wave = |n: i64, factor: f64| (Tensor::arange(0..n, &device).float() * factor).sin().reshape([5, n / 5]);
            let (features, noise) = (wave(15, 0.7), wave(10, 1.3));
            flow.sample_with_log_prob(noise, features, Mode::Train(&recorder));
            recorder
        };
        let running = flat_statistics(&flow).unwrap();
        let batch = flat_batch_statistics(&flow, pass()).unwrap();
        let flat = with_flat_statistics(flow.clone(), running * 0.9 + batch * 0.1);
        assert_eq!(state(&flat), state(&absorb(flow.clone(), pass(), 0.1)));
    }
}
