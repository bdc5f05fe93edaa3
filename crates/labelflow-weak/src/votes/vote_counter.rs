//! Distinct rows of votes counted as they come, in memory that is known beforehand.
//!
//! ```text
//! one pattern: n_signals + 8 bytes in a block that never moves, and 2 to 4 places in the table that finds it
//! ```

use std::hash::{BuildHasher, RandomState};

use crate::votes::CountedVotes;

/// Patterns in a block. Blocks are never copied, so that growing costs no second copy of what is there.
const BLOCK: usize = 1 << 12;
/// Places in the smallest table.
const MIN_PLACES: usize = 1 << 10;
const EMPTY: usize = usize::MAX;

/// Counts distinct rows of bytes: votes, or whatever else is one byte per labeler.
///
/// ```
/// use labelflow_weak::votes::VoteCounter;
///
/// let mut counter = VoteCounter::new(2);
/// for row in [[0, 1], [1, 1], [0, 1]] {
///     counter.add(&row, 1);
/// }
/// assert_eq!((counter.n_patterns(), counter.n_rows()), (2, 3));
/// assert_eq!(counter.find(&[0, 1]), Some(0));
/// ```
#[derive(Debug, Clone)]
pub struct VoteCounter {
    n_signals: usize,
    n_patterns: usize,
    blocks: Vec<Block>,
    /// For each place of the table the index of its pattern, or [`EMPTY`]. At most half of the places are taken.
    places: Vec<usize>,
    // Random, so that nobody can write a file whose rows all fall on the same place. Results do not depend on it.
    hasher: RandomState,
}

#[derive(Debug, Clone)]
struct Block {
    bytes: Vec<u8>,
    counts: Vec<u64>,
}

impl VoteCounter {
    /// Nothing counted yet, for rows of `n_signals` bytes.
    pub fn new(n_signals: usize) -> Self {
        Self {
            n_signals,
            n_patterns: 0,
            blocks: Vec::new(),
            places: vec![EMPTY; MIN_PLACES],
            hasher: RandomState::new(),
        }
    }

    /// The patterns of counted votes, numbered in their order.
    pub fn of(counted: &CountedVotes) -> Self {
        let mut counter = Self::new(counted.n_signals());
        counter.extend(counted.iter());
        counter
    }

    /// The most bytes that one pattern takes.
    pub fn bytes_per_pattern(n_signals: usize) -> usize {
        n_signals + size_of::<u64>() + 4 * size_of::<usize>()
    }

    /// Adds `count` rows with these bytes and returns the index of their pattern; patterns are numbered as they come.
    ///
    /// # Panics
    ///
    /// If the row has not as many bytes as the counter was made for.
    pub fn add(&mut self, row: &[u8], count: u64) -> usize {
        assert_eq!(row.len(), self.n_signals, "one byte per labeler");
        let place = self.place(row);
        let index = match self.places[place] {
            EMPTY => self.push(row, place),
            index => index,
        };
        self.blocks[index / BLOCK].counts[index % BLOCK] += count;
        index
    }

    /// Adds all that another counter has counted.
    ///
    /// # Panics
    ///
    /// If it was made for rows of another length.
    pub fn merge(&mut self, other: &Self) {
        self.extend(other.iter());
    }

    /// Adds all of these rows with their counts.
    pub(crate) fn extend<R: AsRef<[u8]>>(&mut self, rows: impl Iterator<Item = (R, u64)>) {
        for (row, count) in rows {
            self.add(row.as_ref(), count);
        }
    }

    /// The index of the pattern with these bytes, if it was counted.
    pub fn find(&self, row: &[u8]) -> Option<usize> {
        let index = self.places[self.place(row)];
        (index != EMPTY).then_some(index)
    }

    /// Number of distinct rows.
    pub fn n_patterns(&self) -> usize {
        self.n_patterns
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// Number of bytes in a row.
    pub fn n_signals(&self) -> usize {
        self.n_signals
    }

    /// Patterns with their counts, in the order in which they came first.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        (0..self.n_patterns).map(|index| (self.row(index), self.count(index)))
    }

    /// The indices of the patterns in ascending order of their bytes.
    pub(crate) fn sorted(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.n_patterns).collect();
        order.sort_unstable_by(|&a, &b| self.row(a).cmp(self.row(b)));
        order
    }

    pub(crate) fn row(&self, index: usize) -> &[u8] {
        &self.blocks[index / BLOCK].bytes[index % BLOCK * self.n_signals..][..self.n_signals]
    }

    pub(crate) fn count(&self, index: usize) -> u64 {
        self.blocks[index / BLOCK].counts[index % BLOCK]
    }

    /// The place in the table where the row is, or where it belongs.
    fn place(&self, row: &[u8]) -> usize {
        let last = self.places.len() - 1;
        let mut place = self.hasher.hash_one(row) as usize & last;
        while self.places[place] != EMPTY && self.row(self.places[place]) != row {
            place = (place + 1) & last;
        }
        place
    }

    fn push(&mut self, row: &[u8], place: usize) -> usize {
        let index = self.n_patterns;
        if index.is_multiple_of(BLOCK) {
            self.blocks
                .push(Block { bytes: Vec::with_capacity(BLOCK * self.n_signals), counts: Vec::with_capacity(BLOCK) });
        }
        let block = &mut self.blocks[index / BLOCK];
        block.bytes.extend_from_slice(row);
        block.counts.push(0);
        self.places[place] = index;
        self.n_patterns += 1;
        if 2 * self.n_patterns > self.places.len() {
            self.grow();
        }
        index
    }

    /// A table of twice the size. The old one is freed first: the rows themselves say where they belong.
    fn grow(&mut self) {
        let n_places = 2 * self.places.len();
        self.places = Vec::new();
        self.places = vec![EMPTY; n_places];
        for index in 0..self.n_patterns {
            let place = self.place(self.row(index));
            self.places[place] = index;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn many_rows_are_counted_as_a_map_counts_them() {
        let mut counter = VoteCounter::new(3);
        let mut expected: BTreeMap<[u8; 3], u64> = BTreeMap::new();
        for index in 0..40_000u64 {
            let mixed = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let row = [(mixed % 40) as u8, (mixed / 40 % 40) as u8, (mixed / 1600 % 7) as u8];
            *expected.entry(row).or_default() += index % 3;
            counter.add(&row, index % 3);
        }
        assert!(counter.n_patterns() > 2 * BLOCK, "{}", counter.n_patterns());
        let found: Vec<(Vec<u8>, u64)> =
            counter.sorted().into_iter().map(|index| (counter.row(index).to_vec(), counter.count(index))).collect();
        let expected: Vec<(Vec<u8>, u64)> = expected.into_iter().map(|(row, count)| (row.to_vec(), count)).collect();
        assert_eq!(found, expected);
        assert_eq!(counter.find(&[255, 0, 0]), None);
        let mut twice = counter.clone();
        twice.merge(&counter);
        assert_eq!((twice.n_patterns(), twice.n_rows()), (counter.n_patterns(), 2 * counter.n_rows()));
    }
}
