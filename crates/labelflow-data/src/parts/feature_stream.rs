//! Features in Parquet files that need not fit in memory, read batch by batch.

use std::ops::Range;

use labelflow_weak::rows::Features;
use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::row_reader::RowReader;
use crate::inputs::RowNames;
use crate::inputs::features_file::{MISSING_VALUES, NOT_FEATURES, first_not_finite};
use crate::parts::TableParts;
use crate::tables::parquet::{check_number, number_table};
use crate::{Error, Result, ensure};

/// What is done about rows with a feature that is missing, infinite or too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadRows {
    /// The first of them is an error that names its file, row and column.
    #[default]
    Fail,
    /// They get no label, but keep their place.
    Abstain,
    /// They are left out and counted.
    Skip,
}

/// The Parquet files that a path names, see [`TableParts`], and the columns of them that are features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureParts {
    table: TableParts,
    columns: Vec<usize>,
    names: Vec<String>,
}

/// The next rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRows {
    /// The number of the first of them, counted over all files from 0.
    pub first_row: u64,
    /// How many there are, good and bad ones.
    pub n_rows: usize,
    /// Which of them are good, counted from the first, ascending.
    pub good: Vec<usize>,
    /// The good rows; nothing if there are none.
    pub features: Option<Features>,
}

impl FeatureRows {
    /// The names of the good rows among those of all.
    pub fn good_names(&self, names: &RowNames) -> RowNames {
        if self.good.len() == self.n_rows { names.clone() } else { names.select(&self.good) }
    }
}

impl FeatureParts {
    /// The features among the columns of a table; each must hold numbers in all files.
    pub fn new(table: TableParts, columns: Vec<usize>) -> Result<Self> {
        ensure(!columns.is_empty(), || Error::content(&table.files()[0], "at least one feature", "none"))?;
        for (index, file) in table.files().iter().enumerate() {
            for &column in &columns {
                check_number(file, &table.columns()[column], &table.types(index)[column])
                    .map_err(|error| error.with_hint(NOT_FEATURES))?;
            }
        }
        let names = columns.iter().map(|&column| table.columns()[column].clone()).collect();
        Ok(Self { table, columns, names })
    }

    /// The columns that a model was trained on, by name and in its order.
    pub fn arranged(table: TableParts, names: &[String]) -> Result<Self> {
        let place = |name: &String| table.columns().iter().position(|column| column == name);
        let columns = names.iter().map(|name| place(name).ok_or_else(|| table.no_column(name)));
        let columns = columns.collect::<Result<_>>()?;
        Self::new(table, columns)
    }

    /// Names of the features.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The table.
    pub fn table(&self) -> &TableParts {
        &self.table
    }

    /// Number of rows of all files.
    pub fn n_rows(&self) -> u64 {
        self.table.n_rows()
    }

    /// Reads a run of rows, no more than `batch_rows` at a time.
    ///
    /// # Panics
    ///
    /// When read, if there are no such rows.
    pub fn reader(&self, rows: Range<u64>, batch_rows: usize, bad_rows: BadRows) -> FeatureReader<'_> {
        let reader = RowReader::new(&self.table, &self.columns, rows).with_batch_rows(batch_rows);
        FeatureReader { parts: self, reader, bad_rows, n_bad: 0, first_bad: None }
    }
}

/// Reads features in the order of the files.
pub struct FeatureReader<'parts> {
    parts: &'parts FeatureParts,
    reader: RowReader<'parts>,
    bad_rows: BadRows,
    n_bad: u64,
    first_bad: Option<Error>,
}

impl FeatureReader<'_> {
    /// The next rows, none of them of two files; nothing at the end.
    pub fn next_rows(&mut self) -> Result<Option<FeatureRows>> {
        let Some(batch) = self.reader.next()? else { return Ok(None) };
        let (n_rows, names) = (batch.n_rows(), &self.parts.names);
        let mut values = number_table::<f64>(&batch.arrays, batch.path, names)?;
        let mut good: Vec<usize> = (0..n_rows).collect();
        if let Some((row, column, found)) = first_not_finite(&values) {
            let error = batch.error(row, &names[column], "a finite number", found);
            if self.bad_rows == BadRows::Fail {
                return Err(error.with_hint(MISSING_VALUES));
            }
            good.retain(|&row| values.row(row).iter().all(|value| value.is_finite()));
            self.n_bad += (n_rows - good.len()) as u64;
            self.first_bad.get_or_insert(error);
            values = values.select(Axis(0), &good);
        }
        let features = (!good.is_empty()).then(|| {
            let features = Features::with_names(values, names.clone());
            features.map_err(Error::in_file(batch.path))
        });
        let features = features.transpose()?;
        Ok(Some(FeatureRows { first_row: batch.first_row, n_rows, good, features }))
    }

    /// Number of bad rows so far.
    pub fn n_bad(&self) -> u64 {
        self.n_bad
    }

    /// What is wrong with the first of them.
    pub fn first_bad(&self) -> Option<&Error> {
        self.first_bad.as_ref()
    }
}
