//! What follows the hidden linear layers of feature-side networks.

use burn::tensor::Tensor;
use burn::tensor::activation::{relu, silu, tanh};
use serde::{Deserialize, Serialize};

use crate::{Initializer, Mode, Normalization};

/// What follows a hidden linear layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// Batch normalisation, then x · sigmoid(x).
    #[default]
    NormalizedSilu,
    /// The hyperbolic tangent alone.
    Tanh,
    /// The positive part alone.
    Relu,
}

impl Activation {
    /// Whether each row is computed without looking at the others, also in training.
    pub fn is_row_by_row(self) -> bool {
        self != Self::NormalizedSilu
    }

    /// The normalisation of such layers, if there is one.
    pub(crate) fn normalization(
        self,
        n_groups: usize,
        d_channels: usize,
        init: &mut Initializer,
    ) -> Option<Normalization> {
        (self == Self::NormalizedSilu).then(|| Normalization::affine(n_groups, d_channels, init))
    }

    /// # Shapes
    ///
    /// - input and result: `[n_groups, n_rows, d_channels]`
    pub(crate) fn forward(self, input: Tensor<3>, norm: Option<&Normalization>, mode: Mode<'_>) -> Tensor<3> {
        let input = match norm {
            Some(norm) => norm.forward(input, mode),
            None => input,
        };
        match self {
            Self::NormalizedSilu => silu(input),
            Self::Tanh => tanh(input),
            Self::Relu => relu(input),
        }
    }
}
