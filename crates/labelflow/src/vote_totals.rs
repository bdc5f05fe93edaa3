//! How often labelers speak, and for which class: all that the error of a labeler needs to know of rows outside a part.

use labelflow_weak::ABSTAIN;

/// Sums over all rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VoteTotals {
    /// Votes of each labeler, `[n_signals]`.
    pub(crate) n_given: Vec<u64>,
    /// Votes of each labeler for each class, `[n_signals, n_classes]`.
    pub(crate) votes: Vec<u64>,
    /// Rows on which nobody votes.
    pub(crate) n_uncovered: u64,
}

impl VoteTotals {
    /// Of no rows.
    pub(crate) fn new(n_signals: usize, n_classes: usize) -> Self {
        Self { n_given: vec![0; n_signals], votes: vec![0; n_signals * n_classes], n_uncovered: 0 }
    }

    /// Adds rows: a class or [`ABSTAIN`] for each row and labeler, row after row.
    pub(crate) fn add(&mut self, rows: &[u8]) {
        let n_signals = self.n_given.len();
        let n_classes = self.votes.len() / n_signals;
        for row in rows.chunks_exact(n_signals) {
            let mut is_covered = false;
            for (signal, &vote) in row.iter().enumerate().filter(|(_, vote)| **vote != ABSTAIN) {
                self.n_given[signal] += 1;
                self.votes[signal * n_classes + usize::from(vote)] += 1;
                is_covered = true;
            }
            self.n_uncovered += u64::from(!is_covered);
        }
    }
}
