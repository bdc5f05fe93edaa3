//! Weights that nothing holds in place shrink: w ← (1 − lr · decay) w, apart from the optimiser's step.
//!
//! Where constraints leave much free, as a few means leave most of a function free, this decides what is learned: the smallest weights
//! that satisfy them, and with them the simplest function.
//! (Loshchilov and Hutter, *Decoupled weight decay regularization*, 2019, <https://arxiv.org/abs/1711.05101>.)

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::Tensor;

/// The module with the weights of its linear layers multiplied by `factor`; biases and normalisations stay.
pub(crate) fn shrink_weights<M: Module>(module: M, factor: f64) -> M {
    struct Shrink {
        path: Vec<String>,
        factor: f64,
    }
    impl ModuleMapper for Shrink {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }

        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            if self.path.last().is_none_or(|name| name != "weight") {
                return param;
            }
            param.map(|weight| Tensor::from_inner(weight.inner() * self.factor).require_grad())
        }
    }
    module.map(&mut Shrink { path: Vec::new(), factor })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::{Activation, AffineFlowConfig, state};

    use super::*;

    #[test]
    fn weights_shrink_and_biases_and_normalisations_stay() {
        let config = AffineFlowConfig {
            d_features: 3,
            d_labels: 1,
            d_hidden: 4,
            n_steps: 2,
            activation: Activation::NormalizedSilu,
        };
        let flow = config.init(0, &Device::flex().autodiff());
        let before = state(&flow);
        let after = state(&shrink_weights(flow, 0.5));
        for (name, values) in &before {
            let factor = if name.ends_with("weight") { 0.5 } else { 1.0 };
            let expected: Vec<f32> = values.iter::<f32>().map(|value| factor * value).collect();
            assert_eq!(after[name].iter::<f32>().collect::<Vec<_>>(), expected, "{name}");
        }
        assert!(before.keys().filter(|name| name.ends_with("weight")).count() >= 4);
    }
}
