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
use labelflow_flow::{
    MOMENTUM, Slot, StatisticsRecorder, flat_batch_statistics, flat_statistics, flat_weights, with_flat_statistics,
    with_flat_weights,
};

/// A network in training.
#[derive(Debug)]
pub(crate) struct TrainedNetwork<M> {
    /// What the vectors are the values of; its own values are not looked at.
    template: M,
    /// Where its values lie.
    pub(crate) slots: NetworkSlots,
}

/// Where the values of a network lie, whatever the network is.
#[derive(Debug)]
pub(crate) struct NetworkSlots {
    weights: Slot<1>,
    moments: [Slot<1>; 2],
    statistics: Option<Slot<1>>,
    /// Rate and correction of each update of a step, `[updates_per_step, 2]`.
    scales: Slot<2>,
    rule: UpdateRule,
    /// The updates so far.
    n_updates: Cell<usize>,
}

/// How a network is updated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateRule {
    /// Adam's β₁ and β₂.
    pub(crate) betas: [f64; 2],
    /// Its step size as a share of that of the stage.
    pub(crate) rate_share: f64,
    /// Updates in one step of the stage.
    pub(crate) updates_per_step: usize,
    /// Longer gradients are shortened to this norm.
    pub(crate) max_norm: f64,
}

impl UpdateRule {
    /// One update per step along the whole gradient, with the step size of the stage.
    pub(crate) fn plain(betas: [f64; 2]) -> Self {
        Self { betas, rate_share: 1.0, updates_per_step: 1, max_norm: f64::INFINITY }
    }
}

/// The values of a network, on their device.
#[derive(Debug, Clone)]
pub(crate) struct NetworkValues {
    vectors: AdamVectors,
    statistics: Option<Tensor<1>>,
}

/// A network within a step.
#[derive(Debug)]
pub(crate) struct NetworkStep<M> {
    template: M,
    values: NetworkValues,
    scales: Tensor<2>,
    rule: UpdateRule,
    n_updates: usize,
}

impl<M: Module> TrainedNetwork<M> {
    /// A network on a device with gradients, whose values lie on the device without.
    pub(crate) fn new(network: M, rule: UpdateRule, adam: Adam, inner: &Device) -> Self {
        let n_updates = Cell::new(adam.n_steps());
        let slots = NetworkSlots {
            weights: Slot::new(flat_weights(&network)),
            moments: adam.into_moments().map(Slot::new),
            statistics: flat_statistics(&network).map(Slot::new),
            scales: Slot::new(Tensor::zeros([rule.updates_per_step, 2], inner)),
            rule,
            n_updates,
        };
        Self { template: network, slots }
    }

    /// As it is now, at the beginning of a step.
    pub(crate) fn begin_step(&self) -> NetworkStep<M> {
        let NetworkSlots { weights, moments, statistics, scales, rule, .. } = &self.slots;
        let [first_moment, second_moment] = moments.each_ref().map(Slot::value);
        let vectors = AdamVectors { weights: weights.value(), first_moment, second_moment };
        NetworkStep {
            template: self.template.clone(),
            values: NetworkValues { vectors, statistics: statistics.as_ref().map(Slot::value) },
            scales: scales.value(),
            rule: *rule,
            n_updates: 0,
        }
    }

    /// A copy of the weights.
    pub(crate) fn weights(&self) -> Tensor<1> {
        // The slot's own value changes with the next step.
        self.slots.weights.value() * 1.0
    }

    /// A copy of the network.
    pub(crate) fn network(&self) -> M {
        self.network_with(self.weights())
    }

    /// A copy of the network with other weights.
    pub(crate) fn network_with(&self, weights: Tensor<1>) -> M {
        let statistics = self.slots.statistics.as_ref().map(|slot| slot.value() * 1.0);
        with_vectors(self.template.clone(), weights, statistics)
    }
}

impl NetworkSlots {
    /// Before a step: what its number makes of the step size.
    pub(crate) fn prepare(&self, rate: f64, inner: &Device) {
        let UpdateRule { betas, rate_share, updates_per_step, .. } = self.rule;
        let first = self.n_updates.get() + 1;
        let scales: Vec<f64> = (first..first + updates_per_step)
            .flat_map(|number| Adam::scales(rate * rate_share, betas, number))
            .collect();
        let scales = TensorData::new(scales, [updates_per_step, 2]);
        self.scales.write(Tensor::from_data(scales, inner));
    }

    /// After a step: what it came to.
    pub(crate) fn accept(&self, values: &NetworkValues) {
        let NetworkValues { vectors, statistics } = values.clone();
        self.weights.write(vectors.weights);
        let moments = [vectors.first_moment, vectors.second_moment];
        self.moments.iter().zip(moments).for_each(|(slot, moment)| slot.write(moment));
        if let (Some(slot), Some(statistics)) = (&self.statistics, statistics) {
            slot.write(statistics);
        }
        self.n_updates.set(self.n_updates.get() + self.rule.updates_per_step);
    }

    /// What a checkpoint keeps of the optimiser.
    pub(crate) fn adam_state(&self) -> AdamState {
        let [first_moment, second_moment] = self.moments.each_ref().map(|moment| moment.value().into_data());
        AdamState { first_moment, second_moment, n_steps: self.n_updates.get() }
    }
}

impl<M: Module> NetworkStep<M> {
    /// The network, with gradients.
    pub(crate) fn network(&self) -> M {
        let NetworkValues { vectors, statistics } = self.values.clone();
        with_vectors(self.template.clone(), vectors.weights, statistics)
    }

    /// Takes the next of its updates, and returns the length of the gradient. A gradient that is not a number changes nothing.
    pub(crate) fn update(&mut self, gradient: Tensor<1>) -> Tensor<1> {
        let UpdateRule { betas, max_norm, updates_per_step, .. } = self.rule;
        assert!(self.n_updates < updates_per_step, "no more updates than the rule has per step");
        let length = gradient.clone().square().sum().sqrt();
        let gradient = match max_norm.is_finite() {
            true => gradient * ((length.clone() + 1e-6).recip() * max_norm).clamp_max(1.0),
            false => gradient,
        };
        let scales = self.scales.clone().narrow(0, self.n_updates, 1).reshape([2]);
        self.values.vectors.step(gradient, &length, scales, betas);
        self.n_updates += 1;
        length
    }

    /// Moves the running statistics towards those of a batch.
    pub(crate) fn absorb(&mut self, recorder: StatisticsRecorder) {
        let batch = flat_batch_statistics(&self.network(), recorder);
        let running = self.values.statistics.take().zip(batch);
        self.values.statistics = running.map(|(running, batch)| running * (1.0 - MOMENTUM) + batch * MOMENTUM);
    }

    /// Takes over what is not trained of another state of the network.
    pub(crate) fn take_statistics(&mut self, network: &M) {
        self.values.statistics = flat_statistics(network);
    }

    /// What it came to.
    pub(crate) fn values(self) -> NetworkValues {
        assert_eq!(self.n_updates, self.rule.updates_per_step, "all updates of a step");
        self.values
    }
}

fn with_vectors<M: Module>(network: M, weights: Tensor<1>, statistics: Option<Tensor<1>>) -> M {
    let network = with_flat_weights(network, weights);
    match statistics {
        Some(statistics) => with_flat_statistics(network, statistics),
        None => network,
    }
}
