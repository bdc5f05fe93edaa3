//! Distances from the points of a partial cloud to the nearest points of a generated one, and the several points nearest to places.
//!
//! The search sees squared distances from direct differences and has no gradient; the distance to the point that it found has one.
//! Nowhere is there an array of n × m × 3 differences.

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};
use labelflow_flow::N_AXES;
use rayon::prelude::*;

/// Below this a distance has no direction.
const SMALLEST_SQUARE: f64 = 1e-16;
/// The most squared distances that a device holds at once.
const DISTANCES_AT_ONCE: usize = 1 << 27;
/// Farther than anything in a frame.
pub(crate) const FAR: f64 = 1e9;

/// The distance from each partial point to the nearest generated point of its cloud.
///
/// # Shapes
///
/// - partials: `[n_clouds, n_partial_points, 3]`, clouds: `[n_clouds, n_points, 3]`
/// - returns: `[n_clouds, n_partial_points]`
pub(crate) fn nearest_distances(partials: Tensor<3>, clouds: Tensor<3>) -> Tensor<2> {
    nearest_squares(partials, clouds).clamp_min(SMALLEST_SQUARE).sqrt()
}

/// The squared distance from each partial point to the nearest generated point of its cloud; shapes as of [`nearest_distances`].
pub(crate) fn nearest_squares(partials: Tensor<3>, clouds: Tensor<3>) -> Tensor<2> {
    let [n_clouds, n_partial, _] = partials.dims();
    let indices = several_nearest(partials.clone().inner(), clouds.clone().inner(), 1);
    let indices = Tensor::<3, Int>::from_inner(indices);
    let nearest = clouds.gather(1, indices.expand([n_clouds, n_partial, N_AXES]));
    (partials - nearest).square().sum_dim(2).squeeze_dim::<2>(2)
}

/// What `find` gives for the clouds, as many at once as a device holds distances of.
pub(super) fn some_at_once<T>(
    places: &Tensor<3>,
    clouds: &Tensor<3>,
    find: impl Fn(Tensor<3>, Tensor<3>) -> T,
) -> Vec<T> {
    let [n_clouds, n_places, _] = places.dims();
    let at_once = (DISTANCES_AT_ONCE / (n_places * clouds.dims()[1]).max(1)).max(1);
    let find_part = |start: usize| {
        let part = |all: &Tensor<3>| all.clone().narrow(0, start, at_once.min(n_clouds - start));
        find(part(places), part(clouds))
    };
    (0..n_clouds).step_by(at_once).map(find_part).collect()
}

/// The indices of the nearest points of each place, the nearest first, lower indices first on ties. No gradients.
///
/// # Shapes
///
/// - places: `[n_clouds, n_places, 3]`, clouds: `[n_clouds, n_points, 3]` with at least as many points as wanted
/// - returns: `[n_clouds, n_places, n_wanted]`
pub(crate) fn several_nearest(places: Tensor<3>, clouds: Tensor<3>, n_wanted: usize) -> Tensor<3, Int> {
    match places.device() == Device::flex() {
        true => several_on_host(places, clouds, n_wanted),
        false => {
            let several = |places, clouds| several_on_device(places, clouds, n_wanted);
            Tensor::cat(some_at_once(&places, &clouds, several), 0)
        }
    }
}

/// Always the nearest that is left.
fn several_on_device(places: Tensor<3>, clouds: Tensor<3>, n_wanted: usize) -> Tensor<3, Int> {
    let device = places.device();
    let mut squares = squared_distances(places, clouds);
    let mut found = Vec::with_capacity(n_wanted);
    for rank in 1..=n_wanted {
        let nearest = squares.clone().argmin(2);
        if rank < n_wanted {
            let far = Tensor::full(nearest.dims(), FAR, &device);
            squares = squares.scatter(2, nearest.clone(), far, IndexingUpdateOp::Add);
        }
        found.push(nearest);
    }
    Tensor::cat(found, 2)
}

fn several_on_host(places: Tensor<3>, clouds: Tensor<3>, n_wanted: usize) -> Tensor<3, Int> {
    on_host(places, clouds, n_wanted, |places, cloud| {
        if n_wanted == 1 {
            let axes: [Vec<f32>; N_AXES] = std::array::from_fn(|axis| cloud.iter().map(|point| point[axis]).collect());
            return places.iter().map(|place| nearest(place, &axes)).collect();
        }
        let found = places.iter().flat_map(|place| nearest_of(place, cloud, n_wanted));
        found.map(|(_, index)| index).collect()
    })
}

/// The squared distance of each place from each point of its cloud, from direct differences.
///
/// # Shapes
///
/// - places: `[n_clouds, n_places, 3]`, clouds: `[n_clouds, n_points, 3]`
/// - returns: `[n_clouds, n_places, n_points]`
pub(crate) fn squared_distances(places: Tensor<3>, clouds: Tensor<3>) -> Tensor<3> {
    let to_columns = clouds.swap_dims(1, 2);
    let square = |axis: usize| {
        let rows = places.clone().narrow(2, axis, 1);
        (rows - to_columns.clone().narrow(1, axis, 1)).square()
    };
    square(0) + square(1) + square(2)
}

