//! The stage of the players: a generator of codes against a discriminator, in the codes of a frozen autoencoder.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::{flat_gradient, flat_gradients};
use labelflow_flow::{Mode, State, StatisticsRecorder, state};

use super::code_batch::PlayerBatch;
use super::code_training::Ground;
use crate::completers::flow::completion_objective::{discriminator_loss, weighted_sum};
use crate::completers::networks::dense_layers::DenseLayers;
use crate::completers::networks::nearest_points::nearest_distances;
use crate::completers::networks::noise_reader::NoiseReader;
use crate::completers::stages::batch_slots::BatchSlots;
use crate::completers::stages::player::{Habits, OptimizerStates, Player, PlayerSlots, one_each};
use crate::completers::stages::stage::{Stage, StepResult};
use crate::completers::stages::step_numbers::step_numbers;
use crate::completers::{CodeCompleter, CodeNetwork};

/// The players in training, and what reads noise where it is trained with them.
pub(crate) struct CodePlayersStage<'a> {
    ground: Ground<'a>,
    /// What is frozen of it has no gradients, and its players are not looked at.
    network: CodeNetwork,
    generator: Player<DenseLayers>,
    discriminator: Player<DenseLayers>,
    reader: Option<Player<NoiseReader>>,
    batches: BatchSlots<PlayerBatch>,
}

impl<'a> CodePlayersStage<'a> {
    pub(crate) fn new(
        ground: Ground<'a>,
        network: CodeNetwork,
        optimizers: OptimizerStates,
    ) -> Result<Self> {
        let Ground { config, dataset, device } = &ground;
        let habits = Habits::plain(config.players.betas());
        let [of_generator, of_discriminator, of_reader] = match &network.reader {
            Some(_) => one_each(optimizers)?,
            None => {
                let [of_generator, of_discriminator] = one_each(optimizers)?;
                [of_generator, of_discriminator, None]
            }
        };
        let (generator, discriminator) = (network.generator.clone(), network.discriminator.clone());
        let reader = network.reader.clone().map(|one| Player::new(one, habits, of_reader, device));
        let first = PlayerBatch::draw(config, dataset, 0, &device.clone().inner())?;
        Ok(Self {
            generator: Player::new(generator, habits, of_generator, device)?,
            discriminator: Player::new(discriminator, habits, of_discriminator, device)?,
            reader: reader.transpose()?,
            batches: BatchSlots::new(first),
            // Gradients flow through what is frozen, not into it.
            network: CodeNetwork {
                autoencoder: network.autoencoder.no_grad(),
                variational: network.variational.no_grad(),
                ..network
            },
            ground,
        })
    }

    /// The whole network as it is now.
    pub(crate) fn model(&self) -> CodeNetwork {
        CodeNetwork {
            generator: self.generator.module(),
            discriminator: self.discriminator.module(),
            reader: self.reader.as_ref().map(Player::module),
            ..self.network.clone()
        }
    }

    /// A step of each player, on the same generated codes.
    fn step(&self) -> StepResult {
        let config = self.ground.config;
        let mut generator = self.generator.playing();
        let mut discriminator = self.discriminator.playing();
        let mut reader = self.reader.as_ref().map(Player::playing);
        let batch = self.batches.batch();
        let network = CodeNetwork {
            generator: generator.module(),
            discriminator: discriminator.module(),
            reader: reader.as_ref().map(|reader| reader.module()),
            ..self.network.clone()
        };
        let encode = |clouds| network.autoencoder.encode(clouds, Mode::Predict).detach();
        let (of_partials, of_shapes) =
            (encode(batch.partials.clone()), encode(batch.shapes.clone()));
        let codes = network.complete_codes(of_partials, batch.noise.clone());

        let scores = |codes: Tensor<2>| CodeNetwork::scores(&network.discriminator, codes);
        let own_loss = discriminator_loss(scores(of_shapes), scores(codes.clone().detach())) * 0.5;
        discriminator.follow(flat_gradient(&network.discriminator, own_loss.backward()));

        let judge = match config.discriminator_first {
            true => discriminator.module(),
            false => network.discriminator.clone(),
        };
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let terms = generator_terms(&network, &judge.no_grad(), codes, batch, mode);
        let loss = weighted_sum(&terms, &weights(config));
        let mut gradients = loss.backward();
        let gradient = Tensor::cat(flat_gradients(&network.generator, &mut gradients), 0);
        let length = generator.follow(gradient);
        if let (Some(playing), Some(reader)) = (&mut reader, &network.reader) {
            playing.follow(flat_gradient(reader, gradients));
            playing.absorb(recorder);
        }
        let terms = [own_loss].into_iter().chain(terms).take(self.terms().len());
        let mut players = vec![generator.values(), discriminator.values()];
        players.extend(reader.map(|reader| reader.values()));
        StepResult {
            numbers: step_numbers(loss.inner(), length, terms.map(Tensor::inner)),
            players,
        }
    }
}

impl Stage for CodePlayersStage<'_> {
    fn device(&self) -> &Device {
        &self.ground.device
    }

    fn terms(&self) -> &[&'static str] {
        match self.ground.config.d_noise {
            0 => &["discriminator", "adversarial", "hausdorff"],
            _ => &["discriminator", "adversarial", "hausdorff", "recovery"],
        }
    }

    fn steps_an_epoch(&self) -> usize {
        self.ground.config.players.steps_an_epoch(self.ground.dataset.n_partials())
    }

    fn rate(&self, step: usize) -> f64 {
        self.ground.config.players.rate(step / self.steps_an_epoch())
    }

    fn players(&self) -> Vec<&PlayerSlots> {
        let reader = self.reader.as_ref().map(Player::slots);
        [self.generator.slots(), self.discriminator.slots()].into_iter().chain(reader).collect()
    }

    fn write_batch(&self, step: usize) -> Result<()> {
        let Ground { config, dataset, device } = &self.ground;
        let inner = device.clone().inner();
        self.batches.write(PlayerBatch::draw(config, dataset, step, &inner)?);
        Ok(())
    }

    fn computation(&self) -> impl FnMut() -> StepResult {
        || self.step()
    }

    fn state(&self) -> State {
        state(&self.model())
    }
}

/// Of the generator's terms.
fn weights(config: &CodeCompleter) -> [f64; 3] {
    [config.adversarial_weight, config.hausdorff_weight, config.recovery_weight]
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
