//! The Chamfer distance of two clouds.
//!
//! ```text
//! d(a, B) = min over b of ‖a − b‖²
//! squared sum:      mean over a of d(a, B) + mean over b of d(b, A)              the measures of completion use this one
//! CD-L1, CD-L2:     ½ (mean √d(a, B) + mean √d(b, A)),   the squared sum         as tables of other tools print it
//! one way:          mean over a of d(a, B)
//! ```

use crate::geometry::NearestTree;

/// Mean distances between two clouds, in both directions.
///
/// ```
/// use labelflow_clouds::geometry::{NearestTree, PointSet};
/// use labelflow_clouds::metrics::Chamfer;
///
/// let a = NearestTree::new(&PointSet::new(vec![[0.0; 3], [1.0, 0.0, 0.0]])?);
/// let b = NearestTree::new(&PointSet::new(vec![[0.0; 3], [0.0, 2.0, 0.0]])?);
/// let chamfer = Chamfer::between(&a, &b);
/// assert_eq!((chamfer.squared_there, chamfer.squared_back), (0.5, 2.0));
/// assert_eq!(chamfer.squared_sum(), 2.5);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chamfer {
    /// The mean squared distance from a point of the first cloud to the second.
    pub squared_there: f64,
    /// The mean squared distance from a point of the second cloud to the first.
    pub squared_back: f64,
    /// The mean distance from a point of the first cloud to the second.
    pub there: f64,
    /// The mean distance from a point of the second cloud to the first.
    pub back: f64,
}

impl Chamfer {
    /// Measures two clouds.
    pub fn between(first: &NearestTree, second: &NearestTree) -> Self {
        let (squared_there, there) = means(first, second);
        let (squared_back, back) = means(second, first);
        Self { squared_there, squared_back, there, back }
    }

    /// Both squared means added up, not halved: what MMD and TMD are made of, and CD-L2.
    pub fn squared_sum(&self) -> f64 {
        self.squared_there + self.squared_back
    }

    /// CD-L1: half of both plain means added up.
    pub fn half_plain_sum(&self) -> f64 {
        (self.there + self.back) / 2.0
    }
}

/// The mean squared and the mean plain distance from queries to targets.
fn means(queries: &NearestTree, targets: &NearestTree) -> (f64, f64) {
    let distances = targets.squared_distances_in_tree_order(queries);
    let (squared, plain) = distances.iter().fold((0.0, 0.0), |(squared, plain), &distance| {
        let distance = f64::from(distance);
        (squared + distance, plain + distance.sqrt())
    });
    (squared / distances.len() as f64, plain / distances.len() as f64)
}

/// The squared sum alone, or nothing if it is above `limit`; the same value as [`Chamfer::squared_sum`].
pub(super) fn squared_sum_up_to(first: &NearestTree, second: &NearestTree, limit: f64) -> Option<f64> {
    let there = second.mean_squared_up_to(first, 0.0, limit)?;
    first.mean_squared_up_to(second, there, limit)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::geometry::PointSet;
    use crate::geometry::nearest_tree::tests::random_points;

    fn tree(points: Vec<[f32; 3]>) -> NearestTree {
        NearestTree::new(&PointSet::new(points).unwrap())
    }

    fn moved(points: &PointSet, map: impl Fn([f32; 3]) -> [f32; 3]) -> NearestTree {
        tree(points.as_slice().iter().map(|&point| map(point)).collect())
    }

    #[test]
    fn plain_distances_too() {
        let a = tree(vec![[0.0; 3], [1.0, 0.0, 0.0]]);
        let b = tree(vec![[0.0; 3], [0.0, 2.0, 0.0]]);
        let chamfer = Chamfer::between(&a, &b);
        assert_eq!((chamfer.there, chamfer.back), (0.5, 1.0));
        assert_eq!(chamfer.half_plain_sum(), 0.75);
    }

    #[test]
    fn the_laws_of_the_distance() {
        let (a, b) = (random_points(300, 1), random_points(200, 2));
        let same = |points: &PointSet| moved(points, |point| point);
        let distance = Chamfer::between(&same(&a), &same(&b)).squared_sum();
        assert_eq!(Chamfer::between(&same(&a), &same(&a)).squared_sum(), 0.0);
        assert_eq!(Chamfer::between(&same(&b), &same(&a)).squared_sum(), distance);
        assert_eq!(squared_sum_up_to(&same(&a), &same(&b), distance), Some(distance));
        assert_eq!(squared_sum_up_to(&same(&a), &same(&b), distance.next_down()), None);
        let doubled = |point: [f32; 3]| point.map(|value| 2.0 * value);
        assert_relative_eq!(Chamfer::between(&moved(&a, doubled), &moved(&b, doubled)).squared_sum(), 4.0 * distance);
        let turned = |[x, y, z]: [f32; 3]| [0.6 * x - 0.8 * y + 1.0, 0.8 * x + 0.6 * y, z - 2.0];
        assert_relative_eq!(
            Chamfer::between(&moved(&a, turned), &moved(&b, turned)).squared_sum(),
            distance,
            max_relative = 1e-5
        );
        let twice = tree([a.as_slice(), a.as_slice()].concat());
        assert_relative_eq!(Chamfer::between(&twice, &same(&b)).squared_sum(), distance, max_relative = 1e-12);
    }
}
