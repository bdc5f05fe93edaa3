//! The networks of the flow: the generator, a partial cloud and noise in, a complete cloud out, and the discriminator, which tells complete
//! shapes (score 1) from generated ones (score 0).
//!
//! ```text
//! h = features(x),   u ~ q(u|h),   y_t = g(σ₀ z_t; [u; h]),   z_t ~ N(0, I₃),   t = 1 … n_points
//!
//! q(u|x) = N(μ(h), diag exp ℓ(h)),   u = μ + exp(ℓ / 2) · ε,   ε ~ N(0, I)
//! KL(q ‖ N(0, I)) = ½ Σ (μ² + exp ℓ − 1 − ℓ)
//! ```
//!
//! σ₀, the deviation of the base, is 1 in the paper. Shapes fill a ball of radius 0.5, so that a smaller one has less far to contract.
//! (Kingma and Welling, 2014, <https://arxiv.org/abs/1312.6114>.)

use burn::module::Module;
use burn::tensor::activation::silu;
use burn::tensor::{Gradients, Tensor};
use labelflow::training::flat_gradients;
use labelflow_flow::{
    Bijection, Chain, Flow, Initializer, Linear, Mode, N_AXES, Normalization, PointCoupling, PointFlowConfig,
    PointGradients, PointNorm, PointTape, StatisticsRecorder, generate_with_tape, standard_normal_log_prob,
};

use crate::completers::PointCloudCompleter;
use crate::completers::networks::{PointFeatures, normal_layer, through};

/// How each head of the encoder starts: close to N(0, I) for every cloud.
const MEAN_DEVIATION: f32 = 0.0033;
const LOG_VARIANCE_DEVIATION: f32 = 0.033;
/// |ln σ²| is kept below this: its exponential stays finite.
const LARGEST_LOG_VARIANCE: f64 = 10.0;
/// The slope of the discriminator's activations below zero.
const NEGATIVE_SLOPE: f64 = 0.01;
/// How the layers of the head start: N(0, 0.02²).
const HEAD_DEVIATION: f32 = 0.02;

/// The two networks that are trained against each other.
#[derive(Module, Debug)]
pub struct FlowNetworks {
    pub(crate) generator: CompletionNetwork,
    pub(crate) discriminator: Discriminator,
}

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
        Self {
            features: PointFeatures::init(widths, false, PointNorm::Affine, 0.0, init),
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
    pub(crate) fn condition(&self, latent: Tensor<2>, features: Tensor<2>, mode: Mode<'_>) -> Tensor<3> {
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
        let (points, log_det, tape) = generate_with_tape(&couplings.maps, base, condition, recorder);
        (self.generated(noise, points, log_det), tape)
    }

    /// The gradient of all trained weights as one vector: those of the couplings by hand, the others by autodiff.
    pub(crate) fn flat_gradient(&self, of_couplings: PointGradients, mut of_others: Gradients) -> Tensor<1> {
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

/// A hidden layer and two heads.
#[derive(Module, Debug)]
pub(crate) struct LatentEncoder {
    hidden: Linear,
    norm: Normalization,
    mean: Linear,
    log_variance: Linear,
}

/// A normal distribution per cloud.
#[derive(Debug, Clone)]
pub(crate) struct Latent {
    /// `[n_clouds, d_latent]`
    pub(crate) mean: Tensor<2>,
    /// `[n_clouds, d_latent]`
    pub(crate) log_variance: Tensor<2>,
}

impl LatentEncoder {
    /// Initial weights; the hidden layer is as wide as the features.
    pub(crate) fn init(d_features: usize, d_latent: usize, init: &mut Initializer) -> Self {
        let mut head = |deviation| normal_layer(&[d_features, d_latent], deviation, init);
        Self {
            mean: head(MEAN_DEVIATION),
            log_variance: head(LOG_VARIANCE_DEVIATION),
            hidden: Linear::without_bias([1, d_features, d_features], init),
            norm: Normalization::affine(1, d_features, init),
        }
    }

    /// # Shapes
    ///
    /// - features: `[n_clouds, d_features]`
    pub(crate) fn forward(&self, features: Tensor<2>, mode: Mode<'_>) -> Latent {
        let hidden = self.hidden.forward(features.unsqueeze_dim::<3>(0));
        let hidden = silu(self.norm.forward(hidden, mode));
        Latent::of_heads(&self.mean, &self.log_variance, hidden)
    }
}

impl Latent {
    /// What two heads make of hidden values, `[1, n_clouds, width]`.
    pub(crate) fn of_heads(mean: &Linear, log_variance: &Linear, hidden: Tensor<3>) -> Self {
        let head = |head: &Linear| head.forward(hidden.clone()).squeeze_dim::<2>(0);
        let log_variance = head(log_variance);
        Self { mean: head(mean), log_variance: log_variance.clamp(-LARGEST_LOG_VARIANCE, LARGEST_LOG_VARIANCE) }
    }

    /// A sample from noise ε ~ N(0, I), `[n_clouds, d_latent]`.
    pub(crate) fn sample(&self, noise: Tensor<2>) -> Tensor<2> {
        self.mean.clone() + (self.log_variance.clone() * 0.5).exp() * noise
    }

    /// KL(q ‖ N(0, I)), the mean over clouds.
    pub(crate) fn divergence(&self) -> Tensor<1> {
        let Self { mean, log_variance } = self.clone();
        let each = mean.square() + log_variance.clone().exp() - log_variance - 1.0;
        each.sum_dim(1).mean() * 0.5
    }
}

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
        let features = PointFeatures::init(widths, true, norm, NEGATIVE_SLOPE, init);
        let head = [&widths[widths.len() - 1..], &head[..], &[1]].concat();
        let layer = |pair: &[usize]| normal_layer(pair, HEAD_DEVIATION, init);
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
        through(&self.head, NEGATIVE_SLOPE, features).squeeze_dim::<2>(2).squeeze_dim::<1>(0)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use labelflow_flow::n_parameters;

    use super::*;
    use crate::completers::CompletionLearner;

    #[test]
    fn divergences_by_hand() {
        let divergence = |mean: f64, log_variance: f64| {
            let device = Device::flex();
            let mean = Tensor::full([3, 128], mean, &device);
            let log_variance = Tensor::full([3, 128], log_variance, &device);
            let divergence = Latent { mean, log_variance }.divergence();
            divergence.into_data().iter::<f64>().next().unwrap()
        };
        assert_eq!(divergence(0.0, 0.0), 0.0);
        assert!((divergence(1.0, 0.0) - 64.0).abs() < 1e-4);
        assert!((divergence(0.0, 4f64.ln()) - 0.806853 * 128.0).abs() < 1e-3);
    }

    #[test]
    fn latents_start_close_to_a_standard_normal() {
        let device = Device::flex();
        let encoder = LatentEncoder::init(16, 8, &mut Initializer::new(0, &device));
        let latent = encoder.forward(Tensor::full([2, 16], 0.5, &device), Mode::Predict);
        let divergence: Vec<f64> = latent.divergence().into_data().iter::<f64>().collect();
        assert!(divergence[0] < 0.1, "{divergence:?}");
    }

    #[test]
    fn parameters_are_as_many_as_the_specification_says() {
        let networks = PointCloudCompleter::default().init(&Device::flex());
        assert_eq!(n_parameters(&networks.generator), 5_124_488);
        assert_eq!(n_parameters(&networks.discriminator), 257_537);
    }
}
