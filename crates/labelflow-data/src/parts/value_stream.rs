//! Real-valued labels written as they come: the same table as [`write_value_labels`](crate::inputs::write_value_labels) writes,
//! without having all rows in memory.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

use super::table_stream::{TableStream, write_table_as_it_comes};
use crate::inputs::ValueLabels;
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
    let empty = batch(Vec::new(), &ValueLabels::default())?;
    write_table_as_it_comes(path, &empty, |table| produce(&mut ValueStream { table }))
}

impl ValueStream<'_, '_> {
    /// Adds labels of rows with these numbers; NaN is written as an empty cell.
    pub fn push_rows(&mut self, rows: &[u64], labels: &ValueLabels) -> Result<()> {
        self.table.push(&batch(rows.iter().map(|&row| row as i64).collect(), labels)?)
    }

    /// Number of rows added.
    pub fn n_rows(&self) -> u64 {
        self.table.n_rows()
    }
}

fn batch(rows: Vec<i64>, labels: &ValueLabels) -> Result<RecordBatch> {
    let mut arrays: Vec<(&str, ArrayRef, bool)> =
        vec![("row", Arc::new(Int64Array::from(rows)), true)];
    for (name, values) in labels.columns() {
        let values = values.iter().map(|value| (!value.is_nan()).then_some(*value));
        arrays.push((name, Arc::new(Float64Array::from_iter(values)), true));
    }
    RecordBatch::try_from_iter_with_nullable(arrays)
        .map_err(|error| Error::config("labels", "columns of equal length", error))
}
