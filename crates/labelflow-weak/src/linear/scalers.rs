//! Scalers: each column has a number that is subtracted and one that it is divided by.
//!
//! ```text
//! standard:  z = (x − mean) / std,     std² = mean of (x − mean)²  (divided by n),   std 0 → 1
//! range:     z = (x − lower) / width,  width = largest − smallest value,             width 0 → 1
//! ```

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::linear::ColumnMoments;
use crate::rows::check_columns;
use crate::{Error, Result, checked_when_read, ensure};

/// Checks numbers that may come from a file.
fn check_stored([shifts, widths]: [&[f64]; 2], [shift, width]: [&str; 2]) -> Result<()> {
    let usable = shifts.len() == widths.len()
        && shifts.iter().chain(widths).all(|value| value.is_finite())
        && widths.iter().all(|&width| width > 0.0);
    ensure(usable, || {
        let expected = format!("as many positive {width} as {shift}");
        Error::data("stored scaler", expected, format!("{shift} {shifts:?}, {width} {widths:?}"))
    })
}

/// The ends of a column, beyond which values are taken for the nearest end: those of a column with outliers, without them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnLimits {
    /// The place of the column.
    pub column: usize,
    /// Smaller values are taken for this.
    pub lower: f64,
    /// Larger values are taken for this.
    pub upper: f64,
}

impl ColumnLimits {
    fn check(&self, d_features: usize) -> Result<()> {
        let Self { column, lower, upper } = *self;
        let usable = column < d_features && lower.is_finite() && upper.is_finite() && lower <= upper;
        ensure(usable, || {
            let expected = format!("limits of one of {d_features} columns, the lower one first");
            Error::data("stored scaler", expected, format!("column {column}, {lower} to {upper}"))
        })
    }
}

/// (x − shift) / width of each column.
fn scaled<T: Copy + Into<f64>>(
    features: ArrayView2<'_, T>,
    shifts: &[f64],
    widths: &[f64],
    limits: &[ColumnLimits],
) -> Result<Array2<f32>> {
    check_columns(features, shifts.len())?;
    let mut scaled = Array2::zeros(features.dim());
    for (mut scaled, row) in scaled.axis_iter_mut(Axis(0)).zip(features.axis_iter(Axis(0))) {
        let columns = scaled.iter_mut().zip(row).zip(shifts).zip(widths);
        columns.for_each(|(((z, &x), shift), width)| *z = ((x.into() - shift) / width) as f32);
    }
    for &ColumnLimits { column, lower, upper } in limits {
        let cells = scaled.column_mut(column).into_iter().zip(features.column(column));
        cells.for_each(|(z, &x)| *z = ((x.into().clamp(lower, upper) - shifts[column]) / widths[column]) as f32);
    }
    Ok(scaled)
}

/// A scaler with these two numbers per column, which [`ColumnMoments`](crate::linear::ColumnMoments) measures.
macro_rules! column_scaler {
    (
        $(#[$about:meta])* $Scaler:ident { $shift:ident: $shifts:literal, $width:ident: $widths:literal }, $measured:ident
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(remote = "Self", deny_unknown_fields)]
        pub struct $Scaler {
            $shift: Vec<f64>,
            $width: Vec<f64>,
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            limits: Vec<ColumnLimits>,
        }

        checked_when_read!($Scaler);

        impl $Scaler {
            /// A scaler whose numbers are known.
            pub fn new($shift: Vec<f64>, $width: Vec<f64>) -> Result<Self> {
                let scaler = Self { $shift, $width, limits: Vec::new() };
                scaler.check()?;
                Ok(scaler)
            }

            /// The same with limits of some columns.
            pub fn with_limits(self, limits: Vec<ColumnLimits>) -> Result<Self> {
                let scaler = Self { limits, ..self };
                scaler.check()?;
                Ok(scaler)
            }

            fn check(&self) -> Result<()> {
                check_stored([&self.$shift, &self.$width], [$shifts, $widths])?;
                self.limits.iter().try_for_each(|limits| limits.check(self.$shift.len()))
            }

            /// Measures `features`, `[n_rows, d_features]`.
            pub fn fit<T: Copy + Into<f64>>(features: ArrayView2<'_, T>) -> Result<Self> {
                let mut moments = ColumnMoments::default();
                moments.push(features)?;
                moments.$measured()
            }

            /// Scales `features`, `[n_rows, d_features]`, by what was measured in the fit.
            pub fn transform<T: Copy + Into<f64>>(&self, features: ArrayView2<'_, T>) -> Result<Array2<f32>> {
                scaled(features, &self.$shift, &self.$width, &self.limits)
            }

            /// The number of columns.
            pub fn d_features(&self) -> usize {
                self.$shift.len()
            }
        }
    };
}

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

    /// Those of columns that had outliers in the fit.
    pub(crate) fn limits(&self) -> &[ColumnLimits] {
        &self.limits
    }
}

