//! What looks wrong in the features of rows that a trained model is asked about.
//!
//! Fewer kinds than in a fit. New rows may be those of one day or of one place, so that a constant column is no finding, nor are columns that
//! happen to agree on some dozens of rows.

use serde::Serialize;

use super::feature_warnings::{LEAST_ROWS, hold, more_cells};
use super::{FeatureTally, FeatureWarning};

/// In fewer rows, columns may agree and a cell may be far off by chance.
const MANY_ROWS: u64 = 100;

/// What looks wrong in the features of new rows. Shown, it is a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NewRowWarning {
    /// No column tells any row from another.
    #[error(
        "every column is constant in all {n_rows} rows, so that all of them get the same label: check how they were made"
    )]
    NothingVaries {
        /// Number of rows.
        n_rows: u64,
    },
    /// Columns with the numbers of earlier ones.
    #[error("{} the same numbers as an earlier column: check that none was copied by mistake", hold(.columns))]
    DuplicateColumns {
        /// Their names.
        columns: Vec<String>,
        /// The first column with the same numbers, for each.
        of: Vec<String>,
    },
    /// A column that looks like a number of the row.
    #[error(
        "the column '{column}' looks like an identifier, which says nothing of rows that the model was not trained on: \
         train without it"
    )]
    IdentifierColumn {
        /// Its name.
        column: String,
    },
    /// A column that is called like the true labels.
    #[error(
        "the column '{column}' is named like true labels; if it holds them, the model repeats them and fails where they are \
         not known: train without it"
    )]
    LabelColumn {
        /// Its name.
        column: String,
    },
    /// Cells that are far from all others of their column.
    #[error(
        "the column '{column}' is {value:e} in row {row}{}, so far from all others that it may be a mistake: check it",
        more_cells(*.n_cells)
    )]
    OutlierCells {
        /// The name of the column.
        column: String,
        /// The row of the farthest one, counted from 0.
        row: u64,
        /// What it holds.
        value: f64,
        /// Number of such cells in the column.
        n_cells: usize,
    },
}

impl FeatureTally {
    /// What looks wrong, if these are rows that a trained model is asked about.
    ///
    /// ```
    /// use labelflow_weak::warnings::FeatureTally;
    /// use ndarray::Array2;
    ///
    /// let mut tally = FeatureTally::new(&["age".to_owned(), "unit".to_owned()], &[]);
    /// tally.add(Array2::ones((3, 2)).view(), None)?;
    /// assert_eq!(tally.new_row_warnings(), []);
    /// tally.add(Array2::ones((20, 2)).view(), None)?;
    /// assert!(tally.new_row_warnings()[0].to_string().starts_with("every column is constant in all 23 rows"));
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn new_row_warnings(&self) -> Vec<NewRowWarning> {
        let n_rows = self.moments().n_rows();
        let of_new_rows = |warning| match warning {
            FeatureWarning::NothingVaries { .. } if n_rows >= LEAST_ROWS => {
                Some(NewRowWarning::NothingVaries { n_rows })
            }
            FeatureWarning::DuplicateColumns { columns, of } if n_rows >= MANY_ROWS => {
                Some(NewRowWarning::DuplicateColumns { columns, of })
            }
            FeatureWarning::IdentifierColumn { column } => Some(NewRowWarning::IdentifierColumn { column }),
            FeatureWarning::LabelColumn { column } => Some(NewRowWarning::LabelColumn { column }),
            FeatureWarning::OutlierCells { column, row, value, n_cells } if n_rows >= MANY_ROWS => {
                Some(NewRowWarning::OutlierCells { column, row, value, n_cells })
            }
            _ => None,
        };
        self.warnings().into_iter().filter_map(of_new_rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    fn warnings(names: &[&str], n_rows: usize, cell: impl Fn(usize, usize) -> f64) -> Vec<NewRowWarning> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut tally = FeatureTally::new(&names, &[]);
        tally
            .add(Array2::from_shape_fn((n_rows, names.len()), |(row, column)| cell(row, column)).view(), None)
            .unwrap();
        tally.new_row_warnings()
    }

    /// Numbers without a pattern.
    fn noise(row: usize, column: usize) -> f64 {
        ((row * 7919 + column * 104_729 + row * row * 31) % 1009) as f64 / 64.0
    }

    #[test]
    fn a_constant_column_of_new_rows_is_no_finding_but_constant_rows_are() {
        assert_eq!(warnings(&["a", "day"], 500, |row, column| if column == 1 { 3.0 } else { noise(row, 0) }), []);
        assert_eq!(warnings(&["a", "b"], 19, |_, _| 5.0), []);
        assert_eq!(warnings(&["a", "b"], 20, |_, _| 5.0), [NewRowWarning::NothingVaries { n_rows: 20 }]);
    }

    #[test]
    fn few_rows_agree_by_chance_and_many_do_not() {
        let twice = |row: usize, _: usize| f64::from(u8::from(noise(row, 0) > 8.0));
        assert_eq!(warnings(&["a", "b"], 99, twice), []);
        let (columns, of) = (vec!["b".to_owned()], vec!["a".to_owned()]);
        assert_eq!(warnings(&["a", "b"], 100, twice), [NewRowWarning::DuplicateColumns { columns, of }]);
    }

    #[test]
    fn identifiers_labels_and_far_cells_are_named() {
        let far = |row: usize, _: usize| if row == 7 { 3e38 } else { noise(row, 0) };
        assert_eq!(warnings(&["a"], 99, far), []);
        let (column, row, value, n_cells) = ("a".to_owned(), 7, 3e38, 1);
        assert_eq!(warnings(&["a"], 100, far), [NewRowWarning::OutlierCells { column, row, value, n_cells }]);
        let odd = |row: usize, column: usize| match column {
            0 => row as f64,
            1 => (row % 2) as f64,
            _ => noise(row, 2),
        };
        assert_eq!(warnings(&["count", "label", "a"], 3, odd), []);
        let expected = [
            NewRowWarning::IdentifierColumn { column: "count".to_owned() },
            NewRowWarning::LabelColumn { column: "label".to_owned() },
        ];
        assert_eq!(warnings(&["count", "label", "a"], 30, odd), expected);
    }
}
