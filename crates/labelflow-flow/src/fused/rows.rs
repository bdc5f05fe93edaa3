//! Passes over tiles of rows: what happens between matrix products.
//!
//! A tile is a few rows of one group's channels, small enough for the nearest caches. Functions that end in a loop over channels are
//! compiled for the best instructions of the machine they run on: call them inside [`vectorized!`].

use super::float::Float;

/// Rows of a tile: 64 channels of so many rows are 32 KB of f32.
const TILE_ROWS: usize = 128;
/// The rows are cut into at most this many parts for threads to share. What is added up over rows is added up part by part and then
/// over the parts in order, so that results do not depend on the number of threads.
const MAX_PARTS: usize = 32;
/// Parts of fewer rows are not worth a hand-over between threads.
const MIN_PART_ROWS: usize = 256;

/// The rows of each part, but for the last one, which may have fewer.
pub(super) fn part_rows(n_rows: usize) -> usize {
    n_rows.div_ceil(MAX_PARTS).max(MIN_PART_ROWS)
}

/// Runs `work` on a thread of the pool, where many short parallel passes follow each other without waking threads for each.
pub(super) fn in_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::join(work, || ()).0
}

/// The number of values of a tile.
pub(super) fn tile_len(n_rows: usize, d_hidden: usize) -> usize {
    TILE_ROWS.min(n_rows) * d_hidden
}

/// A part of each of several gradients, one after another.
pub(super) fn concat<S, T: Copy>(all: &[S], part: fn(&S) -> &[T]) -> Vec<T> {
    all.iter().map(part).collect::<Vec<_>>().concat()
}

/// sum[j] += Σ_rows values[row][j]
#[inline(always)]
pub(super) fn add_rows<T: Float>(sum: &mut [T], values: &[T]) {
    for row in values.chunks_exact(sum.len()) {
        for (sum, &value) in sum.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

/// values[j] += factor · other[j]
#[inline(always)]
pub(super) fn add_scaled<T: Float>(values: &mut [T], factor: T, other: &[T]) {
    for (value, &other) in values.iter_mut().zip(other) {
        *value = factor.mul_add(other, *value);
    }
}

/// Σ_j a[j] · b[j], in as many lanes as keep wide registers busy.
#[inline(always)]
pub(super) fn dot<T: Float>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 16;
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: T = a.remainder().iter().zip(b.remainder()).map(|(&a, &b)| a * b).sum();
    let mut lanes = [T::ZERO; LANES];
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            lanes[lane] = a[lane].mul_add(b[lane], lanes[lane]);
        }
    }
    let lanes: [T; 8] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 8]);
    let lanes: [T; 4] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 4]);
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + rest
}

/// Mean and summed squared deviations of each channel, gathered tile by tile.
///
/// Tiles are joined with the formula for the moments of a union, which loses no digits, however far the mean is from zero.
#[derive(Debug, Clone)]
pub(super) struct Moments<T> {
    n_rows: usize,
    pub(super) mean: Vec<T>,
    squares: Vec<T>,
}

impl<T: Float> Moments<T> {
    pub(super) fn new(d_channels: usize) -> Self {
        Self { n_rows: 0, mean: vec![T::ZERO; d_channels], squares: vec![T::ZERO; d_channels] }
    }

    /// Adds the rows of a tile.
    #[inline(always)]
    pub(super) fn add_tile(&mut self, tile: &[T]) {
        let d_channels = self.mean.len();
        let mut other = Self::new(d_channels);
        other.n_rows = tile.len() / d_channels;
        add_rows(&mut other.mean, tile);
        let share = T::from_f64(1.0 / other.n_rows as f64);
        for mean in &mut other.mean {
            *mean = *mean * share;
        }
        for row in tile.chunks_exact(d_channels) {
            for ((square, &mean), &value) in other.squares.iter_mut().zip(&other.mean).zip(row) {
                let deviation = value - mean;
                *square = deviation.mul_add(deviation, *square);
            }
        }
        self.join(&other);
    }

    /// Adds the rows that `other` has seen.
    #[inline(always)]
    pub(super) fn join(&mut self, other: &Self) {
        let n_rows = self.n_rows + other.n_rows;
        let share = T::from_f64(other.n_rows as f64 / n_rows as f64);
        let weight = T::from_f64(self.n_rows as f64 * other.n_rows as f64 / n_rows as f64);
        for channel in 0..self.mean.len() {
            let difference = other.mean[channel] - self.mean[channel];
            self.mean[channel] = difference.mul_add(share, self.mean[channel]);
            self.squares[channel] += (difference * difference).mul_add(weight, other.squares[channel]);
        }
        self.n_rows = n_rows;
    }

    /// Of all parts in order.
    pub(super) fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        let join = |mut all: Self, part: Self| {
            all.join(&part);
            all
        };
        parts.into_iter().reduce(join).expect("there are rows")
    }

    /// 1 / √(variance + ε) of each channel.
    pub(super) fn factors(&self) -> Vec<T> {
        let n_rows = T::from_f64(self.n_rows as f64);
        self.squares.iter().map(|&square| normalizer(square / n_rows)).collect()
    }

    /// What running statistics follow.
    pub(super) fn unbiased_variance(&self) -> impl Iterator<Item = T> {
        let n_rows = T::from_f64(self.n_rows.saturating_sub(1).max(1) as f64);
        self.squares.iter().map(move |&square| square / n_rows)
    }
}

