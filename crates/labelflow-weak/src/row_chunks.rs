//! Parallel work over rows whose result does not depend on the number of threads.
//!
//! Rows are cut into chunks of a size that only the data decide; each chunk is worked on by one thread, and what the
//! chunks yield is put together in their order.

use std::ops::Range;

use ndarray::Array2;
use rayon::prelude::*;

/// Large enough to hide the cost of handing out a chunk, small enough that a few thousand rows use two cores.
const MIN_ROWS: usize = 1024;

/// `n_rows` rows cut into chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowChunks {
    n_rows: usize,
    rows_per_chunk: usize,
}

impl RowChunks {
    /// Chunks for a sum of `partial_len` numbers over rows of `row_bytes` bytes: few enough that the partial sums of
    /// all chunks together take no more memory than the rows themselves.
    pub(crate) fn new(n_rows: usize, row_bytes: usize, partial_len: usize) -> Self {
        let rows_per_chunk = (partial_len * size_of::<f64>()).div_ceil(row_bytes.max(1));
        Self { n_rows, rows_per_chunk: rows_per_chunk.max(MIN_ROWS) }
    }

    /// The sum over all rows: `add_rows` adds the rows of a range to a chunk's partial sum.
    pub(crate) fn sum(
        self,
        partial_len: usize,
        add_rows: impl Fn(Range<usize>, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let n_chunks = self.n_rows.div_ceil(self.rows_per_chunk);
        let partials: Vec<Vec<f64>> = (0..n_chunks)
            .into_par_iter()
            .map(|chunk| {
                let start = chunk * self.rows_per_chunk;
                let mut partial = vec![0.0; partial_len];
                add_rows(start..(start + self.rows_per_chunk).min(self.n_rows), &mut partial);
                partial
            })
            .collect();
        let mut partials = partials.into_iter();
        let mut sum = partials.next().unwrap_or_else(|| vec![0.0; partial_len]);
        for partial in partials {
            sum.iter_mut().zip(&partial).for_each(|(sum, partial)| *sum += partial);
        }
        sum
    }
}

/// An array `[n_rows, width]` of zeros with each row filled by `fill(row, values)`.
pub(crate) fn fill_rows(
    n_rows: usize,
    width: usize,
    fill: impl Fn(usize, &mut [f64]) + Sync,
) -> Array2<f64> {
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
            let sum = RowChunks::new(n_rows, 1, 2).sum(2, |rows, partial| {
                for row in rows {
                    partial[0] += row as f64;
                    partial[1] += 1.0;
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
