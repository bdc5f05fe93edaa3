//! Cells of votes as bytes before it is known what they mean.
//!
//! Whether 0 is a class or an abstention, and whether names are classes, may only be clear once all cells were seen. So
//! each different value gets a code as it comes, and the values decide at the end what the codes mean, as if all cells
//! were in memory.

use std::collections::HashMap;
use std::path::PathBuf;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use labelflow_weak::votes::ABSTAIN;
use ndarray::Array2;

use crate::inputs::signals_file::{votes_from_numbers, votes_of_names, with_abstention};
use crate::inputs::{AbstainConvention, SignalsKind, SignalsOptions};
use crate::tables::cells::{NameCodes, parse_number};
use crate::{Error, Place, Result};

/// More different values than bytes are no votes.
const MOST_VALUES: usize = 256;
/// Whole numbers from this one on are found without a search.
const FIRST_SMALL: i64 = -2;
const UNKNOWN: u16 = u16::MAX;

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

/// Where a value came first, for errors.
#[derive(Debug, Clone)]
struct FirstSeen {
    file: PathBuf,
    row: usize,
    column: String,
}

/// Where a batch of cells is.
pub(crate) struct BatchPlace<'a> {
    pub(crate) file: &'a PathBuf,
    pub(crate) first_row: usize,
    pub(crate) column: &'a str,
}

