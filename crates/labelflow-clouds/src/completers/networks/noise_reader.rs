//! Reads the noise that a completion was made from, trained together with who made it.
//!
//! ```text
//! q(z|y) = N(μ(h), diag exp ℓ(h)),   h = max over points of W features(p)
//! ```
//!
//! mm-pcl2pcl has the encoder of a variational autoencoder in its place, which has a stage of its own; this one starts with random weights.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use labelflow_flow::{Initializer, Linear, Mode, N_AXES, PointLayer, PointLayerConfig, PointNorm};

use crate::completers::flow::latent_encoder::Latent;

/// Normalised layers for single points, one without, the maximum over points, and two heads.
#[derive(Module, Debug)]
pub(crate) struct NoiseReader {
    layers: Vec<PointLayer>,
    last: PointLayer,
    mean: Linear,
    log_variance: Linear,
}

impl NoiseReader {
    /// Initial weights. The last of `widths` is that of the layer without normalisation.
    pub(crate) fn init(widths: &[usize], d_noise: usize, init: &mut Initializer) -> Self {
        let widths = [&[N_AXES], widths].concat();
        let (hidden, last) = widths.split_at(widths.len() - 1);
        let d_features = last[0];
        let mut layer = |d_input: usize, d_output: usize, norm: PointNorm| {
            PointLayerConfig { n_groups: 1, d_input, d_output, bias: true, norm }.init(init)
        };
        let layers = hidden.windows(2).map(|pair| layer(pair[0], pair[1], PointNorm::Affine));
        Self {
            layers: layers.collect(),
            last: layer(hidden[hidden.len() - 1], d_features, PointNorm::None),
            mean: Linear::with_bias([1, d_features, d_noise], init),
            log_variance: Linear::with_bias([1, d_features, d_noise], init),
        }
    }

    /// # Shapes
    ///
    /// - clouds: `[n_clouds, n_points, 3]`
    pub(crate) fn read(&self, clouds: Tensor<3>, mode: Mode<'_>) -> Latent {
        let hidden = self
            .layers
            .iter()
            .fold(clouds.unsqueeze_dim::<4>(0), |points, layer| relu(layer.forward(points, mode)));
        let features = self.last.forward(hidden, mode).max_dim(2).squeeze_dim::<3>(2);
        Latent::of_heads(&self.mean, &self.log_variance, features)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::n_parameters;

    use super::*;

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let init = &mut Initializer::new(0, &Device::flex());
        let reader = NoiseReader::init(&[64, 128, 128, 256, 128], 64, init);
        assert_eq!(n_parameters(&reader), 108_672);
    }
}
