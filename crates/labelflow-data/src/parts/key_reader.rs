//! The names of rows in Parquet parts, and whether two tables in parts speak of the same rows.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use super::row_reader::RowReader;
use crate::inputs::{KeyColumn, RowNames};
use crate::parts::TableParts;
use crate::tables::parquet::{column_as, number_table};
use crate::{Error, Place, Result};

/// Rows whose names are compared at once.
const COMPARED_ROWS: usize = 8192;

/// Reads the names of rows in the order of the files.
pub struct KeyReader<'parts> {
    parts: &'parts TableParts,
    /// None where rows are told apart by place.
    reader: Option<RowReader<'parts>>,
    next_row: u64,
    ahead: Vec<Name>,
}

/// A name that was read but not yet asked for.
#[derive(Clone, PartialEq)]
enum Name {
    Number(i64),
    Text(String),
}

impl<'parts> KeyReader<'parts> {
    pub(crate) fn new(parts: &'parts TableParts) -> Self {
        let reader = parts.key().map(|(_, column)| RowReader::new(parts, &[*column], 0..parts.n_rows()));
        Self { parts, reader, next_row: 0, ahead: Vec::new() }
    }

    /// The names of the next rows. It is an error if there are fewer, or if one has no name.
    pub fn next_rows(&mut self, n_rows: usize) -> Result<RowNames> {
        let first = self.next_row;
        self.next_row += n_rows as u64;
        let (Some(reader), Some((key, column))) = (&mut self.reader, self.parts.key()) else {
            return Ok(RowNames::Place(first..self.next_row));
        };
        while self.ahead.len() < n_rows {
            let Some(batch) = reader.next()? else {
                let expected = format!("{} rows", self.parts.n_rows());
                return Err(Error::content(&self.parts.files()[0], expected, "fewer"));
            };
            let file = &self.parts.files()[batch.file];
            let at = |row: usize, error: Error| error.at(Place::row(batch.row_in_file + row)).in_column(key.name());
            let is_number = *key == KeyColumn::Row && self.parts.types(batch.file)[*column].is_numeric();
            if is_number {
                let numbers = number_table::<f64>(&batch.arrays, file, &[key.name()])?;
                for (row, &number) in numbers.iter().enumerate() {
                    let names = RowNames::of_numbers(std::iter::once(number));
                    let Some(RowNames::Numbers(number)) = names else {
                        return Err(at(row, Error::content(file, "a whole number", number)));
                    };
                    self.ahead.push(Name::Number(number[0]));
                }
                continue;
            }
            let texts = column_as(&batch.arrays[0], &DataType::Utf8, file, key.name())?;
            for (row, text) in texts.as_string::<i32>().iter().enumerate() {
                match text.map(str::trim) {
                    None | Some("") => return Err(at(row, Error::content(file, "a key for every row", "none"))),
                    Some(text) => self.ahead.push(Name::Text(text.to_owned())),
                }
            }
        }
        let names = self.ahead.drain(..n_rows).collect::<Vec<_>>();
        let number = |name: &Name| match name {
            Name::Number(number) => Some(*number),
            Name::Text(_) => None,
        };
        Ok(match names.iter().map(number).collect() {
            Some(numbers) => RowNames::Numbers(numbers),
            None => RowNames::Texts(names.into_iter().map(Name::into_text).collect()),
        })
    }
}

impl Name {
    fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

impl TableParts {
    /// Checks that the rows of this table are those of another one, in the same order: by their keys where either has some. Returns a doubt
    /// where only the numbers of all rows agree.
    pub fn check_same_rows(&self, of: &Self) -> Result<Option<String>> {
        if self.n_rows() != of.n_rows() {
            let expected = format!("{} rows, as many as {} has", of.n_rows(), of.shown());
            return Err(Error::content(&self.path_shown(), expected, self.n_rows()));
        }
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
        let holds = |&file: &usize| self.rows_of_file(file).contains(&row);
        let file = (0..self.files().len()).find(holds).expect("a row of the table");
        (self.files()[file].clone(), Place::row((row - self.rows_of_file(file).start) as usize))
    }

    fn doubt_about_parts(&self, of: &Self) -> Option<String> {
        let n_rows = |parts: &Self| {
            let rows = (0..parts.files().len()).map(|file| parts.rows_of_file(file));
            rows.map(|rows| rows.end - rows.start).collect::<Vec<_>>()
        };
        let advice =
            "rows are matched by place: check that they belong together, or give both a column `row` or a --key";
        if n_rows(self) != n_rows(of) {
            return Some(format!(
                "{} and {} have as many rows in all, but not in each of their parts; {advice}",
                self.shown(),
                of.shown()
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
