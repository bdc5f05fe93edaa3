//! The distribution of the latent u given the features of a partial cloud.
//!
//! ```text
//! q(u|x) = N(μ(h), diag exp ℓ(h)),   u = μ + exp(ℓ / 2) · ε,   ε ~ N(0, I)
//! KL(q ‖ N(0, I)) = ½ Σ (μ² + exp ℓ − 1 − ℓ)
//! ```
//!
//! (Kingma and Welling, 2014, <https://arxiv.org/abs/1312.6114>.)

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::silu;
use labelflow_flow::{Initializer, Linear, Mode, Normalization};

/// How each head starts: close to N(0, I) for every cloud.
const MEAN_DEVIATION: f32 = 0.0033;
const LOG_VARIANCE_DEVIATION: f32 = 0.033;
/// |ln σ²| is kept below this: its exponential stays finite.
const LARGEST_LOG_VARIANCE: f64 = 10.0;

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
        let mut head = |deviation| Linear {
            weight: init.normal([1, d_features, d_latent], deviation),
            bias: Some(init.constant([1, 1, d_latent], 0.0)),
        };
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
        Self {
            mean: head(mean),
            log_variance: log_variance.clamp(-LARGEST_LOG_VARIANCE, LARGEST_LOG_VARIANCE),
        }
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

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

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
}
