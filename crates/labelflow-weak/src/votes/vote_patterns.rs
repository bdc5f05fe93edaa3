//! The different rows of votes, each with how often it occurs.
//!
//! A label model that ignores features cannot tell apart two rows with the same votes. Ten labelers and two classes
//! make at most 3¹⁰ different rows, so a method that passes over the votes a hundred times passes over those instead
//! of over a million rows. The patterns are sorted: permuting the rows changes nothing at all. With so many labelers
//! that hardly any two rows are the same, looking for those that are would only cost time; then every row is its own
//! pattern.

use std::borrow::Cow;
use std::collections::HashMap;
use std::iter::{Copied, Zip};
use std::slice::{ChunksExact, Iter};

use ndarray::{Array2, ArrayView2};

use crate::numerics::{RowChunks, fill_rows, normalize_weights};
use crate::votes::{ABSTAIN, SignalView, VoteCounter, Votes, cast_votes};

/// Up to this many possible patterns are counted in a table, more in a hash map.
const MAX_TABLE: usize = 1 << 20;
/// After this many rows it is decided whether rows repeat often enough to go on.
const SAMPLE: usize = 1 << 16;

/// The distinct rows of votes in ascending order with their counts, or all rows in their own order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VotePatterns {
    n_signals: usize,
    bytes: Vec<u8>,
    /// For how many rows each pattern stands.
    pub(crate) counts: Vec<f64>,
    /// Whether no pattern is there twice. All rows in their own order may repeat.
    is_distinct: bool,
}

/// Rows of votes, each with a count.
pub(crate) type Rows<'a> = Zip<ChunksExact<'a, u8>, Copied<Iter<'a, f64>>>;

impl VotePatterns {
    pub(crate) fn of(votes: &Votes) -> Self {
        let n_answers = votes.n_classes() + 1;
        let n_possible = u32::try_from(votes.n_signals())
            .ok()
            .and_then(|n_signals| n_answers.checked_pow(n_signals))
            .filter(|&n_possible| n_possible <= MAX_TABLE);
        match n_possible {
            Some(n_possible) => Self::by_table(votes, n_possible),
            None => Self::by_hash(votes),
        }
    }

    /// Reads each row as a number with one digit per labeler; an abstention is the highest digit, as it is the highest
    /// byte.
    fn by_table(votes: &Votes, n_possible: usize) -> Self {
        let (n_signals, n_classes) = (votes.n_signals(), votes.n_classes());
        let mut table = vec![0u64; n_possible];
        for row in votes.as_slice().chunks_exact(n_signals) {
            let number =
                row.iter().fold(0, |number, &vote| number * (n_classes + 1) + usize::from(vote).min(n_classes));
            table[number] += 1;
        }
        let mut patterns = Self::empty(n_signals);
        let mut row = vec![0; n_signals];
        for (number, &count) in table.iter().enumerate().filter(|(_, count)| **count > 0) {
            let mut rest = number;
            for vote in row.iter_mut().rev() {
                let digit = rest % (n_classes + 1);
                *vote = if digit == n_classes { ABSTAIN } else { digit as u8 };
                rest /= n_classes + 1;
            }
            patterns.push(&row, count as f64);
        }
        patterns
    }

    fn by_hash(votes: &Votes) -> Self {
        let mut counter = VoteCounter::new(votes.n_signals());
        for (index, row) in votes.as_slice().chunks_exact(votes.n_signals()).enumerate() {
            counter.add(row, 1);
            if index == SAMPLE && counter.n_patterns() > SAMPLE / 8 * 7 {
                return Self::all_rows(votes);
            }
        }
        Self::from_counter(&counter)
    }

    pub(crate) fn all_rows(votes: &Votes) -> Self {
        Self {
            n_signals: votes.n_signals(),
            bytes: votes.as_slice().to_vec(),
            counts: vec![1.0; votes.n_rows()],
            is_distinct: false,
        }
    }

