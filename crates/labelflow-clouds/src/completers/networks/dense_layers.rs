//! Linear layers one after another, rectified in between.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use labelflow_flow::{Initializer, Linear, N_AXES};

/// Linear layers with biases; the output of the last one is left as it is.
#[derive(Module, Debug)]
pub(crate) struct DenseLayers {
    layers: Vec<Linear>,
    #[module(skip)]
    negative_slope: f64,
}

impl DenseLayers {
    /// Initial weights of layers with these widths, the input's and the output's among them: from N(0, deviation²) with biases of zero, or,
    /// without a deviation, both from U(±1/√d_input).
    pub(crate) fn init(widths: &[usize], negative_slope: f64, deviation: Option<f32>, init: &mut Initializer) -> Self {
        let layer = |pair: &[usize]| match deviation {
            None => Linear::with_bias([1, pair[0], pair[1]], init),
            Some(deviation) => normal_layer(pair, deviation, init),
        };
        Self { layers: widths.windows(2).map(layer).collect(), negative_slope }
    }

    /// # Shapes
    ///
    /// - input: `[n_rows, d_input]`
    /// - returns: `[n_rows, d_output]`
    pub(crate) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        through(&self.layers, self.negative_slope, input.unsqueeze_dim::<3>(0)).squeeze_dim::<2>(0)
    }
}

/// A layer with this width of its input and this one of its output, from N(0, deviation²), with biases of zero.
pub(crate) fn normal_layer(widths: &[usize], deviation: f32, init: &mut Initializer) -> Linear {
    let (d_input, d_output) = (widths[0], widths[1]);
    Linear { weight: init.normal([1, d_input, d_output], deviation), bias: Some(init.constant([1, 1, d_output], 0.0)) }
}

/// Layers one after another, rectified in between with this slope below zero.
pub(crate) fn through(layers: &[Linear], negative_slope: f64, input: Tensor<3>) -> Tensor<3> {
    let (last, hidden) = layers.split_last().expect("at least one layer");
    last.forward(hidden.iter().fold(input, |x, layer| leaky_relu(layer.forward(x), negative_slope)))
}

/// Rows of coordinates, `[n_clouds, n_points · 3]`, as clouds.
pub(crate) fn as_clouds(rows: Tensor<2>) -> Tensor<3> {
    let [n_clouds, n_values] = rows.dims();
    rows.reshape([n_clouds, n_values / N_AXES, N_AXES])
}
