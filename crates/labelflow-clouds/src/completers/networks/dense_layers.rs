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
        let layer = |pair: &[usize]| {
            let shape = [1, pair[0], pair[1]];
            match deviation {
                None => Linear::with_bias(shape, init),
                Some(deviation) => {
                    Linear { weight: init.normal(shape, deviation), bias: Some(init.constant([1, 1, pair[1]], 0.0)) }
                }
            }
        };
        Self { layers: widths.windows(2).map(layer).collect(), negative_slope }
    }

    /// # Shapes
    ///
    /// - input: `[n_rows, d_input]`
    /// - returns: `[n_rows, d_output]`
    pub(crate) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let (last, hidden) = self.layers.split_last().expect("at least one layer");
        let hidden = hidden
            .iter()
            .fold(input.unsqueeze_dim::<3>(0), |x, layer| leaky_relu(layer.forward(x), self.negative_slope));
        last.forward(hidden).squeeze_dim::<2>(0)
    }
}

/// Rows of coordinates, `[n_clouds, n_points · 3]`, as clouds.
pub(crate) fn as_clouds(rows: Tensor<2>) -> Tensor<3> {
    let [n_clouds, n_values] = rows.dims();
    rows.reshape([n_clouds, n_values / N_AXES, N_AXES])
}
