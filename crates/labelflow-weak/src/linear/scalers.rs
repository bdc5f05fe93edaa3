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
use crate::{Error, Result, ensure};

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

/// What a scaler subtracts from columns, and what it divides them by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalerKind {
    /// The mean and the standard deviation.
    Standard,
    /// The smallest value and the range.
    Range,
}

/// Two numbers for each column, measured in double precision: one is subtracted, and what is left is divided by the other.
///
/// ```
/// use labelflow_weak::linear::Scaler;
/// use ndarray::array;
///
/// let features = array![[1.0f32, 5.0], [3.0, 5.0]];
/// let standard = Scaler::standard(features.view())?;
/// assert_eq!(standard.transform(features.view())?, array![[-1.0, 0.0], [1.0, 0.0]]);
/// assert_eq!(Scaler::range(features.view())?.transform(features.view())?, array![[0.0, 0.0], [1.0, 0.0]]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Scaler {
    kind: ScalerKind,
    shifts: Vec<f64>,
    widths: Vec<f64>,
    limits: Vec<ColumnLimits>,
}

/// What a file holds, not yet checked.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    std: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    limits: Vec<ColumnLimits>,
}

impl From<Scaler> for Stored {
    fn from(Scaler { kind, shifts, widths, limits }: Scaler) -> Self {
        let (shifts, widths) = (Some(shifts), Some(widths));
        match kind {
            ScalerKind::Standard => Self { mean: shifts, std: widths, limits, ..Self::default() },
            ScalerKind::Range => Self { lower: shifts, width: widths, limits, ..Self::default() },
        }
    }
}

impl TryFrom<Stored> for Scaler {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        match stored {
            Stored { mean: Some(mean), std: Some(std), lower: None, width: None, limits } => {
                Self::new(ScalerKind::Standard, mean, std, limits)
            }
            Stored { mean: None, std: None, lower: Some(lower), width: Some(width), limits } => {
                Self::new(ScalerKind::Range, lower, width, limits)
            }
            _ => {
                let found = "others, or one without the other";
                Err(Error::data("stored scaler", "mean and std, or lower and width", found))
            }
        }
    }
}

impl Scaler {
    /// A scaler whose numbers are known, with limits of some columns.
    pub fn new(kind: ScalerKind, shifts: Vec<f64>, widths: Vec<f64>, limits: Vec<ColumnLimits>) -> Result<Self> {
        let names = match kind {
            ScalerKind::Standard => ["means", "standard deviations"],
            ScalerKind::Range => ["lower ends", "widths"],
        };
        check_stored([&shifts, &widths], names)?;
        limits.iter().try_for_each(|limits| limits.check(shifts.len()))?;
        Ok(Self { kind, shifts, widths, limits })
    }

    /// Measures means and deviations of `features`, `[n_rows, d_features]`.
    pub fn standard<T: Copy + Into<f64>>(features: ArrayView2<'_, T>) -> Result<Self> {
        ColumnMoments::of(features)?.standard_scaler()
    }

    /// Measures smallest values and ranges of `features`, `[n_rows, d_features]`.
    pub fn range<T: Copy + Into<f64>>(features: ArrayView2<'_, T>) -> Result<Self> {
        ColumnMoments::of(features)?.range_scaler()
    }

    /// Scales `features`, `[n_rows, d_features]`, by what was measured in the fit.
    pub fn transform<T: Copy + Into<f64>>(&self, features: ArrayView2<'_, T>) -> Result<Array2<f32>> {
        check_columns(features, self.d_features())?;
        Ok(self.scaled(features, |z| z as f32))
    }

    /// (x − shift) / width of each cell, of as many columns as in the fit.
    pub(crate) fn scaled<T: Copy + Into<f64>, Z: Default>(
        &self,
        features: ArrayView2<'_, T>,
        number: impl Fn(f64) -> Z,
    ) -> Array2<Z> {
        let Self { shifts, widths, limits, .. } = self;
        let mut scaled = Array2::default(features.dim());
        for (mut scaled, row) in scaled.axis_iter_mut(Axis(0)).zip(features.axis_iter(Axis(0))) {
            let columns = scaled.iter_mut().zip(row).zip(shifts).zip(widths);
            columns.for_each(|(((z, &x), shift), width)| *z = number((x.into() - shift) / width));
        }
        for &ColumnLimits { column, lower, upper } in limits {
            let cells = scaled.column_mut(column).into_iter().zip(features.column(column));
            cells.for_each(|(z, &x)| *z = number((x.into().clamp(lower, upper) - shifts[column]) / widths[column]));
        }
        scaled
    }

