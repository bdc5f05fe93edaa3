//! A chain of couplings from noise to labels, forward and backward. Each warps one label by what its two heads, scale and shift, say:
//!
//! ```text
//! y = s(o_scale) · z + o_shift
//! ```
//!
//! A coupling waits for the one before it. Within one, threads share its two heads, and parts of the rows when there are many.

use super::bank::Statistics;
use super::buffers::{give_back, take};
use super::float::Float;
use super::head::{Head, HeadGradients, HeadRows, KeptLabels};
use super::rows::{Moments, concat, dot};
use crate::bijections::{FLOOR, N_HEADS, block_of};

/// The weights of all couplings, one after another, in each of them scale before shift.
#[derive(Debug, Clone, Copy)]
pub(super) struct Couplings<'a, T> {
    pub(super) n_rows: usize,
    /// Of all blocks.
    pub(super) d_labels: usize,
    /// The labels of a block that a coupling keeps.
    pub(super) d_kept: usize,
    pub(super) d_hidden: usize,
    pub(super) max_log_scale: f64,
    /// The label that each coupling warps, counted over all blocks.
    pub(super) warped: &'a [usize],
    /// `[2 · n_couplings, d_kept, d_hidden]`
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
pub(super) struct Saved<T: Float> {
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

impl<T: Float> Drop for Saved<T> {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.second));
    }
}

impl<'a, T: Float> Couplings<'a, T> {
    /// The columns of the labels beside this one in its block.
    pub(super) fn kept_columns(&self, warped: usize) -> impl Iterator<Item = usize> + Clone + use<T> {
        block_of(warped, self.d_kept + 1).filter(move |&column| column != warped)
    }

    pub(super) fn head(&self, coupling: usize, head: usize) -> Head<'a, T> {
        let (h, d_kept) = (self.d_hidden, self.d_kept);
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
        let (mut first, mut second) = (Statistics::default(), Statistics::default());
        let mut couplings = Vec::with_capacity(n_couplings);
        let n_values = N_HEADS * self.n_rows * self.d_hidden;
        let mut seconds = take(n_couplings * n_values);
        let conditions = condition.chunks_exact(2 * n_values);
        for (index, (condition, values)) in conditions.zip(seconds.chunks_exact_mut(n_values)).enumerate() {
            let labels = (&mut labels[..], &mut log_det[..]);
            let saved = self.couple(index, condition, values, labels, &mut first);
            second.extend(&Statistics::of(&saved.second_moments));
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
        let kept = KeptLabels::new(labels, self.d_labels, self.kept_columns(warped));
        let (scale_second, shift_second) = second.split_at_mut(n_rows * h);
        let run = |head: usize, second: &mut [T]| {
            let part = |group: usize| &condition[group * n_rows * h..][..n_rows * h];
            let condition = [part(head), part(N_HEADS + head)];
            self.head(index, head).forward(&kept, condition, second)
        };
        let (scale, shift) = rayon::join(|| run(0, scale_second), || run(1, shift_second));
        [&scale, &shift].into_iter().for_each(|head| statistics.extend(&head.first));
        let (raw_scale, shifts) = (scale.outputs, shift.outputs);
        let (mut noise, limit) = (Vec::with_capacity(n_rows), T::from_f64(2.0 * self.max_log_scale));
        vectorized!({
            let rows = labels.chunks_exact_mut(self.d_labels).zip(log_det);
            for ((row, log_det), (&raw, &shift)) in rows.zip(raw_scale.iter().zip(&shifts)) {
                noise.push(row[warped]);
                let scale = Scale::new(raw, limit);
                row[warped] = scale.value.mul_add(row[warped], shift);
                *log_det += scale.value.ln();
            }
        });
        let second_moments = [scale.second_moments, shift.second_moments];
        SavedCoupling { second_moments, kept, noise, raw_scale }
    }

    /// Gradients of the noise, condition, first, scale, shift, second, merge and merge bias from those of the labels and log-determinants;
    /// the condition's memory becomes that of its gradient.
    ///
    /// # Shapes
    ///
    /// - gradient: `[n_rows, d_labels + 1]`
    pub(super) fn backward(&self, saved: Saved<T>, mut condition: Vec<T>, gradient: &[T]) -> [Vec<T>; 8] {
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
        let heads: Vec<HeadGradients<T>> = heads.into_iter().rev().flatten().collect();
        [
            of_labels,
            condition,
            concat(&heads, |head| &head.path.of_first),
            concat(&heads, |head| &head.path.of_scale),
            concat(&heads, |head| &head.before.sum),
            concat(&heads, |head| &head.before.of_second_weight),
            concat(&heads, |head| &head.after.of_merge),
            heads.iter().map(|head| head.after.of_merge_bias).collect(),
        ]
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
        let limit = T::from_f64(2.0 * self.max_log_scale);
        vectorized!({
            for (row, labels) in of_labels.chunks_exact_mut(self.d_labels).enumerate() {
                let scale = Scale::new(saved.raw_scale[row], limit);
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
        let mut rows =
            groups.zip(seconds).zip(&of_outputs).map(|(((log_gain, offset), (second, of_second)), of_outputs)| {
                HeadRows { log_gain, offset, second, of_second, of_outputs }
            });
        let (scale_rows, shift_rows) = rows.next().zip(rows.next()).expect("there are two heads");
        let run = |head: usize, rows: HeadRows<'_, T>| {
            let moments = &saved.second_moments[head];
            self.head(index, head).backward(&saved.kept, moments, rows)
        };
        let (scale, shift) = rayon::join(|| run(0, scale_rows), || run(1, shift_rows));
        let heads = [scale, shift];
        let columns = self.kept_columns(warped);
        vectorized!(add_to_kept(of_labels, self.d_labels, columns.clone(), &saved.kept, &heads));
        heads
    }
}

/// s = √(1e-6 + exp(2 m o / (1 + |o|))) and ds/do, where m is the largest logarithm of s.
pub(super) struct Scale<T> {
    pub(super) value: T,
    slope: T,
}

impl<T: Float> Scale<T> {
    #[inline(always)]
    pub(super) fn new(raw: T, twice_max_log_scale: T) -> Self {
        let shrink = (T::ONE + raw.abs()).recip();
        let exponential = (raw * shrink * twice_max_log_scale).exp();
        let value = (exponential + T::from_f64(FLOOR)).sqrt();
        Self { value, slope: twice_max_log_scale * exponential * shrink * shrink / (value + value) }
    }
}

/// Adds both heads' gradients of the kept labels.
#[inline(always)]
fn add_to_kept<T: Float>(
    of_labels: &mut [T],
    d_labels: usize,
    columns: impl Iterator<Item = usize> + Clone,
    kept: &KeptLabels<T>,
    heads: &[HeadGradients<T>; N_HEADS],
) {
    let d_kept = columns.clone().count();
    for (row, of_labels) in of_labels.chunks_exact_mut(d_labels).enumerate() {
        let range = row * d_kept..(row + 1) * d_kept;
        let centred = &kept.centred[range.clone()];
        for HeadGradients { path, before, .. } in heads {
            for ((label, &direct), column) in before.of_kept[range.clone()].iter().enumerate().zip(columns.clone()) {
                let through = dot(&path.of_centred[label * d_kept..][..d_kept], centred);
                of_labels[column] += direct - path.offset[label] - through;
            }
        }
    }
}
