//! All rows of a source on disk, dealt out at random to blocks.
//!
//! Rows of a source may be in some order; those of a block are a random draw from all of them, without replacement:
//!
//! ```text
//! P(next row → block b) = n_b / Σ n,   n_b: the rows that block b still lacks
//! ```
//!
//! so that every way to deal the rows out to blocks of these sizes is as likely as every other, and one pass in bounded memory is enough.
//! Rows are written chunk by chunk, those of a chunk sorted by block: a block is one run of rows in each chunk.
//!
//! The file has no name: the system removes it when it is closed, however the process ends.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rand::{Rng, RngExt};

use crate::sources::{GatheredRows, RowBytes, RowSource, SourceRows};
use crate::{Error, Result};

const WRITING: &str = "writing rows in random order";

/// Blocks of rows on disk.
pub(crate) struct DealtRows {
    file: File,
    /// The folder that it is in, for errors.
    folder: PathBuf,
    form: RowBytes,
    chunks: Vec<Chunk>,
    sizes: Vec<u64>,
}

/// Some rows of a file, sorted by block.
struct Chunk {
    /// The number of rows before it.
    first_row: u64,
    /// The first row of each block, counted from the first of the chunk, and the number of its rows.
    starts: Vec<u32>,
}

impl DealtRows {
    /// Reads all rows of a source and writes them into a folder, `chunk_rows` at a time.
    pub(crate) fn deal(
        source: &dyn RowSource,
        form: RowBytes,
        n_blocks: usize,
        chunk_rows: usize,
        rng: &mut impl Rng,
        folder: &Path,
    ) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(Error::io(folder, WRITING))?;
        let sizes = block_sizes(source.n_rows(), n_blocks);
        let mut dealer = Dealer::new(&sizes);
        let mut dealt = Self { file, folder: folder.to_owned(), form, chunks: Vec::new(), sizes };
        let mut bytes = Vec::with_capacity(chunk_rows * form.len());
        let mut blocks = Vec::with_capacity(chunk_rows);
        source.visit(&mut |rows| {
            for row in 0..form.layout.check(&rows)? {
                let Some(block) = dealer.next(rng) else {
                    return Err(changed(source.n_rows(), "more"));
                };
                form.write(&rows, row, &mut bytes);
                blocks.push(block);
                if blocks.len() == chunk_rows {
                    dealt.write_chunk(&bytes, &blocks)?;
                    bytes.clear();
                    blocks.clear();
                }
            }
            Ok(())
        })?;
        if dealer.next(rng).is_some() {
            return Err(changed(source.n_rows(), "fewer"));
        }
        if !blocks.is_empty() {
            dealt.write_chunk(&bytes, &blocks)?;
        }
        Ok(dealt)
    }

    /// Writes rows, sorted by block, of which the bytes and the blocks are given.
    fn write_chunk(&mut self, bytes: &[u8], blocks: &[u32]) -> Result<()> {
        let mut sorted: Vec<u32> = (0..blocks.len() as u32).collect();
        sorted.sort_by_key(|&row| blocks[row as usize]);
        let start = |block: u32| sorted.partition_point(|&row| blocks[row as usize] < block) as u32;
        let starts: Vec<u32> = (0..=self.sizes.len() as u32).map(start).collect();
        let width = self.form.len();
        let mut writer = BufWriter::new(&self.file);
        let written = sorted
            .iter()
            .try_for_each(|&row| writer.write_all(&bytes[row as usize * width..][..width]))
            .and_then(|()| writer.flush());
        drop(writer);
        written.map_err(Error::io(&self.folder, WRITING))?;
        let end = |chunk: &Chunk| chunk.first_row + u64::from(chunk.starts[self.sizes.len()]);
        self.chunks.push(Chunk { first_row: self.chunks.last().map_or(0, end), starts });
        Ok(())
    }

    /// Number of rows of a block.
    pub(crate) fn n_rows_of(&self, block: usize) -> usize {
        self.sizes[block] as usize
    }

    /// The rows of blocks, one block after the other.
    pub(crate) fn read(&self, blocks: &[usize]) -> Result<SourceRows> {
        let width = self.form.len();
        let n_rows: usize = blocks.iter().map(|&block| self.n_rows_of(block)).sum();
        let mut rows = GatheredRows::new(self.form.layout, n_rows);
        let mut bytes = Vec::new();
        let mut file = &self.file;
        for &block in blocks {
            for chunk in &self.chunks {
                let (start, end) = (chunk.starts[block], chunk.starts[block + 1]);
                bytes.resize((end - start) as usize * width, 0);
                let place = (chunk.first_row + u64::from(start)) * width as u64;
                file.seek(SeekFrom::Start(place))
                    .and_then(|_| file.read_exact(&mut bytes))
                    .map_err(Error::io(&self.folder, "reading rows in random order"))?;
                rows.push_bytes(self.form, &bytes);
            }
        }
        Ok(rows.finish())
    }
}

fn changed(n_rows: u64, found: &str) -> Error {
    Error::data("rows", format!("{n_rows} as before"), found)
}

/// Nearly equal numbers that add up to `n_rows`.
fn block_sizes(n_rows: u64, n_blocks: usize) -> Vec<u64> {
    // Rows times blocks may exceed 64 bits.
    let start = |block: usize| (block as u128 * u128::from(n_rows) / n_blocks as u128) as u64;
    (0..n_blocks).map(|block| start(block + 1) - start(block)).collect()
}

