//! Features from 0 to 1.
//!
//! ```text
//! z = (x − lower) / width,   width = largest − smallest value,   width 0 → 1
//! ```

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::rows::features::{check_columns, check_table};
use crate::{Error, Result};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct RangeScaler {
    lower: Vec<f64>,
    width: Vec<f64>,
}

/// What a file holds, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    lower: Vec<f64>,
    width: Vec<f64>,
}

impl TryFrom<Stored> for RangeScaler {
    type Error = Error;

    fn try_from(Stored { lower, width }: Stored) -> Result<Self> {
        Self::new(lower, width)
    }
}

impl RangeScaler {
    /// A scaler whose lower ends and widths are known.
    pub fn new(lower: Vec<f64>, width: Vec<f64>) -> Result<Self> {
        let usable = lower.len() == width.len()
            && lower.iter().chain(&width).all(|value| value.is_finite())
            && width.iter().all(|&width| width > 0.0);
        if usable {
            return Ok(Self { lower, width });
        }
        let expected = "as many positive widths as lower ends";
        Err(Error::data("stored scaler", expected, format!("lower {lower:?}, widths {width:?}")))
    }

    /// Measures `features`, `[n_rows, d_features]`.
    pub fn fit(features: ArrayView2<'_, f32>) -> Result<Self> {
        check_table(features)?;
        let ends = |column: ndarray::ArrayView1<'_, f32>| {
            column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lower, upper), &x| {
                (lower.min(f64::from(x)), upper.max(f64::from(x)))
            })
        };
        let (lower, width) = features
            .axis_iter(Axis(1))
            .map(|column| {
                let (lower, upper) = ends(column);
                (lower, if upper > lower { upper - lower } else { 1.0 })
            })
            .unzip();
        Ok(Self { lower, width })
    }

    /// The number of columns.
    pub fn d_features(&self) -> usize {
        self.lower.len()
    }

    /// Scales `features`, `[n_rows, d_features]`, by what was measured in the fit.
    pub fn transform(&self, features: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
        check_columns(features, self.lower.len())?;
        let mut scaled = features.to_owned();
        for mut row in scaled.axis_iter_mut(Axis(0)) {
            let columns = row.iter_mut().zip(&self.lower).zip(&self.width);
            columns.for_each(|((x, lower), width)| *x = ((f64::from(*x) - lower) / width) as f32);
        }
        Ok(scaled)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn training_rows_become_the_unit_interval_and_others_may_leave_it() {
        let scaler = RangeScaler::fit(array![[-2.0f32], [6.0], [0.0]].view()).unwrap();
        assert_eq!(
            scaler.transform(array![[2.0f32], [10.0]].view()).unwrap(),
            array![[0.5], [1.5]]
        );
        assert!(scaler.transform(array![[1.0f32, 2.0]].view()).is_err());
        assert!(RangeScaler::fit(Array2::<f32>::zeros((0, 3)).view()).is_err());
    }

    #[test]
    fn a_stored_scaler_is_checked() {
        let parse = |text: &str| serde_json::from_str::<RangeScaler>(text);
        assert!(parse(r#"{"lower": [0.0], "width": [2.0]}"#).is_ok());
        assert!(parse(r#"{"lower": [0.0], "width": [0.0]}"#).is_err());
        assert!(parse(r#"{"lower": [0.0, 1.0], "width": [2.0]}"#).is_err());
    }
}
