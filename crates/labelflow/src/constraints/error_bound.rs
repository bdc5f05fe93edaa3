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
use labelflow_weak::votes::{ABSTAIN, SignalValues};
use ndarray::{ArrayView3, s};

use crate::constraints::{Constraint, Relation, Residual};
use crate::sources::RowSignals;
use crate::sources::signal_totals::SignalTotals;
use crate::training::Batch;
use crate::{Error, Result};

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
        match signals.values() {
            SignalValues::Votes(votes) => {
                totals.add_votes(votes.as_slice());
                Self::of_votes(votes.as_slice(), &totals, bounds, device)
            }
            SignalValues::Probabilities(p) => {
                totals.add_probabilities(p.view());
                Self::of_probabilities(p.view(), &totals, bounds, device)
            }
        }
    }

    /// The bounds of a dataset of which these are the signals of some rows, and these the sums over all.
    pub(crate) fn of_part(
        signals: &RowSignals,
        totals: &SignalTotals,
        bounds: &Bounds,
        device: &Device,
    ) -> Result<Self> {
        match signals {
            RowSignals::Votes(votes) => {
                let votes = votes.as_standard_layout();
                let votes = votes.as_slice().expect("rows one after the other");
                Ok(Self::of_votes(votes, totals, bounds, device))
            }
            RowSignals::Probabilities(p) => {
                Ok(Self::of_probabilities(p.view(), totals, bounds, device))
            }
            RowSignals::None => Err(Error::data("signals", "those of labelers", "none")),
        }
    }

    /// From votes, row after row.
    fn of_votes(votes: &[u8], totals: &SignalTotals, bounds: &Bounds, device: &Device) -> Self {
        let (n_signals, n_classes) = bounds.values().dim();
        let n_rows = votes.len() / n_signals;
        let mut slopes = vec![0f32; n_classes * n_signals * n_rows];
        for (cell, slopes) in slopes.chunks_exact_mut(n_rows).enumerate() {
            let (class, signal) = (cell / n_signals, cell % n_signals);
            let n_given = n_given(totals, signal * n_classes + class);
            let (for_class, for_others) = ((-1.0 / n_given) as f32, (1.0 / n_given) as f32);
            let votes = votes.iter().skip(signal).step_by(n_signals);
            for (slope, &vote) in slopes.iter_mut().zip(votes).filter(|(_, v)| **v != ABSTAIN) {
                *slope = if usize::from(vote) == class { for_class } else { for_others };
            }
        }
        Self::from_parts(slopes, totals, bounds, device)
    }

    /// From probabilities, `[n_rows, n_signals, n_classes]`.
    fn of_probabilities(
        p: ArrayView3<'_, f32>,
        totals: &SignalTotals,
        bounds: &Bounds,
        device: &Device,
    ) -> Self {
        let (n_rows, n_signals, n_classes) = p.dim();
        let mut slopes = vec![0f32; n_classes * n_signals * n_rows];
        for (cell, slopes) in slopes.chunks_exact_mut(n_rows).enumerate() {
            let (class, signal) = (cell / n_signals, cell % n_signals);
            let n_given = n_given(totals, signal * n_classes + class);
            let column = p.slice(s![.., signal, class]);
            for (slope, &q) in slopes.iter_mut().zip(column).filter(|(_, q)| !q.is_nan()) {
                *slope = ((1.0 - 2.0 * f64::from(q)) / n_given) as f32;
            }
        }
        Self::from_parts(slopes, totals, bounds, device)
    }

    fn from_parts(
        slopes: Vec<f32>,
        totals: &SignalTotals,
        bounds: &Bounds,
        device: &Device,
    ) -> Self {
        let (n_signals, n_classes) = bounds.values().dim();
        let offset = |cell: usize| {
            let (class, signal) = (cell / n_signals, cell % n_signals);
            let of_totals = signal * n_classes + class;
            totals.sums[of_totals] / n_given(totals, of_totals) - bounds.values()[[signal, class]]
        };
        let n_offsets = n_signals * n_classes;
        let offsets: Vec<f64> = (0..n_offsets).map(offset).collect();
        let shape = [n_classes, n_signals, slopes.len() / n_offsets];
        Self {
            slopes: Tensor::from_data(TensorData::new(slopes, shape), device),
            offsets: Tensor::from_data(TensorData::new(offsets, [n_offsets]), device),
        }
    }
}

/// N of a labeler and a class.
fn n_given(totals: &SignalTotals, cell: usize) -> f64 {
    totals.n_given[cell] as f64 + N_GIVEN_FLOOR
}

impl Constraint for ErrorBound {
    fn name(&self) -> String {
        "error-bound".to_owned()
    }

    fn relation(&self) -> Relation {
        Relation::AtMost
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

#[cfg(test)]
mod tests {
    use labelflow_weak::rows::Features;
    use labelflow_weak::votes::{Votes, WeakSignals};
    use ndarray::array;

    use super::*;
    use crate::constraints::Penalty;

    fn dataset(votes: ndarray::Array2<i64>, bound: f64) -> WeakDataset {
        let features = Features::new(ndarray::Array2::zeros((votes.nrows(), 1))).unwrap();
        let signals =
            WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap();
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
}
