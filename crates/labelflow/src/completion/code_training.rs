//! Training of completion by codes, one stage after another: the autoencoder, with noise the variational one, then the players.
//!
//! ```text
//! autoencoder    EMD(decode(encode(shape)), shape)
//! variational    EMD(decode(z), shape) + w · KL(q(z|shape) ‖ N(0, I)) / d,   z ~ q
//! generator      λ₁ (D(G) − 1)² + λ₂ d_H(x, y) + λ₃ |E(y) − z|,   and E with it where it has no stage of its own
//! discriminator  ½ (mean (D(code of a shape) − 1)² + mean D(G)²)
//! ```
//!
//! EMD is summed over points and averaged over clouds.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow_flow::{MOMENTUM, Mode, StatisticsRecorder, absorb, load_state, n_parameters, state};

use super::CompletionDataset;
use super::code_batch::{PlayerBatch, ShapeBatch};
use super::code_network::CodeNetwork;
use super::completion_objective::{discriminator_loss, weighted_sum};
use super::dense_layers::DenseLayers;
use super::earth_movers_loss::earth_movers_loss;
use super::nearest_points::nearest_distances;
use super::step_numbers::{StepNumbers, moved};
use crate::adam::{Adam, flat_gradient, flat_gradients};
use crate::{
    Checkpoint, CodeCompleter, EpochEvent, EpochRecord, Error, Observer, Report, Result,
    StageTraining, StopReason,
};

/// The stages in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Autoencoder,
    Variational,
    Players,
}

impl Stage {
    /// Names the stage's random numbers.
    fn purpose(self) -> &'static str {
        match self {
            Self::Autoencoder => "autoencoder",
            Self::Variational => "variational",
            Self::Players => "players",
        }
    }
}

/// The stages of a run, each with its settings.
fn stages(config: &CodeCompleter) -> Vec<(Stage, &StageTraining)> {
    let mut stages = vec![(Stage::Autoencoder, &config.autoencoder)];
    if config.d_noise > 0 && !config.joint_reader {
        stages.push((Stage::Variational, &config.variational));
    }
    stages.push((Stage::Players, &config.players));
    stages
}

/// The stage of an epoch counted through all of them, and its number within the stage.
fn stage_at(config: &CodeCompleter, epoch: usize) -> (Stage, &StageTraining, usize) {
    let mut epoch = epoch;
    for (stage, training) in stages(config) {
        if epoch < training.max_epochs {
            return (stage, training, epoch);
        }
        epoch -= training.max_epochs;
    }
    (Stage::Players, &config.players, config.players.max_epochs + epoch)
}

/// Training between two steps.
struct Course<'a> {
    config: &'a CodeCompleter,
    dataset: &'a CompletionDataset,
    device: Device,
    network: CodeNetwork,
    /// Of the current stage: one, or the generator's, the discriminator's and that of what reads noise, where it is trained with them.
    optimizers: Vec<Adam>,
    history: Vec<EpochRecord>,
}

