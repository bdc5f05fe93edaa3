//! A table in one or several Parquet files: which files, and that they belong together.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

use arrow_schema::DataType;
use labelflow_weak::votes::{ABSTAIN, WeakSignals};
use ndarray::Array2;

use super::key_reader::KeyReader;
use super::row_reader::RowReader;
use crate::inputs::vote_cells::named_votes;
use crate::inputs::{KeyColumn, KeyHead};
use crate::tables::csv_file::check_distinct;
use crate::tables::parquet::ParquetFile;
use crate::{Error, Result, ensure};

/// The Parquet files that a path names, in the order of their names, all with the same columns. Rows are counted over
/// all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableParts {
    files: Vec<PathBuf>,
    columns: Vec<String>,
    /// The column that names the rows.
    key: Option<(KeyColumn, usize)>,
    /// The types of the columns of each file.
    types: Vec<Vec<DataType>>,
    /// Where each file begins, and the number of all rows.
    first_rows: Vec<u64>,
}

impl TableParts {
    /// Whether a path names files by a pattern or a folder, rather than one file.
    pub fn is_several(path: &Path) -> bool {
        path.is_dir() || (is_pattern(path) && !path.exists())
    }

    /// The files that a path names, in order, whatever is in them: the path itself, unless it is a folder or a pattern.
    pub fn find(path: &Path) -> Result<Vec<PathBuf>> {
        if path.is_file() || !(path.is_dir() || is_pattern(path)) {
            return Ok(vec![path.to_owned()]);
        }
        let mut files = if path.is_dir() { in_folder(path)? } else { by_pattern(path)? };
        let found = if path.is_dir() { "none in this folder" } else { "none with such a name" };
        ensure(!files.is_empty(), || Error::content(path, "at least one parquet file", found))?;
        files.sort_by(|a, b| natural_order(a, b));
        Ok(files)
    }

    /// Whether a path is a pattern, and a file of this name would be read by it; both are absolute, and the file need not be there.
    pub fn would_read(path: &Path, file: &Path) -> bool {
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        let pattern =
            path.to_str().filter(|_| is_pattern(path) && !path.exists()).and_then(|text| glob::Pattern::new(text).ok());
        pattern.is_some_and(|pattern| pattern.matches_path_with(file, options))
    }

    /// Finds the files: one Parquet file, all `*.parquet` of a folder, or those that a pattern such as `votes/*.parquet`
    /// names. Reads what each file says of itself, so that a part which is damaged or has other columns is refused
    /// before anything else is done.
    pub fn open(path: &Path, key: &KeyColumn) -> Result<Self> {
        let (files, columns, types) = (Vec::new(), Vec::new(), Vec::new());
        let mut parts = Self { files, columns, key: None, types, first_rows: vec![0] };
        Self::find(path)?.into_iter().try_for_each(|file| parts.add(file))?;
        let found = format!("{} rows and {} columns", parts.n_rows(), parts.columns.len());
        let is_empty = parts.n_rows() == 0 || parts.columns.is_empty();
        ensure(!is_empty, || Error::content(path, "at least one row and one column", found))?;
        let place = parts.columns.iter().position(|column| column == key.name());
        parts.key = key.found(place, |expected| parts.other_columns(expected))?;
        Ok(parts)
    }

    fn add(&mut self, file: PathBuf) -> Result<()> {
        let extension = file.extension().unwrap_or_default();
        let refuse = || Error::content(&file, "a parquet file", format!("'{}'", extension.display()));
        ensure(extension == "parquet", || refuse().with_hint("tables in parts are read from parquet only"))?;
        let part = ParquetFile::open(&file)?;
        if self.files.is_empty() {
            self.columns = part.names.clone();
            check_distinct(&file, "column names that differ", &self.columns)?;
        }
        self.check_columns(&file, &part.names)?;
        let first_row = self.n_rows();
        let end = part.row_groups.iter().fold(first_row, |end, &n_rows| end.saturating_add(n_rows));
        let expected = || format!("{} rows, as the file says", part.n_rows);
        let found = || format!("{} in its row groups", end - first_row);
        ensure(end - first_row == part.n_rows, || Error::content(&file, expected(), found()))?;
        self.first_rows.push(end);
        self.types.push(part.types);
        self.files.push(file);
        Ok(())
    }

    /// Refuses a file with other columns than the first one.
    pub(crate) fn check_columns(&self, file: &Path, columns: &[String]) -> Result<()> {
        if columns == self.columns {
            return Ok(());
        }
        let mut expected = format!("the columns {}", self.columns.join(", "));
        if let Some(first) = self.files.first() {
            expected += &format!(", as in {}", first.display());
        }
        Err(Error::content(file, expected, columns.join(", ")))
    }

    /// The files, in order.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The columns that do not name rows.
    pub fn columns_of_values(&self) -> Vec<usize> {
        let is_key = |column: &usize| self.key.as_ref().is_some_and(|(_, key)| key == column);
        (0..self.columns.len()).filter(|column| !is_key(column)).collect()
    }

    /// What the column of keys of these rows is called, and whether it has numbers.
    pub fn key_head(&self) -> KeyHead {
        match &self.key {
            None => KeyHead::default(),
            Some((key, _)) => KeyHead::new(key.name(), self.has_numbers_for_keys()),
        }
    }

    /// Whether the keys are row numbers in all files.
    pub(crate) fn has_numbers_for_keys(&self) -> bool {
        let is_number = |column: usize| self.types.iter().all(|types| types[column].is_numeric());
        self.key.as_ref().is_some_and(|(key, column)| *key == KeyColumn::Row && is_number(*column))
    }

