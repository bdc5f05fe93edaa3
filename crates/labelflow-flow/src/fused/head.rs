//! One network of one coupling, forward and backward: with ỹ the kept labels less their means,
//!
//! ```text
//! h = SiLU(ỹ α + β),   U = h W₂,   v = (1e-6 + exp W) · norm₀(U) + B,   o = SiLU(v) · m + c
//! ```
//!
//! The first normalisation needs no pass over its channels: they are linear in the kept labels, so that mean and variance of all of them
//! follow from mean and covariance of the kept labels, and α = w · factor · scale, β = shift. The bias of the second layer cancels in the
//! normalisation after it, and its gradient is zero.

use rayon::prelude::*;

use super::bank::Statistics;
use super::buffers::with_scratch;
use super::float::Float;
use super::matmul::{Matrix, Target, matmul};
use super::rows::{
    BackwardNormalization, Moments, add_rows, add_scaled, dot, hidden_layer, hidden_layer_with_slope, normalizer,
    part_rows, tile_len,
};
use crate::bijections::GAIN_FLOOR;
use crate::layers::EPSILON;

/// The labels that a coupling keeps.
#[derive(Debug, Clone)]
pub(super) struct KeptLabels<T> {
    /// `[n_rows, d_labels − 1]`, less their means.
    pub(super) centred: Vec<T>,
    mean: Vec<T>,
    /// `[d_labels − 1, d_labels − 1]`, biased.
    covariance: Vec<T>,
}

/// One network of one coupling.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a, T> {
    pub(super) d_hidden: usize,
    pub(super) first: &'a [T],
    pub(super) scale: &'a [T],
    pub(super) shift: &'a [T],
    pub(super) second: &'a [T],
    pub(super) merge: &'a [T],
    pub(super) merge_bias: T,
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

/// What one head gives on the way forward.
pub(super) struct HeadOutputs<T> {
    pub(super) first: Statistics<T>,
    pub(super) second_moments: Moments<T>,
    /// o, of each row.
    pub(super) outputs: Vec<T>,
}

/// What one head gives on the way back.
#[derive(Debug)]
pub(super) struct HeadGradients<T> {
    pub(super) after: AfterSecond<T>,
    pub(super) before: BeforeSecond<T>,
    pub(super) path: PathToKept<T>,
}

impl<T: Float> KeptLabels<T> {
    /// Of these columns of labels `[n_rows, d_labels]`.
    pub(super) fn new(labels: &[T], d_labels: usize, columns: impl Iterator<Item = usize> + Clone) -> Self {
        let d_kept = columns.clone().count();
        let n_rows = labels.len() / d_labels;
        let mut centred = Vec::with_capacity(n_rows * d_kept);
        for row in labels.chunks_exact(d_labels) {
            centred.extend(columns.clone().map(|column| row[column]));
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
        let factors: Vec<T> =
            variance.iter().map(|&variance| normalizer(if variance > T::ZERO { variance } else { T::ZERO })).collect();
        let mut slopes = head.first.to_vec();
        for slopes in slopes.chunks_exact_mut(h) {
            for channel in 0..h {
                slopes[channel] = slopes[channel] * factors[channel] * head.scale[channel];
            }
        }
        Self { slopes, factors, variance }
    }

    /// Mean and unbiased variance of every channel.
    fn statistics(&self, head: &Head<'_, T>, kept: &KeptLabels<T>) -> Statistics<T> {
        let mut mean = vec![T::ZERO; head.d_hidden];
        for (&label, weights) in kept.mean.iter().zip(head.first.chunks_exact(head.d_hidden)) {
            add_scaled(&mut mean, label, weights);
        }
        let n_rows = kept.n_rows() as f64;
        let unbiased = T::from_f64(n_rows / (n_rows - 1.0).max(1.0));
        let variance = self.variance.iter().map(|&variance| variance * unbiased).collect();
        Statistics { mean, variance }
    }
}

impl<T: Float> Head<'_, T> {
    /// `condition` is what the features say: the gain before its exponential, and the offset.
    pub(super) fn forward(&self, kept: &KeptLabels<T>, condition: [&[T]; 2], second: &mut [T]) -> HeadOutputs<T> {
        let first = vectorized!(FirstLayer::new(self, kept));
        let statistics = vectorized!(first.statistics(self, kept));
        let second_moments = self.second_layer(&first, kept, second);
        let outputs = self.outputs(&second_moments, second, condition);
        HeadOutputs { first: statistics, second_moments, outputs }
    }

