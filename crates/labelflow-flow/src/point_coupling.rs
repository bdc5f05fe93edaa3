//! Conditional affine coupling of points: one or two axes are scaled and shifted by amounts that the other axes and the cloud's
//! condition decide.
//!
//! Two networks of the same build, one for the scale and one for the shift, see the kept axes p_keep of each point and what the
//! conditioner bank says of the cloud (W before its exponential, and B):
//!
//! ```text
//! U = norm₀(second(ReLU(norm(first(p_keep)))))
//! h = merge(ReLU((1e-6 + exp W) · U + B))
//! p = s(h_scale) · z + h_shift                                       (s: bounded_scale)
//! ```
//!
//! A condition speaks for a whole cloud: with n_rows points and n_clouds conditions, each has n_rows / n_clouds points in a row.
//! (Klokov et al., 2020, <https://arxiv.org/abs/2010.10488>.)

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use serde::{Deserialize, Serialize};

use crate::coupling::{GAIN_FLOOR, N_HEADS};
use crate::point_layer::cloud_by_cloud;
use crate::{Bijection, Initializer, Linear, Mode, PointLayer, PointLayerConfig, bounded_scale};

/// The axes of a point.
pub const N_AXES: usize = 3;

/// Configuration of a [`PointCoupling`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointCouplingConfig {
    /// The axes that are warped, one or two of 0, 1 and 2 in ascending order; the others are kept.
    pub warped: Vec<usize>,
    /// Width of the hidden layers.
    pub d_hidden: usize,
}

/// An affine map of one or two axes given the others and the cloud's condition.
#[derive(Module, Debug)]
pub struct PointCoupling {
    /// Kept axes → d_hidden. Groups: scale, shift, here and below.
    pub first: PointLayer,
    /// d_hidden → d_hidden, normalised without affine part, since the condition provides gain and offset.
    pub second: PointLayer,
    /// d_hidden → warped axes.
    pub merge: Linear,
    /// The axes that are warped.
    #[module(skip)]
    pub warped: Vec<usize>,
}

impl PointCouplingConfig {
    /// Initial weights, with which the map is the identity up to about 1e-2.
    ///
    /// # Panics
    ///
    /// If `warped` is not one or two axes in ascending order.
    pub fn init(&self, init: &mut Initializer) -> PointCoupling {
        let Self { warped, d_hidden } = self.clone();
        let n_kept = N_AXES.checked_sub(warped.len()).expect("at most two axes are warped");
        assert!((1..N_AXES).contains(&n_kept), "one or two axes are warped");
        assert!(warped.is_sorted_by(|a, b| a < b), "axes are in ascending order");
        assert!(warped.iter().all(|&axis| axis < N_AXES), "axes are 0, 1 and 2");
        let layer = |d_input, affine| PointLayerConfig {
            n_groups: N_HEADS,
            d_input,
            d_output: d_hidden,
            bias: false,
            affine,
        };
        PointCoupling {
            first: layer(n_kept, true).init(init),
            second: layer(d_hidden, false).init(init),
            merge: Linear::nearly_zero([N_HEADS, d_hidden, warped.len()], init),
            warped,
        }
    }
}

impl PointCoupling {
    /// The scale, its logarithm and the shift of the warped axes, each `[n_rows, n_warped]`.
    fn scale_and_shift(
        &self,
        kept: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<2>, Tensor<2>) {
        let [n_rows, n_kept] = kept.dims();
        let n_clouds = condition.dims()[1];
        let points = kept.reshape([1, n_clouds, n_rows / n_clouds, n_kept]);
        let gain = (condition.clone().narrow(0, 0, N_HEADS).exp() + GAIN_FLOOR).unsqueeze_dim(2);
        let offset = condition.narrow(0, N_HEADS, N_HEADS).unsqueeze_dim(2);
        let hidden = relu(self.first.forward(points, mode));
        let hidden = self.second.forward(hidden, mode);
        let heads = cloud_by_cloud(relu(hidden * gain + offset), self.merge.weight.val());
        let heads = heads.reshape([N_HEADS, n_rows, self.warped.len()]);
        let heads = match &self.merge.bias {
            Some(bias) => heads + bias.val(),
            None => heads,
        };
        let (scale, log_scale) = bounded_scale(heads.clone().narrow(0, 0, 1).squeeze_dim::<2>(0));
        (scale, log_scale, heads.narrow(0, 1, 1).squeeze_dim::<2>(0))
    }

    /// The warped axes and the kept ones, `[n_rows, n_warped]` and `[n_rows, n_kept]`.
    fn split(&self, points: &Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let axes = |is_wanted: &dyn Fn(usize) -> bool| {
            let wanted = (0..N_AXES).filter(|&axis| is_wanted(axis));
            Tensor::cat(wanted.map(|axis| points.clone().narrow(1, axis, 1)).collect(), 1)
        };
        let is_warped = |axis: usize| self.warped.contains(&axis);
        (axes(&is_warped), axes(&|axis| !is_warped(axis)))
    }

    /// The inverse of [`split`](Self::split).
    fn join(&self, warped: Tensor<2>, kept: Tensor<2>) -> Tensor<2> {
        let (mut next_warped, mut next_kept) = (0, 0);
        let axis = |axis: usize| {
            let (source, next) = match self.warped.contains(&axis) {
                true => (&warped, &mut next_warped),
                false => (&kept, &mut next_kept),
            };
            *next += 1;
            source.clone().narrow(1, *next - 1, 1)
        };
        Tensor::cat((0..N_AXES).map(axis).collect(), 1)
    }
}

impl Bijection for PointCoupling {
    fn n_conditioners(&self) -> usize {
        2 * N_HEADS
    }

    fn forward(
        &self,
        labels: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<1>) {
        let (warped, kept) = self.split(&labels);
        let (scale, log_scale, shift) = self.scale_and_shift(kept.clone(), condition, mode);
        (self.join((warped - shift) / scale, kept), -log_scale.sum_dim(1).squeeze_dim::<1>(1))
    }

    fn inverse(
        &self,
        noise: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<1>) {
        let (warped, kept) = self.split(&noise);
        let (scale, log_scale, shift) = self.scale_and_shift(kept.clone(), condition, mode);
        (self.join(warped * scale + shift, kept), log_scale.sum_dim(1).squeeze_dim::<1>(1))
    }
}
