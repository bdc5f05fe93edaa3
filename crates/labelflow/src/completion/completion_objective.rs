//! What the two players minimise.
//!
//! ```text
//! generator      w_nll · NLL + w_kl · KL + λ₁ · mean (D(y) − 1)² + λ₂ · d_H(x, y) + λ₃ · d̄(x, y)
//! discriminator  mean (D(shape) − 1)² + mean D(y)²
//! ```
//!
//! NLL is in bits per dimension. d_H is the largest distance from a partial point to the generated cloud and d̄ the mean one; both
//! are averaged over clouds. λ₃ is 0 in the paper.

// Deviation: as printed, the likelihood is summed over all points. With 2048 of them it then outweighs everything else, and a cloud
// shrinks to nothing; bits per dimension are the unit that the authors' code has for classification.

use burn::tensor::Tensor;
use labelflow_flow::N_AXES;
use std::f64::consts::LN_2;

use super::completion_network::Generated;
use super::latent_encoder::Latent;
use super::nearest_points::nearest_distances;
use crate::PointCloudCompleter;

/// The generator's loss and its parts without their weights.
#[derive(Debug)]
pub(crate) struct GeneratorLoss {
    /// `[1]`
    pub(crate) loss: Tensor<1>,
    /// In the order of [`TERMS`], `[1]` each.
    pub(crate) terms: [Tensor<1>; TERMS.len()],
}

/// The parts of the generator's loss.
pub(crate) const TERMS: [&str; 5] =
    ["likelihood", "divergence", "adversarial", "hausdorff", "fidelity"];

/// The generator's loss, given the discriminator's scores of its clouds, `[n_clouds]`.
pub(crate) fn generator_loss(
    config: &PointCloudCompleter,
    generated: &Generated,
    latent: &Latent,
    scores: Tensor<1>,
    partials: Tensor<3>,
) -> GeneratorLoss {
    let distances = nearest_distances(partials, generated.clouds.clone());
    let terms = [
        generated.log_prob.clone().mean() * (-1.0 / (N_AXES as f64 * LN_2)),
        latent.divergence(),
        (scores - 1.0).square().mean(),
        distances.clone().max_dim(1).mean(),
        distances.mean(),
    ];
    let weights = [
        config.likelihood_weight,
        config.divergence_weight,
        config.adversarial_weight,
        config.hausdorff_weight,
        config.fidelity_weight,
    ];
    let weighted = terms.iter().zip(weights).map(|(term, weight)| term.clone() * weight);
    let loss = weighted.reduce(|sum, term| sum + term).expect("there are five terms");
    GeneratorLoss { loss, terms }
}

/// The discriminator's loss, from its scores of complete shapes and of generated clouds.
pub(crate) fn discriminator_loss(of_shapes: Tensor<1>, of_generated: Tensor<1>) -> Tensor<1> {
    (of_shapes - 1.0).square().mean() + of_generated.square().mean()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn number(tensor: Tensor<1>) -> f64 {
        tensor.into_data().iter::<f64>().next().unwrap()
    }

    #[test]
    fn losses_by_hand() {
        let device = Device::flex();
        let scores = |value: f32| Tensor::<1>::from_floats([value; 4], &device);
        let loss = discriminator_loss(scores(0.8), scores(0.3));
        assert!((number(loss) - 0.13).abs() < 1e-6);
        let zeros = Tensor::<2>::zeros([4, 3], &device);
        let latent = Latent { mean: zeros.clone(), log_variance: zeros };
        let clouds = Tensor::<3>::zeros([4, 5, 3], &device);
        // Five points of each of four clouds, with the log-probability of N(0, I₃) in nats.
        let log_prob =
            Tensor::full([20], -1.5 * (2.0 * std::f64::consts::PI * 1f64.exp()).ln(), &device);
        let generated = Generated { clouds: clouds.clone(), log_prob };
        let config = PointCloudCompleter::default();
        let value = generator_loss(&config, &generated, &latent, scores(0.3), clouds + 0.1);
        let terms = value.terms.map(number);
        let distance = 0.03f64.sqrt();
        for (term, expected) in terms.into_iter().zip([2.0471, 0.0, 0.49, distance, distance]) {
            assert!((term - expected).abs() < 1e-4, "{terms:?}");
        }
        let expected = 2.0471 + 10.0 * 0.49 + 200.0 * distance;
        assert!((number(value.loss) - expected).abs() < 1e-3);
    }
}
