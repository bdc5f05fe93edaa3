//! A chain of couplings from noise to labels, forward and backward. For each coupling, with ỹ the kept labels less their means:
//!
//! ```text
//! h = SiLU(ỹ α + β),   U = h W₂,   v = (1e-6 + exp W) · norm₀(U) + B,   o = SiLU(v) · m + c        (twice: for scale and shift)
//! y = s(o_scale) · z + o_shift
//! ```
//!
//! The first normalisation needs no pass over its channels: they are linear in the kept labels, so that mean and variance of all of them
//! follow from mean and covariance of the kept labels, and α = w · factor · scale, β = shift. The bias of the second layer cancels in the
//! normalisation after it, and its gradient is zero.
//!
//! A coupling waits for the one before it. Within one, threads share its two heads, and parts of the rows when there are many.

use rayon::prelude::*;

use super::bank::Statistics;
use super::buffers::{give_back, take, with_scratch};
use super::float::Float;
use super::matmul::{Matrix, Target, matmul};
use super::rows::{
    BackwardNormalization, Moments, add_rows, add_scaled, dot, hidden_layer,
    hidden_layer_with_slope, normalizer, part_rows, tile_len,
};
use crate::bounded_scale::FLOOR;
use crate::coupling::{GAIN_FLOOR, N_HEADS};
use crate::normalization::EPSILON;

/// The weights of all couplings, one after another, in each of them scale before shift.
#[derive(Debug, Clone, Copy)]
pub(super) struct Couplings<'a, T> {
    pub(super) n_rows: usize,
    pub(super) d_labels: usize,
    pub(super) d_hidden: usize,
    /// The label that each coupling warps.
    pub(super) warped: &'a [usize],
    /// `[2 · n_couplings, d_labels − 1, d_hidden]`
    pub(super) first: &'a [T],
    /// `[2 · n_couplings, d_hidden]`, of the first normalisation; here and below.
    pub(super) scale: &'a [T],
    pub(super) shift: &'a [T],
    /// `[2 · n_couplings, d_hidden, d_hidden]`
    pub(super) second: &'a [T],
    /// `[2 · n_couplings, d_hidden]`
    pub(super) merge: &'a [T],
    /// `[2 · n_couplings]`
    pub(super) merge_bias: &'a [T],
}

/// What the way back needs of the way forward.
#[derive(Debug, Clone)]
pub(super) struct Saved<T> {
    /// U of all couplings, `[2 · n_couplings, n_rows, d_hidden]`
    second: Vec<T>,
    couplings: Vec<SavedCoupling<T>>,
}

#[derive(Debug, Clone)]
struct SavedCoupling<T> {
    second_moments: [Moments<T>; N_HEADS],
    kept: KeptLabels<T>,
    /// The warped label before the coupling, and the raw scale, of each row.
    noise: Vec<T>,
    raw_scale: Vec<T>,
}

/// The labels and log-determinants, and the statistics of both normalisations.
#[derive(Debug)]
pub(super) struct Output<T> {
    /// `[n_rows, d_labels + 1]`: the labels, and ln |det ∂y/∂z|.
    pub(super) labels_and_log_det: Vec<T>,
    pub(super) first: Statistics<T>,
    /// Without the second layer's bias.
    pub(super) second: Statistics<T>,
}

/// The gradients of all that the labels depend on.
#[derive(Debug)]
pub(super) struct Gradients<T> {
    pub(super) noise: Vec<T>,
    pub(super) condition: Vec<T>,
    pub(super) first: Vec<T>,
    pub(super) scale: Vec<T>,
    pub(super) shift: Vec<T>,
    pub(super) second: Vec<T>,
    pub(super) merge: Vec<T>,
    pub(super) merge_bias: Vec<T>,
}

impl<T: Float> Saved<T> {
    /// When there is no way back.
    pub(super) fn give_back(self) {
        give_back(self.second);
    }
}

/// The labels that a coupling keeps.
#[derive(Debug, Clone)]
struct KeptLabels<T> {
    /// `[n_rows, d_labels − 1]`, less their means.
    centred: Vec<T>,
    mean: Vec<T>,
    /// `[d_labels − 1, d_labels − 1]`, biased.
    covariance: Vec<T>,
}

/// One network of one coupling.
#[derive(Debug, Clone, Copy)]
struct Head<'a, T> {
    d_hidden: usize,
    first: &'a [T],
    scale: &'a [T],
    shift: &'a [T],
    second: &'a [T],
    merge: &'a [T],
    merge_bias: T,
}

