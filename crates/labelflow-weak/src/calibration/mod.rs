//! Probabilities that mean what they say: of rows that are given a class with 80 %, 80 % are of it.
//!
//! A calibration is learned from probabilities of rows and what is known of these rows, and then applied to those of any rows. With true
//! labels of a few hundred rows there are [`Temperature::fit`], of one number, and [`Isotonic::fit`], of a curve for each class. Without any,
//! the labelers' error rates are known all the same: [`Temperature::from_bounds`]. [`ConformalSets`] say which classes a row may have instead
//! of how probable they are.

mod conformal_sets;
mod isotonic;
mod temperature;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use conformal_sets::{ConformalSets, SetMetrics};
pub use isotonic::Isotonic;
pub use temperature::Temperature;

use crate::Result;
use crate::rows::{SoftLabels, Truth};

/// A way to learn a calibration from true labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationMethod {
    /// Isotonic from a hundred rows on, else a temperature.
    #[default]
    Auto,
    /// One number, which never changes the most probable class.
    Temperature,
    /// A curve for each class; wants a hundred rows or more.
    Isotonic,
}

/// Labelled rows from which on curves are better than one number; docs/measurements/calibration.md compares them.
const ENOUGH_FOR_CURVES: usize = 100;

/// What turns probabilities into calibrated ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum Calibration {
    /// One number.
    Temperature(Temperature),
    /// A curve for each class.
    Isotonic(Isotonic),
}

impl Calibration {
    /// Learns from probabilities of rows and their true labels.
    ///
    /// ```
    /// use labelflow_weak::calibration::{Calibration, CalibrationMethod};
    /// use labelflow_weak::rows::{SoftLabels, Truth};
    /// use ndarray::Array2;
    ///
    /// // Always 90 % sure of class 0, and right in three of four rows.
    /// let sure = SoftLabels::new(Array2::from_shape_fn((4, 2), |(_, class)| [0.9, 0.1][class]))?;
    /// let truth = Truth::new(vec![0, 0, 1, 0], 2)?;
    /// let calibration = Calibration::fit(CalibrationMethod::Temperature, &sure, &truth)?;
    /// assert!((calibration.apply(&sure).values()[(0, 0)] - 0.75).abs() < 1e-6);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn fit(method: CalibrationMethod, labels: &SoftLabels, truth: &Truth) -> Result<Self> {
        let is_enough = labels.n_rows() >= ENOUGH_FOR_CURVES;
        match (method, is_enough) {
            (CalibrationMethod::Isotonic, _) | (CalibrationMethod::Auto, true) => {
                Isotonic::fit(labels, truth).map(Self::Isotonic)
            }
            _ => Temperature::fit(labels, truth).map(Self::Temperature),
        }
    }

    /// Calibrated probabilities.
    pub fn apply(&self, labels: &SoftLabels) -> SoftLabels {
        match self {
            Self::Temperature(temperature) => temperature.apply(labels),
            Self::Isotonic(isotonic) => isotonic.apply(labels),
        }
    }

    /// Checks what was read from a file, against the number of classes that it is for.
    pub fn check(&self, n_classes: usize) -> Result<()> {
        match self {
            Self::Temperature(temperature) => temperature.check(),
            Self::Isotonic(isotonic) => isotonic.check(n_classes),
        }
    }
}

/// Checks that there is a true label for each row of scores, of a class that is known.
fn check_truth(scores: ArrayView2<'_, f64>, truth: &Truth) -> Result<()> {
    truth.check_shape("true labels", scores.dim().into(), ["were predicted", ", as the model has"])
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn few_rows_give_one_number_and_many_give_curves() {
        let fit = |n_rows: usize| {
            let labels = Array2::from_shape_fn((n_rows, 2), |(row, class)| {
                let p = (row + 1) as f64 / (n_rows + 2) as f64;
                [p, 1.0 - p][class]
            });
            let truth = (0..n_rows).map(|row| usize::from(row % 3 == 0)).collect();
            let labels = SoftLabels::new(labels).unwrap();
            Calibration::fit(CalibrationMethod::Auto, &labels, &Truth::new(truth, 2).unwrap())
        };
        assert!(matches!(fit(99).unwrap(), Calibration::Temperature(_)));
        assert!(matches!(fit(100).unwrap(), Calibration::Isotonic(_)));
    }
}
