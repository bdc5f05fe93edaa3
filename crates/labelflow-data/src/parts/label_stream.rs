//! Labels written as they come: the same table as [`write_labels_with`](crate::inputs::write_labels_with) writes, without having all
//! rows in memory.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use labelflow_weak::rows::SoftLabels;
use ndarray::Axis;

use super::table_stream::{TableStream, write_table_as_it_comes};
use crate::inputs::LabelExtras;
use crate::inputs::labels_file::check_classes;
use crate::{Error, Result};

/// Takes labels, row after row.
pub struct LabelStream<'stream, 'file> {
    classes: &'stream [String],
    columns: LabelColumns,
    table: &'stream mut TableStream<'file>,
}

/// Which columns there are beside the label and the probabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LabelColumns {
    /// The column `set`: the classes that a row may have.
    pub sets: bool,
    /// The column `agreement`: the share of labelers that agree with the label.
    pub agreement: bool,
}

/// The labels of some rows.
#[derive(Debug, Clone, Copy)]
pub struct LabelRows<'a> {
    /// Their probabilities.
    pub labels: &'a SoftLabels,
    /// Their numbers; nothing for those that follow the ones before.
    pub rows: Option<&'a [u64]>,
    /// Whether a row has a label, or an empty cell instead of it; nothing if all have.
    pub has_label: Option<&'a [bool]>,
    /// The cells of the further columns that were asked for.
    pub extras: LabelExtras<'a>,
}

/// Writes labels to a csv, tsv or parquet file, whole or not at all: `produce` gives them in the order of the rows.
///
/// ```
/// use labelflow_data::inputs::read_predictions;
/// use labelflow_data::parts::write_labels_as_they_come;
/// use labelflow_weak::rows::SoftLabels;
/// use ndarray::array;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.parquet");
/// let classes = ["ham".to_owned(), "spam".to_owned()];
/// write_labels_as_they_come(&path, &classes, |labels| {
///     labels.push(&SoftLabels::new(array![[0.75, 0.25]])?)?;
///     labels.push(&SoftLabels::new(array![[0.5, 0.5], [0.0, 1.0]])?)
/// })?;
/// assert!(read_predictions(&path).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_labels_as_they_come<T>(
    path: &Path,
    classes: &[String],
    produce: impl FnOnce(&mut LabelStream<'_, '_>) -> Result<T>,
) -> Result<T> {
    write_labels_with_as_they_come(path, classes, LabelColumns::default(), produce)
}

/// Writes labels as [`write_labels_as_they_come`] does, with more columns and any error of the caller's own.
pub fn write_labels_with_as_they_come<T, E: From<Error>>(
    path: &Path,
    classes: &[String],
    columns: LabelColumns,
    produce: impl FnOnce(&mut LabelStream<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    let empty = Cells { rows: Vec::new(), names: Vec::new(), p: vec![Vec::new(); classes.len()] };
    let empty = empty.batch(classes, columns, LabelExtras::default())?;
    write_table_as_it_comes(path, &empty, |table| {
        produce(&mut LabelStream { classes, columns, table })
    })
}

/// The cells that all tables of labels have.
struct Cells<'a> {
    rows: Vec<i64>,
    names: Vec<Option<&'a str>>,
    /// The probabilities, class by class.
    p: Vec<Vec<f64>>,
}

impl LabelStream<'_, '_> {
    /// Adds the labels of the next rows.
    pub fn push(&mut self, labels: &SoftLabels) -> Result<()> {
        let extras = LabelExtras::default();
        self.push_rows(LabelRows { labels, rows: None, has_label: None, extras })
    }

    /// Adds labels of rows.
    pub fn push_rows(&mut self, rows: LabelRows<'_>) -> Result<()> {
        let LabelRows { labels, rows, has_label, extras } = rows;
        check_classes(labels, self.classes)?;
        let n_rows = labels.n_rows();
        for (name, length) in [
            ("rows", rows.map(<[_]>::len)),
            ("has_label", has_label.map(<[_]>::len)),
            ("agreement", self.columns.agreement.then(|| extras.agreement.map_or(0, <[_]>::len))),
            ("sets", self.columns.sets.then(|| extras.sets.map_or(0, <[_]>::len))),
        ] {
            if let Some(length) = length.filter(|&length| length != n_rows) {
                return Err(Error::config(name, format!("{n_rows} rows"), length));
            }
        }
        let first_row = self.table.n_rows();
        let indices = labels.argmax();
        let name = |(row, class): (usize, &usize)| {
            has_label.is_none_or(|has| has[row]).then(|| self.classes[*class].as_str())
        };
        let cells = Cells {
            rows: match rows {
                Some(rows) => rows.iter().map(|&row| row as i64).collect(),
                None => (0..n_rows as u64).map(|row| (first_row + row) as i64).collect(),
            },
            names: indices.iter().enumerate().map(name).collect(),
            p: labels.values().axis_iter(Axis(1)).map(|column| column.to_vec()).collect(),
        };
        self.table.push(&cells.batch(self.classes, self.columns, extras)?)
    }

    /// Number of rows added.
    pub fn n_rows(&self) -> u64 {
        self.table.n_rows()
    }
}

impl Cells<'_> {
    fn batch(
        self,
        classes: &[String],
        columns: LabelColumns,
        extras: LabelExtras<'_>,
    ) -> Result<RecordBatch> {
        let mut arrays: Vec<(String, ArrayRef, bool)> = vec![
            ("row".to_owned(), Arc::new(Int64Array::from(self.rows)), true),
            ("label".to_owned(), Arc::new(StringArray::from(self.names)), true),
        ];
        for (name, p) in classes.iter().zip(self.p) {
            arrays.push((format!("p_{name}"), Arc::new(Float64Array::from(p)), true));
        }
        if columns.sets {
            let names = |set: &Vec<usize>| {
                set.iter().map(|&class| classes[class].as_str()).collect::<Vec<_>>().join("|")
            };
            let sets = extras.sets.unwrap_or_default().iter().map(names);
            arrays.push(("set".to_owned(), Arc::new(StringArray::from_iter_values(sets)), true));
        }
        if columns.agreement {
            let shares = extras.agreement.unwrap_or_default().iter().copied();
            arrays.push(("agreement".to_owned(), Arc::new(Float64Array::from_iter(shares)), true));
        }
        RecordBatch::try_from_iter_with_nullable(arrays)
            .map_err(|error| Error::config("classes", "column names that differ", error))
    }
}
