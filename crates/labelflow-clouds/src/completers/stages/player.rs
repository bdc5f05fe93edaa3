//! A network in training whose whole step, Adam's included, can be recorded.
//!
//! ```text
//! m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²,   w ← w − rate · m / (√v · correction + ε)
//! rate = lr / (1 − β₁ᵗ),   correction = 1 / √(1 − β₂ᵗ)
//! ```
//!
//! All that changes from step to step lies in slots: weights, moments and statistics as one vector each, and what the number of the step
//! makes of the step size. A computation reads them, and gives what they are to be next.

use std::cell::Cell;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow::training::{Adam, AdamState, AdamVectors};
use labelflow::{Error, Result};
use labelflow_flow::{
    MOMENTUM, Slot, StatisticsRecorder, flat_batch_statistics, flat_statistics, flat_weights,
    n_parameters, with_flat_statistics, with_flat_weights,
};

use super::step_numbers::norm;

/// A network in training.
#[derive(Debug)]
pub(crate) struct Player<M> {
    /// What the vectors are the values of; its own values are not looked at.
    template: M,
    slots: PlayerSlots,
}

/// Where the values of a player lie, whatever its network is.
#[derive(Debug)]
pub(crate) struct PlayerSlots {
    weights: Slot<1>,
    moments: [Slot<1>; 2],
    statistics: Option<Slot<1>>,
    /// Rate and correction of each move of a step, `[moves_a_step, 2]`.
    scales: Slot<2>,
    habits: Habits,
    /// The moves so far.
    n_moves: Cell<usize>,
}

/// How a player moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// Adam's β₁ and β₂.
    pub(crate) betas: [f64; 2],
    /// Its step size as a share of that of the stage.
    pub(crate) rate_share: f64,
    /// How often it moves in one step of the stage.
    pub(crate) moves_a_step: usize,
    /// Longer gradients are shortened to this norm.
    pub(crate) max_norm: f64,
}

impl Habits {
    /// One move a step along the whole gradient, with the step size of the stage.
    pub(crate) fn plain(betas: [f64; 2]) -> Self {
        Self { betas, rate_share: 1.0, moves_a_step: 1, max_norm: f64::INFINITY }
    }
}

/// The values of a player, on their device.
#[derive(Debug, Clone)]
pub(crate) struct PlayerValues {
    vectors: AdamVectors,
    statistics: Option<Tensor<1>>,
}

/// A player within a step.
#[derive(Debug)]
pub(crate) struct Playing<M> {
    template: M,
    values: PlayerValues,
    scales: Tensor<2>,
    habits: Habits,
    n_moves: usize,
}

/// The optimisers of a checkpoint, one a player; none at the start of a stage.
pub(crate) type OptimizerStates = Option<Vec<AdamState>>;

/// One for each player of a stage.
pub(crate) fn one_each<const N: usize>(states: OptimizerStates) -> Result<[Option<AdamState>; N]> {
    let Some(states) = states else {
        return Ok([const { None }; N]);
    };
    let found = states.len();
    let states = <[AdamState; N]>::try_from(states);
    let states = states.map_err(|_| Error::data("checkpoint", format!("{N} optimisers"), found))?;
    Ok(states.map(Some))
}

impl<M: Module> Player<M> {
    /// A network on a device with gradients, with the optimiser of a checkpoint or a new one.
    pub(crate) fn new(
        module: M,
        habits: Habits,
        state: Option<AdamState>,
        device: &Device,
    ) -> Result<Self> {
        let inner = device.clone().inner();
        let n_weights = n_parameters(&module);
        let adam = match state {
            Some(state) => Adam::from_state(state, n_weights, &inner)?,
            None => Adam::new(n_weights, &inner),
        };
        let n_moves = adam.n_steps();
        let slots = PlayerSlots {
            weights: Slot::new(flat_weights(&module)),
            moments: adam.into_moments().map(Slot::new),
            statistics: flat_statistics(&module).map(Slot::new),
            scales: Slot::new(Tensor::zeros([habits.moves_a_step, 2], &inner)),
            habits,
            n_moves: Cell::new(n_moves),
        };
        Ok(Self { template: module, slots })
    }

    /// Where its values lie.
    pub(crate) fn slots(&self) -> &PlayerSlots {
        &self.slots
    }

    /// As it is now, at the beginning of a step.
    pub(crate) fn playing(&self) -> Playing<M> {
        let slots = &self.slots;
        Playing {
            template: self.template.clone(),
            values: slots.values(),
            scales: slots.scales.value(),
            habits: slots.habits,
            n_moves: 0,
        }
    }

