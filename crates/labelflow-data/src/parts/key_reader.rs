//! The names of rows in Parquet parts, and whether two tables in parts speak of the same rows.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use super::row_reader::{RowBatch, RowReader, RowsAhead};
use crate::inputs::RowNames;
use crate::parts::TableParts;
use crate::tables::parquet::{column_as, number_table};
use crate::{Error, Place, Result, ensure};

/// Rows whose names are compared at once.
const COMPARED_ROWS: usize = 8192;

/// Reads the names of rows in the order of the files.
pub struct KeyReader<'parts> {
    cells: KeyCells<'parts>,
    next_row: u64,
}

/// The cells of the column that names rows.
enum KeyCells<'parts> {
    /// There is none: rows are told apart by place.
    Places,
    Numbers(&'parts str, RowsAhead<'parts, i64>),
    Texts(&'parts str, RowsAhead<'parts, String>),
}

impl<'parts> KeyReader<'parts> {
    pub(crate) fn new(parts: &'parts TableParts) -> Self {
        let cells = parts.key().map_or(KeyCells::Places, |(key, column)| {
            let reader = RowReader::new(parts, &[*column], 0..parts.n_rows());
            match parts.has_numbers_for_keys() {
                true => KeyCells::Numbers(key.name(), RowsAhead::new(reader)),
                false => KeyCells::Texts(key.name(), RowsAhead::new(reader)),
            }
        });
        Self { cells, next_row: 0 }
    }

    /// The names of the next rows. It is an error if there are fewer, or if one has no name.
    pub fn next_rows(&mut self, n_rows: usize) -> Result<RowNames> {
        let first = self.next_row;
        self.next_row += n_rows as u64;
        match &mut self.cells {
            KeyCells::Places => Ok(RowNames::Place(first..self.next_row)),
            KeyCells::Numbers(key, rows) => rows.take(n_rows, |batch| numbers_of(batch, key)).map(RowNames::Numbers),
            KeyCells::Texts(key, rows) => rows.take(n_rows, |batch| texts_of(batch, key)).map(RowNames::Texts),
        }
    }
}

fn numbers_of(batch: &RowBatch<'_>, key: &str) -> Result<Vec<i64>> {
    let numbers = number_table::<f64>(&batch.arrays, batch.path, &[key])?;
    let whole = |(row, &number): (usize, &f64)| {
        RowNames::whole(number).ok_or_else(|| batch.error(row, key, "a whole number", number))
    };
    numbers.iter().enumerate().map(whole).collect()
}

fn texts_of(batch: &RowBatch<'_>, key: &str) -> Result<Vec<String>> {
    let texts = column_as(&batch.arrays[0], &DataType::Utf8, batch.path, key)?;
    let text = |(row, text): (usize, Option<&str>)| match text.map(str::trim) {
        None | Some("") => Err(batch.error(row, key, "a key for every row", "none")),
        Some(text) => Ok(text.to_owned()),
    };
    texts.as_string::<i32>().iter().enumerate().map(text).collect()
}

impl TableParts {
    /// Checks that the rows of this table are those of another one, in the same order: by their keys where either has some. Returns a doubt
    /// where only the numbers of all rows agree.
    pub fn check_same_rows(&self, of: &Self) -> Result<Option<String>> {
        let expected = || format!("{} rows, as many as {} has", of.n_rows(), of.shown());
        ensure(self.n_rows() == of.n_rows(), || Error::content(&self.path_shown(), expected(), self.n_rows()))?;
        if self.files() == of.files() {
            return Ok(None);
        }
        if self.key().is_none() && of.key().is_none() {
            return Ok(self.doubt_about_parts(of));
        }
        let (mut own, mut others) = (self.names(), of.names());
        let mut first = 0;
        while first < self.n_rows() {
            let n_rows = (self.n_rows() - first).min(COMPARED_ROWS as u64) as usize;
            let (own, others) = (own.next_rows(n_rows)?, others.next_rows(n_rows)?);
            if let Some(row) = own.first_difference(&others) {
                let row_of = |parts: &Self| parts.place(first + row as u64);
                let ((file, place), (other_file, other_place)) = (row_of(self), row_of(of));
                let column = self.key().or(of.key()).map_or("", |(key, _)| key.name());
                let expected = format!("{}, as in {}{other_place}", others.shown(row), other_file.display());
                return Err(Error::content(&file, expected, own.shown(row)).at(place).in_column(column).with_hint(
                    format!("rows in parts must be in the same order: sort both by '{column}', or give single files, which are joined by it"),
                ));
            }
            first += n_rows as u64;
        }
        Ok(None)
    }

    /// Where a row is.
    fn place(&self, row: u64) -> (PathBuf, Place) {
        let file = self.file_of(row);
        (self.files()[file].clone(), Place::row((row - self.rows_of_file(file).start) as usize))
    }

    fn doubt_about_parts(&self, of: &Self) -> Option<String> {
        let rows = |parts: &Self| (0..parts.files().len()).map(|file| parts.rows_of_file(file)).collect::<Vec<_>>();
        let advice =
            "rows are matched by place: check that they belong together, or give both a column `row` or a --key";
        if rows(self) != rows(of) {
            let (own, others) = (self.shown(), of.shown());
            return Some(format!(
                "{own} and {others} have as many rows in all, but not in each of their parts; {advice}"
            ));
        }
        let (own, others) = (self.part_numbers()?, of.part_numbers()?);
        let differ = own.iter().zip(&others).position(|(own, other)| own != other)?;
        let (own, other) = (self.files()[differ].display(), of.files()[differ].display());
        Some(format!("{own} and {other} have other numbers, but the same place; {advice}"))
    }

    /// The numbers in the names of the parts, where only these differ.
    fn part_numbers(&self) -> Option<Vec<String>> {
        let name = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let names = self.files().iter().map(name).collect::<Option<Vec<_>>>()?;
        let [first, .., last] = &names[..] else { return None };
        // What all names begin with, without the digits at its end.
        let common = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
        let common = first[..first.floor_char_boundary(common)].trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number = |name: &String| {
            let digits = name.get(common..)?.chars().take_while(char::is_ascii_digit).collect::<String>();
            (!digits.is_empty()).then(|| digits.trim_start_matches('0').to_owned())
        };
        names.iter().map(number).collect()
    }

    fn shown(&self) -> String {
        self.path_shown().display().to_string()
    }

    /// The only file, or the folder of the files.
    fn path_shown(&self) -> PathBuf {
        match self.files() {
            [file] => file.clone(),
            files => files[0].parent().map(PathBuf::from).unwrap_or_default(),
        }
    }
}
