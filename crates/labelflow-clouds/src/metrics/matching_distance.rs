//! MMD: how near the generated clouds come to every reference.
//!
//! ```text
//! MMD = mean over references x of min over all generated clouds y of CD(x, y)        CD = the squared sum of Chamfer
//! ```
//!
//! Exact, but few pairs are measured to the end: for each reference, candidates are tried in the order of the distance of small
//! sketches, and one is given up as soon as its growing sum is above the best so far.

use labelflow_weak::{Error, Result};
use rayon::prelude::*;

use super::chamfer::squared_sum_up_to;
use crate::geometry::NearestTree;
use crate::metrics::Chamfer;

/// The points of a sketch.
const SKETCH: usize = 128;

/// MMD, and what it is the mean of.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchingDistance {
    /// The mean over references. Tables print it times 1000.
    pub mean: f64,
    /// For each reference the index of the nearest generated cloud, the lowest on ties, and its Chamfer distance.
    pub nearest: Vec<(usize, f64)>,
}

/// The distance of each reference to its nearest generated cloud.
pub fn minimum_matching_distance(references: &[NearestTree], generated: &[NearestTree]) -> Result<MatchingDistance> {
    for (what, clouds) in [("references", references), ("generated clouds", generated)] {
        if clouds.is_empty() {
            return Err(Error::data(what, "at least one cloud", "none"));
        }
    }
    let sketches: Vec<NearestTree> = generated.par_iter().map(|cloud| cloud.sketch(SKETCH)).collect();
    let nearest: Vec<(usize, f64)> =
        references.par_iter().map(|reference| nearest_cloud(reference, generated, &sketches)).collect();
    let mean = nearest.iter().map(|(_, distance)| distance).sum::<f64>() / nearest.len() as f64;
    Ok(MatchingDistance { mean, nearest })
}

fn nearest_cloud(reference: &NearestTree, generated: &[NearestTree], sketches: &[NearestTree]) -> (usize, f64) {
    let sketch = reference.sketch(SKETCH);
    let mut candidates: Vec<(f64, usize)> = sketches
        .iter()
        .enumerate()
        .map(|(index, other)| (Chamfer::between(&sketch, other).squared_sum(), index))
        .collect();
    candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut best = (usize::MAX, f64::INFINITY);
    for (_, index) in candidates {
        let Some(distance) = squared_sum_up_to(reference, &generated[index], best.1) else {
            continue;
        };
        if distance < best.1 || index < best.0 {
            best = (index, distance);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::PointSet;
    use crate::geometry::nearest_tree::tests::random_points;

    /// Random points in boxes of different sizes.
    fn clouds(n_clouds: u64, seed: u64) -> Vec<NearestTree> {
        let cloud = |index| {
            let size = 1.0 + (index % 7) as f32 / 3.0;
            let points = random_points(50 + index as usize % 90, seed + index);
            let points = points.as_slice().iter().map(|point| point.map(|value| value * size));
            NearestTree::new(&PointSet::new(points.collect()).unwrap())
        };
        (0..n_clouds).map(cloud).collect()
    }

    #[test]
    fn giving_up_early_changes_nothing() {
        let (references, generated) = (clouds(20, 0), clouds(60, 1000));
        let found = minimum_matching_distance(&references, &generated).unwrap();
        for (reference, &(index, distance)) in references.iter().zip(&found.nearest) {
            let all = generated.iter().map(|cloud| Chamfer::between(reference, cloud).squared_sum());
            let all: Vec<f64> = all.collect();
            let least = all.iter().copied().reduce(f64::min).unwrap();
            assert_eq!((distance, all[index]), (least, least));
        }
    }

    #[test]
    fn generated_clouds_that_hold_the_references_have_distance_0() {
        let references = clouds(5, 0);
        let generated = [clouds(9, 50), references.clone(), references.clone()].concat();
        let found = minimum_matching_distance(&references, &generated).unwrap();
        assert_eq!(found.mean, 0.0);
        let indices: Vec<usize> = found.nearest.iter().map(|nearest| nearest.0).collect();
        assert_eq!(indices, [9, 10, 11, 12, 13]);
    }

    #[test]
    fn more_clouds_never_raise_it() {
        let (references, generated) = (clouds(6, 0), clouds(30, 300));
        let means: Vec<f64> =
            [3, 10, 30].map(|n| minimum_matching_distance(&references, &generated[..n]).unwrap().mean).to_vec();
        assert!(means.is_sorted_by(|a, b| a >= b), "{means:?}");
        assert!(minimum_matching_distance(&references, &[]).is_err());
        assert!(minimum_matching_distance(&[], &generated).is_err());
    }
}
