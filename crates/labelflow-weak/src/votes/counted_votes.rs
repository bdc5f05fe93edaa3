//! Votes as distinct rows with counts: all that label models learn from.
//!
//! ```text
//! rows of votes  ──count──►  patterns with counts  ──fit──►  labeler
//! ```
//!
//! Counts of several files, machines or days add up to the counts of all rows, in any order: the patterns are sorted and
//! the counts are whole numbers. A fit to counts is the fit to the rows that were counted, bit for bit.

use ndarray::Array2;

use crate::label_models::SignalShape;
use crate::votes::{ABSTAIN, VoteCounter, VotePatterns, Votes, WeakSignals, cast_votes, check_n_classes};
use crate::{Error, Result, ensure};

/// Distinct rows of votes, ascending, and how many rows have each, with the names of labelers and classes.
///
/// ```
/// use labelflow_weak::label_models::{DawidSkene, LabelModel};
/// use labelflow_weak::votes::{CountedVotes, Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, 1], [1, 1, 1], [0, 0, 1], [0, 0, 0]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let counted = CountedVotes::of(&signals);
/// assert_eq!((counted.n_patterns(), counted.n_rows()), (3, 4));
/// assert_eq!(DawidSkene::default().fit_counts(&counted)?, DawidSkene::default().fit(&signals)?);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CountedVotes {
    pub(crate) patterns: VotePatterns,
    labelers: Vec<String>,
    classes: Vec<String>,
}

impl CountedVotes {
    /// The counted rows of signals. Probabilities are rounded to votes first.
    ///
    /// Where hardly any two rows are the same they are kept as they are, each with a count of one: looking for those
    /// that are the same would only cost time.
    pub fn of(signals: &WeakSignals) -> Self {
        Self {
            patterns: VotePatterns::of(&signals.votes()),
            labelers: signals.labelers().to_vec(),
            classes: signals.classes().to_vec(),
        }
    }

    /// The labelers and classes of signals, without their rows.
    pub(crate) fn without_rows(signals: &WeakSignals) -> Self {
        Self {
            patterns: VotePatterns::empty(signals.n_signals()),
            labelers: signals.labelers().to_vec(),
            classes: signals.classes().to_vec(),
        }
    }

    /// Rows of votes with how often each occurs. Rows may come in any order and more than once; those that occur never
    /// are left out.
    pub fn new(signals: &WeakSignals, counts: &[u64]) -> Result<Self> {
        signals.check_counts(counts)?;
        let votes = signals.votes();
        let mut counter = VoteCounter::new(signals.n_signals());
        let rows = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counter.extend(rows.map(|(row, &count)| (votes.row_bytes(row), count)));
        Self::named(&counter, signals.labelers(), signals.classes())
    }

