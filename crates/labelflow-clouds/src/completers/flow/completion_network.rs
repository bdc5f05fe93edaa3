//! The generator: a partial cloud and noise in, a complete cloud out.
//!
//! ```text
//! h = features(x),   u ~ q(u|h),   y_t = g(σ₀ z_t; [u; h]),   z_t ~ N(0, I₃),   t = 1 … n_points
//! ```
//!
//! σ₀, the deviation of the base, is 1 in the paper. Shapes fill a ball of radius 0.5, so that a smaller one has less far to contract.

use burn::module::Module;
use burn::tensor::{Gradients, Tensor};
use labelflow::training::flat_gradients;
use labelflow_flow::{
    Bijection, Chain, Flow, Initializer, Mode, N_AXES, PointCoupling, PointFlowConfig,
    PointGradients, PointNorm, PointTape, StatisticsRecorder, generate_with_tape,
    standard_normal_log_prob,
};

use super::latent_encoder::{Latent, LatentEncoder};
use crate::completers::PointCloudCompleter;
use crate::completers::networks::point_features::{PointFeatures, PointFeaturesConfig};

/// Feature network, encoder and point flow.
#[derive(Module, Debug)]
pub(crate) struct CompletionNetwork {
    features: PointFeatures,
    encoder: LatentEncoder,
    flow: Flow<PointCoupling>,
    /// σ₀
    #[module(skip)]
    base_deviation: f64,
}

/// What the network knows of partial clouds.
#[derive(Debug, Clone)]
pub(crate) struct Encoded {
    /// `[n_clouds, d_features]`
    pub(crate) features: Tensor<2>,
    /// The distribution of the latent.
    pub(crate) latent: Latent,
}

/// A batch of generated clouds.
#[derive(Debug, Clone)]
pub(crate) struct Generated {
    /// `[n_clouds, n_points, 3]`
    pub(crate) clouds: Tensor<3>,
    /// ln p of each point, `[n_clouds · n_points]`.
    pub(crate) log_prob: Tensor<1>,
}

impl CompletionNetwork {
    /// Initial weights.
    pub(crate) fn init(config: &PointCloudCompleter, init: &mut Initializer) -> Self {
        let widths = &config.feature_widths;
        let d_features = *widths.last().expect("at least one layer of point features");
        let flow = PointFlowConfig {
            d_features: config.d_latent + d_features,
            d_hidden: config.d_hidden,
            n_steps: config.n_steps,
        };
        let features = PointFeaturesConfig {
            widths,
            bias: false,
            norm: PointNorm::Affine,
            negative_slope: 0.0,
        };
        Self {
            features: features.init(init),
            encoder: LatentEncoder::init(d_features, config.d_latent, init),
            flow: flow.init(config.seed, init.device()),
            base_deviation: config.base_deviation,
        }
    }

    /// # Shapes
    ///
    /// - partials: `[n_clouds, n_partial_points, 3]`
    pub(crate) fn encode(&self, partials: Tensor<3>, mode: Mode<'_>) -> Encoded {
        let features = self.features.forward(partials, mode);
        Encoded { latent: self.encoder.forward(features.clone(), mode), features }
    }

    /// # Shapes
    ///
    /// - latent: `[n_clouds, d_latent]`, features: `[n_clouds, d_features]`
    /// - noise: `[n_clouds, n_points, 3]` from N(0, I)
    pub(crate) fn generate(
        &self,
        latent: Tensor<2>,
        features: Tensor<2>,
        noise: Tensor<3>,
        mode: Mode<'_>,
    ) -> Generated {
        let condition = self.condition(latent, features, mode);
        let (points, log_det) = self.flow.chain.inverse(self.base(noise.clone()), condition, mode);
        self.generated(noise, points, log_det)
    }

    /// What the couplings hear of clouds.
    ///
    /// # Shapes
    ///
    /// - latent: `[n_clouds, d_latent]`, features: `[n_clouds, d_features]`
    /// - returns: `[n_conditioners, n_clouds, d_hidden]`
    pub(crate) fn condition(
        &self,
        latent: Tensor<2>,
        features: Tensor<2>,
        mode: Mode<'_>,
    ) -> Tensor<3> {
        self.flow.condition(Tensor::cat(vec![latent, features], 1), mode)
    }

    /// The couplings, without gradients of their own.
    pub(crate) fn plain_couplings(&self) -> Chain<PointCoupling> {
        self.flow.chain.valid()
    }

    /// [`generate`](Self::generate) in training, from a condition, on tensors without gradients, with what the way back needs.
    pub(crate) fn generate_with_tape(
        &self,
        couplings: &Chain<PointCoupling>,
        condition: &Tensor<3>,
        noise: Tensor<3>,
        recorder: &StatisticsRecorder,
    ) -> (Generated, PointTape) {
        let base = self.base(noise.clone());
        let (points, log_det, tape) =
            generate_with_tape(&couplings.maps, base, condition, recorder);
        (self.generated(noise, points, log_det), tape)
    }

    /// The gradient of all trained weights as one vector: those of the couplings by hand, the others by autodiff.
    pub(crate) fn flat_gradient(
        &self,
        of_couplings: PointGradients,
        mut of_others: Gradients,
    ) -> Tensor<1> {
        let mut parts = flat_gradients(&self.features, &mut of_others);
        parts.extend(flat_gradients(&self.encoder, &mut of_others));
        parts.extend(flat_gradients(&self.flow.bank, &mut of_others));
        parts.extend(of_couplings.weights);
        Tensor::cat(parts, 0)
    }

    /// Noise `[n_clouds, n_points, 3]` as points of the base density, `[n_rows, 3]`.
    fn base(&self, noise: Tensor<3>) -> Tensor<2> {
        let [n_clouds, n_points, _] = noise.dims();
        noise.reshape([n_clouds * n_points, N_AXES]) * self.base_deviation
    }

    fn generated(&self, noise: Tensor<3>, points: Tensor<2>, log_det: Tensor<1>) -> Generated {
        let [n_clouds, n_points, _] = noise.dims();
        let noise = noise.reshape([n_clouds * n_points, N_AXES]);
        let log_base = N_AXES as f64 * self.base_deviation.ln();
        Generated {
            clouds: points.reshape([n_clouds, n_points, N_AXES]),
            log_prob: standard_normal_log_prob(noise) - log_det - log_base,
        }
    }
}