/// The different values of all cells, with a code each.
#[derive(Debug, Clone)]
pub(crate) struct CellCodes {
    cells: Vec<Cell>,
    first_seen: Vec<FirstSeen>,
    codes: HashMap<Cell, u8>,
    small: [u16; 512],
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
        Self {
            cells: Vec::new(),
            first_seen: Vec::new(),
            codes: HashMap::new(),
            small: [UNKNOWN; 512],
        }
    }

    /// Number of different values.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Writes the codes of a column to every `step`-th byte.
    pub(crate) fn encode(
        &mut self,
        column: &ArrayRef,
        bytes: &mut [u8],
        step: usize,
        place: &BatchPlace<'_>,
    ) -> Result<()> {
        let bytes = bytes.iter_mut().step_by(step).enumerate();
        match column.data_type() {
            DataType::Boolean => {
                let values = column.as_boolean();
                for (row, byte) in bytes {
                    let cell = (!values.is_null(row)).then(|| Cell::Truth(values.value(row)));
                    *byte = self.code(cell.unwrap_or(Cell::Missing), row, place)?;
                }
            }
            kind if kind.is_integer() => {
                let values = convert(column, &DataType::Int64, place)?;
                let values = values.as_primitive::<Int64Type>();
                let has_nulls = values.null_count() > 0;
                for (row, byte) in bytes {
                    *byte = if has_nulls && values.is_null(row) {
                        self.code(Cell::Missing, row, place)?
                    } else {
                        self.code_of_whole(values.value(row), row, place)?
                    };
                }
            }
            kind if kind.is_numeric() => {
                let values = convert(column, &DataType::Float64, place)?;
                let values = values.as_primitive::<Float64Type>();
                for (row, byte) in bytes {
                    let value = values.value(row);
                    let is_missing = values.is_null(row) || value.is_nan();
                    // Zero has two forms and one meaning.
                    let bits = if value == 0.0 { 0 } else { value.to_bits() };
                    let cell = if is_missing { Cell::Missing } else { Cell::Real(bits) };
                    *byte = self.code(cell, row, place)?;
                }
            }
            _ => {
                let values = convert(column, &DataType::Utf8, place)?;
                let values = values.as_string::<i32>();
                for (row, byte) in bytes {
                    let cell = (!values.is_null(row))
                        .then(|| Cell::Name(values.value(row).trim().to_owned()));
                    *byte = self.code(cell.unwrap_or(Cell::Missing), row, place)?;
                }
            }
        }
        Ok(())
    }

    fn code_of_whole(&mut self, value: i64, row: usize, place: &BatchPlace<'_>) -> Result<u8> {
        let index = usize::try_from(value.wrapping_sub(FIRST_SMALL)).unwrap_or(usize::MAX);
        if let Some(&code) = self.small.get(index)
            && code != UNKNOWN
        {
            return Ok(code as u8);
        }
        let code = self.code(Cell::Whole(value), row, place)?;
        if let Some(known) = self.small.get_mut(index) {
            *known = u16::from(code);
        }
        Ok(code)
    }

    fn code(&mut self, cell: Cell, row: usize, place: &BatchPlace<'_>) -> Result<u8> {
        if let Some(&code) = self.codes.get(&cell) {
            return Ok(code);
        }
        let row = place.first_row + row;
        if self.cells.len() == MOST_VALUES {
            let expected = format!("votes with at most {MOST_VALUES} different values");
            let error = Error::content(place.file, expected, "more");
            return Err(error
                .at(Place::row(row))
                .in_column(place.column)
                .with_hint("probabilities are not read in parts, only votes"));
        }
        let code = self.cells.len() as u8;
        self.cells.push(cell.clone());
        let (file, column) = (place.file.clone(), place.column.to_owned());
        self.first_seen.push(FirstSeen { file, row, column });
        self.codes.insert(cell, code);
        Ok(code)
    }

    /// What the codes mean: decided from the values just as [`read_signals`](crate::inputs::read_signals) decides from all cells.
    pub(crate) fn reading(&self, options: &SignalsOptions) -> Result<VoteReading> {
        if options.kind == SignalsKind::Probabilities {
            return Err(Error::config("kind", "votes, to be read in parts", "probabilities"));
        }
        let may_be_names = options.abstain != AbstainConvention::Signed;
        let mut names_error = None;
        if !options.classes.is_empty() && may_be_names {
            match self.names(Some(&options.classes), options.abstain) {
                Ok(reading) => return Ok(reading),
                Err(error) => names_error = Some(error),
            }
        }
        let numbers: Option<Vec<f32>> = self.cells.iter().map(Cell::number).collect();
        if let Some(numbers) = numbers {
            return self.numbers(numbers, options);
        }
        if let Some(error) = names_error {
            return Err(error);
        }
        let text = self.cells.iter().position(|cell| cell.number().is_none()).unwrap_or(0);
        let mixed = || {
            let found = format!("'{}'", self.cells[text].text());
            self.at(text, Error::content(&self.first_seen[text].file, "a number", found))
        };
        if !may_be_names {
            return Err(mixed());
        }
        let reading = self.names(None, options.abstain)?;
        if reading.classes.iter().any(|class| parse_number(class).is_some()) {
            return Err(mixed().with_hint("name the classes if some of them look like numbers"));
        }
        Ok(reading)
    }

    fn names(&self, known: Option<&[String]>, abstain: AbstainConvention) -> Result<VoteReading> {
        let mut codes = match known {
            Some(classes) => NameCodes::of(&with_abstention(classes, abstain)),
            None => NameCodes::open(usize::from(ABSTAIN) + 1),
        };
        let mut of_cells = Vec::with_capacity(self.cells.len());
        for (index, cell) in self.cells.iter().enumerate() {
            let code = codes.code(&cell.text()).map_err(|unknown| {
                let error = unknown.into_error(&self.first_seen[index].file);
                self.at(index, error)
                    .with_hint("drop columns that are not labelers, and name all classes")
            })?;
            of_cells.push(code);
        }
        let path = &self.first_seen[0].file;
        let (votes, classes) = votes_of_names(path, &codes.into_names(), known, abstain)?;
        let vote =
            |code: u32| if code == NameCodes::ABSENT { ABSTAIN } else { votes[code as usize] };
        Ok(VoteReading { votes: of_cells.into_iter().map(vote).collect(), classes })
    }

    fn numbers(&self, numbers: Vec<f32>, options: &SignalsOptions) -> Result<VoteReading> {
        let is_whole = |value: &f32| value.is_nan() || value.fract() == 0.0;
        if let Some(index) = numbers.iter().position(|value| !is_whole(value)) {
            let error = Error::content(
                &self.first_seen[index].file,
                "whole numbers, the votes",
                numbers[index],
            );
            return Err(self.at(index, error).with_hint(
                "probabilities are not read in parts; give one file that fits in memory",
            ));
        }
        let values = Array2::from_shape_vec((numbers.len(), 1), numbers).expect("one column");
        let at = |index: usize, _: usize, error: Error| self.at(index, error);
        let path = &self.first_seen[0].file;
        let (votes, n_classes) =
            votes_from_numbers(path, &values, options.classes.len(), options.abstain, at)?;
        let classes = match &options.classes[..] {
            [] => (0..n_classes).map(|class| class.to_string()).collect(),
            named => named.to_vec(),
        };
        Ok(VoteReading { votes: votes.into_iter().collect(), classes })
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

fn convert(column: &ArrayRef, kind: &DataType, place: &BatchPlace<'_>) -> Result<ArrayRef> {
    // A number that does not fit must not become a missing one.
    let options = CastOptions { safe: false, ..Default::default() };
    cast_with_options(column, kind, &options).map_err(|error| {
        Error::content(place.file, format!("values of type {kind}"), error).in_column(place.column)
    })
}
