//! What each labeler does: how often it votes, for what, and with or against whom.
//!
//! ```text
//! coverage  = rows where the labeler votes / rows
//! overlaps  = rows where it votes and another one does too / rows
//! conflicts = rows where it votes and another one votes otherwise / rows
//! accuracy  = correct votes / votes
//! ```
//!
//! The first three are shares of all rows, as in Snorkel's labeling function analysis.

use serde::Serialize;

use crate::Result;
use crate::rows::Truth;
use crate::settings::check_rows;
use crate::votes::{ABSTAIN, WeakSignals, cast_votes};

/// What one labeler does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelerSummary {
    /// The labeler's name.
    pub name: String,
    /// The classes it ever votes for, ascending.
    pub polarity: Vec<usize>,
    /// The share of all rows on which it votes.
    pub coverage: f64,
    /// The share of all rows on which it and another labeler vote.
    pub overlaps: f64,
    /// The share of all rows on which another labeler votes for another class.
    pub conflicts: f64,
    /// Number of votes.
    pub n_votes: usize,
    /// Number of votes for the true class, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct: Option<usize>,
    /// Number of votes for another class than the true one, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incorrect: Option<usize>,
    /// The share of votes that are correct; nothing without truth or votes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
}

/// Describes each labeler, in their order. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::labelers::analyze;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 1], [1, -1], [0, 0], [-1, -1]].view(), None)?;
/// let summaries = analyze(&WeakSignals::from_votes(votes)?, None)?;
/// let first = &summaries[0];
/// assert_eq!((first.coverage, first.overlaps, first.conflicts), (0.75, 0.5, 0.25));
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn analyze(signals: &WeakSignals, truth: Option<&Truth>) -> Result<Vec<LabelerSummary>> {
    let truth = true_classes(signals, truth)?;
    let votes = signals.votes();
    let mut counts = VoteCounts::new(signals.n_signals(), signals.n_classes());
    for row in 0..signals.n_rows() {
        counts.add(votes.row_bytes(row), 1, truth.map(|truth| truth[row]));
    }
    Ok(counts.summaries(signals.labelers(), truth.is_some()))
}

/// The true class of each row, where it is known; an error if there are not as many as rows.
pub(crate) fn true_classes<'a>(signals: &WeakSignals, truth: Option<&'a Truth>) -> Result<Option<&'a [usize]>> {
    if let Some(truth) = truth {
        check_rows("true labels", truth.n_rows(), signals.n_rows(), "the signals have")?;
    }
    Ok(truth.map(Truth::labels))
}

/// What is counted of all labelers, row by row.
#[derive(Debug, Clone)]
pub(crate) struct VoteCounts {
    pub(crate) n_rows: usize,
    labelers: Vec<Counts>,
}

/// What is counted of one labeler.
#[derive(Debug, Clone, Default)]
struct Counts {
    votes_for: Vec<usize>,
    overlaps: usize,
    conflicts: usize,
    correct: usize,
}

impl VoteCounts {
    pub(crate) fn new(n_signals: usize, n_classes: usize) -> Self {
        let empty = Counts { votes_for: vec![0; n_classes], ..Counts::default() };
        Self { n_rows: 0, labelers: vec![empty; n_signals] }
    }

    /// Adds `count` rows with these votes, and their true class if it is known.
    pub(crate) fn add(&mut self, votes: &[u8], count: usize, truth: Option<usize>) {
        self.n_rows += count;
        let (overlap, conflict) = company(votes);
        for (signal, class) in cast_votes(votes) {
            let counts = &mut self.labelers[signal];
            counts.votes_for[class] += count;
            counts.overlaps += if overlap { count } else { 0 };
            counts.conflicts += if conflict { count } else { 0 };
            counts.correct += if truth == Some(class) { count } else { 0 };
        }
    }

    /// Votes of all labelers for each class.
    pub(crate) fn votes_for(&self) -> Vec<usize> {
        let mut sums = vec![0; self.labelers.first().map_or(0, |first| first.votes_for.len())];
        for counts in &self.labelers {
            sums.iter_mut().zip(&counts.votes_for).for_each(|(sum, n)| *sum += n);
        }
        sums
    }

    /// Votes of each labeler.
    pub(crate) fn n_votes(&self) -> impl Iterator<Item = usize> {
        self.labelers.iter().map(|counts| counts.votes_for.iter().sum())
    }

    pub(crate) fn summaries(&self, names: &[String], has_truth: bool) -> Vec<LabelerSummary> {
        let labelers = self.labelers.iter().zip(names);
        labelers.map(|(counts, name)| counts.summarize(name, self.n_rows, has_truth)).collect()
    }
}

/// Whether at least two labelers vote on a row, and whether two differ. If two differ then everyone who votes has
/// somebody who votes otherwise, so one answer serves the whole row.
fn company(votes: &[u8]) -> (bool, bool) {
    let mut given = votes.iter().filter(|&&vote| vote != ABSTAIN);
    let first = given.next();
    let mut others = given.peekable();
    (others.peek().is_some(), others.any(|vote| Some(vote) != first))
}

impl Counts {
    fn summarize(&self, name: &str, n_rows: usize, has_truth: bool) -> LabelerSummary {
        let share = |count: usize| count as f64 / n_rows as f64;
        let n_votes: usize = self.votes_for.iter().sum();
        let with_truth = |count: usize| has_truth.then_some(count);
        LabelerSummary {
            name: name.to_owned(),
            polarity: (0..self.votes_for.len()).filter(|&c| self.votes_for[c] > 0).collect(),
            coverage: share(n_votes),
            overlaps: share(self.overlaps),
            conflicts: share(self.conflicts),
            n_votes,
            correct: with_truth(self.correct),
            incorrect: with_truth(n_votes - self.correct),
            accuracy: with_truth(self.correct).filter(|_| n_votes > 0).map(|correct| correct as f64 / n_votes as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::votes::Votes;

    fn signals() -> WeakSignals {
        let votes = array![[0, 0, 2, -1], [1, -1, -1, -1], [0, 0, -1, -1], [-1, -1, 2, -1]];
        WeakSignals::from_votes(Votes::from_indices(votes.view(), None).unwrap()).unwrap()
    }

    #[test]
    fn shares_are_of_all_rows() {
        let summaries = analyze(&signals(), None).unwrap();
        let shares: Vec<_> = summaries.iter().map(|s| (s.coverage, s.overlaps, s.conflicts)).collect();
        let expected = [(0.75, 0.5, 0.25), (0.5, 0.5, 0.25), (0.5, 0.25, 0.25), (0.0, 0.0, 0.0)];
        assert_eq!(shares, expected);
        assert_eq!(summaries[0].polarity, [0, 1]);
        assert_eq!(summaries[2].polarity, [2]);
        assert_eq!(summaries[3].polarity, [] as [usize; 0]);
        assert_eq!((summaries[0].correct, summaries[0].accuracy), (None, None));
    }

    #[test]
    fn truth_gives_accuracies() {
        let truth = Truth::new(vec![0, 1, 2, 2], 3).unwrap();
        let summaries = analyze(&signals(), Some(&truth)).unwrap();
        let found: Vec<_> = summaries.iter().map(|s| (s.correct, s.incorrect, s.accuracy)).collect();
        assert_eq!(found[0], (Some(2), Some(1), Some(2.0 / 3.0)));
        assert_eq!(found[1], (Some(1), Some(1), Some(0.5)));
        assert_eq!(found[3], (Some(0), Some(0), None));
        let short = Truth::new(vec![0], 3).unwrap();
        assert!(analyze(&signals(), Some(&short)).is_err());
    }
}
