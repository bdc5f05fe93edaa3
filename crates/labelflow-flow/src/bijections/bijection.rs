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
    fn inverse_chain(maps: &[Self], noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        fold_inverse(maps, noise, condition, mode)
    }

    /// The labels that noise becomes, with ln |det ∂y/∂z|: the whole flow. A map that knows a faster way than the bank first and the maps
    /// after it says so here.
    fn generate(flow: &Flow<Self>, noise: Tensor<2>, features: Tensor<2>, mode: Mode<'_>) -> Mapped {
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

/// Keeps the scale above zero where the exponential underflows.
pub(crate) const FLOOR: f64 = 1e-6;

/// The largest logarithm of a scale in the paper's flow.
pub const MAX_LOG_SCALE: f64 = 0.5;

/// Turns a network's output h into a scale and its logarithm, which is at most `max_log_scale` up or down.
///
/// ```text
/// s = √(1e-6 + exp(2 m h / (1 + |h|))),   in the paper m = 1/2, so that 0.607 < s < 1.649
/// ```
///
/// The bound is not cosmetic. The likelihood term of label learning flows, E_z[log p(g(z)|x)], is minus the model's entropy: its
/// maximisation shrinks the scales without end, and only the bound keeps it finite.
pub fn bounded_scale<const D: usize>(raw: Tensor<D>, max_log_scale: f64) -> (Tensor<D>, Tensor<D>) {
    let softsign = raw.clone() / (raw.abs() + 1.0);
    let squared = (softsign * (2.0 * max_log_scale)).exp() + FLOOR;
    (squared.clone().sqrt(), squared.log() * 0.5)
}

/// The scale, its logarithm and the shift, each `[n_rows, d]`, from what a network says of both, `[2, n_rows, d]`.
pub(super) fn scale_and_shift(heads: Tensor<3>, max_log_scale: f64) -> [Tensor<2>; 3] {
    let (scale, log_scale) = bounded_scale(heads.clone().narrow(0, 0, 1).squeeze_dim::<2>(0), max_log_scale);
    [scale, log_scale, heads.narrow(0, 1, 1).squeeze_dim::<2>(0)]
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn the_scale_stays_within_its_bounds() {
        let device = Device::flex();
        let raw = Tensor::<1>::from_floats([-1e9, -1.0, 0.0, 1.0, 1e9], &device);
        for (max_log_scale, [lower, upper]) in [(MAX_LOG_SCALE, [0.606, 1.649]), (2.0, [0.135, 7.39])] {
            let (scale, log_scale) = bounded_scale(raw.clone(), max_log_scale);
            let scale = scale.into_data().try_to_vec::<f32>().unwrap();
            let log_scale = log_scale.into_data().try_to_vec::<f32>().unwrap();
            let expected = [-1.0f64, -0.5, 0.0, 0.5, 1.0].map(|a| (1e-6 + (2.0 * max_log_scale * a).exp()).sqrt());
            for i in 0..5 {
                assert!((f64::from(scale[i]) / expected[i] - 1.0).abs() < 1e-6);
                assert!((f64::from(log_scale[i]) - expected[i].ln()).abs() < 1e-6);
                assert!(scale[i] > lower && scale[i] < upper);
            }
        }
    }
}
