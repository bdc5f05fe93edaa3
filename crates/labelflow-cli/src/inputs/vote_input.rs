//! Votes from any of the places that commands accept: one file in memory, files in parts, or distinct rows with counts.
//!
//! ```text
//! all of them    fit to counted votes, labels of all rows in their order
//! in memory      one part; the rows may also be probabilities, have names or have true labels
//! in parts       read twice, batch by batch, within the memory of --memory
//! ```

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use labelflow::label_models::{AnyFittedLabelModel, AnyLabelModel, KnownLabels, KnownOfLabelers};
use labelflow::rows::{SoftLabels, Truth};
use labelflow::votes::{ABSTAIN, CountedVotes, VoteCounter};
use labelflow::weak::warnings::LabelerTally;
use labelflow::{Bounds, WeakSignals};
use labelflow_data::inputs::{
    AbstainConvention, Keyed, LabelColumns, LabelRows, RowKeys, SavedLabelModel, SignalsOptions, TaskVotesOptions,
    convention_doubt, read_counts, read_labels, read_signals, read_task_votes, read_truth_of, read_wrench,
    write_labels, write_labels_as_they_come,
};
use labelflow_data::parts::{StreamedPatterns, TableParts, VoteParts, VoteStream};

use super::memory_size::MemorySize;
use crate::flags::{SignalsArgs, WrenchPart};
use crate::terminal::output;

/// The least that must be left for distinct rows.
const LEAST_BYTES: u64 = 20_000_000;

/// Votes, and what their place tells beside them.
pub(crate) struct VoteInput {
    /// The file, folder or pattern, for errors.
    pub(crate) path: PathBuf,
    /// True labels, of a folder that has them. For evaluation alone.
    truth: Option<Truth>,
    /// Whether they were not taken from the votes.
    classes_are_named: bool,
    rows: Rows,
}

enum Rows {
    /// All rows, or distinct ones in the order of their table; and the sorted distinct ones, once they were asked for.
    Memory {
        signals: Box<WeakSignals>,
        keys: RowKeys,
        counted: OnceCell<CountedVotes>,
        are_distinct: bool,
    },
    Parts(Parts),
}

