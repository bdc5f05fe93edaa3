//! Sums over rows that do not depend on the number of threads: fixed chunks, added up in their order.

use std::ops::Range;

use rayon::prelude::*;

/// Small enough that a thousand rows keep two cores busy, large enough to be worth handing out.
pub(crate) const CHUNK_ROWS: usize = 512;

/// The sum over all rows of `sum_len` numbers: `add_rows` adds the rows of a range to a chunk's part of it.
pub(crate) fn sum_rows(
    n_rows: usize,
    sum_len: usize,
    add_rows: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Vec<f64> {
    let parts = (0..n_rows.div_ceil(CHUNK_ROWS)).into_par_iter().map(|chunk| {
        let start = chunk * CHUNK_ROWS;
        let mut part = vec![0.0; sum_len];
        add_rows(start..(start + CHUNK_ROWS).min(n_rows), &mut part);
        part
    });
    add_in_order(sum_len, parts)
}

/// The sum of what the chunks yield.
pub(crate) fn add_in_order(
    sum_len: usize,
    parts: impl IndexedParallelIterator<Item = Vec<f64>>,
) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = parts.collect();
    let mut sum = vec![0.0; sum_len];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sum
}
