//! The adversarial stage: a generator of codes against a discriminator, in the codes of a frozen autoencoder.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::{flat_gradient, flat_gradients};
use labelflow_flow::{Mode, StatisticsRecorder};
use rand_chacha::ChaCha8Rng;

use super::code_models::NoiseReader;
use super::code_stage::noise_rows;
use crate::completers::networks::{DenseLayers, discriminator_loss, nearest_distances, weighted_sum};
use crate::completers::scan_input::{normal, to_tensor_on};
use crate::completers::stages::{
    Course, NetworkSlots, Schedule, Stage, StepResult, TrainedNetwork, draw_clouds, step_batch,
};
use crate::completers::{CodeCompleter, CodeNetwork, CompletionDataset};

/// What one step of the generator and the discriminator sees.
pub(crate) struct AdversarialBatch {
    /// `[n_clouds, n_partial_points, 3]`
    partials: Tensor<3>,
    /// `[n_clouds, n_points, 3]`
    shapes: Tensor<3>,
    /// z, `[n_clouds, d_noise]`, where there is noise.
    noise: Option<Tensor<2>>,
    /// The noise of the code that is read back, `[n_clouds, d_noise]`, where there is noise.
    reading_noise: Option<Tensor<2>>,
}

step_batch!(AdversarialBatch { partials, shapes, noise, reading_noise });

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
    type Batch = AdversarialBatch;

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

    fn draw(&self, step: usize, device: &Device) -> Result<AdversarialBatch> {
        let &Self { config, dataset, .. } = self;
        let (n_clouds, batch_size) = (dataset.n_partials(), config.players.batch_size);
        let draw = |index: usize, visit, rng: &mut ChaCha8Rng| {
            let clouds = dataset.pair(index, visit, [config.n_partial_points, config.n_points], rng)?;
            Ok((clouds, [normal(config.d_noise, rng), normal(config.d_noise, rng)]))
        };
        let names = ["players order", "players"];
        let clouds = draw_clouds(config.seed, names, n_clouds, batch_size, step, draw)?;
        let (clouds, noise): (Vec<_>, Vec<[Vec<f32>; 2]>) = clouds.into_iter().unzip();
        let (partials, shapes): (Vec<_>, Vec<_>) = clouds.into_iter().unzip();
        let rows = |which: usize| noise_rows(noise.iter().map(|two| &two[which]), config, device);
        Ok(AdversarialBatch {
            partials: to_tensor_on(&partials, device),
            shapes: to_tensor_on(&shapes, device),
            noise: rows(0),
            reading_noise: rows(1),
        })
    }

    /// A step of each network, on the same generated codes.
    fn step(&self, batch: AdversarialBatch) -> StepResult {
        let config = self.config;
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
        let (of_partials, of_shapes) = (encode(batch.partials.clone()), encode(batch.shapes.clone()));
        let codes = network.complete_codes(of_partials, batch.noise.clone());

        let scores = |codes: Tensor<2>| CodeNetwork::scores(&network.discriminator, codes);
        let own_loss = discriminator_loss(scores(of_shapes), scores(codes.clone().detach())) * 0.5;
        discriminator.update(flat_gradient(&network.discriminator, own_loss.backward()));

        let frozen = match config.discriminator_first {
            true => discriminator.network(),
            false => network.discriminator.clone(),
        };
        let recorder = StatisticsRecorder::default();
        let mode = Mode::Train(&recorder);
        let terms = generator_terms(&network, &frozen.no_grad(), codes, batch, mode);
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
    batch: AdversarialBatch,
    mode: Mode<'_>,
) -> [Tensor<1>; 3] {
    let completions = network.autoencoder.decode(codes.clone());
    let adversarial = (CodeNetwork::scores(discriminator, codes) - 1.0).square().mean();
    let distances = nearest_distances(batch.partials, completions.clone());
    let hausdorff = distances.max_dim(1).mean();
    let latent = match (&network.variational, &network.reader) {
        (Some(variational), _) => Some(variational.encode(completions, Mode::Predict)),
        (None, Some(reader)) => Some(reader.read(completions, mode)),
        (None, None) => None,
    };
    let recovery = match (latent, batch.noise, batch.reading_noise) {
        (Some(latent), Some(noise), Some(reading_noise)) => (latent.sample(reading_noise) - noise).abs().mean(),
        _ => hausdorff.zeros_like(),
    };
    [adversarial, hausdorff, recovery]
}
