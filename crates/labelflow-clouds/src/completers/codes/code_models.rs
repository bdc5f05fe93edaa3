//! What turns clouds into codes, into distributions of codes, and back.
//!
//! ```text
//! autoencoder              code = max over points of features(p),                  cloud = layers(code) as n_points × 3
//! variational autoencoder  q(z|x) = N(μ(h), diag exp ℓ(h)),   h = max over points of features(p),   cloud = layers(z),   z ~ q(z|x)
//! reader                   the same distribution, of h = max over points of W features(p)
//! ```
//!
//! A decoder gives its points in a fixed order, so that there are always as many. The variational autoencoder's encoder, or the reader in
//! its place, tells which code a completion would have come from: that is how a completer learns to heed its noise. The reader has no stage
//! of its own: it is trained together with who makes the completions.
//! (Achlioptas et al., 2018, <https://arxiv.org/abs/1707.02392>.)

// Deviation: pcl2pcl's own autoencoder normalises after its activation, not before it; here it has that of mm-pcl2pcl, whose authors
// published both rows of the table.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use labelflow_flow::{Initializer, Linear, Mode, N_AXES, PointLayer, PointLayerConfig, PointNorm};

use crate::completers::CodeCompleter;
use crate::completers::networks::{DenseLayers, Latent, PointFeatures, as_clouds};

/// The slope of the autoencoder's activations below zero.
const NEGATIVE_SLOPE: f64 = 0.01;

/// Point features as the encoder, and dense layers as the decoder.
#[derive(Module, Debug)]
pub(crate) struct PointAutoencoder {
    encoder: PointFeatures,
    decoder: DenseLayers,
}

/// Point features with two heads, and dense layers back to clouds.
#[derive(Module, Debug)]
pub(crate) struct PointVariationalAutoencoder {
    features: PointFeatures,
    mean: Linear,
    log_variance: Linear,
    decoder: DenseLayers,
}

/// Normalised layers for single points, one without, the maximum over points, and two heads.
#[derive(Module, Debug)]
pub(crate) struct NoiseReader {
    layers: Vec<PointLayer>,
    last: PointLayer,
    mean: Linear,
    log_variance: Linear,
}

/// Point features with the encoder's widths.
fn features(config: &CodeCompleter, negative_slope: f64, init: &mut Initializer) -> PointFeatures {
    PointFeatures::init(&config.encoder_widths, true, PointNorm::Affine, negative_slope, init)
}

/// Layers with the decoder's widths, and others before them.
fn decoder(config: &CodeCompleter, first: &[usize], negative_slope: f64, init: &mut Initializer) -> DenseLayers {
    let widths = [first, &config.decoder_widths, &[config.n_points * N_AXES]].concat();
    DenseLayers::init(&widths, negative_slope, None, init)
}

impl PointAutoencoder {
    /// Initial weights. The last of the encoder's widths is the code's.
    pub(crate) fn init(config: &CodeCompleter, init: &mut Initializer) -> Self {
        Self {
            encoder: features(config, NEGATIVE_SLOPE, init),
            decoder: decoder(config, &[config.d_code()], NEGATIVE_SLOPE, init),
        }
    }

    /// # Shapes
    ///
    /// - clouds: `[n_clouds, any number of points, 3]`
    /// - returns: `[n_clouds, d_code]`
    pub(crate) fn encode(&self, clouds: Tensor<3>, mode: Mode<'_>) -> Tensor<2> {
        self.encoder.forward(clouds, mode)
    }

    /// # Shapes
    ///
    /// - codes: `[n_clouds, d_code]`
    /// - returns: `[n_clouds, n_points, 3]`
    pub(crate) fn decode(&self, codes: Tensor<2>) -> Tensor<3> {
        as_clouds(self.decoder.forward(codes))
    }
}

impl PointVariationalAutoencoder {
    /// Initial weights. The decoder's first layer is as wide as the features.
    pub(crate) fn init(config: &CodeCompleter, init: &mut Initializer) -> Self {
        let (d_features, d_latent) = (config.d_code(), config.d_noise);
        Self {
            features: features(config, 0.0, init),
            mean: Linear::with_bias([1, d_features, d_latent], init),
            log_variance: Linear::with_bias([1, d_features, d_latent], init),
            decoder: decoder(config, &[d_latent, d_features], 0.0, init),
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

impl NoiseReader {
    /// Initial weights. The last of the encoder's widths is that of the layer without normalisation.
    pub(crate) fn init(config: &CodeCompleter, init: &mut Initializer) -> Self {
        let (d_features, d_noise) = (config.d_code(), config.d_noise);
        let widths = [&[N_AXES], &config.encoder_widths[..]].concat();
        let mut layer = |pair: &[usize], norm: PointNorm| {
            let (d_input, d_output) = (pair[0], pair[1]);
            PointLayerConfig { n_groups: 1, d_input, d_output, bias: true, norm }.init(init)
        };
        let n = widths.len();
        Self {
            layers: widths[..n - 1].windows(2).map(|pair| layer(pair, PointNorm::Affine)).collect(),
            last: layer(&widths[n - 2..], PointNorm::None),
            mean: Linear::with_bias([1, d_features, d_noise], init),
            log_variance: Linear::with_bias([1, d_features, d_noise], init),
        }
    }

    /// # Shapes
    ///
    /// - clouds: `[n_clouds, n_points, 3]`
    pub(crate) fn read(&self, clouds: Tensor<3>, mode: Mode<'_>) -> Latent {
        let points = clouds.unsqueeze_dim::<4>(0);
        let hidden = self.layers.iter().fold(points, |x, layer| relu(layer.forward(x, mode)));
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
        let config = CodeCompleter::mm_pcl2pcl();
        let autoencoder = PointAutoencoder::init(&config, init);
        assert_eq!(n_parameters(&autoencoder.encoder), 92_416);
        assert_eq!(n_parameters(&autoencoder.decoder), 1_677_824);
        let variational = PointVariationalAutoencoder::init(&config, init);
        let (heads, layer) = (2 * (128 * 64 + 64), 64 * 128 + 128);
        assert_eq!(n_parameters(&variational), 92_416 + heads + layer + 1_677_824);
        assert_eq!(n_parameters(&NoiseReader::init(&config, init)), 108_672);
    }
}
