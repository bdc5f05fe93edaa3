//! How often labelers speak, and for which class: all that the error of a labeler needs to know of rows outside a part.

use labelflow_weak::votes::ABSTAIN;
use ndarray::{ArrayView3, Axis};

use crate::sources::RowSignals;

/// Sums over all rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SignalTotals {
    /// Rows on which each labeler speaks of each class, `[n_signals, n_classes]`.
    pub(crate) n_given: Vec<u64>,
    /// Sums of the probabilities that each labeler gives each class; a vote is a probability of 0 or 1. `[n_signals, n_classes]`
    pub(crate) sums: Vec<f64>,
    /// Rows on which nobody speaks.
    pub(crate) n_uncovered: u64,
    n_classes: usize,
}

impl SignalTotals {
    /// Of no rows.
    pub(crate) fn new(n_signals: usize, n_classes: usize) -> Self {
        let n_cells = n_signals * n_classes;
        Self { n_given: vec![0; n_cells], sums: vec![0.0; n_cells], n_uncovered: 0, n_classes }
    }

    /// Adds rows.
    pub(crate) fn add(&mut self, rows: &RowSignals) {
        match rows {
            RowSignals::None => {}
            RowSignals::Votes(votes) => match votes.as_slice() {
                Some(votes) => self.add_votes(votes),
                None => self.add_votes(&votes.iter().copied().collect::<Vec<_>>()),
            },
            RowSignals::Probabilities(p) => self.add_probabilities(p.view()),
        }
    }

    /// Adds votes: a class or [`ABSTAIN`] for each row and labeler, row after row.
    pub(crate) fn add_votes(&mut self, rows: &[u8]) {
        let n_classes = self.n_classes;
        for row in rows.chunks_exact(self.sums.len() / n_classes) {
            let mut is_covered = false;
            for (signal, &vote) in row.iter().enumerate().filter(|(_, vote)| **vote != ABSTAIN) {
                let cells = signal * n_classes..(signal + 1) * n_classes;
                self.n_given[cells].iter_mut().for_each(|n_given| *n_given += 1);
                self.sums[signal * n_classes + usize::from(vote)] += 1.0;
                is_covered = true;
            }
            self.n_uncovered += u64::from(!is_covered);
        }
    }

    /// Adds probabilities, NaN where a labeler abstains, `[n_rows, n_signals, n_classes]`.
    pub(crate) fn add_probabilities(&mut self, rows: ArrayView3<'_, f32>) {
        for row in rows.axis_iter(Axis(0)) {
            let mut is_covered = false;
            for (cell, &q) in row.iter().enumerate().filter(|(_, q)| !q.is_nan()) {
                self.n_given[cell] += 1;
                self.sums[cell] += f64::from(q);
                is_covered = true;
            }
            self.n_uncovered += u64::from(!is_covered);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3, array};

    use super::*;

    #[test]
    fn votes_are_probabilities_of_zero_or_one() {
        let votes: Array2<u8> = array![[0, ABSTAIN], [1, 1], [ABSTAIN, ABSTAIN], [1, 0]];
        let p =
            Array3::from_shape_fn((4, 2, 2), |(row, signal, class)| match votes[[row, signal]] {
                ABSTAIN => f32::NAN,
                vote => f32::from(u8::from(usize::from(vote) == class)),
            });
        let (mut of_votes, mut of_probabilities) =
            (SignalTotals::new(2, 2), SignalTotals::new(2, 2));
        of_votes.add(&RowSignals::Votes(votes));
        of_probabilities.add(&RowSignals::Probabilities(p));
        assert_eq!(of_votes, of_probabilities);
        assert_eq!(of_votes.n_given, [3, 3, 2, 2]);
        assert_eq!(of_votes.sums, [1.0, 2.0, 1.0, 1.0]);
        assert_eq!(of_votes.n_uncovered, 1);
    }
}
