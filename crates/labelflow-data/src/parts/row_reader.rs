//! Rows of Parquet parts, batch by batch, when they are asked for.

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

use arrow_array::ArrayRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use crate::parts::TableParts;
use crate::tables::parquet::{BATCH_ROWS, ParquetFile};
use crate::{Error, Place, Result, ensure};

/// Reads chosen columns of a run of rows.
pub(crate) struct RowReader<'parts> {
    parts: &'parts TableParts,
    columns: Vec<usize>,
    rows: Range<u64>,
    batch_rows: usize,
    open: Option<OpenFile>,
}

struct OpenFile {
    index: usize,
    file: ParquetFile,
    reader: ParquetRecordBatchReader,
}

/// Some rows of one file.
pub(crate) struct RowBatch<'parts> {
    /// The file.
    pub(crate) path: &'parts Path,
    /// The first row, counted in this file.
    pub(crate) row_in_file: usize,
    /// The first row, counted over all files.
    pub(crate) first_row: u64,
    /// The columns, in the order in which they were chosen.
    pub(crate) arrays: Vec<ArrayRef>,
}

impl RowBatch<'_> {
    pub(crate) fn n_rows(&self) -> usize {
        self.arrays[0].len()
    }

    /// What is wrong with a cell.
    pub(crate) fn error(&self, row: usize, column: &str, expected: impl Display, found: impl Display) -> Error {
        Error::content(self.path, expected, found).at(Place::row(self.row_in_file + row)).in_column(column)
    }
}

impl<'parts> RowReader<'parts> {
    /// At least one column, and rows that the parts have.
    pub(crate) fn new(parts: &'parts TableParts, columns: &[usize], rows: Range<u64>) -> Self {
        Self { parts, columns: columns.to_vec(), rows, batch_rows: BATCH_ROWS, open: None }
    }

    /// With no more than so many rows in a batch.
    pub(crate) fn with_batch_rows(self, batch_rows: usize) -> Self {
        Self { batch_rows: batch_rows.clamp(1, BATCH_ROWS), ..self }
    }

    /// The next rows, none of them of two files; nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RowBatch<'parts>>> {
        while !self.rows.is_empty() {
            let open = match self.open.take() {
                Some(open) => open,
                None => self.open_next()?,
            };
            let open = self.open.insert(open);
            let Some(arrays) = open.file.next_batch(&mut open.reader, &self.columns)? else {
                self.finish_file()?;
                continue;
            };
            let n_rows = arrays[0].len();
            if n_rows == 0 {
                continue;
            }
            let first_row = self.rows.start;
            let row_in_file = (first_row - self.parts.rows_of_file(open.index).start) as usize;
            self.rows.start += n_rows as u64;
            return Ok(Some(RowBatch { path: &self.parts.files()[open.index], row_in_file, first_row, arrays }));
        }
        Ok(None)
    }

    /// Opens the file that has the next row.
    fn open_next(&self) -> Result<OpenFile> {
        let index = self.parts.file_of(self.rows.start);
        let path = &self.parts.files()[index];
        let file = ParquetFile::open(path)?;
        self.parts.check_columns(path, &file.names)?;
        let of_file = self.parts.rows_of_file(index);
        ensure(file.n_rows == of_file.end - of_file.start, || self.changed(index, file.n_rows))?;
        let rows = self.rows.start - of_file.start..self.rows.end.min(of_file.end) - of_file.start;
        let reader = file.reader(&self.columns, rows, self.batch_rows)?;
        Ok(OpenFile { index, file, reader })
    }

    /// A file must give all of its rows.
    fn finish_file(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let of_file = self.parts.rows_of_file(open.index);
        let refuse = || self.changed(open.index, self.rows.start - of_file.start);
        ensure(self.rows.start >= of_file.end.min(self.rows.end), refuse)
    }

    fn changed(&self, index: usize, n_rows: u64) -> Error {
        let of_file = self.parts.rows_of_file(index);
        let expected = format!("the {} rows that it had before", of_file.end - of_file.start);
        Error::content(&self.parts.files()[index], expected, format!("{n_rows} rows"))
            .with_hint("files must not change while they are read")
    }
}

/// Rows in pieces of any length, whatever batches they are read in.
pub(crate) struct RowsAhead<'parts, T> {
    reader: RowReader<'parts>,
    /// Cells that were read but not yet asked for.
    ahead: Vec<T>,
}

impl<'parts, T> RowsAhead<'parts, T> {
    pub(crate) fn new(reader: RowReader<'parts>) -> Self {
        Self { reader, ahead: Vec::new() }
    }

    /// The cells of the next rows, which `read` makes of batches, one per column. It is an error if there are fewer rows.
    pub(crate) fn take(
        &mut self,
        n_rows: usize,
        mut read: impl FnMut(&RowBatch<'_>) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let n_columns = self.reader.columns.len();
        while self.ahead.len() < n_rows * n_columns {
            let Some(batch) = self.reader.next()? else {
                let found = format!("{} rows", self.ahead.len() / n_columns);
                return Err(Error::content(&self.reader.parts.files()[0], format!("{n_rows} more rows"), found));
            };
            self.ahead.extend(read(&batch)?);
        }
        Ok(self.ahead.drain(..n_rows * n_columns).collect())
    }
}
