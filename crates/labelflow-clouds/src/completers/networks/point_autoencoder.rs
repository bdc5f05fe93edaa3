//! Clouds as short codes, and back.
//!
//! ```text
//! code = max over points of features(p),   cloud = layers(code) as n_points × 3
//! ```
//!
//! The decoder gives its points in a fixed order, so that there are always as many.
//! (Achlioptas et al., 2018, <https://arxiv.org/abs/1707.02392>.)

// Deviation: pcl2pcl's own autoencoder normalises after its activation, not before it; here it has that of mm-pcl2pcl, whose authors
// published both rows of the table.

use burn::module::Module;
use burn::tensor::Tensor;
use labelflow_flow::{Initializer, Mode, N_AXES, PointNorm};

use super::dense_layers::DenseLayers;
use super::point_features::{PointFeatures, PointFeaturesConfig};

const NEGATIVE_SLOPE: f64 = 0.01;

/// Point features as the encoder, and dense layers as the decoder.
#[derive(Module, Debug)]
pub(crate) struct PointAutoencoder {
    encoder: PointFeatures,
    decoder: DenseLayers,
}

impl PointAutoencoder {
    /// Initial weights. The last of `encoder_widths` is the code's.
    pub(crate) fn init(
        encoder_widths: &[usize],
        decoder_widths: &[usize],
        n_points: usize,
        init: &mut Initializer,
    ) -> Self {
        let encoder = PointFeaturesConfig {
            widths: encoder_widths,
            bias: true,
            norm: PointNorm::Affine,
            negative_slope: NEGATIVE_SLOPE,
        };
        let d_code = *encoder_widths.last().expect("at least one layer of point features");
        let widths = [&[d_code], decoder_widths, &[n_points * N_AXES]].concat();
        Self {
            encoder: encoder.init(init),
            decoder: DenseLayers::init(&widths, NEGATIVE_SLOPE, None, init),
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

/// Rows of coordinates, `[n_clouds, n_points · 3]`, as clouds.
pub(crate) fn as_clouds(rows: Tensor<2>) -> Tensor<3> {
    let [n_clouds, n_values] = rows.dims();
    rows.reshape([n_clouds, n_values / N_AXES, N_AXES])
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::n_parameters;

    use super::*;

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let init = &mut Initializer::new(0, &Device::flex());
        let autoencoder =
            PointAutoencoder::init(&[64, 128, 128, 256, 128], &[256, 256], 2048, init);
        assert_eq!(n_parameters(&autoencoder.encoder), 92_416);
        assert_eq!(n_parameters(&autoencoder.decoder), 1_677_824);
    }
}
