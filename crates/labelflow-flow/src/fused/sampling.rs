//! Samples of a trained flow: running statistics, no way back.
//!
//! A tile of rows goes through the whole flow at once. What the features say is computed once a row; the couplings then take all samples
//! of the tile together.

use rayon::prelude::*;

use super::bank::Bank;
use super::couplings::{Couplings, Scale};
use super::float::Float;
use super::matmul::{Matrix, Target, matmul};
use super::rows::{dot, hidden_layer, normalizer};
use crate::bijections::{GAIN_FLOOR, N_HEADS};

/// Rows of a tile: the conditions of 64 networks for so many rows fit into the second cache.
/// Every tile is full, the last one with rows of zeros, so that a row's bits do not depend on how many rows are beside it.
const TILE_ROWS: usize = 64;

/// A normalisation with running statistics: values · slopes + offsets.
#[derive(Debug)]
pub(super) struct Affine<T> {
    slopes: Vec<T>,
    offsets: Vec<T>,
}

impl<T: Float> Affine<T> {
    /// (value − mean) / √(variance + ε)
    pub(super) fn new(mean: &[T], variance: &[T]) -> Self {
        let slopes: Vec<T> = variance.iter().map(|&variance| normalizer(variance)).collect();
        let offsets = mean.iter().zip(&slopes).map(|(&mean, &slope)| -mean * slope).collect();
        Self { slopes, offsets }
    }

    /// And then · scale + shift.
    pub(super) fn then(mut self, scale: &[T], shift: &[T]) -> Self {
        for channel in 0..scale.len() {
            self.slopes[channel] = self.slopes[channel] * scale[channel];
            self.offsets[channel] = self.offsets[channel] * scale[channel] + shift[channel];
        }
        self
    }
}

/// A trained flow.
#[derive(Debug)]
pub(super) struct Sampler<'a, T> {
    pub(super) bank: Bank<'a, T>,
    pub(super) bank_norm: Affine<T>,
    pub(super) couplings: Couplings<'a, T>,
    pub(super) first_norm: Affine<T>,
    /// `[2 · n_couplings, d_hidden]`
    pub(super) second_bias: &'a [T],
    pub(super) second_norm: Affine<T>,
}

