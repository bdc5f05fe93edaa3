//! Tells complete shapes (score 1) from generated ones (score 0).

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;
use labelflow_flow::{Initializer, Linear, Mode, PointNorm};

use crate::completers::PointCloudCompleter;
use crate::completers::networks::point_features::{PointFeatures, PointFeaturesConfig};

const NEGATIVE_SLOPE: f64 = 0.01;
/// How the layers of the head start: N(0, 0.02²).
const HEAD_DEVIATION: f32 = 0.02;

/// Features of a cloud and three layers on them.
#[derive(Module, Debug)]
pub(crate) struct Discriminator {
    features: PointFeatures,
    head: Vec<Linear>,
}

impl Discriminator {
    /// Initial weights.
    pub(crate) fn init(config: &PointCloudCompleter, init: &mut Initializer) -> Self {
        let (widths, head) = (&config.discriminator_widths, &config.discriminator_head);
        let norm = match config.discriminator_norm {
            true => PointNorm::Affine,
            false => PointNorm::None,
        };
        let features =
            PointFeaturesConfig { widths, bias: true, norm, negative_slope: NEGATIVE_SLOPE };
        let features = features.init(init);
        let head = [&widths[widths.len() - 1..], &head[..], &[1]].concat();
        let layer = |pair: &[usize]| Linear {
            weight: init.normal([1, pair[0], pair[1]], HEAD_DEVIATION),
            bias: Some(init.constant([1, 1, pair[1]], 0.0)),
        };
        Self { features, head: head.windows(2).map(layer).collect() }
    }

    /// The score of each cloud.
    ///
    /// # Shapes
    ///
    /// - clouds: `[n_clouds, n_points, 3]`
    /// - returns: `[n_clouds]`
    pub(crate) fn forward(&self, clouds: Tensor<3>, mode: Mode<'_>) -> Tensor<1> {
        let features = self.features.forward(clouds, mode).unsqueeze_dim::<3>(0);
        let (last, hidden) = self.head.split_last().expect("the head ends in a score");
        let hidden =
            hidden.iter().fold(features, |x, layer| leaky_relu(layer.forward(x), NEGATIVE_SLOPE));
        last.forward(hidden).squeeze_dim::<2>(2).squeeze_dim::<1>(0)
    }
}
