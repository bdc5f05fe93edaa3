//! Adam with the constants of PyTorch's default, on all weights of a module at once.
//!
//! ```text
//! m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²
//! w ← w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
//! ```
//!
//! The moments are two flat vectors over all weights, so that a step is a dozen operations, not a dozen for every tensor.
//! (Kingma and Ba, 2015, <https://arxiv.org/abs/1412.6980>.)

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor};

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
// Written out: burn's default is 1e-5.
const EPSILON: f64 = 1e-8;

/// The state of the optimiser.
#[derive(Debug, Clone)]
pub struct Adam {
    pub(crate) first_moment: Tensor<1>,
    pub(crate) second_moment: Tensor<1>,
    pub(crate) n_steps: usize,
}

impl Adam {
    /// The state before the first step, for a module with `n_weights` trained values.
    pub fn new(n_weights: usize, device: &Device) -> Self {
        Self {
            first_moment: Tensor::zeros([n_weights], device),
            second_moment: Tensor::zeros([n_weights], device),
            n_steps: 0,
        }
    }

    /// The module after one step along a [flat gradient](flat_gradient).
    pub(crate) fn step<M: Module>(&mut self, module: M, gradient: Tensor<1>, lr: f64) -> M {
        self.n_steps += 1;
        let t = self.n_steps as i32;
        let m = self.first_moment.clone() * BETA_1 + gradient.clone() * (1.0 - BETA_1);
        let v = self.second_moment.clone() * BETA_2 + gradient.square() * (1.0 - BETA_2);
        self.first_moment = m.clone();
        self.second_moment = v.clone();
        let deviation = v.sqrt() / (1.0 - BETA_2.powi(t)).sqrt() + EPSILON;
        let change = m / deviation * (-lr / (1.0 - BETA_1.powi(t)));
        add_flat(module, change)
    }
}

/// The gradients of all trained weights, one after another in the order of the module's fields.
pub(crate) fn flat_gradient<M: Module>(module: &M, gradients: Gradients) -> Tensor<1> {
    struct Collect {
        gradients: Gradients,
        parts: Vec<Tensor<1>>,
    }
    impl ModuleVisitor for Collect {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if !param.is_require_grad() {
                return;
            }
            let weight = param.val();
            let gradient = weight.grad_remove(&mut self.gradients);
            let gradient = gradient.unwrap_or_else(|| weight.inner().zeros_like());
            let n_weights = gradient.shape().num_elements();
            self.parts.push(gradient.reshape([n_weights]));
        }
    }
    let mut collect = Collect { gradients, parts: Vec::new() };
    module.visit(&mut collect);
    Tensor::cat(collect.parts, 0)
}

/// Adds to each trained weight its part of a flat change.
fn add_flat<M: Module>(module: M, change: Tensor<1>) -> M {
    struct Add {
        change: Tensor<1>,
        start: usize,
    }
    impl ModuleMapper for Add {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            if !param.is_require_grad() {
                return param;
            }
            param.map(|weight| {
                let shape = weight.shape();
                let n_weights = shape.num_elements();
                let change = self.change.clone().narrow(0, self.start, n_weights).reshape(shape);
                self.start += n_weights;
                Tensor::from_inner(weight.inner() + change).require_grad()
            })
        }
    }
    module.map(&mut Add { change, start: 0 })
}
