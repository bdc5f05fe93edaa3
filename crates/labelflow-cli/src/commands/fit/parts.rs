//! Features and signals in Parquet files that need not fit in memory, as rows to train on.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use labelflow::sources::{RowSignals, RowSource, SignalForm, SourceRows};
use labelflow::{Bounds, Error};
use labelflow_data::inputs::SignalsOptions;
use labelflow_data::parts::{
    BadRows, FeatureParts, ProbabilityStream, StreamedPatterns, TableParts, VoteParts, VoteStream,
};

use super::args::FitSettings;
use super::plan::{FitPlan, required};
use crate::inputs::bounds_setting::BoundsSetting;
use crate::terminal::output;

/// Rows that are read at once in a pass over all.
const PASS_ROWS: usize = 8192;
/// What Dawid and Skene's model takes for a distinct row, beside the counts: votes, and a label of two forms.
const BYTES_PER_PATTERN: usize = 64;

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

/// Gives what labelers say of the next rows.
type NextSignals<'a> = Box<dyn FnMut(usize) -> labelflow_data::Result<RowSignals> + 'a>;

impl PartsSource {
    /// Opens files of features alone. Returns also what is left of the memory.
    pub(super) fn open_features(plan: &FitPlan<'_>) -> anyhow::Result<(Self, u64)> {
        refuse_evaluation(&plan.settings)?;
        let settings = &plan.settings;
        let table = TableParts::open(required(&settings.features, "features")?, &settings.key_column())?;
        let columns = feature_columns(settings, &table, &[])?;
        let features = FeatureParts::new(table, columns)?;
        let left = settings.memory().left_to_work(features.names().len(), 1)?;
        Ok((Self { features, signals: Signals::None }, left))
    }

    /// Opens the files, reads what the signals mean, and finds the bounds. Returns also what is left of the memory.
    pub(super) fn open(plan: &FitPlan<'_>, options: &SignalsOptions) -> anyhow::Result<(Self, Bounds, u64)> {
        let settings = &plan.settings;
        refuse_evaluation(settings)?;
        let features_path = required(&settings.features, "features")?;
        // The signals are in the files of the features if no others are named.
        let path = settings.signals.as_deref().unwrap_or(features_path);
        let (features, signals) = tables(settings, features_path)?;
        output::warn_if_any(path, "row-order", signals.table().check_same_rows(features.table())?);
        let n_columns = features.names().len() + signals.labelers().len();
        let left = settings.memory().left_to_work(n_columns, 1)?;
        let bounds = settings.bounds();
        let (signals, bounds) = match ProbabilityStream::find(&signals, options)? {
            None => {
                let (votes, bounds) = read_votes(signals, options, &bounds, left, plan, path)?;
                (Signals::Votes(Box::new(votes)), bounds)
            }
            Some(_) if bounds.is_auto() => bail!(
                "{}: bounds = auto is for votes where rows are read in parts: expected --bounds, a number or a file, found \
                 probabilities without them",
                path.display()
            ),
            Some(probabilities) => {
                let bounds = bounds.resolve(&probabilities.silent_row()?)?;
                (Signals::Probabilities(probabilities), bounds)
            }
        };
        Ok((Self { features, signals }, bounds, left))
    }
}

/// What needs all rows in memory.
fn refuse_evaluation(settings: &FitSettings) -> anyhow::Result<()> {
    for (key, given) in
        [("labels-for-eval", settings.labels_for_eval.is_some()), ("eval-every", settings.eval_every.is_some())]
    {
        ensure!(
            !given,
            "{key}: expected features that are read into memory, found rows in parts (`labelflow eval` evaluates the model)"
        );
    }
    Ok(())
}

