//! Rows of which most cells are zero: only the others are kept.
//!
//! ```text
//! row i:   columns[starts[i] .. starts[i + 1]],  values[starts[i] .. starts[i + 1]]
//! ```

use ndarray::{ArrayView2, Axis};

use crate::rows::check_columns;
use crate::{Error, Result, ensure};

/// A table of finite numbers that keeps the cells that are not zero, row by row (compressed sparse rows).
///
/// ```
/// use labelflow_weak::rows::SparseRows;
/// use ndarray::array;
///
/// let rows = SparseRows::from_dense(array![[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]].view())?;
/// assert_eq!(rows.row(1), (&[0, 2][..], &[1.0, 3.0][..]));
/// assert_eq!(rows, SparseRows::new(vec![0, 1, 3], vec![1, 0, 2], vec![2.0, 1.0, 3.0], 3)?);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    n_columns: usize,
}

impl SparseRows {
    /// Rows whose cells are known: those of row `i` are at `starts[i]..starts[i + 1]`, their columns ascend.
    ///
    /// Cells may hold zero. A column that a row names twice is an error: nothing is added up.
    pub fn new(starts: Vec<usize>, columns: Vec<u32>, values: Vec<f32>, n_columns: usize) -> Result<Self> {
        ensure(columns.len() == values.len(), || {
            Error::data("sparse rows", format!("{} values, one for each column", columns.len()), values.len())
        })?;
        let ends = (starts.first().copied(), starts.last().copied());
        ensure(ends == (Some(0), Some(values.len())) && starts.is_sorted(), || {
            let expected = format!("starts of rows that ascend from 0 to {}", values.len());
            let found = match ends {
                (Some(first), Some(last)) => format!("{first} to {last}, among {} starts", starts.len()),
                _ => "none".to_owned(),
            };
            Error::data("sparse rows", expected, found)
        })?;
        for (row, ends) in starts.windows(2).enumerate() {
            let columns = &columns[ends[0]..ends[1]];
            if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
                let found = format!("column {} before {}", pair[0], pair[1]);
                return Err(Error::data(format!("sparse rows, row {row}"), "columns that ascend", found));
            }
            ensure(columns.last().is_none_or(|&last| (last as usize) < n_columns), || {
                let found = format!("column {}", columns[columns.len() - 1]);
                Error::data(format!("sparse rows, row {row}"), format!("one of {n_columns} columns"), found)
            })?;
            if let Some(cell) = (ends[0]..ends[1]).find(|&cell| !values[cell].is_finite()) {
                let place = format!("sparse rows, row {row}, column {}", columns[cell - ends[0]]);
                return Err(Error::data(place, "a finite number", values[cell]));
            }
        }
        Ok(Self { starts, columns, values, n_columns })
    }

    /// The cells of a table, `[n_rows, n_columns]`, that are not zero.
    pub fn from_dense(rows: ArrayView2<'_, f32>) -> Result<Self> {
        check_columns(rows, rows.ncols())?;
        ensure(u32::try_from(rows.ncols()).is_ok(), || {
            Error::data("features", format!("at most {} columns", u32::MAX), rows.ncols())
        })?;
        let n_values = rows.iter().filter(|&&value| value != 0.0).count();
        let (mut columns, mut values) = (Vec::with_capacity(n_values), Vec::with_capacity(n_values));
        let mut starts = Vec::with_capacity(rows.nrows() + 1);
        starts.push(0);
        for row in rows.axis_iter(Axis(0)) {
            for (column, &value) in (0..).zip(row).filter(|&(_, &value)| value != 0.0) {
                columns.push(column);
                values.push(value);
            }
            starts.push(values.len());
        }
        Ok(Self { starts, columns, values, n_columns: rows.ncols() })
    }

    /// The columns of the cells of a row, ascending, and what the cells hold.
    ///
    /// # Panics
    ///
    /// If `row` is out of range.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let cells = self.starts[row]..self.starts[row + 1];
        (&self.columns[cells.clone()], &self.values[cells])
    }

    /// The rows with these indices, in this order.
    ///
    /// # Panics
    ///
    /// If an index is out of range.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let n_values = rows.iter().map(|&row| self.row(row).0.len()).sum();
        let (mut columns, mut values) = (Vec::with_capacity(n_values), Vec::with_capacity(n_values));
        let mut starts = Vec::with_capacity(rows.len() + 1);
        starts.push(0);
        for &row in rows {
            let (columns_of_row, values_of_row) = self.row(row);
            columns.extend_from_slice(columns_of_row);
            values.extend_from_slice(values_of_row);
            starts.push(values.len());
        }
        Self { starts, columns, values, n_columns: self.n_columns }
    }

    /// The share of cells that are kept; 0 of a table without cells.
    pub fn density(&self) -> f64 {
        let n_cells = self.n_rows() as f64 * self.n_columns as f64;
        if n_cells == 0.0 { 0.0 } else { self.values.len() as f64 / n_cells }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn rows_without_cells_are_rows() {
        let rows = SparseRows::from_dense(array![[0.0, 0.0], [0.0, -1.5], [0.0, 0.0]].view()).unwrap();
        assert_eq!((rows.n_rows(), rows.n_columns()), (3, 2));
        assert_eq!(rows.row(0), (&[][..], &[][..]));
        assert_eq!(rows.row(1), (&[1][..], &[-1.5][..]));
        assert_eq!(rows.density(), 1.0 / 6.0);
        let none = SparseRows::from_dense(Array2::zeros((0, 2)).view()).unwrap();
        assert_eq!((none.n_rows(), none.density()), (0, 0.0));
    }

    #[test]
    fn selected_rows_are_those_of_the_table() {
        let table = array![[0.0, 1.0], [2.0, 3.0], [0.0, 0.0]];
        let rows = SparseRows::from_dense(table.view()).unwrap();
        let selected = table.select(Axis(0), &[2, 1, 1, 0]);
        assert_eq!(rows.select_rows(&[2, 1, 1, 0]), SparseRows::from_dense(selected.view()).unwrap());
        assert_eq!(rows.select_rows(&[]).n_rows(), 0);
    }

    #[test]
    fn bad_parts_are_errors() {
        let new = |starts: &[usize], columns: &[u32], values: &[f32]| {
            SparseRows::new(starts.to_vec(), columns.to_vec(), values.to_vec(), 3).map_err(|error| error.to_string())
        };
        assert!(new(&[0, 2], &[0, 2], &[1.0, 0.0]).is_ok());
        assert!(new(&[0], &[], &[]).is_ok());
        let error = new(&[0, 2], &[1, 1], &[1.0, 2.0]).unwrap_err();
        assert_eq!(error, "sparse rows, row 0: expected columns that ascend, found column 1 before 1");
        assert!(new(&[0, 2], &[0, 3], &[1.0, 2.0]).unwrap_err().contains("one of 3 columns"));
        assert!(new(&[0, 1], &[0], &[f32::NAN]).unwrap_err().contains("row 0, column 0: expected a finite number"));
        assert!(new(&[0, 1], &[0, 1], &[1.0]).is_err());
        for starts in [&[][..], &[0], &[1, 2], &[0, 1], &[0, 3], &[0, 2, 1, 2]] {
            assert!(new(starts, &[0, 1], &[1.0, 2.0]).unwrap_err().contains("ascend from 0 to 2"), "{starts:?}");
        }
        assert!(SparseRows::from_dense(array![[0.0, f32::INFINITY]].view()).is_err());
    }
}
