//! Parallel work over rows whose result does not depend on the number of threads.
//!
//! Rows are cut into chunks of a size that only the data decide; each chunk is worked on by one thread, and what the
//! chunks yield is put together in their order.

use std::ops::Range;

use ndarray::Array2;
use rayon::prelude::*;

/// Large enough to hide the cost of handing out a chunk, small enough that a thousand rows keep two cores busy.
const MIN_ROWS: usize = 512;

/// Rows cut into chunks, to add up numbers over all of them.
///
/// ```
/// use labelflow_weak::numerics::RowChunks;
///
/// let values: Vec<f64> = (0..5000).map(f64::from).collect();
/// let chunks = RowChunks::new(values.len(), size_of::<f64>(), 1);
/// let sum = chunks.sum(|rows, sums| sums[0] += values[rows].iter().sum::<f64>());
/// assert_eq!(sum, [4999.0 * 2500.0]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RowChunks {
    n_rows: usize,
    rows_per_chunk: usize,
    n_sums: usize,
}

impl RowChunks {
    /// Chunks for `n_sums` sums over rows of `row_bytes` bytes: few enough that the sums of all chunks together take no
    /// more memory than the rows themselves.
    pub fn new(n_rows: usize, row_bytes: usize, n_sums: usize) -> Self {
        let rows_per_chunk = (n_sums * size_of::<f64>()).div_ceil(row_bytes.max(1));
        Self { n_rows, rows_per_chunk: rows_per_chunk.max(MIN_ROWS), n_sums }
    }

    /// The number of rows in each chunk but the last, which may have fewer.
    pub fn rows_per_chunk(self) -> usize {
        self.rows_per_chunk
    }

    /// The sums over all rows: `add_rows` adds the rows of a range to the sums of a chunk.
    pub fn sum(self, add_rows: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Vec<f64> {
        let n_chunks = self.n_rows.div_ceil(self.rows_per_chunk);
        self.add_up((0..n_chunks).into_par_iter().map(|chunk| {
            let start = chunk * self.rows_per_chunk;
            let mut sums = vec![0.0; self.n_sums];
            add_rows(start..(start + self.rows_per_chunk).min(self.n_rows), &mut sums);
            sums
        }))
    }

    /// The sums over all rows from those of each chunk, for work that also changes rows, chunk by chunk.
    pub fn add_up(self, of_chunks: impl IndexedParallelIterator<Item = Vec<f64>>) -> Vec<f64> {
        let of_chunks: Vec<Vec<f64>> = of_chunks.collect();
        let mut of_chunks = of_chunks.into_iter();
        let mut sums = of_chunks.next().unwrap_or_else(|| vec![0.0; self.n_sums]);
        for of_chunk in of_chunks {
            sums.iter_mut().zip(&of_chunk).for_each(|(sum, part)| *sum += part);
        }
        sums
    }
}

/// An array `[n_rows, width]` of zeros with each row filled by `fill(row, values)`.
pub(crate) fn fill_rows(n_rows: usize, width: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Array2<f64> {
    let mut values = vec![0.0; n_rows * width];
    if width > 0 {
        values.par_chunks_mut(width * MIN_ROWS).enumerate().for_each(|(chunk, rows)| {
            for (offset, row) in rows.chunks_exact_mut(width).enumerate() {
                fill(chunk * MIN_ROWS + offset, row);
            }
        });
    }
    Array2::from_shape_vec((n_rows, width), values).expect("n_rows × width values were allocated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_row_once() {
        for n_rows in [0, 1, MIN_ROWS, MIN_ROWS + 1, 5 * MIN_ROWS - 1] {
            let sum = RowChunks::new(n_rows, 1, 2).sum(|rows, sums| {
                for row in rows {
                    sums[0] += row as f64;
                    sums[1] += 1.0;
                }
            });
            assert_eq!(sum[1], n_rows as f64);
            assert_eq!(sum[0], (n_rows * n_rows.saturating_sub(1) / 2) as f64);
        }
    }

    #[test]
    fn rows_are_filled_in_order() {
        let filled = fill_rows(3 * MIN_ROWS / 2, 2, |row, values| values[1] = row as f64);
        assert!(filled.rows().into_iter().enumerate().all(|(row, values)| values[1] == row as f64));
    }
}
