//! Training of KT-Net.
//!
//! ```text
//! network         EMD(coarse, shape) + EMD(fine, shape)                                     complete clouds
//!                 + λ · mean over hidden layers of (D − 1)² + d̄(x, fine) + d̄(x, coarse)     partial clouds
//! discriminators  ½ mean over hidden layers of ((D(complete) − 1)² + D(partial)²)
//! ```
//!
//! EMD is a mean of distances, not of squares, and d̄ the mean distance from a partial point to the nearest one. Complete clouds do not pass
//! the corrections, so that these learn from partial ones alone.

// Deviation: the published distance of clouds is an auction's; this is the annealed matching that the other systems have, with the root of
// each point's cost. The generator's loss does not leak into the discriminators' gradient, as it does in the published program.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::flat_gradient;
use rand_chacha::ChaCha8Rng;

use super::spectral_layers::SpectralLayers;
use super::transfer_network::{Decoded, TransferNetwork, TransferNetworks, Way};
use crate::completers::networks::{discriminator_loss, earth_movers_distance, nearest_distances, weighted_sum};
use crate::completers::stages::{
    NetworkSlots, Schedule, Stage, StepBatch, StepResult, TrainedNetwork, draw_clouds, fields, point_rows, to_batch,
};
use crate::completers::{CompletionDataset, KnowledgeTransfer};

/// The parts of the network's loss, and that of the discriminators.
const TERMS: [&str; N_NETWORK_TERMS + 1] =
    ["reconstruction", "coarse reconstruction", "adversarial", "fidelity", "coarse fidelity", "discriminator"];
const N_NETWORK_TERMS: usize = 5;

/// The network and its discriminators in training.
pub(crate) struct TransferStage<'a> {
    pub(crate) config: &'a KnowledgeTransfer,
    pub(crate) dataset: &'a CompletionDataset,
    pub(crate) network: TrainedNetwork<TransferNetwork>,
    pub(crate) discriminators: TrainedNetwork<Vec<SpectralLayers>>,
}

impl Stage for TransferStage<'_> {
    type Model = TransferNetworks;

    fn terms(&self) -> &[&'static str] {
        &TERMS
    }

    fn schedule(&self) -> Schedule<'_> {
        self.config.training.schedule(self.dataset.n_partials())
    }

    fn networks(&self) -> Vec<&NetworkSlots> {
        vec![&self.network.slots, &self.discriminators.slots]
    }

    /// Partial clouds, and complete ones.
    fn draw(&self, step: usize, device: &Device) -> Result<StepBatch> {
        let &Self { config, dataset, .. } = self;
        let (n_clouds, batch_size) = (dataset.n_partials(), config.training.batch_size);
        let draw = |index: usize, visit, rng: &mut ChaCha8Rng| {
            let (partial, shape) = dataset.pair(index, visit, [config.n_partial_points, config.n_points], rng)?;
            Ok(vec![point_rows(&partial), point_rows(&shape)])
        };
        let names = ["transfer order", "transfer"];
        Ok(to_batch(&draw_clouds(config.seed, names, n_clouds, batch_size, step, draw)?, device))
    }

    /// A step of the network and of its discriminators, on the same hidden layers.
    fn step(&self, batch: StepBatch) -> StepResult {
        let [partials, shapes] = fields(batch);
        let mut network = self.network.begin_step();
        let mut discriminators = self.discriminators.begin_step();
        let followed: Vec<SpectralLayers> =
            discriminators.network().into_iter().map(SpectralLayers::followed).collect();
        discriminators.take_statistics(&followed);
        let own = network.network();
        let (complete, partial) = pass(&own, &partials, &shapes);
        let plain = |hidden: &[Tensor<2>]| hidden.iter().cloned().map(Tensor::detach).collect();
        let (of_complete, of_partial): (Vec<_>, Vec<_>) = (plain(&complete.hidden), plain(&partial.hidden));

        // Gradients flow through the discriminators, not into them.
        let terms = network_terms(&followed.clone().no_grad(), complete, partial, partials, shapes);
        let weights = [1.0, 1.0, self.config.adversarial_weight, 1.0, 1.0];
        let loss = weighted_sum(&terms, &weights);
        let length = network.update(flat_gradient(&own, loss.backward()));

        let own_loss = discriminators_loss(&followed, &of_complete, &of_partial);
        discriminators.update(flat_gradient(&followed, own_loss.backward()));
        let terms = terms.into_iter().chain([own_loss]).map(Tensor::inner);
        let networks = vec![network.values(), discriminators.values()];
        StepResult::new(loss.inner(), length, terms, networks)
    }

    fn model(&self) -> TransferNetworks {
        TransferNetworks { network: self.network.network(), discriminators: self.discriminators.network() }
    }
}

