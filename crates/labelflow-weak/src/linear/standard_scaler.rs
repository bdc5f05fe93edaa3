//! Features with mean 0 and standard deviation 1.
//!
//! ```text
//! z = (x − mean) / std,   std² = mean of (x − mean)²  (divided by n),   std 0 → 1
//! ```

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::column_scaler::{check_stored, column_scaler, scaled};
use crate::linear::ColumnMoments;
use crate::{Error, Result};

column_scaler! {
    /// The mean and standard deviation of each column, computed in double precision.
    ///
    /// ```
    /// use labelflow_weak::linear::StandardScaler;
    /// use ndarray::array;
    ///
    /// let features = array![[1.0f32, 5.0], [3.0, 5.0]];
    /// let scaler = StandardScaler::fit(features.view())?;
    /// assert_eq!(scaler.transform(features.view())?, array![[-1.0, 0.0], [1.0, 0.0]]);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    StandardScaler { mean: "means", std: "standard deviations" }, standard_scaler
}

impl StandardScaler {
    /// The mean of each column, `[d_features]`.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The standard deviation of each column, `[d_features]`; 1 for a constant column.
    pub fn std(&self) -> &[f64] {
        &self.std
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_population() {
        let scaler = StandardScaler::fit(array![[1.0], [2.0], [3.0], [6.0]].view()).unwrap();
        assert_eq!(scaler.mean(), [3.0]);
        assert_eq!(scaler.std(), [3.5f64.sqrt()]);
        let other = scaler.transform(array![[3.0]].view()).unwrap();
        assert_eq!(other, array![[0.0]]);
    }

    #[test]
    fn a_constant_column_becomes_zero() {
        // The sum of many 0.1 is not exact; the deviation must be zero all the same.
        let constant = Array2::from_elem((1001, 1), 0.1f32);
        let scaler = StandardScaler::fit(constant.view()).unwrap();
        assert_eq!(scaler.std(), [1.0]);
        assert!(scaler.transform(constant.view()).unwrap().iter().all(|&z| z == 0.0));
    }

    #[test]
    fn bad_tables_are_errors() {
        assert!(StandardScaler::fit(Array2::zeros((0, 2)).view()).is_err());
        assert!(StandardScaler::fit(array![[f32::NAN]].view()).is_err());
        let scaler = StandardScaler::fit(array![[1.0, 2.0]].view()).unwrap();
        let error = scaler.transform(array![[1.0]].view()).unwrap_err();
        assert_eq!(error.to_string(), "features: expected 2 columns, as in the fit, found 1");
        let stored = Stored { mean: vec![0.0], std: vec![0.0] };
        assert!(StandardScaler::try_from(stored).is_err());
    }

    proptest! {
        #[test]
        fn scaled_columns_have_mean_0_and_deviation_1(
            values in proptest::collection::vec(-1e3f32..1e3, 2..50),
        ) {
            let features = Array2::from_shape_vec((values.len(), 1), values).unwrap();
            let scaled =
                StandardScaler::fit(features.view()).unwrap().transform(features.view()).unwrap();
            let again = StandardScaler::fit(scaled.view()).unwrap();
            prop_assert!(again.mean()[0].abs() < 1e-4);
            prop_assert!((again.std()[0] - 1.0).abs() < 1e-4);
        }
    }
}
