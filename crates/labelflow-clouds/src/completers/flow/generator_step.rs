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

use super::completion_batch::DeviceBatch;
use super::completion_network::CompletionNetwork;
use super::completion_objective::{
    TERMS, cloud_terms, likelihood_slope, likelihood_term, term_weights, weighted_sum,
};
use super::discriminator::Discriminator;
use crate::completers::PointCloudCompleter;

/// What a step of the generator needs and leaves. All tensors are without gradients of their own.
pub(crate) struct GeneratorStep {
    /// `[1]`
    pub(crate) loss: Tensor<1>,
    /// In the order of [`TERMS`], `[1]` each, without their weights.
    pub(crate) terms: [Tensor<1>; TERMS.len()],
    /// Of all weights, as one vector.
    pub(crate) gradient: Tensor<1>,
    /// What the discriminator saw of the generated clouds, `[n_clouds, n_points, 3]`, on the device with gradients.
    pub(crate) seen: Tensor<3>,
}

/// Generates a batch of clouds, judges them, and follows the gradient back.
pub(crate) fn generator_step(
    config: &PointCloudCompleter,
    generator: &CompletionNetwork,
    discriminator: &Discriminator,
    batch: DeviceBatch,
    recorder: &StatisticsRecorder,
) -> GeneratorStep {
    let mode = Mode::Train(recorder);
    let weights = term_weights(config);
    let encoded = generator.encode(batch.partials.clone(), mode);
    let latent = encoded.latent.sample(batch.latent_noise);
    let condition = generator.condition(latent, encoded.features, mode);

    let couplings = generator.plain_couplings();
    let (generated, tape) = generator.generate_with_tape(
        &couplings,
        &condition.clone().inner(),
        batch.noise.inner(),
        recorder,
    );
    let [n_clouds, n_points, _] = generated.clouds.dims();
    let n_rows = n_clouds * n_points;

    let clouds = Tensor::<3>::from_inner(generated.clouds).require_grad();
    let seen = match batch.blur {
        Some(blur) => clouds.clone() + blur,
        None => clouds.clone(),
    };
    // Gradients flow through the judge, not into it; what it sees here is not what it learns from.
    let unused = StatisticsRecorder::default();
    let judge = discriminator.clone().no_grad();
    let scores = judge.forward(seen.clone(), Mode::Train(&unused));
    let judgement = cloud_terms(clouds.clone(), scores, batch.partials);
    let gradients = weighted_sum(&judgement, &weights[2..]).backward();
    let of_clouds = clouds.grad(&gradients).expect("every term depends on the clouds");
    let of_couplings = tape.backward(
        &couplings.maps,
        of_clouds.reshape([n_rows, N_AXES]),
        weights[0] * likelihood_slope(n_rows),
    );

    let divergence = encoded.latent.divergence();
    let of_condition = Tensor::from_inner(of_couplings.condition.clone());
    let before = divergence.clone() * weights[1] + (condition * of_condition).sum();
    let gradient = generator.flat_gradient(of_couplings, before.backward());

    let likelihood = likelihood_term(generated.log_prob);
    let [adversarial, hausdorff, fidelity] = judgement.map(Tensor::inner);
    let terms = [likelihood, divergence.inner(), adversarial, hausdorff, fidelity];
    let loss = weighted_sum(&terms, &weights);
    GeneratorStep { loss, terms, gradient, seen: seen.detach() }
}
