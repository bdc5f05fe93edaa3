//! Features and votes in Parquet files that need not fit in memory, as rows to train on.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow::weak::Bounds;
use labelflow::{Error, RowSource, SourceRows};
use labelflow_data::{
    BadRows, FeatureParts, SignalsOptions, StreamedPatterns, TableParts, VoteParts, VoteStream,
};
use ndarray::{Array2, Axis, concatenate};

use crate::bounds_setting::BoundsSetting;
use crate::memory_size::MemorySize;
use crate::output;

/// Rows that are read at once in a pass over all.
const PASS_ROWS: usize = 8192;
/// What Dawid and Skene's model takes for a distinct row, beside the counts: votes, and a label of two forms.
const BYTES_PER_PATTERN: usize = 64;

/// Which files and columns of them.
pub(super) struct PartsSetting {
    pub(super) features: PathBuf,
    /// The files of the features if none are named.
    pub(super) signals: Option<PathBuf>,
    pub(super) feature_columns: Option<Vec<String>>,
    pub(super) signal_columns: Option<Vec<String>>,
    pub(super) memory: MemorySize,
}

/// Rows to train on.
pub(super) struct PartsSource {
    features: FeatureParts,
    votes: VoteStream,
}

impl PartsSetting {
    /// Where the votes are.
    pub(super) fn signals(&self) -> &Path {
        self.signals.as_ref().unwrap_or(&self.features)
    }

    /// Opens the files, reads what the votes mean, and finds the bounds. Returns also what is left of the memory.
    pub(super) fn open(
        &self,
        options: &SignalsOptions,
        bounds: &BoundsSetting,
    ) -> anyhow::Result<(PartsSource, Bounds, u64)> {
        let (features, votes) = self.tables()?;
        if features.n_rows() != votes.n_rows() {
            bail!(
                "{}: expected {} rows, as many as {} has, found {}",
                self.signals().display(),
                features.n_rows(),
                self.features.display(),
                votes.n_rows()
            );
        }
        let n_columns = features.names().len() + votes.labelers().len();
        let left = self.memory.left_to_work(n_columns, 1)?;
        let is_auto = matches!(bounds, BoundsSetting::Named(name) if name == "auto");
        let most = |parts: &VoteParts, n_values: usize| {
            let n_signals = parts.labelers().len();
            let counter = 2 * labelflow::weak::VoteCounter::bytes_per_pattern(n_signals);
            let bytes = counter + 3 * n_signals + 32 * n_values.max(2) + BYTES_PER_PATTERN;
            if is_auto { (left / bytes as u64) as usize } else { 0 }
        };
        let votes = VoteStream::read(votes, options, most)?;
        let bounds = match (is_auto, votes.patterns()) {
            (false, _) => bounds.resolve(&votes.silent_row()?)?,
            (true, StreamedPatterns::Counted(counted)) => {
                BoundsSetting::note_auto(Bounds::auto_of_counts(counted).context("bounds = auto")?)
            }
            (true, StreamedPatterns::TooMany { most, n_rows }) => bail!(
                "{}: bounds = auto needs all distinct rows of votes in memory: expected at most {most}, for which {} is enough, found \
                 more in the first {n_rows} rows (give the bounds, or more --memory)",
                self.signals().display(),
                self.memory
            ),
        };
        Ok((PartsSource { features, votes: votes.without_patterns() }, bounds, left))
    }

    fn tables(&self) -> anyhow::Result<(FeatureParts, VoteParts)> {
        let table = TableParts::open(&self.features)?;
        let votes = match &self.signals {
            Some(path) => TableParts::open(path)?,
            None => table.clone(),
        };
        let signals = match &self.signal_columns {
            Some(names) => votes.columns_like(names)?,
            None if votes == table => bail!(
                "{}: expected --signals, or --signal-columns that say which columns of the features' files are signals, found neither",
                self.features.display()
            ),
            None => (0..votes.columns().len()).collect(),
        };
        let features = match &self.feature_columns {
            Some(names) => table.columns_like(names)?,
            None => {
                let is_signal = |column: &usize| votes == table && signals.contains(column);
                (0..table.columns().len()).filter(|column| !is_signal(column)).collect()
            }
        };
        if votes == table
            && let Some(both) = features.iter().find(|column| signals.contains(column))
        {
            bail!(
                "{}, column '{}': expected a feature or a signal, found both",
                self.features.display(),
                table.columns()[*both]
            );
        }
        Ok((FeatureParts::new(table, features)?, VoteParts::new(votes, signals)))
    }
}

/// An error of the files as one of training.
fn of_files(error: labelflow_data::Error) -> Error {
    Error::Source(Box::new(error))
}

impl PartsSource {
    fn visit_rows(
        &self,
        rows: Range<u64>,
        visit: &mut dyn FnMut(SourceRows) -> labelflow::Result<()>,
    ) -> labelflow::Result<()> {
        let mut features = self.features.reader(rows.clone(), PASS_ROWS, BadRows::Fail);
        let mut votes = self.votes.reader(rows);
        while let Some(rows) = features.next_rows().map_err(of_files)? {
            let votes = votes.next_rows(rows.n_rows).map_err(of_files)?;
            if let Some(features) = rows.features {
                visit(SourceRows { features: features.into_values(), votes })?;
            }
        }
        Ok(())
    }
}

impl RowSource for PartsSource {
    fn n_rows(&self) -> u64 {
        self.features.n_rows()
    }

    fn feature_names(&self) -> &[String] {
        self.features.names()
    }

    fn labelers(&self) -> &[String] {
        self.votes.parts().labelers()
    }

    fn classes(&self) -> &[String] {
        self.votes.classes()
    }

    fn blocks(&self, most_rows: u64) -> Vec<Range<u64>> {
        self.features.table().blocks(most_rows)
    }

    fn read(&self, rows: Range<u64>) -> labelflow::Result<SourceRows> {
        let (mut features, mut votes) = (Vec::new(), Vec::new());
        self.visit_rows(rows, &mut |rows| {
            features.push(rows.features);
            votes.push(rows.votes);
            Ok(())
        })?;
        Ok(SourceRows { features: joined(&features)?, votes: joined(&votes)? })
    }

    fn visit(
        &self,
        visit: &mut dyn FnMut(SourceRows) -> labelflow::Result<()>,
    ) -> labelflow::Result<()> {
        self.visit_rows(0..self.n_rows(), visit)
    }
}

/// Tables of the same columns, one below the other.
fn joined<T: Clone>(parts: &[Array2<T>]) -> labelflow::Result<Array2<T>> {
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    concatenate(Axis(0), &views).map_err(|error| Error::data("rows", "at least one", error))
}

/// Says what was found.
pub(super) fn note_windows(fit: &labelflow::StreamedFit<'_>, n_rows: u64) {
    if fit.n_uncovered() > 0 {
        output::note(&format!(
            "{} of {n_rows} rows have no vote: their features are used, their labels are free",
            fit.n_uncovered()
        ));
    }
    output::note(&format!(
        "{n_rows} rows in {} windows, steps of at most {} rows",
        fit.n_windows(),
        fit.batch_rows()
    ));
}