/// The first layer and its normalisation as one linear map of the centred kept labels.
#[derive(Debug, Clone)]
struct FirstLayer<T> {
    /// α, `[d_labels − 1, d_hidden]`
    slopes: Vec<T>,
    /// 1 / √(variance + ε) of each channel.
    factors: Vec<T>,
    variance: Vec<T>,
}

/// What a coupling's networks hear of the features: a head's gain before its exponential, and its offset.
#[derive(Debug, Clone, Copy)]
struct Condition<'a, T> {
    log_gain: &'a [T],
    offset: &'a [T],
}

impl<'a, T: Float> Couplings<'a, T> {
    fn head(&self, coupling: usize, head: usize) -> Head<'a, T> {
        let (h, d_kept) = (self.d_hidden, self.d_labels - 1);
        let index = N_HEADS * coupling + head;
        let channels = index * h..(index + 1) * h;
        Head {
            d_hidden: h,
            first: &self.first[index * d_kept * h..][..d_kept * h],
            scale: &self.scale[channels.clone()],
            shift: &self.shift[channels.clone()],
            second: &self.second[index * h * h..][..h * h],
            merge: &self.merge[channels],
            merge_bias: self.merge_bias[index],
        }
    }

    /// Noise becomes labels, with statistics of the batch.
    ///
    /// # Shapes
    ///
    /// - noise: `[n_rows, d_labels]`, condition: `[4 · n_couplings, n_rows, d_hidden]`
    pub(super) fn forward(&self, noise: &[T], condition: &[T]) -> (Output<T>, Saved<T>) {
        let n_couplings = self.warped.len();
        let mut labels = noise.to_vec();
        let mut log_det = vec![T::ZERO; self.n_rows];
        let mut first = Statistics { mean: Vec::new(), variance: Vec::new() };
        let mut second = Statistics { mean: Vec::new(), variance: Vec::new() };
        let mut couplings = Vec::with_capacity(n_couplings);
        let n_values = N_HEADS * self.n_rows * self.d_hidden;
        let mut seconds = take(n_couplings * n_values);
        let conditions = condition.chunks_exact(2 * n_values);
        for (index, (condition, values)) in
            conditions.zip(seconds.chunks_exact_mut(n_values)).enumerate()
        {
            let labels = (&mut labels[..], &mut log_det[..]);
            let saved = self.couple(index, condition, values, labels, &mut first);
            let statistics = Statistics::of(&saved.second_moments);
            second.mean.extend(statistics.mean);
            second.variance.extend(statistics.variance);
            couplings.push(saved);
        }
        let mut labels_and_log_det = Vec::with_capacity(self.n_rows * (self.d_labels + 1));
        for (labels, log_det) in labels.chunks_exact(self.d_labels).zip(log_det) {
            labels_and_log_det.extend_from_slice(labels);
            labels_and_log_det.push(log_det);
        }
        (Output { labels_and_log_det, first, second }, Saved { second: seconds, couplings })
    }

    /// One coupling: warps its label in place.
    fn couple(
        &self,
        index: usize,
        condition: &[T],
        second: &mut [T],
        (labels, log_det): (&mut [T], &mut [T]),
        statistics: &mut Statistics<T>,
    ) -> SavedCoupling<T> {
        let (n_rows, h, warped) = (self.n_rows, self.d_hidden, self.warped[index]);
        let kept = KeptLabels::new(labels, self.d_labels, warped);
        let (scale_second, shift_second) = second.split_at_mut(n_rows * h);
        let run = |head: usize, second: &mut [T]| {
            let part = |group: usize| &condition[group * n_rows * h..][..n_rows * h];
            let condition = Condition { log_gain: part(head), offset: part(N_HEADS + head) };
            self.head(index, head).forward(&kept, condition, second)
        };
        let (scale, shift) = rayon::join(|| run(0, scale_second), || run(1, shift_second));
        for head in [&scale, &shift] {
            statistics.mean.extend_from_slice(&head.first_mean);
            statistics.variance.extend_from_slice(&head.first_variance);
        }
        let (raw_scale, shifts) = (scale.outputs, shift.outputs);
        let mut noise = Vec::with_capacity(n_rows);
        vectorized!({
            let rows = labels.chunks_exact_mut(self.d_labels).zip(log_det);
            for ((row, log_det), (&raw, &shift)) in rows.zip(raw_scale.iter().zip(&shifts)) {
                noise.push(row[warped]);
                let scale = Scale::new(raw);
                row[warped] = scale.value.mul_add(row[warped], shift);
                *log_det += scale.value.ln();
            }
        });
        let second_moments = [scale.second_moments, shift.second_moments];
        SavedCoupling { second_moments, kept, noise, raw_scale }
    }

    /// Gradients from those of the labels and log-determinants; the condition's memory becomes that of its gradient.
    ///
    /// # Shapes
    ///
    /// - gradient: `[n_rows, d_labels + 1]`
    pub(super) fn backward(
        &self,
        saved: Saved<T>,
        mut condition: Vec<T>,
        gradient: &[T],
    ) -> Gradients<T> {
        let (n_rows, d_labels, h) = (self.n_rows, self.d_labels, self.d_hidden);
        let mut of_labels = Vec::with_capacity(n_rows * d_labels);
        let mut of_log_det = Vec::with_capacity(n_rows);
        for row in gradient.chunks_exact(d_labels + 1) {
            of_labels.extend_from_slice(&row[..d_labels]);
            of_log_det.push(row[d_labels]);
        }
        let mut of_second = take(N_HEADS * n_rows * h);
        let mut heads = Vec::with_capacity(saved.couplings.len());
        let n_values = N_HEADS * n_rows * h;
        let conditions = condition.chunks_exact_mut(2 * n_values);
        let seconds = saved.second.chunks_exact(n_values);
        for ((index, coupling), (condition, second)) in
            saved.couplings.iter().enumerate().zip(conditions.zip(seconds)).rev()
        {
            let seconds = (second, &mut of_second[..]);
            let gradients = (&mut of_labels[..], &of_log_det[..]);
            heads.push(self.uncouple(index, coupling, condition, seconds, gradients));
        }
        give_back(of_second);
        give_back(saved.second);
        let heads: Vec<HeadGradients<T>> = heads.into_iter().rev().flatten().collect();
        let collect = |part: fn(&HeadGradients<T>) -> &[T]| -> Vec<T> {
            heads.iter().map(part).collect::<Vec<_>>().concat()
        };
        Gradients {
            noise: of_labels,
            condition,
            first: collect(|head| &head.path.of_first),
            scale: collect(|head| &head.path.of_scale),
            shift: collect(|head| &head.shift),
            second: collect(|head| &head.second),
            merge: collect(|head| &head.merge),
            merge_bias: heads.iter().map(|head| head.merge_bias).collect(),
        }
    }

    /// One coupling on the way back: turns the gradient of the labels after it into that of the labels before it.
    fn uncouple(
        &self,
        index: usize,
        saved: &SavedCoupling<T>,
        condition: &mut [T],
        (second, of_second): (&[T], &mut [T]),
        (of_labels, of_log_det): (&mut [T], &[T]),
    ) -> [HeadGradients<T>; N_HEADS] {
        let warped = self.warped[index];
        let n_values = self.n_rows * self.d_hidden;
        let mut of_outputs = [Vec::with_capacity(self.n_rows), Vec::with_capacity(self.n_rows)];
        vectorized!({
            for (row, labels) in of_labels.chunks_exact_mut(self.d_labels).enumerate() {
                let scale = Scale::new(saved.raw_scale[row]);
                let of_label = labels[warped];
                let of_scale = of_label.mul_add(saved.noise[row], of_log_det[row] / scale.value);
                of_outputs[0].push(of_scale * scale.slope);
                of_outputs[1].push(of_label);
                labels[warped] = of_label * scale.value;
            }
        });
        let (log_gains, offsets) = condition.split_at_mut(N_HEADS * n_values);
        let groups = log_gains.chunks_mut(n_values).zip(offsets.chunks_mut(n_values));
        let seconds = second.chunks(n_values).zip(of_second.chunks_mut(n_values));
        let mut rows = groups.zip(seconds).zip(&of_outputs).map(
            |(((log_gain, offset), (second, of_second)), of_outputs)| HeadRows {
                log_gain,
                offset,
                second,
                of_second,
                of_outputs,
            },
        );
        let (scale_rows, shift_rows) = rows.next().zip(rows.next()).expect("there are two heads");
        let run = |head: usize, rows: HeadRows<'_, T>| {
            let moments = &saved.second_moments[head];
            self.head(index, head).backward(&saved.kept, moments, rows)
        };
        let (scale, shift) = rayon::join(|| run(0, scale_rows), || run(1, shift_rows));
        let heads = [scale, shift];
        vectorized!(add_to_kept(of_labels, self.d_labels, warped, &saved.kept, &heads));
        heads
    }
}

