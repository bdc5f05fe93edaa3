//! Tables to be written: named columns of equal length, all at once or as their rows come.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use super::npy_file::{NpzArray, write_npz};
use super::parquet::ParquetStream;
use super::table::Format;
use crate::{Error, Result, ensure, write_atomically};

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub values: ColumnValues,
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Whole numbers of 16 bits.
    Shorts(Vec<i16>),
    /// Numbers; NaN is written as an empty cell.
    Reals(Vec<f64>),
    /// Numbers in single precision.
    ShortReals(Vec<f32>),
    /// Text.
    Names(Vec<String>),
    /// Text, or an empty cell.
    SomeNames(Vec<Option<String>>),
}

impl Column {
    /// A column of this name.
    pub fn new(name: impl Into<String>, values: ColumnValues) -> Self {
        Self { name: name.into(), values }
    }
}

impl ColumnValues {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Shorts(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::ShortReals(values) => values.len(),
            Self::Names(values) => values.len(),
            Self::SomeNames(values) => values.len(),
        }
    }

    /// A cell as text. Small and large numbers are in scientific notation: 1e-300 rather than three hundred zeros.
    fn cell(&self, row: usize) -> String {
        match self {
            Self::Integers(values) => values[row].to_string(),
            Self::Shorts(values) => values[row].to_string(),
            Self::Reals(values) if values[row].is_nan() => String::new(),
            Self::Reals(values) => format!("{:?}", values[row]),
            Self::ShortReals(values) => format!("{:?}", values[row]),
            Self::Names(values) => values[row].clone(),
            Self::SomeNames(values) => values[row].clone().unwrap_or_default(),
        }
    }

    pub(crate) fn to_npz(&self) -> NpzArray<'_> {
        let shape = vec![self.len()];
        match self {
            Self::Integers(values) => NpzArray::Integers(values),
            Self::Shorts(values) => NpzArray::Shorts(shape, values.clone()),
            Self::Reals(values) => NpzArray::Floats(shape, values.clone()),
            Self::ShortReals(values) => NpzArray::Floats(shape, values.iter().copied().map(f64::from).collect()),
            Self::Names(values) => NpzArray::Names(Cow::Borrowed(values)),
            Self::SomeNames(values) => {
                NpzArray::Names(values.iter().map(|name| name.clone().unwrap_or_default()).collect())
            }
        }
    }
}

/// Columns must be equally long; returns how long they are.
fn checked_length(path: &Path, columns: &[Column]) -> Result<usize> {
    let n_rows = columns.first().map_or(0, |column| column.values.len());
    for Column { name, values } in columns {
        let expected = || format!("columns of {n_rows} rows");
        ensure(values.len() == n_rows, || Error::content(path, expected(), values.len()).in_column(name))?;
    }
    Ok(n_rows)
}

/// Writes columns of equal length, atomically, in the format that the extension names: csv, tsv, parquet, or npz with
/// one array per column.
pub fn write_columns(path: &Path, columns: &[Column]) -> Result<()> {
    match Format::of(path)? {
        Format::Separated(_) | Format::Parquet => write_table_as_it_comes(path, columns, |table| table.push(columns)),
        Format::Npz => {
            checked_length(path, columns)?;
            let arrays: Vec<_> = columns.iter().map(|column| (&*column.name, column.values.to_npz())).collect();
            write_atomically(path, |writer| write_npz(writer, &arrays))
        }
        Format::Npy => Err(refuse_npy(path)),
    }
}

/// A table was to be written as an array without names.
pub(crate) fn refuse_npy(path: &Path) -> Error {
    Error::content(path, "csv, tsv, parquet or npz", "npy").with_hint("an npy file has no place for column names")
}

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
    let refuse = || Error::content(path, "csv, tsv or parquet", "another extension");
    let hint = "npy and npz files are not written row by row and hold no names of rows";
    ensure(matches!(format, Format::Separated(_) | Format::Parquet), || refuse().with_hint(hint))?;
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
            writer.write_record(like.iter().map(|column| &column.name)).map_err(io_error)?;
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

/// What the system said: that a disk is full or that nobody reads any more.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        other => io::Error::other(format!("{other:?}")),
    }
}

impl TableStream<'_> {
    /// Adds rows: columns of equal length, like those of the table.
    pub(crate) fn push(&mut self, columns: &[Column]) -> Result<()> {
        let n_rows = checked_length(self.path, columns)?;
        let written = match &mut self.writer {
            Writer::Separated(writer) => (0..n_rows).try_for_each(|row| {
                let cells = columns.iter().map(|column| column.values.cell(row));
                writer.write_record(cells).map_err(io_error)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        vec![
            Column::new("row", ColumnValues::Integers(vec![0, 1])),
            Column::new("label", ColumnValues::Names(vec!["a, b".to_owned(), "c".to_owned()])),
            Column::new("p", ColumnValues::Reals(vec![0.1, f64::NAN])),
        ]
    }

    #[test]
    fn csv_quotes_and_leaves_nan_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        write_columns(&path, &columns()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "row,label,p\n0,\"a, b\",0.1\n1,c,\n");
    }

    #[test]
    fn unequal_columns_and_npy_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let mut unequal = columns();
        unequal[2].values = ColumnValues::Reals(vec![0.5]);
        assert!(write_columns(&folder.path().join("t.csv"), &unequal).is_err());
        assert!(write_columns(&folder.path().join("t.npy"), &columns()).is_err());
        write_columns(&folder.path().join("t.npz"), &columns()).unwrap();
        let parquet = write_columns(&folder.path().join("t.parquet"), &columns());
        assert_eq!(parquet.is_ok(), cfg!(feature = "parquet"));
    }
}
