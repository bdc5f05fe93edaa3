//! The several points of clouds that are nearest to places.

use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};
use labelflow_flow::N_AXES;
use rayon::prelude::*;

use crate::completers::networks::nearest_points::{squared_distances, values_of};

/// Farther than anything in a frame.
pub(crate) const FAR: f64 = 1e9;

/// The indices of the nearest points of each place, the nearest first, lower indices first on ties. No gradients.
///
/// # Shapes
///
/// - places: `[n_clouds, n_places, 3]`, clouds: `[n_clouds, n_points, 3]` with at least as many points as wanted
/// - returns: `[n_clouds, n_places, n_wanted]`
pub(crate) fn several_nearest(
    places: Tensor<3>,
    clouds: Tensor<3>,
    n_wanted: usize,
) -> Tensor<3, Int> {
    match places.device() == Device::flex() {
        true => on_host(places, clouds, n_wanted),
        false => on_device(places, clouds, n_wanted),
    }
}

/// Always the nearest that is left.
fn on_device(places: Tensor<3>, clouds: Tensor<3>, n_wanted: usize) -> Tensor<3, Int> {
    let device = places.device();
    let mut squares = squared_distances(places, clouds);
    let mut found = Vec::with_capacity(n_wanted);
    for _ in 0..n_wanted {
        let nearest = squares.clone().argmin(2);
        let far = Tensor::full(nearest.dims(), FAR, &device);
        squares = squares.scatter(2, nearest.clone(), far, IndexingUpdateOp::Add);
        found.push(nearest);
    }
    Tensor::cat(found, 2)
}

fn on_host(places: Tensor<3>, clouds: Tensor<3>, n_wanted: usize) -> Tensor<3, Int> {
    let device = places.device();
    let [n_clouds, n_places, _] = places.dims();
    let n_points = clouds.dims()[1];
    let (places, clouds) = (values_of(places), values_of(clouds));
    let indices: Vec<i64> = places
        .par_chunks(n_places * N_AXES)
        .zip(clouds.par_chunks(n_points * N_AXES))
        .flat_map_iter(|(places, cloud)| {
            let cloud = cloud.as_chunks::<N_AXES>().0;
            places.as_chunks::<N_AXES>().0.iter().flat_map(move |place| {
                nearest_of(place, cloud, n_wanted).into_iter().map(|(_, index)| index as i64)
            })
        })
        .collect();
    Tensor::from_data(TensorData::new(indices, [n_clouds, n_places, n_wanted]), &device)
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
    use crate::geometry::{NearestTree, PointSet};

    use super::*;

    fn waves(n_clouds: usize, n_points: usize, factor: f32) -> Tensor<3> {
        let n_values = n_clouds * n_points * 3;
        let values: Vec<f32> = (0..n_values).map(|index| (factor * index as f32).sin()).collect();
        Tensor::from_data(TensorData::new(values, [n_clouds, n_points, 3]), &Device::flex())
    }

    #[test]
    fn host_and_device_find_what_a_tree_finds() {
        for (n_places, n_points, n_wanted) in [(1, 1, 1), (3, 17, 5), (33, 16, 16), (20, 50, 7)] {
            let (places, clouds) = (waves(2, n_places, 0.7), waves(2, n_points, 1.9));
            let host = on_host(places.clone(), clouds.clone(), n_wanted).into_data();
            let device = on_device(places.clone(), clouds.clone(), n_wanted).into_data();
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
        for found in [on_host(place.clone(), same.clone(), 3), on_device(place, same, 3)] {
            assert_eq!(found.into_data().iter::<i64>().collect::<Vec<_>>(), [0, 1, 2]);
        }
    }
}
