//! Probabilities in Parquet files that need not fit in memory, read batch by batch: those of class 1, one column a labeler.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;
use labelflow_weak::votes::{ABSTAIN, Votes, WeakSignals};
use ndarray::{Array2, Array3};

use super::row_reader::{RowBatch, RowReader};
use crate::inputs::{AbstainConvention, SignalsKind, SignalsOptions};
use crate::parts::VoteParts;
use crate::{Error, Place, Result};

/// Columns of probabilities.
#[derive(Debug, Clone)]
pub struct ProbabilityStream {
    parts: VoteParts,
    classes: Vec<String>,
    /// Whether −1 abstains, and not only a missing cell.
    marks_by_number: bool,
}

impl ProbabilityStream {
    /// Looks for a number that is not whole, as [`read_signals`](crate::inputs::read_signals) does: then all are probabilities of class 1. None if they
    /// are votes.
    pub fn find(parts: &VoteParts, options: &SignalsOptions) -> Result<Option<Self>> {
        let are_probabilities = match options.kind {
            SignalsKind::Votes => false,
            SignalsKind::Probabilities => true,
            SignalsKind::Detect => has_fraction(parts, &options.classes)?,
        };
        if !are_probabilities {
            return Ok(None);
        }
        options.abstain.check_probabilities()?;
        let classes = match &options.classes[..] {
            [] => ["0", "1"].map(str::to_owned).to_vec(),
            [_, _] => options.classes.clone(),
            more => {
                let found = format!("{} names", more.len());
                let expected = "two names, since a table has probabilities of two classes";
                return Err(Error::config("classes", expected, found));
            }
        };
        let marks_by_number = options.abstain != AbstainConvention::Missing;
        Ok(Some(Self { parts: parts.clone(), classes, marks_by_number }))
    }

    /// The files.
    pub fn parts(&self) -> &VoteParts {
        &self.parts
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// One row on which everyone abstains, with the names of the labelers and classes.
    pub fn silent_row(&self) -> Result<WeakSignals> {
        let silent = Array2::from_elem((1, self.parts.labelers().len()), ABSTAIN);
        Votes::from_bytes(silent, self.classes.len())
            .and_then(WeakSignals::from_votes)
            .and_then(|signals| signals.with_labelers(self.parts.labelers().to_vec()))
            .and_then(|signals| signals.with_classes(self.classes.clone()))
            .map_err(Error::in_file(&self.parts.files()[0]))
    }

    /// Reads a run of rows, as many at a time as are asked for.
    ///
    /// # Panics
    ///
    /// When read, if there are no such rows.
    pub fn reader(&self, rows: Range<u64>) -> ProbabilityReader<'_> {
        let reader = RowReader::new(self.parts.table(), self.parts.columns(), rows);
        ProbabilityReader { stream: self, reader, ahead: Vec::new() }
    }

    /// Writes a column to every `step`-th cell.
    fn fill(&self, batch: &RowBatch, signal: usize, cells: &mut [f32], step: usize) -> Result<()> {
        let file = &self.parts.files()[batch.file];
        let column = &self.parts.labelers()[signal];
        let values = as_numbers(&batch.arrays[signal])
            .map_err(|error| Error::content(file, "numbers", error).in_column(column))?;
        let values = values.as_primitive::<Float64Type>();
        for (row, cell) in cells.iter_mut().step_by(step).enumerate() {
            let value = values.value(row) as f32;
            let abstains =
                values.is_null(row) || value.is_nan() || (self.marks_by_number && value == -1.0);
            if !abstains && !(0.0..=1.0).contains(&value) {
                let mark = if self.marks_by_number { "-1" } else { "nothing" };
                let expected = format!("a probability from 0 to 1, or {mark} for an abstention");
                let place = Place::row(batch.row_in_file + row);
                return Err(Error::content(file, expected, value).at(place).in_column(column));
            }
            *cell = if abstains { f32::NAN } else { value };
        }
        Ok(())
    }
}

/// Whether the columns are numbers of which one is not whole, and is no name of a class.
fn has_fraction(parts: &VoteParts, classes: &[String]) -> Result<bool> {
    let (table, columns) = (parts.table(), parts.columns());
    let type_of = |file: usize, column: &usize| &table.types(file)[*column];
    let is_number = |kind: &DataType| kind.is_numeric() || *kind == DataType::Boolean;
    let files = 0..table.files().len();
    if !files.clone().all(|file| columns.iter().all(|column| is_number(type_of(file, column)))) {
        return Ok(false);
    }
    for file in files {
        let is_whole = |kind: &DataType| kind.is_integer() || *kind == DataType::Boolean;
        let may_have: Vec<usize> =
            columns.iter().copied().filter(|column| !is_whole(type_of(file, column))).collect();
        if may_have.is_empty() {
            continue;
        }
        let mut reader = RowReader::new(table, &may_have, table.rows_of_file(file));
        while let Some(batch) = reader.next()? {
            for array in &batch.arrays {
                let values = as_numbers(array)
                    .map_err(|error| Error::content(&table.files()[file], "numbers", error))?;
                let mut values = values.as_primitive::<Float64Type>().iter().flatten();
                let is_fraction = |value: &f64| value.is_finite() && value.fract() != 0.0;
                if let Some(value) = values.find(is_fraction) {
                    return Ok(!classes.contains(&format!("{value:?}")));
                }
            }
        }
    }
    Ok(false)
}

fn as_numbers(array: &ArrayRef) -> Result<ArrayRef, arrow_schema::ArrowError> {
    cast(array, &DataType::Float64)
}

/// Reads probabilities in the order of the files.
pub struct ProbabilityReader<'stream> {
    stream: &'stream ProbabilityStream,
    reader: RowReader<'stream>,
    /// Probabilities that were read but not yet asked for.
    ahead: Vec<f32>,
}

impl ProbabilityReader<'_> {
    /// The probabilities of the next rows, NaN where a labeler abstains, `[n_rows, n_signals, 2]`.
    ///
    /// It is an error if there are fewer rows, or a number that is no probability.
    pub fn next_rows(&mut self, n_rows: usize) -> Result<Array3<f32>> {
        let n_signals = self.stream.parts.labelers().len();
        while self.ahead.len() < n_rows * n_signals {
            let Some(batch) = self.reader.next()? else {
                let found = format!("{} rows", self.ahead.len() / n_signals);
                let path = &self.stream.parts.files()[0];
                return Err(Error::content(path, format!("{n_rows} more rows"), found));
            };
            let start = self.ahead.len();
            self.ahead.resize(start + batch.n_rows() * n_signals, 0.0);
            for signal in 0..n_signals {
                let cells = &mut self.ahead[start + signal..];
                self.stream.fill(&batch, signal, cells, n_signals)?;
            }
        }
        let both = self.ahead.drain(..n_rows * n_signals).flat_map(|p| [1.0 - p, p]).collect();
        Ok(Array3::from_shape_vec((n_rows, n_signals, 2), both).expect("just as many"))
    }
}