/// What one head gives on the way forward.
struct HeadOutputs<T> {
    first_mean: Vec<T>,
    /// Unbiased.
    first_variance: Vec<T>,
    second_moments: Moments<T>,
    /// o, of each row.
    outputs: Vec<T>,
}

/// What one head gives on the way back.
#[derive(Debug)]
struct HeadGradients<T> {
    shift: Vec<T>,
    second: Vec<T>,
    merge: Vec<T>,
    merge_bias: T,
    path: PathToKept<T>,
    /// dh αᵀ, `[n_rows, d_kept]`
    of_kept: Vec<T>,
}

/// s = √(1e-6 + exp(o / (1 + |o|))) and ds/do.
pub(super) struct Scale<T> {
    pub(super) value: T,
    slope: T,
}

impl<T: Float> Scale<T> {
    #[inline(always)]
    pub(super) fn new(raw: T) -> Self {
        let shrink = (T::ONE + raw.abs()).recip();
        let exponential = (raw * shrink).exp();
        let value = (exponential + T::from_f64(FLOOR)).sqrt();
        Self { value, slope: exponential * shrink * shrink / (value + value) }
    }
}

impl<T: Float> KeptLabels<T> {
    fn new(labels: &[T], d_labels: usize, warped: usize) -> Self {
        let d_kept = d_labels - 1;
        let n_rows = labels.len() / d_labels;
        let mut centred = Vec::with_capacity(n_rows * d_kept);
        for row in labels.chunks_exact(d_labels) {
            centred.extend_from_slice(&row[..warped]);
            centred.extend_from_slice(&row[warped + 1..]);
        }
        let mut mean = vec![0.0; d_kept];
        for row in centred.chunks_exact(d_kept) {
            for (mean, value) in mean.iter_mut().zip(row) {
                *mean += value.to_f64();
            }
        }
        let mean: Vec<T> = mean.iter().map(|sum| T::from_f64(sum / n_rows as f64)).collect();
        let mut products = vec![0.0; d_kept * d_kept];
        for row in centred.chunks_exact_mut(d_kept) {
            for (value, &mean) in row.iter_mut().zip(&mean) {
                *value = *value - mean;
            }
            for (products, a) in products.chunks_exact_mut(d_kept).zip(row.iter()) {
                for (product, b) in products.iter_mut().zip(row.iter()) {
                    *product += a.to_f64() * b.to_f64();
                }
            }
        }
        let covariance = products.iter().map(|sum| T::from_f64(sum / n_rows as f64)).collect();
        Self { centred, mean, covariance }
    }

