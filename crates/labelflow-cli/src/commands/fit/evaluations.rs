//! Judges the model every so many epochs. Labels reach the judge alone, never training.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use labelflow::storage::Checkpoint;
use labelflow::training::{EpochEvent, Observer, StopReason};

use crate::inputs::evaluation_file::{EVALUATION, Evaluation, Scores, read_evaluations, write_evaluations};

/// How models of one task are judged, where there are labels to judge by.
pub(super) struct Judge<'a, M> {
    /// The model of a checkpoint.
    pub(super) model_at: &'a dyn Fn(Checkpoint) -> labelflow::Result<M>,
    pub(super) scores: &'a dyn Fn(&M) -> labelflow::Result<Scores>,
}

/// The lines of a model folder, and when one is added.
pub(super) struct Evaluations {
    path: PathBuf,
    every: Option<usize>,
    /// The lines of the epochs that are not trained again.
    lines: Vec<Evaluation>,
}

impl Evaluations {
    /// What a run that was ended left of the epochs up to its checkpoint; what comes later is trained and judged again.
    pub(super) fn find(folder: &Path, every: Option<usize>, checkpoint: Option<&Checkpoint>) -> anyhow::Result<Self> {
        let path = folder.join(EVALUATION);
        let mut lines = Vec::new();
        if let Some(checkpoint) = checkpoint {
            lines = read_evaluations(&path)?;
            let n_epochs = checkpoint.history.len();
            lines.retain(|line| line.epoch < n_epochs && every.is_none_or(|n| is_due(line.epoch, n)));
        }
        Ok(Self { path, every, lines })
    }

    /// The observer that adds lines; none unless they were asked for.
    pub(super) fn observer<'a, M>(
        &'a mut self,
        judge: Option<&'a Judge<'a, M>>,
    ) -> anyhow::Result<Option<Box<dyn Observer + 'a>>> {
        match (self.every, judge) {
            (None, _) => Ok(None),
            (Some(0), _) => bail!("--eval-every: expected at least 1, found 0"),
            (Some(_), None) => {
                bail!("--eval-every needs true labels: name them with --labels-for-eval")
            }
            (Some(every), Some(judge)) => Ok(Some(Box::new(EvaluateEvery { evaluations: self, every, judge }))),
        }
    }

    /// Adds the finished model, and leaves no lines of a model that was there before.
    pub(super) fn finish<M>(mut self, model: &M, n_epochs: usize, judge: Option<&Judge<'_, M>>) -> anyhow::Result<()> {
        if let (Some(_), Some(judge), Some(epoch)) = (self.every, judge, n_epochs.checked_sub(1))
            && self.lines.last().is_none_or(|line| line.epoch < epoch)
        {
            self.lines.push(Evaluation { epoch, scores: (judge.scores)(model)? });
        }
        if self.lines.is_empty() {
            return labelflow_files::remove(&self.path).with_context(|| format!("removing {}", self.path.display()));
        }
        write_evaluations(&self.path, &self.lines).with_context(|| format!("writing {}", self.path.display()))
    }
}

fn is_due(epoch: usize, every: usize) -> bool {
    every > 0 && (epoch + 1).is_multiple_of(every)
}

struct EvaluateEvery<'a, M> {
    evaluations: &'a mut Evaluations,
    every: usize,
    judge: &'a Judge<'a, M>,
}

impl<M> Observer for EvaluateEvery<'_, M> {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        let epoch = event.record.epoch;
        if is_due(epoch, self.every) {
            let model = (self.judge.model_at)((event.snapshot)())?;
            let scores = (self.judge.scores)(&model)?;
            let Evaluations { lines, path, .. } = &mut *self.evaluations;
            lines.push(Evaluation { epoch, scores });
            write_evaluations(path, lines).map_err(|source| labelflow::Error::Io {
                path: path.clone(),
                action: "writing",
                source,
            })?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