    /// What is subtracted from each column, `[d_features]`: its mean or its smallest value.
    pub fn shifts(&self) -> &[f64] {
        &self.shifts
    }

    /// What each column is divided by, `[d_features]`: its standard deviation or its range; 1 for a constant column.
    pub fn widths(&self) -> &[f64] {
        &self.widths
    }

    /// The number of columns.
    pub fn d_features(&self) -> usize {
        self.shifts.len()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_population() {
        let scaler = Scaler::standard(array![[1.0], [2.0], [3.0], [6.0]].view()).unwrap();
        assert_eq!(scaler.shifts(), [3.0]);
        assert_eq!(scaler.widths(), [3.5f64.sqrt()]);
        let other = scaler.transform(array![[3.0]].view()).unwrap();
        assert_eq!(other, array![[0.0]]);
    }

    #[test]
    fn a_constant_column_becomes_zero() {
        // The sum of many 0.1 is not exact; the deviation must be zero all the same.
        let constant = Array2::from_elem((1001, 1), 0.1f32);
        let scaler = Scaler::standard(constant.view()).unwrap();
        assert_eq!(scaler.widths(), [1.0]);
        assert!(scaler.transform(constant.view()).unwrap().iter().all(|&z| z == 0.0));
    }

    #[test]
    fn bad_tables_are_errors() {
        assert!(Scaler::standard(Array2::<f64>::zeros((0, 2)).view()).is_err());
        assert!(Scaler::standard(array![[f32::NAN]].view()).is_err());
        let scaler = Scaler::standard(array![[1.0, 2.0]].view()).unwrap();
        let error = scaler.transform(array![[1.0]].view()).unwrap_err();
        assert_eq!(error.to_string(), "features: expected 2 columns, as in the fit, found 1");
        assert!(Scaler::new(ScalerKind::Standard, vec![0.0], vec![0.0], Vec::new()).is_err());
    }

    #[test]
    fn training_rows_become_the_unit_interval_and_others_may_leave_it() {
        let scaler = Scaler::range(array![[-2.0f32], [6.0], [0.0]].view()).unwrap();
        assert_eq!(scaler.transform(array![[2.0f32], [10.0]].view()).unwrap(), array![[0.5], [1.5]]);
        assert!(scaler.transform(array![[1.0f32, 2.0]].view()).is_err());
        assert!(Scaler::range(Array2::<f32>::zeros((0, 3)).view()).is_err());
    }

    #[test]
    fn a_stored_scaler_is_checked() {
        let parse = |text: &str| serde_json::from_str::<Scaler>(text);
        assert!(parse(r#"{"lower": [0.0], "width": [2.0]}"#).is_ok());
        assert!(parse(r#"{"lower": [0.0], "width": [0.0]}"#).is_err());
        assert!(parse(r#"{"lower": [0.0, 1.0], "width": [2.0]}"#).is_err());
        let limited = |limits: &str| parse(&format!(r#"{{"lower": [0.0], "width": [2.0], "limits": [{limits}]}}"#));
        let scaler = limited(r#"{"column": 0, "lower": -1.0, "upper": 3.0}"#).unwrap();
        assert_eq!(scaler.transform(array![[9.0], [-9.0], [1.0]].view()).unwrap(), array![[1.5], [-0.5], [0.5]]);
        assert_eq!(serde_json::from_str::<Scaler>(&serde_json::to_string(&scaler).unwrap()).unwrap(), scaler);
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
                Scaler::standard(features.view()).unwrap().transform(features.view()).unwrap();
            let again = Scaler::standard(scaled.view()).unwrap();
            prop_assert!(again.shifts()[0].abs() < 1e-4);
            prop_assert!((again.widths()[0] - 1.0).abs() < 1e-4);
        }
    }
}