impl VoteInput {
    /// Reads what the flags name, and counts it unless it is in memory. `classes` are known from elsewhere, or empty for
    /// those of the flags. `bytes_per_pattern` is what a label model needs for a distinct row beside its count, given the
    /// numbers of labelers and classes.
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
        let options = SignalsOptions { classes, abstain, key: args.key.column(), ..Default::default() };
        let classes_are_named = !options.classes.is_empty();
        let source = &args.source;
        let mut input = if let Some(path) = &source.counts {
            let table = read_counts(path, &options)?;
            let counted = table.counted().with_context(|| format!("{}", path.display()))?;
            let (signals, counted) = (Box::new(table.signals), OnceCell::from(counted));
            let keys = RowKeys::by_place(path, signals.n_rows());
            Self::of(path, Rows::Memory { signals, keys, counted, are_distinct: true })
        } else if let Some(path) = &source.task_votes {
            let classes = options.classes.clone();
            let (columns, duplicates) = (args.crowd.columns(), args.crowd.duplicates());
            let options = TaskVotesOptions { columns, classes, abstain, duplicates, ..Default::default() };
            Self::in_memory(path, read_task_votes(path, &options)?)
        } else if let Some(folder) = &source.wrench {
            Self::read_wrench(folder, args.part)?
        } else {
            let path = source.signals.as_ref().context("--signals is missing: name the file")?;
            if is_streamed(args) {
                let memory = args.memory.unwrap_or(MemorySize::DEFAULT);
                let parts = Parts::open(path, &options, memory, bytes_per_pattern)?;
                Self::of(path, Rows::Parts(parts))
            } else {
                Self::in_memory(path, read_signals(path, &options)?)
            }
        };
        let doubt = match &input.rows {
            Rows::Parts(parts) => parts.stream.convention_doubt().map(str::to_owned),
            Rows::Memory { signals, .. } => convention_doubt(signals, &options),
        };
        output::warn_if_any(&input.path, "abstain-convention", doubt);
        input.classes_are_named = classes_are_named;
        Ok(input)
    }

    /// The votes of the workers that a saved label model knows, in its order: of a crowd, those of others are left out, with a warning.
    pub(crate) fn of_known_workers(mut self, saved: &SavedLabelModel, args: &SignalsArgs) -> anyhow::Result<Self> {
        let (true, Rows::Memory { signals, .. }) = (args.source.task_votes.is_some(), &mut self.rows) else {
            return Ok(self);
        };
        let (n_rows, n_workers, most) =
            (signals.n_rows(), saved.labelers().len(), TaskVotesOptions::default().max_cells);
        ensure!(
            n_rows.checked_mul(n_workers).is_some_and(|n_cells| n_cells <= most),
            "{}: expected at most {most} cells, tasks times workers of the model, found {n_rows} tasks and {n_workers} workers; label fewer \
             tasks at a time",
            self.path.display()
        );
        let (known, n_unknown) = saved.arrange_known(signals).with_context(|| self.path.display().to_string())?;
        if n_unknown > 0 {
            let n_votes =
                |signals: &WeakSignals| signals.votes().as_slice().iter().filter(|&&vote| vote != ABSTAIN).count();
            let (n_all, n_kept) = (n_votes(signals), n_votes(&known));
            let text = format!(
                "{n_unknown} of {} workers are not known to the label model; their votes, {} of {n_all}, are ignored",
                signals.n_signals(),
                n_all - n_kept
            );
            output::warn_text(self.path.display(), "unknown-workers", &text);
        }
        **signals = known;
        Ok(self)
    }

    /// Warns of labelers that look wrong, and of bounds on their errors if there are any.
    pub(crate) fn warn_of_labelers(&self, bounds: Option<&Bounds>) -> anyhow::Result<()> {
        let example = self.example()?;
        let mut tally = LabelerTally::new(example.labelers(), example.classes());
        if self.classes_are_named {
            tally = tally.with_named_classes();
        }
        match self.patterns() {
            Some(counted) => tally.add_counted(counted),
            None => self.visit(|signals| {
                tally.add(signals.view());
                Ok(())
            })?,
        }
        tally.warnings(bounds).iter().for_each(|warning| output::warn(self.place(), warning));
        Ok(())
    }

    fn of(path: &Path, rows: Rows) -> Self {
        Self { path: path.to_owned(), truth: None, classes_are_named: false, rows }
    }

    fn in_memory(path: &Path, Keyed { value, keys }: Keyed<WeakSignals>) -> Self {
        let signals = Box::new(value);
        Self::of(path, Rows::Memory { signals, keys, counted: OnceCell::new(), are_distinct: false })
    }

    fn read_wrench(path: &Path, part: WrenchPart) -> anyhow::Result<Self> {
        let folder = read_wrench(path)?;
        let (rows, name) = match part {
            WrenchPart::Train => (Some(folder.train), "train.json"),
            WrenchPart::Valid => (folder.valid, "valid.json"),
            WrenchPart::Test => (folder.test, "test.json"),
        };
        let rows = rows.with_context(|| format!("{}: expected the file {name}, found no such file", path.display()))?;
        let (path, signals) = (path.join(name), rows.signals);
        let keys = RowKeys::by_place(&path, signals.n_rows());
        Ok(Self { truth: rows.truth, ..Self::in_memory(&path, Keyed { value: signals, keys }) })
    }

    /// Refuses votes whose rows are not all in memory, before they are read: `flag` needs them.
    pub(crate) fn expect_in_memory(args: &SignalsArgs, flag: &str) -> anyhow::Result<()> {
        ensure!(
            !is_streamed(args),
            "{flag}: expected one file of votes that is read into memory, found votes in parts or counts"
        );
        Ok(())
    }

    /// True labels of the rows in memory: from a file if one is named, else those of the folder if it has any.
    pub(crate) fn truth(&self, labels: Option<&Path>) -> anyhow::Result<Option<Truth>> {
        let Some(path) = labels else { return Ok(self.truth.clone()) };
        let keys = self.keys().context("true labels are for rows in memory")?;
        Ok(Some(read_truth_of(path, keys, self.example()?.classes())?))
    }

    /// True labels of some of the rows in memory.
    pub(crate) fn known_labels(&self, path: &Path) -> anyhow::Result<KnownLabels> {
        let (keys, signals) = (self.keys().context("known labels are for rows in memory")?, self.example()?);
        let (truth, places) = read_labels(path, signals.classes(), &keys.key_column())?.of_some_of(keys)?;
        let labels: Vec<Option<usize>> = places.into_iter().map(|place| Some(truth.labels()[place?])).collect();
        KnownLabels::new(&signals, &labels).with_context(|| path.display().to_string())
    }

    /// What the rows are called, if they are in memory.
    pub(crate) fn keys(&self) -> Option<&RowKeys> {
        match &self.rows {
            Rows::Memory { keys, .. } => Some(keys),
            Rows::Parts(_) => None,
        }
    }

    /// Signals with the names of labelers and classes: the rows in memory, the distinct rows, or a row without votes.
    pub(crate) fn example(&self) -> anyhow::Result<Cow<'_, WeakSignals>> {
        Ok(match (&self.rows, self.patterns()) {
            (_, Some(counted)) => Cow::Owned(counted.signals()),
            (Rows::Memory { signals, .. }, None) => Cow::Borrowed(signals),
            (Rows::Parts(parts), None) => Cow::Owned(parts.stream.silent_row()?),
        })
    }

    /// The distinct rows of votes that are not all in memory, if they could be kept.
    pub(crate) fn patterns(&self) -> Option<&CountedVotes> {
        match &self.rows {
            Rows::Memory { counted, are_distinct, .. } => counted.get().filter(|_| *are_distinct),
            Rows::Parts(parts) => match parts.stream.patterns() {
                StreamedPatterns::Counted(counted) => Some(counted),
                StreamedPatterns::TooMany { .. } => None,
            },
        }
    }

    /// The distinct rows of votes, or an error that says what `need` asks for.
    pub(crate) fn counted_for(&self, need: &str) -> anyhow::Result<&CountedVotes> {
        match &self.rows {
            Rows::Memory { signals, counted, .. } => Ok(counted.get_or_init(|| CountedVotes::of(signals))),
            Rows::Parts(parts) => parts.counted_for(need).with_context(|| self.place()),
        }
    }

    /// Fits a label model: to counted votes, to probabilities as they are, or to the names alone if it learns nothing.
    pub(crate) fn fit(&self, model: &AnyLabelModel, known: &KnownOfLabelers) -> anyhow::Result<AnyFittedLabelModel> {
        let example = self.example()?;
        let fitted = if model.ignores_votes() || example.probabilities().is_some() {
            model.fit(&example, known)
        } else {
            model.fit_counts(self.counted_for(model.name())?, known)
        };
        fitted.with_context(|| self.place())
    }

    /// Visits all rows in their order, in as many parts as they are read in.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&WeakSignals) -> anyhow::Result<()>) -> anyhow::Result<()> {
        match &self.rows {
            Rows::Memory { signals, .. } => visit(signals),
            Rows::Parts(parts) => parts.stream.visit(visit),
        }
    }

    /// Writes the labels of all rows in their order, with the keys of the rows, and returns their number. `label` gives probabilities, the
    /// class of each row, if it has one, and how many labelers voted on it.
    pub(crate) fn write_labels(
        &self,
        path: &Path,
        classes: &[String],
        mut label: impl FnMut(&WeakSignals) -> anyhow::Result<(SoftLabels, Vec<Option<usize>>, Vec<i64>)>,
    ) -> anyhow::Result<u64> {
        match &self.rows {
            Rows::Memory { signals, keys, .. } => {
                let (labels, chosen, n_votes) = label(signals)?;
                let (chosen, n_votes) = (Some(&chosen[..]), Some(&n_votes[..]));
                let rows = LabelRows { rows: Some(keys.names()), chosen, n_votes, ..LabelRows::of(&labels) };
                write_labels(path, &keys.head(), rows, classes)?;
                Ok(labels.n_rows() as u64)
            }
            Rows::Parts(parts) => {
                let table = parts.stream.parts().table();
                let columns = LabelColumns { key: table.key_head(), n_votes: true, ..LabelColumns::default() };
                let mut names = table.names();
                write_labels_as_they_come(path, classes, &columns, |push| {
                    parts.stream.visit(|signals| {
                        let (labels, chosen, n_votes) = label(signals)?;
                        let names = names.next_rows(signals.n_rows())?;
                        let (chosen, n_votes) = (Some(&chosen[..]), Some(&n_votes[..]));
                        anyhow::Ok(push(LabelRows { rows: Some(&names), chosen, n_votes, ..LabelRows::of(&labels) })?)
                    })
                })?;
                Ok(table.n_rows())
            }
        }
    }

    /// What a row is called: a row, or a pattern.
    pub(crate) fn row_word(&self) -> &'static str {
        if matches!(self.rows, Rows::Memory { are_distinct: true, .. }) { "patterns" } else { "rows" }
    }

    /// For errors.
    pub(crate) fn place(&self) -> String {
        self.path.display().to_string()
    }
}

