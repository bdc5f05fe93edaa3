//! Sheets of old Excel workbooks (.xls).

use std::path::{Path, PathBuf};

use calamine::{Data, DataType, Range, Reader, Xls, XlsError};

use super::compound_file::CompoundFile;
use crate::tables::foreign_decoder::guarded;
use crate::{Error, Place, Result, ensure};

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
        ensure(is_modest(&bytes), || Error::content(path, "an Excel workbook", "a damaged one"))?;
        guarded(path, || {
            let refuse = |error: XlsError| Error::content(path, "an Excel workbook", error);
            let mut workbook = Xls::new(std::io::Cursor::new(bytes)).map_err(refuse)?;
            let names = workbook.sheet_names();
            let missing = || Error::content(path, format!("a sheet '{sheet}'"), names.join(", "));
            ensure(names.iter().any(|name| name == sheet), missing)?;
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
            Error::content(&self.path, "a number", format!("'{found}'")).at(Place::row(row)).in_column(column_name)
        })
    }

    fn cell(&self, row: usize, column: usize) -> Option<&Data> {
        self.cells.get_value((u32::try_from(row).ok()?, u32::try_from(column).ok()?))
    }
}

/// Records of cells, which all start with the row and the column; the last one holds several cells of a row.
const CELL_RECORDS: [u16; 11] =
    [0x0006, 0x00d6, 0x00fd, 0x0201, 0x0203, 0x0204, 0x0205, 0x0207, 0x027e, 0x0406, MANY_NUMBERS];
const MANY_NUMBERS: u16 = 0x00bd;
/// What a sheet claims to reach from and to, in four numbers of two or four bytes.
const DIMENSIONS: u16 = 0x0200;
/// Cells that a sheet may have for each byte of the file, and besides: far more than any has.
const CELLS_A_BYTE: u64 = 4;
const MORE_CELLS: u64 = 1 << 16;

/// Whether the decoder, which believes what a file says of its sectors and makes room for the whole rectangle that cells span, can be
/// trusted with it: chains end, and no rectangle is far larger than the file.
fn is_modest(bytes: &[u8]) -> bool {
    let Some(file) = CompoundFile::read(bytes) else { return false };
    let most = CELLS_A_BYTE * bytes.len() as u64 + MORE_CELLS;
    let streams = ["Workbook", "Book"].into_iter().filter_map(|name| file.stream(name));
    streams.into_iter().all(|stream| {
        let (mut last_row, mut last_column) = (0, 0);
        let mut rest = &stream[..];
        while let [kind, kind_high, length, length_high, tail @ ..] = rest {
            let kind = u16::from_le_bytes([*kind, *kind_high]);
            let length = usize::from(u16::from_le_bytes([*length, *length_high]));
            let Some((data, tail)) = tail.split_at_checked(length) else { break };
            rest = tail;
            let short = |place: usize| {
                data.get(place..place + 2).map_or(0, |pair| u64::from(u16::from_le_bytes([pair[0], pair[1]])))
            };
            if kind == DIMENSIONS {
                // Two bytes a row in old files, four in others.
                let [from_row, to_row, from_column, to_column] = match data.len() {
                    10 => [0, 2, 4, 6].map(short),
                    _ => [short(0) | short(2) << 16, short(4) | short(6) << 16, short(8), short(10)],
                };
                let is_backward = from_row > to_row || from_column > to_column;
                if is_backward || (to_row + 1) * (to_column + 1) > most {
                    return false;
                }
            } else if CELL_RECORDS.contains(&kind) {
                last_row = last_row.max(short(0));
                let n_more = if kind == MANY_NUMBERS { data.len() as u64 / 6 } else { 0 };
                last_column = last_column.max(short(2) + n_more);
            }
        }
        (last_row + 1) * (last_column + 1) <= most
    })
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
