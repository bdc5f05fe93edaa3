//! Searches, for each scan, the noise and the weights whose generated cloud has the scan in it.
//!
//! ```text
//! min over z and G of  CD(masked G(z), x) + w_f · mean |f(masked G(z)) − f(x)| + w_z · mean z² / 2
//! ```
//!
//! The mask keeps the generated points that are among the few nearest of some scanned point: what the scan does not show is left alone. f are the
//! features of the critic. Every completion has a generator of its own, which starts as the trained one; many are changed at a time,
//! since they have nothing to do with each other.

use burn::module::{Module, Param};
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor};
use labelflow::training::{Adam, FlatModule, flat_gradient, flat_gradients};
use labelflow_flow::{N_AXES, Recording, n_parameters};

use super::inversion_training::TreeNetworks;
use super::tree_generator::TreeGenerator;
use crate::completers::Inversion;
use crate::completers::networks::{nearest_squares, several_nearest};
use crate::geometry::farthest_apart;

/// The noise of each completion, `[n_scans, 1, d_noise]`.
#[derive(Module, Debug)]
struct Latents {
    noise: Param<Tensor<3>>,
}

/// The generated clouds of scans after the search.
///
/// # Shapes
///
/// - noise: where the search begins, `[n_scans, 1, d_noise]`
/// - scans: `[n_scans, n_partial_points, 3]`
/// - returns: `[n_scans, n_points, 3]`
pub(crate) fn invert(settings: &Inversion, networks: &TreeNetworks, noise: Tensor<3>, scans: Tensor<3>) -> Tensor<3> {
    let device = noise.device().autodiff();
    let [n_scans, _, d_noise] = noise.dims();
    let latents = Latents { noise: Param::from_tensor(Tensor::from_inner(noise)) };
    let generator: TreeGenerator = networks.generator.clone().fork(&device);
    let generator = generator.copies(n_scans);
    let inner = device.clone().inner();
    let adam = |n: usize| Adam::new(n, &inner).with_betas(settings.betas);
    let of_weights = adam(n_parameters(&generator));
    let mut latents = FlatModule::new(latents, adam(n_scans * d_noise));
    let mut generator = FlatModule::new(generator, of_weights);
    let critic = networks.critic.clone().fork(&device).no_grad();
    let scans = Tensor::from_inner(scans);
    let wanted = critic.forward(scans.clone()).features;
    let (now_latents, now_generator) = (latents.current(), generator.current());
    // Each scan has its own loss, and their sum no weight in common.
    let mut gradients = Recording::new(&device, || {
        let (latents, generator) = (now_latents(), now_generator());
        let clouds = generator.forward(latents.noise.val());
        let masked = Masked::of(clouds, &scans, settings.n_mask_neighbors);
        let features = critic.forward(masked.points).features;
        let features = (features - wanted.clone()).abs().mean_dim(1);
        let prior = latents.noise.val().square().mean_dim(2).squeeze_dim::<2>(2) * 0.5;
        let loss = masked.chamfer + features * settings.feature_weight + prior * settings.prior_weight;
        let mut gradients = loss.sum().backward();
        let of_noise = Tensor::cat(flat_gradients(&latents, &mut gradients), 0);
        [of_noise, flat_gradient(&generator, gradients)]
    });
    for (&noise_rate, &weight_rate) in settings.noise_rates.iter().zip(&settings.weight_rates) {
        for _ in 0..settings.n_iterations {
            let [of_noise, of_weights] = gradients.repeat().clone();
            latents.step(of_noise, noise_rate);
            generator.step(of_weights, weight_rate);
        }
    }
    generator.module().valid().forward(latents.module().noise.val().inner())
}

/// What a scan shows of a cloud.
struct Masked {
    /// The points of the mask; the others are copies of one of them, which no maximum heeds. `[n_scans, n_points, 3]`
    points: Tensor<3>,
    /// The Chamfer distance between the points of the mask and the scan: squares, the mean each way, summed. `[n_scans, 1]`
    chamfer: Tensor<2>,
}