    fn d_kept(&self) -> usize {
        self.mean.len()
    }

    fn n_rows(&self) -> usize {
        self.centred.len() / self.d_kept()
    }

    /// covariance · weights, `[d_kept, d_hidden]`
    fn covariance_with(&self, weights: &[T]) -> Vec<T> {
        let d_kept = self.d_kept();
        let d_hidden = weights.len() / d_kept;
        let mut product = vec![T::ZERO; weights.len()];
        let weights = Matrix::new(weights, d_hidden);
        matmul(&mut product, Target::Replace, Matrix::new(&self.covariance, d_kept), weights);
        product
    }
}

impl<T: Float> FirstLayer<T> {
    #[inline(always)]
    fn new(head: &Head<'_, T>, kept: &KeptLabels<T>) -> Self {
        let h = head.d_hidden;
        let products = kept.covariance_with(head.first);
        let mut variance = vec![T::ZERO; h];
        for (weights, products) in head.first.chunks_exact(h).zip(products.chunks_exact(h)) {
            for channel in 0..h {
                variance[channel] = weights[channel].mul_add(products[channel], variance[channel]);
            }
        }
        // Rounding may leave a tiny negative number.
        let factors: Vec<T> = variance
            .iter()
            .map(|&variance| normalizer(if variance > T::ZERO { variance } else { T::ZERO }))
            .collect();
        let mut slopes = head.first.to_vec();
        for slopes in slopes.chunks_exact_mut(h) {
            for channel in 0..h {
                slopes[channel] = slopes[channel] * factors[channel] * head.scale[channel];
            }
        }
        Self { slopes, factors, variance }
    }

