//! The rows that are most worth another vote.
//!
//! ```text
//! now          the label of a row is its most probable class m, wrong with probability 1 − p(m)
//! next vote    right with probability a, the share of all votes that is expected to be right; errors are spread evenly: b = (1 − a) / (k − 1)
//! afterwards   p(c | next vote) ∝ p(c) P(next vote | c), and the label is the most probable class again
//! gain         how much less often the label is wrong then, expected:   Σ over classes c other than m of [a p(c) − b p(m)]₊
//! ```
//!
//! A vote gains something only where it may change the label: not on rows whose label is surer than a vote. Those come after all others, by how probably their
//! label is wrong. So the probabilities of the label model decide, and a label model whose probabilities can be believed should give them.

use crate::Result;
use crate::rows::SoftLabels;
use crate::settings::{check_labelers, check_rows};
use crate::votes::{WeakSignals, cast_votes};

/// A row that is worth another vote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowToRelabel {
    /// Which row.
    pub row: usize,
    /// How much less probably its label is wrong after one more vote, expected before that vote is known.
    pub gain: f64,
    /// How probably its label, the most probable class, is wrong.
    pub wrong: f64,
    /// How many labelers voted on it.
    pub n_votes: usize,
}

/// The `n` rows on which one more vote gains most, the best first; all rows if there are fewer. Rows that gain the same are ordered by how probably
/// their label is wrong, then by how few votes they have, then by place.
///
/// ```
/// use labelflow_weak::label_models::rows_to_relabel;
/// use labelflow_weak::rows::SoftLabels;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, 0], [0, 1, 0], [1, 1, 1]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let labels = SoftLabels::new(array![[0.95, 0.05], [0.6, 0.4], [0.1, 0.9]])?;
/// let rows = rows_to_relabel(&signals, &labels, 2)?;
/// assert_eq!(rows.iter().map(|row| row.row).collect::<Vec<_>>(), [1, 2]);
/// // Of nine votes 7.15 are expected to be right.
/// assert!((rows[0].gain - (7.15 / 9.0 - 0.6)).abs() < 1e-12);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn rows_to_relabel(signals: &WeakSignals, labels: &SoftLabels, n: usize) -> Result<Vec<RowToRelabel>> {
    let n_classes = signals.n_classes();
    check_rows("labels", labels.n_rows(), signals.n_rows(), "the signals have")?;
    let n_signals = signals.n_signals();
    check_labelers("labels", (n_signals, labels.n_classes()), (n_signals, n_classes), "the signals")?;
    let votes = signals.votes();
    let cast =
        (0..signals.n_rows()).flat_map(|row| cast_votes(votes.row_bytes(row)).map(move |(_, class)| (row, class)));
    let (right, n_votes) =
        cast.fold((0.0, 0.0), |(right, n), (row, class)| (right + labels.values()[[row, class]], n + 1.0));
    let accuracy = if n_votes > 0.0 { right / n_votes } else { 0.0 };
    let mut rows: Vec<RowToRelabel> = (0..signals.n_rows())
        .map(|row| {
            let p = labels.values();
            let highest = p.row(row).iter().copied().fold(0.0, f64::max);
            RowToRelabel {
                row,
                gain: gain(p.row(row).iter().copied(), highest, accuracy),
                wrong: 1.0 - highest,
                n_votes: cast_votes(votes.row_bytes(row)).count(),
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        let by_gain = b.gain.total_cmp(&a.gain).then(b.wrong.total_cmp(&a.wrong));
        by_gain.then(a.n_votes.cmp(&b.n_votes))
    });
    rows.truncate(n);
    Ok(rows)
}

/// What one more vote of this accuracy gains on a row with these probabilities.
fn gain(p: impl ExactSizeIterator<Item = f64>, highest: f64, accuracy: f64) -> f64 {
    let by_mistake = highest * (1.0 - accuracy) / (p.len() - 1) as f64;
    let gains: f64 = p.map(|p| (accuracy * p - by_mistake).max(0.0)).sum();
    // The most probable class itself was counted too.
    gains - (accuracy * highest - by_mistake).max(0.0)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    use super::*;
    use crate::label_models::planted::{Planted, signals};
    use crate::label_models::{FittedLabelModel, HyperLabelModel, LabelModel};

    /// By the definition: the probability that the label is right after each possible vote, less what it is now.
    fn by_definition(p: &[f64], accuracy: f64) -> f64 {
        let n = p.len();
        let vote_given = |vote: usize, class: usize| {
            if vote == class { accuracy } else { (1.0 - accuracy) / (n - 1) as f64 }
        };
        let best = |vote: usize| (0..n).map(|c| p[c] * vote_given(vote, c)).fold(0.0, f64::max);
        (0..n).map(best).sum::<f64>() - p.iter().copied().fold(0.0, f64::max)
    }

    #[test]
    fn the_gain_is_as_defined() {
        for p in [vec![0.5, 0.5], vec![0.7, 0.3], vec![0.9, 0.1], vec![0.4, 0.35, 0.25], vec![0.1, 0.6, 0.2, 0.1]] {
            for accuracy in [0.5, 0.7, 0.95] {
                let highest = p.iter().copied().fold(0.0, f64::max);
                let found = gain(p.iter().copied(), highest, accuracy);
                assert_abs_diff_eq!(found, by_definition(&p, accuracy), epsilon = 1e-12);
            }
        }
    }

    #[test]
    fn surer_labels_come_last_and_rows_with_few_votes_first() {
        let votes = signals(array![[0, 0, 0], [0, 1, -1], [0, -1, -1], [1, 1, 1], [-1, -1, -1]], 2);
        let p = array![[0.99, 0.01], [0.5, 0.5], [0.7, 0.3], [0.02, 0.98], [0.5, 0.5]];
        let rows = rows_to_relabel(&votes, &SoftLabels::new(p).unwrap(), 10).unwrap();
        assert_eq!(rows.iter().map(|row| row.row).collect::<Vec<_>>(), [4, 1, 2, 3, 0]);
        assert_eq!((rows[0].n_votes, rows[0].wrong), (0, 0.5));
        assert_eq!(rows[4].gain, 0.0);
    }

    #[test]
    fn the_rows_hold_many_of_the_errors() {
        let problem = Planted::unequal(2000, &[0.5, 0.5], 5);
        let labels = HyperLabelModel::default()
            .fit_with(&problem.signals, &None)
            .unwrap()
            .predict_proba(&problem.signals)
            .unwrap();
        let (chosen, truth) = (labels.argmax(), problem.truth.labels());
        let is_wrong = |row: usize| chosen[row] != truth[row];
        let n_wrong = (0..2000).filter(|&row| is_wrong(row)).count();
        let rows = rows_to_relabel(&problem.signals, &labels, 400).unwrap();
        let found = rows.iter().filter(|row| is_wrong(row.row)).count();
        assert!(found as f64 > 0.45 * n_wrong as f64, "{found} of {n_wrong}");
    }

    #[test]
    fn other_rows_and_classes_are_errors() {
        let votes = signals(array![[0, 1], [1, 1]], 2);
        let labels = |p: ndarray::Array2<f64>| SoftLabels::new(p).unwrap();
        assert!(rows_to_relabel(&votes, &labels(array![[0.5, 0.5]]), 1).is_err());
        assert!(rows_to_relabel(&votes, &labels(array![[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), 1).is_err());
    }
}
