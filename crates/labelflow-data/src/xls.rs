//! Sheets of old Excel workbooks (.xls).

use std::path::{Path, PathBuf};

use calamine::{Data, DataType, Range, Reader, Xls, XlsError};

use crate::error::Place;
use crate::foreign_decoder::guarded;
use crate::{Error, Result};

/// One sheet of a workbook. Rows and columns count from 0.
#[derive(Debug)]
pub struct XlsSheet {
    path: PathBuf,
    cells: Range<Data>,
}

impl XlsSheet {
    /// Reads the sheet with this name.
    pub fn read(path: &Path, sheet: &str) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| Error::read(path, source))?;
        guarded(path, || {
            let refuse = |error: XlsError| Error::content(path, "an Excel workbook", error);
            let mut workbook = Xls::new(std::io::Cursor::new(bytes)).map_err(refuse)?;
            if !workbook.sheet_names().iter().any(|name| name == sheet) {
                return Err(Error::content(
                    path,
                    format!("a sheet '{sheet}'"),
                    workbook.sheet_names().join(", "),
                ));
            }
            let cells = workbook.worksheet_range(sheet).map_err(refuse)?;
            Ok(Self { path: path.to_owned(), cells })
        })
    }

    /// Number of rows, empty ones above the first cell included.
    pub fn n_rows(&self) -> usize {
        self.cells.end().map_or(0, |(row, _)| row as usize + 1)
    }

    /// Number of columns, empty ones left of the first cell included.
    pub fn n_columns(&self) -> usize {
        self.cells.end().map_or(0, |(_, column)| column as usize + 1)
    }

    /// The text in a cell, or nothing.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        self.cell(row, column)?.get_string()
    }

    /// The number in a cell, or nothing.
    pub fn number(&self, row: usize, column: usize) -> Option<f64> {
        let cell = self.cell(row, column)?;
        cell.get_float().or_else(|| cell.get_int().map(|value| value as f64))
    }

    /// The number in a cell; anything else is an error that names `column_name`.
    pub fn required_number(&self, row: usize, column: usize, column_name: &str) -> Result<f64> {
        self.number(row, column).ok_or_else(|| {
            let found = self.cell(row, column).map(ToString::to_string).unwrap_or_default();
            Error::content(&self.path, "a number", format!("'{found}'"))
                .at(Place::row(row))
                .in_column(column_name)
        })
    }

    fn cell(&self, row: usize, column: usize) -> Option<&Data> {
        self.cells.get_value((u32::try_from(row).ok()?, u32::try_from(column).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<XlsSheet> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.xls");
        std::fs::write(&path, bytes).unwrap();
        XlsSheet::read(&path, "Data")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert!(read(&bytes).is_err());
            // The signature of a compound file, so that decoding gets a little further.
            let signed = [&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1][..], &bytes].concat();
            prop_assert!(read(&signed).is_err());
        }
    }
}
