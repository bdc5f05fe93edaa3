//! Votes of which distinct rows are kept, not all rows: parts larger than memory, and tables of patterns with counts.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow::WeakSignals;
use labelflow::label_models::AnyLabelModel;
use labelflow::rows::SoftLabels;
use labelflow::votes::{CountedVotes, VoteCounter};
use labelflow_data::inputs::{
    AbstainConvention, PatternTable, SignalsOptions, convention_doubt, read_counts, write_labels,
};
use labelflow_data::parts::{StreamedPatterns, VoteParts, VoteStream, write_labels_as_they_come};

use super::memory_size::MemorySize;
use crate::flags::SignalsArgs;
use crate::terminal::output;

/// The least that must be left for distinct rows.
const LEAST_BYTES: u64 = 20_000_000;

/// Votes as patterns.
pub(crate) struct PatternInput {
    /// The file, folder or pattern, for errors.
    pub(crate) path: PathBuf,
    source: PatternSource,
    memory: MemorySize,
    /// What the label model takes for each pattern of the parts, beside the counts.
    bytes_per_pattern: usize,
}

enum PatternSource {
    Parts(Box<VoteStream>),
    Table { table: Box<PatternTable>, counted: Box<CountedVotes> },
}

impl PatternInput {
    /// Whether the flags name votes of this kind.
    pub(crate) fn is_named(args: &SignalsArgs) -> bool {
        let is_parts = |path: &PathBuf| args.memory.is_some() || VoteParts::is_several(path);
        args.source.counts.is_some() || args.source.signals.as_ref().is_some_and(is_parts)
    }

    /// Reads and counts what the flags name. `bytes_per_pattern` is what a label model needs beside the counts, given the
    /// numbers of labelers and classes; `classes` are known from elsewhere, or empty for those of the flags.
    pub(crate) fn read(
        args: &SignalsArgs,
        classes: &[String],
        bytes_per_pattern: impl Fn(usize, usize) -> usize,
    ) -> anyhow::Result<Self> {
        let classes = match classes {
            [] => args.classes.clone().unwrap_or_default(),
            known => known.to_vec(),
        };
        let abstain = args.abstain.map(AbstainConvention::from).unwrap_or_default();
        let options = SignalsOptions { classes, abstain, ..Default::default() };
        let memory = args.memory.unwrap_or(MemorySize::DEFAULT);
        let (path, source) = if let Some(path) = &args.source.counts {
            let table = read_counts(path, &options)?;
            let counted = table.counted().with_context(|| format!("{}", path.display()))?;
            let (table, counted) = (Box::new(table), Box::new(counted));
            (path, PatternSource::Table { table, counted })
        } else {
            let path = args.source.signals.as_ref().context("--signals is missing")?;
            memory.left_to_work(VoteParts::open(path)?.labelers().len(), LEAST_BYTES)?;
            let most = |parts: &VoteParts, n_values: usize| {
                let n_signals = parts.labelers().len();
                let n_classes = most_classes(&options.classes, n_values);
                let bytes = 2 * VoteCounter::bytes_per_pattern(n_signals)
                    + bytes_per_pattern(n_signals, n_classes);
                (memory.0.saturating_sub(MemorySize::to_read(n_signals).0) / bytes as u64) as usize
            };
            let stream = VoteStream::open(path, &options, most)?;
            (path, PatternSource::Parts(Box::new(stream)))
        };
        let mut input = Self { path: path.clone(), source, memory, bytes_per_pattern: 0 };
        if let PatternSource::Parts(stream) = &input.source {
            let n_classes = most_classes(stream.classes(), stream.n_values());
            input.bytes_per_pattern = bytes_per_pattern(stream.parts().labelers().len(), n_classes);
        }
        if let Some(doubt) = input.counted().and_then(|c| convention_doubt(&c.signals())) {
            output::note(&format!("{}: {doubt}", input.path.display()));
        }
        Ok(input)
    }

    /// The distinct rows of votes, if they could be kept.
    pub(crate) fn counted(&self) -> Option<&CountedVotes> {
        match &self.source {
            PatternSource::Table { counted, .. } => Some(counted),
            PatternSource::Parts(stream) => match stream.patterns() {
                StreamedPatterns::Counted(counted) => Some(counted),
                StreamedPatterns::TooMany { .. } => None,
            },
        }
    }