    /// Mean and unbiased variance of every channel.
    fn statistics(&self, head: &Head<'_, T>, kept: &KeptLabels<T>) -> (Vec<T>, Vec<T>) {
        let mut mean = vec![T::ZERO; head.d_hidden];
        for (&label, weights) in kept.mean.iter().zip(head.first.chunks_exact(head.d_hidden)) {
            add_scaled(&mut mean, label, weights);
        }
        let n_rows = kept.n_rows() as f64;
        let unbiased = T::from_f64(n_rows / (n_rows - 1.0).max(1.0));
        (mean, self.variance.iter().map(|&variance| variance * unbiased).collect())
    }
}

impl<T: Float> Head<'_, T> {
    fn forward(
        &self,
        kept: &KeptLabels<T>,
        condition: Condition<'_, T>,
        second: &mut [T],
    ) -> HeadOutputs<T> {
        let first = vectorized!(FirstLayer::new(self, kept));
        let (first_mean, first_variance) = vectorized!(first.statistics(self, kept));
        let second_moments = self.second_layer(&first, kept, second);
        let outputs = self.outputs(&second_moments, second, condition);
        HeadOutputs { first_mean, first_variance, second_moments, outputs }
    }

    /// U = SiLU(ỹ α + β) W₂, and its moments.
    fn second_layer(
        &self,
        first: &FirstLayer<T>,
        kept: &KeptLabels<T>,
        second: &mut [T],
    ) -> Moments<T> {
        let (h, d_kept, part_rows) = (self.d_hidden, kept.d_kept(), part_rows(kept.n_rows()));
        let tile_len = tile_len(part_rows, h);
        let run = |(second, kept): (&mut [T], &[T])| {
            let mut moments = Moments::new(h);
            let tiles = second.chunks_mut(tile_len).zip(kept.chunks(tile_len / h * d_kept));
            with_scratch(tile_len, |[hidden]| {
                for (second, kept) in tiles {
                    let hidden = &mut hidden[..second.len()];
                    vectorized!(hidden_layer(hidden, kept, &first.slopes, self.shift));
                    let weights = Matrix::new(self.second, h);
                    matmul(second, Target::Replace, Matrix::new(hidden, h), weights);
                    vectorized!(moments.add_tile(second));
                }
            });
            moments
        };
        let parts = second.par_chunks_mut(part_rows * h);
        let parts = parts.zip(kept.centred.par_chunks(part_rows * d_kept)).map(run);
        Moments::joined(parts.collect::<Vec<_>>())
    }

    /// o = SiLU(gain · norm₀(U) + offset) · m + c
    fn outputs(&self, moments: &Moments<T>, second: &[T], condition: Condition<'_, T>) -> Vec<T> {
        let h = self.d_hidden;
        let part_rows = part_rows(second.len() / h);
        let mut outputs = vec![T::ZERO; second.len() / h];
        let factors = moments.factors();
        outputs.par_chunks_mut(part_rows).enumerate().for_each(|(part, outputs)| {
            let start = part * part_rows * h;
            let range = start..start + outputs.len() * h;
            let normalized = Normalized {
                second: &second[range.clone()],
                mean: &moments.mean,
                factors: &factors,
            };
            let condition = Condition {
                log_gain: &condition.log_gain[range.clone()],
                offset: &condition.offset[range],
            };
            vectorized!(merged(outputs, self, normalized, condition));
        });
        outputs
    }

    fn backward(
        &self,
        kept: &KeptLabels<T>,
        moments: &Moments<T>,
        rows: HeadRows<'_, T>,
    ) -> HeadGradients<T> {
        let first = vectorized!(FirstLayer::new(self, kept));
        let HeadRows { log_gain, offset, second, of_second, of_outputs } = rows;
        let rows = HeadRows { log_gain, offset, second, of_second: &mut *of_second, of_outputs };
        let after = self.backward_outputs(moments, rows);
        let before = self.backward_hidden(&first, kept, moments, &after, second, of_second);
        let path = vectorized!(PathToKept::new(self, &first, kept, &before));
        HeadGradients {
            shift: before.sum,
            second: before.of_second_weight,
            merge: after.of_merge,
            merge_bias: after.of_merge_bias,
            path,
            of_kept: before.of_kept,
        }
    }

    /// From the outputs back to the normalised second layer: its gradient goes into `of_second`, the condition's into the condition.
    fn backward_outputs(&self, moments: &Moments<T>, rows: HeadRows<'_, T>) -> AfterSecond<T> {
        let part_rows = part_rows(rows.of_outputs.len());
        let len = part_rows * self.d_hidden;
        let factors = moments.factors();
        let condition = rows.log_gain.par_chunks_mut(len).zip(rows.offset.par_chunks_mut(len));
        let seconds = rows.second.par_chunks(len).zip(rows.of_second.par_chunks_mut(len));
        let parts = condition.zip(seconds).zip(rows.of_outputs.par_chunks(part_rows)).map(
            |(((log_gain, offset), (second, of_second)), of_outputs)| {
                let rows = HeadRows { log_gain, offset, second, of_second, of_outputs };
                vectorized!(rows.backward(self.merge, &moments.mean, &factors))
            },
        );
        AfterSecond::joined(parts.collect())
    }

    /// From the normalised second layer back to the kept labels.
    fn backward_hidden(
        &self,
        first: &FirstLayer<T>,
        kept: &KeptLabels<T>,
        moments: &Moments<T>,
        after: &AfterSecond<T>,
        second: &[T],
        of_second: &mut [T],
    ) -> BeforeSecond<T> {
        let part_rows = part_rows(kept.n_rows());
        let normalization = BackwardNormalization::new(moments, &after.sum, &after.products);
        let len = part_rows * self.d_hidden;
        let seconds = second.par_chunks(len).zip(of_second.par_chunks_mut(len));
        let kept = kept.centred.par_chunks(part_rows * kept.d_kept());
        let parts = seconds.zip(kept).map(|((second, of_second), kept)| {
            HiddenRows { second, of_second, kept }.backward(self, first, &normalization)
        });
        BeforeSecond::joined(parts.collect())
    }
}

