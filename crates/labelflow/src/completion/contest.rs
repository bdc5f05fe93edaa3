//! Networks that are trained against each other in a single stage, from the start or from a checkpoint.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use burn::module::Module;
use burn::tensor::Device;
use labelflow_flow::{load_state, state};

use super::StageTraining;
use super::step_numbers::StepNumbers;
use crate::adam::Adam;
use crate::{Checkpoint, EpochEvent, EpochRecord, Error, Observer, Report, Result};

/// Training between two steps.
pub(crate) struct Contest<'a, P> {
    stage: &'a StageTraining,
    players: P,
    /// One a player.
    optimizers: Vec<Adam>,
    history: Vec<EpochRecord>,
}

impl<'a, P: Module> Contest<'a, P> {
    /// Players before the first step, whose optimisers move so many weights each; or those of a checkpoint.
    pub(crate) fn begin(
        stage: &'a StageTraining,
        players: P,
        n_weights: &[usize],
        checkpoint: Option<Checkpoint>,
        device: &Device,
    ) -> Result<Self> {
        let inner = device.clone().inner();
        let Some(checkpoint) = checkpoint else {
            let new = |&n: &usize| Adam::new(n, &inner).with_betas(stage.betas());
            let optimizers = n_weights.iter().map(new).collect();
            return Ok(Self { stage, players, optimizers, history: Vec::new() });
        };
        let foreign = |error| Error::data("checkpoint", "the tensors of this model", error);
        if n_weights.len() != checkpoint.optimizers.len() {
            let expected = format!("{} optimisers", n_weights.len());
            return Err(Error::data("checkpoint", expected, checkpoint.optimizers.len()));
        }
        let states = checkpoint.optimizers.into_iter().zip(n_weights);
        let optimizers = states
            .map(|(state, &n)| Ok(Adam::from_state(state, n, &inner)?.with_betas(stage.betas())))
            .collect::<Result<_>>()?;
        let players = load_state(players, checkpoint.state).map_err(foreign)?;
        Ok(Self { stage, players, optimizers, history: checkpoint.history })
    }

    /// The rest of the epochs, each a pass over so many clouds. `step` moves the players; it hears the number of the step and the step
    /// size.
    pub(crate) fn run(
        mut self,
        n_clouds: usize,
        run: &str,
        observer: &mut dyn Observer,
        mut step: impl FnMut(P, &mut [Adam], usize, f64) -> Result<(P, StepNumbers)>,
    ) -> Result<(P, Report)> {
        let n_steps = self.stage.steps_an_epoch(n_clouds);
        let max_epochs = self.stage.max_epochs;
        let mut stop = crate::StopReason::MaxEpochs;
        for epoch in self.history.len()..max_epochs {
            let rate = self.stage.rate(epoch);
            let mut sums = StepNumbers::default();
            for number in epoch * n_steps..(epoch + 1) * n_steps {
                let (players, numbers) =
                    step(self.players.clone(), &mut self.optimizers, number, rate)?;
                numbers.check(epoch)?;
                sums.add(numbers);
                self.players = players;
            }
            self.history.push(sums.mean(n_steps, epoch, rate));
            let snapshot = || self.snapshot(run);
            let event =
                EpochEvent { record: &self.history[epoch], max_epochs, snapshot: &snapshot };
            if let ControlFlow::Break(reason) = observer.observe(event)? {
                stop = reason;
                break;
            }
        }
        Ok((self.players.valid(), Report { history: self.history, stop }))
    }

    fn snapshot(&self, run: &str) -> Checkpoint {
        Checkpoint {
            run: run.to_owned(),
            history: self.history.clone(),
            state: state(&self.players),
            optimizers: self.optimizers.iter().map(Adam::state).collect(),
            memory: BTreeMap::new(),
        }
    }
}
