//! Votes in several Parquet files: which files, and which of their columns are labelers.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::parts::TableParts;

/// The Parquet files that a path names, see [`TableParts`], and the columns of them that are labelers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoteParts {
    pub(crate) table: TableParts,
    pub(crate) columns: Vec<usize>,
    labelers: Vec<String>,
}

impl VoteParts {
    /// Finds the files, see [`TableParts::open`]. Every column is a labeler.
    pub fn open(path: &Path) -> Result<Self> {
        let table = TableParts::open(path)?;
        let columns = (0..table.columns().len()).collect();
        Ok(Self::new(table, columns))
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
}
