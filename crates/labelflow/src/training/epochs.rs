//! The epochs of training, wherever the rows are: in memory, or read in parts.

use std::ops::ControlFlow;

use burn::tensor::Device;
use labelflow_flow::{Bijection, Flow, State, load_state, n_parameters, state};

use crate::storage::Checkpoint;
use crate::training::{
    Adam, EpochLog, EpochRecord, Observer, Report, StepNumbers, StopReason, TrainConfig, TrainingState, summarize,
};
use crate::{Error, Result};

/// What moves from epoch to epoch.
#[derive(Debug)]
pub(crate) struct Course<B: Bijection> {
    /// None while a step is taken: whoever holds the flow alone changes its weights in place.
    pub(crate) flow: Option<Flow<B>>,
    pub(crate) adam: Adam,
    pub(crate) history: Vec<EpochRecord>,
}

const BETWEEN_STEPS: &str = "the flow is here between two steps";

impl<B: Bijection> Course<B> {
    /// From the start.
    pub(crate) fn start(flow: Flow<B>, config: &TrainConfig, device: &Device) -> Self {
        let adam = Adam::new(n_parameters(&flow), &device.clone().inner());
        let adam = adam.with_betas(config.betas);
        Self { flow: Some(flow), adam, history: Vec::new() }
    }

    /// From a checkpoint.
    pub(crate) fn resume(
        flow: Flow<B>,
        checkpoint: &Checkpoint,
        config: &TrainConfig,
        device: &Device,
    ) -> Result<Self> {
        let flow = load_state(flow, checkpoint.state.clone())
            .map_err(|error| Error::data("checkpoint", "the tensors of this model", error))?;
        let [adam] = checkpoint.optimizers.as_slice() else {
            let found = format!("{} optimisers", checkpoint.optimizers.len());
            return Err(Error::data("checkpoint", "one optimiser", found));
        };
        let adam = Adam::from_state(adam.clone(), n_parameters(&flow), &device.clone().inner())?;
        let adam = adam.with_betas(config.betas);
        Ok(Self { flow: Some(flow), adam, history: checkpoint.history.clone() })
    }

    /// The flow between two steps.
    pub(crate) fn flow(&self) -> &Flow<B> {
        self.flow.as_ref().expect(BETWEEN_STEPS)
    }

    /// The flow, for a step or at the end.
    pub(crate) fn take_flow(&mut self) -> Flow<B> {
        self.flow.take().expect(BETWEEN_STEPS)
    }

    /// What a checkpoint keeps, with this memory.
    pub(crate) fn state(&self, memory: State) -> TrainingState {
        TrainingState { weights: state(self.flow()), optimizers: vec![self.adam.state()], memory }
    }
}

/// What is trained, epoch by epoch.
pub(crate) trait Trainee {
    /// Visits every row once.
    fn epoch(&mut self, epoch: usize) -> Result<Vec<StepNumbers>>;

    /// What a checkpoint keeps beside the history.
    fn state(&self) -> TrainingState;

    /// The names of the objective's terms.
    fn terms(&self) -> Vec<String>;
}

/// Trains until it converges, no epoch is left or the observer ends it. `run` gives the digest of settings and data, for checkpoints.
pub(crate) fn run_epochs(
    trainee: &mut impl Trainee,
    history: Vec<EpochRecord>,
    run: &dyn Fn() -> String,
    config: &TrainConfig,
    observer: &mut dyn Observer,
) -> Result<Report> {
    let mut log = EpochLog::new(run, history, observer);
    for epoch in log.n_epochs()..config.max_epochs {
        if config.has_converged(log.history()) {
            return Ok(log.report(StopReason::Converged));
        }
        let steps = trainee.epoch(epoch)?;
        let record = summarize(epoch, &steps, &trainee.terms(), config.learning_rate(epoch));
        if let ControlFlow::Break(stop) = log.add(record, config.max_epochs, &|| trainee.state())? {
            return Ok(log.report(stop));
        }
    }
    Ok(log.report(StopReason::MaxEpochs))
}