/// Whether the flags name votes whose rows are not all kept in memory.
fn is_streamed(args: &SignalsArgs) -> bool {
    let is_parts = |path: &PathBuf| args.memory.is_some() || TableParts::is_several(path);
    args.source.counts.is_some() || args.source.signals.as_ref().is_some_and(is_parts)
}

/// Files of votes, read batch by batch.
struct Parts {
    stream: Box<VoteStream>,
    memory: MemorySize,
    /// What the label model takes for each distinct row, beside the counts.
    bytes_per_pattern: usize,
}

impl Parts {
    fn open(
        path: &Path,
        options: &SignalsOptions,
        memory: MemorySize,
        bytes_per_pattern: impl Fn(usize, usize) -> usize,
    ) -> anyhow::Result<Self> {
        let parts = VoteParts::open(path, &options.key)?;
        let n_signals = parts.labelers().len();
        let left = memory.left_to_work(n_signals, LEAST_BYTES)?;
        let bytes = |named: &[String], n_values: usize| bytes_per_pattern(n_signals, most_classes(named, n_values));
        let stream = VoteStream::read(parts, options, |_, n_values| {
            let bytes = bytes_to_count(n_signals) + bytes(&options.classes, n_values);
            (left / bytes as u64) as usize
        })?;
        let bytes_per_pattern = bytes(stream.classes(), stream.n_values());
        Ok(Self { stream: Box::new(stream), memory, bytes_per_pattern })
    }

