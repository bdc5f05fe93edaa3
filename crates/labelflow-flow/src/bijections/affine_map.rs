//! Conditional affine map: every label is scaled and shifted by amounts that the features alone decide.
//!
//! ```text
//! h = merge(a(condition))                                            (a: Activation)
//! y = s(h_scale) · z + h_shift                                       (s: bounded_scale)
//! ```
//!
//! Together with the two layers of the conditioner bank, scale and shift are networks of three linear layers each.

use burn::module::Module;
use burn::tensor::Tensor;

use super::bijection::{MAX_LOG_SCALE, scale_and_shift};
use crate::{Activation, Bijection, Flow, Initializer, Linear, Mapped, Mode, Normalization, bounded_scale, fused};

/// Scale and shift.
const N_HEADS: usize = 2;

/// An affine map of all labels given the features.
#[derive(Module, Debug)]
pub struct AffineMap {
    /// After the bank's second layer, if there is one. Groups: scale, shift.
    pub norm: Option<Normalization>,
    /// d_hidden → d_labels.
    pub merge: Linear,
    /// What follows the bank's second layer.
    #[module(skip)]
    pub activation: Activation,
}

impl AffineMap {
    /// Initial weights, with which the map is the identity up to about 1e-2.
    pub fn new(d_labels: usize, d_hidden: usize, activation: Activation, init: &mut Initializer) -> Self {
        let norm = activation.normalization(N_HEADS, d_hidden, init);
        let merge = Linear::nearly_zero([N_HEADS, d_hidden, d_labels], init);
        Self { norm, merge, activation }
    }

    /// What scale and shift are made of, `[2, n_rows, d_labels]`.
    fn heads(&self, condition: Tensor<3>, mode: Mode<'_>) -> Tensor<3> {
        self.merge.forward(self.activation.forward(condition, self.norm.as_ref(), mode))
    }
}

/// All maps of a flow as one: y = scale · z + shift.
#[derive(Debug)]
pub struct Composed {
    /// `[n_rows, d_labels]`
    pub scale: Tensor<2>,
    /// `[n_rows, d_labels]`
    pub log_scale: Tensor<2>,
    /// `[n_rows, d_labels]`
    pub shift: Tensor<2>,
}

impl Flow<AffineMap> {
    /// All maps as one. Affine maps one after another are an affine map, so that p(y|x) is a Gaussian: `shift` is its mean, `scale` its
    /// standard deviation.
    pub fn composed(&self, features: Tensor<2>, mode: Mode<'_>) -> Composed {
        let heads = self.heads(features, mode);
        let [n_heads, n_rows, d_labels] = heads.dims();
        // Scales and shifts alternate. All scales together are one pass where map by map they would be as many as there are maps.
        let heads = heads.reshape([n_heads / N_HEADS, N_HEADS, n_rows, d_labels]);
        let (scales, log_scales) = bounded_scale(heads.clone().narrow(1, 0, 1).squeeze_dim::<3>(1), MAX_LOG_SCALE);
        let shifts = heads.narrow(1, 1, 1).squeeze_dim::<3>(1);
        let of_map = |all: &Tensor<3>, map| all.clone().narrow(0, map, 1).squeeze_dim::<2>(0);
        let first = (of_map(&scales, 0), of_map(&shifts, 0));
        let (scale, shift) = (1..self.chain.maps.len()).fold(first, |(scale, shift), map| {
            let next = of_map(&scales, map);
            (scale * next.clone(), shift * next + of_map(&shifts, map))
        });
        Composed { scale, log_scale: log_scales.sum_dim(0).squeeze_dim::<2>(0), shift }
    }

    /// What the scales and shifts of all maps are made of, `[2 · n_maps, n_rows, d_labels]`.
    fn heads(&self, features: Tensor<2>, mode: Mode<'_>) -> Tensor<3> {
        let applies = match mode {
            Mode::Train(_) => fused::applies(&features),
            Mode::Predict => fused::applies_without_gradient(&features),
        };
        if applies && self.bank.activation.is_row_by_row() {
            return fused::networks(self, features);
        }
        let condition = self.condition(features, mode);
        let heads =
            |(index, map): (usize, &AffineMap)| map.heads(condition.clone().narrow(0, index * N_HEADS, N_HEADS), mode);
        Tensor::cat(self.chain.maps.iter().enumerate().map(heads).collect(), 0)
    }
}

impl Bijection for AffineMap {
    /// All maps as one.
    fn generate(flow: &Flow<Self>, noise: Tensor<2>, features: Tensor<2>, mode: Mode<'_>) -> Mapped {
        let Composed { scale, log_scale, shift } = flow.composed(features, mode);
        (noise * scale + shift, log_scale.sum_dim(1).squeeze_dim::<1>(1))
    }

    /// The features are looked at once, whatever the number of samples.
    fn samples(flow: &Flow<Self>, noise: Tensor<3>, features: Tensor<2>) -> Tensor<3> {
        let Composed { scale, shift, .. } = flow.composed(features, Mode::Predict);
        noise * scale.unsqueeze_dim::<3>(0) + shift.unsqueeze_dim::<3>(0)
    }

    fn n_conditioners(&self) -> usize {
        N_HEADS
    }

    fn forward(&self, labels: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        let [scale, log_scale, shift] = scale_and_shift(self.heads(condition, mode), MAX_LOG_SCALE);
        ((labels - shift) / scale, -log_scale.sum_dim(1).squeeze_dim::<1>(1))
    }

    fn inverse(&self, noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        let [scale, log_scale, shift] = scale_and_shift(self.heads(condition, mode), MAX_LOG_SCALE);
        (noise * scale + shift, log_scale.sum_dim(1).squeeze_dim::<1>(1))
    }
}