    /// Reads the names of all rows in their order.
    pub fn names(&self) -> KeyReader<'_> {
        KeyReader::new(self)
    }

    /// Number of rows of all files, as they say themselves.
    pub fn n_rows(&self) -> u64 {
        *self.first_rows.last().expect("it begins with a zero")
    }

    /// The column that names rows.
    pub(crate) fn key(&self) -> Option<&(KeyColumn, usize)> {
        self.key.as_ref()
    }

    /// The types of a file's columns.
    pub(crate) fn types(&self, file: usize) -> &[DataType] {
        &self.types[file]
    }

    /// The index of the file that has a row.
    pub(crate) fn file_of(&self, row: u64) -> usize {
        self.first_rows.partition_point(|&first| first <= row) - 1
    }

    /// The rows of a file.
    pub(crate) fn rows_of_file(&self, file: usize) -> Range<u64> {
        self.first_rows[file]..self.first_rows[file + 1]
    }

    /// The columns that any of these names or patterns such as `lf_*` name, in the order of the files. Each must name at
    /// least one.
    pub fn columns_like(&self, patterns: &[String]) -> Result<Vec<usize>> {
        let mut chosen = BTreeSet::new();
        for text in patterns {
            let pattern = glob::Pattern::new(text).ok();
            let is_like = |name: &String| name == text || pattern.as_ref().is_some_and(|p| p.matches(name));
            let like = (0..self.columns.len()).filter(|&column| is_like(&self.columns[column]));
            let like = like.collect::<Vec<_>>();
            ensure(!like.is_empty(), || self.no_column(text))?;
            chosen.extend(like);
        }
        Ok(chosen.into_iter().collect())
    }

    /// A column that is not there.
    pub(crate) fn no_column(&self, name: &str) -> Error {
        self.other_columns(format!("a column '{name}'"))
    }

    fn other_columns(&self, expected: String) -> Error {
        Error::content(&self.files[0], expected, self.columns.join(", "))
    }
}

/// The Parquet files that a path names, see [`TableParts`], and the columns of them that are labelers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoteParts {
    pub(crate) table: TableParts,
    pub(crate) columns: Vec<usize>,
    labelers: Vec<String>,
}

impl VoteParts {
    /// Finds the files, see [`TableParts::open`]. Every column is a labeler.
    pub fn open(path: &Path, key: &KeyColumn) -> Result<Self> {
        let table = TableParts::open(path, key)?;
        let columns = table.columns_of_values();
        let refuse = || Error::content(path, "at least one labeler", format!("only the column '{}'", key.name()));
        ensure(!columns.is_empty(), refuse)?;
        Ok(Self::new(table, columns))
    }

    /// The table.
    pub fn table(&self) -> &TableParts {
        &self.table
    }

    /// The labelers among the columns of a table.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn new(table: TableParts, columns: Vec<usize>) -> Self {
        let labelers = columns.iter().map(|&column| table.columns()[column].clone()).collect();
        Self { table, columns, labelers }
    }

    /// The files, in order.
    pub fn files(&self) -> &[PathBuf] {
        self.table.files()
    }

    /// Names of the columns, one per labeler.
    pub fn labelers(&self) -> &[String] {
        &self.labelers
    }

    /// Number of rows of all files, as they say themselves.
    pub fn n_rows(&self) -> u64 {
        self.table.n_rows()
    }

    /// Reads a run of rows, which must be there.
    pub(crate) fn reader(&self, rows: Range<u64>) -> RowReader<'_> {
        RowReader::new(&self.table, &self.columns, rows)
    }

    /// Votes with the names of labelers and classes.
    pub(crate) fn signals(&self, votes: Array2<u8>, classes: &[String]) -> Result<WeakSignals> {
        named_votes(votes, classes, Some(&self.labelers)).map_err(Error::in_file(&self.files()[0]))
    }

    /// One row on which nobody votes, with the names of labelers and classes.
    pub(crate) fn silent_row(&self, classes: &[String]) -> Result<WeakSignals> {
        self.signals(Array2::from_elem((1, self.labelers.len()), ABSTAIN), classes)
    }
}

fn is_pattern(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains(['*', '?', '[']))
}

/// The order of people, in which part-2 is before part-10: runs of digits are compared as numbers.
fn natural_order(a: &Path, b: &Path) -> Ordering {
    /// Whether a run is of other bytes than digits, its number of digits behind leading zeros, and these or the other bytes.
    fn runs(path: &Path) -> impl Iterator<Item = (bool, usize, &[u8])> {
        let runs = path.as_os_str().as_encoded_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
        runs.map(|run| {
            let n_zeros = run.iter().take_while(|&&digit| digit == b'0').count();
            if run[0].is_ascii_digit() { (false, run.len() - n_zeros, &run[n_zeros..]) } else { (true, 0, run) }
        })
    }
    runs(a).cmp(runs(b)).then_with(|| a.cmp(b))
}

/// Names that begin with a dot or an underscore are notes that other tools leave beside their parts.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let files = entries.map_err(|error| Error::read(folder, error))?.into_iter().map(|entry| entry.path());
    let is_part = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        file.extension().is_some_and(|e| e == "parquet") && file.is_file() && !matches!(name[0], b'.' | b'_')
    };
    Ok(files.filter(is_part).collect())
}

fn by_pattern(pattern: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_str().expect("patterns are text");
    let found =
        glob::glob(text).map_err(|error| Error::content(pattern, "a pattern such as votes/*.parquet", error))?;
    let files = found.map(|file| {
        file.map_err(|error| {
            let path = error.path().to_owned();
            Error::read(&path, error.into())
        })
    });
    Ok(files.collect::<Result<Vec<_>>>()?.into_iter().filter(|file| file.is_file()).collect())
}
