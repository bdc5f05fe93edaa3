//! Tables of any supported format: which one a path means, and what is alike in all of them.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use labelflow_files::{InputFile, is_standard};
use ndarray::{Array2, Axis};

use super::cells::{NameCodes, Number, Numbers, into_table, parse_number, shown_number};
use super::csv_file::{find_row, read_header, visit_rows};
use super::npy_file::NpyArray;
use super::open_input;
use super::parquet::ParquetFile;
use crate::inputs::{KeyColumn, RowNames};
use crate::{Error, Place, Result, ensure};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text separated by this byte.
    Separated(u8),
    Parquet,
    Npy,
    Npz,
}

impl Format {
    /// The format of a file to be written: what its extension names. Standard output takes csv.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        if is_standard(path) { Ok(Self::Separated(b',')) } else { Self::of_extension(path) }
    }

    /// The format that the extension of `path` names.
    pub(crate) fn of_extension(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ok(Self::Separated(b',')),
            Some("tsv") => Ok(Self::Separated(b'\t')),
            Some("parquet") => Ok(Self::Parquet),
            Some("npy") => Ok(Self::Npy),
            Some("npz") => Ok(Self::Npz),
            other => Err(Error::content(
                path,
                "one of the extensions csv, tsv, parquet, npy, npz",
                other.map_or("none".to_owned(), |other| format!("'{other}'")),
            )),
        }
    }

    /// Opens a file to be read. Its format is what its extension names; where it has none, as a pipe, what its first bytes say.
    pub(crate) fn of_input(path: &Path) -> Result<(Self, InputFile)> {
        let is_named = path.extension().is_some() || !(is_standard(path) || path.exists());
        let named = is_named.then(|| Self::of_extension(path)).transpose()?;
        // A pipe is not there twice: it stays open.
        let file = open_input(path)?;
        let format = named.map_or_else(|| Self::of_first_bytes(path), Ok)?;
        Ok((format, file))
    }

    /// What begins as no other format is text, separated by tabs if there is any in its first line, else by commas.
    pub(crate) fn of_first_bytes(path: &Path) -> Result<Self> {
        const LONGEST_HEADER: u64 = 1 << 24;
        let mut line = Vec::new();
        let read = BufReader::new(open_input(path)?.take(LONGEST_HEADER)).read_until(b'\n', &mut line);
        read.map_err(|source| Error::read(path, source))?;
        Ok(match &*line {
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Self::Npy,
            [b'P', b'K', 3, 4, ..] => Self::Npz,
            [0x1f, 0x8b, ..] => {
                return Err(Error::content(path, "csv, tsv, parquet, npy or npz", "a gzip file")
                    .with_hint("unpack it first, as in `gzip -dc FILE | labelflow …`"));
            }
            line => Self::Separated(if line.contains(&b'\t') { b'\t' } else { b',' }),
        })
    }
}

/// Columns of equal length: those of a csv, tsv or parquet file, or of an array `[n_rows, …]`, whose columns are numbered.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) path: PathBuf,
    /// Names of the columns.
    pub(crate) names: Vec<String>,
    /// What names the rows.
    key: Option<(KeyColumn, KeyCells)>,
    content: Content,
    /// Open as long as it is read: a pipe is not there twice.
    _file: InputFile,
}

/// Where the names of rows are.
#[derive(Debug)]
enum KeyCells {
    Column(usize),
    /// An array beside that of the table.
    Array(NpyArray),
}

#[derive(Debug)]
enum Content {
    /// Text separated by this byte.
    Csv(u8),
    Parquet(ParquetFile),
    Array(NpyArray),
}

impl TableFile {
    /// Opens a table or an array. An npz archive may have it under any of these names.
    pub(crate) fn open(path: &Path, array_names: &[&str]) -> Result<Self> {
        Self::open_as(path, Format::of_input(path)?, array_names)
    }

    fn open_as(path: &Path, (format, file): (Format, InputFile), array_names: &[&str]) -> Result<Self> {
        let (names, content) = match format {
            Format::Separated(separator) => (read_header(path, separator)?, Content::Csv(separator)),
            Format::Parquet => {
                let file = ParquetFile::open(path)?;
                (file.names.clone(), Content::Parquet(file))
            }
            Format::Npy | Format::Npz => return Self::of_array(path, NpyArray::read(path, array_names)?, file),
        };
        Ok(Self { path: path.to_owned(), names, key: None, content, _file: file })
    }

    fn of_array(path: &Path, array: NpyArray, file: InputFile) -> Result<Self> {
        let shape = array.shape();
        let refuse = || Error::content(path, "at least one row and one column", format!("an array of shape {shape:?}"));
        ensure(!shape.contains(&0), refuse)?;
        let n_columns = shape.iter().skip(1).product();
        let names = (0..n_columns).map(|column: usize| column.to_string()).collect();
        Ok(Self { path: path.to_owned(), names, key: None, content: Content::Array(array), _file: file })
    }

