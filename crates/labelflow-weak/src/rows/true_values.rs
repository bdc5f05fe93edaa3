//! True real-valued labels, kept apart from everything that training can see.

use crate::{Error, Result, ensure};

/// True values of the rows of a dataset, in the label's own units. Only evaluation, supervised references and the
/// simulation of rules accept it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrueValues {
    values: Vec<f64>,
}

impl TrueValues {
    /// Checks that there is a row and that every value is finite.
    pub fn new(values: Vec<f64>) -> Result<Self> {
        ensure(!values.is_empty(), || Error::data("true values", "at least one row", 0))?;
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            let place = format!("true values, row {row}");
            return Err(Error::data(place, "a finite number", values[row]).with_hint("drop rows without a label first"));
        }
        Ok(Self { values })
    }

    /// The value of each row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.values.len()
    }

    /// The lowest and the highest value.
    pub fn extremes(&self) -> (f64, f64) {
        let lowest = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (lowest, highest)
    }

    /// The rows with these indices, in this order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self { values: rows.iter().map(|&row| self.values[row]).collect() }
    }

    /// The square root of the mean squared difference from `predicted`, in the label's own units.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn root_mean_squared_error(&self, predicted: &[f64]) -> f64 {
        assert_eq!(predicted.len(), self.values.len(), "one prediction a row");
        let squares = self.values.iter().zip(predicted).map(|(value, p)| (value - p).powi(2));
        (squares.sum::<f64>() / self.values.len() as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_infinite_values_are_errors() {
        assert!(TrueValues::new(Vec::new()).is_err());
        let error = TrueValues::new(vec![1.0, f64::NAN]).unwrap_err().to_string();
        assert!(error.starts_with("true values, row 1: expected a finite number"), "{error}");
    }

    #[test]
    fn the_error_is_that_of_the_textbook() {
        let truth = TrueValues::new(vec![1.0, 2.0, 3.0]).unwrap();
        assert_eq!(truth.root_mean_squared_error(&[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(truth.root_mean_squared_error(&[4.0, 2.0, 6.0]), 6f64.sqrt());
        assert_eq!(truth.extremes(), (1.0, 3.0));
        assert_eq!(truth.select_rows(&[2, 0]).values(), [3.0, 1.0]);
    }
}
