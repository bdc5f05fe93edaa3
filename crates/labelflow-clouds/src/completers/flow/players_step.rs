//! What a step of both players computes from their weights and a batch.

use labelflow::training::flat_gradient;
use labelflow_flow::{Mode, StatisticsRecorder};

use super::completion_batch::DeviceBatch;
use super::completion_network::CompletionNetwork;
use super::completion_objective::discriminator_loss;
use super::discriminator::Discriminator;
use super::generator_step::generator_step;
use crate::completers::PointCloudCompleter;
use crate::completers::stages::player::Playing;
use crate::completers::stages::stage::StepResult;
use crate::completers::stages::step_numbers::step_numbers;

/// The discriminator's loss, beside the generator's terms in the records of epochs.
pub(crate) const DISCRIMINATOR: &str = "discriminator";

/// A step of both players. The discriminator sees the clouds that the generator made before its step.
pub(crate) fn players_step(
    config: &PointCloudCompleter,
    mut generator: Playing<CompletionNetwork>,
    mut discriminator: Playing<Discriminator>,
    batch: DeviceBatch,
) -> StepResult {
    let judge = discriminator.module();
    let recorder = StatisticsRecorder::default();
    let shapes = batch.shapes.clone();
    let value = generator_step(config, &generator.module(), &judge, batch, &recorder);
    let (of_shapes, of_clouds) = (StatisticsRecorder::default(), StatisticsRecorder::default());
    let loss = discriminator_loss(
        judge.forward(shapes, Mode::Train(&of_shapes)),
        judge.forward(value.seen, Mode::Train(&of_clouds)),
    );
    let length = generator.follow(value.gradient);
    discriminator.follow(flat_gradient(&judge, loss.backward()));
    generator.absorb(recorder);
    discriminator.absorb(of_shapes);
    discriminator.absorb(of_clouds);
    let terms = [loss.inner()].into_iter().chain(value.terms);
    StepResult {
        numbers: step_numbers(value.loss, length, terms),
        players: vec![generator.values(), discriminator.values()],
    }
}

#[cfg(test)]
mod tests {
    use burn::module::{Module, ModuleVisitor, Param};
    use burn::tensor::{Device, Tensor, TensorData};
    use labelflow_flow::n_parameters;

    use super::*;
    use crate::completers::Players;
    use crate::completers::flow::generator_step::GeneratorStep;
    use labelflow::training::add_flat;

    fn wave(n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|index| (1.0 + factor * index as f64).sin()).collect()
    }

    /// The derivative along a direction that moves one tensor of a module alone, for each of its tensors: by the gradient, and by central
    /// differences of the loss.
    fn compare_derivatives<M: Module>(
        module: &M,
        gradient: Tensor<1>,
        loss: impl Fn(&M) -> Tensor<1>,
    ) {
        const STEP: f64 = 1e-6;
        let device = Device::flex();
        let gradient: Vec<f64> = gradient.into_data().iter::<f64>().collect();
        let mut sizes = Sizes(Vec::new());
        module.visit(&mut sizes);
        let mut start = 0;
        for n_weights in sizes.0 {
            let mut direction = vec![0.0; gradient.len()];
            direction[start..start + n_weights].copy_from_slice(&wave(n_weights, 1.7));
            let along: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let at = |by: f64| {
                let change: Vec<f64> = direction.iter().map(|value| by * value).collect();
                let n_values = change.len();
                let change = Tensor::from_data(TensorData::new(change, [n_values]), &device);
                let moved = add_flat(module.clone(), change);
                loss(&moved).into_data().iter::<f64>().next().unwrap()
            };
            let numerical = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            let scale = numerical.abs().max(1.0);
            assert!((along - numerical).abs() < 1e-4 * scale, "{start}: {along} and {numerical}");
            start += n_weights;
        }
        assert_eq!(start, gradient.len());
    }

    struct Sizes(Vec<usize>);

    impl ModuleVisitor for Sizes {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if param.is_require_grad() {
                self.0.push(param.val().shape().num_elements());
            }
        }
    }

    #[test]
    fn gradients_of_both_players_are_those_of_central_differences() {
        let mut device = Device::flex().autodiff();
        let _ = device.configure(burn::tensor::FloatDType::F64);
        let config = PointCloudCompleter {
            n_steps: 2,
            d_hidden: 3,
            d_latent: 2,
            feature_widths: vec![4, 5],
            discriminator_widths: vec![4, 5],
            discriminator_head: vec![3],
            base_deviation: 0.5,
            ..PointCloudCompleter::default()
        };
        let players = Players::init(&config, &device);
        let n_weights = n_parameters(&players);
        // Away from the start, where the last layers are close to nothing.
        let change: Vec<f64> = wave(n_weights, 0.37).iter().map(|value| 0.2 * value).collect();
        let change = TensorData::new(change, [n_weights]);
        let players = add_flat(players, Tensor::from_data(change, &Device::flex()));
        let clouds = |n_points: usize, factor: f64| {
            let data = TensorData::new(wave(3 * n_points * 3, factor), [3, n_points, 3]);
            Tensor::<3>::from_data(data, &device)
        };
        let (partials, shapes, noise) = (clouds(6, 0.9), clouds(8, 1.3), clouds(8, 2.1));
        let latent_noise = TensorData::new(wave(6, 0.8), [3, 2]);
        let latent_noise = Tensor::<2>::from_data(latent_noise, &device);
        let step = |generator: &CompletionNetwork| {
            let batch = DeviceBatch {
                partials: partials.clone(),
                shapes: shapes.clone(),
                latent_noise: latent_noise.clone(),
                noise: noise.clone(),
                blur: Some(noise.clone() * 0.1),
            };
            let recorder = StatisticsRecorder::default();
            generator_step(&config, generator, &players.discriminator, batch, &recorder)
        };
        let GeneratorStep { gradient, seen, .. } = step(&players.generator);
        compare_derivatives(&players.generator, gradient, |generator| step(generator).loss);
        let loss = |discriminator: &Discriminator| {
            let unused = StatisticsRecorder::default();
            let score =
                |clouds: &Tensor<3>| discriminator.forward(clouds.clone(), Mode::Train(&unused));
            discriminator_loss(score(&shapes), score(&seen))
        };
        let gradient =
            flat_gradient(&players.discriminator, loss(&players.discriminator).backward());
        compare_derivatives(&players.discriminator, gradient, loss);
    }
}
