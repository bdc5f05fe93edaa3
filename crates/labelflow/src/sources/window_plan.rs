//! How many rows of a source are in memory at once: those of a step, and those of a window.

use std::ops::Range;

use rand::seq::SliceRandom;

use crate::sources::{Demands, RowLayout};
use crate::training::{BatchSize, stream};
use crate::{Error, Result};

/// A window is put together from this many blocks, so that the rows that are in memory together change from epoch to epoch.
const BLOCKS_PER_WINDOW: u64 = 32;
/// Smaller blocks are not worth the reading.
const LEAST_BLOCK_ROWS: u64 = 32;
/// What activations may take of the memory when the rows of a step are not given.
const SHARE_OF_BATCH: u64 = 3;
/// Fewer rows of a step than this make batch statistics that say little.
const LEAST_BATCH_ROWS: u64 = 256;
/// More activations than this gain nothing.
const MOST_BATCH_BYTES: u64 = 1 << 30;
/// What rows that are being dealt out may take of the memory.
const SHARE_OF_CHUNK: u64 = 2;
/// What the places of blocks may take of the memory.
const SHARE_OF_PLACES: u64 = 16;

/// Rows of steps, windows and blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WindowPlan {
    /// The most rows of a step.
    pub(crate) batch_rows: usize,
    /// One means that all rows are in memory.
    pub(crate) n_windows: usize,
    blocks_per_window: usize,
    /// Rows that are dealt out at a time.
    pub(crate) chunk_rows: usize,
}

impl WindowPlan {
    /// Of `n_rows` rows, each of which takes `step_bytes` of activations in a step, so that training takes no more memory than it may.
    pub(crate) fn new(
        n_rows: u64,
        layout: &RowLayout,
        step_bytes: u64,
        batch_size: BatchSize,
        &Demands { memory, d_labels, constraint_bytes, .. }: &Demands,
    ) -> Result<Self> {
        // Features as they are read, scaled, and as a tensor; signals as they are read; labels and noise in several forms.
        let (d_features, of_signals) = (layout.d_features as u64, layout.signal_bytes() as u64);
        let of_row = 12 * d_features + of_signals + constraint_bytes + 48 * d_labels as u64 + 32;
        let rows = match batch_size {
            BatchSize::Rows(rows) => rows as u64,
            BatchSize::Auto => {
                let bytes = (memory / SHARE_OF_BATCH).min(MOST_BATCH_BYTES);
                (bytes / step_bytes).max(LEAST_BATCH_ROWS)
            }
            BatchSize::Full => {
                let expected = "auto or a number of rows, for rows that are read in parts";
                return Err(Error::config("batch_size", expected, "full"));
            }
        };
        let batch_rows = rows.clamp(2, n_rows);
        let window_rows = memory.saturating_sub(batch_rows * step_bytes) / of_row;
        if window_rows < batch_rows {
            let needed = batch_rows * (step_bytes + of_row) / 1_000_000 + 1;
            let expected = format!("{needed} MB beside what reading takes, for batches of {batch_rows} rows");
            return Err(Error::config("memory", expected, format!("{} MB", memory / 1_000_000)));
        }
        let chunk_rows = memory / SHARE_OF_CHUNK / (layout.bytes() as u64 + 8);
        let chunk_rows = chunk_rows.clamp(1, n_rows.min(u32::MAX.into()));
        let plan = |n_windows: u64, blocks_per_window: u64| Self {
            batch_rows: batch_rows as usize,
            n_windows: n_windows as usize,
            blocks_per_window: blocks_per_window as usize,
            chunk_rows: chunk_rows as usize,
        };
        if window_rows >= n_rows {
            return Ok(plan(1, 1));
        }
        // Whole batches: a rest would make a step more of each window, and training would travel farther than planned.
        let window_rows = window_rows - window_rows % batch_rows;
        let n_windows = |per_window: u64| {
            // Blocks differ by one row.
            let most_rows = window_rows.saturating_sub(per_window).max(1);
            n_rows.div_ceil(most_rows).clamp(1, (n_rows / 2).max(1))
        };
        let per_window = (window_rows / LEAST_BLOCK_ROWS).clamp(1, BLOCKS_PER_WINDOW);
        let of_places = 4 * n_rows.div_ceil(chunk_rows) * n_windows(per_window);
        let per_window = per_window.min((memory / SHARE_OF_PLACES / of_places).max(1));
        Ok(plan(n_windows(per_window), per_window))
    }

