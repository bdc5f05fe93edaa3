//! The keys of a file's rows, and where rows of one file are in another.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::hash::Hash;
use std::path::{Path, PathBuf};

use super::{KeyColumn, KeyHead, ROW, RowNames};
use crate::tables::Column;
use crate::tables::table::TableFile;
use crate::{Error, Result, ensure};

/// What the rows of a file are called, and by which column.
#[derive(Debug, Clone)]
pub struct RowKeys {
    path: PathBuf,
    column: String,
    names: RowNames,
}

/// The same rows have the same keys in any file.
impl PartialEq for RowKeys {
    fn eq(&self, other: &Self) -> bool {
        (&self.column, &self.names) == (&other.column, &other.names)
    }
}

impl RowKeys {
    /// Rows of a file whose names are known.
    pub fn new(path: &Path, column: impl Into<String>, names: RowNames) -> Self {
        Self { path: path.to_owned(), column: column.into(), names }
    }

    /// Rows that are told apart by place.
    pub fn by_place(path: &Path, n_rows: usize) -> Self {
        Self::new(path, ROW, RowNames::Place(0..n_rows as u64))
    }

    /// The keys of a table of so many rows; each must be there once.
    pub(crate) fn of_table(table: &TableFile, n_rows: usize) -> Result<Self> {
        let Some((key, names)) = table.keys()? else { return Ok(Self::by_place(&table.path, n_rows)) };
        let error =
            |row, expected, found: String| table.error(expected, found).at(table.place(row)).in_column(key.name());
        let refuse = || table.error(format!("{n_rows} keys, one per row"), names.n_rows()).in_column(key.name());
        ensure(names.n_rows() == n_rows, refuse)?;
        let twice = match &names {
            RowNames::Place(_) => None,
            RowNames::Numbers(numbers) => first_twice(numbers),
            RowNames::Texts(texts) => {
                if let Some(row) = texts.iter().position(String::is_empty) {
                    return Err(error(row, "a key for every row", "none".to_owned()));
                }
                first_twice(texts)
            }
        };
        let Some((first, row)) = twice else { return Ok(Self::new(&table.path, key.name(), names)) };
        let found =
            format!("{} again, first{}", names.shown(row), table.place(first).to_string().trim_start_matches(','));
        Err(error(row, "every key once", found).with_hint(match key {
            KeyColumn::Named(_) => "a key must tell the rows apart",
            _ => "the column `row` numbers rows: rename it if it is something else",
        }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The names of the rows.
    pub fn names(&self) -> &RowNames {
        &self.names
    }

    /// The column that names the rows.
    pub fn key_column(&self) -> KeyColumn {
        KeyColumn::of((self.column != ROW).then_some(&self.column))
    }

    /// The column of these keys, for a table; nothing where rows are told apart by place.
    pub fn to_column(&self) -> Option<Column> {
        let is_place = matches!(self.names, RowNames::Place(_));
        (!is_place).then(|| self.head().column(&self.names))
    }

    /// What the column of these keys is called in a table, and whether it has numbers.
    pub fn head(&self) -> KeyHead {
        KeyHead::new(&self.column, !matches!(self.names, RowNames::Texts(_)))
    }

    /// Where each of the rows `wanted` is among these; nothing if all are in their places. Rows that are missing, and rows that are
    /// not wanted, are errors.
    pub(super) fn order_of(&self, wanted: &Self) -> Result<Option<Vec<usize>>> {
        let (n_rows, n_wanted) = (self.names.n_rows(), wanted.names.n_rows());
        if let RowNames::Place(_) = self.names {
            let (column, path) = (&wanted.column, wanted.path.display());
            let expected = || format!("{n_wanted} rows, as many as {path} has");
            ensure(n_rows == n_wanted, || Error::content(&self.path, expected(), n_rows))?;
            let expected = || format!("a column '{column}', since {path} has one and is in another order");
            let refuse = || Error::content(&self.path, expected(), "none").with_hint("rows are matched by it");
            ensure(wanted.names.count_up(), refuse)?;
            return Ok(None);
        }
        if self.names == wanted.names {
            return Ok(None);
        }
        let (places, surplus) = self.places_of(wanted);
        let mut missing = Listed::default();
        for row in (0..places.len()).filter(|&row| places[row].is_none()) {
            missing.add(|| wanted.names.shown(row));
        }
        let found = match (missing.n, surplus.n) {
            (0, 0) => return Ok(Some(places.into_iter().flatten().collect())),
            (0, _) => format!("{surplus} too, which it does not have"),
            (_, 0) => format!("none for {missing}"),
            _ => format!("none for {missing}, and {surplus}, which it does not have"),
        };
        Err(self.other_rows(wanted, found))
    }

    /// Where each of the rows `wanted` is among these, which may be a part of them. Rows that are not wanted are errors.
    pub(super) fn some_of(&self, wanted: &Self) -> Result<Vec<Option<usize>>> {
        let (n_rows, n_wanted) = (self.names.n_rows(), wanted.names.n_rows());
        let has_keys = !matches!(self.names, RowNames::Place(_)) || n_rows == n_wanted;
        let expected = || format!("a column '{}' that says which of the {n_wanted} rows these are", wanted.column);
        ensure(has_keys, || Error::content(&self.path, expected(), "none"))?;
        match self.places_of(wanted) {
            (places, surplus) if surplus.n == 0 => Ok(places),
            (_, surplus) => Err(self.other_rows(wanted, format!("{surplus} too, which it does not have"))),
        }
    }

    /// Where each of the rows `wanted` is among these, and which of these are not wanted.
    fn places_of(&self, wanted: &Self) -> (Vec<Option<usize>>, Listed) {
        let places = match (self.names.numbers(), wanted.names.numbers()) {
            (Some(own), Some(names)) => places_of(&own, &names),
            _ => places_of(&self.names.texts(), &wanted.names.texts()),
        };
        let mut is_used = vec![false; self.names.n_rows()];
        places.iter().flatten().for_each(|&place| is_used[place] = true);
        let mut surplus = Listed::default();
        for row in (0..is_used.len()).filter(|&row| !is_used[row]) {
            surplus.add(|| self.names.shown(row));
        }
        (places, surplus)
    }

    fn other_rows(&self, wanted: &Self, found: String) -> Error {
        let expected = format!("the rows of {}", wanted.path.display());
        let error = Error::content(&self.path, expected, found).in_column(&self.column);
        match wanted.names {
            RowNames::Place(_) => error.with_hint("its rows are numbered from 0, since it has no such column"),
            _ => error,
        }
    }
}

fn places_of<K: Eq + Hash>(own: &[K], wanted: &[K]) -> Vec<Option<usize>> {
    let place_of: HashMap<&K, usize> = own.iter().enumerate().map(|(row, name)| (name, row)).collect();
    wanted.iter().map(|name| place_of.get(name).copied()).collect()
}

/// The places of the first name that comes again.
fn first_twice<K: Eq + Hash>(names: &[K]) -> Option<(usize, usize)> {
    let mut places = HashMap::with_capacity(names.len());
    names.iter().enumerate().find_map(|(row, name)| places.insert(name, row).map(|first| (first, row)))
}

/// A few names, and how many there are in all.
#[derive(Default)]
struct Listed {
    first: Vec<String>,
    n: usize,
}

impl Listed {
    const N_SHOWN: usize = 3;

    fn add(&mut self, name: impl FnOnce() -> String) {
        self.n += 1;
        if self.n <= Self::N_SHOWN {
            self.first.push(name());
        }
    }
}

impl Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first.join(", "))?;
        match self.n - self.first.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(name: &str, names: RowNames) -> RowKeys {
        RowKeys::new(Path::new(name), ROW, names)
    }

    fn order(own: RowNames, wanted: RowNames) -> Result<Option<Vec<usize>>, String> {
        keys("labels.csv", own).order_of(&keys("features.csv", wanted)).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_are_joined_by_name() {
        let texts = |names: &[&str]| RowNames::Texts(names.iter().map(|&name| name.to_owned()).collect());
        let numbers = |numbers: &[i64]| RowNames::Numbers(numbers.to_vec());
        for (own, wanted, expected) in [
            (numbers(&[2, 0, 1]), RowNames::Place(0..3), Some(vec![1, 2, 0])),
            (numbers(&[2, 0, 1]), numbers(&[1, 2, 0]), Some(vec![2, 0, 1])),
            (numbers(&[4, 9]), numbers(&[4, 9]), None),
            (texts(&["b", "a"]), texts(&["a", "b"]), Some(vec![1, 0])),
            // One table wrote numbers as texts.
            (texts(&["7", "3"]), numbers(&[3, 7]), Some(vec![1, 0])),
            (RowNames::Place(0..2), numbers(&[5, 6]), None),
            (RowNames::Place(0..2), RowNames::Place(0..2), None),
        ] {
            assert_eq!(order(own, wanted).unwrap(), expected);
        }
    }

    #[test]
    fn some_of_the_rows_are_found_by_name() {
        let numbers = |numbers: &[i64]| RowNames::Numbers(numbers.to_vec());
        let some = |own: RowNames, wanted: RowNames| {
            keys("known.csv", own).some_of(&keys("votes.csv", wanted)).map_err(|error| error.to_string())
        };
        assert_eq!(some(numbers(&[9, 4]), numbers(&[4, 7, 9])).unwrap(), [Some(1), None, Some(0)]);
        assert_eq!(some(RowNames::Place(0..2), RowNames::Place(0..2)).unwrap(), [Some(0), Some(1)]);
        let error = some(numbers(&[9, 5]), numbers(&[4, 7, 9])).unwrap_err();
        assert!(error.contains("found 5 too, which it does not have"), "{error}");
        let error = some(RowNames::Place(0..2), RowNames::Place(0..3)).unwrap_err();
        assert!(error.contains("expected a column 'row' that says which of the 3 rows these are"), "{error}");
    }

    #[test]
    fn rows_that_do_not_fit_are_named() {
        let numbers = |numbers: &[i64]| RowNames::Numbers(numbers.to_vec());
        for (own, wanted, expected) in [
            (
                numbers(&[1, 2]),
                RowNames::Place(0..2),
                "none for 0, and 2, which it does not have (its rows are numbered from 0",
            ),
            (numbers(&[0, 1, 2]), numbers(&[2, 1]), "found 0 too, which it does not have"),
            (numbers(&[5]), numbers(&[1, 2, 3, 4, 5]), "found none for 1, 2, 3 and 1 more"),
            (
                RowNames::Place(0..3),
                RowNames::Place(0..2),
                "labels.csv: expected 2 rows, as many as features.csv has, found 3",
            ),
            (
                RowNames::Place(0..2),
                numbers(&[1, 0]),
                "expected a column 'row', since features.csv has one and is in another order",
            ),
        ] {
            let error = order(own, wanted).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
