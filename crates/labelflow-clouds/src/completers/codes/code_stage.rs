//! The stage of an autoencoder: it learns the codes of complete shapes.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use labelflow::Result;
use labelflow::training::flat_gradient;
use labelflow_flow::{Mode, State, StatisticsRecorder, state};

use super::code_batch::ShapeBatch;
use super::code_training::Ground;
use super::earth_movers_loss::earth_movers_loss;
use super::point_variational_autoencoder::PointVariationalAutoencoder;
use crate::completers::networks::point_autoencoder::PointAutoencoder;
use crate::completers::stages::batch_slots::BatchSlots;
use crate::completers::stages::player::{
    Habits, OptimizerStates, Player, PlayerSlots, Playing, one_each,
};
use crate::completers::stages::stage::{Stage, StepResult};
use crate::completers::stages::step_numbers::step_numbers;
use crate::completers::{CodeCompleter, CodeNetwork, StageTraining};

/// What turns clouds into codes and back.
pub(crate) trait CodeModel: Module {
    /// Names the stage's random numbers.
    const PURPOSE: &'static str;
    /// The parts of its loss: the cost of its clouds, and where codes are distributions how far these are from N(0, I), a dimension.
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
    const PURPOSE: &'static str = "autoencoder";
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
    const PURPOSE: &'static str = "variational";
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
    ground: Ground<'a>,
    /// All the rest of it stays as it is.
    network: CodeNetwork,
    player: Player<M>,
    batches: BatchSlots<ShapeBatch>,
}

impl<'a, M: CodeModel> CodeStage<'a, M> {
    pub(crate) fn new(
        ground: Ground<'a>,
        model: M,
        network: CodeNetwork,
        optimizers: OptimizerStates,
    ) -> Result<Self> {
        let habits = Habits::plain(M::training(ground.config).betas());
        let [optimizer] = one_each(optimizers)?;
        let player = Player::new(model, habits, optimizer, &ground.device)?;
        let first = draw::<M>(&ground, 0)?;
        Ok(Self { ground, network, player, batches: BatchSlots::new(first) })
    }

    /// The autoencoder as it is now.
    pub(crate) fn model(&self) -> M {
        self.player.module()
    }
}

/// The batch of a step, on the device without gradients.
fn draw<M: CodeModel>(ground: &Ground<'_>, step: usize) -> Result<ShapeBatch> {
    let &Ground { config, dataset, ref device } = ground;
    let inner = device.clone().inner();
    ShapeBatch::draw(config, M::training(config), M::PURPOSE, dataset, step, &inner)
}

impl<M: CodeModel> Stage for CodeStage<'_, M> {
    fn device(&self) -> &Device {
        &self.ground.device
    }

    fn terms(&self) -> &[&'static str] {
        M::TERMS
    }

    fn steps_an_epoch(&self) -> usize {
        M::training(self.ground.config).steps_an_epoch(self.ground.dataset.n_shapes())
    }

    fn rate(&self, step: usize) -> f64 {
        M::training(self.ground.config).rate(step / self.steps_an_epoch())
    }

    fn players(&self) -> Vec<&PlayerSlots> {
        vec![self.player.slots()]
    }

    fn write_batch(&self, step: usize) -> Result<()> {
        self.batches.write(draw::<M>(&self.ground, step)?);
        Ok(())
    }

    fn computation(&self) -> impl FnMut() -> StepResult {
        || code_step(self.ground.config, self.player.playing(), self.batches.batch())
    }

    fn state(&self) -> State {
        state(&self.model().placed(self.network.clone()))
    }
}

fn code_step<M: CodeModel>(
    config: &CodeCompleter,
    mut player: Playing<M>,
    batch: ShapeBatch,
) -> StepResult {
    let model = player.module();
    let recorder = StatisticsRecorder::default();
    let terms = model.terms(batch, Mode::Train(&recorder));
    let loss = match terms.as_slice() {
        [cost, divergence] => cost.clone() + divergence.clone() * config.divergence_weight,
        terms => terms[0].clone(),
    };
    let length = player.follow(flat_gradient(&model, loss.backward()));
    player.absorb(recorder);
    let terms = terms.into_iter().map(Tensor::inner);
    StepResult {
        numbers: step_numbers(loss.inner(), length, terms),
        players: vec![player.values()],
    }
}
