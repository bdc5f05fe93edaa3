//! Every map's feature-side networks, evaluated together.
//!
//! ```text
//! condition[g] = second[g](a[g](first[g](x))),   g = 0 … n_networks − 1
//! ```
//!
//! where the activation is batch normalisation and SiLU, or another [`Activation`].
//!
//! A flow of 16 couplings has 64 such networks. One by one they are 128 small matrix products; as a bank they are two large ones.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::{Activation, Initializer, Linear, Mode, Normalization, fused};

/// How the second layer of the bank starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondLayerInit {
    /// N(0, 0.01²) and zero bias: the bank's output is the networks' last word.
    NearlyZero,
    /// The usual U(±1/√d_hidden): another layer follows.
    FanIn,
}

/// `n_networks` two-layer networks of the same shape.
#[derive(Module, Debug)]
pub struct ConditionerBank {
    /// d_features → d_hidden; no bias before a normalisation, which has one.
    pub first: Linear,
    /// After the first layer, if there is one.
    pub norm: Option<Normalization>,
    /// d_hidden → d_hidden.
    pub second: Linear,
    /// What follows the first layer.
    #[module(skip)]
    pub activation: Activation,
}

impl ConditionerBank {
    /// Initial weights of networks whose first layer has the shape `[n_networks, d_features, d_hidden]`, and this activation
    /// after it.
    pub fn new(
        first_shape: [usize; 3],
        second: SecondLayerInit,
        activation: Activation,
        init: &mut Initializer,
    ) -> Self {
        let [n_networks, _, d_hidden] = first_shape;
        let second_shape = [n_networks, d_hidden, d_hidden];
        Self {
            first: match activation {
                Activation::NormalizedSilu => Linear::without_bias(first_shape, init),
                _ => Linear::with_bias(first_shape, init),
            },
            norm: activation.normalization(n_networks, d_hidden, init),
            second: match second {
                SecondLayerInit::NearlyZero => Linear::nearly_zero(second_shape, init),
                SecondLayerInit::FanIn => Linear::with_bias(second_shape, init),
            },
            activation,
        }
    }

    /// # Shapes
    ///
    /// - features: `[n_rows, d_features]`
    /// - returns: `[n_networks, n_rows, d_hidden]`
    pub fn forward(&self, features: Tensor<2>, mode: Mode<'_>) -> Tensor<3> {
        match (mode, &self.norm) {
            (Mode::Train(recorder), Some(norm)) if fused::applies(&features) => {
                fused::bank(self, norm, features, recorder)
            }
            _ => self.composed(features, mode),
        }
    }

    /// [`forward`](Self::forward) as a composition of tensor operations.
    pub fn composed(&self, features: Tensor<2>, mode: Mode<'_>) -> Tensor<3> {
        let first = self.first.forward(features.unsqueeze_dim::<3>(0));
        self.second.forward(self.activation.forward(first, self.norm.as_ref(), mode))
    }
}
