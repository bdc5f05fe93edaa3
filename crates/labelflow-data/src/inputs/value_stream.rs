//! Real-valued labels written as they come: the same table as [`write_value_labels`](crate::inputs::write_value_labels) writes,
//! without having all rows in memory.

use std::path::Path;

use super::ValueLabels;
use crate::tables::table_stream::{TableStream, write_table_as_it_comes};
use crate::tables::{Column, ColumnValues};
use crate::{Error, Result};

/// Takes real-valued labels, row after row.
pub struct ValueStream<'stream, 'file> {
    table: &'stream mut TableStream<'file>,
}

/// Writes real-valued labels to a csv, tsv or parquet file, whole or not at all: `produce` gives them in the order of the
/// rows.
pub fn write_value_labels_as_they_come<T, E: From<Error>>(
    path: &Path,
    produce: impl FnOnce(&mut ValueStream<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    let empty = columns(Vec::new(), &ValueLabels::default());
    write_table_as_it_comes(path, &empty, |table| produce(&mut ValueStream { table }))
}

impl ValueStream<'_, '_> {
    /// Adds labels of rows with these numbers; NaN is written as an empty cell.
    pub fn push_rows(&mut self, rows: &[u64], labels: &ValueLabels) -> Result<()> {
        self.table.push(&columns(rows.iter().map(|&row| row as i64).collect(), labels))
    }

    /// Number of rows added.
    pub fn n_rows(&self) -> u64 {
        self.table.n_rows()
    }
}

fn columns(rows: Vec<i64>, labels: &ValueLabels) -> Vec<Column> {
    let values = labels.columns().into_iter();
    let values = values.map(|(name, values)| (name, ColumnValues::Reals(values.clone())));
    std::iter::once(("row", ColumnValues::Integers(rows)))
        .chain(values)
        .map(|(name, values)| Column { name: name.to_owned(), values })
        .collect()
}