/// U with what normalises it.
#[derive(Debug, Clone, Copy)]
struct Normalized<'a, T> {
    second: &'a [T],
    mean: &'a [T],
    factors: &'a [T],
}

#[inline(always)]
fn merged<T: Float>(
    outputs: &mut [T],
    head: &Head<'_, T>,
    normalized: Normalized<'_, T>,
    condition: Condition<'_, T>,
) {
    let h = head.d_hidden;
    let floor = T::from_f64(GAIN_FLOOR);
    let mut activation = vec![T::ZERO; h];
    let (mean, factors) = (&normalized.mean[..h], &normalized.factors[..h]);
    let rows = normalized.second.chunks_exact(h);
    let condition = condition.log_gain.chunks_exact(h).zip(condition.offset.chunks_exact(h));
    for ((output, second), (log_gain, offset)) in outputs.iter_mut().zip(rows).zip(condition) {
        for channel in 0..h {
            let normal = (second[channel] - mean[channel]) * factors[channel];
            let gain = log_gain[channel].exp() + floor;
            activation[channel] = gain.mul_add(normal, offset[channel]).silu();
        }
        *output = dot(&activation, head.merge) + head.merge_bias;
    }
}

/// What comes back from the outputs of a head: sums over rows.
#[derive(Debug, Clone)]
struct AfterSecond<T> {
    of_merge: Vec<T>,
    of_merge_bias: T,
    /// Σ dÛ
    sum: Vec<T>,
    /// Σ dÛ · (U − mean)
    products: Vec<T>,
}

/// Some rows of a head between its second layer and its output.
struct HeadRows<'a, T> {
    /// Become their own gradients.
    log_gain: &'a mut [T],
    offset: &'a mut [T],
    second: &'a [T],
    of_second: &'a mut [T],
    of_outputs: &'a [T],
}

