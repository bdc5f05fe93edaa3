//! A training pass through point couplings, with a way back written by hand.
//!
//! A composition of tensor operations pays for every operation on the way there and two or three times on the way back, and on a GPU
//! that bookkeeping outweighs the arithmetic. Here the way back is one function, on tensors that track nothing. With the symbols of
//! [`PointCoupling`], k for the kept axes, and per-channel factors f = 1 / √(variance + 1e-5):
//!
//! ```text
//! there                                            back, from ∂axes and c = ∂log_det (one number)
//! q = (k − μ_k) (W₁ γf₁) + β,   a = ReLU(q)       ∂a_scale = (∂y · y_old · s + c) · ½ (1 − 1e-6 / s²) / (1 + |a_scale|)²
//! h = a W₂                                         ∂m = ∂y,   ∂y_old = ∂y · s
//!                                                  ∂W₃ = Σ rᵀ ∂heads,   ∂p = [r > 0] · ∂heads W₃ᵀ
//! r = ReLU((h − μ₂) G + offset),   G = gain · f₂    ∂G = Σ_t ∂p (h − μ₂),   ∂offset = Σ_t ∂p
//! heads = r W₃ + c₃                                ∂h = ∂p G − mean(∂p G) + 2 ∂σ₂² (h − μ₂) / n
//! s = bounded_scale(a_scale),   y = s z + m        ∂q = [a > 0] · ∂h W₂ᵀ,   ∂k = ∂c − mean(∂c),
//!                                                  ∂c = ∂q (W₁ γf₁)ᵀ + 2 (k − μ_k) ∂Σ_k / n
//! ```
//!
//! The first normalisation needs no pass over its channels: they are linear in the kept axes, so that μ₁ = μ_k W₁ and σ₁² = W₁ᵀ Σ_k W₁
//! follow from the mean and the covariance of one or two columns.

use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use crate::bijections::{Axes, FLOOR, GAIN_FLOOR, N_HEADS, add, gain_and_offset, to_axes, to_points, to_rows};
use crate::layers::{EPSILON, sum_of_products, sum_points};
use crate::{MAX_LOG_SCALE, Normalization, PointCoupling, StatisticsRecorder, bounded_scale};

/// What the way back needs of a pass through all couplings.
#[derive(Debug)]
pub struct PointTape {
    couplings: Vec<CouplingTape>,
    n_clouds: usize,
}

/// What the way back needs of one coupling.
#[derive(Debug)]
struct CouplingTape {
    /// The axes before the coupling.
    axes: Axes,
    /// `[1, n_clouds, n_points, n_kept]` less its mean.
    centred: Tensor<4>,
    /// `[1, 1, n_kept, n_kept]`
    covariance: Tensor<4>,
    /// f₁, `[2, 1, 1, d_hidden]`
    first_factor: Tensor<4>,
    /// W₁ γf₁, `[2, 1, n_kept, d_hidden]`
    folded: Tensor<4>,
    /// a, `[2, n_clouds, n_points, d_hidden]`
    first_hidden: Tensor<4>,
    /// h less its mean, like a.
    second_centred: Tensor<4>,
    /// f₂, like f₁.
    second_factor: Tensor<4>,
    /// `[2, n_clouds, 1, d_hidden]`
    gain: Tensor<4>,
    /// G, like the gain.
    total_gain: Tensor<4>,
    /// r, like a.
    merged: Tensor<4>,
    /// `[1, n_clouds, n_points, n_warped]`
    raw_scale: Tensor<4>,
    /// s, like the raw scale.
    scale: Tensor<4>,
}

/// The gradients of a pass.
#[derive(Debug)]
pub struct PointGradients {
    /// Of all weights of all couplings, one after another in the order of the modules' fields.
    pub weights: Vec<Tensor<1>>,
    /// `[n_conditioners, n_clouds, d_hidden]`
    pub condition: Tensor<3>,
}

/// Noise becomes points; the axes, ln |det| of each point, and what the way back needs. All tensors are without gradients of their own.
///
/// # Shapes
///
/// - noise: `[n_rows, 3]`, condition: `[n_conditioners, n_clouds, d_hidden]`
/// - returns: `[n_rows, 3]` and `[n_rows]`
///
/// # Panics
///
/// If there are no couplings.
pub fn generate_with_tape(
    maps: &[PointCoupling],
    noise: Tensor<2>,
    condition: &Tensor<3>,
    recorder: &StatisticsRecorder,
) -> (Tensor<2>, Tensor<1>, PointTape) {
    let n_clouds = condition.dims()[1];
    let mut axes = to_axes(noise, n_clouds);
    let mut log_det = None;
    let mut couplings = Vec::with_capacity(maps.len());
    for (index, map) in maps.iter().enumerate() {
        let condition = condition.clone().narrow(0, index * 2 * N_HEADS, 2 * N_HEADS);
        let (after, change, tape) = map.generate_with_tape(axes, condition, recorder);
        axes = after;
        log_det = add(log_det, change);
        couplings.push(tape);
    }
    let log_det = log_det.expect("a flow has couplings");
    (to_points(axes), to_rows(log_det), PointTape { couplings, n_clouds })
}

