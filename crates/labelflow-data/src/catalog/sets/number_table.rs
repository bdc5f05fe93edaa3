//! Tables of numbers, as many sets have them: the features, and the label in the column after them.

use std::path::Path;

use labelflow_weak::rows::{Features, TrueValues, Truth};
use ndarray::{Array2, Axis, Slice};

use crate::catalog::{LabelledTable, ValueTable};
use crate::tables::cells::parse_number;
use crate::{Error, Result};

/// Keeps the rows whose label is that of one of two classes.
pub(crate) fn two_class_table(
    path: &Path,
    table: &Array2<f64>,
    names: Vec<String>,
    classes: [(&str, f64); 2],
) -> Result<LabelledTable> {
    let (rows, labels) = rows_of_classes(table.column(names.len()), classes.map(|class| class.1));
    Ok(LabelledTable {
        features: features(path, &table.select(Axis(0), &rows), names)?,
        truth: Truth::new(labels, 2).map_err(Error::in_file(path))?,
        classes: owned(&classes.map(|class| class.0)),
    })
}

/// The rows whose label is that of one of two classes, and which of them.
pub(crate) fn rows_of_classes<'a, L: PartialEq + 'a>(
    labels: impl IntoIterator<Item = &'a L>,
    classes: [L; 2],
) -> (Vec<usize>, Vec<usize>) {
    let class_of = |label: &L| classes.iter().position(|class| class == label);
    labels.into_iter().enumerate().filter_map(|(row, label)| Some((row, class_of(label)?))).unzip()
}

/// All rows, with real-valued labels.
pub(crate) fn value_table(path: &Path, table: &Array2<f64>, names: Vec<String>) -> Result<ValueTable> {
    let truth = TrueValues::new(table.column(names.len()).to_vec());
    ValueTable::new(features(path, table, names)?, truth.map_err(Error::in_file(path))?)
}

/// The first columns, as many as there are names.
fn features(path: &Path, table: &Array2<f64>, names: Vec<String>) -> Result<Features> {
    let values = table.slice_axis(Axis(1), Slice::from(..names.len()));
    Features::with_names(values.mapv(|value| value as f32), names).map_err(Error::in_file(path))
}

/// Names for columns that their publisher did not name.
pub(crate) fn numbered_names(n_columns: usize) -> Vec<String> {
    (0..n_columns).map(|column| format!("x{column}")).collect()
}

/// Names as they are kept.
pub(crate) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The number in a cell, NaN where it is missing.
pub(crate) fn number(path: &Path, cell: &str) -> Result<f64> {
    parse_number(cell).ok_or_else(|| Error::cell(path, "a number", cell))
}
