//! Columns that cannot help, and cells that do harm.
//!
//! ```text
//! constant      smallest value = largest value; of 50 columns or more, a fifth of them
//! duplicate     the same numbers as an earlier column, and not nearly constant
//! identifier    n whole numbers from a to a + n − 1, each once; or named so, whole, with a range of at least n / 2
//! label         named like one, or on every row the vote of a labeler
//! outlier       see extreme_cells.rs
//! ```

use std::collections::HashMap;

use ndarray::{ArrayView2, Axis};
use serde::Serialize;

use super::{are_odd, listed};
use crate::Result;
use crate::linear::{ColumnMoments, Outlier};
use crate::votes::{ABSTAIN, SignalView};

/// With fewer rows, what looks like a pattern may be chance.
pub(super) const LEAST_ROWS: u64 = 20;
/// Columns times labelers that are compared; of more, none.
const MOST_COPIES: usize = 10_000;
/// How columns of identifiers are called, in lower case; or with `_id` at the end.
const IDENTIFIERS: [&str; 9] = ["id", "idx", "index", "key", "row", "row_number", "rowid", "uid", "uuid"];
/// How columns of true labels are called, in lower case; `y` too, where there is no `x`.
const LABELS: [&str; 8] = ["class", "gold", "ground_truth", "label", "labels", "target", "true_label", "truth"];

/// What looks wrong in features. Shown, it is a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FeatureWarning {
    /// No column tells any row from another.
    #[error(
        "every column is constant, so all rows look the same and get the same label: give features that differ between rows"
    )]
    NothingVaries {
        /// Number of columns.
        n_columns: usize,
    },
    /// Columns with one value.
    #[error("{} constant and cannot help: leave {} out", are(.columns), them(.columns))]
    ConstantColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// Columns with the numbers of earlier ones.
    #[error("{} the same numbers as an earlier column, which counts twice then: leave {} out", hold(.columns), them(.columns))]
    DuplicateColumns {
        /// Their names.
        columns: Vec<String>,
        /// The first column with the same numbers, for each.
        of: Vec<String>,
    },
    /// A column that looks like a number of the row.
    #[error(
        "the column '{column}' looks like an identifier, which says nothing of other rows: leave it out, or make it the key of rows"
    )]
    IdentifierColumn {
        /// Its name.
        column: String,
    },
    /// A column that is called like the true labels.
    #[error(
        "the column '{column}' is named like true labels; what is predicted from them fails where they are not known: \
         leave it out if it holds labels"
    )]
    LabelColumn {
        /// Its name.
        column: String,
    },
    /// A column that holds what a labeler says.
    #[error(
        "the column '{column}' holds the votes of the labeler '{labeler}', so that the model need only repeat them: \
         leave it out"
    )]
    VoteColumn {
        /// Its name.
        column: String,
        /// The name of the labeler.
        labeler: String,
    },
    /// Cells that are far from all others of their column.
    #[error(
        "the column '{column}' is {value:e} in row {row}{}, so far from all others that scaling takes it for the nearest of them: \
         correct or remove it",
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

fn are(columns: &[String]) -> String {
    match columns {
        [column] => format!("the column '{column}' is"),
        _ => format!("{} columns ({}) are", columns.len(), listed(columns)),
    }
}

pub(super) fn hold(columns: &[String]) -> String {
    match columns {
        [column] => format!("the column '{column}' holds"),
        _ => format!("{} columns ({}) hold", columns.len(), listed(columns)),
    }
}

fn them(columns: &[String]) -> &'static str {
    if columns.len() == 1 { "it" } else { "them" }
}

pub(super) fn more_cells(n_cells: usize) -> String {
    if n_cells == 1 { String::new() } else { format!(" (and as far off in {} more rows)", n_cells - 1) }
}

