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
// each point's cost. The generator's judgement does not leak into the discriminators' gradient, as it does in the published program.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::storage::Checkpoint;
use labelflow::training::{Observer, Report, flat_gradient, stream};
use labelflow_flow::{State, state};
use rayon::prelude::*;

use super::spectral_layers::SpectralLayers;
use super::transfer_network::{Decoded, TransferNetwork, Way};
use crate::completers::codes::code_batch::{chosen, clouds};
use crate::completers::codes::earth_movers_loss::earth_movers_distance;
use crate::completers::flow::completion_objective::weighted_sum;
use crate::completers::networks::nearest_points::nearest_distances;
use crate::completers::stages::batch_slots::{BatchSlots, StepBatch, WHOLE};
use crate::completers::stages::player::{
    Habits, OptimizerStates, Player, PlayerSlots, Playing, one_each,
};
use crate::completers::stages::stage::{Course, Resumed, Stage, StepResult};
use crate::completers::stages::step_numbers::step_numbers;
use crate::completers::{CompletionDataset, KnowledgeTransfer, TransferPlayers};
use crate::geometry::PointSet;

/// Names the random numbers of training.
const PURPOSE: &str = "transfer";
/// The parts of the network's loss, and that of the discriminators.
const TERMS: [&str; N_NETWORK_TERMS + 1] = [
    "reconstruction",
    "coarse reconstruction",
    "adversarial",
    "fidelity",
    "coarse fidelity",
    "discriminator",
];
const N_NETWORK_TERMS: usize = 5;

/// What one step sees.
struct TransferBatch {
    /// `[n_clouds, n_partial_points, 3]`
    partials: Tensor<3>,
    /// `[n_clouds, n_points, 3]`
    shapes: Tensor<3>,
}

impl TransferBatch {
    /// It depends on nothing but the settings, the data and the step, so that training can go on at any epoch.
    fn draw(
        config: &KnowledgeTransfer,
        dataset: &CompletionDataset,
        step: usize,
        device: &Device,
    ) -> Result<Self> {
        let chosen = chosen(config.seed, &config.training, PURPOSE, dataset.n_partials(), step);
        let first = step * chosen.len();
        let draws: Vec<(PointSet, PointSet)> = chosen
            .par_iter()
            .enumerate()
            .map(|(cloud, &index)| {
                let visit = (first + cloud) as u64;
                let rng = &mut stream(config.seed, PURPOSE, visit);
                let partial = dataset.partial(index, visit, config.n_partial_points, rng)?;
                Ok((partial, dataset.complete(config.n_points, rng)?))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            partials: clouds(draws.iter().map(|draw| &draw.0), device),
            shapes: clouds(draws.iter().map(|draw| &draw.1), device),
        })
    }
}

impl StepBatch for TransferBatch {
    fn into_tensors(self) -> Vec<Tensor<3>> {
        vec![self.partials, self.shapes]
    }

    fn from_tensors(mut tensors: impl Iterator<Item = Tensor<3>>) -> Self {
        let mut next = || tensors.next().expect(WHOLE);
        Self { partials: next(), shapes: next() }
    }
}

/// Trains the network and its discriminators, from the start or from a checkpoint.
pub(crate) fn train_transfer(
    config: &KnowledgeTransfer,
    dataset: &CompletionDataset,
    run: &str,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<(TransferPlayers, Report)> {
    let device = config.device.open()?.autodiff();
    let start = Resumed::at(checkpoint, TransferPlayers::init(config, &device))?;
    let max_epochs = config.training.max_epochs;
    let mut course = Course::new(run, max_epochs, start.history, observer);
    let stage = TransferStage::new(config, dataset, start.model, start.optimizers, device)?;
    let stop = course.go_through(&stage, 0..max_epochs)?;
    Ok((stage.model().valid(), course.report(stop)))
}

/// The network and its discriminators in training.
struct TransferStage<'a> {
    config: &'a KnowledgeTransfer,
    dataset: &'a CompletionDataset,
    device: Device,
    network: Player<TransferNetwork>,
    discriminators: Player<Vec<SpectralLayers>>,
    batches: BatchSlots<TransferBatch>,
}

impl<'a> TransferStage<'a> {
    fn new(
        config: &'a KnowledgeTransfer,
        dataset: &'a CompletionDataset,
        players: TransferPlayers,
        optimizers: OptimizerStates,
        device: Device,
    ) -> Result<Self> {
        let TransferPlayers { network, discriminators } = players;
        let habits = Habits::plain(config.training.betas());
        let own_habits = Habits { rate_share: config.discriminator_rate, ..habits };
        let [of_network, of_discriminators] = one_each(optimizers)?;
        let first = TransferBatch::draw(config, dataset, 0, &device.clone().inner())?;
        Ok(Self {
            network: Player::new(network, habits, of_network, &device)?,
            discriminators: Player::new(discriminators, own_habits, of_discriminators, &device)?,
            batches: BatchSlots::new(first),
            config,
            dataset,
            device,
        })
    }

    fn model(&self) -> TransferPlayers {
        TransferPlayers {
            network: self.network.module(),
            discriminators: self.discriminators.module(),
        }
    }
}

