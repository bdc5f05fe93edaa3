//! Synthetic votes and features as Parquet parts, as many rows as the disk holds.

use std::path::{Path, PathBuf};

use labelflow_weak::numerics::stream;
use labelflow_weak::rows::Truth;
use labelflow_weak::settings::{check_at_least_one, check_cells};
use labelflow_weak::votes::WeakSignals;

use super::planted_problems::{Labelers, draw_class};
use crate::inputs::vote_cells::vote_number;
use crate::synthetic::{PlantedGaussian, PlantedVotes};
use crate::tables::{Column, ColumnValues, write_columns};
use crate::{Error, Result, ensure};

impl PlantedVotes {
    /// Writes the votes of all rows into a folder, as `part-00000.parquet` and so on with `rows_per_part` rows each, and
    /// returns the files. No more than one part is in memory.
    ///
    /// The labelers are those of [`generate`](Self::generate) with the same seed; the rows are others.
    pub fn write_parts(&self, folder: &Path, rows_per_part: usize) -> Result<Vec<PathBuf>> {
        check_at_least_one(&[("n_rows", self.n_rows)])?;
        check_parts(self.n_rows, rows_per_part, self.n_signals)?;
        let balance = self.checked_balance()?;
        let labelers = Labelers::draw(self.n_signals, self.accuracy, self.coverage, self.seed)?;
        let mut classes = stream(self.seed, "planted classes of parts");
        let mut votes = stream(self.seed, "planted votes of parts");
        let mut files = Vec::new();
        for (name, n_rows) in parts(self.n_rows, rows_per_part) {
            let labels = (0..n_rows).map(|_| draw_class(&balance, &mut classes)).collect();
            let truth = Truth::new(labels, self.n_classes)?;
            let signals = labelers.vote(&truth, &mut votes)?;
            let file = folder.join(name);
            write_columns(&file, &vote_columns(&signals))?;
            files.push(file);
        }
        Ok(files)
    }
}

impl PlantedGaussian {
    /// Writes all rows into a folder: `features/part-00000.parquet` and `signals/part-00000.parquet`, and so on with
    /// `rows_per_part` rows each. Returns the number of parts, of which no more than one is in memory.
    ///
    /// Classes and labelers are those of [`generate`](Self::generate) with the same seed; the rows are others.
    pub fn write_parts(&self, folder: &Path, rows_per_part: usize) -> Result<usize> {
        self.check()?;
        check_parts(self.n_rows, rows_per_part, self.n_columns())?;
        let means = self.draw_means(&mut stream(self.seed, "planted features"));
        let labelers = Labelers::draw(self.n_signals, self.accuracy, self.coverage, self.seed)?;
        let mut rows = stream(self.seed, "planted rows of parts");
        let mut votes = stream(self.seed, "planted votes of parts");
        let [features, signals] = ["features", "signals"].map(|table| folder.join(table));
        for table in [&features, &signals] {
            std::fs::create_dir_all(table).map_err(|error| Error::write(table, error))?;
        }
        for (name, n_rows) in parts(self.n_rows, rows_per_part) {
            let (truth, values) = self.draw_rows(n_rows, &means, &mut rows)?;
            let columns = values.columns().into_iter().enumerate().map(|(column, values)| {
                let values = values.iter().map(|&value| value as f32).collect();
                Column::new(format!("x{column}"), ColumnValues::ShortReals(values))
            });
            write_columns(&features.join(&name), &columns.collect::<Vec<_>>())?;
            let votes = vote_columns(&labelers.vote(&truth, &mut votes)?);
            write_columns(&signals.join(&name), &votes)?;
        }
        Ok(self.n_rows.div_ceil(rows_per_part))
    }
}

/// Each part fits in memory, and the names of all have five digits.
fn check_parts(n_rows: usize, rows_per_part: usize, n_columns: usize) -> Result<()> {
    const MOST_PARTS: usize = 100_000;
    check_at_least_one(&[("rows_per_part", rows_per_part)])?;
    check_cells("rows_per_part", rows_per_part.min(n_rows), n_columns)?;
    let expected = || format!("at least {} for {n_rows} rows in {MOST_PARTS} parts", n_rows.div_ceil(MOST_PARTS));
    ensure(n_rows.div_ceil(rows_per_part) <= MOST_PARTS, || Error::config("rows_per_part", expected(), rows_per_part))?;
    Ok(())
}

/// The names of the parts, and how many rows each has.
fn parts(n_rows: usize, rows_per_part: usize) -> impl Iterator<Item = (String, usize)> {
    let first_rows = (0..n_rows).step_by(rows_per_part).enumerate();
    first_rows.map(move |(part, first_row)| (format!("part-{part:05}.parquet"), rows_per_part.min(n_rows - first_row)))
}

/// Votes as small integers, one column per labeler.
fn vote_columns(signals: &WeakSignals) -> Vec<Column> {
    let votes = signals.votes();
    let votes = votes.bytes();
    let columns = signals
        .labelers()
        .iter()
        .zip(votes.columns())
        .map(|(name, votes)| Column::new(name, ColumnValues::Shorts(votes.iter().map(vote_number).collect())));
    columns.collect()
}
