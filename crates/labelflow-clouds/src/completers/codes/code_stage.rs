//! The stage of an autoencoder: it learns the codes of complete shapes.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::flat_gradient;
use labelflow_flow::{Mode, StatisticsRecorder};
use rand_chacha::ChaCha8Rng;

use super::code_models::{PointAutoencoder, PointVariationalAutoencoder};
use crate::completers::networks::{earth_movers_loss, weighted_sum};
use crate::completers::stages::{
    NetworkSlots, Schedule, Stage, StepBatch, StepResult, TrainedNetwork, draw_clouds, noise_row, point_rows, to_batch,
};
use crate::completers::{CodeCompleter, CodeNetwork, CompletionDataset, StageTraining};

/// What turns clouds into codes and back.
pub(crate) trait CodeModel: Module {
    /// Names the random order of its epochs, and the random numbers of its clouds.
    const DRAWS: [&'static str; 2];
    /// The parts of its loss: the cost of its clouds, and where codes are distributions how far these are from N(0, I), per dimension.
    const TERMS: &'static [&'static str];

    /// How its stage proceeds.
    fn training(config: &CodeCompleter) -> &StageTraining;

    /// Of shapes, and of noise where codes are distributions; in the order of [`TERMS`](Self::TERMS), without weights.
    fn terms(&self, shapes: Tensor<3>, noise: Option<Tensor<2>>, mode: Mode<'_>) -> Vec<Tensor<1>>;

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

    fn terms(&self, shapes: Tensor<3>, _noise: Option<Tensor<2>>, mode: Mode<'_>) -> Vec<Tensor<1>> {
        let codes = self.encode(shapes.clone(), mode);
        vec![earth_movers_loss(self.decode(codes), shapes)]
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

    fn terms(&self, shapes: Tensor<3>, noise: Option<Tensor<2>>, mode: Mode<'_>) -> Vec<Tensor<1>> {
        let noise = noise.expect("codes with a distribution have noise");
        let d_noise = noise.dims()[1] as f64;
        let latent = self.encode(shapes.clone(), mode);
        let rebuilt = self.decode(latent.sample(noise));
        vec![earth_movers_loss(rebuilt, shapes), latent.divergence() / d_noise]
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

    fn terms(&self) -> &[&'static str] {
        M::TERMS
    }

    fn schedule(&self) -> Schedule<'_> {
        M::training(self.config).schedule(self.dataset.n_shapes())
    }

    fn networks(&self) -> Vec<&NetworkSlots> {
        vec![&self.trained.slots]
    }

    /// Complete clouds, and noise where there is any.
    fn draw(&self, step: usize, device: &Device) -> Result<StepBatch> {
        let &Self { config, dataset, .. } = self;
        let (n_clouds, batch_size) = (dataset.n_shapes(), M::training(config).batch_size);
        let draw = |index: usize, _, rng: &mut ChaCha8Rng| {
            let shape = point_rows(&dataset.shape(index, config.n_points, rng)?);
            Ok([shape].into_iter().chain((config.d_noise > 0).then(|| noise_row(config.d_noise, rng))).collect())
        };
        Ok(to_batch(&draw_clouds(config.seed, M::DRAWS, n_clouds, batch_size, step, draw)?, device))
    }

    fn step(&self, batch: StepBatch) -> StepResult {
        let mut trained = self.trained.begin_step();
        let model = trained.network();
        let recorder = StatisticsRecorder::default();
        let noise = batch.get(1).map(|noise| noise.clone().squeeze_dim(1));
        let terms = model.terms(batch[0].clone(), noise, Mode::Train(&recorder));
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
