//! What each two labelers do together: how often both vote, how often they agree, and how their votes hang together.
//!
//! ```text
//! n_both      = rows on which both vote
//! agreement   = share of those rows on which they vote for the same class
//! correlation = (agreement − Σ_c a(c) b(c)) / √((1 − Σ_c a(c)²) (1 − Σ_c b(c)²))
//! ```
//!
//! a(c) and b(c) are the shares of those rows on which the first and the second labeler vote for class c. This is the
//! correlation of the votes written as 0 and 1 for each class, summed over the classes; with two classes it is the
//! usual correlation of two columns of zeros and ones. It is 1 for votes that are always the same, about 0 for
//! labelers that ignore each other, and there is none where a labeler votes for one class only on those rows.

use serde::Serialize;

use crate::label_models::overlaps::Overlaps;
use crate::votes::{CountedVotes, WeakSignals};

/// What two labelers do together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelerPair {
    /// The name of the first.
    pub first: String,
    /// The name of the second.
    pub second: String,
    /// Number of rows on which both vote.
    pub n_both: usize,
    /// The share of those rows on which they agree; nothing without such rows.
    pub agreement: Option<f64>,
    /// The correlation of their votes on those rows, from −1 to 1; nothing if one of them votes for one class only.
    pub correlation: Option<f64>,
}

/// Describes each two labelers: 0 and 1, 0 and 2, …, 1 and 2, …. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::labelers::labeler_pairs;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0], [1, 1], [1, 0], [0, 0], [1, -1]].view(), None)?;
/// let pairs = labeler_pairs(&WeakSignals::from_votes(votes)?);
/// assert_eq!((pairs[0].n_both, pairs[0].agreement), (4, Some(0.75)));
/// assert!((pairs[0].correlation.unwrap() - 3f64.sqrt().recip()).abs() < 1e-12);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn labeler_pairs(signals: &WeakSignals) -> Vec<LabelerPair> {
    labeler_pairs_of_counts(&CountedVotes::of(signals))
}

/// The same from counted votes.
pub fn labeler_pairs_of_counts(counted: &CountedVotes) -> Vec<LabelerPair> {
    let (overlaps, names) = (&Overlaps::of_patterns(&counted.patterns, counted.shape()), counted.labelers());
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    pairs
        .map(|(a, b)| {
            let n_classes = overlaps.shape.n_classes;
            let table =
                JointVotes::new(n_classes, |of_a, of_b| overlaps.counts[[a * n_classes + of_a, b * n_classes + of_b]]);
            LabelerPair {
                first: names[a].clone(),
                second: names[b].clone(),
                n_both: table.n_both as usize,
                agreement: (table.n_both > 0.0).then(|| table.agreement()),
                correlation: table.correlation(),
            }
        })
        .collect()
}

/// Counts of two labelers' votes on the rows on which both vote.
pub(crate) struct JointVotes {
    pub(crate) n_both: f64,
    /// Votes of the first and of the second labeler for each class.
    pub(crate) votes: [Vec<f64>; 2],
    /// Rows on which both vote for each class.
    pub(crate) agreements: Vec<f64>,
}

impl JointVotes {
    /// From the number of rows on which the first labeler votes for one class and the second for another one. Whole numbers add up exactly.
    pub(crate) fn new(n_classes: usize, count: impl Fn(usize, usize) -> f64) -> Self {
        let each = |number: &dyn Fn(usize) -> f64| (0..n_classes).map(number).collect::<Vec<f64>>();
        let first = each(&|class| (0..n_classes).map(|other| count(class, other)).sum());
        let second = each(&|class| (0..n_classes).map(|other| count(other, class)).sum());
        Self { n_both: first.iter().sum(), votes: [first, second], agreements: each(&|class| count(class, class)) }
    }

    /// The share of those rows on which they agree.
    pub(crate) fn agreement(&self) -> f64 {
        self.agreements.iter().sum::<f64>() / self.n_both
    }

