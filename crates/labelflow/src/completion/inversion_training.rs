//! Training of the tree that grows shapes against a critic, on complete shapes alone.
//!
//! ```text
//! critic     mean D(grown) − mean D(shape) + λ (‖∂D/∂x‖ − 1)²,   x between a shape and a grown cloud; several steps
//! generator  −mean D(grown) + w · patch variance; one step
//! ```

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow_flow::{Initializer, n_parameters};
use labelflow_weak::point_clouds::PointSet;
use rand::RngExt;
use rayon::prelude::*;

use super::CompletionDataset;
use super::code_batch::{chosen, clouds};
use super::completion_batch::normal;
use super::contest::Contest;
use super::patch_variance::patch_variance;
use super::shape_critic::ShapeCritic;
use super::step_numbers::{StepNumbers, moved};
use super::tree_generator::TreeGenerator;
use crate::adam::{Adam, flat_gradient};
use crate::stream::stream;
use crate::{Checkpoint, Observer, Report, Result, ShapeInversion};

/// Names the random numbers of training.
const PURPOSE: &str = "tree";

/// The generator and the critic.
#[derive(Module, Debug)]
pub(crate) struct TreePlayers {
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

/// Trains both players, from the start or from a checkpoint.
pub(crate) fn train_tree(
    config: &ShapeInversion,
    dataset: &CompletionDataset,
    run: &str,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<(TreePlayers, Report)> {
    let device = config.device.open()?.autodiff();
    let players = TreePlayers::init(config, &device);
    let sizes = [n_parameters(&players.generator), n_parameters(&players.critic)];
    let contest = Contest::begin(&config.training, players, &sizes, checkpoint, &device)?;
    contest.run(dataset.n_shapes(), run, observer, |players, optimizers, step, rate| {
        let batch = TreeBatch::draw(config, dataset, step, &device)?;
        step_of_both(config, players, optimizers, batch, rate)
    })
}

/// Several steps of the critic, then one of the generator.
fn step_of_both(
    config: &ShapeInversion,
    players: TreePlayers,
    optimizers: &mut [Adam],
    batch: TreeBatch,
    rate: f64,
) -> Result<(TreePlayers, StepNumbers)> {
    let TreePlayers { generator, mut critic } = players;
    let TreeBatch { shapes, noise, shares, own_noise } = batch;
    // The generator stays as it is while the critic moves: its clouds for all of those steps are grown together.
    let grown = Tensor::from_inner(generator.valid().forward(noise.inner()));
    let n_clouds = shapes.dims()[0];
    let mut of_critic = Vec::with_capacity(config.discriminator_steps);
    for step in 0..config.discriminator_steps {
        let part = |all: &Tensor<3>| all.clone().narrow(0, step * n_clouds, n_clouds);
        let (loss, penalty) =
            critic_loss(config, &critic, shapes.clone(), part(&grown), part(&shares));
        let gradient = flat_gradient(&critic, loss.backward());
        // Nothing is fetched in between: every fetch waits for the device.
        critic = optimizers[1].step(critic, gradient, rate);
        of_critic.push(Tensor::stack::<2>(vec![loss.inner(), penalty.inner()], 1));
    }
    let of_critic = Tensor::cat(of_critic, 0).mean_dim(0);
    let [loss_of_critic, penalty] =
        [0, 1].map(|column| of_critic.clone().narrow(1, column, 1).reshape([1]));
    let grown = generator.forward(own_noise);
    // Gradients flow through the judge, not into it.
    let judgement = critic.clone().no_grad().forward(grown.clone());
    let adversarial = judgement.scores.mean().neg();
    let patches = patch_variance(grown, config.n_patches, config.n_neighbors)?;
    let loss = adversarial.clone() + patches.clone() * config.patch_weight;
    let gradient = flat_gradient(&generator, loss.backward());
    let terms = [
        ("adversarial", adversarial.inner()),
        ("patch variance", patches.inner()),
        ("discriminator", loss_of_critic),
        ("penalty", penalty),
    ];
    let numbers = StepNumbers::fetch(loss.inner(), &gradient, &terms);
    let generator = moved(&mut optimizers[0], generator, gradient, &numbers, rate);
    Ok((TreePlayers { generator, critic }, numbers))
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
