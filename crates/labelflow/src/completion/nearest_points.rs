//! Distances from the points of a partial cloud to the nearest points of a generated one.
//!
//! The search sees squared distances from direct differences and has no gradient; the distance to the point that it found has one.
//! Nowhere is there an array of n × m × 3 differences.

use burn::tensor::{Device, Int, Tensor, TensorData};
use labelflow_flow::N_AXES;
use rayon::prelude::*;

/// Below this a distance has no direction.
const SMALLEST_SQUARE: f64 = 1e-16;
/// The most squared distances that a device holds at once.
const DISTANCES_AT_ONCE: usize = 1 << 27;

/// The distance from each partial point to the nearest generated point of its cloud.
///
/// # Shapes
///
/// - partials: `[n_clouds, n_partial_points, 3]`, clouds: `[n_clouds, n_points, 3]`
/// - returns: `[n_clouds, n_partial_points]`
pub(crate) fn nearest_distances(partials: Tensor<3>, clouds: Tensor<3>) -> Tensor<2> {
    let [n_clouds, n_partial, _] = partials.dims();
    let indices = nearest_indices(partials.clone().inner(), clouds.clone().inner());
    let indices = Tensor::<2, Int>::from_inner(indices).unsqueeze_dim::<3>(2);
    let nearest = clouds.gather(1, indices.expand([n_clouds, n_partial, N_AXES]));
    let squares = (partials - nearest).square().sum_dim(2).squeeze_dim::<2>(2);
    squares.clamp_min(SMALLEST_SQUARE).sqrt()
}

/// The index of the nearest generated point of each partial point; the lowest one on ties.
fn nearest_indices(partials: Tensor<3>, clouds: Tensor<3>) -> Tensor<2, Int> {
    if partials.device() == Device::flex() {
        return on_host(partials, clouds);
    }
    let [n_clouds, n_partial, _] = partials.dims();
    let n_points = clouds.dims()[1];
    let at_once = (DISTANCES_AT_ONCE / (n_partial * n_points).max(1)).max(1);
    let parts = (0..n_clouds).step_by(at_once).map(|start| {
        let n = at_once.min(n_clouds - start);
        on_device(partials.clone().narrow(0, start, n), clouds.clone().narrow(0, start, n))
    });
    Tensor::cat(parts.collect(), 0)
}

fn on_device(partials: Tensor<3>, clouds: Tensor<3>) -> Tensor<2, Int> {
    let to_columns = clouds.swap_dims(1, 2);
    let square = |axis: usize| {
        let rows = partials.clone().narrow(2, axis, 1);
        (rows - to_columns.clone().narrow(1, axis, 1)).square()
    };
    (square(0) + square(1) + square(2)).argmin(2).squeeze_dim::<2>(2)
}

fn on_host(partials: Tensor<3>, clouds: Tensor<3>) -> Tensor<2, Int> {
    let device = partials.device();
    let [n_clouds, n_partial, _] = partials.dims();
    let n_points = clouds.dims()[1];
    let numbers = |tensor: Tensor<3>| tensor.into_data().iter::<f32>().collect::<Vec<f32>>();
    let (partials, clouds) = (numbers(partials), numbers(clouds));
    let indices: Vec<i64> = partials
        .par_chunks(n_partial * N_AXES)
        .zip(clouds.par_chunks(n_points * N_AXES))
        .flat_map_iter(|(partial, cloud)| {
            let axes: [Vec<f32>; N_AXES] = std::array::from_fn(|axis| {
                cloud.iter().skip(axis).step_by(N_AXES).copied().collect()
            });
            partial.as_chunks::<N_AXES>().0.iter().map(move |point| nearest(point, &axes) as i64)
        })
        .collect();
    Tensor::from_data(TensorData::new(indices, [n_clouds, n_partial]), &device)
}

/// Two passes, both without a branch in their loop: the smallest square, then where it is.
fn nearest(point: &[f32; N_AXES], axes: &[Vec<f32>; N_AXES]) -> usize {
    const LANES: usize = 16;
    let square = |index: usize| {
        let [x, y, z] = std::array::from_fn(|axis| axes[axis][index] - point[axis]);
        x * x + y * y + z * z
    };
    let n_points = axes[0].len();
    let squares: Vec<f32> = (0..n_points).map(square).collect();
    let mut lanes = [f32::INFINITY; LANES];
    let (blocks, rest) = squares.as_chunks::<LANES>();
    for block in blocks {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane = if value < *lane { value } else { *lane };
        }
    }
    let smallest = lanes.iter().chain(rest).copied().fold(f32::INFINITY, f32::min);
    // None is smallest when a coordinate is not a number; training then ends with an error about the loss.
    squares.iter().position(|&value| value == smallest).unwrap_or(0)
}