/// Reads what votes mean, and finds the bounds in the memory that there is.
fn read_votes(
    votes: VoteParts,
    options: &SignalsOptions,
    bounds: &BoundsSetting,
    memory: u64,
    plan: &FitPlan<'_>,
    path: &Path,
) -> anyhow::Result<(VoteStream, Bounds)> {
    let is_auto = bounds.is_auto();
    let most = |parts: &VoteParts, n_values: usize| {
        let n_signals = parts.labelers().len();
        let counter = 2 * labelflow::votes::VoteCounter::bytes_per_pattern(n_signals);
        let bytes = counter + 3 * n_signals + 32 * n_values.max(2) + BYTES_PER_PATTERN;
        if is_auto { (memory / bytes as u64) as usize } else { 0 }
    };
    let votes = VoteStream::read(votes, options, most)?;
    output::warn_if_any(path, "abstain-convention", votes.convention_doubt());
    let bounds = match (is_auto, votes.patterns()) {
        (false, _) => bounds.resolve(&votes.silent_row()?)?,
        (true, StreamedPatterns::Counted(counted)) => {
            BoundsSetting::note_auto(Bounds::auto_of_counts(counted).context("bounds = auto")?)
        }
        (true, StreamedPatterns::TooMany { most, n_rows }) => bail!(
            "{}: bounds = auto needs all distinct rows of votes in memory: expected at most {most}, for which {} is enough, found \
             more in the first {n_rows} rows (give the bounds, or more --memory)",
            path.display(),
            plan.settings.memory()
        ),
    };
    Ok((votes.without_patterns(), bounds))
}

fn tables(settings: &FitSettings, path: &Path) -> anyhow::Result<(FeatureParts, VoteParts)> {
    let key = settings.key_column();
    let table = TableParts::open(path, &key)?;
    let votes = match &settings.signals {
        Some(path) => TableParts::open(path, &key)?,
        None => table.clone(),
    };
    let signals = match &settings.signal_columns {
        Some(names) => votes.columns_like(names)?,
        None if votes == table => bail!(
            "{}: expected --signals, or --signal-columns that say which columns of the features' files are signals, found neither",
            path.display()
        ),
        None => votes.columns_of_values(),
    };
    let shared: &[usize] = if votes == table { &signals } else { &[] };
    let features = feature_columns(settings, &table, shared)?;
    if let Some(both) = features.iter().find(|column| shared.contains(column)) {
        bail!("{}, column '{}': expected a feature or a signal, found both", path.display(), table.columns()[*both]);
    }
    Ok((FeatureParts::new(table, features)?, VoteParts::new(votes, signals)))
}

/// The columns that are features: those that are named, or else all that are no signals.
fn feature_columns(
    settings: &FitSettings,
    table: &TableParts,
    signals: &[usize],
) -> labelflow_data::Result<Vec<usize>> {
    match &settings.feature_columns {
        Some(names) => table.columns_like(names),
        None => Ok(table.columns_of_values().into_iter().filter(|column| !signals.contains(column)).collect()),
    }
}

/// An error of the files as one of training.
fn of_files(error: labelflow_data::Error) -> Error {
    Error::Source(Box::new(error))
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

    fn visit(&self, visit: &mut dyn FnMut(SourceRows) -> labelflow::Result<()>) -> labelflow::Result<()> {
        let all = 0..self.n_rows();
        let mut features = self.features.reader(all.clone(), PASS_ROWS, BadRows::Fail);
        let mut signals: NextSignals<'_> = match &self.signals {
            Signals::None => Box::new(|_| Ok(RowSignals::None)),
            Signals::Votes(votes) => {
                let mut reader = votes.reader(all);
                Box::new(move |n_rows| reader.next_rows(n_rows).map(RowSignals::Votes))
            }
            Signals::Probabilities(p) => {
                let mut reader = p.reader(all);
                Box::new(move |n_rows| reader.next_rows(n_rows).map(RowSignals::Probabilities))
            }
        };
        while let Some(rows) = features.next_rows().map_err(of_files)? {
            let signals = signals(rows.n_rows).map_err(of_files)?;
            if let Some(features) = rows.features {
                visit(SourceRows { features: features.into_values(), signals })?;
            }
        }
        Ok(())
    }
}