    fn counted_for(&self, need: &str) -> anyhow::Result<&CountedVotes> {
        let stream = &self.stream;
        let (most, n_rows) = match stream.patterns() {
            StreamedPatterns::Counted(counted) => return Ok(counted),
            StreamedPatterns::TooMany { most, n_rows } => (most, n_rows),
        };
        let n_all = stream.parts().n_rows();
        let (n_signals, n_values) = (stream.parts().labelers().len(), stream.n_values());
        let n_classes = most_classes(stream.classes(), n_values);
        // As many as there can be: one per row, or one for each choice of values.
        let n_possible = (n_values as u64).checked_pow(n_signals as u32);
        let n_patterns = n_possible.map_or(n_all, |n_possible| n_possible.min(n_all));
        let needs = |bytes: usize| {
            let bytes = n_patterns.saturating_mul((bytes_to_count(n_signals) + bytes) as u64);
            MemorySize(MemorySize::to_read(n_signals).0.saturating_add(bytes))
        };
        let fits = |name: &&&str| {
            AnyLabelModel::from_name(name).is_ok_and(|model| {
                let bytes = model.bytes_per_pattern(n_signals, n_classes);
                model.ignores_votes() || needs(bytes).0 <= self.memory.0
            })
        };
        let others: Vec<&str> = AnyLabelModel::NAMES.iter().filter(fits).copied().collect();
        bail!(
            "{need} needs all distinct rows of votes in memory: expected at most {most}, for which {} is enough, \
             found more in the first {n_rows} of {n_all} rows (--memory {} is enough whatever the rest holds; {} would fit \
             as it is)",
            self.memory,
            needs(self.bytes_per_pattern),
            others.join(", ")
        )
    }
}

/// The most that counting takes for a distinct row: codes and votes.
fn bytes_to_count(n_signals: usize) -> usize {
    2 * VoteCounter::bytes_per_pattern(n_signals)
}

/// Before all cells were read, each value may be a class.
fn most_classes(named: &[String], n_values: usize) -> usize {
    named.len().max(n_values).max(2)
}
