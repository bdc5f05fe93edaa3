//! Tables to be written: named columns of equal length.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use super::npy_file::{NpzArray, write_npz};
use super::parquet::write_parquet;
use super::table::Format;
use crate::{Error, Result, write_atomically};

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
    /// Numbers; NaN is written as an empty cell.
    Reals(Vec<f64>),
    /// Text.
    Names(Vec<String>),
    /// Text, or an empty cell.
    SomeNames(Vec<Option<String>>),
}

impl ColumnValues {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::Names(values) => values.len(),
            Self::SomeNames(values) => values.len(),
        }
    }

    fn cell(&self, row: usize) -> String {
        match self {
            Self::Integers(values) => values[row].to_string(),
            Self::Reals(values) if values[row].is_nan() => String::new(),
            // Small and large numbers in scientific notation: 1e-300 rather than three hundred zeros.
            Self::Reals(values) => format!("{:?}", values[row]),
            Self::Names(values) => values[row].clone(),
            Self::SomeNames(values) => values[row].clone().unwrap_or_default(),
        }
    }

    fn to_npz(&self) -> NpzArray<'_> {
        match self {
            Self::Integers(values) => NpzArray::Integers(values),
            Self::Reals(values) => NpzArray::Floats(vec![values.len()], values.clone()),
            Self::Names(values) => NpzArray::Names(Cow::Borrowed(values)),
            Self::SomeNames(values) => NpzArray::Names(
                values.iter().map(|name| name.clone().unwrap_or_default()).collect(),
            ),
        }
    }
}

/// Writes columns of equal length, atomically, in the format that the extension names: csv, tsv, parquet, or npz with
/// one array a column.
pub fn write_columns(path: &Path, columns: &[Column]) -> Result<()> {
    let n_rows = columns.first().map_or(0, |column| column.values.len());
    if let Some(column) = columns.iter().find(|column| column.values.len() != n_rows) {
        let expected = format!("columns of {n_rows} rows");
        return Err(Error::content(path, expected, column.values.len()).in_column(&column.name));
    }
    match Format::of(path)? {
        Format::Separated(separator) => {
            write_atomically(path, |writer| write_separated(writer, separator, columns, n_rows))
        }
        Format::Parquet => write_parquet(path, columns),
        Format::Npz => write_atomically(path, |writer| {
            let arrays = columns.iter().map(|column| (&*column.name, column.values.to_npz()));
            write_npz(writer, &arrays.collect::<Vec<_>>())
        }),
        Format::Npy => Err(refuse_npy(path)),
    }
}

/// A table was to be written as an array without names.
pub(crate) fn refuse_npy(path: &Path) -> Error {
    Error::content(path, "csv, tsv, parquet or npz", "npy")
        .with_hint("an npy file has no place for column names")
}

fn write_separated(
    writer: impl Write,
    separator: u8,
    columns: &[Column],
    n_rows: usize,
) -> io::Result<()> {
    let mut writer = separated_writer(writer, separator);
    writer.write_record(columns.iter().map(|column| &column.name))?;
    write_rows(&mut writer, columns, n_rows)?;
    writer.flush()
}

pub(crate) fn separated_writer<W: Write>(writer: W, separator: u8) -> csv::Writer<W> {
    csv::WriterBuilder::new().delimiter(separator).from_writer(writer)
}

/// Writes rows below a header.
pub(crate) fn write_rows<W: Write>(
    writer: &mut csv::Writer<W>,
    columns: &[Column],
    n_rows: usize,
) -> io::Result<()> {
    for row in 0..n_rows {
        writer.write_record(columns.iter().map(|column| column.values.cell(row)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let column = |name: &str, values| Column { name: name.to_owned(), values };
        vec![
            column("row", ColumnValues::Integers(vec![0, 1])),
            column("label", ColumnValues::Names(vec!["a, b".to_owned(), "c".to_owned()])),
            column("p", ColumnValues::Reals(vec![0.1, f64::NAN])),
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