column_scaler! {
    /// The smallest value and the range of each column.
    ///
    /// ```
    /// use labelflow_weak::linear::RangeScaler;
    /// use ndarray::array;
    ///
    /// let features = array![[1.0f32, 5.0], [3.0, 5.0]];
    /// let scaler = RangeScaler::fit(features.view())?;
    /// assert_eq!(scaler.transform(features.view())?, array![[0.0, 0.0], [1.0, 0.0]]);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    RangeScaler { lower: "lower ends", width: "widths" }, range_scaler
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
        assert!(StandardScaler::fit(Array2::<f64>::zeros((0, 2)).view()).is_err());
        assert!(StandardScaler::fit(array![[f32::NAN]].view()).is_err());
        let scaler = StandardScaler::fit(array![[1.0, 2.0]].view()).unwrap();
        let error = scaler.transform(array![[1.0]].view()).unwrap_err();
        assert_eq!(error.to_string(), "features: expected 2 columns, as in the fit, found 1");
        assert!(StandardScaler::new(vec![0.0], vec![0.0]).is_err());
    }

    #[test]
    fn training_rows_become_the_unit_interval_and_others_may_leave_it() {
        let scaler = RangeScaler::fit(array![[-2.0f32], [6.0], [0.0]].view()).unwrap();
        assert_eq!(scaler.transform(array![[2.0f32], [10.0]].view()).unwrap(), array![[0.5], [1.5]]);
        assert!(scaler.transform(array![[1.0f32, 2.0]].view()).is_err());
        assert!(RangeScaler::fit(Array2::<f32>::zeros((0, 3)).view()).is_err());
    }

    #[test]
    fn a_stored_scaler_is_checked() {
        let parse = |text: &str| serde_json::from_str::<RangeScaler>(text);
        assert!(parse(r#"{"lower": [0.0], "width": [2.0]}"#).is_ok());
        assert!(parse(r#"{"lower": [0.0], "width": [0.0]}"#).is_err());
        assert!(parse(r#"{"lower": [0.0, 1.0], "width": [2.0]}"#).is_err());
        let limited = |limits: &str| parse(&format!(r#"{{"lower": [0.0], "width": [2.0], "limits": [{limits}]}}"#));
        let scaler = limited(r#"{"column": 0, "lower": -1.0, "upper": 3.0}"#).unwrap();
        assert_eq!(scaler.transform(array![[9.0], [-9.0], [1.0]].view()).unwrap(), array![[1.5], [-0.5], [0.5]]);
        assert_eq!(serde_json::from_str::<RangeScaler>(&serde_json::to_string(&scaler).unwrap()).unwrap(), scaler);
        assert!(limited(r#"{"column": 1, "lower": -1.0, "upper": 3.0}"#).is_err());
        assert!(limited(r#"{"column": 0, "lower": 4.0, "upper": 3.0}"#).is_err());
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