/// Trains all stages, from the start or from a checkpoint.
pub(crate) fn train_codes(
    config: &CodeCompleter,
    dataset: &CompletionDataset,
    run: &str,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<(CodeNetwork, Report)> {
    let device = config.device.open()?.autodiff();
    let network = CodeNetwork::init(config, &device);
    let mut course =
        Course { config, dataset, device, network, optimizers: Vec::new(), history: Vec::new() };
    if let Some(checkpoint) = checkpoint {
        course.resume(checkpoint)?;
    }
    let stop = course.go_on(run, observer)?;
    if let Some(last) = course.history.len().checked_sub(1) {
        // Ended early: the autoencoder's statistics may still be those of moving weights.
        course.settle(stage_at(config, last).0)?;
    }
    Ok((course.network.valid(), Report { history: course.history, stop }))
}

impl Course<'_> {
    fn resume(&mut self, checkpoint: Checkpoint) -> Result<()> {
        let foreign = |error| Error::data("checkpoint", "the tensors of this model", error);
        self.network = load_state(self.network.clone(), checkpoint.state).map_err(foreign)?;
        self.history = checkpoint.history;
        let (stage, ..) = stage_at(self.config, self.history.len().saturating_sub(1));
        let (sizes, betas) = self.optimizer_sizes(stage);
        if sizes.len() != checkpoint.optimizers.len() {
            let expected = format!("{} optimisers", sizes.len());
            return Err(Error::data("checkpoint", expected, checkpoint.optimizers.len()));
        }
        let inner = self.device.clone().inner();
        let states = checkpoint.optimizers.into_iter().zip(sizes);
        self.optimizers = states
            .map(|(state, n)| Ok(Adam::from_state(state, n, &inner)?.with_betas(betas)))
            .collect::<Result<_>>()?;
        Ok(())
    }

    fn snapshot(&self, run: &str) -> Checkpoint {
        Checkpoint {
            run: run.to_owned(),
            history: self.history.clone(),
            state: state(&self.network),
            optimizers: self.optimizers.iter().map(Adam::state).collect(),
            memory: BTreeMap::new(),
        }
    }

    /// The numbers of weights that each optimiser of a stage moves, and its β₁ and β₂.
    fn optimizer_sizes(&self, stage: Stage) -> (Vec<usize>, [f64; 2]) {
        let network = &self.network;
        match stage {
            Stage::Autoencoder => {
                (vec![n_parameters(&network.autoencoder)], self.config.autoencoder.betas())
            }
            Stage::Variational => {
                (vec![n_parameters(&network.variational)], self.config.variational.betas())
            }
            Stage::Players => {
                let mut sizes =
                    [&network.generator, &network.discriminator].map(n_parameters).to_vec();
                sizes.extend(network.reader.as_ref().map(n_parameters));
                (sizes, self.config.players.betas())
            }
        }
    }

    /// The rest of the epochs of all stages.
    fn go_on(&mut self, run: &str, observer: &mut dyn Observer) -> Result<StopReason> {
        let max_epochs = stages(self.config).iter().map(|(_, stage)| stage.max_epochs).sum();
        for epoch in self.history.len()..max_epochs {
            let (stage, training, epoch_of_stage) = stage_at(self.config, epoch);
            if epoch_of_stage == 0 {
                self.enter(stage, epoch)?;
            }
            self.epoch(stage, training, epoch, epoch_of_stage)?;
            let record = &self.history[epoch];
            let snapshot = || self.snapshot(run);
            let event = EpochEvent { record, max_epochs, snapshot: &snapshot };
            if let ControlFlow::Break(reason) = observer.observe(event)? {
                return Ok(reason);
            }
        }
        Ok(StopReason::MaxEpochs)
    }

    /// Ends the stage before, if there is one, and begins another.
    fn enter(&mut self, stage: Stage, epoch: usize) -> Result<()> {
        if let Some(last) = epoch.checked_sub(1) {
            self.settle(stage_at(self.config, last).0)?;
        }
        let inner = self.device.clone().inner();
        let (sizes, betas) = self.optimizer_sizes(stage);
        let new = |n: usize| Adam::new(n, &inner).with_betas(betas);
        self.optimizers = sizes.into_iter().map(new).collect();
        Ok(())
    }

    fn epoch(
        &mut self,
        stage: Stage,
        training: &StageTraining,
        epoch: usize,
        epoch_of_stage: usize,
    ) -> Result<()> {
        let n_clouds = match stage {
            Stage::Players => self.dataset.n_partials(),
            _ => self.dataset.n_shapes(),
        };
        let n_steps = training.steps_an_epoch(n_clouds);
        let rate = training.rate(epoch_of_stage);
        let mut sums = StepNumbers::default();
        for step in epoch_of_stage * n_steps..(epoch_of_stage + 1) * n_steps {
            let numbers = match stage {
                Stage::Players => self.player_step(step, rate)?,
                _ => self.code_step(stage, training, step, rate)?,
            };
            numbers.check(epoch)?;
            sums.add(numbers);
        }
        self.history.push(sums.mean(n_steps, epoch, rate));
        Ok(())
    }

    /// A step of one of the autoencoders.
    fn code_step(
        &mut self,
        stage: Stage,
        training: &StageTraining,
        step: usize,
        rate: f64,
    ) -> Result<StepNumbers> {
        let batch = self.shapes(stage, training, step)?;
        let recorder = StatisticsRecorder::default();
        let network = self.network.clone();
        let [cost, divergence] = code_terms(&network, stage, batch, Mode::Train(&recorder));
        let loss = cost.clone() + divergence.clone() * self.config.divergence_weight;
        let gradients = loss.backward();
        let terms = [("reconstruction", cost.inner()), ("divergence", divergence.inner())];
        let n_terms = if stage == Stage::Variational { 2 } else { 1 };
        let optimizer = &mut self.optimizers[0];
        // Only the stage's own network is moved, and only it has new statistics.
        let numbers = match stage {
            Stage::Autoencoder => {
                let gradient = flat_gradient(&network.autoencoder, gradients);
                let numbers = StepNumbers::fetch(loss.inner(), &gradient, &terms[..n_terms]);
                let moved = moved(optimizer, network.autoencoder, gradient, &numbers, rate);
                self.network.autoencoder = absorb(moved, recorder, MOMENTUM);
                numbers
            }
            _ => {
                let gradient = flat_gradient(&network.variational, gradients);
                let numbers = StepNumbers::fetch(loss.inner(), &gradient, &terms[..n_terms]);
                let moved = moved(optimizer, network.variational, gradient, &numbers, rate);
                self.network.variational = absorb(moved, recorder, MOMENTUM);
                numbers
            }
        };
        Ok(numbers)
    }

    /// A step of each player, on the same generated codes.
    fn player_step(&mut self, step: usize, rate: f64) -> Result<StepNumbers> {
        let batch = PlayerBatch::draw(self.config, self.dataset, step, &self.device)?;
        let CodeNetwork { autoencoder, variational, generator, discriminator, reader } =
            self.network.clone();
        // Gradients flow through what is frozen, not into it.
        let frozen = CodeNetwork {
            autoencoder: autoencoder.no_grad(),
            variational: variational.no_grad(),
            generator: generator.clone(),
            discriminator: discriminator.clone(),
            reader: reader.clone(),
        };
        let encode = |clouds| frozen.autoencoder.encode(clouds, Mode::Predict).detach();
        let (of_partials, of_shapes) =
            (encode(batch.partials.clone()), encode(batch.shapes.clone()));
        let codes = frozen.complete_codes(of_partials, batch.noise.clone());

        let of_codes = codes.clone().detach();
        let discriminator_loss = move |discriminator: &DenseLayers| {
            let scores = |codes: &Tensor<2>| CodeNetwork::scores(discriminator, codes.clone());
            discriminator_loss(scores(&of_shapes), scores(&of_codes)) * 0.5
        };
        let own_loss = discriminator_loss(&discriminator);
        let own_gradient = flat_gradient(&discriminator, own_loss.backward());
        let own_numbers = StepNumbers::fetch(own_loss.inner(), &own_gradient, &[]);
        let judge = discriminator.clone();
        let next = moved(&mut self.optimizers[1], discriminator, own_gradient, &own_numbers, rate);
        self.network.discriminator = next.clone();

        let judge = if self.config.discriminator_first { next } else { judge };
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let has_noise = batch.noise.is_some();
        let terms = generator_terms(&frozen, &judge.no_grad(), codes, batch, mode);
        let weights = [
            self.config.adversarial_weight,
            self.config.hausdorff_weight,
            self.config.recovery_weight,
        ];
        let loss = weighted_sum(&terms, &weights);
        let mut gradients = loss.backward();
        let gradient = Tensor::cat(flat_gradients(&generator, &mut gradients), 0);
        let names = ["adversarial", "hausdorff", "recovery"];
        let n_terms = if has_noise { 3 } else { 2 };
        let named: Vec<_> = names.into_iter().zip(terms.map(Tensor::inner)).take(n_terms).collect();
        let mut numbers = StepNumbers::fetch(loss.inner(), &gradient, &named);
        self.network.generator =
            moved(&mut self.optimizers[0], generator, gradient, &numbers, rate);
        if let Some(reader) = reader {
            let gradient = flat_gradient(&reader, gradients);
            let next = moved(&mut self.optimizers[2], reader, gradient, &numbers, rate);
            self.network.reader = Some(absorb(next, recorder, MOMENTUM));
        }
        numbers.terms.insert("discriminator", own_numbers.loss);
        Ok(numbers)
    }

    fn shapes(&self, stage: Stage, training: &StageTraining, step: usize) -> Result<ShapeBatch> {
        let purpose = stage.purpose();
        ShapeBatch::draw(self.config, training, purpose, self.dataset, step, &self.device)
    }

    /// Gives the network of a stage that has ended the statistics of many batches under its final weights.
    fn settle(&mut self, stage: Stage) -> Result<()> {
        let training = match stage {
            Stage::Autoencoder => &self.config.autoencoder,
            Stage::Variational => &self.config.variational,
            // The players have none.
            Stage::Players => return Ok(()),
        };
        for index in 0..self.config.statistics_batches {
            let batch = self.shapes(stage, training, index)?;
            let recorder = StatisticsRecorder::default();
            let mode = Mode::Train(&recorder);
            let momentum = 1.0 / (index + 1) as f64;
            let network = self.network.clone();
            if let (Stage::Variational, Some(variational)) = (stage, &network.variational) {
                variational.encode(batch.shapes, mode);
                self.network.variational = absorb(network.variational, recorder, momentum);
            } else {
                network.autoencoder.encode(batch.shapes, mode);
                self.network.autoencoder = absorb(network.autoencoder, recorder, momentum);
            }
        }
        Ok(())
    }
}

