//! What moves from epoch to epoch while a flow is trained, wherever the rows are: in memory, or read in parts.

use burn::tensor::Device;
use labelflow_flow::{Bijection, Flow, State, load_state, n_parameters, state};

use crate::storage::Checkpoint;
use crate::training::{
    Adam, AdamState, EpochLog, EpochRecord, Observer, Report, StopReason, TrainConfig, Trainee, TrainingState,
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
    /// From the start, or from a checkpoint.
    pub(crate) fn new(
        flow: Flow<B>,
        checkpoint: Option<Checkpoint>,
        config: &TrainConfig,
        device: &Device,
    ) -> Result<Self> {
        let (n_weights, device) = (n_parameters(&flow), device.clone().inner());
        let (flow, adam, history) = match checkpoint {
            None => (flow, Adam::new(n_weights, &device), Vec::new()),
            Some(Checkpoint { state, optimizers, history, .. }) => {
                let flow = load_state(flow, state)
                    .map_err(|error| Error::data("checkpoint", "the tensors of this model", error))?;
                let [adam] = <[AdamState; 1]>::try_from(optimizers).map_err(|others| {
                    Error::data("checkpoint", "one optimiser", format!("{} optimisers", others.len()))
                })?;
                (flow, Adam::from_state(adam, n_weights, &device)?, history)
            }
        };
        Ok(Self { flow: Some(flow), adam: adam.with_betas(config.betas), history })
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

/// Where training starts, and who watches it.
pub(crate) struct Start<'a> {
    /// The digest of settings and data, for checkpoints.
    pub(crate) run: &'a dyn Fn() -> String,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) observer: &'a mut dyn Observer,
}

/// Trains a flow until it converges, no epoch is left or the observer ends it. `run` gives the digest of settings and data, for checkpoints.
pub(crate) fn run_epochs(
    trainee: &mut impl Trainee,
    history: Vec<EpochRecord>,
    run: &dyn Fn() -> String,
    config: &TrainConfig,
    observer: &mut dyn Observer,
) -> Result<Report> {
    let mut log = EpochLog::new(run, history, observer);
    let stop = log.run(trainee, config.max_epochs, config.max_epochs)?.break_value().unwrap_or(StopReason::MaxEpochs);
    Ok(log.report(stop))
}
