//! Votes from any of the places that commands accept.

use std::path::{Path, PathBuf};

use anyhow::Context;
use labelflow::WeakSignals;
use labelflow::rows::{SoftLabels, Truth};
use labelflow_data::inputs::{
    AbstainConvention, SignalsOptions, TaskVotesOptions, convention_doubt, read_labels,
    read_signals, read_task_truth, read_task_votes, read_wrench, write_labels, write_task_labels,
};

use crate::flags::{SignalsArgs, WrenchPart};
use crate::terminal::output;

/// Votes, and what their place tells beside them.
pub(crate) struct SignalsInput {
    pub(crate) signals: WeakSignals,
    /// The file or folder, for errors.
    pub(crate) path: PathBuf,
    /// The names of the rows, of votes of a crowd.
    pub(crate) tasks: Option<Vec<String>>,
    /// True labels, of a folder that has them. For evaluation alone.
    truth: Option<Truth>,
}

impl SignalsInput {
    /// Reads what the flags name; `classes` are known from elsewhere, or empty for those of the flags.
    pub(crate) fn read(args: &SignalsArgs, classes: &[String]) -> anyhow::Result<Self> {
        let abstain = args.abstain.map(AbstainConvention::from).unwrap_or_default();
        let classes = match classes {
            [] => args.classes.clone().unwrap_or_default(),
            known => known.to_vec(),
        };
        let source = &args.source;
        let input = if let Some(path) = &source.signals {
            let options = SignalsOptions { classes, abstain, ..Default::default() };
            Self::of(path, read_signals(path, &options)?)
        } else if let Some(path) = &source.task_votes {
            let options = TaskVotesOptions { classes, abstain, ..Default::default() };
            let votes = read_task_votes(path, &options)?;
            Self { tasks: Some(votes.tasks), ..Self::of(path, votes.signals) }
        } else {
            let folder = source.wrench.as_deref().context("--signals is missing: name the file")?;
            Self::read_wrench(folder, args.part)?
        };
        if let Some(doubt) = convention_doubt(&input.signals) {
            output::note(&format!("{}: {doubt}", input.path.display()));
        }
        Ok(input)
    }

    fn of(path: &Path, signals: WeakSignals) -> Self {
        Self { signals, path: path.to_owned(), tasks: None, truth: None }
    }

    fn read_wrench(path: &Path, part: WrenchPart) -> anyhow::Result<Self> {
        let folder = read_wrench(path)?;
        let (rows, name) = match part {
            WrenchPart::Train => (Some(folder.train), "train.json"),
            WrenchPart::Valid => (folder.valid, "valid.json"),
            WrenchPart::Test => (folder.test, "test.json"),
        };
        let rows = rows.with_context(|| {
            format!("{}: expected the file {name}, found no such file", path.display())
        })?;
        Ok(Self { truth: rows.truth, ..Self::of(&path.join(name), rows.signals) })
    }

    /// True labels of the rows: from a file if one is named, else those of the folder if it has any.
    pub(crate) fn truth(&self, labels: Option<&Path>) -> anyhow::Result<Option<Truth>> {
        let Some(path) = labels else { return Ok(self.truth.clone()) };
        let classes = self.signals.classes();
        Ok(Some(match &self.tasks {
            Some(tasks) => read_task_truth(path, tasks, classes)?,
            None => read_labels(path, classes)?,
        }))
    }

    /// Writes labels of the rows, by the names of the tasks if there are any.
    pub(crate) fn write_labels(&self, path: &Path, labels: &SoftLabels) -> anyhow::Result<()> {
        let classes = self.signals.classes();
        match &self.tasks {
            Some(tasks) => write_task_labels(path, tasks, labels, classes)?,
            None => write_labels(path, labels, classes)?,
        }
        Ok(())
    }
}