/// What warnings must know of features, from one pass over rows that need not be in memory.
///
/// ```
/// use labelflow_weak::warnings::FeatureTally;
/// use ndarray::array;
///
/// let mut tally = FeatureTally::new(&["age".to_owned(), "unit".to_owned()], &[]);
/// tally.add(array![[31.0, 1.0], [47.0, 1.0]].view(), None)?;
/// assert_eq!(tally.warnings()[0].to_string(), "the column 'unit' is constant and cannot help: leave it out");
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FeatureTally {
    names: Vec<String>,
    labelers: Vec<String>,
    moments: ColumnMoments,
    /// A hash of each column's numbers, and whether all are whole.
    hashes: Vec<u64>,
    are_whole: Vec<bool>,
    /// Columns and labelers that said the same so far.
    copies: Vec<Copy>,
}

/// A column and a labeler whose votes it holds, as far as is known.
#[derive(Debug, Clone)]
struct Copy {
    column: usize,
    signal: usize,
    n_votes: u64,
    first: f64,
    differs: bool,
}

impl FeatureTally {
    /// Of no rows yet, with these columns and labelers.
    pub fn new(names: &[String], labelers: &[String]) -> Self {
        let n_pairs = names.len().saturating_mul(labelers.len());
        let copy = |pair: usize| {
            let (column, signal) = (pair / labelers.len(), pair % labelers.len());
            Copy { column, signal, n_votes: 0, first: f64::NAN, differs: false }
        };
        Self {
            names: names.to_vec(),
            labelers: labelers.to_vec(),
            moments: ColumnMoments::default(),
            hashes: vec![0; names.len()],
            are_whole: vec![true; names.len()],
            copies: if n_pairs <= MOST_COPIES { (0..n_pairs).map(copy).collect() } else { Vec::new() },
        }
    }

    /// Adds rows, `[n_rows, d_features]`, and what labelers say of them.
    pub fn add(&mut self, features: ArrayView2<'_, f64>, signals: Option<SignalView<'_>>) -> Result<()> {
        self.moments.push(features)?;
        for row in features.axis_iter(Axis(0)) {
            for ((hash, is_whole), &value) in self.hashes.iter_mut().zip(&mut self.are_whole).zip(row) {
                // Adding zero makes −0 and 0 the same.
                *hash = (hash.rotate_left(5) ^ (value + 0.0).to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                *is_whole &= value.fract() == 0.0;
            }
        }
        match signals {
            Some(SignalView::Votes { bytes, .. }) => {
                for (features, votes) in features.axis_iter(Axis(0)).zip(bytes.axis_iter(Axis(0))) {
                    self.copies.retain_mut(|copy| copy.holds(features[copy.column], votes[copy.signal]));
                }
            }
            _ => self.copies.clear(),
        }
        Ok(())
    }

    /// What scalers must know of these rows.
    pub fn moments(&self) -> &ColumnMoments {
        &self.moments
    }

    /// What looks wrong.
    pub fn warnings(&self) -> Vec<FeatureWarning> {
        let mut warnings = self.constant_columns();
        warnings.extend(self.duplicate_columns());
        for column in 0..self.names.len() {
            warnings.extend(self.about_column(column));
        }
        warnings.extend(self.outlier_cells());
        warnings
    }

    fn named(&self, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|&column| self.names[column].clone()).collect()
    }

    fn range(&self, column: usize) -> [f64; 2] {
        self.moments.range(column)
    }

    fn is_constant(&self, column: usize) -> bool {
        let [lower, upper] = self.range(column);
        lower == upper
    }

    fn constant_columns(&self) -> Vec<FeatureWarning> {
        let n_columns = self.names.len();
        if self.moments.n_rows() < 2 {
            return Vec::new();
        }
        let constant: Vec<usize> = (0..n_columns).filter(|&column| self.is_constant(column)).collect();
        if constant.len() == n_columns {
            return vec![FeatureWarning::NothingVaries { n_columns }];
        }
        match are_odd(constant.len(), n_columns) {
            true => vec![FeatureWarning::ConstantColumns { columns: self.named(&constant) }],
            false => Vec::new(),
        }
    }

