//! What a cell of a table can be: a number, a name, or nothing.

use std::collections::HashMap;
use std::path::Path;

use ndarray::Array2;

use crate::{Error, Result, ensure};

/// A number as tables store it.
pub trait Number: Copy {
    /// The nearest value.
    fn from_f64(value: f64) -> Self;
}

impl Number for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Number for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// What stands in a cell when nothing is known: R writes `NA`, other tools an empty cell or one of the rest.
const MISSING: [&str; 7] = ["", "NA", "N/A", "NaN", "nan", "null", "None"];

/// The number in a cell, NaN when it is missing, nothing when it is text.
pub(crate) fn parse_number(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    if MISSING.contains(&cell) { Some(f64::NAN) } else { cell.parse().ok() }
}

/// Cells read row by row as a table.
pub(crate) fn into_table<T>(cells: Vec<T>, n_columns: usize) -> Array2<T> {
    let n_rows = cells.len() / n_columns.max(1);
    Array2::from_shape_vec((n_rows, n_columns), cells).expect("every row has n_columns cells")
}

/// Columns read as numbers, NaN where a cell is empty; or, where some cell is text, the error that says which.
pub(crate) type Numbers<T> = Result<Array2<T>>;

/// A number as messages show it.
pub(crate) fn shown_number(value: f64) -> String {
    if value.is_nan() { "none".to_owned() } else { value.to_string() }
}

/// Names and the codes that stand for them while a table is read.
#[derive(Debug)]
pub(crate) struct NameCodes {
    names: Vec<String>,
    codes: HashMap<String, u32>,
    is_closed: bool,
    n_most: usize,
}

impl NameCodes {
    /// The code of a missing cell.
    pub(crate) const ABSENT: u32 = u32::MAX;

    /// Codes for these names only, in this order.
    pub(crate) fn of(names: &[String]) -> Self {
        let codes = names.iter().zip(0..).map(|(name, code)| (name.clone(), code)).collect();
        Self { names: names.to_vec(), codes, is_closed: true, n_most: names.len() }
    }

    /// Codes for any names, as they come, but not more than `n_most`.
    pub(crate) fn open(n_most: usize) -> Self {
        Self { names: Vec::new(), codes: HashMap::new(), is_closed: false, n_most }
    }

    /// The code of a name; `path` is where it stands, for errors.
    pub(crate) fn code(&mut self, path: &Path, name: &str) -> Result<u32> {
        // A class may well be called None; only then is it not missing.
        if let Some(&code) = self.codes.get(name) {
            return Ok(code);
        }
        if MISSING.contains(&name) {
            return Ok(Self::ABSENT);
        }
        let has_room = !self.is_closed && self.names.len() < self.n_most;
        ensure(has_room, || Error::cell(path, self.expected(), name))?;
        let code = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.codes.insert(name.to_owned(), code);
        Ok(code)
    }

    /// The names, in the order of their codes.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }

    fn expected(&self) -> String {
        if !self.is_closed {
            return format!("at most {} different names", self.n_most);
        }
        const N_SHOWN: usize = 8;
        let mut shown = self.names.iter().take(N_SHOWN).cloned().collect::<Vec<_>>();
        if self.names.len() > N_SHOWN {
            shown.push("…".to_owned());
        }
        format!("one of {}", shown.join(", "))
    }
}