    /// What a counter has counted, sorted.
    pub(crate) fn from_counter(counter: &VoteCounter) -> Self {
        let mut patterns = Self::empty(counter.n_signals());
        patterns.bytes.reserve_exact(counter.n_patterns() * counter.n_signals());
        patterns.counts.reserve_exact(counter.n_patterns());
        for index in counter.sorted() {
            patterns.push(counter.row(index), counter.count(index) as f64);
        }
        patterns
    }

    /// The patterns of some of the labelers.
    pub(crate) fn of_labelers(&self, chosen: &[usize], n_classes: usize) -> Self {
        let row_of = |row: &[u8]| -> Vec<u8> { chosen.iter().map(|&signal| row[signal]).collect() };
        if self.is_distinct {
            let mut counter = VoteCounter::new(chosen.len());
            counter.extend(self.iter().map(|(row, count)| (row_of(row), count as u64)));
            return Self::from_counter(&counter);
        }
        let bytes: Vec<u8> = self.iter().flat_map(|(row, _)| row_of(row)).collect();
        let bytes = Array2::from_shape_vec((self.len(), chosen.len()), bytes);
        let bytes = bytes.expect("each row has a vote of each chosen labeler");
        Self::of(&Votes::from_bytes(bytes, n_classes).expect("the votes were checked before"))
    }

    pub(crate) fn empty(n_signals: usize) -> Self {
        Self { n_signals, bytes: Vec::new(), counts: Vec::new(), is_distinct: true }
    }

    fn push(&mut self, row: &[u8], count: f64) {
        self.bytes.extend_from_slice(row);
        self.counts.push(count);
    }

    /// The same patterns without those in which nobody votes.
    pub(crate) fn without_silence(&self) -> Cow<'_, Self> {
        let is_silent = |row: &[u8]| row.iter().all(|&vote| vote == ABSTAIN);
        if !self.iter().any(|(row, _)| is_silent(row)) {
            return Cow::Borrowed(self);
        }
        let mut spoken = Self::empty(self.n_signals);
        spoken.is_distinct = self.is_distinct;
        for (row, count) in self.iter().filter(|(row, _)| !is_silent(row)) {
            spoken.push(row, count);
        }
        Cow::Owned(spoken)
    }

    /// How many different classes each labeler votes for.
    pub(crate) fn n_classes_voted_for(&self, n_classes: usize) -> Vec<usize> {
        let mut seen = vec![false; self.n_signals * n_classes];
        for (row, _) in self.iter() {
            for (signal, class) in cast_votes(row) {
                seen[signal * n_classes + class] = true;
            }
        }
        seen.chunks_exact(n_classes).map(|seen| seen.iter().filter(|&&seen| seen).count()).collect()
    }

    /// The share of rows on which each labeler votes, `[n_signals]`.
    pub(crate) fn coverages(&self) -> Vec<f64> {
        let mut n_votes = vec![0.0; self.n_signals];
        for (votes, count) in self.iter() {
            cast_votes(votes).for_each(|(signal, _)| n_votes[signal] += count);
        }
        let n_rows = self.n_rows();
        n_votes.into_iter().map(|n_votes| n_votes / n_rows).collect()
    }

    /// For each row of `votes` the row of `of_patterns` that belongs to its pattern. All votes must be among the
    /// patterns.
    pub(crate) fn spread(&self, votes: &Votes, of_patterns: ArrayView2<'_, f64>) -> Array2<f64> {
        let places: HashMap<&[u8], usize> = self.iter().enumerate().map(|(place, (row, _))| (row, place)).collect();
        fill_rows(votes.n_rows(), of_patterns.ncols(), |row, values| {
            let found = of_patterns.row(places[votes.row_bytes(row)]);
            values.iter_mut().zip(found).for_each(|(value, &found)| *value = found);
        })
    }

    /// The patterns as signals about `n_classes` classes.
    pub(crate) fn view(&self, n_classes: usize) -> SignalView<'_> {
        let shape = (self.len(), self.n_signals);
        let bytes = ArrayView2::from_shape(shape, &self.bytes).expect("as many bytes as votes");
        SignalView::Votes { bytes, n_classes }
    }

    /// Sums `n_sums` numbers over the patterns, in parallel: `add` adds those of some patterns to sums of their own.
    pub(crate) fn sum(&self, n_sums: usize, add: impl Fn(Rows<'_>, &mut [f64]) + Sync) -> Vec<f64> {
        let n_signals = self.n_signals;
        RowChunks::new(self.len(), n_signals, n_sums).sum(|range, sums| {
            let votes = &self.bytes[range.start * n_signals..range.end * n_signals];
            let counts = self.counts[range].iter().copied();
            add(votes.chunks_exact(n_signals).zip(counts), sums);
        })
    }

    /// Number of distinct patterns.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Number of rows behind all patterns.
    pub(crate) fn n_rows(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The votes of one pattern.
    pub(crate) fn row(&self, pattern: usize) -> &[u8] {
        &self.bytes[pattern * self.n_signals..][..self.n_signals]
    }

    /// Patterns with their counts.
    pub(crate) fn iter(&self) -> Rows<'_> {
        self.bytes.chunks_exact(self.n_signals).zip(self.counts.iter().copied())
    }
}