    /// Number of blocks.
    pub(crate) fn n_blocks(&self) -> usize {
        self.n_windows * self.blocks_per_window
    }

    /// The blocks of each window, anew for every number.
    pub(crate) fn windows(&self, seed: u64, number: u64) -> Vec<Vec<usize>> {
        let mut blocks: Vec<usize> = (0..self.n_blocks()).collect();
        blocks.shuffle(&mut stream(seed, "windows", number));
        blocks.chunks_exact(self.blocks_per_window).map(<[usize]>::to_vec).collect()
    }
}

/// Where each block lies in its window.
pub(crate) fn places(blocks: &[usize], n_rows_of: impl Fn(usize) -> usize) -> Vec<(usize, Range<usize>)> {
    let mut start = 0;
    let place = |&block: &usize| {
        let rows = start..start + n_rows_of(block);
        start = rows.end;
        (block, rows)
    };
    blocks.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::SignalForm;

    const LAYOUT: RowLayout = RowLayout { d_features: 4, n_signals: 3, n_classes: 2, form: SignalForm::Votes };
    const STEP_BYTES: u64 = 1000;
    /// 12 · 4 + 3 + 48 + 48 · 2 + 32
    const OF_ROW: u64 = 227;

    fn plan(n_rows: u64, batch_size: BatchSize, memory: u64) -> Result<WindowPlan> {
        let demands = Demands { memory, d_labels: 2, constraint_bytes: 48, beside_settings: String::new() };
        WindowPlan::new(n_rows, &LAYOUT, STEP_BYTES, batch_size, &demands)
    }

    #[test]
    fn windows_are_as_large_as_the_memory_allows_and_no_larger() {
        let batch = BatchSize::Rows(100);
        let memory = |window_rows: u64| 100 * STEP_BYTES + window_rows * OF_ROW;
        for (n_rows, window_rows, n_windows) in
            [(1000, 1000, 1), (1000, 5000, 1), (1000, 999, 2), (1000, 550, 3), (100_000, 3299, 32)]
        {
            let plan = plan(n_rows, batch, memory(window_rows)).unwrap();
            assert_eq!((plan.batch_rows, plan.n_windows), (100, n_windows), "{n_rows}");
            let most = n_rows.div_ceil(plan.n_blocks() as u64) * plan.blocks_per_window as u64;
            assert!(most <= window_rows || n_windows == 1, "{most} rows of {window_rows}");
        }
        assert!(plan(1000, batch, memory(99)).is_err());
        assert!(plan(1000, BatchSize::Full, memory(99)).is_err());
        assert_eq!(plan(1000, BatchSize::Auto, 3_000_000).unwrap().batch_rows, 1000);
        assert_eq!(plan(10_000, BatchSize::Auto, 3_000_000).unwrap().batch_rows, 1000);
    }

    #[test]
    fn every_epoch_has_every_block_once_in_other_windows() {
        let plan = plan(5000, BatchSize::Rows(64), 64 * 1000 + 700 * OF_ROW).unwrap();
        let windows = plan.windows(1, 2);
        assert_eq!(windows.len(), plan.n_windows);
        let mut blocks = windows.concat();
        blocks.sort_unstable();
        assert_eq!(blocks, (0..plan.n_blocks()).collect::<Vec<_>>());
        assert_eq!(windows, plan.windows(1, 2));
        assert_ne!(windows, plan.windows(1, 3));
        assert_eq!(places(&[4, 1], |block| block), [(4, 0..4), (1, 4..5)]);
    }
}
