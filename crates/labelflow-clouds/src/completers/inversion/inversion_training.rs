//! Training of the tree that generates shapes against a critic, on complete shapes alone.
//!
//! ```text
//! critic     mean D(generated) − mean D(shape) + λ (‖∂D/∂x‖ − 1)²,   x between a shape and a generated cloud; several updates
//! generator  −mean D(generated) + w · patch variance; one update
//! ```

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow::Result;
use labelflow::training::{flat_gradient, stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::patch_variance::patch_variance;
use super::shape_critic::ShapeCritic;
use super::tree_generator::TreeGenerator;
use crate::completers::scan_input::normal;
use crate::completers::stages::{
    NetworkSlots, Schedule, Stage, StepBatch, StepResult, TrainedNetwork, draw_clouds, fields, point_rows, to_batch,
};
use crate::completers::{CompletionDataset, ShapeInversion};

/// The generator and the critic.
#[derive(Module, Debug)]
pub struct TreeNetworks {
    pub(crate) generator: TreeGenerator,
    pub(crate) critic: ShapeCritic,
}

/// Both networks in training.
pub(crate) struct TreeStage<'a> {
    pub(crate) config: &'a ShapeInversion,
    pub(crate) dataset: &'a CompletionDataset,
    pub(crate) generator: TrainedNetwork<TreeGenerator>,
    pub(crate) critic: TrainedNetwork<ShapeCritic>,
}

impl Stage for TreeStage<'_> {
    type Model = TreeNetworks;

    fn terms(&self) -> &[&'static str] {
        &["adversarial", "patch variance", "discriminator", "penalty"]
    }

    fn schedule(&self) -> Schedule<'_> {
        self.config.training.schedule(self.dataset.n_shapes())
    }

    fn networks(&self) -> Vec<&NetworkSlots> {
        vec![&self.generator.slots, &self.critic.slots]
    }

    /// - shapes: `[n_clouds, n_points, 3]`
    /// - noise for all updates of the critic: `[1, discriminator_steps · n_clouds, d_noise]`
    /// - for all of those, how far from the shape towards the generated cloud: `[discriminator_steps · n_clouds, 1, 1]`
    /// - noise for the generator's update: `[1, n_clouds, d_noise]`
    fn draw(&self, step: usize, device: &Device) -> Result<StepBatch> {
        let &Self { config, dataset, .. } = self;
        let (n_clouds, batch_size) = (dataset.n_shapes(), config.training.batch_size);
        let n_points: usize = config.degrees.iter().product();
        let draw = |index: usize, _, rng: &mut ChaCha8Rng| Ok(vec![point_rows(&dataset.shape(index, n_points, rng)?)]);
        let names = ["tree order", "tree"];
        let shapes = draw_clouds(config.seed, names, n_clouds, batch_size, step, draw)?;
        let rng = &mut stream(config.seed, "tree noise", step as u64);
        let n_generated = config.discriminator_steps * shapes.len();
        let mut noise = |n: usize| {
            let values = TensorData::new(normal(n * config.d_noise, rng), [1, n, config.d_noise]);
            Tensor::from_data(values, device)
        };
        let (own_noise, noise) = (noise(shapes.len()), noise(n_generated));
        let shares: Vec<f32> = (0..n_generated).map(|_| rng.random_range(0.0..1.0)).collect();
        let shares = Tensor::from_data(TensorData::new(shares, [n_generated, 1, 1]), device);
        Ok([to_batch(&shapes, device), vec![noise, shares, own_noise]].concat())
    }

    /// Several updates of the critic, then one of the generator.
    fn step(&self, batch: StepBatch) -> StepResult {
        let config = self.config;
        let (mut generator, mut critic) = (self.generator.begin_step(), self.critic.begin_step());
        let [shapes, noise, shares, own_noise] = fields(batch);
        let own = generator.network();
        // The generator stays as it is while the critic is updated: its clouds for all of those updates are generated together.
        let generated = Tensor::from_inner(own.valid().forward(noise.inner()));
        let n_clouds = shapes.dims()[0];
        let mut of_critic = Vec::with_capacity(config.discriminator_steps);
        for update in 0..config.discriminator_steps {
            let part = |all: &Tensor<3>| all.clone().narrow(0, update * n_clouds, n_clouds);
            let now = critic.network();
            let (loss, penalty) = critic_loss(config, &now, shapes.clone(), part(&generated), part(&shares));
            critic.update(flat_gradient(&now, loss.backward()));
            of_critic.push(Tensor::stack::<2>(vec![loss.inner(), penalty.inner()], 1));
        }
        let of_critic = Tensor::cat(of_critic, 0).mean_dim(0);
        let [loss_of_critic, penalty] = [0, 1].map(|column| of_critic.clone().narrow(1, column, 1).reshape([1]));
        let generated = own.forward(own_noise);
        // Gradients flow through the critic, not into it.
        let seen = critic.network().no_grad().forward(generated.clone());
        let adversarial = seen.scores.mean().neg();
        let patches = patch_variance(generated, config.n_patches, config.n_neighbors);
        let loss = adversarial.clone() + patches.clone() * config.patch_weight;
        let length = generator.update(flat_gradient(&own, loss.backward()));
        let terms = [adversarial.inner(), patches.inner(), loss_of_critic, penalty];
        let networks = vec![generator.values(), critic.values()];
        StepResult::new(loss.inner(), length, terms, networks)
    }

    fn model(&self) -> TreeNetworks {
        TreeNetworks { generator: self.generator.network(), critic: self.critic.network() }
    }
}

/// What the critic minimises, and its penalty without weight.
fn critic_loss(
    config: &ShapeInversion,
    critic: &ShapeCritic,
    shapes: Tensor<3>,
    generated: Tensor<3>,
    share: Tensor<3>,
) -> (Tensor<1>, Tensor<1>) {
    let n_clouds = shapes.dims()[0];
    // No layer normalises over the batch: both kinds of clouds go through it together.
    let scores = critic.forward(Tensor::cat(vec![shapes.clone(), generated.clone()], 0)).scores;
    let of_shapes = scores.clone().narrow(0, 0, n_clouds).mean();
    let of_generated = scores.narrow(0, n_clouds, n_clouds).mean();
    let between = shapes.clone() + (generated - shapes) * share;
    let penalty = critic.penalty(between);
    (of_generated - of_shapes + penalty.clone() * config.penalty_weight, penalty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completers::CompletionLearner;

    /// A critic that knows nothing gives every cloud about the same: its loss is then the penalty alone, about λ as long as it is flat.
    #[test]
    fn losses_at_the_start() {
        let device = Device::flex().autodiff();
        let config = ShapeInversion::default().small();
        let networks = config.init(&device);
        let n_points = config.n_points();
        let noise = Tensor::<3>::ones([1, 2, config.d_noise], &device);
        let grown = networks.generator.forward(noise).detach();
        let shapes = Tensor::<3>::ones([2, n_points, 3], &device) * 0.2;
        let share = Tensor::<3>::ones([2, 1, 1], &device) * 0.5;
        let (loss, penalty) = critic_loss(&config, &networks.critic, shapes, grown, share);
        let value = |tensor: Tensor<1>| tensor.into_data().iter::<f64>().next().unwrap();
        let (loss, penalty) = (value(loss), value(penalty));
        assert!((0.9..=1.0).contains(&penalty), "{penalty}");
        assert!((loss - config.penalty_weight * penalty).abs() < 0.05, "{loss} and {penalty}");
    }
}
