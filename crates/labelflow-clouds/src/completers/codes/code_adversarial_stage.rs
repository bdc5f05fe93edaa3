//! The adversarial stage: a generator of codes against a discriminator, in the codes of a frozen autoencoder.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::{flat_gradient, flat_gradients};
use labelflow_flow::{Mode, StatisticsRecorder};
use rand_chacha::ChaCha8Rng;

use super::code_models::NoiseReader;
use crate::completers::networks::{DenseLayers, discriminator_loss, nearest_distances, weighted_sum};
use crate::completers::stages::{
    Course, NetworkSlots, Schedule, Stage, StepBatch, StepResult, TrainedNetwork, draw_clouds, fields, noise_row,
    point_rows, to_batch,
};
use crate::completers::{CodeCompleter, CodeNetwork, CompletionDataset};

/// Generator and discriminator in training, and what reads noise where it is trained with them.
pub(crate) struct CodeAdversarialStage<'a> {
    config: &'a CodeCompleter,
    dataset: &'a CompletionDataset,
    /// What is frozen of it has no gradients, and what is trained of it is not looked at.
    network: CodeNetwork,
    generator: TrainedNetwork<DenseLayers>,
    discriminator: TrainedNetwork<DenseLayers>,
    reader: Option<TrainedNetwork<NoiseReader>>,
}

impl<'a> CodeAdversarialStage<'a> {
    pub(crate) fn new(
        config: &'a CodeCompleter,
        dataset: &'a CompletionDataset,
        course: &mut Course<'_, CodeNetwork>,
    ) -> Result<Self> {
        let (network, rule) = (course.model.clone(), config.players.rule());
        let generator = course.network(network.generator.clone(), rule)?;
        let discriminator = course.network(network.discriminator.clone(), rule)?;
        let reader = network.reader.clone().map(|reader| course.network(reader, rule));
        // Gradients flow through what is frozen, not into it.
        let network = CodeNetwork {
            autoencoder: network.autoencoder.no_grad(),
            variational: network.variational.no_grad(),
            ..network
        };
        Ok(Self { config, dataset, network, generator, discriminator, reader: reader.transpose()? })
    }
}

impl Stage for CodeAdversarialStage<'_> {
    type Model = CodeNetwork;

    fn terms(&self) -> &[&'static str] {
        match self.config.d_noise {
            0 => &["discriminator", "adversarial", "hausdorff"],
            _ => &["discriminator", "adversarial", "hausdorff", "recovery"],
        }
    }

    fn schedule(&self) -> Schedule<'_> {
        self.config.players.schedule(self.dataset.n_partials())
    }

    fn networks(&self) -> Vec<&NetworkSlots> {
        let reader = self.reader.as_ref().map(|reader| &reader.slots);
        [&self.generator.slots, &self.discriminator.slots].into_iter().chain(reader).collect()
    }

    /// Partial clouds, complete ones, and where there is noise z and that of the code that is read back.
    fn draw(&self, step: usize, device: &Device) -> Result<StepBatch> {
        let &Self { config, dataset, .. } = self;
        let (n_clouds, batch_size) = (dataset.n_partials(), config.players.batch_size);
        let draw = |index: usize, visit, rng: &mut ChaCha8Rng| {
            let (partial, shape) = dataset.pair(index, visit, [config.n_partial_points, config.n_points], rng)?;
            let n_noises = if config.d_noise > 0 { 2 } else { 0 };
            let noises = (0..n_noises).map(|_| noise_row(config.d_noise, rng));
            Ok([point_rows(&partial), point_rows(&shape)].into_iter().chain(noises).collect())
        };
        let names = ["players order", "players"];
        Ok(to_batch(&draw_clouds(config.seed, names, n_clouds, batch_size, step, draw)?, device))
    }

    /// A step of each network, on the same generated codes.
    fn step(&self, mut batch: StepBatch) -> StepResult {
        let config = self.config;
        let noises: Vec<Tensor<2>> = batch.drain(2..).map(|noise| noise.squeeze_dim(1)).collect();
        let [partials, shapes] = fields(batch);
        let mut generator = self.generator.begin_step();
        let mut discriminator = self.discriminator.begin_step();
        let mut reader = self.reader.as_ref().map(TrainedNetwork::begin_step);
        let network = CodeNetwork {
            generator: generator.network(),
            discriminator: discriminator.network(),
            reader: reader.as_ref().map(|reader| reader.network()),
            ..self.network.clone()
        };
        let encode = |clouds| network.autoencoder.encode(clouds, Mode::Predict).detach();
        let (of_partials, of_shapes) = (encode(partials.clone()), encode(shapes));
        let codes = network.complete_codes(of_partials, noises.first().cloned());

        let scores = |codes: Tensor<2>| CodeNetwork::scores(&network.discriminator, codes);
        let own_loss = discriminator_loss(scores(of_shapes), scores(codes.clone().detach())) * 0.5;
        discriminator.update(flat_gradient(&network.discriminator, own_loss.backward()));

        let frozen = match config.discriminator_first {
            true => discriminator.network(),
            false => network.discriminator.clone(),
        };
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let terms = generator_terms(&network, &frozen.no_grad(), codes, partials, &noises, mode);
        let weights = [config.adversarial_weight, config.hausdorff_weight, config.recovery_weight];
        let loss = weighted_sum(&terms, &weights);
        let mut gradients = loss.backward();
        let gradient = Tensor::cat(flat_gradients(&network.generator, &mut gradients), 0);
        let length = generator.update(gradient);
        if let (Some(step), Some(reader)) = (&mut reader, &network.reader) {
            step.update(flat_gradient(reader, gradients));
            step.absorb(recorder);
        }
        let terms = [own_loss].into_iter().chain(terms).take(self.terms().len());
        let mut networks = vec![generator.values(), discriminator.values()];
        networks.extend(reader.map(|reader| reader.values()));
        StepResult::new(loss.inner(), length, terms.map(Tensor::inner), networks)
    }

    fn model(&self) -> CodeNetwork {
        CodeNetwork {
            generator: self.generator.network(),
            discriminator: self.discriminator.network(),
            reader: self.reader.as_ref().map(TrainedNetwork::network),
            ..self.network.clone()
        }
    }
}

/// How generated codes are evaluated: by the discriminator, by the scan, and by what can be read back of the noise.
///
/// The mode is that of what reads noise where it is trained too.
fn generator_terms(
    network: &CodeNetwork,
    discriminator: &DenseLayers,
    codes: Tensor<2>,
    partials: Tensor<3>,
    noises: &[Tensor<2>],
    mode: Mode<'_>,
) -> [Tensor<1>; 3] {
    let completions = network.autoencoder.decode(codes.clone());
    let adversarial = (CodeNetwork::scores(discriminator, codes) - 1.0).square().mean();
    let distances = nearest_distances(partials, completions.clone());
    let hausdorff = distances.max_dim(1).mean();
    let latent = match (&network.variational, &network.reader) {
        (Some(variational), _) => Some(variational.encode(completions, Mode::Predict)),
        (None, Some(reader)) => Some(reader.read(completions, mode)),
        (None, None) => None,
    };
    let recovery = match (latent, noises) {
        (Some(latent), [noise, reading]) => (latent.sample(reading.clone()) - noise.clone()).abs().mean(),
        _ => hausdorff.zeros_like(),
    };
    [adversarial, hausdorff, recovery]
}
