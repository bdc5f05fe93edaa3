//! Training of the tree that grows shapes against a critic, on complete shapes alone.
//!
//! ```text
//! critic     mean D(grown) − mean D(shape) + λ (‖∂D/∂x‖ − 1)²,   x between a shape and a grown cloud; several steps
//! generator  −mean D(grown) + w · patch variance; one step
//! ```

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow::Result;
use labelflow::storage::Checkpoint;
use labelflow::training::{Observer, Report, flat_gradient, stream};
use labelflow_flow::{Initializer, State, state};
use rand::RngExt;
use rayon::prelude::*;

use super::patch_variance::patch_variance;
use super::shape_critic::ShapeCritic;
use super::tree_generator::TreeGenerator;
use crate::completers::codes::code_batch::{chosen, clouds};
use crate::completers::flow::completion_batch::normal;
use crate::completers::stages::batch_slots::{BatchSlots, StepBatch, WHOLE};
use crate::completers::stages::player::{
    Habits, OptimizerStates, Player, PlayerSlots, Playing, one_each,
};
use crate::completers::stages::stage::{Course, Resumed, Stage, StepResult};
use crate::completers::stages::step_numbers::step_numbers;
use crate::completers::{CompletionDataset, ShapeInversion};
use crate::geometry::PointSet;

/// Names the random numbers of training.
const PURPOSE: &str = "tree";

/// The generator and the critic.
#[derive(Module, Debug)]
pub struct TreePlayers {
    pub(crate) generator: TreeGenerator,
    pub(crate) critic: ShapeCritic,
}

impl TreePlayers {
    /// Initial weights.
    pub(crate) fn init(config: &ShapeInversion, device: &Device) -> Self {
        let init = &mut Initializer::new(config.seed, device);
        let widths = [&[config.d_noise], &config.generator_widths[..]].concat();
        Self {
            generator: TreeGenerator::init(&widths, &config.degrees, config.widening, init),
            critic: ShapeCritic::init(
                &config.discriminator_widths,
                &config.discriminator_head,
                init,
            ),
        }
    }
}

/// What one step of both players sees.
struct TreeBatch {
    /// `[n_clouds, n_points, 3]`
    shapes: Tensor<3>,
    /// For all steps of the critic, `[1, discriminator_steps · n_clouds, d_noise]`.
    noise: Tensor<3>,
    /// For all steps of the critic, how far from the shape towards the grown cloud, `[discriminator_steps · n_clouds, 1, 1]`.
    shares: Tensor<3>,
    /// For the generator's step, `[1, n_clouds, d_noise]`.
    own_noise: Tensor<3>,
}

impl TreeBatch {
    /// It depends on nothing but the settings, the data and the step, so that training can go on at any epoch.
    fn draw(
        config: &ShapeInversion,
        dataset: &CompletionDataset,
        step: usize,
        device: &Device,
    ) -> Result<Self> {
        let chosen = chosen(config.seed, &config.training, PURPOSE, dataset.n_shapes(), step);
        let n_clouds = chosen.len();
        let shapes: Vec<PointSet> = chosen
            .par_iter()
            .enumerate()
            .map(|(cloud, &index)| {
                let rng = &mut stream(config.seed, PURPOSE, (step * n_clouds + cloud) as u64);
                dataset.shape(index, config.n_points(), rng)
            })
            .collect::<Result<_>>()?;
        let rng = &mut stream(config.seed, "tree noise", step as u64);
        let n_grown = config.discriminator_steps * n_clouds;
        let mut noise = |n: usize| {
            let values = TensorData::new(normal(n * config.d_noise, rng), [1, n, config.d_noise]);
            Tensor::from_data(values, device)
        };
        let (own_noise, noise) = (noise(n_clouds), noise(n_grown));
        let shares: Vec<f32> = (0..n_grown).map(|_| rng.random_range(0.0..1.0)).collect();
        Ok(Self {
            shapes: clouds(shapes.iter(), device),
            noise,
            shares: Tensor::from_data(TensorData::new(shares, [n_grown, 1, 1]), device),
            own_noise,
        })
    }
}

impl StepBatch for TreeBatch {
    fn into_tensors(self) -> Vec<Tensor<3>> {
        vec![self.shapes, self.noise, self.shares, self.own_noise]
    }

    fn from_tensors(mut tensors: impl Iterator<Item = Tensor<3>>) -> Self {
        let mut next = || tensors.next().expect(WHOLE);
        Self { shapes: next(), noise: next(), shares: next(), own_noise: next() }
    }
}

/// Trains both players, from the start or from a checkpoint.
pub(crate) fn train_tree(
    config: &ShapeInversion,
    dataset: &CompletionDataset,
    run: &str,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<(TreePlayers, Report)> {
    let device = config.device.open()?.autodiff();
    let start = Resumed::at(checkpoint, TreePlayers::init(config, &device))?;
    let max_epochs = config.training.max_epochs;
    let mut course = Course::new(run, max_epochs, start.history, observer);
    let stage = TreeStage::new(config, dataset, start.model, start.optimizers, device)?;
    let stop = course.go_through(&stage, 0..max_epochs)?;
    Ok((stage.model().valid(), course.report(stop)))
}

/// Both players in training.
struct TreeStage<'a> {
    config: &'a ShapeInversion,
    dataset: &'a CompletionDataset,
    device: Device,
    generator: Player<TreeGenerator>,
    critic: Player<ShapeCritic>,
    batches: BatchSlots<TreeBatch>,
}

