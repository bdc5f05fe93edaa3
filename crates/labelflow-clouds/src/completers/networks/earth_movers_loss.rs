//! The earth mover's distance as a loss: the annealed matching of
//! [`AnnealedMatching`](crate::metrics::AnnealedMatching), a batch of clouds at a time, where the tensors are.
//!
//! The gradient takes the matching m as given, and then the cost of a cloud is a sum over its points,
//!
//! ```text
//! Σ_ij m_ij ‖a_i − b_j‖² = Σ_i ( ‖a_i‖² Σ_j m_ij − 2 a_i · Σ_j m_ij b_j + Σ_j m_ij ‖b_j‖² )
//! ```
//!
//! so that the matching itself is never kept: five sums per point are.

use burn::tensor::Tensor;

use super::nearest_points::{some_at_once, squared_distances};

/// Keeps quotients finite.
const TINY: f64 = 1e-9;
/// Below this a distance has no direction; also what rounding leaves of sums whose difference is nothing.
const SMALLEST_SQUARE: f64 = 1e-7;

/// What it costs to turn clouds into others of as many points: squared distances, summed over points and averaged over clouds.
///
/// # Shapes
///
/// - clouds, targets: `[n_clouds, n_points, 3]`
/// - returns: `[1]`
pub(crate) fn earth_movers_loss(clouds: Tensor<3>, targets: Tensor<3>) -> Tensor<1> {
    let n_clouds = clouds.dims()[0];
    costs_of_points(clouds, targets).sum() / n_clouds as f64
}

/// As [`earth_movers_loss`], but the root of each point's cost, and their mean: about how far a point is moved.
pub(crate) fn earth_movers_distance(clouds: Tensor<3>, targets: Tensor<3>) -> Tensor<1> {
    costs_of_points(clouds, targets).clamp_min(SMALLEST_SQUARE).sqrt().mean()
}

/// Σ_j m_ij ‖a_i − b_j‖² of each point, `[n_clouds, n_points, 1]`.
fn costs_of_points(clouds: Tensor<3>, targets: Tensor<3>) -> Tensor<3> {
    let parts = some_at_once(&clouds.clone().inner(), &targets.inner(), sums_over_matching);
    let sums = Tensor::<3>::from_inner(Tensor::cat(parts, 0));
    let given = sums.clone().narrow(2, 0, 1);
    let pulls = sums.clone().narrow(2, 1, 3);
    let squares = sums.narrow(2, 4, 1);
    let cost = clouds.clone().square().sum_dim(2) * given - (clouds * pulls).sum_dim(2) * 2.0;
    cost + squares
}

/// For each point, what it gives: Σ m, Σ m b (three values) and Σ m ‖b‖², `[n_clouds, n_points, 5]`. No gradients.
fn sums_over_matching(clouds: Tensor<3>, targets: Tensor<3>) -> Tensor<3> {
    let [n_clouds, n_points, _] = clouds.dims();
    let ones = Tensor::<3>::ones([n_clouds, n_points, 1], &clouds.device());
    let distances = squared_distances(clouds, targets.clone());
    let norms = targets.clone().square().sum_dim(2);
    let to_sum = Tensor::cat(vec![ones.clone(), targets, norms], 2);
    let (mut left, mut free) = (ones.clone(), ones);
    let mut sums = to_sum.zeros_like();
    for level in (-1..=7).rev().map(|exponent| -(4f64.powi(exponent))).chain([0.0]) {
        let weights = (distances.clone() * level).exp();
        let ratio = left.clone() / (weights.clone().matmul(free.clone()) + TINY);
        let wanted = ratio.clone().swap_dims(1, 2).matmul(weights.clone()).swap_dims(1, 2);
        let wanted = wanted * free.clone();
        let share = free.clone() * (free.clone() / (wanted.clone() + TINY)).clamp_max(1.0);
        free = (free - wanted).clamp_min(0.0);
        let moved = weights.matmul(to_sum.clone() * share) * ratio;
        left = (left - moved.clone().narrow(2, 0, 1)).clamp_min(0.0);
        sums = sums + moved;
    }
    sums
}

