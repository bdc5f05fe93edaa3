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

use crate::bijections::{N_HEADS, gain_and_offset};
use crate::layers::per_point;
use crate::{
    Bijection, Initializer, Linear, MAX_LOG_SCALE, Mapped, Mode, PointLayer, PointLayerConfig, PointNorm,
    bounded_scale, fold_inverse,
};

/// The axes of a point.
pub const N_AXES: usize = 3;

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

/// The axes of the points of clouds, one tensor `[1, n_clouds, n_points, 1]` each. Couplings change one or two of them and leave the
/// others as they are, which costs nothing when they are apart.
pub(crate) type Axes = [Tensor<4>; N_AXES];

/// Points `[n_rows, 3]` as their axes.
pub(crate) fn to_axes(points: Tensor<2>, n_clouds: usize) -> Axes {
    let n_points = points.dims()[0] / n_clouds;
    std::array::from_fn(|axis| points.clone().narrow(1, axis, 1).reshape([1, n_clouds, n_points, 1]))
}

/// The inverse of [`to_axes`].
pub(crate) fn to_points(axes: Axes) -> Tensor<2> {
    let [_, n_clouds, n_points, _] = axes[0].dims();
    Tensor::cat(axes.to_vec(), 3).reshape([n_clouds * n_points, N_AXES])
}

/// A log-determinant a point, `[1, n_clouds, n_points, 1]`, as `[n_rows]`.
pub(crate) fn to_rows(log_det: Tensor<4>) -> Tensor<1> {
    let [_, n_clouds, n_points, _] = log_det.dims();
    log_det.reshape([n_clouds * n_points])
}

impl PointCoupling {
    /// Initial weights, with which the map of the axes `warped`, one or two in ascending order, is the identity up to about
    /// 1e-2.
    ///
    /// # Panics
    ///
    /// If `warped` is not one or two axes in ascending order.
    pub fn new(warped: &[usize], d_hidden: usize, init: &mut Initializer) -> Self {
        let n_kept = N_AXES.checked_sub(warped.len()).expect("at most two axes are warped");
        assert!((1..N_AXES).contains(&n_kept), "one or two axes are warped");
        assert!(warped.is_sorted_by(|a, b| a < b), "axes are in ascending order");
        assert!(warped.iter().all(|&axis| axis < N_AXES), "axes are 0, 1 and 2");
        let (n_groups, d_output, bias) = (N_HEADS, d_hidden, false);
        let layer = |d_input, norm| PointLayerConfig { n_groups, d_input, d_output, bias, norm };
        Self {
            first: layer(n_kept, PointNorm::Affine).init(init),
            second: layer(d_hidden, PointNorm::Plain).init(init),
            merge: Linear::nearly_zero([N_HEADS, d_hidden, warped.len()], init),
            warped: warped.to_vec(),
        }
    }

    /// The axes that are kept.
    pub(crate) fn kept(&self) -> impl Iterator<Item = usize> {
        (0..N_AXES).filter(|axis| !self.warped.contains(axis))
    }

    /// Their values, `[1, n_clouds, n_points, n_kept]`.
    pub(crate) fn kept_of(&self, axes: &Axes) -> Tensor<4> {
        Tensor::cat(self.kept().map(|axis| axes[axis].clone()).collect(), 3)
    }

    /// The axes after `warp` of each warped one, given its scale and shift, and the sum of the logarithms of scales of each point.
    fn warp(
        &self,
        mut axes: Axes,
        condition: Tensor<3>,
        mode: Mode<'_>,
        warp: fn(Tensor<4>, Tensor<4>, Tensor<4>) -> Tensor<4>,
    ) -> (Axes, Tensor<4>) {
        let [gain, offset] = gain_and_offset(condition).map(|part| part.unsqueeze_dim::<4>(2));
        let hidden = relu(self.first.forward(self.kept_of(&axes), mode));
        let hidden = self.second.forward(hidden, mode);
        let heads = per_point(relu(hidden * gain + offset), &self.merge);
        let (scale, log_scale) = bounded_scale(heads.clone().narrow(0, 0, 1), MAX_LOG_SCALE);
        let of_all = [scale, log_scale, heads.narrow(0, 1, 1)];
        let mut total = None;
        for (index, &axis) in self.warped.iter().enumerate() {
            let [scale, log_scale, shift] = of_all.each_ref().map(|values| values.clone().narrow(3, index, 1));
            axes[axis] = warp(axes[axis].clone(), scale, shift);
            total = add(total, log_scale);
        }
        (axes, total.expect("a coupling warps at least one axis"))
    }

    /// Noise becomes points: the axes, and ln |det| of each point.
    fn generate(&self, axes: Axes, condition: Tensor<3>, mode: Mode<'_>) -> (Axes, Tensor<4>) {
        self.warp(axes, condition, mode, |noise, scale, shift| noise * scale + shift)
    }
}

pub(crate) fn add(total: Option<Tensor<4>>, part: Tensor<4>) -> Option<Tensor<4>> {
    Some(match total {
        Some(total) => total + part,
        None => part,
    })
}

impl Bijection for PointCoupling {
    /// All couplings on the same axes: points are taken apart once and put together once.
    fn inverse_chain(maps: &[Self], noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        if maps.is_empty() {
            return fold_inverse(maps, noise, condition, mode);
        }
        let mut axes = to_axes(noise, condition.dims()[1]);
        let mut log_det = None;
        for (index, map) in maps.iter().enumerate() {
            let n = map.n_conditioners();
            let change;
            (axes, change) = map.generate(axes, condition.clone().narrow(0, index * n, n), mode);
            log_det = add(log_det, change);
        }
        (to_points(axes), to_rows(log_det.expect("there is a coupling")))
    }

    fn n_conditioners(&self) -> usize {
        2 * N_HEADS
    }

    fn forward(&self, labels: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        let axes = to_axes(labels, condition.dims()[1]);
        let unwarp = |label: Tensor<4>, scale, shift| (label - shift) / scale;
        let (axes, log_scale) = self.warp(axes, condition, mode, unwarp);
        (to_points(axes), to_rows(-log_scale))
    }

    fn inverse(&self, noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        let axes = to_axes(noise, condition.dims()[1]);
        let (axes, log_det) = self.generate(axes, condition, mode);
        (to_points(axes), to_rows(log_det))
    }
}