/// Writes each class's share of a row's votes; equal shares without votes.
pub(crate) fn vote_shares(votes: &[u8], shares: &mut [f64]) {
    shares.fill(0.0);
    cast_votes(votes).for_each(|(_, class)| shares[class] += 1.0);
    normalize_weights(shares);
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_are_sorted_and_counted() {
        let votes = array![[1, 0], [-1, -1], [0, -1], [1, 0], [-1, -1]];
        let patterns = VotePatterns::of(&Votes::from_indices(votes.view(), None).unwrap());
        let rows: Vec<_> = patterns.iter().collect();
        let silent = [ABSTAIN, ABSTAIN];
        assert_eq!(rows, [(&[0, ABSTAIN][..], 1.0), (&[1, 0], 2.0), (&silent, 2.0)]);
        assert_eq!(patterns.without_silence().len(), 2);
    }

    #[test]
    fn what_belongs_to_patterns_is_spread_over_the_rows() {
        let votes = array![[1, 0], [-1, -1], [0, -1], [1, 0]];
        let votes = Votes::from_indices(votes.view(), None).unwrap();
        let patterns = VotePatterns::of(&votes);
        assert_eq!(patterns.coverages(), [0.75, 0.5]);
        let spread = patterns.spread(&votes, array![[0.0], [1.0], [2.0]].view());
        assert_eq!(spread, array![[1.0], [2.0], [0.0], [1.0]]);
    }

    #[test]
    fn rows_that_hardly_repeat_are_kept_as_they_are() {
        let bytes =
            Array2::from_shape_fn(
                (SAMPLE + 10, 24),
                |(row, signal)| {
                    if row == 3 { ABSTAIN } else { (row >> (signal % 20) & 1) as u8 }
                },
            );
        let patterns = VotePatterns::of(&Votes::from_bytes(bytes, 2).unwrap());
        assert_eq!(patterns.len(), SAMPLE + 10);
        assert_eq!(patterns.without_silence().len(), SAMPLE + 9);
    }

    proptest! {
        #[test]
        fn the_table_and_the_hash_map_agree(
            bytes in proptest::collection::vec(0u8..4, 3..90),
        ) {
            let bytes: Vec<u8> =
                bytes.into_iter().map(|vote| if vote == 3 { ABSTAIN } else { vote }).collect();
            let n_rows = bytes.len() / 3;
            let bytes = Array2::from_shape_vec((n_rows, 3), bytes[..3 * n_rows].to_vec()).unwrap();
            let votes = Votes::from_bytes(bytes, 3).unwrap();
            let patterns = VotePatterns::by_table(&votes, 64);
            prop_assert_eq!(&patterns, &VotePatterns::by_hash(&votes));
            prop_assert_eq!(patterns.iter().map(|(_, count)| count).sum::<f64>(), n_rows as f64);
        }
    }
}
