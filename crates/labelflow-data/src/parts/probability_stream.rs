//! Probabilities in Parquet files that need not fit in memory, read batch by batch: those of class 1, one column per labeler.

use std::ops::Range;

use arrow_schema::DataType;
use labelflow_weak::votes::WeakSignals;
use ndarray::Array3;

use super::row_reader::{RowBatch, RowReader, RowsAhead};
use crate::inputs::{AbstainConvention, SignalsKind, SignalsOptions};
use crate::parts::VoteParts;
use crate::tables::parquet::number_table;
use crate::{Error, Result};

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
        self.parts.silent_row(&self.classes)
    }

    /// Reads a run of rows, as many at a time as are asked for.
    ///
    /// # Panics
    ///
    /// When read, if there are no such rows.
    pub fn reader(&self, rows: Range<u64>) -> ProbabilityReader<'_> {
        ProbabilityReader { stream: self, rows: RowsAhead::new(self.parts.reader(rows)) }
    }

    /// The probabilities of a batch, NaN where a labeler abstains.
    fn probabilities(&self, batch: &RowBatch<'_>) -> Result<Vec<f32>> {
        let labelers = self.parts.labelers();
        let values = number_table::<f32>(&batch.arrays, batch.path, labelers)?;
        let probability = |((row, signal), &value): ((usize, usize), &f32)| {
            let read = self.abstain.read_probability(value);
            read.map_err(|expected| batch.error(row, &labelers[signal], expected, value))
        };
        values.indexed_iter().map(probability).collect()
    }
}

/// Whether the columns are numbers of which one is not whole, and is no name of a class.
fn has_fraction(parts: &VoteParts, classes: &[String]) -> Result<bool> {
    let (table, columns) = (&parts.table, &parts.columns);
    let always = |column: usize, is: fn(&DataType) -> bool| {
        (0..table.files().len())
            .all(|file| is(&table.types(file)[column]) || table.types(file)[column] == DataType::Boolean)
    };
    let may_have: Vec<usize> =
        columns.iter().copied().filter(|&column| !always(column, DataType::is_integer)).collect();
    if may_have.is_empty() || !columns.iter().all(|&column| always(column, DataType::is_numeric)) {
        return Ok(false);
    }
    let names: Vec<&String> = may_have.iter().map(|&column| &table.columns()[column]).collect();
    let mut reader = RowReader::new(table, &may_have, 0..table.n_rows());
    while let Some(batch) = reader.next()? {
        let values = number_table::<f64>(&batch.arrays, batch.path, &names)?;
        if let Some(value) = values.iter().find(|value| value.is_finite() && value.fract() != 0.0) {
            return Ok(!classes.contains(&format!("{value:?}")));
        }
    }
    Ok(false)
}

/// Reads probabilities in the order of the files.
pub struct ProbabilityReader<'stream> {
    stream: &'stream ProbabilityStream,
    rows: RowsAhead<'stream, f32>,
}

impl ProbabilityReader<'_> {
    /// The probabilities of the next rows, NaN where a labeler abstains, `[n_rows, n_signals, 2]`.
    ///
    /// It is an error if there are fewer rows, or a number that is no probability.
    pub fn next_rows(&mut self, n_rows: usize) -> Result<Array3<f32>> {
        let Self { stream, rows } = self;
        let class1 = rows.take(n_rows, |batch| stream.probabilities(batch))?;
        let both = class1.into_iter().flat_map(|p| [1.0 - p, p]).collect();
        Ok(Array3::from_shape_vec((n_rows, stream.parts.labelers().len(), 2), both).expect("just as many"))
    }
}
