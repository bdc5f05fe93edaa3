//! Features and signals in Parquet files that need not fit in memory, as rows to train on.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow::sources::{RowSignals, RowSource, SignalForm, SourceRows, StreamedFit};
use labelflow::{Bounds, Error};
use labelflow_data::inputs::SignalsOptions;
use labelflow_data::parts::{
    BadRows, FeatureParts, ProbabilityReader, ProbabilityStream, StreamedPatterns, TableParts,
    VoteParts, VoteReader, VoteStream,
};

use super::args::FitArgs;
use crate::commands::fit::{FitFile, required};
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::memory_size::MemorySize;
use crate::terminal::output;

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
    signals: Signals,
}

/// What labelers say.
enum Signals {
    None,
    Votes(Box<VoteStream>),
    Probabilities(ProbabilityStream),
}

/// Reads it.
enum SignalReader<'a> {
    None,
    Votes(Box<VoteReader<'a>>),
    Probabilities(Box<ProbabilityReader<'a>>),
}

impl PartsSetting {
    pub(super) fn gather(file: &FitFile, args: &FitArgs) -> anyhow::Result<Self> {
        Ok(Self {
            features: required(&args.features, &file.features, "features")?,
            signals: args.signals.clone().or(file.signals.clone()),
            feature_columns: args.feature_columns.clone().or(file.feature_columns.clone()),
            signal_columns: args.signal_columns.clone().or(file.signal_columns.clone()),
            memory: args.memory.or(file.memory).unwrap_or(MemorySize::DEFAULT),
        })
    }

    /// Where the signals are.
    fn signals(&self) -> &Path {
        self.signals.as_ref().unwrap_or(&self.features)
    }

    /// Opens files of features alone. Returns also what is left of the memory.
    pub(super) fn open_features(&self) -> anyhow::Result<(PartsSource, u64)> {
        let table = TableParts::open(&self.features)?;
        let columns = match &self.feature_columns {
            Some(names) => table.columns_like(names)?,
            None => (0..table.columns().len()).collect(),
        };
        let features = FeatureParts::new(table, columns)?;
        let left = self.memory.left_to_work(features.names().len(), 1)?;
        Ok((PartsSource { features, signals: Signals::None }, left))
    }

    /// Opens the files, reads what the signals mean, and finds the bounds. Returns also what is left of the memory.
    pub(super) fn open(
        &self,
        options: &SignalsOptions,
        bounds: &BoundsSetting,
    ) -> anyhow::Result<(PartsSource, Bounds, u64)> {
        let (features, signals) = self.tables()?;
        if features.n_rows() != signals.n_rows() {
            bail!(
                "{}: expected {} rows, as many as {} has, found {}",
                self.signals().display(),
                features.n_rows(),
                self.features.display(),
                signals.n_rows()
            );
        }
        let n_columns = features.names().len() + signals.labelers().len();
        let left = self.memory.left_to_work(n_columns, 1)?;
        let (signals, bounds) = match ProbabilityStream::find(&signals, options)? {
            None => self.votes(signals, options, bounds, left)?,
            Some(_) if bounds.is_auto() => bail!(
                "{}: bounds = auto is for votes where rows are read in parts: expected --bounds, a number or a file, found \
                 probabilities without them",
                self.signals().display()
            ),
            Some(probabilities) => {
                let bounds = bounds.resolve(&probabilities.silent_row()?)?;
                (Signals::Probabilities(probabilities), bounds)
            }
        };
        Ok((PartsSource { features, signals }, bounds, left))
    }

    /// Reads what votes mean.
    fn votes(
        &self,
        votes: VoteParts,
        options: &SignalsOptions,
        bounds: &BoundsSetting,
        memory: u64,
    ) -> anyhow::Result<(Signals, Bounds)> {
        let is_auto = bounds.is_auto();
        let most = |parts: &VoteParts, n_values: usize| {
            let n_signals = parts.labelers().len();
            let counter = 2 * labelflow::votes::VoteCounter::bytes_per_pattern(n_signals);
            let bytes = counter + 3 * n_signals + 32 * n_values.max(2) + BYTES_PER_PATTERN;
            if is_auto { (memory / bytes as u64) as usize } else { 0 }
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
        Ok((Signals::Votes(Box::new(votes.without_patterns())), bounds))
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

impl SignalReader<'_> {
    fn next_rows(&mut self, n_rows: usize) -> labelflow::Result<RowSignals> {
        match self {
            Self::None => Ok(RowSignals::None),
            Self::Votes(votes) => votes.next_rows(n_rows).map(RowSignals::Votes).map_err(of_files),
            Self::Probabilities(p) => {
                p.next_rows(n_rows).map(RowSignals::Probabilities).map_err(of_files)
            }
        }
    }
}

impl RowSource for PartsSource {
    fn n_rows(&self) -> u64 {
        self.features.n_rows()
    }

    fn feature_names(&self) -> &[String] {
        self.features.names()
    }

    fn signal_form(&self) -> SignalForm {
        match &self.signals {
            Signals::None => SignalForm::None,
            Signals::Votes(_) => SignalForm::Votes,
            Signals::Probabilities(_) => SignalForm::Probabilities,
        }
    }

    fn labelers(&self) -> &[String] {
        match &self.signals {
            Signals::None => &[],
            Signals::Votes(votes) => votes.parts().labelers(),
            Signals::Probabilities(p) => p.parts().labelers(),
        }
    }

    fn classes(&self) -> &[String] {
        match &self.signals {
            Signals::None => &[],
            Signals::Votes(votes) => votes.classes(),
            Signals::Probabilities(p) => p.classes(),
        }
    }

    fn visit(
        &self,
        visit: &mut dyn FnMut(SourceRows) -> labelflow::Result<()>,
    ) -> labelflow::Result<()> {
        let all = 0..self.n_rows();
        let mut features = self.features.reader(all.clone(), PASS_ROWS, BadRows::Fail);
        let mut signals = match &self.signals {
            Signals::None => SignalReader::None,
            Signals::Votes(votes) => SignalReader::Votes(Box::new(votes.reader(all))),
            Signals::Probabilities(p) => SignalReader::Probabilities(Box::new(p.reader(all))),
        };
        while let Some(rows) = features.next_rows().map_err(of_files)? {
            let signals = signals.next_rows(rows.n_rows)?;
            if let Some(features) = rows.features {
                visit(SourceRows { features: features.into_values(), signals })?;
            }
        }
        Ok(())
    }
}

/// Says what was found; `speaks` is what nobody does of some rows.
pub(super) fn note_windows<M>(fit: &StreamedFit<'_, M>, n_rows: u64, speaks: &str) {
    if fit.n_uncovered() > 0 {
        output::note(&format!(
            "{} of {n_rows} rows {speaks}: their features are used, their labels are free",
            fit.n_uncovered()
        ));
    }
    let batch_rows = fit.batch_rows();
    output::note(&match fit.n_windows() {
        1 => format!("{n_rows} rows in memory, steps of at most {batch_rows} rows"),
        n_windows => format!(
            "{n_rows} rows in {n_windows} windows, steps of at most {batch_rows} rows; rows in random order take {} of disk in the \
             model folder while it is trained",
            MemorySize(fit.disk_bytes())
        ),
    });
}

/// What needs all rows in memory.
pub(super) fn refuse_what_needs_memory(file: &FitFile, args: &FitArgs) -> anyhow::Result<()> {
    if args.labels_for_eval.is_some() || file.labels_for_eval.is_some() {
        bail!(
            "labels-for-eval: expected features that are read into memory, found rows in parts (`labelflow eval` judges the model)"
        );
    }
    if args.eval_every.is_some() || file.eval_every.is_some() {
        bail!("eval-every: expected features that are read into memory, found rows in parts");
    }
    Ok(())
}
