//! Labelers err at most as often as their bounds say.
//!
//! For labeler j and class c, over the rows where q is given:
//!
//! ```text
//! mean_i (q + y − 2 q y) − b ≤ 0          q + y − 2 q y = y (1 − q) + (1 − y) q, the expected disagreement
//! ```
//!
//! The mean is linear in y, so that it is one matrix product: a₀ + Σ_i A_i y_i with A = (1 − 2q)/N and a₀ = Σ q/N.

// Deviation: the paper's formula is not divided by the number of given signals. With one weight for all datasets it would scale with
// that number squared; the paper's code divides, as here.

use burn::tensor::{Device, Tensor, TensorData};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::WeakDataset;
use labelflow_weak::votes::SignalView;

use crate::constraints::{Constraint, Residual};
use crate::training::Batch;

/// Keeps the mean of a labeler that never speaks at zero instead of 0/0.
const N_GIVEN_FLOOR: f64 = 1e-8;

/// The soft error of every labeler about every class is at most its bound.
#[derive(Debug)]
pub struct ErrorBound {
    /// A, `[n_classes, n_signals, n_rows]`.
    slopes: Tensor<3>,
    /// a₀ − b, `[n_classes, n_signals]` in one row.
    offsets: Tensor<1>,
}

impl ErrorBound {
    /// The bounds of a dataset.
    pub fn new(dataset: &WeakDataset, device: &Device) -> Self {
        let (signals, bounds) = (dataset.signals(), dataset.bounds());
        let mut totals = SignalTotals::new(signals.n_signals(), signals.n_classes());
        totals.add(signals.view());
        Self::of_part(signals.view(), &totals, bounds, device)
    }

    /// The bounds of a dataset of which these are the signals of some rows, and these the sums over all.
    pub(crate) fn of_part(signals: SignalView<'_>, totals: &SignalTotals, bounds: &Bounds, device: &Device) -> Self {
        let ((n_signals, n_classes), n_rows) = (bounds.values().dim(), signals.n_rows());
        let n_given: Vec<f64> = totals.n_given.iter().map(|&n_given| n_given as f64 + N_GIVEN_FLOOR).collect();
        let n_cells = n_signals * n_classes;
        let mut slopes = vec![0f32; n_cells * n_rows];
        for row in 0..n_rows {
            signals.for_each_given(row, |cell, class, q| {
                let slope = (1.0 - 2.0 * f64::from(q)) / n_given[cell];
                slopes[(class * n_signals + cell / n_classes) * n_rows + row] = slope as f32;
            });
        }
        let offset = |place: usize| {
            let (class, signal) = (place / n_signals, place % n_signals);
            let cell = signal * n_classes + class;
            totals.sums[cell] / n_given[cell] - bounds.values()[[signal, class]]
        };
        let offsets: Vec<f64> = (0..n_cells).map(offset).collect();
        let slopes = TensorData::new(slopes, [n_classes, n_signals, n_rows]);
        Self {
            slopes: Tensor::from_data(slopes, device),
            offsets: Tensor::from_data(TensorData::new(offsets, [n_cells]), device),
        }
    }
}

impl Constraint for ErrorBound {
    fn name(&self) -> String {
        "error-bound".to_owned()
    }

    fn residual(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Residual {
        let n_statistics = self.offsets.dims()[0];
        let errors = batch.total(labels, |labels, rows| {
            let by_class = labels.clone().transpose().unsqueeze_dim::<3>(2);
            rows.select(&self.slopes, 2).matmul(by_class).reshape([n_statistics])
        });
        Residual::Overall(errors + self.offsets.clone())
    }
}

/// Sums over all rows: all that the error of a labeler needs to know of rows outside a part.
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
    use labelflow_weak::rows::Features;
    use labelflow_weak::votes::{ABSTAIN, Votes, WeakSignals};
    use ndarray::{Array2, Array3, array};

    use super::*;
    use crate::constraints::Penalty;

    fn dataset(votes: ndarray::Array2<i64>, bound: f64) -> WeakDataset {
        let features = Features::new(ndarray::Array2::<f64>::zeros((votes.nrows(), 1))).unwrap();
        let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap();
        let bounds = Bounds::constant(bound, &signals).unwrap();
        WeakDataset::new(features, signals, bounds).unwrap()
    }

    fn violation(dataset: &WeakDataset, labels: [[f32; 2]; 1]) -> f32 {
        let device = Device::flex();
        let penalty = Penalty::new(ErrorBound::new(dataset, &device), 1.0).unwrap();
        let labels = Tensor::from_floats(labels, &device);
        penalty.violation(&labels, &Batch::full()).into_scalar()
    }

    /// Specification 2.2: one row, y = (0.3, 0.7), q = (1, 0), b = 0.1 gives (0.7 − 0.1)² · 2 = 0.72.
    #[test]
    fn known_answer() {
        assert!((violation(&dataset(array![[0]], 0.1), [[0.3, 0.7]]) - 0.72).abs() < 1e-6);
    }

    #[test]
    fn a_labeler_with_no_votes_contributes_nothing() {
        let silent = dataset(array![[0, -1]], 0.1);
        let alone = dataset(array![[0]], 0.1);
        let labels = [[0.3, 0.7]];
        assert_eq!(violation(&silent, labels), violation(&alone, labels));
    }

    #[test]
    fn the_gradient_points_inward() {
        let device = Device::flex().autodiff();
        let dataset = dataset(array![[0]], 0.1);
        let penalty = Penalty::new(ErrorBound::new(&dataset, &device), 1.0).unwrap();
        let labels = Tensor::<2>::from_floats([[0.3, 0.7]], &device).require_grad();
        let gradients = penalty.violation(&labels, &Batch::full()).backward();
        let gradient = labels.grad(&gradients).unwrap().into_data().try_to_vec::<f32>().unwrap();
        assert!(gradient[0] < 0.0 && gradient[1] > 0.0, "{gradient:?}");
        assert_eq!(violation(&dataset, [[0.95, 0.05]]), 0.0);
    }

    #[test]
    fn votes_are_probabilities_of_zero_or_one() {
        let votes: Array2<u8> = array![[0, ABSTAIN], [1, 1], [ABSTAIN, ABSTAIN], [1, 0]];
        let p = Array3::from_shape_fn((4, 2, 2), |(row, signal, class)| match votes[[row, signal]] {
            ABSTAIN => f32::NAN,
            vote => f32::from(u8::from(usize::from(vote) == class)),
        });
        let (mut of_votes, mut of_probabilities) = (SignalTotals::new(2, 2), SignalTotals::new(2, 2));
        of_votes.add(SignalView::Votes { bytes: votes.view(), n_classes: 2 });
        of_probabilities.add(SignalView::Probabilities(p.view()));
        assert_eq!(of_votes, of_probabilities);
        assert_eq!(of_votes.n_given, [3, 3, 2, 2]);
        assert_eq!(of_votes.sums, [1.0, 2.0, 1.0, 1.0]);
        assert_eq!(of_votes.n_uncovered, 1);
    }
}
