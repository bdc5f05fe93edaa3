//! What scalers must know of features, from one pass over rows that need not be in memory.
//!
//! ```text
//! of a part:   mean_b, S_b = Σ (x − mean_b)²
//! together:    δ = mean_b − mean,   mean += δ n_b / n,   S += S_b + δ² n_a n_b / n       n = n_a + n_b
//! ```

use ndarray::{ArrayView2, Axis};

use super::extreme_cells::{Cell, ExtremeCells, Rest, Spread};
use crate::linear::{ColumnLimits, Scaler, ScalerKind};
use crate::rows::{check_columns, check_table};
use crate::{Error, Result, ensure};

/// Means, deviations and ends of columns, part after part.
///
/// ```
/// use labelflow_weak::linear::ColumnMoments;
/// use ndarray::array;
///
/// let mut moments = ColumnMoments::default();
/// moments.push(array![[1.0f32], [2.0]].view())?;
/// moments.push(array![[3.0f32], [6.0]].view())?;
/// assert_eq!(moments.standard_scaler()?.shifts(), [3.0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnMoments {
    n_rows: u64,
    columns: Vec<Spread>,
    extremes: Vec<ExtremeCells>,
}

/// A cell so far from the others of its column that scalers leave it out, see [`ColumnMoments::outliers`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// The place of the column.
    pub column: usize,
    /// The row, counted from 0.
    pub row: u64,
    /// What the cell holds.
    pub value: f64,
}

/// The spread of each column. Rows are read one after the other, as they lie in memory.
fn spreads<T: Copy + Into<f64>>(rows: ArrayView2<'_, T>) -> Vec<Spread> {
    let n = rows.nrows() as f64;
    // Means are sums of differences from the first row: a constant column then has a deviation of exactly zero.
    let first = rows.row(0).mapv(Into::into);
    let mut columns = vec![Spread { n, ..Spread::default() }; first.len()];
    for row in rows.axis_iter(Axis(0)) {
        for ((column, first), &x) in columns.iter_mut().zip(&first).zip(row) {
            let x = x.into();
            column.mean += x - first;
            (column.lower, column.upper) = (column.lower.min(x), column.upper.max(x));
        }
    }
    columns.iter_mut().zip(&first).for_each(|(column, first)| column.mean = first + column.mean / n);
    for row in rows.axis_iter(Axis(0)) {
        let columns = columns.iter_mut().zip(row);
        columns.for_each(|(column, &x)| column.squares += (x.into() - column.mean).powi(2));
    }
    columns
}

impl ColumnMoments {
    /// Of all rows, `[n_rows, d_features]`.
    pub fn of<T: Copy + Into<f64>>(rows: ArrayView2<'_, T>) -> Result<Self> {
        let mut moments = Self::default();
        moments.push(rows)?;
        Ok(moments)
    }

    /// Adds rows, `[n_rows, d_features]`.
    pub fn push<T: Copy + Into<f64>>(&mut self, rows: ArrayView2<'_, T>) -> Result<()> {
        check_table(rows)?;
        let parts = spreads(rows);
        if self.n_rows == 0 {
            self.columns = parts;
        } else {
            check_columns(rows, self.columns.len())?;
            self.columns.iter_mut().zip(parts).for_each(|(column, part)| column.merge(part));
        }
        self.extremes.resize(rows.ncols(), ExtremeCells::default());
        for (row, cells) in (self.n_rows..).zip(rows.axis_iter(Axis(0))) {
            self.extremes.iter_mut().zip(cells).for_each(|(column, &x)| column.add(row, x.into()));
        }
        self.n_rows += rows.nrows() as u64;
        Ok(())
    }

    /// Number of rows so far.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Mean 0 and deviation 1 on these rows; outliers are left out, and become the most extreme of the others.
    pub fn standard_scaler(&self) -> Result<Scaler> {
        self.scaler(ScalerKind::Standard, |spread| (spread.mean, spread.deviation()))
    }

    /// From 0 to 1 on these rows; outliers are left out, and become 0 or 1.
    pub fn range_scaler(&self) -> Result<Scaler> {
        self.scaler(ScalerKind::Range, |spread| (spread.lower, spread.upper - spread.lower))
    }

    /// The cells that scalers leave out, at most 16 in a column: without the nearest of them alone the rest of the column would be less
    /// than a twentieth as wide.
    pub fn outliers(&self) -> Vec<Outlier> {
        let of_column = |(column, extremes): (usize, &ExtremeCells)| {
            let cells = extremes.rest(self.n_rows).map(|rest| rest.outliers).unwrap_or_default();
            cells.into_iter().map(move |Cell { row, value }| Outlier { column, row, value })
        };
        self.extremes.iter().enumerate().flat_map(of_column).collect()
    }

