//! A completer that is trained once and kept: a run that was killed goes on, and one that has ended is not repeated.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::bail;
use labelflow::storage::Checkpoint;
use labelflow::training::{CheckpointFile, DeviceKind, EpochEvent, Observer, StopReason};
use labelflow_clouds::completers::{AnyCompleter, AnyCompletionLearner, CompletionDataset};

use crate::terminal::claimed_folder::ClaimedFolder;

/// The name of a checkpoint in a model folder.
pub(crate) const CHECKPOINT: &str = "checkpoint.safetensors";
/// Epochs from one checkpoint to the next.
const CHECKPOINT_EVERY: usize = 10;

/// The model in a folder if it has these settings, else one that is trained now, from the folder's checkpoint if there is one, and left
/// there. Without a folder nothing is kept.
pub(crate) fn fit_or_load(
    learner: &AnyCompletionLearner,
    dataset: &CompletionDataset,
    folder: Option<&Path>,
    observer: &mut dyn Observer,
) -> anyhow::Result<AnyCompleter> {
    let Some(folder) = folder else {
        return Ok(learner.fit_with(dataset, None, observer)?);
    };
    if folder.join("model.toml").exists() {
        let model = AnyCompleter::load(folder)?;
        let mut wanted = learner.clone();
        let device = std::mem::replace(wanted.common().device, DeviceKind::Cpu);
        if model.config() == wanted {
            return Ok(model.to_device(device)?);
        }
    }
    let _claim = ClaimedFolder::open(folder)?;
    let path = folder.join(CHECKPOINT);
    let start = match path.exists() {
        true => Some(Checkpoint::load(&path)?).filter(|one| one.run == learner.run_digest(dataset)),
        false => None,
    };
    let file = CheckpointFile { path: path.clone(), every: CHECKPOINT_EVERY };
    let model = learner.fit_with(dataset, start, &mut WithCheckpoints { watched: observer, file })?;
    let report = model.report();
    if report.stop == StopReason::Interrupted {
        // Kept as if it had ended, it would be taken for a whole one ever after.
        bail!(
            "interrupted after {} epochs; the same command goes on from the checkpoint in {}",
            report.history.len(),
            folder.display()
        );
    }
    model.save(folder)?;
    Checkpoint::remove(&path)?;
    Ok(model)
}

/// Writes checkpoints behind another observer: now and then, and when that one ends training, so that nothing is lost.
pub(crate) struct WithCheckpoints<'a> {
    pub(crate) watched: &'a mut dyn Observer,
    pub(crate) file: CheckpointFile,
}

impl Observer for WithCheckpoints<'_> {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        let outcome = self.watched.observe(event)?;
        if outcome.is_break() {
            (event.snapshot)().save(&self.file.path)?;
            return Ok(outcome);
        }
        self.file.observe(event)
    }

    fn warn(&mut self, warning: &str) {
        self.watched.warn(warning);
    }
}
