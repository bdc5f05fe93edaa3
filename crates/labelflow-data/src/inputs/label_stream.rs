//! Labels written as they come. Labels that are all in memory are written in one piece.

use std::path::Path;

use labelflow_weak::rows::SoftLabels;
use ndarray::Array2;

use crate::inputs::{KeyHead, RowNames};
use crate::tables::columns::{TableStream, write_table_as_it_comes};
use crate::tables::{Column, ColumnValues};
use crate::{Error, Result};

/// Takes labels, row after row.
pub struct LabelStream<'stream, 'file> {
    classes: &'stream [String],
    columns: LabelColumns,
    table: &'stream mut TableStream<'file>,
}

/// Which columns there are beside the label and the probabilities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelColumns {
    /// The column that names the rows.
    pub key: KeyHead,
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
    /// Their names; nothing for the numbers that follow those before.
    pub rows: Option<&'a RowNames>,
    /// Whether a row has a label, or an empty cell instead of it; nothing if all have.
    pub has_label: Option<&'a [bool]>,
    /// The cells of the further columns that were asked for.
    pub extras: LabelExtras<'a>,
}

/// What may be written beside labels.
#[derive(Debug, Clone, Copy, Default)]
pub struct LabelExtras<'a> {
    /// The share of each row's labelers that agree with its label, nothing where all abstain: the column `agreement`.
    pub agreement: Option<&'a [Option<f64>]>,
    /// The classes that each row may have: the column `set`, their names with `|` between them, or the array `set` of zeros and ones.
    pub sets: Option<&'a [Vec<usize>]>,
}

impl<'a> LabelRows<'a> {
    /// Labels of all of the next rows, without further columns.
    pub fn of(labels: &'a SoftLabels) -> Self {
        Self { labels, rows: None, has_label: None, extras: LabelExtras::default() }
    }
}

/// Writes labels to a csv, tsv or parquet file, whole or not at all: `produce` gives them in the order of the rows.
///
/// ```
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
/// assert!(path.exists());
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
    let none = SoftLabels::normalized(Array2::zeros((0, classes.len())));
    let empty = label_columns(columns.key.empty(), classes, &columns, LabelRows::of(&none))?;
    write_table_as_it_comes(path, &empty, |table| produce(&mut LabelStream { classes, columns, table }))
}

impl LabelStream<'_, '_> {
    /// Adds the labels of the next rows.
    pub fn push(&mut self, labels: &SoftLabels) -> Result<()> {
        self.push_rows(LabelRows::of(labels))
    }

    /// Adds labels of rows.
    pub fn push_rows(&mut self, rows: LabelRows<'_>) -> Result<()> {
        let first_row = self.table.n_rows();
        let following = RowNames::Place(first_row..first_row + rows.labels.n_rows() as u64);
        let key = self.columns.key.column(rows.rows.unwrap_or(&following));
        self.table.push(&label_columns(key, self.classes, &self.columns, rows)?)
    }

    /// Number of rows added.
    pub fn n_rows(&self) -> u64 {
        self.table.n_rows()
    }
}

/// The columns of a table of labels, of which the first is given.
fn label_columns(key: Column, classes: &[String], wanted: &LabelColumns, rows: LabelRows<'_>) -> Result<Vec<Column>> {
    let LabelRows { labels, has_label, extras, .. } = rows;
    check_classes(labels, classes)?;
    check_length("rows", key.values.len(), labels)?;
    let has_label = has_label.unwrap_or_default();
    if !has_label.is_empty() {
        check_length("has_label", has_label.len(), labels)?;
    }
    let name = |(row, class): (usize, usize)| has_label.get(row).is_none_or(|&has| has).then(|| classes[class].clone());
    let names = labels.argmax().into_iter().enumerate().map(name).collect();
    let mut columns = vec![key, Column::new("label", ColumnValues::SomeNames(names))];
    for (class, p) in classes.iter().zip(labels.values().columns()) {
        columns.push(Column::new(format!("p_{class}"), ColumnValues::Reals(p.to_vec())));
    }
    if wanted.sets {
        let sets = extras.sets.unwrap_or_default();
        check_length("sets", sets.len(), labels)?;
        let names = |set: &Vec<usize>| set.iter().map(|&class| classes[class].as_str()).collect::<Vec<_>>().join("|");
        columns.push(Column::new("set", ColumnValues::Names(sets.iter().map(names).collect())));
    }
    if wanted.agreement {
        let shares = extras.agreement.unwrap_or_default();
        check_length("agreement", shares.len(), labels)?;
        let shares = shares.iter().map(|share| share.unwrap_or(f64::NAN)).collect();
        columns.push(Column::new("agreement", ColumnValues::Reals(shares)));
    }
    Ok(columns)
}

pub(crate) fn check_classes(labels: &SoftLabels, classes: &[String]) -> Result<()> {
    if classes.len() == labels.n_classes() {
        return Ok(());
    }
    let expected = format!("{} class names", labels.n_classes());
    Err(Error::config("classes", expected, classes.len()))
}

/// Checks that what belongs to labels is there for each row of them.
pub(crate) fn check_length(name: &str, length: usize, labels: &SoftLabels) -> Result<()> {
    if length == labels.n_rows() {
        return Ok(());
    }
    Err(Error::config(name, format!("{} rows", labels.n_rows()), length))
}