    /// A copy of the weights.
    pub(crate) fn weights(&self) -> Tensor<1> {
        // The slot's own value changes with the next step.
        self.slots.weights.value() * 1.0
    }

    /// A copy of the network.
    pub(crate) fn module(&self) -> M {
        self.module_with(self.weights())
    }

    /// A copy of the network with other weights.
    pub(crate) fn module_with(&self, weights: Tensor<1>) -> M {
        let statistics = self.slots.statistics.as_ref().map(|slot| slot.value() * 1.0);
        with_vectors(self.template.clone(), weights, statistics)
    }
}

impl PlayerSlots {
    fn values(&self) -> PlayerValues {
        let [first_moment, second_moment] = self.moments.each_ref().map(Slot::value);
        PlayerValues {
            vectors: AdamVectors { weights: self.weights.value(), first_moment, second_moment },
            statistics: self.statistics.as_ref().map(Slot::value),
        }
    }

    /// Before a step: what its number makes of the step size.
    pub(crate) fn prepare(&self, rate: f64, device: &Device) {
        let Habits { betas, rate_share, moves_a_step, .. } = self.habits;
        let first = self.n_moves.get() + 1;
        let scales: Vec<f64> = (first..first + moves_a_step)
            .flat_map(|number| Adam::scales(rate * rate_share, betas, number))
            .collect();
        let scales = TensorData::new(scales, [moves_a_step, 2]);
        self.scales.write(Tensor::from_data(scales, &device.clone().inner()));
    }

    /// After a step: what it came to.
    pub(crate) fn accept(&self, values: &PlayerValues) {
        let PlayerValues { vectors, statistics } = values.clone();
        self.weights.write(vectors.weights);
        let moments = [vectors.first_moment, vectors.second_moment];
        self.moments.iter().zip(moments).for_each(|(slot, moment)| slot.write(moment));
        if let (Some(slot), Some(statistics)) = (&self.statistics, statistics) {
            slot.write(statistics);
        }
        self.n_moves.set(self.n_moves.get() + self.habits.moves_a_step);
    }

    /// What a checkpoint keeps of the optimiser.
    pub(crate) fn adam_state(&self) -> AdamState {
        let [first_moment, second_moment] =
            self.moments.each_ref().map(|moment| moment.value().into_data());
        AdamState { first_moment, second_moment, n_steps: self.n_moves.get() }
    }
}

impl<M: Module> Playing<M> {
    /// The network, with gradients.
    pub(crate) fn module(&self) -> M {
        let PlayerValues { vectors, statistics } = self.values.clone();
        with_vectors(self.template.clone(), vectors.weights, statistics)
    }

    /// Takes the next of its moves, and returns the length of the gradient. A gradient that is not a number is not followed.
    pub(crate) fn follow(&mut self, gradient: Tensor<1>) -> Tensor<1> {
        let Habits { betas, max_norm, moves_a_step, .. } = self.habits;
        assert!(self.n_moves < moves_a_step, "a player moves as often as it is used to");
        let length = norm(&gradient);
        let gradient = match max_norm.is_finite() {
            true => gradient * ((length.clone() + 1e-6).recip() * max_norm).clamp_max(1.0),
            false => gradient,
        };
        let scales = self.scales.clone().narrow(0, self.n_moves, 1).reshape([2]);
        self.values.vectors.step(gradient, &length, scales, betas);
        self.n_moves += 1;
        length
    }

    /// Moves the running statistics towards those of a batch.
    pub(crate) fn absorb(&mut self, recorder: StatisticsRecorder) {
        let batch = flat_batch_statistics(&self.module(), recorder);
        let running = self.values.statistics.take().zip(batch);
        self.values.statistics =
            running.map(|(running, batch)| running * (1.0 - MOMENTUM) + batch * MOMENTUM);
    }

    /// Takes over what is not trained of another state of the network.
    pub(crate) fn take_statistics(&mut self, module: &M) {
        self.values.statistics = flat_statistics(module);
    }

    /// What it came to.
    pub(crate) fn values(self) -> PlayerValues {
        assert_eq!(self.n_moves, self.habits.moves_a_step, "all moves of a step");
        self.values
    }
}

fn with_vectors<M: Module>(module: M, weights: Tensor<1>, statistics: Option<Tensor<1>>) -> M {
    let module = with_flat_weights(module, weights);
    match statistics {
        Some(statistics) => with_flat_statistics(module, statistics),
        None => module,
    }
}