impl Masked {
    fn of(clouds: Tensor<3>, scans: &Tensor<3>, n_neighbors: usize) -> Self {
        let [n_scans, n_points, _] = clouds.dims();
        let n_partial = scans.dims()[1];
        let device: Device = clouds.device().inner();
        let n_neighbors = n_neighbors.min(n_points);
        let nearest = several_nearest(scans.clone().inner(), clouds.clone().inner(), n_neighbors);
        let shown = nearest.clone().reshape([n_scans, n_partial * n_neighbors]);
        let ones = Tensor::<2>::ones([n_scans, n_partial * n_neighbors], &device);
        let counts = Tensor::<2>::zeros([n_scans, n_points], &device);
        let mask = counts.scatter(1, shown, ones, IndexingUpdateOp::Add).clamp_max(1.0);

        // Each point is itself where the mask has it, else the one that the first scanned point is nearest to.
        let own = Tensor::<1, Int>::arange(0..n_points as i64, &device).unsqueeze_dim::<2>(0);
        let other = nearest.narrow(1, 0, 1).narrow(2, 0, 1).squeeze_dim::<2>(2);
        let whole = mask.clone().int();
        let indices = own * whole.clone() + other * (whole.neg() + 1);
        let indices = Tensor::<2, Int>::from_inner(indices).unsqueeze_dim::<3>(2);
        let points = clouds.clone().gather(1, indices.expand([n_scans, n_points, N_AXES]));

        // A scanned point's nearest is in the mask: to find it, all may be looked at.
        let there = nearest_squares(scans.clone(), clouds.clone()).mean_dim(1);
        let back = nearest_squares(clouds, scans.clone());
        let mask = Tensor::<2>::from_inner(mask);
        let back = (back * mask.clone()).sum_dim(1) / mask.sum_dim(1);
        Self { points, chamfer: there + back }
    }
}

/// The indices of `n_wanted` of several rows that lie far apart, the first one among them.
pub(crate) fn farthest_rows(rows: &[Vec<f32>], n_wanted: usize) -> Vec<usize> {
    let square =
        |one: usize, other: usize| rows[one].iter().zip(&rows[other]).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
    farthest_apart(rows.len(), n_wanted, 0, square)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;

    fn line(xs: &[f32], device: &Device) -> Tensor<3> {
        let values: Vec<f32> = xs.iter().flat_map(|&x| [x, 0.0, 0.0]).collect();
        Tensor::from_data(TensorData::new(values, [1, xs.len(), 3]), device)
    }

    #[test]
    fn the_mask_keeps_what_the_scan_shows() {
        let device = Device::flex().autodiff();
        let (cloud, scan) = (line(&[0.0, 9.0, 1.0, 3.0], &device), line(&[0.5, 0.75], &device));
        let masked = Masked::of(cloud, &scan, 2);
        let points: Vec<f32> = masked.points.into_data().iter::<f32>().step_by(3).collect();
        // 0 and 1 are the two nearest of both; the nearest of 0.5 is 0, by its index.
        assert_eq!(points, [0.0, 0.0, 1.0, 0.0]);
        // From the scan (0.5² + 0.25²) / 2, from the two points (0.5² + 0.25²) / 2.
        let chamfer = masked.chamfer.into_data().iter::<f64>().next().unwrap();
        assert!((chamfer - 0.3125).abs() < 1e-6, "{chamfer}");
    }

    #[test]
    fn rows_that_lie_far_apart() {
        let rows: Vec<Vec<f32>> = [0.0, 1.0, 10.0, 6.0, 6.0].into_iter().map(|x| vec![x, 2.0]).collect();
        assert_eq!(farthest_rows(&rows, 3), [0, 2, 3]);
        assert_eq!(farthest_rows(&rows, 9), [0, 2, 3, 1, 4]);
    }
}
