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
use labelflow_flow::{Initializer, Mode, N_AXES, PointLayer, PointLayerConfig, PointNorm, max_points};

/// Layers for single points and the maximum over them.
#[derive(Module, Debug)]
pub(crate) struct PointFeatures {
    layers: Vec<PointLayer>,
    #[module(skip)]
    negative_slope: f64,
}

impl PointFeatures {
    /// Initial weights of layers with these widths of their outputs, whether their linear maps have biases, what follows those before the
    /// activation, and its slope below zero.
    pub(crate) fn init(
        widths: &[usize],
        bias: bool,
        norm: PointNorm,
        negative_slope: f64,
        init: &mut Initializer,
    ) -> Self {
        let layer = |pair: &[usize]| {
            let (d_input, d_output) = (pair[0], pair[1]);
            PointLayerConfig { n_groups: 1, d_input, d_output, bias, norm }.init(init)
        };
        let widths = [&[N_AXES], widths].concat();
        Self { layers: widths.windows(2).map(layer).collect(), negative_slope }
    }

    /// # Shapes
    ///
    /// - clouds: `[n_clouds, n_points, 3]`
    /// - returns: `[n_clouds, d_features]`
    pub(crate) fn forward(&self, clouds: Tensor<3>, mode: Mode<'_>) -> Tensor<2> {
        let features = self.layers.iter().fold(clouds.unsqueeze_dim::<4>(0), |points, layer| {
            leaky_relu(layer.forward(points, mode), self.negative_slope)
        });
        max_points(features).squeeze_dim::<3>(2).squeeze_dim::<2>(0)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn features(points: &[[f32; 3]]) -> Vec<f32> {
        let init = &mut Initializer::new(4, &Device::flex());
        let features = PointFeatures::init(&[8, 6], true, PointNorm::Affine, 0.01, init);
        let flat = TensorData::new(points.as_flattened().to_vec(), [1, points.len(), 3]);
        let clouds = Tensor::from_data(flat, &Device::flex());
        features.forward(clouds, Mode::Predict).into_data().iter::<f32>().collect()
    }

    #[test]
    fn order_and_copies_of_points_do_not_matter() {
        let points: Vec<[f32; 3]> =
            (0..9).map(|index| [0.1, 0.2, 0.3].map(|step| (step * index as f32).sin())).collect();
        let mut turned = points.clone();
        turned.reverse();
        assert_eq!(features(&points), features(&turned));
        let twice: Vec<[f32; 3]> = points.iter().flat_map(|&point| [point; 2]).collect();
        assert_eq!(features(&points), features(&twice));
        assert_ne!(features(&points), features(&points[1..]));
    }
}
