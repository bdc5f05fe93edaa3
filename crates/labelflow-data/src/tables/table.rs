//! Tables of any supported format: which one a path means, and what is alike in all of them.

use std::path::Path;

use ndarray::Array2;

use super::cells::{NameCodes, Number, Numbers};
use super::csv_file::CsvFile;
use super::parquet::ParquetFile;
use crate::{Error, Place, Result};

/// A file format, chosen by a path's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text separated by this byte.
    Separated(u8),
    Parquet,
    Npy,
    Npz,
}

impl Format {
    /// The format that the extension of `path` names.
    pub(crate) fn of(path: &Path) -> Result<Self> {
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
}

/// A table with named columns.
#[derive(Debug)]
pub(crate) enum TableFile {
    Csv(CsvFile),
    Parquet(ParquetFile),
}

/// What a path holds.
#[derive(Debug)]
pub(crate) enum Source {
    /// Named columns.
    Table(TableFile),
    /// An array without names, in an npy file or an npz archive.
    Array,
}

impl Source {
    /// Opens a table; an array is opened by whoever knows its name.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(match Format::of(path)? {
            Format::Separated(separator) => {
                Self::Table(TableFile::Csv(CsvFile::open(path, separator)?))
            }
            Format::Parquet => Self::Table(TableFile::Parquet(ParquetFile::open(path)?)),
            Format::Npy | Format::Npz => Self::Array,
        })
    }
}

impl TableFile {
    /// Column names.
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Self::Csv(file) => file.names(),
            Self::Parquet(file) => file.names(),
        }
    }

    /// The indices of all columns.
    pub(crate) fn columns(&self) -> Vec<usize> {
        (0..self.names().len()).collect()
    }

    /// The index of the column with this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.names().iter().position(|other| other == name)
    }

    /// The chosen columns as numbers, NaN where a cell is empty.
    pub(crate) fn numbers<T: Number>(&self, columns: &[usize]) -> Result<Numbers<T>> {
        match self {
            Self::Csv(file) => file.numbers(columns),
            Self::Parquet(file) => file.numbers(columns),
        }
    }

    /// The chosen columns as codes of names, [`NameCodes::ABSENT`] where a cell is empty.
    pub(crate) fn name_codes(
        &self,
        columns: &[usize],
        codes: &mut NameCodes,
    ) -> Result<Array2<u32>> {
        match self {
            Self::Csv(file) => file.name_codes(columns, codes),
            Self::Parquet(file) => file.name_codes(columns, codes),
        }
    }

    /// Where the row with this index is, for people.
    pub(crate) fn place(&self, row: usize) -> Place {
        match self {
            Self::Csv(file) => file.place(row),
            Self::Parquet(_) => Place::row(row),
        }
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
    }
}