    /// Opens the array with this name, if the file is an npz archive that has one.
    pub(crate) fn open_array(path: &Path, name: &str) -> Result<Option<Self>> {
        let file = open_input(path)?;
        NpyArray::read_named(path, name)?.map(|array| Self::of_array(path, array, file)).transpose()
    }

    /// Opens a table whose columns have names.
    pub(crate) fn open_named(path: &Path) -> Result<Self> {
        match Format::of_input(path)? {
            (Format::Npy | Format::Npz, _) => Err(Error::content(path, "csv, tsv or parquet", "an array")),
            input => Self::open_as(path, input, &[]),
        }
    }

    /// Opens a text whose cells are separated by this byte.
    #[cfg(feature = "catalog")]
    pub(crate) fn open_separated(path: &Path, separator: u8) -> Result<Self> {
        Self::open_as(path, (Format::Separated(separator), open_input(path)?), &[])
    }

    /// The same table with what names its rows, if it has it: a column, or an array of its archive.
    pub(crate) fn with_key(mut self, key: &KeyColumn) -> Result<Self> {
        let cells = match (self.array(), key) {
            (_, KeyColumn::Place) => None,
            (None, _) => self.column(key.name()).map(KeyCells::Column),
            (Some(_), _) => NpyArray::read_named(&self.path, key.name())?.map(KeyCells::Array),
        };
        self.key = key.found(cells, |expected| match self.array() {
            Some(_) => self.error(expected, "an array, whose columns have no names"),
            None => self.other_columns(expected),
        })?;
        Ok(self)
    }

    /// The column that names the rows, and their names, if they have some.
    pub(crate) fn keys(&self) -> Result<Option<(&KeyColumn, RowNames)>> {
        let Some((key, cells)) = &self.key else { return Ok(None) };
        let column = match cells {
            KeyCells::Column(column) => *column,
            KeyCells::Array(array) => {
                let names = RowNames::of_numbers(array.numbers().iter().copied());
                let refuse = || self.error("whole numbers", "others").in_column(key.name());
                return Ok(Some((key, names.ok_or_else(refuse)?)));
            }
        };
        let numbers = if *key == KeyColumn::Row { self.numbers::<f64>(&[column])?.ok() } else { None };
        let names = match numbers.and_then(|numbers| RowNames::of_numbers(numbers.into_iter())) {
            Some(names) => names,
            None => RowNames::Texts(self.texts(column)?),
        };
        Ok(Some((key, names)))
    }

    /// The array, if it is one.
    pub(crate) fn array(&self) -> Option<&NpyArray> {
        match &self.content {
            Content::Array(array) => Some(array),
            _ => None,
        }
    }

    /// An array must have such a shape.
    pub(crate) fn check_shape(&self, expected: &str, is_good: impl Fn(&[usize]) -> bool) -> Result<()> {
        match self.array().map(NpyArray::shape) {
            Some(shape) if !is_good(shape) => {
                Err(self.error(format!("an array of shape {expected}"), format!("{shape:?}")))
            }
            _ => Ok(()),
        }
    }