impl<T: Float> HeadRows<'_, T> {
    #[inline(always)]
    fn backward(self, merge: &[T], mean: &[T], factors: &[T]) -> AfterSecond<T> {
        let h = merge.len();
        let floor = T::from_f64(GAIN_FLOOR);
        let mut sums = AfterSecond {
            of_merge: vec![T::ZERO; h],
            of_merge_bias: self.of_outputs.iter().copied().sum(),
            sum: vec![T::ZERO; h],
            products: vec![T::ZERO; h],
        };
        let (mean, factors) = (&mean[..h], &factors[..h]);
        let (of_merge, sum) = (&mut sums.of_merge[..h], &mut sums.sum[..h]);
        let products = &mut sums.products[..h];
        let condition = self.log_gain.chunks_exact_mut(h).zip(self.offset.chunks_exact_mut(h));
        let seconds = self.second.chunks_exact(h).zip(self.of_second.chunks_exact_mut(h));
        for (((log_gain, offset), (second, of_second)), &of_output) in
            condition.zip(seconds).zip(self.of_outputs)
        {
            for channel in 0..h {
                let deviation = second[channel] - mean[channel];
                let normal = deviation * factors[channel];
                let exponential = log_gain[channel].exp();
                let gain = exponential + floor;
                let (activation, slope) = gain.mul_add(normal, offset[channel]).silu_with_slope();
                of_merge[channel] = of_output.mul_add(activation, of_merge[channel]);
                let of_argument = of_output * merge[channel] * slope;
                offset[channel] = of_argument;
                log_gain[channel] = of_argument * normal * exponential;
                let of_normal = of_argument * gain;
                of_second[channel] = of_normal;
                sum[channel] += of_normal;
                products[channel] = of_normal.mul_add(deviation, products[channel]);
            }
        }
        sums
    }
}

impl<T: Float> AfterSecond<T> {
    fn joined(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut all = parts.next().expect("there are rows");
        for part in parts {
            add_scaled(&mut all.of_merge, T::ONE, &part.of_merge);
            add_scaled(&mut all.sum, T::ONE, &part.sum);
            add_scaled(&mut all.products, T::ONE, &part.products);
            all.of_merge_bias += part.of_merge_bias;
        }
        all
    }
}

/// What comes back from the second layer of a head.
#[derive(Debug, Clone)]
struct BeforeSecond<T> {
    of_second_weight: Vec<T>,
    /// Σ dh, where h is the argument of the first SiLU
    sum: Vec<T>,
    /// Σ ỹ dh, `[d_kept, d_hidden]`
    products: Vec<T>,
    /// dh αᵀ, `[n_rows, d_kept]`
    of_kept: Vec<T>,
}

/// Some rows of a head between the kept labels and its second layer.
struct HiddenRows<'a, T> {
    second: &'a [T],
    /// The gradient of the normalised second layer; becomes that of the second layer.
    of_second: &'a mut [T],
    kept: &'a [T],
}

impl<T: Float> HiddenRows<'_, T> {
    fn backward(
        self,
        head: &Head<'_, T>,
        first: &FirstLayer<T>,
        normalization: &BackwardNormalization<T>,
    ) -> BeforeSecond<T> {
        let h = head.d_hidden;
        let d_kept = first.slopes.len() / h;
        let tile_len = tile_len(self.second.len() / h, h);
        let kept_len = tile_len / h * d_kept;
        let mut result = BeforeSecond {
            of_second_weight: vec![T::ZERO; h * h],
            sum: vec![T::ZERO; h],
            products: vec![T::ZERO; d_kept * h],
            of_kept: vec![T::ZERO; self.kept.len()],
        };
        let BeforeSecond { of_second_weight, sum, products, of_kept } = &mut result;
        let tiles = self.second.chunks(tile_len).zip(self.of_second.chunks_mut(tile_len));
        let kept_tiles = self.kept.chunks(kept_len).zip(of_kept.chunks_mut(kept_len));
        with_scratch(tile_len, |[hidden, slope, of_hidden]| {
            for ((second, of_second), (kept, of_kept)) in tiles.zip(kept_tiles) {
                let n_values = second.len();
                let (hidden, slope) = (&mut hidden[..n_values], &mut slope[..n_values]);
                let of_hidden = &mut of_hidden[..n_values];
                vectorized!({
                    normalization.apply(second, of_second);
                    hidden_layer_with_slope(hidden, slope, kept, &first.slopes, head.shift);
                });
                let weights = Matrix::new(head.second, h).transposed();
                matmul(of_hidden, Target::Replace, Matrix::new(of_second, h), weights);
                let hidden = Matrix::new(hidden, h).transposed();
                matmul(of_second_weight, Target::AddTo, hidden, Matrix::new(of_second, h));
                vectorized!({
                    for (of_hidden, &slope) in of_hidden.iter_mut().zip(&*slope) {
                        *of_hidden = *of_hidden * slope;
                    }
                    add_rows(sum, of_hidden);
                    let rows = of_hidden.chunks_exact(h);
                    let kept = kept.chunks_exact(d_kept).zip(of_kept.chunks_exact_mut(d_kept));
                    for (row, (kept, of_kept)) in rows.zip(kept) {
                        for (label, (&kept, of_kept)) in kept.iter().zip(of_kept).enumerate() {
                            let channels = label * h..(label + 1) * h;
                            add_scaled(&mut products[channels.clone()], kept, row);
                            *of_kept = dot(row, &first.slopes[channels]);
                        }
                    }
                });
            }
        });
        result
    }
}

