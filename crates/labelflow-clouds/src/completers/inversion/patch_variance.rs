//! How unevenly points lie on a cloud.
//!
//! ```text
//! r_s = mean distance from a seed s to its nearest neighbours,   loss = variance over seeds of r_s / mean r
//! ```
//!
//! Seeds lie far apart from each other. Mean and variance are taken over all seeds of all clouds.
//! (Zhang et al., 2021, <https://arxiv.org/abs/2104.13366>.)

use burn::tensor::{Device, Int, Tensor, TensorData};
use labelflow_flow::N_AXES;
use rayon::prelude::*;

use crate::completers::networks::{FAR, several_nearest};
use crate::geometry::{PointSet, farthest_points};

/// Keeps distances of points that coincide differentiable.
const SMALLEST_SQUARE: f64 = 1e-16;

/// The variance of clouds `[n_clouds, n_points, 3]`, `[1]`.
///
/// There are at most as many seeds as points, and fewer neighbours.
pub(crate) fn patch_variance(clouds: Tensor<3>, n_seeds: usize, n_neighbors: usize) -> Tensor<1> {
    let [n_clouds, n_points, _] = clouds.dims();
    let n_neighbors = n_neighbors.min(n_points - 1);
    let n_seeds = n_seeds.min(n_points);
    let plain = clouds.clone().inner();
    let seeds = seeds(plain.clone(), n_seeds);
    let of_seeds = Tensor::<2, Int>::from_inner(seeds.clone()).unsqueeze_dim::<3>(2);
    let of_seeds = of_seeds.expand([n_clouds, n_seeds, N_AXES]);
    let places = plain.clone().gather(1, of_seeds.clone().inner());
    // The nearest one is the seed itself.
    let nearest = several_nearest(places, plain, n_neighbors + 1);
    let nearest = nearest.narrow(2, 1, n_neighbors).reshape([n_clouds, n_seeds * n_neighbors]);
    let nearest = Tensor::<2, Int>::from_inner(nearest).unsqueeze_dim::<3>(2);
    let nearest = clouds.clone().gather(1, nearest.expand([n_clouds, n_seeds * n_neighbors, N_AXES]));
    let nearest = nearest.reshape([n_clouds, n_seeds, n_neighbors, N_AXES]);
    let seeds = clouds.gather(1, of_seeds).unsqueeze_dim::<4>(2);
    let squares = (nearest - seeds).square().sum_dim(3).squeeze_dim::<3>(3);
    let means = squares.clamp_min(SMALLEST_SQUARE).sqrt().mean_dim(2).reshape([-1]);
    let relative = means.clone() / means.mean();
    (relative - 1.0).square().mean()
}

/// Points of each cloud that lie far apart, `[n_clouds, n_seeds]`: the first one, then always the one farthest from those chosen already.
fn seeds(clouds: Tensor<3>, n_seeds: usize) -> Tensor<2, Int> {
    match clouds.device() == Device::flex() {
        true => on_host(clouds, n_seeds),
        false => on_device(clouds, n_seeds),
    }
}

/// All clouds at once, without a look at values: what a recording can repeat. Where only copies of chosen points are left, the first one is
/// chosen again.
fn on_device(clouds: Tensor<3>, n_seeds: usize) -> Tensor<2, Int> {
    let device = clouds.device();
    let [n_clouds, n_points, _] = clouds.dims();
    let mut next = Tensor::<2, Int>::zeros([n_clouds, 1], &device);
    let mut to_chosen = Tensor::<2>::full([n_clouds, n_points], FAR, &device);
    let mut chosen = Vec::with_capacity(n_seeds);
    for _ in 0..n_seeds {
        let place = next.clone().unsqueeze_dim::<3>(2).expand([n_clouds, 1, N_AXES]);
        let squares = (clouds.clone() - clouds.clone().gather(1, place)).square();
        let axis = |axis: usize| squares.clone().narrow(2, axis, 1).squeeze_dim::<2>(2);
        to_chosen = to_chosen.min_pair(axis(0) + axis(1) + axis(2));
        chosen.push(next);
        next = to_chosen.clone().argmax(1);
    }
    Tensor::cat(chosen, 1)
}

/// One after another, which is quickest where there is no queue to wait for.
fn on_host(clouds: Tensor<3>, n_seeds: usize) -> Tensor<2, Int> {
    let device: Device = clouds.device();
    let [n_clouds, n_points, _] = clouds.dims();
    let values: Vec<f32> = clouds.into_data().iter::<f32>().collect();
    let of_cloud = |points: &[f32]| -> Vec<i64> {
        let points = PointSet::new(points.as_chunks::<N_AXES>().0.to_vec());
        let seeds = points.and_then(|points| farthest_points(&points, n_seeds, 0));
        // Points that are no numbers lie anywhere; training then ends with an error about the variance.
        let seeds = seeds.unwrap_or_else(|_| (0..n_seeds).collect());
        seeds.into_iter().map(|seed| seed as i64).collect()
    };
    let seeds: Vec<Vec<i64>> = values.par_chunks(n_points * N_AXES).map(of_cloud).collect();
    Tensor::from_data(TensorData::new(seeds.concat(), [n_clouds, n_seeds]), &device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variance(xs: &[f32], n_seeds: usize, n_neighbors: usize) -> f64 {
        let values: Vec<f32> = xs.iter().flat_map(|&x| [x, 0.0, 0.0]).collect();
        let data = TensorData::new(values, [1, xs.len(), 3]);
        let cloud = Tensor::from_data(data, &Device::flex().autodiff());
        let loss = patch_variance(cloud, n_seeds, n_neighbors);
        loss.into_data().iter::<f64>().next().unwrap()
    }

    #[test]
    fn variances_by_hand() {
        // Seeds at 0 and 7, with nearest neighbours 1 and 3 away: 1/2 and 3/2 of the mean.
        assert!((variance(&[0.0, 1.0, 4.0, 7.0], 2, 1) - 0.25).abs() < 1e-6);
        // All at once, for any size: 0 → 1; 1 → 1; 4 → 3; 7 → 3.
        let (one, two) = (variance(&[0.0, 1.0, 4.0, 7.0], 9, 1), variance(&[0.0, 2.0, 8.0, 14.0], 9, 1));
        assert!((one - 0.25).abs() < 1e-6 && (two - 0.25).abs() < 1e-6);
        assert!(variance(&[0.0, 1.0, 10.0, 11.0, 20.0, 21.0], 6, 1) < 1e-10);
    }

    #[test]
    fn host_and_device_find_the_same_seeds() {
        let values: Vec<f32> = (0..2 * 40 * 3).map(|index| (0.7 * index as f32).sin()).collect();
        let clouds = TensorData::new(values, [2, 40, 3]);
        let clouds = Tensor::<3>::from_data(clouds, &Device::flex());
        for n_seeds in [1, 7, 40] {
            let host = on_host(clouds.clone(), n_seeds).into_data();
            assert_eq!(host, on_device(clouds.clone(), n_seeds).into_data());
        }
    }

    #[test]
    fn points_that_are_no_numbers_have_no_variance() {
        assert!(variance(&[0.0, f32::NAN, 4.0, 7.0], 2, 1).is_nan());
    }

    #[test]
    fn points_that_coincide_have_a_finite_gradient() {
        let device = Device::flex().autodiff();
        let cloud = Tensor::<3>::ones([1, 5, 3], &device).require_grad();
        let loss = patch_variance(cloud.clone(), 3, 2);
        let gradient = cloud.grad(&loss.backward()).unwrap();
        assert!(gradient.into_data().iter::<f32>().all(f32::is_finite));
    }
}
