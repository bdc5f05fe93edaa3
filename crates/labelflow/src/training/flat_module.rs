//! A module in training whose weights are one vector, so that a step of the optimiser is a dozen operations on a GPU however many tensors
//! the module has.

use burn::module::Module;
use burn::tensor::Tensor;
use labelflow_flow::{MOMENTUM, Slot, flat_statistics, flat_weights, with_flat_statistics, with_flat_weights};

use crate::training::{Adam, shrink_weights};

/// Weights, running statistics and optimiser of a module.
#[derive(Debug)]
pub struct FlatModule<M> {
    /// What the vectors are the values of; its own values are not looked at.
    template: M,
    weights: Slot<1>,
    statistics: Option<Tensor<1>>,
    /// 1 for weights that shrink, 0 for those that stay; none before any has.
    shrinking: Option<Tensor<1>>,
    /// The optimiser.
    pub(crate) adam: Adam,
}

impl<M: Module> FlatModule<M> {
    /// A module on a device with gradients.
    pub fn new(module: M, adam: Adam) -> Self {
        Self {
            weights: Slot::new(flat_weights(&module)),
            statistics: flat_statistics(&module),
            shrinking: None,
            template: module,
            adam,
        }
    }

    /// The module of whatever weights there are when it is called, for a recording. Its running statistics are those of the start.
    pub fn current(&self) -> impl Fn() -> M + use<M> {
        let (template, weights) = (self.template.clone(), self.weights.clone());
        move || with_flat_weights(template.clone(), weights.value())
    }

    /// A copy of the module, with its running statistics.
    pub fn module(&self) -> M {
        // The slot's own value changes with the next step.
        let module = with_flat_weights(self.template.clone(), self.weights.value() * 1.0);
        match &self.statistics {
            Some(statistics) => with_flat_statistics(module, statistics.clone()),
            None => module,
        }
    }

    /// One step of the optimiser along a gradient.
    pub fn step(&mut self, gradient: Tensor<1>, rate: f64) {
        self.weights.write(self.adam.flat_step(self.weights.value(), gradient, rate));
    }

    /// [`shrink_weights`] by this share.
    pub(crate) fn shrink(&mut self, share: f64) {
        let shrinking = self.shrinking.get_or_insert_with(|| shrinking(&self.template));
        let factors = shrinking.clone() * -share + 1.0;
        self.weights.write(self.weights.value() * factors);
    }

    /// Moves the running statistics towards those of a batch.
    pub(crate) fn absorb(&mut self, batch: Option<Tensor<1>>) {
        let running = self.statistics.take().zip(batch);
        self.statistics = running.map(|(running, batch)| running * (1.0 - MOMENTUM) + batch * MOMENTUM);
    }
}

fn shrinking<M: Module>(module: &M) -> Tensor<1> {
    let ones = flat_weights(module).ones_like();
    let staying = shrink_weights(with_flat_weights(module.clone(), ones.clone()), 0.0);
    ones - flat_weights(&staying)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::{Activation, AffineFlowConfig, n_parameters, state};

    use super::*;

    #[test]
    fn flat_weights_shrink_like_others() {
        let config =
            AffineFlowConfig { d_features: 3, d_labels: 1, d_hidden: 4, n_steps: 2, activation: Activation::Tanh };
        let flow = config.init(0, &Device::flex().autodiff());
        let adam = Adam::new(n_parameters(&flow), &Device::flex());
        let mut flat = FlatModule::new(flow.clone(), adam);
        flat.shrink(0.25);
        assert_eq!(state(&flat.module()), state(&shrink_weights(flow, 0.75)));
    }
}
