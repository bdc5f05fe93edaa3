//! Tables written as their rows come, without having all of them in memory.

use std::io::{self, Write};
use std::path::Path;

use super::columns::{Column, checked_length};
use super::parquet::ParquetStream;
use super::table::Format;
use crate::{Error, Result, write_atomically};

/// Takes rows.
pub(crate) struct TableStream<'file> {
    path: &'file Path,
    n_rows: u64,
    writer: Writer<'file>,
}

enum Writer<'file> {
    Separated(Box<csv::Writer<&'file mut (dyn Write + Send)>>),
    Parquet(Box<ParquetStream<'file>>),
}

/// Writes a table to a csv, tsv or parquet file, whole or not at all, with columns like those of `like`; `produce` gives
/// the rows.
pub(crate) fn write_table_as_it_comes<T, E: From<Error>>(
    path: &Path,
    like: &[Column],
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
        write_through(path, file, format, like, |table| {
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
    like: &[Column],
    produce: impl FnOnce(&mut TableStream<'file>) -> io::Result<T>,
) -> io::Result<T> {
    let writer = match format {
        Format::Separated(separator) => {
            let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(file);
            writer.write_record(like.iter().map(|column| &column.name))?;
            Writer::Separated(Box::new(writer))
        }
        _ => Writer::Parquet(Box::new(ParquetStream::new(file, like)?)),
    };
    let mut table = TableStream { path, n_rows: 0, writer };
    let value = produce(&mut table)?;
    match table.writer {
        Writer::Separated(mut writer) => writer.flush()?,
        Writer::Parquet(writer) => writer.close()?,
    }
    Ok(value)
}

impl TableStream<'_> {
    /// Adds rows: columns of equal length, like those of the table.
    pub(crate) fn push(&mut self, columns: &[Column]) -> Result<()> {
        let n_rows = checked_length(self.path, columns)?;
        let written = match &mut self.writer {
            Writer::Separated(writer) => (0..n_rows).try_for_each(|row| {
                let cells = columns.iter().map(|column| column.values.cell(row));
                writer.write_record(cells).map_err(io::Error::from)
            }),
            Writer::Parquet(writer) => writer.push(columns),
        };
        written.map_err(|error| Error::write(self.path, error))?;
        self.n_rows += n_rows as u64;
        Ok(())
    }

    /// Number of rows added.
    pub(crate) fn n_rows(&self) -> u64 {
        self.n_rows
    }
}
