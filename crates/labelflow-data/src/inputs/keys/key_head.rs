//! The column of keys in a table of labels.

use std::path::Path;

use super::{ROW, RowNames};
use crate::tables::{Column, ColumnValues};
use crate::{Error, Result};

/// The first column of a table of labels: the names of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHead {
    name: String,
    are_numbers: bool,
}

impl Default for KeyHead {
    /// Numbers in a column `row`.
    fn default() -> Self {
        Self { name: ROW.to_owned(), are_numbers: true }
    }
}

impl KeyHead {
    /// A column of this name, of numbers or of texts.
    pub fn new(name: impl Into<String>, are_numbers: bool) -> Self {
        Self { name: name.into(), are_numbers }
    }

    /// Refuses texts: an npz archive is read for numbers.
    pub(crate) fn check_archive(&self, path: &Path) -> Result<()> {
        if self.are_numbers {
            return Ok(());
        }
        let expected = format!("csv, tsv or parquet, since the key '{}' is text", self.name);
        Err(Error::content(path, expected, "npz"))
    }

    /// The column without any rows.
    pub(crate) fn empty(&self) -> Column {
        self.column(&RowNames::Place(0..0))
    }

    /// The column with these names.
    pub(crate) fn column(&self, names: &RowNames) -> Column {
        let cells = match self.are_numbers {
            true => names.cells(),
            false => ColumnValues::Names(names.texts()),
        };
        Column::new(&self.name, cells)
    }
}