    fn duplicate_columns(&self) -> Option<FeatureWarning> {
        let mut first_with = HashMap::new();
        let (mut columns, mut of) = (Vec::new(), Vec::new());
        for column in (0..self.names.len()).filter(|&column| !self.moments.is_nearly_constant(column)) {
            let first = *first_with.entry(self.hashes[column]).or_insert(column);
            if first != column {
                columns.push(self.names[column].clone());
                of.push(self.names[first].clone());
            }
        }
        (!columns.is_empty()).then_some(FeatureWarning::DuplicateColumns { columns, of })
    }

    fn about_column(&self, column: usize) -> Option<FeatureWarning> {
        let (n_rows, name) = (self.moments.n_rows(), &self.names[column]);
        if n_rows < LEAST_ROWS || self.is_constant(column) {
            return None;
        }
        if self.is_identifier(column) {
            return Some(FeatureWarning::IdentifierColumn { column: name.clone() });
        }
        let is_copy = |copy: &&Copy| copy.column == column && copy.differs && copy.n_votes >= LEAST_ROWS;
        if let Some(copy) = self.copies.iter().find(is_copy) {
            let labeler = self.labelers[copy.signal].clone();
            return Some(FeatureWarning::VoteColumn { column: name.clone(), labeler });
        }
        let lower_case = name.to_lowercase();
        let is_y = lower_case == "y" && !self.names.iter().any(|name| name.eq_ignore_ascii_case("x"));
        (is_y || LABELS.contains(&&*lower_case)).then(|| FeatureWarning::LabelColumn { column: name.clone() })
    }

    fn is_identifier(&self, column: usize) -> bool {
        if !self.are_whole[column] {
            return false;
        }
        let n_rows = self.moments.n_rows() as f64;
        let [lower, upper] = self.range(column);
        let name = self.names[column].to_lowercase();
        if (IDENTIFIERS.contains(&&*name) || name.ends_with("_id")) && upper - lower >= n_rows / 2.0 {
            return true;
        }
        // Whole numbers with this range, mean and variance are each other's successors.
        let [mean, variance] = self.moments.mean_and_variance(column);
        let is_near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.abs().max(n_rows);
        upper - lower == n_rows - 1.0
            && is_near(mean, (lower + upper) / 2.0)
            && is_near(variance, (n_rows * n_rows - 1.0) / 12.0)
    }

    fn outlier_cells(&self) -> Vec<FeatureWarning> {
        let outliers = self.moments.outliers();
        let of_column = |cells: &[Outlier]| FeatureWarning::OutlierCells {
            column: self.names[cells[0].column].clone(),
            row: cells[0].row,
            value: cells[0].value,
            n_cells: cells.len(),
        };
        outliers.chunk_by(|one, other| one.column == other.column).map(of_column).collect()
    }
}

impl Copy {
    /// Whether the column still holds the votes of the labeler.
    fn holds(&mut self, value: f64, vote: u8) -> bool {
        if vote == ABSTAIN {
            return true;
        }
        if self.n_votes == 0 {
            self.first = value;
        }
        self.n_votes += 1;
        self.differs |= value != self.first;
        value == f64::from(vote)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis, array};

    use super::*;

    fn warnings_of(names: &[&str], rows: &Array2<f64>, votes: Option<&Array2<u8>>) -> Vec<FeatureWarning> {
        let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let labelers = strings(&["rule", "worker"][..votes.map_or(0, Array2::ncols)]);
        let of_parts = |n_rows: usize| {
            let mut tally = FeatureTally::new(&strings(names), &labelers);
            for (part, rows) in rows.axis_chunks_iter(Axis(0), n_rows).enumerate() {
                let place = ndarray::s![part * n_rows..part * n_rows + rows.nrows(), ..];
                let votes = votes.map(|votes| SignalView::Votes { bytes: votes.slice(place), n_classes: 3 });
                tally.add(rows, votes).unwrap();
            }
            tally.warnings()
        };
        let whole = of_parts(rows.nrows());
        assert_eq!(of_parts(7), whole);
        whole
    }

    fn texts(names: &[&str], rows: &Array2<f64>) -> Vec<String> {
        warnings_of(names, rows, None).iter().map(ToString::to_string).collect()
    }

