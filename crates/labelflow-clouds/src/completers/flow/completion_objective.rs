//! What the generator and the discriminator minimise.
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

use std::f64::consts::LN_2;

use burn::tensor::Tensor;
use labelflow_flow::N_AXES;

use crate::completers::PointCloudCompleter;
use crate::completers::networks::nearest_distances;

/// The parts of the generator's loss.
pub(crate) const N_TERMS: usize = 5;
/// The discriminator's loss, and the parts of the generator's.
pub(crate) const NAMES: [&str; N_TERMS + 1] =
    ["discriminator", "likelihood", "divergence", "adversarial", "hausdorff", "fidelity"];

/// The weights of the parts of the generator's loss.
pub(crate) fn term_weights(config: &PointCloudCompleter) -> [f64; N_TERMS] {
    [
        config.likelihood_weight,
        config.divergence_weight,
        config.adversarial_weight,
        config.hausdorff_weight,
        config.fidelity_weight,
    ]
}

/// The negative log-likelihood in bits per dimension, from ln p of each point.
pub(crate) fn likelihood_term(log_prob: Tensor<1>) -> Tensor<1> {
    log_prob.mean() * (-1.0 / (N_AXES as f64 * LN_2))
}

/// What the likelihood term changes by when the log-determinant of one of `n_points` points does.
pub(crate) fn likelihood_slope(n_points: usize) -> f64 {
    1.0 / (n_points as f64 * N_AXES as f64 * LN_2)
}

/// The terms of clouds: by the discriminator's scores, `[n_clouds]`, and by their distance from the partial clouds.
pub(crate) fn cloud_terms(clouds: Tensor<3>, scores: Tensor<1>, partials: Tensor<3>) -> [Tensor<1>; 3] {
    let distances = nearest_distances(partials, clouds);
    [(scores - 1.0).square().mean(), distances.clone().max_dim(1).mean(), distances.mean()]
}

/// The sum of terms times their weights.
pub(crate) fn weighted_sum(terms: &[Tensor<1>], weights: &[f64]) -> Tensor<1> {
    let weighted = terms.iter().zip(weights).map(|(term, &weight)| term.clone() * weight);
    weighted.reduce(|sum, term| sum + term).expect("there are terms")
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
        // Five points of each of four clouds, with the log-probability of N(0, I₃) in nats.
        let nats = -1.5 * (2.0 * std::f64::consts::PI * 1f64.exp()).ln();
        let bits = likelihood_term(Tensor::full([20], nats, &device));
        assert!((number(bits) - 2.0471).abs() < 1e-4);
        let clouds = Tensor::<3>::zeros([4, 5, 3], &device);
        let terms = cloud_terms(clouds.clone(), scores(0.3), clouds + 0.1);
        let distance = 0.03f64.sqrt();
        let weights = term_weights(&PointCloudCompleter::default());
        let loss = number(weighted_sum(&terms, &weights[2..]));
        assert!((loss - 4.9 - 200.0 * distance).abs() < 1e-3, "{loss}");
        for (term, expected) in terms.map(number).into_iter().zip([0.49, distance, distance]) {
            assert!((term - expected).abs() < 1e-6, "{term} and {expected}");
        }
    }
}