impl<'a> TreeStage<'a> {
    fn new(
        config: &'a ShapeInversion,
        dataset: &'a CompletionDataset,
        players: TreePlayers,
        optimizers: OptimizerStates,
        device: Device,
    ) -> Result<Self> {
        let TreePlayers { generator, critic } = players;
        let habits = Habits::plain(config.training.betas());
        let of_critic = Habits { moves_a_step: config.discriminator_steps, ..habits };
        let [one, other] = one_each(optimizers)?;
        let first = TreeBatch::draw(config, dataset, 0, &device.clone().inner())?;
        Ok(Self {
            generator: Player::new(generator, habits, one, &device)?,
            critic: Player::new(critic, of_critic, other, &device)?,
            batches: BatchSlots::new(first),
            config,
            dataset,
            device,
        })
    }

    fn model(&self) -> TreePlayers {
        TreePlayers { generator: self.generator.module(), critic: self.critic.module() }
    }
}

impl Stage for TreeStage<'_> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn terms(&self) -> &[&'static str] {
        &["adversarial", "patch variance", "discriminator", "penalty"]
    }

    fn steps_an_epoch(&self) -> usize {
        self.config.training.steps_an_epoch(self.dataset.n_shapes())
    }

    fn rate(&self, step: usize) -> f64 {
        self.config.training.rate(step / self.steps_an_epoch())
    }

    fn players(&self) -> Vec<&PlayerSlots> {
        vec![self.generator.slots(), self.critic.slots()]
    }

    fn write_batch(&self, step: usize) -> Result<()> {
        let inner = self.device.clone().inner();
        self.batches.write(TreeBatch::draw(self.config, self.dataset, step, &inner)?);
        Ok(())
    }

    fn computation(&self) -> impl FnMut() -> StepResult {
        || {
            let (generator, critic) = (self.generator.playing(), self.critic.playing());
            step_of_both(self.config, generator, critic, self.batches.batch())
        }
    }

    fn state(&self) -> State {
        state(&self.model())
    }
}

/// Several steps of the critic, then one of the generator.
fn step_of_both(
    config: &ShapeInversion,
    mut generator: Playing<TreeGenerator>,
    mut critic: Playing<ShapeCritic>,
    batch: TreeBatch,
) -> StepResult {
    let TreeBatch { shapes, noise, shares, own_noise } = batch;
    let own = generator.module();
    // The generator stays as it is while the critic moves: its clouds for all of those steps are grown together.
    let grown = Tensor::from_inner(own.valid().forward(noise.inner()));
    let n_clouds = shapes.dims()[0];
    let mut of_critic = Vec::with_capacity(config.discriminator_steps);
    for step in 0..config.discriminator_steps {
        let part = |all: &Tensor<3>| all.clone().narrow(0, step * n_clouds, n_clouds);
        let judge = critic.module();
        let (loss, penalty) =
            critic_loss(config, &judge, shapes.clone(), part(&grown), part(&shares));
        critic.follow(flat_gradient(&judge, loss.backward()));
        of_critic.push(Tensor::stack::<2>(vec![loss.inner(), penalty.inner()], 1));
    }
    let of_critic = Tensor::cat(of_critic, 0).mean_dim(0);
    let [loss_of_critic, penalty] =
        [0, 1].map(|column| of_critic.clone().narrow(1, column, 1).reshape([1]));
    let grown = own.forward(own_noise);
    // Gradients flow through the judge, not into it.
    let judgement = critic.module().no_grad().forward(grown.clone());
    let adversarial = judgement.scores.mean().neg();
    let patches = patch_variance(grown, config.n_patches, config.n_neighbors);
    let loss = adversarial.clone() + patches.clone() * config.patch_weight;
    let length = generator.follow(flat_gradient(&own, loss.backward()));
    let terms = [adversarial.inner(), patches.inner(), loss_of_critic, penalty];
    StepResult {
        numbers: step_numbers(loss.inner(), length, terms),
        players: vec![generator.values(), critic.values()],
    }
}

/// What the critic minimises, and its penalty without weight.
fn critic_loss(
    config: &ShapeInversion,
    critic: &ShapeCritic,
    shapes: Tensor<3>,
    grown: Tensor<3>,
    share: Tensor<3>,
) -> (Tensor<1>, Tensor<1>) {
    let n_clouds = shapes.dims()[0];
    // No layer normalises over the batch: both kinds of clouds go through it together.
    let scores = critic.forward(Tensor::cat(vec![shapes.clone(), grown.clone()], 0)).scores;
    let of_shapes = scores.clone().narrow(0, 0, n_clouds).mean();
    let of_grown = scores.narrow(0, n_clouds, n_clouds).mean();
    let between = shapes.clone() + (grown - shapes) * share;
    let penalty = critic.penalty(between);
    (of_grown - of_shapes + penalty.clone() * config.penalty_weight, penalty)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A critic that knows nothing gives every cloud about the same: its loss is then the penalty alone, about λ as long as it is flat.
    #[test]
    fn losses_at_the_start() {
        let device = Device::flex().autodiff();
        let config = ShapeInversion::default().small();
        let players = TreePlayers::init(&config, &device);
        let n_points = config.n_points();
        let noise = Tensor::<3>::ones([1, 2, config.d_noise], &device);
        let grown = players.generator.forward(noise).detach();
        let shapes = Tensor::<3>::ones([2, n_points, 3], &device) * 0.2;
        let share = Tensor::<3>::ones([2, 1, 1], &device) * 0.5;
        let (loss, penalty) = critic_loss(&config, &players.critic, shapes, grown, share);
        let value = |tensor: Tensor<1>| tensor.into_data().iter::<f64>().next().unwrap();
        let (loss, penalty) = (value(loss), value(penalty));
        assert!((0.9..=1.0).contains(&penalty), "{penalty}");
        assert!((loss - config.penalty_weight * penalty).abs() < 0.05, "{loss} and {penalty}");
    }
}
