//! Error bounds b: how often each labeler may err about each class.
//!
//! The error of labeler j about class c is soft, as the constraint measures it:
//!
//! ```text
//! error[j][c] = mean over the rows where q[j][·][c] is given of |1[y = c] − q[j][·][c]|
//! ```

use ndarray::{Array2, ArrayView2};

use crate::{Error, Result, SoftLabels, Truth, WeakSignals};

/// Upper bounds on the soft errors, `[n_signals, n_classes]`, each from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds(Array2<f64>);

impl Bounds {
    /// A bound for every labeler and class.
    pub fn new(bounds: Array2<f64>) -> Result<Self> {
        if let Some(((signal, class), bound)) =
            bounds.indexed_iter().find(|(_, bound)| !(0.0..=1.0).contains(*bound))
        {
            return Err(Error::data(
                format!("bounds, labeler {signal}, class {class}"),
                "an error rate from 0 to 1",
                bound,
            ));
        }
        Ok(Self(bounds))
    }

    /// One bound a labeler, the same for all its classes.
    pub fn per_signal(bounds: &[f64], n_classes: usize) -> Result<Self> {
        Self::new(Array2::from_shape_fn((bounds.len(), n_classes), |(signal, _)| bounds[signal]))
    }

    /// The same bound for everyone.
    pub fn constant(bound: f64, signals: &WeakSignals) -> Result<Self> {
        Self::new(Array2::from_elem((signals.n_signals(), signals.n_classes()), bound))
    }

    /// The soft errors measured on labelled rows, such as a simulation set.
    pub fn measured(signals: &WeakSignals, truth: &Truth) -> Result<Self> {
        if truth.n_rows() != signals.n_rows() {
            return Err(Error::data(
                "true labels for the bounds",
                format!("{} rows, as many as the signals have", signals.n_rows()),
                truth.n_rows(),
            ));
        }
        if truth.n_classes() > signals.n_classes() {
            return Err(Error::data(
                "true labels for the bounds",
                format!("{} classes at most", signals.n_classes()),
                truth.n_classes(),
            ));
        }
        let indicator =
            |row: usize, class: usize| f64::from(u8::from(truth.labels()[row] == class));
        Ok(Self(soft_errors(signals, indicator)))
    }

    /// The soft errors expected when the labels have these probabilities.
    pub fn expected(signals: &WeakSignals, labels: &SoftLabels) -> Self {
        let values = labels.values();
        Self(soft_errors(signals, |row, class| values[[row, class]]))
    }

    /// The bounds, `[n_signals, n_classes]`.
    pub fn values(&self) -> ArrayView2<'_, f64> {
        self.0.view()
    }

    /// Checks that there is one bound for each labeler and class.
    pub(crate) fn check_shape(&self, n_signals: usize, n_classes: usize) -> Result<()> {
        if self.0.dim() == (n_signals, n_classes) {
            return Ok(());
        }
        Err(Error::data(
            "bounds",
            format!("{n_signals} labelers and {n_classes} classes, as the signals have"),
            format!("{} labelers and {} classes", self.0.nrows(), self.0.ncols()),
        ))
    }
}

/// Mean |p(class) − q| over the rows where q is given; a labeler that never speaks gets 0.
fn soft_errors(signals: &WeakSignals, p_class: impl Fn(usize, usize) -> f64) -> Array2<f64> {
    Array2::from_shape_fn((signals.n_signals(), signals.n_classes()), |(signal, class)| {
        let mut sum = 0.0;
        let mut n_given = 0usize;
        for row in 0..signals.n_rows() {
            if let Some(q) = signals.probability(row, signal, class) {
                let (p, q) = (p_class(row, class), f64::from(q));
                sum += p * (1.0 - q) + (1.0 - p) * q;
                n_given += 1;
            }
        }
        sum / n_given.max(1) as f64
    })
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::Votes;

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
}
