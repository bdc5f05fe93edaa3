//! How often labelers speak, and for which class: all that the error of a labeler needs to know of rows outside a part.

use labelflow_weak::votes::SignalView;

/// Sums over all rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SignalTotals {
    /// Rows on which each labeler speaks of each class, `[n_signals, n_classes]`.
    pub(crate) n_given: Vec<u64>,
    /// Sums of the probabilities that each labeler gives each class; a vote is a probability of 0 or 1. `[n_signals, n_classes]`
    pub(crate) sums: Vec<f64>,
    /// Rows on which nobody speaks.
    pub(crate) n_uncovered: u64,
}

impl SignalTotals {
    /// Of no rows.
    pub(crate) fn new(n_signals: usize, n_classes: usize) -> Self {
        let n_cells = n_signals * n_classes;
        Self { n_given: vec![0; n_cells], sums: vec![0.0; n_cells], n_uncovered: 0 }
    }

    /// Adds rows.
    pub(crate) fn add(&mut self, signals: SignalView<'_>) {
        for row in 0..signals.n_rows() {
            let mut is_covered = false;
            signals.for_each_given(row, |cell, _, q| {
                self.n_given[cell] += 1;
                self.sums[cell] += f64::from(q);
                is_covered = true;
            });
            self.n_uncovered += u64::from(!is_covered);
        }
    }
}

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::ABSTAIN;
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
        of_votes.add(SignalView::Votes { bytes: votes.view(), n_classes: 2 });
        of_probabilities.add(SignalView::Probabilities(p.view()));
        assert_eq!(of_votes, of_probabilities);
        assert_eq!(of_votes.n_given, [3, 3, 2, 2]);
        assert_eq!(of_votes.sums, [1.0, 2.0, 1.0, 1.0]);
        assert_eq!(of_votes.n_uncovered, 1);
    }
}
