//! Who watches training: progress bars, logs, checkpoints.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::{Checkpoint, EpochRecord, Result};

/// Sees every epoch of training, and may end it.
pub trait Observer {
    /// Called after every epoch. `Break` ends training as interrupted; an error ends it as failed.
    fn observe(&mut self, event: EpochEvent<'_>) -> Result<ControlFlow<()>>;
}

/// One epoch that has just ended.
#[derive(Clone, Copy)]
pub struct EpochEvent<'a> {
    /// Its numbers.
    pub record: &'a EpochRecord,
    /// The most epochs there can be.
    pub max_epochs: usize,
    /// Takes a snapshot from which training can go on. Costs a copy of all weights, so call it only when it is kept.
    pub snapshot: &'a dyn Fn() -> Checkpoint,
}

/// Watches nothing.
impl Observer for () {
    fn observe(&mut self, _: EpochEvent<'_>) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// All of them, in order; the first to break ends training.
impl Observer for Vec<Box<dyn Observer + '_>> {
    fn observe(&mut self, event: EpochEvent<'_>) -> Result<ControlFlow<()>> {
        let mut outcome = ControlFlow::Continue(());
        for observer in self {
            if observer.observe(event)?.is_break() {
                outcome = ControlFlow::Break(());
            }
        }
        Ok(outcome)
    }
}

/// Writes a checkpoint every so many epochs.
#[derive(Debug, Clone)]
pub struct CheckpointFile {
    /// Where to; replaced atomically.
    pub path: PathBuf,
    /// The number of epochs from one checkpoint to the next.
    pub every: usize,
}

impl Observer for CheckpointFile {
    fn observe(&mut self, event: EpochEvent<'_>) -> Result<ControlFlow<()>> {
        if (event.record.epoch + 1).is_multiple_of(self.every.max(1)) {
            (event.snapshot)().save(&self.path)?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
