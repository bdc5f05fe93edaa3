//! The epochs of training, wherever the rows are: in memory, or read in parts.

use std::ops::ControlFlow;

use burn::tensor::{Device, Tensor};
use labelflow_flow::{
    Bijection, Flow, Mode, State, StatisticsRecorder, absorb, load_state, n_parameters, state,
};

use crate::adam::Adam;
use crate::train::{StepNumbers, summarize};
use crate::{
    Checkpoint, EpochEvent, EpochRecord, Error, Observer, Report, Result, StopReason, TrainConfig,
};

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
    pub(crate) fn start(flow: Flow<B>, device: &Device) -> Self {
        let adam = Adam::new(n_parameters(&flow), &device.clone().inner());
        Self { flow, adam, history: Vec::new() }
    }

    /// From a checkpoint.
    pub(crate) fn resume(flow: Flow<B>, checkpoint: &Checkpoint, device: &Device) -> Result<Self> {
        let flow = load_state(flow, checkpoint.state.clone())
            .map_err(|error| Error::data("checkpoint", "the tensors of this model", error))?;
        let [adam] = checkpoint.optimizers.as_slice() else {
            let found = format!("{} optimisers", checkpoint.optimizers.len());
            return Err(Error::data("checkpoint", "one optimiser", found));
        };
        let adam = Adam::from_state(adam.clone(), n_parameters(&flow), &device.clone().inner())?;
        Ok(Self { flow, adam, history: checkpoint.history.clone() })
    }

    /// Trains until it converges, no epoch is left or the observer ends it. `run` is the digest of settings and data, for
    /// checkpoints.
    pub(crate) fn run(
        self,
        pass: &mut impl Pass<B>,
        run: &str,
        config: &TrainConfig,
        observer: &mut dyn Observer,
    ) -> Result<(Flow<B>, Report)> {
        let Self { mut flow, mut adam, mut history } = self;
        let mut stop = StopReason::MaxEpochs;
        for epoch in history.len()..config.max_epochs {
            if config.has_converged(&history) {
                stop = StopReason::Converged;
                break;
            }
            let steps;
            (flow, steps) = pass.run(flow, &mut adam, epoch)?;
            let learning_rate = config.learning_rate(epoch);
            history.push(summarize(epoch, &steps, &pass.terms(), learning_rate));

            let snapshot = || Checkpoint {
                run: run.to_owned(),
                history: history.clone(),
                state: state(&flow),
                optimizers: vec![adam.state()],
                memory: pass.memory(),
            };
            let event = EpochEvent {
                record: &history[epoch],
                max_epochs: config.max_epochs,
                snapshot: &snapshot,
            };
            if let ControlFlow::Break(reason) = observer.observe(event)? {
                stop = reason;
                break;
            }
        }
        Ok((flow, Report { history, stop }))
    }
}

/// Moves running statistics to the mean over batches under the final weights: this is the `index`-th batch.
///
/// With small batches the running ones are an average over the last ten or so, taken while the weights still moved. The flow is
/// one without gradients: nothing takes them, and what they need would pile up from batch to batch.
pub(crate) fn settle_batch<B: Bijection>(
    flow: Flow<B>,
    features: Tensor<2>,
    noise: Tensor<2>,
    index: usize,
) -> Flow<B> {
    let recorder = StatisticsRecorder::default();
    flow.sample_with_log_prob(noise, features, Mode::Train(&recorder));
    absorb(flow, recorder, 1.0 / (index + 1) as f64)
}
