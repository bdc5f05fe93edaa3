//! Probabilities in Parquet files that need not fit in memory, read batch by batch: those of class 1, one column per labeler.

use std::ops::Range;

use arrow_schema::DataType;
use labelflow_weak::votes::{ABSTAIN, WeakSignals};
use ndarray::{Array2, Array3};

use super::row_reader::{RowBatch, RowReader, take_rows};
use crate::inputs::vote_cells::named_votes;
use crate::inputs::{AbstainConvention, SignalsKind, SignalsOptions};
use crate::parts::VoteParts;
use crate::tables::parquet::number_table;
use crate::{Error, Place, Result};

/// Columns of probabilities.
#[derive(Debug, Clone)]
pub struct ProbabilityStream {
    parts: VoteParts,
    classes: Vec<String>,
    abstain: AbstainConvention,
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
        Ok(Some(Self { parts: parts.clone(), classes, abstain: options.abstain }))
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
        named_votes(silent, &self.classes, Some(self.parts.labelers())).map_err(Error::in_file(&self.parts.files()[0]))
    }

    /// Reads a run of rows, as many at a time as are asked for.
    ///
    /// # Panics
    ///
    /// When read, if there are no such rows.
    pub fn reader(&self, rows: Range<u64>) -> ProbabilityReader<'_> {
        let reader = RowReader::new(&self.parts.table, &self.parts.columns, rows);
        ProbabilityReader { stream: self, reader, ahead: Vec::new() }
    }

    /// The probabilities of a batch, NaN where a labeler abstains.
    fn probabilities(&self, batch: &RowBatch) -> Result<Array2<f32>> {
        let (file, labelers) = (&self.parts.files()[batch.file], self.parts.labelers());
        let mut values = number_table::<f32>(&batch.arrays, file, labelers)?;
        for ((row, signal), value) in values.indexed_iter_mut() {
            *value = self.abstain.read_probability(*value).map_err(|expected| {
                let place = Place::row(batch.row_in_file + row);
                Error::content(file, expected, *value).at(place).in_column(&labelers[signal])
            })?;
        }
        Ok(values)
    }
}

/// Whether the columns are numbers of which one is not whole, and is no name of a class.
fn has_fraction(parts: &VoteParts, classes: &[String]) -> Result<bool> {
    let (table, columns) = (&parts.table, &parts.columns);
    let type_of = |file: usize, column: &usize| &table.types(file)[*column];
    let is_number = |kind: &DataType| kind.is_numeric() || *kind == DataType::Boolean;
    let files = 0..table.files().len();
    if !files.clone().all(|file| columns.iter().all(|column| is_number(type_of(file, column)))) {
        return Ok(false);
    }
    for index in files {
        let is_whole = |kind: &DataType| kind.is_integer() || *kind == DataType::Boolean;
        let may_have: Vec<usize> = columns.iter().copied().filter(|column| !is_whole(type_of(index, column))).collect();
        if may_have.is_empty() {
            continue;
        }
        let mut reader = RowReader::new(table, &may_have, table.rows_of_file(index));
        while let Some(batch) = reader.next()? {
            let names: Vec<&String> = may_have.iter().map(|&column| &table.columns()[column]).collect();
            let values = number_table::<f64>(&batch.arrays, &table.files()[index], &names)?;
            let is_fraction = |value: &f64| value.is_finite() && value.fract() != 0.0;
            if let Some(value) = values.iter().find(|value| is_fraction(value)) {
                return Ok(!classes.contains(&format!("{value:?}")));
            }
        }
    }
    Ok(false)
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
        let Self { stream, reader, ahead } = self;
        let n_signals = stream.parts.labelers().len();
        let path = &stream.parts.files()[0];
        let class1 = take_rows(ahead, n_rows, n_signals, path, |ahead| {
            let Some(batch) = reader.next()? else { return Ok(false) };
            ahead.extend(stream.probabilities(&batch)?);
            Ok(true)
        })?;
        let both = class1.into_iter().flat_map(|p| [1.0 - p, p]).collect();
        Ok(Array3::from_shape_vec((n_rows, n_signals, 2), both).expect("just as many"))
    }
}