impl<T: Float> BeforeSecond<T> {
    fn joined(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut all = parts.next().expect("there are rows");
        for part in parts {
            add_scaled(&mut all.of_second_weight, T::ONE, &part.of_second_weight);
            add_scaled(&mut all.sum, T::ONE, &part.sum);
            add_scaled(&mut all.products, T::ONE, &part.products);
            all.of_kept.extend(part.of_kept);
        }
        all
    }
}

/// From the first layer back to the kept labels and its weights. With x̂ the normalised channels:
///
/// ```text
/// dp = factor · (scale · dh − mean(scale · dh) − x̂ · mean(scale · dh · x̂)),   p = y w
/// ```
///
/// All sums over rows are in [`BeforeSecond`] already, since p and x̂ are linear in the kept labels.
#[derive(Debug)]
struct PathToKept<T> {
    of_first: Vec<T>,
    of_scale: Vec<T>,
    /// What every row's gradient of the kept labels loses: w · factor · mean(scale · dh) over channels.
    offset: Vec<T>,
    /// And, for each unit of a centred kept label, `[d_kept, d_kept]`.
    of_centred: Vec<T>,
}

impl<T: Float> PathToKept<T> {
    #[inline(always)]
    fn new(
        head: &Head<'_, T>,
        first: &FirstLayer<T>,
        kept: &KeptLabels<T>,
        before: &BeforeSecond<T>,
    ) -> Self {
        let (h, d_kept) = (head.d_hidden, kept.d_kept());
        let share = T::from_f64(1.0 / kept.n_rows() as f64);
        // Σ_rows dh · x̂ of each channel.
        let mut of_scale = vec![T::ZERO; h];
        for (weights, products) in head.first.chunks_exact(h).zip(before.products.chunks_exact(h)) {
            for channel in 0..h {
                let product = weights[channel] * products[channel];
                of_scale[channel] = product.mul_add(first.factors[channel], of_scale[channel]);
            }
        }
        let covariance = kept.covariance_with(head.first);
        let epsilon = T::from_f64(EPSILON);
        let mut path = Self {
            of_first: vec![T::ZERO; d_kept * h],
            offset: vec![T::ZERO; d_kept],
            of_centred: vec![T::ZERO; d_kept * d_kept],
            of_scale,
        };
        for channel in 0..h {
            let (factor, scale) = (first.factors[channel], head.scale[channel]);
            let mean_of_gradient = scale * before.sum[channel] * share;
            let mean_of_product = scale * path.of_scale[channel] * share;
            for label in 0..d_kept {
                let at = label * h + channel;
                path.of_first[at] = factor
                    * if d_kept == 1 {
                        // The same without the difference of two nearly equal numbers: 1 − w² variance factor² = ε factor².
                        scale * before.products[at] * epsilon * factor * factor
                    } else {
                        let n_covariance = covariance[at] / share;
                        scale * before.products[at] - mean_of_product * factor * n_covariance
                    };
                let weight = head.first[at] * factor;
                path.offset[label] += weight * mean_of_gradient;
                for other in 0..d_kept {
                    path.of_centred[label * d_kept + other] +=
                        weight * mean_of_product * factor * head.first[other * h + channel];
                }
            }
        }
        path
    }
}

/// Adds both heads' gradients of the kept labels.
#[inline(always)]
fn add_to_kept<T: Float>(
    of_labels: &mut [T],
    d_labels: usize,
    warped: usize,
    kept: &KeptLabels<T>,
    heads: &[HeadGradients<T>; N_HEADS],
) {
    let d_kept = d_labels - 1;
    for (row, of_labels) in of_labels.chunks_exact_mut(d_labels).enumerate() {
        let range = row * d_kept..(row + 1) * d_kept;
        let centred = &kept.centred[range.clone()];
        for HeadGradients { path, of_kept, .. } in heads {
            for (label, &direct) in of_kept[range.clone()].iter().enumerate() {
                let through = dot(&path.of_centred[label * d_kept..][..d_kept], centred);
                let column = if label < warped { label } else { label + 1 };
                of_labels[column] += direct - path.offset[label] - through;
            }
        }
    }
}
