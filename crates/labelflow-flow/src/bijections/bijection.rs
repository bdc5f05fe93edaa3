//! What every map of a flow can do.

use burn::module::{Module, ModuleDisplay};
use burn::tensor::Tensor;

use crate::{Flow, StatisticsRecorder, fold_inverse};

/// An invertible map between labels and noise, given what the features of each row say.
///
/// The features reach it as a *condition*: the outputs of the [`n_conditioners`](Self::n_conditioners) networks of the
/// [`ConditionerBank`](crate::ConditionerBank) that belong to it, `[n_conditioners, n_rows, d_hidden]`. For the points of clouds a row of
/// the condition is a cloud, and speaks for all its points.
pub trait Bijection: Module + ModuleDisplay {
    /// How many networks of the conditioner bank speak to this map.
    fn n_conditioners(&self) -> usize;

    /// y → z with ln |det ∂z/∂y|.
    ///
    /// # Shapes
    ///
    /// - labels: `[n_rows, d_labels]`, condition: `[n_conditioners, n_rows, d_hidden]`
    /// - returns: `[n_rows, d_labels]` and `[n_rows]`
    fn forward(&self, labels: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped;

    /// z → y with ln |det ∂y/∂z|.
    ///
    /// # Shapes
    ///
    /// - noise: `[n_rows, d_labels]`, condition: `[n_conditioners, n_rows, d_hidden]`
    /// - returns: `[n_rows, d_labels]` and `[n_rows]`
    fn inverse(&self, noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped;

    /// The inverse of maps one after another. A map that knows a faster way than one by one says so here.
    fn inverse_chain(
        maps: &[Self],
        noise: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> Mapped {
        fold_inverse(maps, noise, condition, mode)
    }

    /// The labels that noise becomes, with ln |det ∂y/∂z|: the whole flow. A map that knows a faster way than the bank first and the maps
    /// after it says so here.
    fn generate(
        flow: &Flow<Self>,
        noise: Tensor<2>,
        features: Tensor<2>,
        mode: Mode<'_>,
    ) -> Mapped {
        Self::inverse_chain(&flow.chain.maps, noise, flow.condition(features, mode), mode)
    }

    /// Samples with running statistics; see [`Flow::samples`].
    fn samples(flow: &Flow<Self>, noise: Tensor<3>, features: Tensor<2>) -> Tensor<3> {
        flow.composed_samples(noise, features)
    }
}

/// A mapped value, `[n_rows, d_labels]`, and the logarithm of the Jacobian's determinant, `[n_rows]`.
pub type Mapped = (Tensor<2>, Tensor<1>);

/// Which statistics normalisation layers use.
#[derive(Debug, Clone, Copy)]
pub enum Mode<'a> {
    /// Statistics of the batch, which are recorded so that the running ones can follow.
    Train(&'a StatisticsRecorder),
    /// Running statistics: a row's result does not depend on the rows beside it.
    Predict,
}