    /// U = SiLU(ỹ α + β) W₂, and its moments.
    fn second_layer(&self, first: &FirstLayer<T>, kept: &KeptLabels<T>, second: &mut [T]) -> Moments<T> {
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
    fn outputs(&self, moments: &Moments<T>, second: &[T], condition: [&[T]; 2]) -> Vec<T> {
        let h = self.d_hidden;
        let part_rows = part_rows(second.len() / h);
        let mut outputs = vec![T::ZERO; second.len() / h];
        let factors = moments.factors();
        outputs.par_chunks_mut(part_rows).enumerate().for_each(|(part, outputs)| {
            let start = part * part_rows * h;
            let range = start..start + outputs.len() * h;
            let [second, log_gain, offset] = [second, condition[0], condition[1]].map(|all| &all[range.clone()]);
            vectorized!(merged(outputs, self, second, [&moments.mean, &factors], [log_gain, offset]));
        });
        outputs
    }

    pub(super) fn backward(
        &self,
        kept: &KeptLabels<T>,
        moments: &Moments<T>,
        mut rows: HeadRows<'_, T>,
    ) -> HeadGradients<T> {
        let first = vectorized!(FirstLayer::new(self, kept));
        let after = self.backward_outputs(moments, &mut rows);
        let (second, of_second) = (rows.second, rows.of_second);
        let before = self.backward_hidden(&first, kept, moments, &after, second, of_second);
        let path = vectorized!(PathToKept::new(self, &first, kept, &before));
        HeadGradients { after, before, path }
    }

    /// From the outputs back to the normalised second layer: its gradient goes into `of_second`, the condition's into the condition.
    fn backward_outputs(&self, moments: &Moments<T>, rows: &mut HeadRows<'_, T>) -> AfterSecond<T> {
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
        let parts = seconds.zip(kept).map(|(rows, kept)| self.backward_rows(first, &normalization, rows, kept));
        BeforeSecond::joined(parts.collect())
    }
}

#[inline(always)]
fn merged<T: Float>(
    outputs: &mut [T],
    head: &Head<'_, T>,
    second: &[T],
    [mean, factors]: [&[T]; 2],
    [log_gain, offset]: [&[T]; 2],
) {
    let h = head.d_hidden;
    let floor = T::from_f64(GAIN_FLOOR);
    let mut activation = vec![T::ZERO; h];
    let (mean, factors) = (&mean[..h], &factors[..h]);
    let rows = second.chunks_exact(h);
    let condition = log_gain.chunks_exact(h).zip(offset.chunks_exact(h));
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
pub(super) struct AfterSecond<T> {
    pub(super) of_merge: Vec<T>,
    pub(super) of_merge_bias: T,
    /// Σ dÛ
    sum: Vec<T>,
    /// Σ dÛ · (U − mean)
    products: Vec<T>,
}

/// Some rows of a head between its second layer and its output.
pub(super) struct HeadRows<'a, T> {
    /// Become their own gradients.
    pub(super) log_gain: &'a mut [T],
    pub(super) offset: &'a mut [T],
    pub(super) second: &'a [T],
    pub(super) of_second: &'a mut [T],
    pub(super) of_outputs: &'a [T],
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
        for (((log_gain, offset), (second, of_second)), &of_output) in condition.zip(seconds).zip(self.of_outputs) {
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
        let join = |mut all: Self, part: Self| {
            add_scaled(&mut all.of_merge, T::ONE, &part.of_merge);
            add_scaled(&mut all.sum, T::ONE, &part.sum);
            add_scaled(&mut all.products, T::ONE, &part.products);
            all.of_merge_bias += part.of_merge_bias;
            all
        };
        parts.into_iter().reduce(join).expect("there are rows")
    }
}

/// What comes back from the second layer of a head.
#[derive(Debug, Clone)]
pub(super) struct BeforeSecond<T> {
    pub(super) of_second_weight: Vec<T>,
    /// Σ dh, where h is the argument of the first SiLU: the gradient of its shift
    pub(super) sum: Vec<T>,
    /// Σ ỹ dh, `[d_kept, d_hidden]`
    products: Vec<T>,
    /// dh αᵀ, `[n_rows, d_kept]`
    pub(super) of_kept: Vec<T>,
}

impl<T: Float> Head<'_, T> {
    /// Some rows between the kept labels and the second layer. `of_second` is the gradient of the normalised second layer and
    /// becomes that of the second layer.
    fn backward_rows(
        &self,
        first: &FirstLayer<T>,
        normalization: &BackwardNormalization<T>,
        (second, of_second): (&[T], &mut [T]),
        kept: &[T],
    ) -> BeforeSecond<T> {
        let h = self.d_hidden;
        let d_kept = first.slopes.len() / h;
        let tile_len = tile_len(second.len() / h, h);
        let kept_len = tile_len / h * d_kept;
        let mut result = BeforeSecond {
            of_second_weight: vec![T::ZERO; h * h],
            sum: vec![T::ZERO; h],
            products: vec![T::ZERO; d_kept * h],
            of_kept: vec![T::ZERO; kept.len()],
        };
        let BeforeSecond { of_second_weight, sum, products, of_kept } = &mut result;
        let tiles = second.chunks(tile_len).zip(of_second.chunks_mut(tile_len));
        let kept_tiles = kept.chunks(kept_len).zip(of_kept.chunks_mut(kept_len));
        with_scratch(tile_len, |[hidden, slope, of_hidden]| {
            for ((second, of_second), (kept, of_kept)) in tiles.zip(kept_tiles) {
                let n_values = second.len();
                let (hidden, slope) = (&mut hidden[..n_values], &mut slope[..n_values]);
                let of_hidden = &mut of_hidden[..n_values];
                vectorized!({
                    normalization.apply(second, of_second);
                    hidden_layer_with_slope(hidden, slope, kept, &first.slopes, self.shift);
                });
                let weights = Matrix::new(self.second, h).transposed();
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
        let join = |mut all: Self, part: Self| {
            add_scaled(&mut all.of_second_weight, T::ONE, &part.of_second_weight);
            add_scaled(&mut all.sum, T::ONE, &part.sum);
            add_scaled(&mut all.products, T::ONE, &part.products);
            all.of_kept.extend(part.of_kept);
            all
        };
        parts.into_iter().reduce(join).expect("there are rows")
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
pub(super) struct PathToKept<T> {
    pub(super) of_first: Vec<T>,
    pub(super) of_scale: Vec<T>,
    /// What every row's gradient of the kept labels loses: w · factor · mean(scale · dh) over channels.
    pub(super) offset: Vec<T>,
    /// And, for each unit of a centred kept label, `[d_kept, d_kept]`.
    pub(super) of_centred: Vec<T>,
}

impl<T: Float> PathToKept<T> {
    #[inline(always)]
    fn new(head: &Head<'_, T>, first: &FirstLayer<T>, kept: &KeptLabels<T>, before: &BeforeSecond<T>) -> Self {
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