/// How generated codes are judged: by the discriminator, by the scan, and by what can be read back of the noise.
///
/// The mode is that of what reads noise and is trained with the players.
fn generator_terms(
    frozen: &CodeNetwork,
    judge: &DenseLayers,
    codes: Tensor<2>,
    batch: PlayerBatch,
    mode: Mode<'_>,
) -> [Tensor<1>; 3] {
    let completions = frozen.autoencoder.decode(codes.clone());
    let adversarial = (CodeNetwork::scores(judge, codes) - 1.0).square().mean();
    let distances = nearest_distances(batch.partials, completions.clone());
    let hausdorff = distances.max_dim(1).mean();
    let latent = match (&frozen.variational, &frozen.reader) {
        (Some(variational), _) => Some(variational.encode(completions, Mode::Predict)),
        (None, Some(reader)) => Some(reader.read(completions, mode)),
        (None, None) => None,
    };
    let recovery = match (latent, batch.noise, batch.reading_noise) {
        (Some(latent), Some(noise), Some(reading_noise)) => {
            (latent.sample(reading_noise) - noise).abs().mean()
        }
        _ => hausdorff.zeros_like(),
    };
    [adversarial, hausdorff, recovery]
}

/// What an autoencoder minimises: the cost of its clouds, and how far its codes are from N(0, I), a dimension; none of that for codes that
/// are no distributions.
fn code_terms(
    network: &CodeNetwork,
    stage: Stage,
    batch: ShapeBatch,
    mode: Mode<'_>,
) -> [Tensor<1>; 2] {
    if let (Stage::Variational, Some(variational), Some(noise)) =
        (stage, &network.variational, batch.noise)
    {
        let d_noise = noise.dims()[1] as f64;
        let latent = variational.encode(batch.shapes.clone(), mode);
        let rebuilt = variational.decode(latent.sample(noise));
        return [earth_movers_loss(rebuilt, batch.shapes), latent.divergence() / d_noise];
    }
    let codes = network.autoencoder.encode(batch.shapes.clone(), mode);
    let cost = earth_movers_loss(network.autoencoder.decode(codes), batch.shapes);
    [cost.clone(), cost.zeros_like()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_run_through_the_stages() {
        let config = CodeCompleter::mm_pcl2pcl().small();
        let [a, v, p] =
            [&config.autoencoder, &config.variational, &config.players].map(|one| one.max_epochs);
        let at = |epoch| {
            let (stage, _, epoch) = stage_at(&config, epoch);
            (stage, epoch)
        };
        assert_eq!(at(0), (Stage::Autoencoder, 0));
        assert_eq!(at(a - 1), (Stage::Autoencoder, a - 1));
        assert_eq!(at(a), (Stage::Variational, 0));
        assert_eq!(at(a + v), (Stage::Players, 0));
        assert_eq!(at(a + v + p - 1), (Stage::Players, p - 1));
        let config = CodeCompleter { joint_reader: true, ..config };
        assert_eq!(stage_at(&config, a).0, Stage::Players);
        let config = CodeCompleter { d_noise: 0, joint_reader: false, ..config };
        assert_eq!(stage_at(&config, a).0, Stage::Players);
    }
}
