//! Error bounds b: how often each labeler may err about each class.
//!
//! The error of labeler j about class c is soft, as the constraint measures it:
//!
//! ```text
//! error[j][c] = mean over the rows where q[j][·][c] is given of |1[y = c] − q[j][·][c]|
//! ```

use std::ops::Range;

use ndarray::{Array2, ArrayView2};

use crate::numerics::RowChunks;
use crate::rows::{SoftLabels, Truth};
use crate::settings::check_labelers;
use crate::votes::WeakSignals;
use crate::{Error, Result};

/// Upper bounds on the soft errors, `[n_signals, n_classes]`, each from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds(Array2<f64>);

impl Bounds {
    /// A bound for every labeler and class.
    pub fn new(bounds: Array2<f64>) -> Result<Self> {
        if let Some(((signal, class), bound)) = bounds.indexed_iter().find(|(_, bound)| !(0.0..=1.0).contains(*bound)) {
            let place = format!("bounds, labeler {signal}, class {class}");
            return Err(Error::data(place, "an error rate from 0 to 1", bound));
        }
        Ok(Self(bounds))
    }

    /// One bound per labeler, the same for all its classes.
    pub fn per_signal(bounds: &[f64], n_classes: usize) -> Result<Self> {
        Self::new(Array2::from_shape_fn((bounds.len(), n_classes), |(signal, _)| bounds[signal]))
    }

    /// The same bound for everyone.
    pub fn constant(bound: f64, signals: &WeakSignals) -> Result<Self> {
        Self::new(Array2::from_elem((signals.n_signals(), signals.n_classes()), bound))
    }

    /// The soft errors measured on labelled rows, such as a simulation set.
    pub fn measured(signals: &WeakSignals, truth: &Truth) -> Result<Self> {
        let shape = [signals.n_rows(), signals.n_classes()];
        truth.check_shape("true labels for the bounds", shape, ["the signals have", ""])?;
        let one_hot = |row: usize, class: usize| f64::from(u8::from(truth.labels()[row] == class));
        Ok(Self(soft_errors(signals, one_hot, |_| 1.0)))
    }

    /// The soft errors expected when the labels have these probabilities.
    ///
    /// # Panics
    ///
    /// If the labels are not those of the signals' rows and classes.
    pub fn expected(signals: &WeakSignals, labels: &SoftLabels) -> Self {
        Self::expected_of_counts(signals, labels, |_| 1.0)
    }

    /// The same when each row stands for as many as `count` says.
    pub(crate) fn expected_of_counts(
        signals: &WeakSignals,
        labels: &SoftLabels,
        count: impl Fn(usize) -> f64 + Sync,
    ) -> Self {
        let values = labels.values();
        let shape = (signals.n_rows(), signals.n_classes());
        assert_eq!(values.dim(), shape, "labels and signals of the same rows and classes");
        Self(soft_errors(signals, |row, class| values[[row, class]], count))
    }

    /// The bounds, `[n_signals, n_classes]`.
    pub fn values(&self) -> ArrayView2<'_, f64> {
        self.0.view()
    }

    /// Checks that there is one bound for each labeler and class.
    pub(crate) fn check_shape(&self, n_signals: usize, n_classes: usize) -> Result<()> {
        check_labelers("bounds", self.0.dim(), (n_signals, n_classes), "the signals have")
    }
}

/// Mean |p(class) − q| over the rows where q is given; a labeler that never speaks gets 0.
/// `label(row, class)` is p; `count` says for how many rows a row stands.
fn soft_errors(
    signals: &WeakSignals,
    label: impl Fn(usize, usize) -> f64 + Sync,
    count: impl Fn(usize) -> f64 + Sync,
) -> Array2<f64> {
    let (n_signals, n_classes) = (signals.n_signals(), signals.n_classes());
    let (n_rows, n_cells) = (signals.n_rows(), n_signals * n_classes);
    let signals = signals.view();
    // The sums of errors [n_signals, n_classes], then the numbers of rows given, laid out alike.
    let add_rows = |rows: Range<usize>, sums: &mut [f64]| {
        let (errors, n_given) = sums.split_at_mut(n_cells);
        for row in rows {
            let count = count(row);
            signals.for_each_given(row, |cell, class, q| {
                errors[cell] += count * soft_error(label(row, class), f64::from(q));
                n_given[cell] += count;
            });
        }
    };
    let sums = RowChunks::new(n_rows, n_signals, 2 * n_cells).sum(add_rows);
    Array2::from_shape_fn((n_signals, n_classes), |(signal, class)| {
        let cell = signal * n_classes + class;
        // Rounding may carry a mean of ones above one.
        (sums[cell] / sums[n_cells + cell].max(1.0)).min(1.0)
    })
}

/// The expected |1[y = c] − q| when P(y = c) = p.
fn soft_error(p: f64, q: f64) -> f64 {
    p * (1.0 - q) + (1.0 - p) * q
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::label_models::planted::assert_near;
    use crate::votes::Votes;

    #[test]
    fn a_bound_outside_0_and_1_is_an_error() {
        for bound in [-0.1, 1.1, f64::NAN] {
            let error = Bounds::new(array![[0.1, bound]]).unwrap_err();
            assert!(error.to_string().contains("bounds, labeler 0, class 1"), "{error}");
        }
    }

    #[test]
    fn measured_bounds_are_soft_errors_over_given_votes() {
        let votes = Votes::from_indices(array![[0, 1], [1, -1], [0, 1]].view(), None).unwrap();
        let signals = WeakSignals::from_votes(votes).unwrap();
        let truth = Truth::new(vec![0, 1, 1], 2).unwrap();
        let bounds = Bounds::measured(&signals, &truth).unwrap();
        approx::assert_abs_diff_eq!(bounds.values()[[0, 0]], 1.0 / 3.0);
        approx::assert_abs_diff_eq!(bounds.values()[[1, 1]], 0.5);
    }

    #[test]
    fn votes_and_the_same_votes_as_probabilities_have_the_same_errors() {
        let problem = crate::label_models::planted::Planted::new(3000, 3, &[0.5, 0.8], 0.3, 0);
        let shape = (3000, 2, 3);
        let probabilities = ndarray::Array3::from_shape_fn(shape, |(row, signal, class)| {
            problem.signals.probability(row, signal, class).unwrap_or(f32::NAN)
        });
        let as_probabilities = WeakSignals::from_probabilities(probabilities).unwrap();
        let of = |signals| Bounds::measured(signals, &problem.truth).unwrap();
        assert_eq!(of(&problem.signals), of(&as_probabilities));
    }

    #[test]
    fn expected_bounds_weigh_errors_by_the_labels() {
        let signals = WeakSignals::from_class1_probabilities(array![[0.25], [1.0]]).unwrap();
        let labels = SoftLabels::new(array![[0.5, 0.5], [0.1, 0.9]]).unwrap();
        let bounds = Bounds::expected(&signals, &labels);
        // ½ (½·¾ + ½·¼ + 0.9·0 + 0.1·1)
        assert_near(bounds.values(), &array![[0.3, 0.3]], 1e-12);
    }
}