    fn scaler(&self, kind: ScalerKind, measure: impl Fn(&Spread) -> (f64, f64)) -> Result<Scaler> {
        ensure(self.n_rows > 0, || Error::data("features", "at least one row", "none"))?;
        let (mut shifts, mut widths, mut limits) = (Vec::new(), Vec::new(), Vec::new());
        for (column, (all, extremes)) in self.columns.iter().zip(&self.extremes).enumerate() {
            let rest = extremes.rest(self.n_rows).map(|Rest { spread, .. }| spread);
            limits.extend(rest.map(|Spread { lower, upper, .. }| ColumnLimits { column, lower, upper }));
            let (shift, width) = measure(&rest.unwrap_or(*all));
            ensure(shift.is_finite() && width.is_finite(), || {
                let found = format!("{:e} to {:e}", all.lower, all.upper);
                Error::data(
                    format!("features, column {column}"),
                    "numbers whose squares are no larger than 1e308",
                    found,
                )
                .with_hint("take another unit")
            })?;
            shifts.push(shift);
            // What a column is divided by; a constant one stays as it is.
            widths.push(if width == 0.0 { 1.0 } else { width });
        }
        Scaler::new(kind, shifts, widths, limits)
    }

    /// The smallest and the largest value of a column.
    pub(crate) fn range(&self, column: usize) -> [f64; 2] {
        [self.columns[column].lower, self.columns[column].upper]
    }

    /// The mean and the variance of a column.
    pub(crate) fn mean_and_variance(&self, column: usize) -> [f64; 2] {
        let moments = &self.columns[column];
        [moments.mean, moments.squares / self.n_rows as f64]
    }

    /// Whether nearly all cells of a column are equal.
    pub(crate) fn is_nearly_constant(&self, column: usize) -> bool {
        self.extremes[column].is_nearly_constant(self.n_rows)
    }
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
        assert_eq!(moments.standard_scaler().unwrap(), Scaler::standard(constant.view()).unwrap());
        assert_eq!(moments.range_scaler().unwrap(), Scaler::range(constant.view()).unwrap());
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

    #[test]
    fn a_cell_that_would_flatten_its_column_is_left_out_the_same_in_memory_and_in_parts() {
        let mut rows = Array2::from_shape_fn((300, 2), |(row, column)| ((row * (37 + column)) % 100) as f64);
        let ordinary = Scaler::standard(rows.view()).unwrap();
        rows[[17, 1]] = 3e38;
        let scaler = Scaler::standard(rows.view()).unwrap();
        assert_eq!((scaler.shifts()[0], scaler.widths()[0]), (ordinary.shifts()[0], ordinary.widths()[0]));
        assert!(
            (scaler.shifts()[1] - ordinary.shifts()[1]).abs() < 0.5
                && (scaler.widths()[1] / ordinary.widths()[1] - 1.0).abs() < 0.01
        );
        let scaled = scaler.transform(rows.view()).unwrap();
        let largest = scaled.column(1).iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(scaled[[17, 1]], largest);
        assert!(largest < 2.0);
        for chunk in [1, 7, 299] {
            let mut moments = ColumnMoments::default();
            rows.axis_chunks_iter(Axis(0), chunk).for_each(|part| moments.push(part).unwrap());
            let outlier = Outlier { column: 1, row: 17, value: 3e38 };
            assert_eq!(moments.outliers(), [outlier]);
            let of_parts = moments.standard_scaler().unwrap();
            assert_eq!((of_parts.shifts()[1], of_parts.widths()[1]), (scaler.shifts()[1], scaler.widths()[1]));
            assert_eq!(moments.range_scaler().unwrap().transform(rows.view()).unwrap()[[17, 1]], 1.0);
        }
    }

    #[test]
    fn a_shift_far_from_zero_changes_nothing() {
        let rows = Array2::from_shape_fn((200, 1), |(row, _)| (row * 37 % 100) as f64 / 64.0);
        let scale = |rows: Array2<f64>| Scaler::standard(rows.view()).unwrap().transform(rows.view()).unwrap();
        let (near, far) = (scale(rows.clone()), scale(rows + 1e9));
        assert!(near.iter().zip(&far).all(|(near, far)| (near - far).abs() < 1e-5));
    }

    #[test]
    fn numbers_without_squares_are_an_error() {
        let rows = Array2::from_shape_fn((40, 1), |(row, _)| row as f64 * 1e300);
        let error = Scaler::standard(rows.view()).unwrap_err().to_string();
        assert!(error.starts_with("features, column 0: expected numbers whose squares"), "{error}");
        let mut moments = ColumnMoments::default();
        moments.push(rows.view()).unwrap();
        assert_eq!(moments.outliers(), []);
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
                (moments.standard_scaler().unwrap(), Scaler::standard(rows.view()).unwrap());
            prop_assert!((found.shifts()[0] - expected.shifts()[0]).abs() <= 1e-9 * (1.0 + far as f64));
            prop_assert!((found.widths()[0] - expected.widths()[0]).abs() <= 1e-9 * (1.0 + far as f64));
            prop_assert_eq!(moments.range_scaler().unwrap(), Scaler::range(rows.view()).unwrap());
        }
    }
}