impl<T: Float> Sampler<'_, T> {
    /// # Shapes
    ///
    /// - features: `[n_rows, d_features]`, noise and result: `[n_samples, n_rows, d_labels]`
    pub(super) fn sample(&self, features: &[T], noise: &[T]) -> Vec<T> {
        if noise.is_empty() {
            return Vec::new();
        }
        let (d, k) = (self.bank.d_features, self.couplings.d_labels);
        let n_rows = features.len() / d;
        let n_samples = noise.len() / (n_rows * k);
        let tiles: Vec<Vec<T>> = features
            .par_chunks(TILE_ROWS * d)
            .enumerate()
            .map(|(tile, features)| {
                let start = tile * TILE_ROWS;
                let rows = features.len() / d;
                let mut full = vec![T::ZERO; TILE_ROWS * d];
                full[..features.len()].copy_from_slice(features);
                let mut labels = vec![T::ZERO; n_samples * TILE_ROWS * k];
                for (labels, noise) in labels.chunks_exact_mut(TILE_ROWS * k).zip(noise.chunks_exact(n_rows * k)) {
                    labels[..rows * k].copy_from_slice(&noise[start * k..][..rows * k]);
                }
                self.warp_tile(&full, &mut labels);
                labels
            })
            .collect();
        let mut samples = vec![T::ZERO; noise.len()];
        for (sample, samples) in samples.chunks_exact_mut(n_rows * k).enumerate() {
            for (rows, tile) in samples.chunks_mut(TILE_ROWS * k).zip(&tiles) {
                rows.copy_from_slice(&tile[sample * TILE_ROWS * k..][..rows.len()]);
            }
        }
        samples
    }

    /// Noise of all samples of a tile becomes labels.
    fn warp_tile(&self, features: &[T], labels: &mut [T]) {
        let (h, k, d_kept) = (self.bank.d_hidden, self.couplings.d_labels, self.couplings.d_kept);
        let limit = T::from_f64(2.0 * self.couplings.max_log_scale);
        let n_values = TILE_ROWS * h;
        let n_draws = labels.len() / k;
        let mut scratch = Scratch {
            kept: vec![T::ZERO; n_draws * d_kept],
            hidden: vec![T::ZERO; n_draws * h],
            second: vec![T::ZERO; n_draws * h],
        };
        let mut condition = vec![T::ZERO; 2 * N_HEADS * n_values];
        let mut outputs = [vec![T::ZERO; n_draws], vec![T::ZERO; n_draws]];
        for (coupling, &warped) in self.couplings.warped.iter().enumerate() {
            for (index, condition) in condition.chunks_exact_mut(n_values).enumerate() {
                let network = coupling * 2 * N_HEADS + index;
                self.condition(network, features, &mut scratch.hidden[..n_values], condition);
            }
            let (log_gains, offsets) = condition.split_at_mut(N_HEADS * n_values);
            vectorized!({
                for gain in log_gains.iter_mut() {
                    *gain = gain.exp() + T::from_f64(GAIN_FLOOR);
                }
            });
            for (row, kept) in labels.chunks_exact(k).zip(scratch.kept.chunks_exact_mut(d_kept)) {
                for (kept, column) in kept.iter_mut().zip(self.couplings.kept_columns(warped)) {
                    *kept = row[column];
                }
            }
            for (head, outputs) in outputs.iter_mut().enumerate() {
                let gain = &log_gains[head * n_values..][..n_values];
                let offset = &offsets[head * n_values..][..n_values];
                self.head([coupling, head], gain, offset, &mut scratch, outputs);
            }
            vectorized!({
                let outputs = outputs[0].iter().zip(&outputs[1]);
                for (row, (&raw, &shift)) in labels.chunks_exact_mut(k).zip(outputs) {
                    row[warped] = Scale::new(raw, limit).value.mul_add(row[warped], shift);
                }
            });
        }
    }

    /// What one network of the bank says of a tile.
    fn condition(&self, index: usize, features: &[T], hidden: &mut [T], condition: &mut [T]) {
        let h = self.bank.d_hidden;
        let channels = index * h..(index + 1) * h;
        let network = self.bank.network(index);
        let features = Matrix::new(features, self.bank.d_features);
        matmul(hidden, Target::Replace, features, Matrix::new(network.first, h));
        let slopes = &self.bank_norm.slopes[channels.clone()];
        let offsets = &self.bank_norm.offsets[channels];
        vectorized!({
            for row in hidden.chunks_exact_mut(h) {
                for channel in 0..h {
                    row[channel] = row[channel].mul_add(slopes[channel], offsets[channel]).silu();
                }
            }
        });
        network.second_layer(hidden, condition);
    }

    /// The output of one head for all samples of a tile.
    fn head(
        &self,
        [coupling, head]: [usize; 2],
        gain: &[T],
        offset: &[T],
        scratch: &mut Scratch<T>,
        outputs: &mut [T],
    ) {
        let (h, index) = (self.bank.d_hidden, N_HEADS * coupling + head);
        let channels = index * h..(index + 1) * h;
        let head = self.couplings.head(coupling, head);
        let first_slopes = &self.first_norm.slopes[channels.clone()];
        let mut slopes = head.first.to_vec();
        for row in slopes.chunks_exact_mut(h) {
            for (slope, &normal) in row.iter_mut().zip(first_slopes) {
                *slope = *slope * normal;
            }
        }
        let Scratch { kept, hidden, second } = scratch;
        vectorized!(hidden_layer(hidden, kept, &slopes, &self.first_norm.offsets[channels.clone()]));
        matmul(second, Target::Replace, Matrix::new(hidden, h), Matrix::new(head.second, h));
        let slopes = &self.second_norm.slopes[channels.clone()];
        let mut offsets = self.second_norm.offsets[channels.clone()].to_vec();
        for ((offset, &bias), &slope) in offsets.iter_mut().zip(&self.second_bias[channels]).zip(slopes) {
            *offset += bias * slope;
        }
        let samples = second.chunks_exact_mut(gain.len()).zip(outputs.chunks_exact_mut(TILE_ROWS));
        for (second, outputs) in samples {
            vectorized!(activate(second, gain, offset, slopes, &offsets));
            vectorized!(for (row, output) in second.chunks_exact(h).zip(outputs) {
                *output = dot(row, head.merge) + head.merge_bias;
            });
        }
    }
}

/// second = SiLU(gain · (second · slopes + offsets) + offset)
#[inline(always)]
fn activate<T: Float>(second: &mut [T], gain: &[T], offset: &[T], slopes: &[T], offsets: &[T]) {
    let h = slopes.len();
    let rows = gain.chunks_exact(h).zip(offset.chunks_exact(h));
    for (second, (gain, offset)) in second.chunks_exact_mut(h).zip(rows) {
        let channels = gain.iter().zip(offset).zip(slopes.iter().zip(offsets));
        for (second, ((&gain, &offset), (&slope, &normal_offset))) in second.iter_mut().zip(channels) {
            let normal = second.mul_add(slope, normal_offset);
            *second = gain.mul_add(normal, offset).silu();
        }
    }
}

/// Memory for one tile, used by every coupling.
struct Scratch<T> {
    kept: Vec<T>,
    hidden: Vec<T>,
    second: Vec<T>,
}
