//! Labels written as they come. Labels that are all in memory are written in one piece.

use std::path::Path;

use labelflow_weak::rows::SoftLabels;
use ndarray::Array2;

use crate::inputs::{KeyHead, RowNames};
use crate::tables::columns::write_table_as_it_comes;
use crate::tables::{Column, ColumnValues};
use crate::{Error, Result, ensure};

/// Which columns there are beside the label and the probabilities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelColumns {
    /// The column that names the rows.
    pub key: KeyHead,
    /// The column `set`: the classes that a row may have.
    pub sets: bool,
    /// The column `agreement`: the share of labelers that agree with the label.
    pub agreement: bool,
    /// The column `n_votes`: how many labelers voted on the row.
    pub n_votes: bool,
}

/// The labels of some rows.
#[derive(Debug, Clone, Copy)]
pub struct LabelRows<'a> {
    /// Their probabilities.
    pub labels: &'a SoftLabels,
    /// Their names; nothing for the numbers that follow those before.
    pub rows: Option<&'a RowNames>,
    /// The class of each row, or an empty cell instead of it (−1 in npz); nothing for the most probable class of every row.
    pub chosen: Option<&'a [Option<usize>]>,
    /// The share of each row's labelers that agree with its label, nothing where all abstain: the column `agreement`.
    pub agreement: Option<&'a [Option<f64>]>,
    /// The classes that each row may have: the column `set`, their names with `|` between them, or the array `set` of zeros and ones.
    pub sets: Option<&'a [Vec<usize>]>,
    /// How many labelers voted on each row: the column or array `n_votes`.
    pub n_votes: Option<&'a [i64]>,
}

impl<'a> LabelRows<'a> {
    /// The class of each row, where it has one.
    pub(crate) fn classes(&self) -> Result<Vec<Option<usize>>> {
        let Some(chosen) = self.chosen else { return Ok(self.labels.argmax().into_iter().map(Some).collect()) };
        check_length("chosen", chosen.len(), self.labels)?;
        let n_classes = self.labels.n_classes();
        let is_class = chosen.iter().flatten().all(|&class| class < n_classes);
        ensure(is_class, || {
            Error::config("chosen", format!("classes from 0 to {}", n_classes - 1), "a larger number")
        })?;
        Ok(chosen.to_vec())
    }

    /// Labels of all of the next rows, without further columns.
    pub fn of(labels: &'a SoftLabels) -> Self {
        Self { labels, rows: None, chosen: None, agreement: None, sets: None, n_votes: None }
    }
}

/// Writes labels to a csv, tsv or parquet file, whole or not at all, with the columns that are named: `produce` hands them over in the
/// order of the rows. Its errors may be of the caller's own.
///
/// ```
/// use labelflow_data::inputs::{LabelRows, write_labels_as_they_come};
/// use labelflow_weak::rows::SoftLabels;
/// use ndarray::array;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.parquet");
/// let classes = ["ham".to_owned(), "spam".to_owned()];
/// write_labels_as_they_come(&path, &classes, &Default::default(), |push| {
///     push(LabelRows::of(&SoftLabels::new(array![[0.75, 0.25]])?))?;
///     push(LabelRows::of(&SoftLabels::new(array![[0.5, 0.5], [0.0, 1.0]])?))
/// })?;
/// assert!(path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_labels_as_they_come<T, E: From<Error>>(
    path: &Path,
    classes: &[String],
    columns: &LabelColumns,
    produce: impl FnOnce(&mut dyn FnMut(LabelRows<'_>) -> Result<()>) -> Result<T, E>,
) -> Result<T, E> {
    let none = SoftLabels::normalized(Array2::zeros((0, classes.len())));
    let empty = label_columns(columns.key.empty(), classes, columns, LabelRows::of(&none))?;
    write_table_as_it_comes(path, &empty, |table| {
        produce(&mut |rows| {
            let first_row = table.n_rows();
            let following = RowNames::Place(first_row..first_row + rows.labels.n_rows() as u64);
            let key = columns.key.column(rows.rows.unwrap_or(&following));
            table.push(&label_columns(key, classes, columns, rows)?)
        })
    })
}

/// The columns of a table of labels, of which the first is given.
fn label_columns(key: Column, classes: &[String], wanted: &LabelColumns, rows: LabelRows<'_>) -> Result<Vec<Column>> {
    let labels = rows.labels;
    check_classes(labels, classes)?;
    check_length("rows", key.values.len(), labels)?;
    let names = rows.classes()?.into_iter().map(|class| class.map(|class| classes[class].clone())).collect();
    let mut columns = vec![key, Column::new("label", ColumnValues::SomeNames(names))];
    for (class, p) in classes.iter().zip(labels.values().columns()) {
        columns.push(Column::new(format!("p_{class}"), ColumnValues::Reals(p.to_vec())));
    }
    if wanted.sets {
        let sets = rows.sets.unwrap_or_default();
        check_length("sets", sets.len(), labels)?;
        let names = |set: &Vec<usize>| set.iter().map(|&class| classes[class].as_str()).collect::<Vec<_>>().join("|");
        columns.push(Column::new("set", ColumnValues::Names(sets.iter().map(names).collect())));
    }
    if wanted.agreement {
        let shares = rows.agreement.unwrap_or_default();
        check_length("agreement", shares.len(), labels)?;
        let shares = shares.iter().map(|share| share.unwrap_or(f64::NAN)).collect();
        columns.push(Column::new("agreement", ColumnValues::Reals(shares)));
    }
    if wanted.n_votes {
        let n_votes = rows.n_votes.unwrap_or_default();
        check_length("n_votes", n_votes.len(), labels)?;
        columns.push(Column::new("n_votes", ColumnValues::Integers(n_votes.to_vec())));
    }
    Ok(columns)
}

pub(crate) fn check_classes(labels: &SoftLabels, classes: &[String]) -> Result<()> {
    let expected = || format!("{} class names", labels.n_classes());
    ensure(classes.len() == labels.n_classes(), || Error::config("classes", expected(), classes.len()))
}

/// Checks that what belongs to labels is there for each row of them.
pub(crate) fn check_length(name: &str, length: usize, labels: &SoftLabels) -> Result<()> {
    ensure(length == labels.n_rows(), || Error::config(name, format!("{} rows", labels.n_rows()), length))
}