/// The indices that `find` gives of the points of each cloud, so many of each of its places.
fn on_host(
    places: Tensor<3>,
    clouds: Tensor<3>,
    n_each: usize,
    find: impl Fn(&[[f32; 3]], &[[f32; 3]]) -> Vec<usize> + Sync,
) -> Tensor<3, Int> {
    let (device, [n_clouds, n_places, _]) = (places.device(), places.dims());
    let n_points = clouds.dims()[1];
    let [places, clouds]: [Vec<f32>; 2] = [places, clouds].map(|tensor| tensor.into_data().iter::<f32>().collect());
    let indices: Vec<i64> = places
        .par_chunks(n_places * N_AXES)
        .zip(clouds.par_chunks(n_points * N_AXES))
        .flat_map_iter(|(places, cloud)| find(places.as_chunks().0, cloud.as_chunks().0))
        .map(|index| index as i64)
        .collect();
    Tensor::from_data(TensorData::new(indices, [n_clouds, n_places, n_each]), &device)
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

/// A short sorted list, into which few points get.
fn nearest_of(place: &[f32; 3], cloud: &[[f32; 3]], n_wanted: usize) -> Vec<(f32, usize)> {
    let mut found = vec![(f32::INFINITY, 0); n_wanted];
    for (index, point) in cloud.iter().enumerate() {
        let [x, y, z] = std::array::from_fn(|axis| point[axis] - place[axis]);
        let square = x * x + y * y + z * z;
        if square < found[n_wanted - 1].0 {
            let rank = found.partition_point(|&(other, _)| other <= square);
            found[rank..].rotate_right(1);
            found[rank] = (square, index);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use burn::tensor::FloatDType;

    use super::*;
    use crate::geometry::{NearestTree, PointSet};

    fn waves(n_clouds: usize, n_points: usize, factor: f64) -> Tensor<3> {
        let values: Vec<f64> = (0..n_clouds * n_points * 3).map(|index| (factor * index as f64).sin()).collect();
        Tensor::from_data(TensorData::new(values, [n_clouds, n_points, 3]), &Device::flex())
    }

    #[test]
    fn host_and_device_find_the_same_points() {
        for (n_partial, n_points) in [(1, 1), (3, 17), (33, 16), (20, 50)] {
            let (partials, clouds) = (waves(2, n_partial, 0.7), waves(2, n_points, 1.9));
            let host = several_on_host(partials.clone(), clouds.clone(), 1);
            assert_eq!(host.into_data(), several_on_device(partials, clouds, 1).into_data());
        }
        // The lowest index on ties.
        let twice = Tensor::<3>::zeros([1, 5, 3], &Device::flex());
        assert_eq!(several_on_host(twice.clone(), twice, 1).into_data().iter::<i64>().max(), Some(0));
    }

    #[test]
    fn distances_by_hand_with_one_direction_each() {
        let mut device = Device::flex().autodiff();
        let _ = device.configure(FloatDType::F64);
        let partial =
            Tensor::<3>::from_data([[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]], &device);
        let cloud =
            Tensor::<3>::from_data([[[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-2.0, 0.0, 0.0], [0.0, -4.0, 0.0]]], &device)
                .require_grad();
        let farthest = |from: Tensor<3>, to: Tensor<3>| nearest_distances(from, to).max_dim(1);
        let hausdorff = farthest(partial.clone(), cloud.clone());
        let value: Vec<f64> = hausdorff.clone().into_data().iter::<f64>().collect();
        assert!((value[0] - 5f64.sqrt()).abs() < 1e-9);
        let back: Vec<f64> = farthest(cloud.clone(), partial).into_data().iter::<f64>().collect();
        assert!((back[0] - 3.0).abs() < 1e-9);
        let gradient = cloud.grad(&hausdorff.sum().backward()).unwrap();
        let gradient: Vec<f64> = gradient.into_data().iter::<f64>().collect();
        let lengths: Vec<f64> =
            gradient.chunks(3).map(|point| point.iter().map(|value| value * value).sum::<f64>().sqrt()).collect();
        let moved: Vec<&f64> = lengths.iter().filter(|length| **length > 0.0).collect();
        assert!(moved.len() == 1 && (moved[0] - 1.0).abs() < 1e-9, "{lengths:?}");
    }

    #[test]
    fn points_that_coincide_have_a_finite_gradient() {
        let device = Device::flex().autodiff();
        let cloud = Tensor::<3>::ones([1, 2, 3], &device).require_grad();
        let distances = nearest_distances(Tensor::ones([1, 2, 3], &device), cloud.clone());
        let gradient = cloud.grad(&distances.sum().backward()).unwrap();
        assert!(gradient.into_data().iter::<f32>().all(f32::is_finite));
    }

    #[test]
    fn host_and_device_find_what_a_tree_finds() {
        for (n_places, n_points, n_wanted) in [(1, 1, 1), (3, 17, 5), (33, 16, 16), (20, 50, 7)] {
            let (places, clouds) = (waves(2, n_places, 0.7), waves(2, n_points, 1.9));
            let host = several_on_host(places.clone(), clouds.clone(), n_wanted).into_data();
            let device = several_on_device(places.clone(), clouds.clone(), n_wanted).into_data();
            assert_eq!(host, device);
            let points = |tensor: Tensor<3>| -> Vec<[f32; 3]> {
                let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
                values.as_chunks::<3>().0.to_vec()
            };
            let tree = PointSet::new(points(clouds.narrow(0, 0, 1))).unwrap();
            let tree = NearestTree::new(&tree);
            let expected: Vec<i64> = points(places.narrow(0, 0, 1))
                .into_iter()
                .flat_map(|place| tree.nearest_neighbors(place, n_wanted).unwrap())
                .map(|neighbor| neighbor.index as i64)
                .collect();
            assert_eq!(host.iter::<i64>().take(expected.len()).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn lower_indices_are_first_on_ties() {
        let same = Tensor::<3>::zeros([1, 4, 3], &Device::flex());
        let place = same.clone().narrow(1, 0, 1);
        for found in [several_on_host(place.clone(), same.clone(), 3), several_on_device(place, same, 3)] {
            assert_eq!(found.into_data().iter::<i64>().collect::<Vec<_>>(), [0, 1, 2]);
        }
    }
}