/// Draws a block for each row. A tree of sums finds it: node i holds what blocks i − (i & −i) + 1 to i lack, counted from 1.
struct Dealer {
    sums: Vec<u64>,
    left: u64,
}

impl Dealer {
    fn new(sizes: &[u64]) -> Self {
        let mut sums = vec![0; sizes.len() + 1];
        for (block, &size) in sizes.iter().enumerate() {
            let mut node = block + 1;
            while node < sums.len() {
                sums[node] += size;
                node += node & node.wrapping_neg();
            }
        }
        Self { sums, left: sizes.iter().sum() }
    }

    /// The block of the next row; none once all blocks are full.
    fn next(&mut self, rng: &mut impl Rng) -> Option<u32> {
        if self.left == 0 {
            return None;
        }
        let mut place = rng.random_range(0..self.left);
        self.left -= 1;
        let mut node = 0;
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            let next = node + step;
            if next < self.sums.len() {
                if self.sums[next] <= place {
                    place -= self.sums[next];
                    node = next;
                } else {
                    // The block is below this node, which has one row less to come.
                    self.sums[next] -= 1;
                }
            }
            step /= 2;
        }
        Some(node as u32)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;
    use crate::sources::{RowLayout, RowSignals, SignalForm};
    use crate::training::stream;

    /// One feature, the number of the row, and one vote.
    struct Numbered {
        n_rows: u64,
        names: [String; 1],
    }

    impl Numbered {
        fn new(n_rows: u64) -> Self {
            Self { n_rows, names: ["x".to_owned()] }
        }
    }

    impl RowSource for Numbered {
        fn n_rows(&self) -> u64 {
            self.n_rows
        }

        fn feature_names(&self) -> &[String] {
            &self.names
        }

        fn signal_form(&self) -> SignalForm {
            SignalForm::Votes
        }

        fn labelers(&self) -> &[String] {
            &self.names
        }

        fn classes(&self) -> &[String] {
            &[]
        }

        fn visit(&self, visit: &mut dyn FnMut(SourceRows) -> Result<()>) -> Result<()> {
            let rows = Array2::from_shape_fn((self.n_rows as usize, 1), |(row, _)| row as f64);
            for start in (0..rows.nrows()).step_by(7) {
                let features = rows.slice(s![start..(start + 7).min(rows.nrows()), ..]).to_owned();
                let signals = RowSignals::Votes(features.mapv(|row| row as u8 % 3));
                visit(SourceRows { features, signals })?;
            }
            Ok(())
        }
    }

    fn form_of(source: &dyn RowSource) -> RowBytes {
        RowBytes { layout: RowLayout::of(source), is_single: true }
    }

    fn blocks(n_rows: u64, n_blocks: usize, chunk_rows: usize, seed: u64) -> Vec<Vec<u32>> {
        let folder = tempfile::tempdir().unwrap();
        let rng = &mut stream(seed, "test", 0);
        let source = Numbered::new(n_rows);
        let dealt = DealtRows::deal(&source, form_of(&source), n_blocks, chunk_rows, rng, folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        let read = |block: usize| {
            let rows = dealt.read(&[block]).unwrap();
            let votes = rows.features.mapv(|row| row as u8 % 3);
            assert_eq!(rows.signals, RowSignals::Votes(votes));
            rows.features.iter().map(|&row| row as u32).collect()
        };
        let blocks: Vec<Vec<u32>> = (0..n_blocks).map(read).collect();
        let pair = dealt.read(&[n_blocks - 1, 0]).unwrap();
        let pair: Vec<u32> = pair.features.iter().map(|&row| row as u32).collect();
        assert_eq!(pair, [blocks[n_blocks - 1].clone(), blocks[0].clone()].concat());
        blocks
    }

    #[test]
    fn every_row_is_in_one_block_of_its_size() {
        for (n_rows, n_blocks, chunk_rows) in [(100, 7, 16), (5, 5, 1), (64, 1, 64), (50, 8, 1000)] {
            let blocks = blocks(n_rows, n_blocks, chunk_rows, 1);
            let sizes: Vec<usize> = blocks.iter().map(Vec::len).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
            let mut rows = blocks.concat();
            rows.sort_unstable();
            assert_eq!(rows, (0..n_rows as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn chunks_do_not_change_the_blocks_but_the_seed_does() {
        assert_eq!(blocks(60, 4, 60, 3), blocks(60, 4, 9, 3));
        assert_ne!(blocks(60, 4, 60, 3), blocks(60, 4, 60, 4));
    }

    /// Of 6 rows in 3 blocks, each two are in one block with probability 1/5, wherever they were.
    #[test]
    fn all_ways_to_deal_are_as_likely() {
        const N_TRIALS: u64 = 3000;
        let mut together = [[0u32; 6]; 6];
        for seed in 0..N_TRIALS {
            let sizes = block_sizes(6, 3);
            let mut dealer = Dealer::new(&sizes);
            let rng = &mut stream(seed, "test", 0);
            let blocks: Vec<u32> = std::iter::from_fn(|| dealer.next(rng)).collect();
            assert_eq!(blocks.len(), 6);
            for one in 0..6 {
                (0..6).filter(|&other| blocks[one] == blocks[other]).for_each(|other| {
                    together[one][other] += 1;
                });
            }
        }
        for (one, others) in together.iter().enumerate() {
            for (other, &n_together) in others.iter().enumerate().filter(|(other, _)| *other != one) {
                let share = f64::from(n_together) / N_TRIALS as f64;
                // Five standard deviations.
                assert!((share - 0.2).abs() < 0.0366, "rows {one} and {other}: {share}");
            }
        }
    }
}
