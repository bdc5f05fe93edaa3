//! Several linear layers of the same shape, evaluated together.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use super::parts::n_parts;
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
        Self { weight: init.fan_in(shape, d_input), bias: Some(init.fan_in([n_groups, 1, d_output], d_input)) }
    }

    /// Weights from N(0, 0.01²), biases zero.
    pub fn nearly_zero(shape: [usize; 3], init: &mut Initializer) -> Self {
        let [n_groups, _, d_output] = shape;
        Self { weight: init.nearly_zero(shape), bias: Some(init.constant([n_groups, 1, d_output], 0.0)) }
    }

    /// # Shapes
    ///
    /// - input: `[n_groups, n_rows, d_input]`, or `[1, n_rows, d_input]` for the same input to all groups
    /// - returns: `[n_groups, n_rows, d_output]`
    pub fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        let n_parts = self.n_parts(input.dims()[1], &input.device());
        match n_parts {
            1 => self.forward_whole(input),
            _ => self.forward_parts(input, n_parts),
        }
    }

    fn forward_whole(&self, input: Tensor<3>) -> Tensor<3> {
        let output = input.matmul(self.weight.val());
        match &self.bias {
            Some(bias) => output + bias.val(),
            None => output,
        }
    }

    /// The parts of the rows for which weights have gradients of their own, which are then added up. As a single product over all rows
    /// they would be long sums for each of few numbers.
    fn n_parts(&self, n_rows: usize, device: &Device) -> usize {
        /// Blocks of so many numbers a side are computed together.
        const BLOCK: usize = 64;
        /// Blocks that keep a GPU busy.
        const ENOUGH: usize = 256;
        let [n_groups, d_input, d_output] = self.weight.dims();
        let n_blocks = n_groups * d_input.div_ceil(BLOCK) * d_output.div_ceil(BLOCK);
        n_parts(n_rows, ENOUGH / n_blocks, device)
    }

    /// [`forward_whole`](Self::forward_whole) with weights spread over parts of the rows.
    fn forward_parts(&self, input: Tensor<3>, n_parts: usize) -> Tensor<3> {
        let [n_inputs, n_rows, d_input] = input.dims();
        let [n_groups, _, d_output] = self.weight.dims();
        let input = input.reshape([n_inputs, n_parts, n_rows / n_parts, d_input]);
        let output = input.matmul(self.weight.val().unsqueeze_dim::<4>(1));
        let output = match &self.bias {
            Some(bias) => {
                let bias = bias.val().unsqueeze_dim::<4>(1);
                output + bias.expand([n_groups, n_parts, 1, d_output])
            }
            None => output,
        };
        output.reshape([n_groups, n_rows, d_output])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_change_nothing() {
        let device = Device::flex().autodiff();
        let layer = Linear::with_bias([2, 3, 4], &mut Initializer::new(1, &device));
        let input = (Tensor::arange(0..72, &device).float() * 0.7).sin().reshape([2, 12, 3]);
        let numbers = |output: Tensor<3>| -> Vec<f32> {
            let gradients = output.clone().square().sum().backward();
            let bias = layer.bias.as_ref().unwrap().val().grad(&gradients).unwrap();
            let weight = layer.weight.val().grad(&gradients).unwrap();
            let all = [output.into_data(), weight.into_data(), bias.into_data()];
            all.iter().flat_map(|data| data.iter::<f32>()).collect()
        };
        let whole = numbers(layer.forward_whole(input.clone()));
        let parts = numbers(layer.forward_parts(input, 3));
        for (one, other) in parts.iter().zip(&whole) {
            assert!((one - other).abs() < 1e-4, "{one} and {other}");
        }
        assert_eq!(parts.len(), whole.len());
    }
}
