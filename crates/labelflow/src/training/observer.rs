//! The epochs of a run, and who watches them: progress bars, logs, checkpoints, clocks.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use labelflow_flow::State;

use crate::Result;
use crate::storage::Checkpoint;
use crate::training::{AdamState, EpochRecord, Report, StopReason};

/// Sees every epoch of training, and may end it.
pub trait Observer {
    /// Called after every epoch. `Break` ends training and says why; an error ends it as failed.
    fn observe(&mut self, event: EpochEvent<'_>) -> Result<ControlFlow<StopReason>>;

    /// Hears what is not as it should be, though training goes on. By default nobody is told.
    fn warn(&mut self, _warning: &str) {}
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
    fn observe(&mut self, _: EpochEvent<'_>) -> Result<ControlFlow<StopReason>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// All of them, in order; the first to break ends training.
impl Observer for Vec<Box<dyn Observer + '_>> {
    fn observe(&mut self, event: EpochEvent<'_>) -> Result<ControlFlow<StopReason>> {
        let mut outcome = ControlFlow::Continue(());
        for observer in self {
            let answer = observer.observe(event)?;
            if outcome.is_continue() {
                outcome = answer;
            }
        }
        Ok(outcome)
    }

    fn warn(&mut self, warning: &str) {
        self.iter_mut().for_each(|observer| observer.warn(warning));
    }
}

/// Ends training when a time has passed. How far it comes then depends on the machine: such a run cannot be repeated exactly.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimit(Instant);

impl TimeLimit {
    /// From now on.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }
}

impl Observer for TimeLimit {
    fn observe(&mut self, _: EpochEvent<'_>) -> Result<ControlFlow<StopReason>> {
        Ok(match Instant::now() >= self.0 {
            true => ControlFlow::Break(StopReason::TimeLimit),
            false => ControlFlow::Continue(()),
        })
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
    fn observe(&mut self, event: EpochEvent<'_>) -> Result<ControlFlow<StopReason>> {
        if (event.record.epoch + 1).is_multiple_of(self.every.max(1)) {
            (event.snapshot)().save(&self.path)?;
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The epochs of a run so far.
pub struct EpochLog<'a> {
    run: &'a dyn Fn() -> String,
    history: Vec<EpochRecord>,
    observer: &'a mut dyn Observer,
}

/// What is trained, epoch by epoch.
pub trait Trainee {
    /// Trains for an epoch.
    fn epoch(&mut self, epoch: usize) -> Result<EpochRecord>;

    /// What a checkpoint keeps beside the history.
    fn state(&self) -> TrainingState;

    /// Whether more epochs would change nothing: by default never.
    fn has_converged(&self, _history: &[EpochRecord]) -> bool {
        false
    }
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
    pub fn new(run: &'a dyn Fn() -> String, history: Vec<EpochRecord>, observer: &'a mut dyn Observer) -> Self {
        Self { run, history, observer }
    }

    /// The number of epochs so far.
    pub fn n_epochs(&self) -> usize {
        self.history.len()
    }

    /// Passes a warning on to the observer.
    pub fn warn(&mut self, warning: &str) {
        self.observer.warn(warning);
    }

    /// Trains until there are epochs up to `end`, of so many in all, unless training has converged or the observer ends it before.
    pub fn run(
        &mut self,
        trainee: &mut impl Trainee,
        end: usize,
        max_epochs: usize,
    ) -> Result<ControlFlow<StopReason>> {
        for epoch in self.n_epochs()..end {
            if trainee.has_converged(&self.history) {
                return Ok(ControlFlow::Break(StopReason::Converged));
            }
            let record = trainee.epoch(epoch)?;
            self.history.push(record);
            let flow = self.show_last(max_epochs, trainee)?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Shows the last epoch to the observer, who may end training.
    fn show_last(&mut self, max_epochs: usize, trainee: &impl Trainee) -> Result<ControlFlow<StopReason>> {
        let Self { run, history, observer } = self;
        let snapshot = || {
            let TrainingState { weights, optimizers, memory } = trainee.state();
            Checkpoint { run: run(), history: history.clone(), state: weights, optimizers, memory }
        };
        let record = history.last().expect("an epoch was added");
        observer.observe(EpochEvent { record, max_epochs, snapshot: &snapshot })
    }

    /// The course of training.
    pub fn report(self, stop: StopReason) -> Report {
        Report { n_epochs: self.history.len(), history: self.history, stop }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn warnings_reach_all_observers() {
        struct Hears<'a>(&'a RefCell<Vec<String>>);
        impl Observer for Hears<'_> {
            fn observe(&mut self, _: EpochEvent<'_>) -> Result<ControlFlow<StopReason>> {
                Ok(ControlFlow::Continue(()))
            }

            fn warn(&mut self, warning: &str) {
                self.0.borrow_mut().push(warning.to_owned());
            }
        }
        let heard = RefCell::default();
        let mut all: Vec<Box<dyn Observer + '_>> = vec![Box::new(Hears(&heard)), Box::new(()), Box::new(Hears(&heard))];
        all.warn("slow");
        drop(all);
        assert_eq!(heard.into_inner(), ["slow", "slow"]);
    }
}
