//! Clouds as normal distributions of short codes, and back.
//!
//! ```text
//! q(z|x) = N(μ(h), diag exp ℓ(h)),   h = max over points of features(p),   cloud = layers(z),   z ~ q(z|x)
//! ```
//!
//! Its encoder later tells which code a completion would have come from: that is how a completer learns to heed its noise.

use burn::module::Module;
use burn::tensor::Tensor;
use labelflow_flow::{Initializer, Linear, Mode, N_AXES, PointNorm};

use crate::completers::flow::latent_encoder::Latent;
use crate::completers::networks::dense_layers::DenseLayers;
use crate::completers::networks::point_autoencoder::as_clouds;
use crate::completers::networks::point_features::{PointFeatures, PointFeaturesConfig};

/// Point features with two heads, and dense layers back to clouds.
#[derive(Module, Debug)]
pub(crate) struct PointVariationalAutoencoder {
    features: PointFeatures,
    mean: Linear,
    log_variance: Linear,
    decoder: DenseLayers,
}

impl PointVariationalAutoencoder {
    /// Initial weights. The decoder's first layer is as wide as the features.
    pub(crate) fn init(
        encoder_widths: &[usize],
        decoder_widths: &[usize],
        d_latent: usize,
        n_points: usize,
        init: &mut Initializer,
    ) -> Self {
        let features = PointFeaturesConfig {
            widths: encoder_widths,
            bias: true,
            norm: PointNorm::Affine,
            negative_slope: 0.0,
        };
        let d_features = *encoder_widths.last().expect("at least one layer of point features");
        let widths = [&[d_latent, d_features], decoder_widths, &[n_points * N_AXES]].concat();
        Self {
            features: features.init(init),
            mean: Linear::with_bias([1, d_features, d_latent], init),
            log_variance: Linear::with_bias([1, d_features, d_latent], init),
            decoder: DenseLayers::init(&widths, 0.0, None, init),
        }
    }

    /// # Shapes
    ///
    /// - clouds: `[n_clouds, any number of points, 3]`
    pub(crate) fn encode(&self, clouds: Tensor<3>, mode: Mode<'_>) -> Latent {
        let features = self.features.forward(clouds, mode).unsqueeze_dim::<3>(0);
        Latent::of_heads(&self.mean, &self.log_variance, features)
    }

    /// # Shapes
    ///
    /// - latents: `[n_clouds, d_latent]`
    /// - returns: `[n_clouds, n_points, 3]`
    pub(crate) fn decode(&self, latents: Tensor<2>) -> Tensor<3> {
        as_clouds(self.decoder.forward(latents))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::n_parameters;

    use super::*;

    #[test]
    fn parameters_are_those_of_the_autoencoder_with_heads_and_a_layer_back() {
        let init = &mut Initializer::new(0, &Device::flex());
        let widths = [64, 128, 128, 256, 128];
        let variational = PointVariationalAutoencoder::init(&widths, &[256, 256], 64, 2048, init);
        let (heads, layer) = (2 * (128 * 64 + 64), 64 * 128 + 128);
        assert_eq!(n_parameters(&variational), 92_416 + heads + layer + 1_677_824);
    }
}