/// Both kinds of clouds through the network, each its own way.
fn pass(network: &TransferNetwork, partials: &Tensor<3>, shapes: &Tensor<3>) -> (Decoded, Decoded) {
    let pass = |clouds: &Tensor<3>, way| network.decode(network.encode(clouds.clone()), way);
    (pass(shapes, Way::Complete), pass(partials, Way::Partial))
}

/// In the order of [`TERMS`], without their weights.
fn network_terms(
    discriminators: &[SpectralLayers],
    complete: Decoded,
    partial: Decoded,
    partials: Tensor<3>,
    shapes: Tensor<3>,
) -> [Tensor<1>; N_NETWORK_TERMS] {
    let scores = TransferNetworks::scores(discriminators, &partial.hidden);
    let adversarial = mean_of(scores.into_iter().map(|scores| (scores - 1.0).square().mean()));
    [
        earth_movers_distance(complete.fine, shapes.clone()),
        earth_movers_distance(complete.coarse, shapes),
        adversarial,
        nearest_distances(partials.clone(), partial.fine).mean(),
        nearest_distances(partials, partial.coarse).mean(),
    ]
}

/// What the discriminators minimise.
fn discriminators_loss(
    discriminators: &[SpectralLayers],
    of_complete: &[Tensor<2>],
    of_partial: &[Tensor<2>],
) -> Tensor<1> {
    let real = TransferNetworks::scores(discriminators, of_complete);
    let fake = TransferNetworks::scores(discriminators, of_partial);
    let loss = |(real, fake)| discriminator_loss(real, fake) * 0.5;
    mean_of(real.into_iter().zip(fake).map(loss))
}

/// The mean of what the discriminators give.
pub(crate) fn mean_of(values: impl ExactSizeIterator<Item = Tensor<1>>) -> Tensor<1> {
    let n_values = values.len() as f64;
    values.reduce(|sum, value| sum + value).expect("there are discriminators") / n_values
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::completers::CompletionLearner;

    /// At the start all scores are close to nothing, and clouds close to a point: least squares give 1 and ½, and distances are about those
    /// from the middle.
    #[test]
    fn losses_at_the_start() {
        let device = Device::flex().autodiff();
        let config = KnowledgeTransfer::default().small();
        let networks = config.init(&device);
        let ring = |n_points: usize| {
            let at = |index: usize| (index as f32).sin_cos();
            let values: Vec<f32> =
                (0..n_points).flat_map(|index| [0.4 * at(index).0, 0.4 * at(index).1, 0.0]).collect();
            let data = burn::tensor::TensorData::new(values, [1, n_points, 3]);
            Tensor::<3>::from_data(data, &device)
        };
        let (partials, shapes) = (ring(config.n_partial_points), ring(config.n_points));
        let (complete, partial) = pass(&networks.network, &partials, &shapes);
        let discriminators = &networks.discriminators;
        let loss = discriminators_loss(discriminators, &complete.hidden, &partial.hidden);
        let terms = network_terms(discriminators, complete, partial, partials, shapes);
        let value = |tensor: Tensor<1>| tensor.into_data().iter::<f64>().next().unwrap();
        assert!((value(loss) - 0.5).abs() < 0.2);
        let [fine, coarse, adversarial, ..] = terms.map(value);
        assert!((adversarial - 1.0).abs() < 0.4, "{adversarial}");
        assert!((fine - 0.4).abs() < 0.2 && (coarse - 0.4).abs() < 0.2, "{fine} and {coarse}");
    }
}
