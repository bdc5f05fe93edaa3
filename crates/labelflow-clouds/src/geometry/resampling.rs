//! More or fewer points of the same cloud.

use labelflow_weak::{Error, Result};
use rand::{Rng, RngExt};

use crate::geometry::PointSet;

/// The indices of `n_wanted` of `n_points` points: drawn with replacement when there are at least as many as wanted,
/// otherwise all of them, then random ones again.
///
/// ```
/// use labelflow_clouds::geometry::{resample, shape_stream};
///
/// let indices = resample(3, 5, &mut shape_stream(0, "chair", "complete"))?;
/// assert_eq!(indices.len(), 5);
/// assert_eq!(indices[..3], [0, 1, 2]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn resample(n_points: usize, n_wanted: usize, rng: &mut impl Rng) -> Result<Vec<usize>> {
    if n_points == 0 {
        return Err(Error::data("points to draw from", "at least one point", "none"));
    }
    if n_wanted == 0 {
        return Err(Error::config("n_points", "at least 1", 0));
    }
    let n_kept = if n_points < n_wanted { n_points } else { 0 };
    let mut indices: Vec<usize> = (0..n_kept).collect();
    indices.extend((n_kept..n_wanted).map(|_| rng.random_range(0..n_points)));
    Ok(indices)
}

/// The indices of at most `n_wanted` points that lie far apart: starting with `first`, always the point farthest from those
/// chosen already; the lowest index on ties.
pub fn farthest_points(points: &PointSet, n_wanted: usize, first: usize) -> Result<Vec<usize>> {
    let points = points.as_slice();
    if first >= points.len() {
        let expected = format!("an index below {}", points.len());
        return Err(Error::config("first", expected, first));
    }
    let square = |one: usize, other: usize| {
        let ([x, y, z], point) = (points[other], points[one]);
        let (dx, dy, dz) = (point[0] - x, point[1] - y, point[2] - z);
        dx * dx + dy * dy + dz * dz
    };
    Ok(farthest_apart(points.len(), n_wanted, first, square))
}

/// The indices of at most `n_wanted` of several things that lie far apart, by their squared distances: the first one, then always the
/// one farthest from those chosen already; the lowest index on ties.
pub(crate) fn farthest_apart(
    n: usize,
    n_wanted: usize,
    first: usize,
    square: impl Fn(usize, usize) -> f32,
) -> Vec<usize> {
    let mut to_chosen = vec![f32::INFINITY; n];
    let mut chosen = Vec::with_capacity(n_wanted.min(n));
    let mut next = first;
    while chosen.len() < n_wanted.min(n) {
        let newest = next;
        chosen.push(newest);
        // Below any distance: nothing is chosen twice.
        to_chosen[newest] = f32::NEG_INFINITY;
        let mut farthest = f32::NEG_INFINITY;
        for (index, distance) in to_chosen.iter_mut().enumerate() {
            *distance = distance.min(square(index, newest));
            if *distance > farthest {
                (farthest, next) = (*distance, index);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::shape_stream;

    #[test]
    fn reducing_draws_with_replacement() {
        let rng = &mut shape_stream(1, "a", "b");
        let indices = resample(10_000, 2048, rng).unwrap();
        let mut distinct = indices.clone();
        distinct.sort_unstable();
        distinct.dedup();
        // 10,000 · (1 − exp(−0.2048)) = 1,852 distinct points are expected.
        assert!((1800..1900).contains(&distinct.len()), "{}", distinct.len());
        assert!(resample(0, 3, rng).is_err());
        assert!(resample(3, 0, rng).is_err());
        assert_eq!(resample(1, 3, rng).unwrap(), [0, 0, 0]);
    }

    #[test]
    fn farthest_points_spread_out() {
        let line = (0..11).map(|index| [index as f32, 0.0, 0.0]).collect();
        let line = PointSet::new(line).unwrap();
        assert_eq!(farthest_points(&line, 3, 0).unwrap(), [0, 10, 5]);
        assert!(farthest_points(&line, 3, 11).is_err());
        let copies = PointSet::new(vec![[1.0; 3]; 4]).unwrap();
        assert_eq!(farthest_points(&copies, 9, 2).unwrap(), [2, 0, 1, 3]);
    }
}
