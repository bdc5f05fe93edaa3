//! What scalers must know of features, from one pass over rows that need not be in memory.
//!
//! ```text
//! of a part:   mean_b, S_b = Σ (x − mean_b)²
//! together:    δ = mean_b − mean,   mean += δ n_b / n,   S += S_b + δ² n_a n_b / n       n = n_a + n_b
//! ```

use ndarray::{ArrayView2, Axis};

use crate::linear::{RangeScaler, StandardScaler};
use crate::rows::{check_columns, check_table};
use crate::{Error, Result, ensure};

/// Means, deviations and ends of columns, part after part.
///
/// ```
/// use labelflow_weak::linear::{ColumnMoments, StandardScaler};
/// use ndarray::array;
///
/// let mut moments = ColumnMoments::default();
/// moments.push(array![[1.0f32], [2.0]].view())?;
/// moments.push(array![[3.0f32], [6.0]].view())?;
/// assert_eq!(moments.standard_scaler()?.mean(), [3.0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnMoments {
    n_rows: u64,
    columns: Vec<Moments>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Moments {
    mean: f64,
    squares: f64,
    lower: f64,
    upper: f64,
}

impl Moments {
    /// Those of each column. Rows are read one after the other, as they lie in memory.
    fn of<T: Copy + Into<f64>>(rows: ArrayView2<'_, T>) -> Vec<Self> {
        let n_rows = rows.nrows() as f64;
        // Means are sums of differences from the first row: a constant column then has a deviation of exactly zero.
        let first = rows.row(0).mapv(Into::into);
        let none = |_: &f64| Self { mean: 0.0, squares: 0.0, lower: f64::INFINITY, upper: f64::NEG_INFINITY };
        let mut columns: Vec<Self> = first.iter().map(none).collect();
        for row in rows.axis_iter(Axis(0)) {
            for ((column, first), &x) in columns.iter_mut().zip(&first).zip(row) {
                let x = x.into();
                column.mean += x - first;
                (column.lower, column.upper) = (column.lower.min(x), column.upper.max(x));
            }
        }
        columns.iter_mut().zip(&first).for_each(|(column, first)| column.mean = first + column.mean / n_rows);
        for row in rows.axis_iter(Axis(0)) {
            let columns = columns.iter_mut().zip(row);
            columns.for_each(|(column, &x)| column.squares += (x.into() - column.mean).powi(2));
        }
        columns
    }

    fn add(&mut self, n_rows: f64, other: Self, n_other: f64) {
        let n_all = n_rows + n_other;
        let difference = other.mean - self.mean;
        self.mean += difference * n_other / n_all;
        self.squares += other.squares + difference.powi(2) * n_rows * n_other / n_all;
        self.lower = self.lower.min(other.lower);
        self.upper = self.upper.max(other.upper);
    }
}

impl ColumnMoments {
    /// Adds rows, `[n_rows, d_features]`.
    pub fn push<T: Copy + Into<f64>>(&mut self, rows: ArrayView2<'_, T>) -> Result<()> {
        check_table(rows)?;
        let parts = Moments::of(rows);
        if self.n_rows == 0 {
            self.columns = parts;
        } else {
            check_columns(rows, self.columns.len())?;
            let (n_rows, n_other) = (self.n_rows as f64, rows.nrows() as f64);
            let columns = self.columns.iter_mut().zip(parts);
            columns.for_each(|(column, part)| column.add(n_rows, part, n_other));
        }
        self.n_rows += rows.nrows() as u64;
        Ok(())
    }

    /// Number of rows so far.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Mean 0 and deviation 1 on these rows.
    pub fn standard_scaler(&self) -> Result<StandardScaler> {
        self.check_any()?;
        let std = |column: &Moments| one_for_zero((column.squares / self.n_rows as f64).sqrt());
        let mean = self.columns.iter().map(|column| column.mean).collect();
        StandardScaler::new(mean, self.columns.iter().map(std).collect())
    }

    /// From 0 to 1 on these rows.
    pub fn range_scaler(&self) -> Result<RangeScaler> {
        self.check_any()?;
        let width = |column: &Moments| one_for_zero(column.upper - column.lower);
        let lower = self.columns.iter().map(|column| column.lower).collect();
        RangeScaler::new(lower, self.columns.iter().map(width).collect())
    }

    fn check_any(&self) -> Result<()> {
        ensure(self.n_rows > 0, || Error::data("features", "at least one row", "none"))
    }
}

/// What a column is divided by; a constant one stays as it is.
fn one_for_zero(width: f64) -> f64 {
    if width == 0.0 { 1.0 } else { width }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_constant_column_stays_constant() {
        let constant = Array2::from_elem((1001, 1), 0.1f32);
        let mut moments = ColumnMoments::default();
        for part in constant.axis_chunks_iter(Axis(0), 7) {
            moments.push(part).unwrap();
        }
        assert_eq!(moments.standard_scaler().unwrap(), StandardScaler::fit(constant.view()).unwrap());
        assert_eq!(moments.range_scaler().unwrap(), RangeScaler::fit(constant.view()).unwrap());
    }

    #[test]
    fn no_rows_and_other_columns_are_errors() {
        assert!(ColumnMoments::default().standard_scaler().is_err());
        let mut moments = ColumnMoments::default();
        assert!(moments.push(Array2::<f64>::zeros((0, 2)).view()).is_err());
        moments.push(Array2::<f64>::zeros((1, 2)).view()).unwrap();
        assert!(moments.push(Array2::<f64>::zeros((1, 3)).view()).is_err());
        assert!(moments.push(Array2::from_elem((1, 2), f32::NAN).view()).is_err());
        assert_eq!(moments.n_rows(), 1);
    }

    proptest! {
        #[test]
        fn parts_are_measured_as_the_whole(
            values in proptest::collection::vec(-1e3f32..1e3, 2..60), far in 0f32..1e6, cut in 1usize..59,
        ) {
            let values: Vec<f32> = values.iter().map(|value| value + far).collect();
            let rows = Array2::from_shape_vec((values.len(), 1), values).unwrap();
            let cut = cut.min(rows.nrows() - 1);
            let mut moments = ColumnMoments::default();
            moments.push(rows.slice(s![..cut, ..])).unwrap();
            moments.push(rows.slice(s![cut.., ..])).unwrap();
            let (found, expected) =
                (moments.standard_scaler().unwrap(), StandardScaler::fit(rows.view()).unwrap());
            prop_assert!((found.mean()[0] - expected.mean()[0]).abs() <= 1e-9 * (1.0 + far as f64));
            prop_assert!((found.std()[0] - expected.std()[0]).abs() <= 1e-9 * (1.0 + far as f64));
            prop_assert_eq!(moments.range_scaler().unwrap(), RangeScaler::fit(rows.view()).unwrap());
        }
    }
}
