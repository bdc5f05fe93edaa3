//! What a whole cloud looks like: the same layers for every point, then the largest value of each channel.
//!
//! ```text
//! h = max over points p of  a(norm(… a(norm(p W₁)) … W_n))
//! ```
//!
//! The order of the points does not matter, and neither do copies of points.
//! (Qi et al., 2017, <https://arxiv.org/abs/1612.00593>, without its learned rotations.)

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use labelflow_flow::{Initializer, Mode, N_AXES, PointLayer, PointLayerConfig};

/// Configuration of [`PointFeatures`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PointFeaturesConfig<'a> {
    /// Widths of the layers' outputs.
    pub(crate) widths: &'a [usize],
    /// Whether the linear maps have biases.
    pub(crate) bias: bool,
    /// The slope of the activation below zero.
    pub(crate) negative_slope: f64,
}

/// Layers for single points and the maximum over them.
#[derive(Module, Debug)]
pub(crate) struct PointFeatures {
    layers: Vec<PointLayer>,
    #[module(skip)]
    negative_slope: f64,
}

impl PointFeaturesConfig<'_> {
    /// Initial weights.
    pub(crate) fn init(&self, init: &mut Initializer) -> PointFeatures {
        let inputs = std::iter::once(&N_AXES).chain(self.widths);
        let layers = inputs.zip(self.widths).map(|(&d_input, &d_output)| {
            let bias = self.bias;
            PointLayerConfig { n_groups: 1, d_input, d_output, bias, affine: true }.init(init)
        });
        PointFeatures { layers: layers.collect(), negative_slope: self.negative_slope }
    }
}

impl PointFeatures {
    /// # Shapes
    ///
    /// - clouds: `[n_clouds, n_points, 3]`
    /// - returns: `[n_clouds, d_features]`
    pub(crate) fn forward(&self, clouds: Tensor<3>, mode: Mode<'_>) -> Tensor<2> {
        let features = self.layers.iter().fold(clouds.unsqueeze_dim::<4>(0), |points, layer| {
            leaky_relu(layer.forward(points, mode), self.negative_slope)
        });
        features.max_dim(2).squeeze_dim::<3>(2).squeeze_dim::<2>(0)
    }
}
