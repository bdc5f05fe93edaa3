//! The directed Hausdorff distance, and UHD: how far a completion strays from what was scanned.
//!
//! ```text
//! h(A → B) = max over a of min over b of ‖a − b‖
//! UHD      = mean over partial clouds of the mean over their completions y of h(partial → y)
//! ```

use labelflow_weak::{Error, Result};
use rayon::prelude::*;

use crate::geometry::{NearestTree, PointSet};

/// The point that is farthest from the other cloud, and its nearest point there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarthestPair {
    /// Their distance.
    pub distance: f64,
    /// The index of the point; the lowest on ties.
    pub from: usize,
    /// The index of its nearest point in the other cloud; the lowest on ties.
    pub to: usize,
}

/// The directed Hausdorff distance from one cloud to another, and the one pair of points that decides it.
///
/// ```
/// use labelflow_clouds::geometry::PointSet;
/// use labelflow_clouds::metrics::directed_hausdorff;
///
/// let a = PointSet::new(vec![[0.0; 3], [1.0, 0.0, 0.0]])?;
/// let b = PointSet::new(vec![[0.0; 3], [0.0, 2.0, 0.0]])?;
/// assert_eq!(directed_hausdorff(&a, &b).distance, 1.0);
/// assert_eq!(directed_hausdorff(&b, &a).distance, 2.0);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn directed_hausdorff(from: &PointSet, to: &PointSet) -> FarthestPair {
    let distances = NearestTree::new(to).squared_distances(&NearestTree::new(from));
    // The last of the largest from behind is the first one.
    let by_distance = |&a: &usize, &b: &usize| distances[a].total_cmp(&distances[b]);
    let farthest = (0..distances.len()).rev().max_by(by_distance).expect("a cloud has points");
    let [x, y, z] = from.as_slice()[farthest];
    let squared = |point: &[f32; 3]| {
        let (dx, dy, dz) = (x - point[0], y - point[1], z - point[2]);
        dx * dx + dy * dy + dz * dz
    };
    let is_nearest = |point: &[f32; 3]| squared(point) == distances[farthest];
    let nearest = to.as_slice().iter().position(is_nearest);
    FarthestPair {
        distance: f64::from(distances[farthest]).sqrt(),
        from: farthest,
        to: nearest.expect("the tree found this distance"),
    }
}

/// The directed Hausdorff distance alone.
pub(super) fn hausdorff(from: &NearestTree, to: &NearestTree) -> f64 {
    let distances = to.squared_distances_in_tree_order(from);
    f64::from(distances.into_iter().fold(0.0, f32::max)).sqrt()
}

/// UHD: the mean over partial clouds of the mean distance to their completions, `completions[i]` being those of
/// `partials[i]`. Tables print it times 100.
pub fn unidirectional_hausdorff<S>(partials: &[NearestTree], completions: &[S]) -> Result<f64>
where
    S: AsRef<[NearestTree]> + Sync,
{
    check_completions(partials.len(), completions, 1)?;
    let mean_of = |(partial, completions): (&NearestTree, &S)| {
        let completions = completions.as_ref();
        completions.iter().map(|completion| hausdorff(partial, completion)).sum::<f64>() / completions.len() as f64
    };
    let means: Vec<f64> = partials.par_iter().zip(completions).map(mean_of).collect();
    Ok(means.iter().sum::<f64>() / means.len() as f64)
}

/// That every partial cloud has completions.
pub(super) fn check_completions<S: AsRef<[NearestTree]>>(
    n_partials: usize,
    completions: &[S],
    fewest: usize,
) -> Result<()> {
    if n_partials == 0 || completions.len() != n_partials {
        let expected = format!("completions of each of {} partial clouds", n_partials.max(1));
        return Err(Error::data("completions", expected, completions.len()));
    }
    let too_few = completions.iter().position(|completions| completions.as_ref().len() < fewest);
    too_few.map_or(Ok(()), |index| {
        let place = format!("completions of partial cloud {}", index + 1);
        Err(Error::data(place, format!("at least {fewest}"), completions[index].as_ref().len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::nearest_tree::tests::random_points;

    #[test]
    fn the_published_example() {
        let u = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
        let v = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-2.0, 0.0, 0.0], [0.0, -4.0, 0.0]];
        let (u, v) = (PointSet::new(u.to_vec()).unwrap(), PointSet::new(v.to_vec()).unwrap());
        let there = directed_hausdorff(&u, &v);
        assert_eq!((there.distance, there.from, there.to), (5f64.sqrt(), 3, 0));
        let back = directed_hausdorff(&v, &u);
        assert_eq!((back.distance, back.from, back.to), (3.0, 3, 3));
    }

    #[test]
    fn a_completion_that_holds_the_input_has_distance_0() {
        let partial = random_points(40, 1);
        let whole = [partial.as_slice(), random_points(90, 2).as_slice()].concat();
        let whole = PointSet::new(whole).unwrap();
        let pair = directed_hausdorff(&partial, &whole);
        assert_eq!((pair.distance, pair.from, pair.to), (0.0, 0, 0));
        let trees = [NearestTree::new(&partial)];
        let score = unidirectional_hausdorff(&trees, &[vec![NearestTree::new(&whole)]]);
        assert_eq!(score.unwrap(), 0.0);
    }

    #[test]
    fn the_score_is_a_mean_of_means_and_scales() {
        let tree = |points: &[[f32; 3]]| NearestTree::new(&PointSet::new(points.to_vec()).unwrap());
        for scale in [1.0f32, 2.0] {
            let partials = [tree(&[[0.0; 3]]), tree(&[[0.0; 3]])];
            let at = |x: f32| tree(&[[scale * x, 0.0, 0.0]]);
            let score = unidirectional_hausdorff(&partials, &[vec![at(1.0), at(3.0)], vec![at(4.0)]]);
            assert_eq!(score.unwrap(), 3.0 * f64::from(scale));
        }
    }

    #[test]
    fn missing_completions_are_errors() {
        let tree = NearestTree::new(&random_points(3, 0));
        let none: [Vec<NearestTree>; 0] = [];
        assert!(unidirectional_hausdorff(&[], &none).is_err());
        assert!(unidirectional_hausdorff(std::slice::from_ref(&tree), &none).is_err());
        let error = unidirectional_hausdorff(&[tree], &[vec![]]).unwrap_err();
        assert!(error.to_string().contains("partial cloud 1: expected at least 1"), "{error}");
    }
}
