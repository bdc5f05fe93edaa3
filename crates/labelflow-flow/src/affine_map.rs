//! Conditional affine map: every label is scaled and shifted by amounts that the features alone decide.
//!
//! ```text
//! h = merge(SiLU(norm(condition)))
//! y = s(h_scale) · z + h_shift                                       (s: bounded_scale)
//! ```
//!
//! Together with the two layers of the conditioner bank, scale and shift are networks of three linear layers each.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::silu;
use serde::{Deserialize, Serialize};

use crate::{Bijection, Initializer, Linear, Mode, Normalization, bounded_scale};

/// Scale and shift.
const N_HEADS: usize = 2;

/// Configuration of an [`AffineMap`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AffineMapConfig {
    /// Number of labels.
    pub d_labels: usize,
    /// Width of the hidden layers.
    pub d_hidden: usize,
}

/// An affine map of all labels given the features.
#[derive(Module, Debug)]
pub struct AffineMap {
    /// After the bank's second layer. Groups: scale, shift.
    pub norm: Normalization,
    /// d_hidden → d_labels.
    pub merge: Linear,
}

impl AffineMapConfig {
    /// Initial weights, with which the map is the identity up to about 1e-2.
    pub fn init(&self, init: &mut Initializer) -> AffineMap {
        AffineMap {
            norm: Normalization::affine(N_HEADS, self.d_hidden, init),
            merge: Linear::nearly_zero([N_HEADS, self.d_hidden, self.d_labels], init),
        }
    }
}

impl AffineMap {
    /// The scale, its logarithm and the shift, each `[n_rows, d_labels]`.
    fn scale_and_shift(
        &self,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<2>, Tensor<2>) {
        let heads = self.merge.forward(silu(self.norm.forward(condition, mode)));
        let (scale, log_scale) = bounded_scale(heads.clone().narrow(0, 0, 1).squeeze_dim::<2>(0));
        (scale, log_scale, heads.narrow(0, 1, 1).squeeze_dim::<2>(0))
    }
}

impl Bijection for AffineMap {
    fn n_conditioners(&self) -> usize {
        N_HEADS
    }

    fn forward(
        &self,
        labels: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<1>) {
        let (scale, log_scale, shift) = self.scale_and_shift(condition, mode);
        ((labels - shift) / scale, -log_scale.sum_dim(1).squeeze_dim::<1>(1))
    }

    fn inverse(
        &self,
        noise: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<1>) {
        let (scale, log_scale, shift) = self.scale_and_shift(condition, mode);
        (noise * scale + shift, log_scale.sum_dim(1).squeeze_dim::<1>(1))
    }
}
