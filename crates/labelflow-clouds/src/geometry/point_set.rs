//! Coordinates to compute with.

use labelflow_weak::{Error, Result};

/// The largest coordinate: squares of differences of larger ones would not fit into single precision.
const LARGEST: f32 = 1e18;

/// Points in single precision, in the frame of a shape. There is at least one, and none is larger than 10¹⁸.
///
/// ```
/// use labelflow_clouds::geometry::PointSet;
///
/// let points = PointSet::new(vec![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])?;
/// assert_eq!(points.as_flat(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PointSet(Vec<[f32; 3]>);

impl PointSet {
    /// These points: at least one, all finite.
    pub fn new(points: Vec<[f32; 3]>) -> Result<Self> {
        if points.is_empty() {
            return Err(Error::data("points", "at least one point", "none"));
        }
        if u32::try_from(points.len()).is_err() {
            return Err(Error::data("points", "fewer than 2³² points", points.len()));
        }
        let is_good = |point: &[f32; 3]| point.iter().all(|value| value.abs() <= LARGEST);
        if let Some(index) = points.iter().position(|point| !is_good(point)) {
            let expected = format!("three coordinates from -{LARGEST:e} to {LARGEST:e}");
            let found = format!("{:?}", points[index]);
            return Err(Error::data(format!("point {}", index + 1), expected, found));
        }
        Ok(Self(points))
    }

    /// The points, `[n_points]` of x, y and z.
    pub fn as_slice(&self) -> &[[f32; 3]] {
        &self.0
    }

    /// The coordinates one after the other, `[n_points × 3]`, as a tensor wants them.
    pub fn as_flat(&self) -> &[f32] {
        self.0.as_flattened()
    }

    /// The number of points, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The points with these indices.
    ///
    /// # Panics
    ///
    /// If `indices` is empty or an index is not below [`PointSet::len`].
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        assert!(!indices.is_empty(), "a set has at least one point");
        Self(indices.iter().map(|&index| self.0[index]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_points_are_errors() {
        assert!(PointSet::new(vec![]).is_err());
        for bad in [f32::NAN, f32::INFINITY, 2e18, -f32::MAX] {
            let error = PointSet::new(vec![[0.0; 3], [0.0, 0.0, bad]]).unwrap_err();
            assert!(error.to_string().starts_with("point 2: "), "{error}");
        }
    }
}
