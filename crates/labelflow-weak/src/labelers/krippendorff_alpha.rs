//! Krippendorff's alpha: how far labelers agree beyond chance, with any number of labelers, classes and missing votes.
//!
//! ```text
//! n[i](c)   votes of row i for class c, of rows with two votes or more;   n[i] votes of row i,   n(c) votes for class c,   n all of them
//! observed  D = Σ over rows of (n[i]² − Σ over c of n[i](c)²) / (n[i] − 1)          pairs of votes that differ
//! expected  E = (n² − Σ over c of n(c)²) / (n − 1)                                  the same of votes dealt out at random
//! alpha     1 − D / E
//! ```
//!
//! One is full agreement, zero what chance gives. Classes are names without an order (the nominal metric). It is a sum over rows, so counted rows
//! give what their rows give.
//!
//! K. Krippendorff, *Computing Krippendorff's alpha-reliability*, 2011.

use crate::votes::{CountedVotes, WeakSignals, cast_votes};

/// How far labelers agree beyond chance: 1 for full agreement, 0 for chance, below that for less. Nothing where it is not defined:
/// no row has two votes, or all votes of those rows are for one class. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::labelers::krippendorff_alpha;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0], [1, 1], [0, 1], [1, 1], [1, -1]].view(), None)?;
/// // Two of eight votes are in a row with a vote that differs: D = 2, E = (64 − 9 − 25) / 7.
/// let alpha = krippendorff_alpha(&WeakSignals::from_votes(votes)?).expect("votes for two classes");
/// assert!((alpha - (1.0 - 2.0 * 7.0 / 30.0)).abs() < 1e-12);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn krippendorff_alpha(signals: &WeakSignals) -> Option<f64> {
    let votes = signals.votes();
    let mut agreement = Agreement::new(signals.n_classes());
    votes.as_slice().chunks_exact(signals.n_signals()).for_each(|row| agreement.add(row, 1.0));
    agreement.alpha()
}

/// The same from counted votes.
pub fn krippendorff_alpha_of_counts(counted: &CountedVotes) -> Option<f64> {
    let mut agreement = Agreement::new(counted.n_classes());
    counted.iter().for_each(|(row, count)| agreement.add(row, count as f64));
    agreement.alpha()
}

/// The sums of which alpha is made.
#[derive(Debug, Clone)]
pub(crate) struct Agreement {
    /// D.
    observed: f64,
    /// n(c).
    votes_for: Vec<f64>,
    /// n[i](c) of the row that is added.
    of_row: Vec<f64>,
}

impl Agreement {
    pub(crate) fn new(n_classes: usize) -> Self {
        Self { observed: 0.0, votes_for: vec![0.0; n_classes], of_row: vec![0.0; n_classes] }
    }

    /// Adds `count` rows with these votes.
    pub(crate) fn add(&mut self, votes: &[u8], count: f64) {
        let (mut n_votes, mut n_same) = (0.0, 0.0);
        for (_, class) in cast_votes(votes) {
            // The sum of squares grows by the next odd number.
            n_same += 2.0 * self.of_row[class] + 1.0;
            self.of_row[class] += 1.0;
            n_votes += 1.0;
        }
        let is_paired = n_votes > 1.0;
        if is_paired {
            self.observed += count * (n_votes * n_votes - n_same) / (n_votes - 1.0);
        }
        for (_, class) in cast_votes(votes) {
            self.votes_for[class] += if is_paired { count } else { 0.0 };
            self.of_row[class] = 0.0;
        }
    }

    pub(crate) fn alpha(&self) -> Option<f64> {
        let n_votes: f64 = self.votes_for.iter().sum();
        let n_same: f64 = self.votes_for.iter().map(|n| n * n).sum();
        let expected = (n_votes * n_votes - n_same) / (n_votes - 1.0);
        (expected > 0.0).then(|| 1.0 - self.observed / expected)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, array};

    use super::*;
    use crate::label_models::planted::{Planted, signals};

    /// One line for each observer; 0 for a missing answer.
    fn alpha(observers: Array2<i64>, n_classes: usize) -> Option<f64> {
        krippendorff_alpha(&signals(observers.t().mapv(|answer| answer - 1), n_classes))
    }

    #[test]
    fn four_observers_with_missing_answers() {
        // Example C of Krippendorff, 2011: 0.743.
        let observers = array![
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ];
        assert_abs_diff_eq!(alpha(observers, 5).unwrap(), 0.743, epsilon = 5e-4);
    }

    #[test]
    fn two_observers() {
        // Examples A, two values, and B, five values, of the same: 0.095 and 0.692.
        let two_values = array![[1, 2, 1, 1, 1, 1, 1, 1, 2, 1], [2, 2, 2, 1, 1, 2, 1, 1, 1, 1]];
        assert_abs_diff_eq!(alpha(two_values, 2).unwrap(), 0.095, epsilon = 5e-4);
        let five_values = array![[1, 1, 2, 2, 4, 3, 3, 3, 5, 4, 4, 1], [2, 1, 2, 2, 2, 3, 3, 3, 5, 4, 4, 4]];
        assert_abs_diff_eq!(alpha(five_values, 5).unwrap(), 0.692, epsilon = 5e-4);
    }

    #[test]
    fn full_agreement_is_one_and_no_pair_is_none() {
        assert_eq!(alpha(array![[1, 2, 1], [1, 2, 0], [1, 0, 0]], 2), Some(1.0));
        assert_eq!(alpha(array![[1, 2, 0], [0, 0, 1]], 2), None);
        assert_eq!(alpha(array![[1, 1], [1, 1]], 2), None);
        assert_eq!(alpha(array![[0, 0]], 2), None);
    }

    #[test]
    fn counts_give_what_their_rows_give() {
        let problem = Planted::new(500, 3, &[0.6, 0.7, 0.8, 0.9], 0.3, 1);
        let of_rows = krippendorff_alpha(&problem.signals).unwrap();
        let of_counts = krippendorff_alpha_of_counts(&CountedVotes::of(&problem.signals)).unwrap();
        assert_abs_diff_eq!(of_rows, of_counts, epsilon = 1e-12);
        assert!((0.2..0.6).contains(&of_rows), "{of_rows}");
    }
}