    /// What a counter has counted. Its bytes are classes below `n_classes`, or [`ABSTAIN`].
    pub fn from_counter(counter: &VoteCounter, n_classes: usize) -> Result<Self> {
        let n_signals = counter.n_signals();
        if counter.n_patterns() == 0 || n_signals == 0 {
            let found = format!("{} rows and {n_signals} labelers", counter.n_rows());
            return Err(Error::data("counts", "at least one row and one labeler", found));
        }
        check_n_classes(n_classes)?;
        let is_wrong = |vote: &u8| *vote != ABSTAIN && usize::from(*vote) >= n_classes;
        if let Some(vote) = counter.iter().find_map(|(row, _)| row.iter().find(|v| is_wrong(v))) {
            let expected = format!("classes from 0 to {}, or abstentions", n_classes - 1);
            return Err(Error::data("counts", expected, vote));
        }
        // Counts above this would no longer be whole numbers in a float.
        let n_rows = counter.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(count));
        if n_rows.is_none_or(|n_rows| n_rows > 1 << f64::MANTISSA_DIGITS) {
            return Err(Error::data("counts", "at most 2^53 rows", "more"));
        }
        Ok(Self {
            patterns: VotePatterns::from_counter(counter),
            labelers: (0..n_signals).map(|signal| format!("labeler{signal}")).collect(),
            classes: (0..n_classes).map(|class| class.to_string()).collect(),
        })
    }

    /// The counts of all parts together. All must have the same labelers and classes in the same order.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        let mut parts = parts.into_iter().peekable();
        let Some(&first) = parts.peek() else {
            return Err(Error::data("counts", "at least one part", "none"));
        };
        let mut counter = VoteCounter::new(first.n_signals());
        for part in parts {
            for (what, expected, found) in
                [("labelers", &first.labelers, &part.labelers), ("classes", &first.classes, &part.classes)]
            {
                if expected != found {
                    let expected = format!("the {what} {}, as in the first part", expected.join(", "));
                    return Err(Error::data("counts", expected, found.join(", ")));
                }
            }
            counter.extend(part.iter());
        }
        Self::named(&counter, &first.labelers, &first.classes)
    }

    /// What a counter has counted, for named labelers and classes.
    fn named(counter: &VoteCounter, labelers: &[String], classes: &[String]) -> Result<Self> {
        Self::from_counter(counter, classes.len())?.with_labelers(labelers.to_vec())?.with_classes(classes.to_vec())
    }

    /// The same counts with named labelers.
    pub fn with_labelers(self, labelers: Vec<String>) -> Result<Self> {
        super::signals::check_names("labeler names", &labelers, self.n_signals())?;
        Ok(Self { labelers, ..self })
    }

    /// The same counts with named classes.
    pub fn with_classes(self, classes: Vec<String>) -> Result<Self> {
        super::signals::check_names("class names", &classes, self.n_classes())?;
        Ok(Self { classes, ..self })
    }

    /// The share of all votes that are for each class, `[n_classes]`; zeros without any vote.
    pub fn vote_shares(&self) -> Vec<f64> {
        let mut votes = vec![0.0; self.n_classes()];
        for (row, count) in self.iter() {
            cast_votes(row).for_each(|(_, class)| votes[class] += count as f64);
        }
        let n_votes = votes.iter().sum::<f64>().max(1.0);
        votes.into_iter().map(|n| n / n_votes).collect()
    }

    /// The patterns as signals, one row each, in the order of [`iter`](Self::iter).
    pub fn signals(&self) -> WeakSignals {
        let bytes: Vec<u8> = self.iter().flat_map(|(row, _)| row).copied().collect();
        let bytes = Array2::from_shape_vec((self.n_patterns(), self.n_signals()), bytes);
        Votes::from_bytes(bytes.expect("each pattern has all labelers"), self.n_classes())
            .and_then(WeakSignals::from_votes)
            .and_then(|signals| signals.with_labelers(self.labelers.clone()))
            .and_then(|signals| signals.with_classes(self.classes.clone()))
            .expect("counted votes are votes of named labelers for named classes")
    }

    /// Patterns with their counts: a class or [`ABSTAIN`] for each labeler.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.patterns.iter().map(|(row, count)| (row, count as u64))
    }

    /// How many rows have each pattern.
    pub fn counts(&self) -> Vec<u64> {
        self.iter().map(|(_, count)| count).collect()
    }

    /// Names of the labelers.
    pub fn labelers(&self) -> &[String] {
        &self.labelers
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Number of patterns.
    pub fn n_patterns(&self) -> usize {
        self.patterns.len()
    }

    /// Number of rows that were counted.
    pub fn n_rows(&self) -> u64 {
        self.patterns.n_rows() as u64
    }

    /// Number of labelers.
    pub fn n_signals(&self) -> usize {
        self.labelers.len()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    pub(crate) fn shape(&self) -> SignalShape {
        SignalShape { n_signals: self.n_signals(), n_classes: self.n_classes() }
    }

    /// Checks that not all is abstentions: nothing can be learned from those.
    pub(crate) fn check_any_vote(&self) -> Result<()> {
        let is_silent = self.patterns.iter().all(|(row, _)| row.iter().all(|&vote| vote == ABSTAIN));
        ensure(!is_silent, super::signals::no_vote)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn signals(votes: Array2<i64>) -> WeakSignals {
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(3)).unwrap()).unwrap()
    }

    #[test]
    fn counts_of_parts_add_up_in_any_order() {
        let whole = CountedVotes::of(&signals(array![[0, 2], [-1, -1], [1, 0], [0, 2], [1, 0], [0, 2]]));
        let parts = [
            CountedVotes::of(&signals(array![[1, 0], [0, 2]])),
            CountedVotes::of(&signals(array![[0, 2]])),
            CountedVotes::new(&signals(array![[0, 2], [2, 2], [1, 0], [-1, -1]]), &[1, 0, 1, 1]).unwrap(),
        ];
        assert_eq!(CountedVotes::merged(&parts).unwrap(), whole);
        assert_eq!(CountedVotes::merged(parts.iter().rev()).unwrap(), whole);
        let silent = [ABSTAIN, ABSTAIN];
        assert_eq!(whole.iter().collect::<Vec<_>>(), [(&[0, 2][..], 3), (&[1, 0], 2), (&silent, 1)]);
        assert_eq!(whole.counts(), [3, 2, 1]);
        assert_eq!(whole.signals().votes().row_bytes(1), [1, 0]);
    }

    #[test]
    fn counts_that_cannot_be_are_refused() {
        let two = signals(array![[0, 1], [1, 1]]);
        let error = |result: Result<CountedVotes>| result.unwrap_err().to_string();
        assert!(error(CountedVotes::new(&two, &[1])).contains("expected 2, one per row, found 1"));
        assert!(error(CountedVotes::new(&two, &[0, 0])).contains("at least one row"));
        assert!(error(CountedVotes::new(&two, &[u64::MAX, 2])).contains("at most 2^53 rows"));
        assert!(error(CountedVotes::merged([])).contains("at least one part"));
        let counted = CountedVotes::of(&two);
        let named = counted.clone().with_labelers(vec!["a".to_owned(), "b".to_owned()]).unwrap();
        assert!(error(CountedVotes::merged([&counted, &named])).contains("labelers labeler0"));
        let mut counter = VoteCounter::new(1);
        counter.add(&[7], 1);
        assert!(error(CountedVotes::from_counter(&counter, 3)).contains("found 7"));
    }
}
