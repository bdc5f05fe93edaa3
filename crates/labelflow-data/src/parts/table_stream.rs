//! Tables written as their rows come, without having all of them in memory.

use std::io::{self, Write};
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use parquet::arrow::ArrowWriter;

use crate::tables::columns::separated_writer;
use crate::tables::parquet::parquet_properties;
use crate::tables::table::Format;
use crate::{Error, Result, write_atomically};

/// Encoded bytes after which a row group ends; it ends anyway after a million rows.
const GROUP_BYTES: usize = 16 << 20;

/// Takes rows.
pub(crate) struct TableStream<'file> {
    path: &'file Path,
    n_rows: u64,
    writer: Writer<'file>,
}

enum Writer<'file> {
    Separated(Box<csv::Writer<&'file mut (dyn Write + Send)>>),
    Parquet(Box<ArrowWriter<&'file mut (dyn Write + Send)>>),
}

/// Writes a table to a csv, tsv or parquet file, whole or not at all. `empty` has its columns and no rows; `produce` gives
/// the rows.
pub(crate) fn write_table_as_it_comes<T, E: From<Error>>(
    path: &Path,
    empty: &RecordBatch,
    produce: impl FnOnce(&mut TableStream<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let format = Format::of(path)?;
    if !matches!(format, Format::Separated(_) | Format::Parquet) {
        return Err(Error::content(path, "csv, tsv or parquet", "another extension")
            .with_hint("npy and npz files are not written row by row and hold no names of rows")
            .into());
    }
    // An error of whoever makes the rows is not reported as a failed write.
    let mut failure = None;
    let written = write_atomically(path, |file| {
        write_through(path, file, format, empty, |table| {
            produce(table).map_err(|error| {
                failure = Some(error);
                io::Error::other("the rows could not be made")
            })
        })
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

fn write_through<'file, T>(
    path: &'file Path,
    file: &'file mut (dyn Write + Send),
    format: Format,
    empty: &RecordBatch,
    produce: impl FnOnce(&mut TableStream<'file>) -> io::Result<T>,
) -> io::Result<T> {
    let schema = empty.schema();
    let writer = match format {
        Format::Separated(separator) => {
            let mut writer = separated_writer(file, separator);
            writer.write_record(schema.fields().iter().map(|field| field.name()))?;
            Writer::Separated(Box::new(writer))
        }
        _ => {
            let writer = ArrowWriter::try_new(file, schema, Some(parquet_properties()));
            Writer::Parquet(Box::new(writer.map_err(io::Error::other)?))
        }
    };
    let mut table = TableStream { path, n_rows: 0, writer };
    let value = produce(&mut table)?;
    match table.writer {
        Writer::Separated(mut writer) => writer.flush()?,
        Writer::Parquet(writer) => {
            writer.close().map_err(io::Error::other)?;
        }
    }
    Ok(value)
}

impl TableStream<'_> {
    /// Adds rows.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut push = || -> io::Result<()> {
            match &mut self.writer {
                Writer::Separated(writer) => {
                    for row in 0..batch.num_rows() {
                        let cells = batch.columns().iter().map(|column| cell(column, row));
                        writer.write_record(cells)?;
                    }
                }
                Writer::Parquet(writer) => {
                    writer.write(batch).map_err(io::Error::other)?;
                    if writer.in_progress_size() > GROUP_BYTES {
                        writer.flush().map_err(io::Error::other)?;
                    }
                }
            }
            Ok(())
        };
        push().map_err(|error| Error::write(self.path, error))?;
        self.n_rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Number of rows added.
    pub(crate) fn n_rows(&self) -> u64 {
        self.n_rows
    }
}

/// A cell as text: whole numbers, numbers and texts are all that tables of labels have.
fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        // As `write_columns` writes them: 1e-300 rather than three hundred zeros.
        DataType::Float64 => format!("{:?}", column.as_primitive::<Float64Type>().value(row)),
        _ => column.as_string::<i32>().value(row).to_owned(),
    }
}
