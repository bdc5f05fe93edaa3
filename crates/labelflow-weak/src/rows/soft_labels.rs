//! Probabilistic labels.

use ndarray::{Array2, ArrayView2, Axis};

use crate::{Error, Result};

/// Probabilities of each class for each row, `[n_rows, n_classes]`; every row sums to one.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftLabels(Array2<f64>);

impl SoftLabels {
    /// Checks that every row is a distribution, to within 1e-6.
    pub fn new(probabilities: Array2<f64>) -> Result<Self> {
        for (row, p) in probabilities.axis_iter(Axis(0)).enumerate() {
            let sum = p.sum();
            if !(sum - 1.0).abs().le(&1e-6) || p.iter().any(|&p| p < 0.0) {
                let place = format!("soft labels, row {row}");
                return Err(Error::data(place, "probabilities that sum to 1", p));
            }
        }
        Ok(Self(probabilities))
    }

    /// Scales non-negative weights so that each row sums to one; a row of zeros becomes uniform.
    ///
    /// # Panics
    ///
    /// If a weight is negative or not finite.
    pub fn normalized(mut weights: Array2<f64>) -> Self {
        let uniform = 1.0 / weights.ncols() as f64;
        for mut row in weights.axis_iter_mut(Axis(0)) {
            assert!(
                row.iter().all(|&weight| weight >= 0.0 && weight.is_finite()),
                "label weights must be finite and not negative: {row}"
            );
            let sum = row.sum();
            if sum > 0.0 {
                row /= sum;
            } else {
                row.fill(uniform);
            }
        }
        Self(weights)
    }

    /// As [`normalized`](Self::normalized), with an error instead of a panic: a label model that was read from a file may hold anything.
    pub(crate) fn try_normalized(weights: Array2<f64>) -> Result<Self> {
        match weights.iter().find(|&&weight| !(weight >= 0.0 && weight.is_finite())) {
            None => Ok(Self::normalized(weights)),
            Some(found) => Err(Error::data("labels", "weights that are finite and not negative", found)
                .with_hint("the label model is damaged, or its settings are extreme")),
        }
    }

    /// The probabilities, `[n_rows, n_classes]`.
    pub fn values(&self) -> ArrayView2<'_, f64> {
        self.0.view()
    }

    /// The rows with these indices, in this order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self(self.0.select(Axis(0), rows))
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.0.nrows()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.0.ncols()
    }

    /// The most probable class of each row; ties go to the lowest class.
    pub fn argmax(&self) -> Vec<usize> {
        let rows = self.0.rows().into_iter();
        rows.map(|row| (0..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best }))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn rows_are_distributions() {
        assert!(SoftLabels::new(array![[0.5, 0.5], [0.9, 0.2]]).is_err());
        assert!(SoftLabels::new(array![[f64::NAN, 0.5]]).is_err());
        let labels = SoftLabels::normalized(array![[1.0, 3.0], [0.0, 0.0]]);
        assert_eq!(labels.values(), array![[0.25, 0.75], [0.5, 0.5]]);
        assert_eq!(labels.argmax(), [1, 0]);
    }
}