    /// The indices of all columns but the one that names the rows.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let key = match self.key {
            Some((_, KeyCells::Column(column))) => Some(column),
            _ => None,
        };
        (0..self.names.len()).filter(|&column| Some(column) != key).collect()
    }

    /// The index of the column with this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    /// The index of the column with this name, which must be there.
    pub(crate) fn required_column(&self, name: &str) -> Result<usize> {
        self.column(name).ok_or_else(|| self.other_columns(format!("a column '{name}'")))
    }

    /// The index of the first of these columns that is there, or of the only one.
    pub(crate) fn only_column(&self, names: &[&str]) -> Result<usize> {
        match (names.iter().find_map(|name| self.column(name)), &self.columns()[..]) {
            (Some(column), _) | (None, &[column]) => Ok(column),
            _ => Err(self.other_columns(format!("one column or a column '{}'", names.join("', '")))),
        }
    }

    /// The chosen columns as numbers.
    pub(crate) fn numbers<T: Number>(&self, columns: &[usize]) -> Result<Numbers<T>> {
        match &self.content {
            Content::Parquet(file) => file.numbers(columns),
            Content::Csv(_) => {
                let (mut values, mut is_text) = (Vec::new(), false);
                let visited = self.visit_cells(columns, |column, cell| {
                    let value = parse_number(cell).ok_or_else(|| {
                        is_text = true;
                        Error::cell(&self.path, "a number", cell).in_column(&self.names[column])
                    })?;
                    values.push(T::from_f64(value));
                    Ok(())
                });
                match visited {
                    Err(error) if is_text => Ok(Err(error)),
                    visited => visited.map(|()| Ok(into_table(values, columns.len()))),
                }
            }
            Content::Array(array) => {
                let all = array.numbers().into_iter().collect();
                Ok(Ok(into_table(all, self.names.len()).select(Axis(1), columns)))
            }
        }
    }

    /// A column as numbers, all of which `accept`.
    pub(crate) fn checked_numbers(
        &self,
        column: usize,
        expected: &str,
        accept: impl Fn(f64) -> bool,
    ) -> Result<Vec<f64>> {
        let values = self.numbers::<f64>(&[column])??.into_iter().collect::<Vec<_>>();
        match values.iter().position(|&value| !accept(value)) {
            None => Ok(values),
            Some(row) => Err(self.cell_error(row, column, expected, shown_number(values[row]))),
        }
    }

    /// A column as codes of names, none of which may be missing.
    pub(crate) fn checked_codes(&self, column: usize, expected: &str, codes: &mut NameCodes) -> Result<Vec<usize>> {
        let cells = self.name_codes(&[column], codes)?;
        match cells.iter().position(|&code| code == NameCodes::ABSENT) {
            None => Ok(cells.into_iter().map(|code| code as usize).collect()),
            Some(row) => Err(self.cell_error(row, column, expected, "none")),
        }
    }

    /// The chosen columns as codes of names, [`NameCodes::ABSENT`] where a cell is empty.
    pub(crate) fn name_codes(&self, columns: &[usize], codes: &mut NameCodes) -> Result<Array2<u32>> {
        let mut values = Vec::new();
        self.visit_cells(columns, |column, cell| {
            let code = codes.code(&self.path, cell.trim());
            values.push(code.map_err(|error| error.in_column(&self.names[column]))?);
            Ok(())
        })?;
        Ok(into_table(values, columns.len()))
    }

    /// Visits the cells of the chosen columns as text, row by row. Errors of `visit` get the place.
    fn visit_cells(&self, columns: &[usize], mut visit: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
        match &self.content {
            Content::Csv(separator) => visit_rows(&self.path, *separator, self.names.len(), |record| {
                columns.iter().try_for_each(|&column| visit(column, &record[column]))
            }),
            Content::Parquet(file) => file.visit_cells(columns, visit),
            Content::Array(_) => Err(self.error("names", "an array of numbers")),
        }
    }

    /// A column as codes of any names, of which there may be no more than `n_most`, and the names in order of appearance.
    pub(crate) fn named_cells(&self, column: usize, n_most: usize) -> Result<(Vec<u32>, Vec<String>)> {
        // One code is kept for what is missing.
        let mut codes = NameCodes::open(n_most.min(NameCodes::ABSENT as usize));
        let cells = self.name_codes(&[column], &mut codes)?;
        Ok((cells.into_iter().collect(), codes.into_names()))
    }

    /// A column as text, empty where a cell is.
    pub(crate) fn texts(&self, column: usize) -> Result<Vec<String>> {
        let (codes, names) = self.named_cells(column, usize::MAX)?;
        let text = |code: u32| names.get(code as usize).cloned().unwrap_or_default();
        Ok(codes.into_iter().map(text).collect())
    }

    /// Where the row with this index is, for people.
    pub(crate) fn place(&self, row: usize) -> Place {
        match &self.content {
            Content::Csv(separator) => find_row(&self.path, *separator, row),
            Content::Parquet(_) | Content::Array(_) => Place::row(row),
        }
    }

    /// What is wrong with the table.
    pub(crate) fn error(&self, expected: impl Display, found: impl Display) -> Error {
        Error::content(&self.path, expected, found)
    }

    /// What is wrong with a cell.
    pub(crate) fn cell_error(&self, row: usize, column: usize, expected: impl Display, found: impl Display) -> Error {
        self.error(expected, found).at(self.place(row)).in_column(&self.names[column])
    }

    /// The table has other columns than expected.
    pub(crate) fn other_columns(&self, expected: impl Display) -> Error {
        const N_SHOWN: usize = 20;
        let mut found = format!("the columns {}", self.names[..self.names.len().min(N_SHOWN)].join(", "));
        if self.names.len() > N_SHOWN {
            found += &format!(", … ({} in all)", self.names.len());
        }
        self.error(expected, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_extension_lists_the_known_ones() {
        for path in ["features.xlsx", "features"] {
            let error = Format::of(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("csv, tsv, parquet, npy, npz"), "{error}");
        }
        assert_eq!(Format::of(Path::new("a.CSV")).unwrap(), Format::Separated(b','));
        assert_eq!(Format::of(Path::new("-")).unwrap(), Format::Separated(b','));
    }

    #[test]
    fn without_an_extension_the_first_bytes_say_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let format = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Format::of_input(&path).map(|(format, _)| format)
        };
        for (bytes, expected) in [
            (&b"a,b\n1\t,2\n"[..], Format::Separated(b',')),
            (b"a\tb, c\r\n1\t2\r\n", Format::Separated(b'\t')),
            (b"", Format::Separated(b',')),
            (b"PAR1\x15\x04", Format::Parquet),
            (b"\x93NUMPY\x01\x00", Format::Npy),
            (b"PK\x03\x04", Format::Npz),
        ] {
            assert_eq!(format(bytes).unwrap(), expected, "{bytes:?}");
        }
        let error = format(b"\x1f\x8b\x08").unwrap_err().to_string();
        assert!(error.contains("found a gzip file (unpack it first"), "{error}");
    }
}