/// The way back through a normalisation, dx = factor · (dx̂ − mean(dx̂) − (x − mean) · factor² · mean(dx̂ · (x − mean))), as a linear map
/// of dx̂ and x.
#[derive(Debug)]
pub(super) struct BackwardNormalization<T> {
    of_gradient: Vec<T>,
    of_value: Vec<T>,
    offset: Vec<T>,
}

impl<T: Float> BackwardNormalization<T> {
    /// From Σ dx̂ and Σ dx̂ · (x − mean) over the rows.
    pub(super) fn new(moments: &Moments<T>, sums: &[T], products: &[T]) -> Self {
        let share = T::from_f64(1.0 / moments.n_rows as f64);
        let mut map = Self { of_gradient: moments.factors(), of_value: Vec::new(), offset: Vec::new() };
        for (channel, &factor) in map.of_gradient.iter().enumerate() {
            let of_value = -factor * factor * factor * products[channel] * share;
            map.of_value.push(of_value);
            map.offset.push(-factor * sums[channel] * share - of_value * moments.mean[channel]);
        }
        map
    }

    /// With an affine part after the normalisation: sums, products and gradients are of its results.
    pub(super) fn scaled(mut self, scale: &[T]) -> Self {
        for (channel, &scale) in scale.iter().enumerate() {
            self.of_gradient[channel] = self.of_gradient[channel] * scale;
            self.of_value[channel] = self.of_value[channel] * scale;
            self.offset[channel] = self.offset[channel] * scale;
        }
        self
    }

    #[inline(always)]
    pub(super) fn apply(&self, values: &[T], gradient: &mut [T]) {
        let d_channels = self.offset.len();
        let rows = gradient.chunks_exact_mut(d_channels).zip(values.chunks_exact(d_channels));
        for (gradient, value) in rows {
            let map = self.of_gradient.iter().zip(&self.of_value).zip(&self.offset);
            for ((gradient, &value), ((&of_gradient, &of_value), &offset)) in gradient.iter_mut().zip(value).zip(map) {
                *gradient = gradient.mul_add(of_gradient, value.mul_add(of_value, offset));
            }
        }
    }
}

/// 1 / √(variance + ε)
#[inline(always)]
pub(super) fn normalizer<T: Float>(variance: T) -> T {
    (variance + T::from_f64(crate::layers::EPSILON)).sqrt().recip()
}

/// hidden = SiLU(rows · slopes + offsets)
///
/// # Shapes
///
/// - rows: `[n, m]`, slopes: `[m, d_hidden]`, offsets: `[d_hidden]`, hidden: `[n, d_hidden]`
#[inline(always)]
pub(super) fn hidden_layer<T: Float>(hidden: &mut [T], rows: &[T], slopes: &[T], offsets: &[T]) {
    let d_hidden = offsets.len();
    let m = slopes.len() / d_hidden;
    for (hidden, row) in hidden.chunks_exact_mut(d_hidden).zip(rows.chunks_exact(m)) {
        linear_row(hidden, row, slopes, offsets);
        for value in hidden {
            *value = value.silu();
        }
    }
}

/// Like [`hidden_layer`], with the derivative of SiLU as well.
#[inline(always)]
pub(super) fn hidden_layer_with_slope<T: Float>(
    hidden: &mut [T],
    slope: &mut [T],
    rows: &[T],
    slopes: &[T],
    offsets: &[T],
) {
    let d_hidden = offsets.len();
    let m = slopes.len() / d_hidden;
    let tiles = hidden.chunks_exact_mut(d_hidden).zip(slope.chunks_exact_mut(d_hidden));
    for ((hidden, slope), row) in tiles.zip(rows.chunks_exact(m)) {
        linear_row(hidden, row, slopes, offsets);
        for (value, slope) in hidden.iter_mut().zip(slope) {
            (*value, *slope) = value.silu_with_slope();
        }
    }
}

#[inline(always)]
fn linear_row<T: Float>(output: &mut [T], row: &[T], slopes: &[T], offsets: &[T]) {
    output.copy_from_slice(offsets);
    for (&value, slopes) in row.iter().zip(slopes.chunks_exact(output.len())) {
        add_scaled(output, value, slopes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_joined_parts_are_those_of_all_rows() {
        let values: Vec<f64> = (0..23 * 2).map(|i| f64::from(i * i % 17) + 1e6).collect();
        let mut parts = Vec::new();
        for part in values.chunks(2 * 9) {
            let mut moments = Moments::new(2);
            part.chunks(2 * 4).for_each(|tile| moments.add_tile(tile));
            parts.push(moments);
        }
        let all = Moments::joined(parts);
        let unbiased: Vec<f64> = all.unbiased_variance().collect();
        for (channel, &unbiased) in unbiased.iter().enumerate() {
            let column: Vec<f64> = values.iter().skip(channel).step_by(2).copied().collect();
            let mean = column.iter().sum::<f64>() / 23.0;
            let squares: f64 = column.iter().map(|value| (value - mean).powi(2)).sum();
            assert!((all.mean[channel] - mean).abs() < 1e-8);
            assert!((unbiased - squares / 22.0).abs() < 1e-8);
            assert!((all.factors()[channel] - (squares / 23.0 + 1e-5).sqrt().recip()).abs() < 1e-9);
        }
    }

    #[test]
    fn dot_products_of_any_length() {
        for n in [0, 1, 15, 16, 17, 64, 71] {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let expected: f64 = a.iter().map(|a| a * a).sum();
            assert_eq!(dot(&a, &a), expected);
        }
    }
}