impl PointTape {
    /// The gradients of a loss, given those of the points, `[n_rows, 3]`, and of every log-determinant, one number.
    pub fn backward(self, maps: &[PointCoupling], points: Tensor<2>, log_det: f64) -> PointGradients {
        let mut axes = to_axes(points, self.n_clouds);
        let mut weights = Vec::with_capacity(maps.len());
        let mut conditions = Vec::with_capacity(maps.len());
        for (map, tape) in maps.iter().zip(self.couplings).rev() {
            let (before, of_map, condition) = map.backward(tape, axes, log_det);
            axes = before;
            weights.push(of_map);
            conditions.push(condition);
        }
        weights.reverse();
        conditions.reverse();
        PointGradients { weights: weights.into_iter().flatten().collect(), condition: Tensor::cat(conditions, 0) }
    }
}

/// The mean over all points of all clouds, cloud by cloud first.
fn mean_over_points(values: Tensor<4>) -> Tensor<4> {
    let [_, n_clouds, n_points, _] = values.dims();
    sum_over_points(values) / (n_clouds * n_points) as f64
}

/// The sum over all points of all clouds, cloud by cloud first.
fn sum_over_points(values: Tensor<4>) -> Tensor<4> {
    sum_points(values).sum_dim(1)
}

fn transposed(values: Tensor<4>) -> Tensor<4> {
    values.swap_dims(2, 3)
}

fn record(recorder: &StatisticsRecorder, norm: &Normalization, mean: &Tensor<4>, variance: &Tensor<4>, n_rows: usize) {
    let unbiased = variance.clone() * (n_rows as f64 / (n_rows as f64 - 1.0).max(1.0));
    recorder.record(norm, mean.clone().squeeze_dim(2), unbiased.squeeze_dim(2));
}

/// 1 / √(variance + 1e-5)
fn factor(variance: Tensor<4>) -> Tensor<4> {
    (variance + EPSILON).sqrt().recip()
}

impl PointCoupling {
    fn first_norm(&self) -> &Normalization {
        self.first.norm.as_ref().expect("the first layer is normalised")
    }

    fn second_norm(&self) -> &Normalization {
        self.second.norm.as_ref().expect("the second layer is normalised")
    }

    /// W₁, γ, W₂ and W₃, with a dimension for clouds.
    fn weights(&self) -> [Tensor<4>; 4] {
        let scale = self.first_norm().scale.as_ref().expect("the first normalisation has a scale");
        [&self.first.linear.weight, scale, &self.second.linear.weight, &self.merge.weight]
            .map(|weight| weight.val().unsqueeze_dim::<4>(1))
    }

    fn generate_with_tape(
        &self,
        mut axes: Axes,
        condition: Tensor<3>,
        recorder: &StatisticsRecorder,
    ) -> (Axes, Tensor<4>, CouplingTape) {
        let before = axes.clone();
        let [_, n_clouds, n_points, _] = axes[0].dims();
        let n_rows = n_clouds * n_points;
        let [first_weight, scale, second_weight, merge_weight] = self.weights();
        let shift = self.first_norm().shift.as_ref().expect("the first normalisation has a shift");
        let shift = shift.val().unsqueeze_dim::<4>(1);
        let [gain, offset] = gain_and_offset(condition).map(|part| part.unsqueeze_dim::<4>(2));

        let kept = self.kept_of(&axes);
        let kept_mean = mean_over_points(kept.clone());
        let centred = kept - kept_mean.clone();
        let covariance = covariance(&centred);
        let mean = kept_mean.clone().matmul(first_weight.clone());
        let variance = (covariance.clone().matmul(first_weight.clone()) * first_weight.clone()).sum_dim(2);
        record(recorder, self.first_norm(), &mean, &variance, n_rows);
        let first_factor = factor(variance);
        // Centred inputs: the mean of the channels is taken away before they are computed.
        let folded = first_weight * (first_factor.clone() * scale);
        let first_hidden = relu(centred.clone().matmul(folded.clone()) + shift);

        let hidden = first_hidden.clone().matmul(second_weight);
        let mean = mean_over_points(hidden.clone());
        let second_centred = hidden - mean.clone();
        let variance = mean_over_points(second_centred.clone().square());
        record(recorder, self.second_norm(), &mean, &variance, n_rows);
        let second_factor = factor(variance);
        let total_gain = gain.clone() * second_factor.clone();
        let merged = relu(second_centred.clone() * total_gain.clone() + offset);

        let bias = self.merge.bias.as_ref().expect("the last layer has a bias");
        let bias = bias.val().unsqueeze_dim::<4>(1);
        let heads = merged.clone().matmul(merge_weight) + bias;
        let raw_scale = heads.clone().narrow(0, 0, 1);
        let (scale, log_scale) = bounded_scale(raw_scale.clone(), MAX_LOG_SCALE);
        let shift = heads.narrow(0, 1, 1);
        for (index, &axis) in self.warped.iter().enumerate() {
            let part = |values: &Tensor<4>| values.clone().narrow(3, index, 1);
            axes[axis] = axes[axis].clone() * part(&scale) + part(&shift);
        }
        let log_det = log_scale.sum_dim(3);
        let tape = CouplingTape {
            axes: before,
            centred,
            covariance,
            first_factor,
            folded,
            first_hidden,
            second_centred,
            second_factor,
            gain,
            total_gain,
            merged,
            raw_scale,
            scale,
        };
        (axes, log_det, tape)
    }

