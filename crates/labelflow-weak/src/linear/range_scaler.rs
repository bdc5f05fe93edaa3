//! Features from 0 to 1.
//!
//! ```text
//! z = (x − lower) / width,   width = largest − smallest value,   width 0 → 1
//! ```

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::column_scaler::{check_stored, column_scaler, scaled};
use crate::linear::ColumnMoments;
use crate::{Error, Result};

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
