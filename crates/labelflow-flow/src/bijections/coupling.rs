//! Conditional affine coupling: one label is scaled and shifted by amounts that the other labels and the features decide.
//!
//! Two networks of the same build, one for the scale and one for the shift, see the kept labels y_keep and what the conditioner bank
//! says of the features (W before its exponential, and B):
//!
//! ```text
//! U = norm₀(second(SiLU(norm(first(y_keep)))))
//! h = merge(SiLU((1e-6 + exp W) · U + B))
//! y = s(h_scale) · z + h_shift                                       (s: bounded_scale)
//! ```
//!
//! Labels of several flows side by side stand in blocks: a coupling keeps the other labels of its own block, and knows nothing of the
//! other blocks.
//!
//! (Lu et al., Weakly Supervised Label Learning Flows; couplings after Dinh et al., 2017, <https://arxiv.org/abs/1605.08803>.)

// Deviation: in the paper's code the kept labels are scaled too, by √(1 + 1e-6), with 5e-7 each in the log-determinant. Here they are
// left alone.
// Deviation: the paper and its code have two classes. With more, each coupling warps one class given all others.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::silu;

use super::bijection::{MAX_LOG_SCALE, scale_and_shift};
use crate::{Bijection, Flow, Initializer, Linear, Mapped, Mode, Normalization, fold_inverse, fused};

/// Keeps a gain above zero where the exponential underflows.
pub(crate) const GAIN_FLOOR: f64 = 1e-6;
/// Scale and shift.
pub(crate) const N_HEADS: usize = 2;

/// An affine map of one label given all others and the features.
#[derive(Module, Debug)]
pub struct Coupling {
    /// d_labels − 1 → d_hidden, no bias (the normalisation has one). Groups: scale, shift, here and below.
    pub first: Linear,
    /// After the first layer.
    pub first_norm: Normalization,
    /// d_hidden → d_hidden.
    pub second: Linear,
    /// After the second layer; without affine part, since the features provide gain and offset.
    pub second_norm: Normalization,
    /// d_hidden → 1.
    pub merge: Linear,
    /// The label that is warped, counted over all blocks.
    #[module(skip)]
    pub warped: usize,
    /// The largest logarithm of its scale, up or down.
    #[module(skip)]
    pub max_log_scale: f64,
}

impl Coupling {
    /// Initial weights, with which the map of the label `warped` is the identity up to about 1e-2; blocks have `d_labels` labels.
    ///
    /// # Panics
    ///
    /// If a block has fewer than two labels.
    pub fn new(d_labels: usize, warped: usize, d_hidden: usize, init: &mut Initializer) -> Self {
        assert!(d_labels >= 2, "a coupling needs a label to keep");
        Self {
            first: Linear::without_bias([N_HEADS, d_labels - 1, d_hidden], init),
            first_norm: Normalization::affine(N_HEADS, d_hidden, init),
            second: Linear::with_bias([N_HEADS, d_hidden, d_hidden], init),
            second_norm: Normalization::plain(N_HEADS, d_hidden, init),
            merge: Linear::nearly_zero([N_HEADS, d_hidden, 1], init),
            warped,
            max_log_scale: MAX_LOG_SCALE,
        }
    }

    /// The columns of its block.
    fn block(&self) -> Range<usize> {
        let [_, d_kept, _] = self.first.weight.dims();
        block_of(self.warped, d_kept + 1)
    }

    /// The scale, its logarithm and the shift of the warped label, each `[n_rows, 1]`.
    fn scale_and_shift(&self, kept: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> [Tensor<2>; 3] {
        let [gain, offset] = gain_and_offset(condition);
        let first = self.first.forward(kept.unsqueeze_dim::<3>(0));
        let hidden = silu(self.first_norm.forward(first, mode));
        let hidden = self.second_norm.forward(self.second.forward(hidden), mode);
        scale_and_shift(self.merge.forward(silu(gain * hidden + offset)), self.max_log_scale)
    }

    /// The warped label, `[n_rows, 1]`, and the kept ones of its block, `[n_rows, d_labels − 1]`.
    fn split(&self, labels: &Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let Range { start, end } = self.block();
        let kept = match [columns(labels, start..self.warped), columns(labels, self.warped + 1..end)] {
            [Some(before), Some(after)] => Tensor::cat(vec![before, after], 1),
            [before, after] => before.or(after).expect("a label is kept"),
        };
        (labels.clone().narrow(1, self.warped, 1), kept)
    }

    /// Labels with another one in the place of the warped.
    fn join(&self, warped: Tensor<2>, labels: &Tensor<2>) -> Tensor<2> {
        let (before, after) = (columns(labels, 0..self.warped), columns(labels, self.warped + 1..labels.dims()[1]));
        Tensor::cat([before, Some(warped), after].into_iter().flatten().collect(), 1)
    }
}

/// The columns of the block of `d_labels` labels that this one belongs to.
pub(crate) fn block_of(label: usize, d_labels: usize) -> Range<usize> {
    let start = label - label % d_labels;
    start..start + d_labels
}

/// Some columns, unless there are none of them.
fn columns(labels: &Tensor<2>, range: Range<usize>) -> Option<Tensor<2>> {
    (!range.is_empty()).then(|| labels.clone().narrow(1, range.start, range.len()))
}

/// What the features say to both heads: the gain 1e-6 + exp W, and the offset B.
pub(crate) fn gain_and_offset(condition: Tensor<3>) -> [Tensor<3>; 2] {
    let gain = condition.clone().narrow(0, 0, N_HEADS).exp() + GAIN_FLOOR;
    [gain, condition.narrow(0, N_HEADS, N_HEADS)]
}

impl Bijection for Coupling {
    /// On the CPU, training goes through all couplings in one operation.
    fn inverse_chain(maps: &[Self], noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        match mode {
            Mode::Train(recorder) if fused::applies(&noise) => fused::couplings(maps, noise, condition, recorder),
            _ => fold_inverse(maps, noise, condition, mode),
        }
    }

    /// On the CPU, all samples go through the flow in one operation.
    fn samples(flow: &Flow<Self>, noise: Tensor<3>, features: Tensor<2>) -> Tensor<3> {
        if fused::applies_without_gradient(&noise) {
            fused::samples(flow, noise, features)
        } else {
            flow.composed_samples(noise, features)
        }
    }

    fn n_conditioners(&self) -> usize {
        2 * N_HEADS
    }

    fn forward(&self, labels: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        let (warped, kept) = self.split(&labels);
        let [scale, log_scale, shift] = self.scale_and_shift(kept, condition, mode);
        (self.join((warped - shift) / scale, &labels), -log_scale.squeeze_dim::<1>(1))
    }

    fn inverse(&self, noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        let (warped, kept) = self.split(&noise);
        let [scale, log_scale, shift] = self.scale_and_shift(kept, condition, mode);
        (self.join(warped * scale + shift, &noise), log_scale.squeeze_dim::<1>(1))
    }
}