    /// Numbers without a pattern.
    fn noise(row: usize, column: usize) -> f64 {
        ((row * 7919 + column * 104_729 + row * row * 31) % 1009) as f64 / 64.0
    }

    #[test]
    fn ordinary_features_are_quiet() {
        let rows = Array2::from_shape_fn((200, 4), |(row, column)| match column {
            // A rare indicator, and a year.
            0 => f64::from(u8::from(row == 77)),
            1 => 1990.0 + (row % 30) as f64,
            _ => noise(row, column),
        });
        assert_eq!(texts(&["rare", "year", "x", "y"], &rows), [""; 0]);
    }

    #[test]
    fn columns_that_cannot_help_are_named() {
        let rows = Array2::from_shape_fn((200, 6), |(row, column)| match column {
            1 => 5.0,
            2 => noise(row, 0),
            3 => ((row * 73) % 200) as f64 + 10.0,
            4 => (row * 1000 + row % 7) as f64,
            5 => (row % 2) as f64,
            _ => noise(row, column),
        });
        let expected = [
            "the column 'unit' is constant and cannot help: leave it out",
            "the column 'again' holds the same numbers as an earlier column, which counts twice then: leave it out",
            "the column 'shuffled' looks like an identifier, which says nothing of other rows: leave it out, or make it the key of rows",
            "the column 'patient_id' looks like an identifier, which says nothing of other rows: leave it out, or make it the key of rows",
        ];
        let found = texts(&["a", "unit", "again", "shuffled", "patient_id", "Label"], &rows);
        assert_eq!(found[..4], expected);
        assert!(found[4].starts_with("the column 'Label' is named like true labels"), "{found:?}");
        assert_eq!(found.len(), 5);
        let constant = Array2::from_elem((30, 2), 3.0);
        assert_eq!(warnings_of(&["a", "b"], &constant, None), [FeatureWarning::NothingVaries { n_columns: 2 }]);
    }

    #[test]
    fn a_few_words_of_many_that_never_occur_are_ordinary() {
        let word = |n_silent: usize| {
            let rows = Array2::from_shape_fn((100, 60), |(row, column)| {
                if column >= n_silent && (row * 7 + column * 13) % 60 < 2 { 1.0 } else { 0.0 }
            });
            let names: Vec<String> = (0..60).map(|word| format!("word{word}")).collect();
            texts(&names.iter().map(String::as_str).collect::<Vec<_>>(), &rows).len()
        };
        assert_eq!([word(0), word(11), word(12)], [0, 0, 1]);
    }

    #[test]
    fn a_cell_far_off_is_named_with_its_row_and_value() {
        let mut rows = Array2::from_shape_fn((200, 2), |(row, column)| noise(row, column));
        rows[[41, 1]] = -3e38;
        let expected = "the column 'b' is -3e38 in row 41, so far from all others that scaling takes it for the nearest of them: \
                        correct or remove it";
        assert_eq!(texts(&["a", "b"], &rows), [expected]);
    }

    #[test]
    fn a_column_of_votes_is_named_with_its_labeler() {
        let votes =
            Array2::from_shape_fn((60, 2), |(row, signal)| [ABSTAIN, 0, 1, 2][(row * (3 + signal) + row / 5) % 4]);
        let rows = Array2::from_shape_fn((60, 2), |(row, column)| match (column, votes[[row, 1]]) {
            (1, ABSTAIN) => -1.0,
            (1, vote) => f64::from(vote),
            _ => noise(row, column),
        });
        let found = warnings_of(&["a", "b"], &rows, Some(&votes));
        assert_eq!(found, [FeatureWarning::VoteColumn { column: "b".to_owned(), labeler: "worker".to_owned() }]);
        // A labeler that votes for one class only is not held by a column of ones.
        let single = array![[1u8]].broadcast((60, 1)).unwrap().to_owned();
        let ones = Array2::from_shape_fn((60, 1), |(row, _)| if row == 0 { 1.0 } else { 1.0 + f64::from(row == 99) });
        assert_eq!(warnings_of(&["a"], &ones, Some(&single)), [FeatureWarning::NothingVaries { n_columns: 1 }]);
    }
}
