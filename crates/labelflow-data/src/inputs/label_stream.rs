//! Labels written as they come. Labels that are all in memory are written in one piece.

use std::path::Path;

use labelflow_weak::rows::SoftLabels;

use super::LabelExtras;
use super::labels_file::{check_classes, check_length};
use crate::tables::table_stream::{TableStream, write_table_as_it_comes};
use crate::tables::{Column, ColumnValues};
use crate::{Error, Result};

/// Takes labels, row after row.
pub struct LabelStream<'stream, 'file> {
    /// The name of the first column.
    first: &'static str,
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
/// use labelflow_data::inputs::write_labels_as_they_come;
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
    write_label_table(path, "row", classes, columns, produce)
}

/// Writes labels with a first column of this name.
pub(crate) fn write_label_table<T, E: From<Error>>(
    path: &Path,
    first: &'static str,
    classes: &[String],
    columns: LabelColumns,
    produce: impl FnOnce(&mut LabelStream<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    let rows = match first {
        "row" => ColumnValues::Integers(Vec::new()),
        _ => ColumnValues::Names(Vec::new()),
    };
    let mut empty = vec![column(first, rows), column("label", ColumnValues::SomeNames(Vec::new()))];
    let reals = |name: &str| column(name, ColumnValues::Reals(Vec::new()));
    empty.extend(classes.iter().map(|class| reals(&format!("p_{class}"))));
    empty.extend(columns.sets.then(|| column("set", ColumnValues::Names(Vec::new()))));
    empty.extend(columns.agreement.then(|| reals("agreement")));
    write_table_as_it_comes(path, &empty, |table| {
        produce(&mut LabelStream { first, classes, columns, table })
    })
}

impl LabelStream<'_, '_> {
    /// Adds the labels of the next rows.
    pub fn push(&mut self, labels: &SoftLabels) -> Result<()> {
        let extras = LabelExtras::default();
        self.push_rows(LabelRows { labels, rows: None, has_label: None, extras })
    }

    /// Adds labels of rows.
    pub fn push_rows(&mut self, rows: LabelRows<'_>) -> Result<()> {
        let first_row = self.table.n_rows();
        let following = first_row..first_row + rows.labels.n_rows() as u64;
        let numbers: Vec<i64> = match rows.rows {
            Some(rows) => rows.iter().map(|&row| row as i64).collect(),
            None => following.map(|row| row as i64).collect(),
        };
        self.push_cells(ColumnValues::Integers(numbers), rows)
    }

    /// Adds labels of tasks, whose names are the first column.
    pub(crate) fn push_tasks(&mut self, tasks: &[String], labels: &SoftLabels) -> Result<()> {
        let names = ColumnValues::Names(tasks.to_vec());
        let extras = LabelExtras::default();
        self.push_cells(names, LabelRows { labels, rows: None, has_label: None, extras })
    }

    fn push_cells(&mut self, first: ColumnValues, rows: LabelRows<'_>) -> Result<()> {
        let LabelRows { labels, has_label, extras, .. } = rows;
        check_classes(labels, self.classes)?;
        check_length("rows", first.len(), labels)?;
        let indices = labels.argmax();
        let has_label = has_label.unwrap_or_default();
        if !has_label.is_empty() {
            check_length("has_label", has_label.len(), labels)?;
        }
        let name = |(row, &class): (usize, &usize)| {
            has_label.get(row).is_none_or(|&has| has).then(|| self.classes[class].clone())
        };
        let names = indices.iter().enumerate().map(name).collect();
        let mut columns =
            vec![column(self.first, first), column("label", ColumnValues::SomeNames(names))];
        for (class, p) in self.classes.iter().zip(labels.values().columns()) {
            columns.push(column(&format!("p_{class}"), ColumnValues::Reals(p.to_vec())));
        }
        if self.columns.sets {
            let sets = extras.sets.unwrap_or_default();
            check_length("sets", sets.len(), labels)?;
            let names = |set: &Vec<usize>| {
                set.iter().map(|&class| self.classes[class].as_str()).collect::<Vec<_>>().join("|")
            };
            columns.push(column("set", ColumnValues::Names(sets.iter().map(names).collect())));
        }
        if self.columns.agreement {
            let shares = extras.agreement.unwrap_or_default();
            check_length("agreement", shares.len(), labels)?;
            let shares = shares.iter().map(|share| share.unwrap_or(f64::NAN)).collect();
            columns.push(column("agreement", ColumnValues::Reals(shares)));
        }
        self.table.push(&columns)
    }

    /// Number of rows added.
    pub fn n_rows(&self) -> u64 {
        self.table.n_rows()
    }
}

fn column(name: &str, values: ColumnValues) -> Column {
    Column { name: name.to_owned(), values }
}