    /// The share on which they would by chance.
    pub(crate) fn chance(&self) -> f64 {
        let [first, second] = &self.votes;
        first.iter().zip(second).map(|(a, b)| a / self.n_both * (b / self.n_both)).sum()
    }

    /// The correlation of their votes; nothing if one of them votes for one class only.
    pub(crate) fn correlation(&self) -> Option<f64> {
        let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let [first, second] = &self.votes;
        // All terms times n², which keeps them whole numbers.
        let n_squared = self.n_both * self.n_both;
        let spread = |votes: &[f64]| n_squared - product(votes, votes);
        let scale = (spread(first) * spread(second)).sqrt();
        let together = self.n_both * self.agreements.iter().sum::<f64>() - product(first, second);
        (scale > 0.0).then(|| together / scale)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, array};

    use super::*;
    use crate::votes::Votes;

    fn pairs(votes: &Array2<i64>, n_classes: usize) -> Vec<LabelerPair> {
        let votes = Votes::from_indices(votes.view(), Some(n_classes)).unwrap();
        labeler_pairs(&WeakSignals::from_votes(votes).unwrap())
    }

    #[test]
    fn equal_votes_are_1_and_opposite_votes_minus_1() {
        let votes = array![[0, 0, 1], [1, 1, 0], [1, 1, 0], [0, 0, -1], [-1, 1, 0]];
        let found = pairs(&votes, 2);
        let names: Vec<_> = found.iter().map(|p| (p.first.as_str(), p.second.as_str())).collect();
        let (a, b, c) = ("labeler0", "labeler1", "labeler2");
        assert_eq!(names, [(a, b), (a, c), (b, c)]);
        assert_eq!(found.iter().map(|p| p.n_both).collect::<Vec<_>>(), [4, 3, 4]);
        assert_eq!(found[0].agreement, Some(1.0));
        assert_eq!(found[1].agreement, Some(0.0));
        assert_abs_diff_eq!(found[0].correlation.unwrap(), 1.0, epsilon = 1e-12);
        assert_abs_diff_eq!(found[1].correlation.unwrap(), -1.0, epsilon = 1e-12);
    }

    #[test]
    fn with_two_classes_it_is_the_correlation_of_columns() {
        let votes = Array2::from_shape_fn((57, 2), |(row, signal)| {
            ((row * (3 + 2 * signal) + row / 5) % 7 < 3 + signal) as i64
        });
        let (a, b) = (votes.column(0).mapv(|v| v as f64), votes.column(1).mapv(|v| v as f64));
        let (mean_a, mean_b) = (a.mean().unwrap(), b.mean().unwrap());
        let covariance = ((&a - mean_a) * (&b - mean_b)).mean().unwrap();
        let expected = covariance / (a.std(0.0) * b.std(0.0));
        assert_abs_diff_eq!(pairs(&votes, 2)[0].correlation.unwrap(), expected, epsilon = 1e-12);
    }

    #[test]
    fn independent_votes_for_three_classes_are_0() {
        let votes = Array2::from_shape_fn((9, 2), |(row, signal)| (if signal == 0 { row / 3 } else { row % 3 }) as i64);
        let pair = &pairs(&votes, 3)[0];
        assert_abs_diff_eq!(pair.agreement.unwrap(), 1.0 / 3.0, epsilon = 1e-12);
        assert_abs_diff_eq!(pair.correlation.unwrap(), 0.0, epsilon = 1e-12);
    }

    #[test]
    fn there_is_none_without_common_rows_or_for_one_class() {
        let found = pairs(&array![[0, -1, 1], [-1, 1, 1], [1, -1, 1]], 2);
        assert_eq!((found[0].n_both, found[0].agreement, found[0].correlation), (0, None, None));
        assert_eq!((found[1].agreement, found[1].correlation), (Some(0.5), None));
    }
}
