//! Several linear layers of the same shape, evaluated together.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use crate::Initializer;

/// `n_groups` independent linear layers y = x W + c.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[n_groups, d_input, d_output]`
    pub weight: Param<Tensor<3>>,
    /// `[n_groups, 1, d_output]`
    pub bias: Option<Param<Tensor<3>>>,
}

impl Linear {
    /// Weights from U(±1/√d_input), no bias.
    pub fn without_bias(shape: [usize; 3], init: &mut Initializer) -> Self {
        Self { weight: init.fan_in(shape, shape[1]), bias: None }
    }

    /// Weights and biases from U(±1/√d_input).
    pub fn with_bias(shape: [usize; 3], init: &mut Initializer) -> Self {
        let [n_groups, d_input, d_output] = shape;
        Self {
            weight: init.fan_in(shape, d_input),
            bias: Some(init.fan_in([n_groups, 1, d_output], d_input)),
        }
    }

    /// Weights from N(0, 0.01²), biases zero.
    pub fn nearly_zero(shape: [usize; 3], init: &mut Initializer) -> Self {
        let [n_groups, _, d_output] = shape;
        Self {
            weight: init.nearly_zero(shape),
            bias: Some(init.constant([n_groups, 1, d_output], 0.0)),
        }
    }

    /// # Shapes
    ///
    /// - input: `[n_groups, n_rows, d_input]`, or `[1, n_rows, d_input]` for the same input to all groups
    /// - returns: `[n_groups, n_rows, d_output]`
    pub fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        let output = input.matmul(self.weight.val());
        match &self.bias {
            Some(bias) => output + bias.val(),
            None => output,
        }
    }
}
