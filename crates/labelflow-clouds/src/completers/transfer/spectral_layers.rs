//! Linear layers whose matrices have a largest singular value of about 1, so that no output changes faster than its input.
//!
//! ```text
//! y = x W / σ + c,   σ = ‖v W‖,   v ∝ u Wᵀ,   then u ← v W / ‖v W‖
//! ```
//!
//! One power iteration a step follows σ as W moves; u is kept from step to step and never trained. The gradient takes v as given.
//! (Miyato et al., 2018, <https://arxiv.org/abs/1802.05957>.)

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use labelflow_flow::{Initializer, Linear};

/// Keeps quotients finite.
const TINY: f64 = 1e-12;
const NEGATIVE_SLOPE: f64 = 0.01;

/// Layers one after another, rectified in between.
#[derive(Module, Debug)]
pub(crate) struct SpectralLayers {
    layers: Vec<SpectralLayer>,
}

#[derive(Module, Debug)]
struct SpectralLayer {
    linear: Linear,
    /// u, `[1, 1, d_output]`
    running_direction: Param<Tensor<3>>,
}

impl SpectralLayers {
    /// Initial weights of layers with these widths, the input's and the output's among them, from U(±1/√inputs).
    pub(crate) fn init(widths: &[usize], init: &mut Initializer) -> Self {
        let layer = |pair: &[usize]| SpectralLayer {
            linear: Linear::with_bias([1, pair[0], pair[1]], init),
            running_direction: init.normal([1, 1, pair[1]], 1.0).set_require_grad(false),
        };
        Self { layers: widths.windows(2).map(layer).collect() }
    }

    /// # Shapes
    ///
    /// - input: `[n_rows, d_input]`
    /// - returns: `[n_rows, d_output]`
    pub(crate) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let (last, hidden) = self.layers.split_last().expect("at least one layer");
        let hidden =
            hidden.iter().fold(input.unsqueeze_dim::<3>(0), |x, layer| leaky_relu(layer.forward(x), NEGATIVE_SLOPE));
        last.forward(hidden).squeeze_dim::<2>(0)
    }

    /// With directions one power iteration later; to be taken over once per step.
    pub(crate) fn followed(mut self) -> Self {
        for layer in &mut self.layers {
            let next = layer.stretched(layer.linear.weight.val().detach());
            layer.running_direction =
                layer.running_direction.clone().map(|_| unit(next).detach()).set_require_grad(false);
        }
        self
    }
}

impl SpectralLayer {
    fn forward(&self, input: Tensor<3>) -> Tensor<3> {
        let weight = self.linear.weight.val();
        let largest = (self.stretched(weight.clone()).square().sum_dim(2) + TINY).sqrt();
        let output = input.matmul(weight / largest);
        match &self.linear.bias {
            Some(bias) => output + bias.val(),
            None => output,
        }
    }

    /// v W, `[1, 1, d_output]`.
    fn stretched(&self, weight: Tensor<3>) -> Tensor<3> {
        let plain = weight.clone().detach();
        let v = unit(self.running_direction.val().detach().matmul(plain.swap_dims(1, 2)));
        v.matmul(weight)
    }
}

fn unit(rows: Tensor<3>) -> Tensor<3> {
    let length = (rows.clone().square().sum_dim(2) + TINY).sqrt();
    rows / length
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::n_parameters;

    use super::*;

    #[test]
    fn parameters_are_those_of_the_linear_layers() {
        let init = &mut Initializer::new(0, &Device::flex());
        let layers = SpectralLayers::init(&[1024, 256, 512, 1], init);
        assert_eq!(n_parameters(&layers), 1024 * 256 + 256 + 256 * 512 + 512 + 512 + 1);
    }

    #[test]
    fn the_largest_singular_value_becomes_one() {
        let device = Device::flex();
        let mut layers = SpectralLayers::init(&[2, 2], &mut Initializer::new(1, &device));
        let matrix = Tensor::<3>::from_data([[[3.0, 0.0], [0.0, -7.0]]], &device);
        let bias = Tensor::<3>::from_data([[[0.5, 0.0]]], &device);
        layers.layers[0].linear.weight = Param::from_tensor(matrix);
        layers.layers[0].linear.bias = Some(Param::from_tensor(bias));
        for _ in 0..20 {
            layers = layers.followed();
        }
        let output = layers.forward(Tensor::from_data([[1.0, 1.0]], &device)).into_data();
        let output: Vec<f32> = output.iter::<f32>().collect();
        assert!((output[0] - (3.0 / 7.0 + 0.5)).abs() < 1e-5 && (output[1] + 1.0).abs() < 1e-5);
    }

    /// A matrix that grows along what it stretches most changes nothing.
    #[test]
    fn scale_has_no_gradient() {
        let device = Device::flex().autodiff();
        let mut layers = SpectralLayers::init(&[3, 1], &mut Initializer::new(2, &device));
        layers = layers.followed().followed();
        let input = Tensor::<2>::from_data([[0.3, -0.2, 0.9]], &device);
        let gradients = layers.forward(input).sum().backward();
        let weight = layers.layers[0].linear.weight.val();
        let gradient = weight.grad(&gradients).unwrap();
        let along: Vec<f64> = (gradient * weight.inner()).sum().into_data().iter::<f64>().collect();
        assert!(along[0].abs() < 1e-6, "{along:?}");
    }
}