    /// The distinct rows of votes, or an error that says what `need` asks for.
    pub(crate) fn counted_for(&self, need: &str) -> anyhow::Result<&CountedVotes> {
        let stream = match &self.source {
            PatternSource::Table { counted, .. } => return Ok(counted),
            PatternSource::Parts(stream) => stream,
        };
        let (most, n_rows) = match stream.patterns() {
            StreamedPatterns::Counted(counted) => return Ok(counted),
            StreamedPatterns::TooMany { most, n_rows } => (most, n_rows),
        };
        let n_all = stream.parts().n_rows();
        let (n_signals, n_values) = (stream.parts().labelers().len(), stream.n_values());
        let n_classes = most_classes(stream.classes(), n_values);
        // As many as there can be: one a row, or one for each choice of values.
        let n_possible = (n_values as u64).checked_pow(n_signals as u32);
        let n_patterns = n_possible.map_or(n_all, |n_possible| n_possible.min(n_all));
        let needs = |bytes: usize| {
            let bytes = (2 * VoteCounter::bytes_per_pattern(n_signals) + bytes) as u64;
            MemorySize(
                MemorySize::to_read(n_signals).0.saturating_add(n_patterns.saturating_mul(bytes)),
            )
        };
        let fits = |name: &&&str| {
            AnyLabelModel::from_name(name).is_ok_and(|model| {
                let bytes = model.bytes_per_pattern(n_signals, n_classes);
                model.ignores_votes() || needs(bytes).0 <= self.memory.0
            })
        };
        let others: Vec<&str> = AnyLabelModel::NAMES.iter().filter(fits).copied().collect();
        bail!(
            "{}: {need} needs all distinct rows of votes in memory: expected at most {most}, for which {} is enough, \
             found more in the first {n_rows} of {n_all} rows (--memory {} is enough whatever the rest holds; {} would fit \
             as it is)",
            self.path.display(),
            self.memory,
            needs(self.bytes_per_pattern),
            others.join(", ")
        )
    }

    /// Signals with the names of labelers and classes: the patterns, or a row without votes.
    pub(crate) fn example(&self) -> anyhow::Result<WeakSignals> {
        match &self.source {
            PatternSource::Table { counted, .. } => Ok(counted.signals()),
            PatternSource::Parts(stream) => match stream.patterns() {
                StreamedPatterns::Counted(counted) => Ok(counted.signals()),
                StreamedPatterns::TooMany { .. } => Ok(stream.silent_row()?),
            },
        }
    }

    /// Visits all rows in their order: those of the parts, or the patterns of the table.
    pub(crate) fn visit(
        &self,
        mut visit: impl FnMut(&WeakSignals) -> labelflow_data::Result<()>,
    ) -> labelflow_data::Result<()> {
        match &self.source {
            PatternSource::Parts(stream) => stream.visit(visit),
            PatternSource::Table { table, .. } => visit(&table.signals),
        }
    }

    /// Writes the labels of all rows in their order, and returns their number.
    pub(crate) fn write_labels(
        &self,
        path: &Path,
        classes: &[String],
        mut label: impl FnMut(&WeakSignals) -> labelflow_data::Result<SoftLabels>,
    ) -> anyhow::Result<u64> {
        if let PatternSource::Table { table, .. } = &self.source {
            let labels = label(&table.signals)?;
            write_labels(path, &labels, classes)?;
            return Ok(labels.n_rows() as u64);
        }
        Ok(write_labels_as_they_come(path, classes, |stream| {
            self.visit(|signals| stream.push(&label(signals)?))?;
            Ok(stream.n_rows())
        })?)
    }

    /// What a row is called: a row, or a pattern.
    pub(crate) fn row_word(&self) -> &'static str {
        match &self.source {
            PatternSource::Parts(_) => "rows",
            PatternSource::Table { .. } => "patterns",
        }
    }
}

/// Before all cells were read, each value may be a class.
fn most_classes(named: &[String], n_values: usize) -> usize {
    named.len().max(n_values).max(2)
}

/// Labels of patterns, found again for each row.
pub(crate) struct PatternLabels {
    patterns: VoteCounter,
    labels: SoftLabels,
}

impl PatternLabels {
    pub(crate) fn new(counted: &CountedVotes, labels: SoftLabels) -> Self {
        Self { patterns: VoteCounter::of(counted), labels }
    }

    /// The labels of rows; nothing if one of them is no known pattern.
    pub(crate) fn of(&self, signals: &WeakSignals) -> Option<SoftLabels> {
        let votes = signals.votes();
        let rows = votes.as_slice().chunks_exact(signals.n_signals());
        let places: Option<Vec<usize>> = rows.map(|row| self.patterns.find(row)).collect();
        Some(self.labels.select_rows(&places?))
    }
}