impl Stage for TransferStage<'_> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn terms(&self) -> &[&'static str] {
        &TERMS
    }

    fn steps_an_epoch(&self) -> usize {
        self.config.training.steps_an_epoch(self.dataset.n_partials())
    }

    fn rate(&self, step: usize) -> f64 {
        self.config.training.rate(step / self.steps_an_epoch())
    }

    fn players(&self) -> Vec<&PlayerSlots> {
        vec![self.network.slots(), self.discriminators.slots()]
    }

    fn write_batch(&self, step: usize) -> Result<()> {
        let inner = self.device.clone().inner();
        self.batches.write(TransferBatch::draw(self.config, self.dataset, step, &inner)?);
        Ok(())
    }

    fn computation(&self) -> impl FnMut() -> StepResult {
        || {
            let (network, discriminators) = (self.network.playing(), self.discriminators.playing());
            step_of_both(self.config, network, discriminators, self.batches.batch())
        }
    }

    fn state(&self) -> State {
        state(&self.model())
    }
}

/// A step of the network and of its discriminators, on the same hidden layers.
fn step_of_both(
    config: &KnowledgeTransfer,
    mut network: Playing<TransferNetwork>,
    mut discriminators: Playing<Vec<SpectralLayers>>,
    batch: TransferBatch,
) -> StepResult {
    let followed: Vec<SpectralLayers> =
        discriminators.module().into_iter().map(SpectralLayers::followed).collect();
    discriminators.take_statistics(&followed);
    let own = network.module();
    let (complete, partial) = pass(&own, &batch);
    let plain = |hidden: &[Tensor<2>]| hidden.iter().cloned().map(Tensor::detach).collect();
    let (of_complete, of_partial): (Vec<_>, Vec<_>) =
        (plain(&complete.hidden), plain(&partial.hidden));

    // Gradients flow through the judges, not into them.
    let judges = followed.clone().no_grad();
    let terms = network_terms(&judges, complete, partial, batch);
    let weights = [1.0, 1.0, config.adversarial_weight, 1.0, 1.0];
    let loss = weighted_sum(&terms, &weights);
    let length = network.follow(flat_gradient(&own, loss.backward()));

    let own_loss = judges_loss(&followed, &of_complete, &of_partial);
    discriminators.follow(flat_gradient(&followed, own_loss.backward()));
    let terms = terms.into_iter().chain([own_loss]).map(Tensor::inner);
    StepResult {
        numbers: step_numbers(loss.inner(), length, terms),
        players: vec![network.values(), discriminators.values()],
    }
}

/// Both kinds of clouds through the network, each its own way.
fn pass(network: &TransferNetwork, batch: &TransferBatch) -> (Decoded, Decoded) {
    let codes = |clouds: &Tensor<3>| network.encode(clouds.clone());
    (
        network.decode(codes(&batch.shapes), Way::Complete),
        network.decode(codes(&batch.partials), Way::Partial),
    )
}

/// In the order of [`TERMS`], without their weights.
fn network_terms(
    judges: &[SpectralLayers],
    complete: Decoded,
    partial: Decoded,
    batch: TransferBatch,
) -> [Tensor<1>; N_NETWORK_TERMS] {
    let TransferBatch { partials, shapes } = batch;
    let scores = TransferPlayers::scores(judges, &partial.hidden);
    let doubts = scores.into_iter().map(|scores| (scores - 1.0).square().mean());
    let n_judges = judges.len() as f64;
    let adversarial = doubts.reduce(|sum, doubt| sum + doubt).expect("there are judges") / n_judges;
    [
        earth_movers_distance(complete.fine, shapes.clone()),
        earth_movers_distance(complete.coarse, shapes),
        adversarial,
        nearest_distances(partials.clone(), partial.fine).mean(),
        nearest_distances(partials, partial.coarse).mean(),
    ]
}

/// What the discriminators minimise.
fn judges_loss(
    judges: &[SpectralLayers],
    of_complete: &[Tensor<2>],
    of_partial: &[Tensor<2>],
) -> Tensor<1> {
    let real = TransferPlayers::scores(judges, of_complete);
    let fake = TransferPlayers::scores(judges, of_partial);
    let losses = real.into_iter().zip(fake).map(|(real, fake)| {
        crate::completers::flow::completion_objective::discriminator_loss(real, fake) * 0.5
    });
    let n_judges = judges.len() as f64;
    losses.reduce(|sum, loss| sum + loss).expect("there are judges") / n_judges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the start all scores are close to nothing, and clouds close to a point: least squares give 1 and ½, and distances are about those
    /// from the middle.
    #[test]
    fn losses_at_the_start() {
        let device = Device::flex().autodiff();
        let config = KnowledgeTransfer::default().small();
        let players = TransferPlayers::init(&config, &device);
        let ring = |n_points: usize| {
            let at = |index: usize| (index as f32).sin_cos();
            let values: Vec<f32> = (0..n_points)
                .flat_map(|index| [0.4 * at(index).0, 0.4 * at(index).1, 0.0])
                .collect();
            let data = burn::tensor::TensorData::new(values, [1, n_points, 3]);
            Tensor::<3>::from_data(data, &device)
        };
        let batch = || TransferBatch {
            partials: ring(config.n_partial_points),
            shapes: ring(config.n_points),
        };
        let (complete, partial) = pass(&players.network, &batch());
        let judges = &players.discriminators;
        let loss = judges_loss(judges, &complete.hidden, &partial.hidden);
        let terms = network_terms(judges, complete, partial, batch());
        let value = |tensor: Tensor<1>| tensor.into_data().iter::<f64>().next().unwrap();
        assert!((value(loss) - 0.5).abs() < 0.2);
        let [fine, coarse, adversarial, ..] = terms.map(value);
        assert!((adversarial - 1.0).abs() < 0.4, "{adversarial}");
        assert!((fine - 0.4).abs() < 0.2 && (coarse - 0.4).abs() < 0.2, "{fine} and {coarse}");
    }
}