#[cfg(test)]
mod tests {
    use crate::geometry::PointSet;
    use crate::metrics::AnnealedMatching;
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn waves(n_points: usize, factor: f32) -> Vec<[f32; 3]> {
        let value = |index: usize| 0.5 * (factor * index as f32).sin();
        (0..n_points).map(|index| std::array::from_fn(|axis| value(3 * index + axis + 1))).collect()
    }

    fn tensor(clouds: &[Vec<[f32; 3]>], device: &Device) -> Tensor<3> {
        let values: Vec<f32> = clouds.iter().flat_map(|cloud| cloud.as_flattened()).copied().collect();
        let shape = [clouds.len(), clouds[0].len(), 3];
        Tensor::from_data(TensorData::new(values, shape), device)
    }

    /// Clouds far from each other beside what there is to match: whoever is matched with whom moves about as far.
    #[test]
    fn distances_of_clouds_that_are_moved() {
        let device = Device::flex().autodiff();
        let cloud: Vec<[f32; 3]> = waves(30, 1.3).iter().map(|p| p.map(|x| 0.01 * x)).collect();
        let far: Vec<[f32; 3]> = cloud.iter().map(|p| [p[0] + 2.0, p[1], p[2]]).collect();
        let points = tensor(&[cloud], &device).require_grad();
        let value = |loss: &Tensor<1>| loss.clone().into_data().iter::<f64>().next().unwrap();
        let loss = earth_movers_distance(points.clone(), tensor(&[far], &device));
        assert!((value(&loss) - 2.0).abs() < 0.02, "{}", value(&loss));
        // Every point is pulled with the same force.
        let gradient = points.grad(&loss.backward()).unwrap();
        for pull in gradient.into_data().iter::<f64>().step_by(3) {
            assert!((pull * 30.0 + 1.0).abs() < 0.02, "{pull}");
        }
        let cloud = waves(30, 1.3);
        let points = tensor(std::slice::from_ref(&cloud), &device).require_grad();
        let same = earth_movers_distance(points.clone(), tensor(&[cloud], &device));
        assert!(value(&same) < 5e-3, "{}", value(&same));
        let gradient = points.grad(&same.backward()).unwrap();
        assert!(gradient.into_data().iter::<f32>().all(f32::is_finite));
    }

    #[test]
    fn cost_and_gradient_are_those_of_the_matching_on_the_host() {
        let device = Device::flex().autodiff();
        for n_points in [1, 7, 40] {
            let clouds = [waves(n_points, 1.3), waves(n_points, 0.7)];
            let targets = [waves(n_points, 2.9), waves(n_points, 0.71)];
            let points = tensor(&clouds, &device).require_grad();
            let loss = earth_movers_loss(points.clone(), tensor(&targets, &device));
            let gradient = points.grad(&loss.backward()).unwrap();
            let gradient: Vec<f64> = gradient.into_data().iter::<f64>().collect();
            let loss = loss.into_data().iter::<f64>().next().unwrap();
            let matchings: Vec<AnnealedMatching> = clouds
                .into_iter()
                .zip(targets)
                .map(|(cloud, target)| {
                    let [cloud, target] = [cloud, target].map(|one| PointSet::new(one).unwrap());
                    AnnealedMatching::between(&cloud, &target).unwrap()
                })
                .collect();
            let expected = matchings.iter().map(|matching| matching.cost).sum::<f64>() / 2.0;
            assert!((loss - expected).abs() < 1e-4 * expected + 1e-5, "{loss} and {expected}");
            let slopes = matchings.iter().flat_map(|matching| matching.gradient.as_flattened());
            for (found, expected) in gradient.iter().zip(slopes) {
                assert!((found - expected / 2.0).abs() < 1e-4, "{found} and {expected}");
            }
        }
    }
}
