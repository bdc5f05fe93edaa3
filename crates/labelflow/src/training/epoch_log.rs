//! The epochs of a run so far, and who watches them: what all training has in common.

use std::ops::ControlFlow;

use labelflow_flow::State;

use crate::Result;
use crate::storage::Checkpoint;
use crate::training::{AdamState, EpochEvent, EpochRecord, Observer, Report, StopReason};

/// The epochs of a run so far.
pub struct EpochLog<'a> {
    run: &'a dyn Fn() -> String,
    history: Vec<EpochRecord>,
    observer: &'a mut dyn Observer,
}

/// What a checkpoint keeps beside the history.
pub struct TrainingState {
    /// Weights and running statistics.
    pub weights: State,
    /// One per network.
    pub optimizers: Vec<AdamState>,
    /// What else training remembers.
    pub memory: State,
}

impl<'a> EpochLog<'a> {
    /// From where this history ends. `run` gives the digest of settings and data, for checkpoints.
    pub fn new(
        run: &'a dyn Fn() -> String,
        history: Vec<EpochRecord>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self { run, history, observer }
    }

    /// The number of epochs so far.
    pub fn n_epochs(&self) -> usize {
        self.history.len()
    }

    /// The records of the epochs so far.
    pub fn history(&self) -> &[EpochRecord] {
        &self.history
    }

    /// Passes a warning on to the observer.
    pub fn warn(&mut self, warning: &str) {
        self.observer.warn(warning);
    }

    /// Adds an epoch and shows it to the observer, who may end training.
    pub fn add(
        &mut self,
        record: EpochRecord,
        max_epochs: usize,
        state: &dyn Fn() -> TrainingState,
    ) -> Result<ControlFlow<StopReason>> {
        self.history.push(record);
        let Self { run, history, observer } = self;
        let snapshot = || {
            let TrainingState { weights, optimizers, memory } = state();
            Checkpoint { run: run(), history: history.clone(), state: weights, optimizers, memory }
        };
        let record = history.last().expect("an epoch was added");
        observer.observe(EpochEvent { record, max_epochs, snapshot: &snapshot })
    }

    /// The course of training.
    pub fn report(self, stop: StopReason) -> Report {
        Report { history: self.history, stop }
    }
}
