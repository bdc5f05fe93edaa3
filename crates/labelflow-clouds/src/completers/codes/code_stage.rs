//! The stage of an autoencoder: it learns the codes of complete shapes.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::flat_gradient;
use labelflow_flow::{Mode, StatisticsRecorder};
use rand_chacha::ChaCha8Rng;

use super::code_models::{PointAutoencoder, PointVariationalAutoencoder};
use crate::completers::networks::{earth_movers_loss, weighted_sum};
use crate::completers::scan_input::{normal, stacked, to_tensor_on};
use crate::completers::stages::{NetworkSlots, Schedule, Stage, StepResult, TrainedNetwork, draw_clouds, step_batch};
use crate::completers::{CodeCompleter, CodeNetwork, CompletionDataset, StageTraining};

/// Complete clouds and the noise of a variational autoencoder.
pub(crate) struct ShapeBatch {
    /// `[n_clouds, n_points, 3]`
    pub(crate) shapes: Tensor<3>,
    /// `[n_clouds, d_noise]`, where there is noise.
    pub(crate) noise: Option<Tensor<2>>,
}

step_batch!(ShapeBatch { shapes, noise });

/// What turns clouds into codes and back.
pub(crate) trait CodeModel: Module {
    /// Names the random order of its epochs, and the random numbers of its clouds.
    const DRAWS: [&'static str; 2];
    /// The parts of its loss: the cost of its clouds, and where codes are distributions how far these are from N(0, I), per dimension.
    const TERMS: &'static [&'static str];

    /// How its stage proceeds.
    fn training(config: &CodeCompleter) -> &StageTraining;

    /// In the order of [`TERMS`](Self::TERMS), without weights.
    fn terms(&self, batch: ShapeBatch, mode: Mode<'_>) -> Vec<Tensor<1>>;

    /// Passes over clouds for the sake of their statistics.
    fn look_at(&self, shapes: Tensor<3>, mode: Mode<'_>);

    /// The whole network, with this model in its place.
    fn placed(self, network: CodeNetwork) -> CodeNetwork;
}

impl CodeModel for PointAutoencoder {
    const DRAWS: [&'static str; 2] = ["autoencoder order", "autoencoder"];
    const TERMS: &'static [&'static str] = &["reconstruction"];

    fn training(config: &CodeCompleter) -> &StageTraining {
        &config.autoencoder
    }

    fn terms(&self, batch: ShapeBatch, mode: Mode<'_>) -> Vec<Tensor<1>> {
        let codes = self.encode(batch.shapes.clone(), mode);
        vec![earth_movers_loss(self.decode(codes), batch.shapes)]
    }

    fn look_at(&self, shapes: Tensor<3>, mode: Mode<'_>) {
        self.encode(shapes, mode);
    }

    fn placed(self, network: CodeNetwork) -> CodeNetwork {
        CodeNetwork { autoencoder: self, ..network }
    }
}

impl CodeModel for PointVariationalAutoencoder {
    const DRAWS: [&'static str; 2] = ["variational order", "variational"];
    const TERMS: &'static [&'static str] = &["reconstruction", "divergence"];

    fn training(config: &CodeCompleter) -> &StageTraining {
        &config.variational
    }

    fn terms(&self, batch: ShapeBatch, mode: Mode<'_>) -> Vec<Tensor<1>> {
        let noise = batch.noise.expect("codes with a distribution have noise");
        let d_noise = noise.dims()[1] as f64;
        let latent = self.encode(batch.shapes.clone(), mode);
        let rebuilt = self.decode(latent.sample(noise));
        vec![earth_movers_loss(rebuilt, batch.shapes), latent.divergence() / d_noise]
    }

    fn look_at(&self, shapes: Tensor<3>, mode: Mode<'_>) {
        self.encode(shapes, mode);
    }

    fn placed(self, network: CodeNetwork) -> CodeNetwork {
        CodeNetwork { variational: Some(self), ..network }
    }
}

/// An autoencoder in training.
pub(crate) struct CodeStage<'a, M> {
    pub(crate) config: &'a CodeCompleter,
    pub(crate) dataset: &'a CompletionDataset,
    /// All the rest of it stays as it is.
    pub(crate) network: CodeNetwork,
    pub(crate) trained: TrainedNetwork<M>,
}

impl<M: CodeModel> Stage for CodeStage<'_, M> {
    type Model = CodeNetwork;
    type Batch = ShapeBatch;

    fn terms(&self) -> &[&'static str] {
        M::TERMS
    }

    fn schedule(&self) -> Schedule<'_> {
        M::training(self.config).schedule(self.dataset.n_shapes())
    }

    fn networks(&self) -> Vec<&NetworkSlots> {
        vec![&self.trained.slots]
    }

    fn draw(&self, step: usize, device: &Device) -> Result<ShapeBatch> {
        let &Self { config, dataset, .. } = self;
        let (n_clouds, batch_size) = (dataset.n_shapes(), M::training(config).batch_size);
        let draw = |index: usize, _, rng: &mut ChaCha8Rng| {
            Ok((dataset.shape(index, config.n_points, rng)?, normal(config.d_noise, rng)))
        };
        let clouds = draw_clouds(config.seed, M::DRAWS, n_clouds, batch_size, step, draw)?;
        let (shapes, noise): (Vec<_>, Vec<Vec<f32>>) = clouds.into_iter().unzip();
        Ok(ShapeBatch { shapes: to_tensor_on(&shapes, device), noise: noise_rows(noise.iter(), config, device) })
    }

    fn step(&self, batch: ShapeBatch) -> StepResult {
        let mut trained = self.trained.begin_step();
        let model = trained.network();
        let recorder = StatisticsRecorder::default();
        let terms = model.terms(batch, Mode::Train(&recorder));
        let loss = weighted_sum(&terms, &[1.0, self.config.divergence_weight]);
        let length = trained.update(flat_gradient(&model, loss.backward()));
        trained.absorb(recorder);
        let terms = terms.into_iter().map(Tensor::inner);
        StepResult::new(loss.inner(), length, terms, vec![trained.values()])
    }

    fn model(&self) -> CodeNetwork {
        self.trained.network().placed(self.network.clone())
    }
}

/// Noise `[n_clouds, d_noise]`, where there is noise.
pub(crate) fn noise_rows<'a>(
    rows: impl ExactSizeIterator<Item = &'a Vec<f32>>,
    config: &CodeCompleter,
    device: &Device,
) -> Option<Tensor<2>> {
    let shape = [rows.len(), config.d_noise];
    (config.d_noise > 0).then(|| stacked(rows.map(Vec::as_slice), shape, device))
}
