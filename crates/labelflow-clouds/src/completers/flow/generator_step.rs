//! The generator's loss and its gradient.
//!
//! The couplings' part of the gradient is written by hand, so the graph of autodiff is cut before and after them:
//!
//! ```text
//! partial clouds ──► features, latent ──► condition │ couplings, with a tape │ clouds ──► discriminator, distances
//!                                       ∂condition ◄┴─────── by hand ◄───────┴ ∂clouds
//! ```

use burn::module::Module;
use burn::tensor::Tensor;
use labelflow_flow::{Mode, N_AXES, StatisticsRecorder};

use super::completion_objective::{
    N_TERMS, cloud_terms, likelihood_slope, likelihood_term, term_weights, weighted_sum,
};
use super::flow_networks::{CompletionNetwork, Discriminator};
use crate::completers::PointCloudCompleter;
use crate::completers::stages::{StepBatch, fields};

/// What a step of the generator needs and leaves. All tensors are without gradients of their own.
pub(crate) struct GeneratorStep {
    /// `[1]`
    pub(crate) loss: Tensor<1>,
    /// In the order of [`term_weights`], `[1]` each, without their weights.
    pub(crate) terms: [Tensor<1>; N_TERMS],
    /// Of all weights, as one vector.
    pub(crate) gradient: Tensor<1>,
    /// What the discriminator saw of the generated clouds, `[n_clouds, n_points, 3]`, on the device with gradients.
    pub(crate) seen: Tensor<3>,
}

/// Generates a batch of clouds, evaluates them, and follows the gradient back. The fields of the batch are those of `draw_step`.
pub(crate) fn generator_step(
    config: &PointCloudCompleter,
    generator: &CompletionNetwork,
    discriminator: &Discriminator,
    mut batch: StepBatch,
    recorder: &StatisticsRecorder,
) -> GeneratorStep {
    let mode = Mode::Train(recorder);
    let weights = term_weights(config);
    let blur = if batch.len() > 4 { batch.pop() } else { None };
    let [partials, _, latent_noise, noise] = fields(batch);
    let encoded = generator.encode(partials.clone(), mode);
    let latent = encoded.latent.sample(latent_noise.squeeze_dim(1));
    let condition = generator.condition(latent, encoded.features, mode);

    let couplings = generator.plain_couplings();
    let (generated, tape) =
        generator.generate_with_tape(&couplings, &condition.clone().inner(), noise.inner(), recorder);
    let [n_clouds, n_points, _] = generated.clouds.dims();
    let n_rows = n_clouds * n_points;

    let clouds = Tensor::<3>::from_inner(generated.clouds).require_grad();
    let seen = match blur {
        Some(blur) => clouds.clone() + blur,
        None => clouds.clone(),
    };
    // Gradients flow through the discriminator, not into it; what it sees here is not what it learns from.
    let unused = StatisticsRecorder::default();
    let frozen = discriminator.clone().no_grad();
    let scores = frozen.forward(seen.clone(), Mode::Train(&unused));
    let of_clouds = cloud_terms(clouds.clone(), scores, partials);
    let gradients = weighted_sum(&of_clouds, &weights[2..]).backward();
    let slopes = clouds.grad(&gradients).expect("every term depends on the clouds");
    let of_couplings =
        tape.backward(&couplings.maps, slopes.reshape([n_rows, N_AXES]), weights[0] * likelihood_slope(n_rows));

    let divergence = encoded.latent.divergence();
    let of_condition = Tensor::from_inner(of_couplings.condition.clone());
    let before = divergence.clone() * weights[1] + (condition * of_condition).sum();
    let gradient = generator.flat_gradient(of_couplings, before.backward());

    let likelihood = likelihood_term(generated.log_prob);
    let [adversarial, hausdorff, fidelity] = of_clouds.map(Tensor::inner);
    let terms = [likelihood, divergence.inner(), adversarial, hausdorff, fidelity];
    let loss = weighted_sum(&terms, &weights);
    GeneratorStep { loss, terms, gradient, seen: seen.detach() }
}

#[cfg(test)]
mod tests {
    use burn::module::{Module, ModuleVisitor, Param};
    use burn::tensor::{Device, Tensor, TensorData};
    use labelflow_flow::n_parameters;

    use super::*;
    use crate::completers::CompletionLearner;
    use crate::completers::networks::discriminator_loss;
    use labelflow::training::{add_flat, flat_gradient};

    fn wave(n: usize, factor: f64) -> Vec<f64> {
        (0..n).map(|index| (1.0 + factor * index as f64).sin()).collect()
    }

    /// The derivative along a direction that moves one tensor of a module alone, for each of its tensors: by the gradient, and by central
    /// differences of the loss.
    fn compare_derivatives<M: Module>(module: &M, gradient: Tensor<1>, loss: impl Fn(&M) -> Tensor<1>) {
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
    fn gradients_of_both_networks_are_those_of_central_differences() {
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
        let networks = config.init(&device);
        let n_weights = n_parameters(&networks);
        // Away from the start, where the last layers are close to nothing.
        let change: Vec<f64> = wave(n_weights, 0.37).iter().map(|value| 0.2 * value).collect();
        let change = TensorData::new(change, [n_weights]);
        let networks = add_flat(networks, Tensor::from_data(change, &Device::flex()));
        let clouds = |n_points: usize, factor: f64| {
            let data = TensorData::new(wave(3 * n_points * 3, factor), [3, n_points, 3]);
            Tensor::<3>::from_data(data, &device)
        };
        let (partials, shapes, noise) = (clouds(6, 0.9), clouds(8, 1.3), clouds(8, 2.1));
        let latent_noise = TensorData::new(wave(6, 0.8), [3, 1, 2]);
        let latent_noise = Tensor::<3>::from_data(latent_noise, &device);
        let step = |generator: &CompletionNetwork| {
            let blur = noise.clone() * 0.1;
            let batch = [&partials, &shapes, &latent_noise, &noise, &blur].map(Tensor::clone).into();
            let recorder = StatisticsRecorder::default();
            generator_step(&config, generator, &networks.discriminator, batch, &recorder)
        };
        let GeneratorStep { gradient, seen, .. } = step(&networks.generator);
        compare_derivatives(&networks.generator, gradient, |generator| step(generator).loss);
        let loss = |discriminator: &Discriminator| {
            let unused = StatisticsRecorder::default();
            let score = |clouds: &Tensor<3>| discriminator.forward(clouds.clone(), Mode::Train(&unused));
            discriminator_loss(score(&shapes), score(&seen))
        };
        let gradient = flat_gradient(&networks.discriminator, loss(&networks.discriminator).backward());
        compare_derivatives(&networks.discriminator, gradient, loss);
    }
}
