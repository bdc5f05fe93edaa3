//! Cells of votes as bytes before it is known what they mean.
//!
//! Whether 0 is a class or an abstention, and whether names are classes, may only be clear once all cells were seen. So
//! each different value gets a code as it comes, and the values decide at the end what the codes mean, as if all cells
//! were in memory.

use std::collections::HashMap;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::row_reader::RowBatch;
use crate::inputs::vote_cells::{CellValues, DistinctCells, read_cells};
use crate::inputs::{SignalsKind, SignalsOptions};
use crate::tables::parquet::column_as;
use crate::{Error, Place, Result, ensure};

/// More different values than bytes are no votes.
const MOST_VALUES: usize = 256;
/// Whole numbers from this one on are found without a search.
const FIRST_SMALL: i64 = -2;

/// A value of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Cell {
    Missing,
    Whole(i64),
    Truth(bool),
    /// The bits of a number, so that it can be looked up.
    Real(u64),
    Name(String),
}

impl Cell {
    /// As it is read among names.
    fn text(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Whole(value) => value.to_string(),
            Self::Truth(value) => value.to_string(),
            Self::Real(bits) => format!("{:?}", f64::from_bits(*bits)),
            Self::Name(name) => name.clone(),
        }
    }

    /// As it is read among numbers.
    fn number(&self) -> Option<f32> {
        match self {
            Self::Missing => Some(f32::NAN),
            Self::Whole(value) => Some(*value as f64 as f32),
            Self::Truth(value) => Some(f32::from(u8::from(*value))),
            Self::Real(bits) => Some(f64::from_bits(*bits) as f32),
            Self::Name(_) => None,
        }
    }
}

/// Where a cell is, for errors: the first one of a batch, or the first one with a value.
#[derive(Debug, Clone)]
struct CellPlace {
    file: PathBuf,
    row: usize,
    column: String,
}

/// The different values of all cells, with a code each.
#[derive(Debug, Clone)]
pub(crate) struct CellCodes {
    cells: Vec<Cell>,
    first_seen: Vec<CellPlace>,
    codes: HashMap<Cell, u8>,
    /// The codes of small whole numbers, which are found without a search.
    small: [Option<u8>; 512],
}

/// What the codes mean.
#[derive(Debug, Clone)]
pub(crate) struct VoteReading {
    /// The vote of each code.
    pub(crate) votes: Vec<u8>,
    pub(crate) classes: Vec<String>,
}

impl CellCodes {
    pub(crate) fn new() -> Self {
        Self { cells: Vec::new(), first_seen: Vec::new(), codes: HashMap::new(), small: [None; 512] }
    }

    /// Number of different values.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The codes of a batch, row by row, whose columns have these names.
    pub(crate) fn of(&mut self, batch: &RowBatch<'_>, names: &[String]) -> Result<Vec<u8>> {
        let mut bytes = vec![0; batch.n_rows() * names.len()];
        for (index, (array, name)) in batch.arrays.iter().zip(names).enumerate() {
            let first = CellPlace { file: batch.path.to_owned(), row: batch.row_in_file, column: name.clone() };
            self.encode(array, &mut bytes[index..], names.len(), &first)?;
        }
        Ok(bytes)
    }

    /// Writes the codes of a column to every `step`-th byte.
    fn encode(&mut self, column: &ArrayRef, bytes: &mut [u8], step: usize, first: &CellPlace) -> Result<()> {
        let kind = match column.data_type() {
            DataType::Boolean => DataType::Boolean,
            kind if kind.is_integer() => DataType::Int64,
            kind if kind.is_numeric() => DataType::Float64,
            _ => DataType::Utf8,
        };
        let values = column_as(column, &kind, &first.file, &first.column)?;
        let cell = |row: usize| match kind {
            _ if values.is_null(row) => Cell::Missing,
            DataType::Boolean => Cell::Truth(values.as_boolean().value(row)),
            DataType::Int64 => Cell::Whole(values.as_primitive::<Int64Type>().value(row)),
            DataType::Float64 => match values.as_primitive::<Float64Type>().value(row) {
                value if value.is_nan() => Cell::Missing,
                // Zero has two forms and one meaning.
                0.0 => Cell::Real(0),
                value => Cell::Real(value.to_bits()),
            },
            _ => Cell::Name(values.as_string::<i32>().value(row).trim().to_owned()),
        };
        for (row, byte) in bytes.iter_mut().step_by(step).enumerate() {
            *byte = self.code(cell(row), row, first)?;
        }
        Ok(())
    }

    fn code(&mut self, cell: Cell, row: usize, first: &CellPlace) -> Result<u8> {
        let small = match cell {
            Cell::Whole(value) => usize::try_from(value.wrapping_sub(FIRST_SMALL)).ok(),
            _ => None,
        };
        let small = small.filter(|&index| index < self.small.len());
        if let Some(code) = small.and_then(|index| self.small[index]) {
            return Ok(code);
        }
        let code = match self.codes.get(&cell) {
            Some(&code) => code,
            None => self.new_code(cell, CellPlace { row: first.row + row, ..first.clone() })?,
        };
        if let Some(index) = small {
            self.small[index] = Some(code);
        }
        Ok(code)
    }

    fn new_code(&mut self, cell: Cell, seen: CellPlace) -> Result<u8> {
        let expected = || format!("votes with at most {MOST_VALUES} different values");
        let refuse = || Error::content(&seen.file, expected(), "more").at(Place::row(seen.row)).in_column(&seen.column);
        let hint = "probabilities are not read in parts, only votes";
        ensure(self.cells.len() < MOST_VALUES, || refuse().with_hint(hint))?;
        let code = self.cells.len() as u8;
        self.cells.push(cell.clone());
        self.first_seen.push(seen);
        self.codes.insert(cell, code);
        Ok(code)
    }

    /// What the codes mean: decided from the different values as [`read_signals`](crate::inputs::read_signals) decides from
    /// all cells.
    pub(crate) fn reading(&self, options: &SignalsOptions) -> Result<VoteReading> {
        let refuse = || Error::config("kind", "votes, to be read in parts", "probabilities");
        ensure(options.kind != SignalsKind::Probabilities, refuse)?;
        let distinct = DistinctCells {
            path: &self.first_seen[0].file,
            cells: self.cells.iter().map(|cell| (cell.text(), cell.number())).collect(),
            at: |index, error| self.at(index, error),
        };
        match read_cells(&distinct, options)? {
            CellValues::Votes(votes, classes) => Ok(VoteReading { votes: votes.into_iter().collect(), classes }),
            CellValues::Probabilities(values) => {
                let is_fraction = |value: &f32| !value.is_nan() && value.fract() != 0.0;
                let index = values.iter().position(is_fraction).unwrap_or(0);
                let path = &self.first_seen[index].file;
                let error = Error::content(path, "whole numbers, the votes", values[[index, 0]]);
                Err(self
                    .at(index, error)
                    .with_hint("probabilities are not read in parts; give one file that fits in memory"))
            }
        }
    }

    /// The error at the place where the value came first.
    fn at(&self, index: usize, mut error: Error) -> Error {
        let first = &self.first_seen[index];
        if let Error::Content { path, .. } = &mut error {
            *path = first.file.as_path().into();
        }
        error.at(Place::row(first.row)).in_column(&first.column)
    }
}
