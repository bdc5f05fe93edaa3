//! Stages of training: the same step again and again, for some epochs.
//!
//! A step is one computation from slots: the losses of all players, their gradients and their moves. On a device with graphs it is
//! recorded once a stage and repeated as one launch, and the host waits for the device once an epoch.

use std::ops::{ControlFlow, Range};

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::storage::Checkpoint;
use labelflow::training::{EpochEvent, EpochRecord, Observer, Report, StopReason};
use labelflow::{Error, Result};
use labelflow_flow::{NOT_RECORDED, Recording, State, load_state};

use super::player::{OptimizerStates, PlayerSlots, PlayerValues};
use super::step_numbers::EpochNumbers;

/// What a step computes.
#[derive(Debug)]
pub(crate) struct StepResult {
    /// The [numbers](super::step_numbers::step_numbers) of the step.
    pub(crate) numbers: Tensor<1>,
    /// What the players came to, in the order of [`Stage::players`].
    pub(crate) players: Vec<PlayerValues>,
}

/// One stage.
pub(crate) trait Stage {
    /// Where it is computed, with gradients.
    fn device(&self) -> &Device;

    /// The names of the terms among a step's numbers.
    fn terms(&self) -> &[&'static str];

    /// The steps of one epoch.
    fn steps_an_epoch(&self) -> usize;

    /// The step size of a step, counted through the stage.
    fn rate(&self, step: usize) -> f64;

    /// Where the values of all players lie.
    fn players(&self) -> Vec<&PlayerSlots>;

    /// Puts into slots what a step sees. It depends on nothing but the settings, the data and the step's number, so that training can go on
    /// at any epoch.
    fn write_batch(&self, step: usize) -> Result<()>;

    /// A step, computed from slots. It must not read values back, send values over, or decide anything by them.
    fn computation(&self) -> impl FnMut() -> StepResult;

    /// What follows a step outside of its computation: by default nothing.
    fn end_step(&self, _step: usize) {}

    /// The whole model, of which the stage may train a part.
    fn state(&self) -> State;

    /// What else a checkpoint must keep: by default nothing.
    fn memory(&self) -> State {
        State::new()
    }
}

/// Where training goes on.
#[derive(Debug)]
pub(crate) struct Resumed<M> {
    /// The whole model.
    pub(crate) model: M,
    /// Of the stage of the last epoch.
    pub(crate) optimizers: OptimizerStates,
    /// The epochs so far.
    pub(crate) history: Vec<EpochRecord>,
}

impl<M: Module> Resumed<M> {
    /// At a checkpoint, or at the start with this model.
    pub(crate) fn at(checkpoint: Option<Checkpoint>, model: M) -> Result<Self> {
        let Some(checkpoint) = checkpoint else {
            return Ok(Self { model, optimizers: None, history: Vec::new() });
        };
        let foreign = |error| Error::data("checkpoint", "the tensors of this model", error);
        Ok(Self {
            model: load_state(model, checkpoint.state).map_err(foreign)?,
            optimizers: Some(checkpoint.optimizers),
            history: checkpoint.history,
        })
    }
}

/// Training of a model through all of its stages.
pub(crate) struct Course<'a> {
    run: &'a str,
    /// Of all stages.
    max_epochs: usize,
    history: Vec<EpochRecord>,
    observer: &'a mut dyn Observer,
    /// One warning is enough, however many stages there are.
    has_warned: bool,
}

impl<'a> Course<'a> {
    /// From where this history ends. `run` is the digest of settings and data, for checkpoints.
    pub(crate) fn new(
        run: &'a str,
        max_epochs: usize,
        history: Vec<EpochRecord>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self { run, max_epochs, history, observer, has_warned: false }
    }

    /// The epochs so far.
    pub(crate) fn n_epochs(&self) -> usize {
        self.history.len()
    }

    /// What is left of the epochs of a stage; the reason, where the observer ends them.
    pub(crate) fn go_through(
        &mut self,
        stage: &impl Stage,
        epochs: Range<usize>,
    ) -> Result<Option<StopReason>> {
        if self.n_epochs() >= epochs.end {
            return Ok(None);
        }
        let n_steps = stage.steps_an_epoch();
        let players = stage.players();
        let mut computation = Recording::new(stage.device(), stage.computation());
        if computation.has_failed() && !std::mem::replace(&mut self.has_warned, true) {
            self.observer.warn(NOT_RECORDED);
        }
        for epoch in self.n_epochs()..epochs.end {
            let first = (epoch - epochs.start) * n_steps;
            let mut numbers = EpochNumbers::default();
            for step in first..first + n_steps {
                stage.write_batch(step)?;
                let rate = stage.rate(step);
                players.iter().for_each(|player| player.prepare(rate, stage.device()));
                let result = computation.repeat();
                numbers.add(&result.numbers);
                let values = players.iter().zip(&result.players);
                values.for_each(|(player, values)| player.accept(values));
                stage.end_step(step);
            }
            let rate = stage.rate(first + n_steps - 1);
            self.history.push(numbers.read(stage.terms(), epoch, rate)?);
            if let ControlFlow::Break(reason) = self.show(stage)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// Shows the last epoch to the observer.
    fn show(&mut self, stage: &impl Stage) -> Result<ControlFlow<StopReason>> {
        let Self { run, max_epochs, history, observer, .. } = self;
        let snapshot = || Checkpoint {
            run: (*run).to_owned(),
            history: history.clone(),
            state: stage.state(),
            optimizers: stage.players().into_iter().map(PlayerSlots::adam_state).collect(),
            memory: stage.memory(),
        };
        let record = history.last().expect("an epoch has ended");
        observer.observe(EpochEvent { record, max_epochs: *max_epochs, snapshot: &snapshot })
    }

    /// The course of training.
    pub(crate) fn report(self, stop: Option<StopReason>) -> Report {
        Report { history: self.history, stop: stop.unwrap_or(StopReason::MaxEpochs) }
    }
}