    /// The gradients of the axes before the coupling, of its weights in the order of its fields, and of its condition.
    fn backward(&self, tape: CouplingTape, mut axes: Axes, log_det: f64) -> (Axes, [Tensor<1>; 6], Tensor<3>) {
        let [first_weight, scale, second_weight, merge_weight] = self.weights();
        let [_, n_clouds, n_points, _] = tape.axes[0].dims();
        let n_rows = (n_clouds * n_points) as f64;

        // The axes and the two heads.
        let of_warped = |values: &Axes| Tensor::cat(self.warped.iter().map(|&axis| values[axis].clone()).collect(), 3);
        let (of_shift, old) = (of_warped(&axes), of_warped(&tape.axes));
        let slope = (tape.raw_scale.abs() + 1.0).square().recip()
            * (tape.scale.clone().square().recip() * (-0.5 * FLOOR) + 0.5);
        let of_raw_scale = (of_shift.clone() * old * tape.scale.clone() + log_det) * slope;
        let of_old = of_shift.clone() * tape.scale;
        for (index, &axis) in self.warped.iter().enumerate() {
            axes[axis] = of_old.clone().narrow(3, index, 1);
        }
        let of_heads = Tensor::cat(vec![of_raw_scale, of_shift], 0);
        let of_merge_bias = sum_over_points(of_heads.clone());
        let of_merge = sum_of_products(tape.merged.clone(), of_heads.clone());

        // Gain and offset.
        let of_merged = of_heads.matmul(transposed(merge_weight));
        let of_merged = of_merged.mask_fill(tape.merged.lower_equal_elem(0.0), 0.0);
        let of_offset = sum_points(of_merged.clone());
        let of_total_gain = sum_points(of_merged.clone() * tape.second_centred.clone());
        let of_gain = of_total_gain.clone() * tape.second_factor.clone();
        let of_condition = Tensor::cat(vec![of_gain.clone() * (tape.gain.clone() - GAIN_FLOOR), of_offset.clone()], 0);

        // The second normalisation: ∂h = G (∂p − mean ∂p) − (h − μ) f² · mean_over_points(G ∂p (h − μ)), where the gain differs by cloud.
        let of_centred = of_merged * tape.total_gain.clone();
        let of_mean = (of_offset * tape.total_gain).sum_dim(1) / n_rows;
        let of_factor = (of_total_gain * tape.gain).sum_dim(1);
        let of_variance = of_factor * tape.second_factor.powf_scalar(3.0) * (-1.0 / n_rows);
        let of_hidden = of_centred - of_mean + tape.second_centred * of_variance;
        let of_second = sum_of_products(tape.first_hidden.clone(), of_hidden.clone());

        // The first layer and its normalisation.
        let of_first = of_hidden.matmul(transposed(second_weight));
        let of_first = of_first.mask_fill(tape.first_hidden.lower_equal_elem(0.0), 0.0);
        let of_shift = sum_over_points(of_first.clone());
        let of_folded = sum_of_products(tape.centred.clone(), of_first.clone());
        let of_product = (of_folded.clone() * first_weight.clone()).sum_dim(2);
        let of_scale = of_product.clone() * tape.first_factor.clone();
        let of_variance = of_product * scale.clone() * tape.first_factor.clone().powf_scalar(3.0) * -0.5;
        let spread = tape.covariance.matmul(first_weight.clone());
        let of_first_weight = of_folded * (tape.first_factor * scale) + spread * of_variance.clone() * 2.0;
        let of_covariance = (first_weight.clone() * of_variance).matmul(transposed(first_weight)).sum_dim(0);
        let of_kept =
            of_first.matmul(transposed(tape.folded)).sum_dim(0) + tape.centred.matmul(of_covariance) * (2.0 / n_rows);
        let of_kept = of_kept.clone() - mean_over_points(of_kept);
        for (index, axis) in self.kept().enumerate() {
            axes[axis] = axes[axis].clone() + of_kept.clone().narrow(3, index, 1);
        }
        let of_weights = [of_first_weight, of_scale, of_shift, of_second, of_merge, of_merge_bias];
        (axes, of_weights.map(|gradient| gradient.reshape([-1])), of_condition.squeeze_dim(2))
    }
}

/// The covariance of one or two columns, `[1, 1, n_kept, n_kept]`, from columns less their means.
fn covariance(centred: &Tensor<4>) -> Tensor<4> {
    let [_, n_clouds, n_points, _] = centred.dims();
    sum_of_products(centred.clone(), centred.clone()) / (n_clouds * n_points) as f64
}
