//! The epochs of training, wherever the rows are: in memory, or read in parts.

use std::ops::ControlFlow;

use burn::tensor::Device;
use labelflow_flow::{Bijection, Flow, State, load_state, n_parameters, state};

use crate::storage::Checkpoint;
use crate::training::{
    Adam, EpochLog, EpochRecord, Observer, Report, StepNumbers, StopReason, TrainConfig,
    TrainingState, summarize,
};
use crate::{Error, Result};

/// What moves from epoch to epoch.
#[derive(Debug)]
pub(crate) struct Course<B: Bijection> {
    pub(crate) flow: Flow<B>,
    pub(crate) adam: Adam,
    pub(crate) history: Vec<EpochRecord>,
}

/// One pass over the rows, and what it leaves for the next.
pub(crate) trait Pass<B: Bijection> {
    /// Visits every row once.
    fn run(
        &mut self,
        flow: Flow<B>,
        adam: &mut Adam,
        epoch: usize,
    ) -> Result<(Flow<B>, Vec<StepNumbers>)>;

    /// What a checkpoint must keep beside weights, optimiser and history.
    fn memory(&self) -> State;

    /// The names of the objective's terms.
    fn terms(&self) -> Vec<String>;
}

impl<B: Bijection> Course<B> {
    /// From the start.
    pub(crate) fn start(flow: Flow<B>, config: &TrainConfig, device: &Device) -> Self {
        let adam = Adam::new(n_parameters(&flow), &device.clone().inner());
        let adam = adam.with_betas(config.betas);
        Self { flow, adam, history: Vec::new() }
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
        Ok(Self { flow, adam, history: checkpoint.history.clone() })
    }

    /// [Trains](run_epochs) by passes over the rows.
    pub(crate) fn run(
        self,
        pass: &mut impl Pass<B>,
        run: &dyn Fn() -> String,
        config: &TrainConfig,
        observer: &mut dyn Observer,
    ) -> Result<(Flow<B>, Report)> {
        let mut passes = Passes { flow: Some(self.flow), adam: self.adam, pass };
        let report = run_epochs(&mut passes, self.history, run, config, observer)?;
        Ok((passes.flow.expect(BETWEEN_PASSES), report))
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

/// A flow that passes train.
struct Passes<'a, B: Bijection, P> {
    /// None while a pass has it: whoever holds it alone changes its weights in place.
    flow: Option<Flow<B>>,
    adam: Adam,
    pass: &'a mut P,
}

const BETWEEN_PASSES: &str = "the flow is here between two passes";

impl<B: Bijection, P: Pass<B>> Trainee for Passes<'_, B, P> {
    fn epoch(&mut self, epoch: usize) -> Result<Vec<StepNumbers>> {
        let flow = self.flow.take().expect(BETWEEN_PASSES);
        let (flow, steps) = self.pass.run(flow, &mut self.adam, epoch)?;
        self.flow = Some(flow);
        Ok(steps)
    }

    fn state(&self) -> TrainingState {
        TrainingState {
            weights: state(self.flow.as_ref().expect(BETWEEN_PASSES)),
            optimizers: vec![self.adam.state()],
            memory: self.pass.memory(),
        }
    }

    fn terms(&self) -> Vec<String> {
        self.pass.terms()
    }
}
