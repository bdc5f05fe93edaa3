//! Features with mean 0 and standard deviation 1.
//!
//! ```text
//! z = (x − mean) / std,   std² = mean of (x − mean)²  (divided by n),   std 0 → 1
//! ```

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::rows::features::{check_columns, check_table};
use crate::{Error, Result};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct StandardScaler {
    mean: Vec<f64>,
    std: Vec<f64>,
}

/// What a file holds, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl TryFrom<Stored> for StandardScaler {
    type Error = Error;

    fn try_from(Stored { mean, std }: Stored) -> Result<Self> {
        Self::new(mean, std)
    }
}

impl StandardScaler {
    /// A scaler whose means and deviations are known.
    pub fn new(mean: Vec<f64>, std: Vec<f64>) -> Result<Self> {
        let usable = mean.len() == std.len()
            && mean.iter().chain(&std).all(|value| value.is_finite())
            && std.iter().all(|&std| std > 0.0);
        if usable {
            return Ok(Self { mean, std });
        }
        let expected = "as many positive standard deviations as means";
        Err(Error::data("stored scaler", expected, format!("means {mean:?}, deviations {std:?}")))
    }

    /// Measures `features`, `[n_rows, d_features]`.
    pub fn fit(features: ArrayView2<'_, f32>) -> Result<Self> {
        check_table(features)?;
        let n_rows = features.nrows() as f64;
        // Sums of differences from the first row: a constant column then has a standard deviation of exactly zero.
        let first: Vec<f64> = features.row(0).iter().map(|&x| f64::from(x)).collect();
        let mut mean = vec![0.0; features.ncols()];
        for row in features.axis_iter(Axis(0)) {
            let columns = mean.iter_mut().zip(&first).zip(row);
            columns.for_each(|((mean, first), &x)| *mean += f64::from(x) - first);
        }
        mean.iter_mut().zip(&first).for_each(|(mean, first)| *mean = first + *mean / n_rows);

        let mut std = vec![0.0; features.ncols()];
        for row in features.axis_iter(Axis(0)) {
            let columns = std.iter_mut().zip(&mean).zip(row);
            columns.for_each(|((sum, mean), &x)| *sum += (f64::from(x) - mean).powi(2));
        }
        for std in &mut std {
            *std = (*std / n_rows).sqrt();
            if *std == 0.0 {
                *std = 1.0;
            }
        }
        Ok(Self { mean, std })
    }

    /// Scales `features`, `[n_rows, d_features]`, by what was measured in the fit.
    pub fn transform(&self, features: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
        check_columns(features, self.mean.len())?;
        let mut scaled = features.to_owned();
        for mut row in scaled.axis_iter_mut(Axis(0)) {
            let columns = row.iter_mut().zip(&self.mean).zip(&self.std);
            columns.for_each(|((x, mean), std)| *x = ((f64::from(*x) - mean) / std) as f32);
        }
        Ok(scaled)
    }

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
