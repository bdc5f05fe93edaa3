//! Rows of Parquet parts, batch by batch, when they are asked for.

use std::ops::Range;
use std::path::Path;

use arrow_array::ArrayRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use crate::parts::TableParts;
use crate::tables::parquet::{BATCH_ROWS, ParquetFile};
use crate::{Error, Result};

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
pub(crate) struct RowBatch {
    /// The index of the file.
    pub(crate) file: usize,
    /// The first row, counted in this file.
    pub(crate) row_in_file: usize,
    /// The first row, counted over all files.
    pub(crate) first_row: u64,
    /// The columns, in the order in which they were chosen.
    pub(crate) arrays: Vec<ArrayRef>,
}

impl RowBatch {
    pub(crate) fn n_rows(&self) -> usize {
        self.arrays[0].len()
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
    pub(crate) fn next(&mut self) -> Result<Option<RowBatch>> {
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
            let file = open.index;
            self.rows.start += n_rows as u64;
            return Ok(Some(RowBatch { file, row_in_file, first_row, arrays }));
        }
        Ok(None)
    }

    /// Opens the file that has the next row.
    fn open_next(&self) -> Result<OpenFile> {
        let holds_next = |&index: &usize| self.parts.rows_of_file(index).contains(&self.rows.start);
        let index = (0..self.parts.files().len()).find(holds_next);
        let index = index.expect("rows that the parts have");
        let path = &self.parts.files()[index];
        let file = ParquetFile::open(path)?;
        self.parts.check_columns(path, file.names())?;
        let of_file = self.parts.rows_of_file(index);
        if file.n_rows() != of_file.end - of_file.start {
            return Err(self.changed(index, file.n_rows()));
        }
        let rows = self.rows.start - of_file.start..self.rows.end.min(of_file.end) - of_file.start;
        let reader = file.reader(&self.columns, rows, self.batch_rows)?;
        Ok(OpenFile { index, file, reader })
    }

    /// A file must give all of its rows.
    fn finish_file(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let of_file = self.parts.rows_of_file(open.index);
        if self.rows.start < of_file.end.min(self.rows.end) {
            return Err(self.changed(open.index, self.rows.start - of_file.start));
        }
        Ok(())
    }

    fn changed(&self, index: usize, n_rows: u64) -> Error {
        let of_file = self.parts.rows_of_file(index);
        let expected = format!("the {} rows that it had before", of_file.end - of_file.start);
        Error::content(&self.parts.files()[index], expected, format!("{n_rows} rows"))
            .with_hint("files must not change while they are read")
    }
}

/// Takes the cells of the next rows from those that were read ahead; `read` adds more of them, or says that there are none.
pub(crate) fn take_rows<T>(
    ahead: &mut Vec<T>,
    n_rows: usize,
    n_columns: usize,
    path: &Path,
    mut read: impl FnMut(&mut Vec<T>) -> Result<bool>,
) -> Result<Vec<T>> {
    while ahead.len() < n_rows * n_columns {
        if !read(ahead)? {
            let found = format!("{} rows", ahead.len() / n_columns);
            return Err(Error::content(path, format!("{n_rows} more rows"), found));
        }
    }
    Ok(ahead.drain(..n_rows * n_columns).collect())
}
