//! Counted votes in files: one row per pattern, one column per labeler, and how many rows have it.
//!
//! ```text
//! rule_a,rule_b,count
//! 0,1,1200
//! 1,-1,340
//! ```

use std::path::Path;

use labelflow_weak::votes::{ABSTAIN, CountedVotes, WeakSignals};

use super::signals_file::read_signals_of;
use super::vote_cells::vote_number;
use crate::inputs::{AbstainConvention, SignalsOptions};
use crate::tables::table::TableFile;
use crate::tables::{Column, ColumnValues, write_columns};
use crate::{Error, Result, ensure};

/// The column with the numbers of rows.
const COUNT: &str = "count";

/// Patterns of votes in the order of their file, with the number of rows of each.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternTable {
    /// The patterns, one row each. A pattern may be there more than once.
    pub signals: WeakSignals,
    /// How many rows have each.
    pub counts: Vec<u64>,
}

impl PatternTable {
    /// The patterns sorted, each once.
    pub fn counted(&self) -> Result<CountedVotes> {
        Ok(CountedVotes::new(&self.signals, &self.counts)?)
    }
}

/// Reads patterns of votes with counts: csv, tsv or parquet with a column `count` and one column per labeler, whose cells are
/// read as [`read_signals`](crate::inputs::read_signals) reads those of votes.
///
/// ```
/// use labelflow_data::inputs::{SignalsOptions, read_counts};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("counts.csv");
/// std::fs::write(&path, "rule_a,rule_b,count\n0,1,1200\n1,-1,340\n")?;
/// let counted = read_counts(&path, &SignalsOptions::default())?.counted()?;
/// assert_eq!((counted.n_patterns(), counted.n_rows()), (2, 1540));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_counts(path: &Path, options: &SignalsOptions) -> Result<PatternTable> {
    let table = TableFile::open_named(path)?;
    let count = table
        .required_column(COUNT)
        .map_err(|error| error.with_hint("`labelflow label --write-counts` writes such files"))?;
    let is_count = |n: f64| n.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&n);
    let numbers = table.checked_numbers(count, "a number of rows, 0 to 2^53", is_count)?;
    let counts = numbers.into_iter().map(|number| number as u64).collect();
    let columns: Vec<usize> = table.columns().into_iter().filter(|&c| c != count).collect();
    let signals = read_signals_of(&table, &columns, options)?;
    ensure(signals.probabilities().is_none(), || table.error("votes with counts", "probabilities"))?;
    Ok(PatternTable { signals, counts })
}

/// Writes counted votes so that [`read_counts`] reads the same: csv, tsv or parquet. Votes are the names of their classes,
/// -1 for an abstention. Where the classes are called 1, 2, …, or -1 and 1, votes are numbers, and an abstention is an empty cell: read them
/// with [`AbstainConvention::Zero`] or [`AbstainConvention::Signed`].
pub fn write_counts(path: &Path, counted: &CountedVotes) -> Result<()> {
    let expected = || format!("labelers with other names than '{COUNT}'");
    let is_free = counted.labelers().iter().all(|name| name != COUNT);
    ensure(is_free, || Error::content(path, expected(), format!("'{COUNT}'")))?;
    let classes = counted.classes();
    let has_codes = AbstainConvention::of_class_names(classes).is_some();
    let has_names = classes.iter().enumerate().any(|(class, name)| *name != class.to_string());
    let column = |(signal, name): (usize, &String)| {
        let votes = counted.iter().map(|(row, _)| row[signal]);
        let values = if has_codes {
            let number = |vote: u8| match vote {
                ABSTAIN => f64::NAN,
                class => classes[usize::from(class)].parse().expect("a name that is a number"),
            };
            ColumnValues::Reals(votes.map(number).collect())
        } else if has_names {
            let name = |vote: u8| match vote {
                ABSTAIN => "-1".to_owned(),
                class => classes[usize::from(class)].clone(),
            };
            ColumnValues::Names(votes.map(name).collect())
        } else {
            ColumnValues::Integers(votes.map(|vote| vote_number(&vote).into()).collect())
        };
        Column::new(name, values)
    };
    let mut columns: Vec<Column> = counted.labelers().iter().enumerate().map(column).collect();
    let counts = counted.iter().map(|(_, count)| count as i64).collect();
    columns.push(Column::new(COUNT, ColumnValues::Integers(counts)));
    write_columns(path, &columns)
}
