//! A cloud as it was measured: coordinates in double precision, and what else is known of each point.

use labelflow_weak::{Error, Result};

/// Points with optional parts, normals and colours. There is at least one point, and every coordinate is finite.
///
/// Coordinates are doubles: in single precision a cloud at UTM coordinates would lose its millimetres.
///
/// ```
/// use labelflow_clouds::geometry::PointCloud;
///
/// let cloud = PointCloud::new(vec![[500_000.001, 5_000_000.002, 1.0]])?;
/// assert_eq!(cloud.points()[0][0], 500_000.001);
/// assert!(PointCloud::new(vec![]).is_err());
/// assert!(PointCloud::new(vec![[0.0, f64::NAN, 0.0]]).is_err());
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PointCloud {
    points: Vec<[f64; 3]>,
    parts: Option<Vec<u32>>,
    normals: Option<Vec<[f32; 3]>>,
    colors: Option<Vec<[u8; 3]>>,
}

impl PointCloud {
    /// A cloud of these points: at least one, all finite.
    pub fn new(points: Vec<[f64; 3]>) -> Result<Self> {
        if points.is_empty() {
            return Err(Error::data("point cloud", "at least one point", "none"));
        }
        let bad = points.iter().position(|point| !point.iter().all(|value| value.is_finite()));
        if let Some(index) = bad {
            let place = format!("point {}", index + 1);
            let found = format!("{:?}", points[index]);
            return Err(Error::data(place, "three finite coordinates", found)
                .with_hint("remove the points that were not measured"));
        }
        Ok(Self { points, parts: None, normals: None, colors: None })
    }

    /// The same cloud with the part of each point.
    pub fn with_parts(mut self, parts: Vec<u32>) -> Result<Self> {
        self.check_length("parts", parts.len())?;
        self.parts = Some(parts);
        Ok(self)
    }

    /// The same cloud with a normal for each point. A point without one has zeros or NaN.
    pub fn with_normals(mut self, normals: Vec<[f32; 3]>) -> Result<Self> {
        self.check_length("normals", normals.len())?;
        self.normals = Some(normals);
        Ok(self)
    }

    /// The same cloud with red, green and blue for each point.
    pub fn with_colors(mut self, colors: Vec<[u8; 3]>) -> Result<Self> {
        self.check_length("colours", colors.len())?;
        self.colors = Some(colors);
        Ok(self)
    }

    /// What is known of these points, of others in their places.
    pub(crate) fn moved_to(self, points: Vec<[f64; 3]>) -> Result<Self> {
        self.check_length("places", points.len())?;
        Ok(Self { points: Self::new(points)?.points, ..self })
    }

    fn check_length(&self, what: &str, length: usize) -> Result<()> {
        if length == self.points.len() {
            return Ok(());
        }
        let expected = format!("one for each of the {} points", self.points.len());
        Err(Error::data(format!("{what} of a point cloud"), expected, length))
    }

    /// The coordinates, `[n_points]` of x, y and z.
    pub fn points(&self) -> &[[f64; 3]] {
        &self.points
    }

    /// The part of each point, if it is known.
    pub fn parts(&self) -> Option<&[u32]> {
        self.parts.as_deref()
    }

    /// The normal of each point, if it is known.
    pub fn normals(&self) -> Option<&[[f32; 3]]> {
        self.normals.as_deref()
    }

    /// Red, green and blue of each point, if they are known.
    pub fn colors(&self) -> Option<&[[u8; 3]]> {
        self.colors.as_deref()
    }

    /// The number of points, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "a cloud is never empty")]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The smallest and the largest value of each coordinate.
    pub fn bounding_box(&self) -> ([f64; 3], [f64; 3]) {
        let first = self.points[0];
        self.points.iter().fold((first, first), |(mut low, mut high), point| {
            for axis in 0..3 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
            (low, high)
        })
    }

    /// The points with these indices, with all that is known of them.
    ///
    /// # Panics
    ///
    /// If `indices` is empty or an index is not below [`PointCloud::len`].
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        assert!(!indices.is_empty(), "a cloud has at least one point");
        fn chosen<T: Copy>(values: &[T], indices: &[usize]) -> Vec<T> {
            indices.iter().map(|&index| values[index]).collect()
        }
        Self {
            points: chosen(&self.points, indices),
            parts: self.parts.as_deref().map(|parts| chosen(parts, indices)),
            normals: self.normals.as_deref().map(|normals| chosen(normals, indices)),
            colors: self.colors.as_deref().map(|colors| chosen(colors, indices)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_points_follows_them() {
        let cloud = PointCloud::new(vec![[0.0; 3], [1.0, 2.0, 3.0], [-1.0, 5.0, 0.0]])
            .and_then(|cloud| cloud.with_parts(vec![4, 5, 6]))
            .and_then(|cloud| cloud.with_colors(vec![[1; 3], [2; 3], [3; 3]]))
            .unwrap();
        let chosen = cloud.select(&[2, 2, 0]);
        assert_eq!(chosen.parts(), Some(&[6, 6, 4][..]));
        assert_eq!(chosen.colors().unwrap()[0], [3; 3]);
        assert_eq!(chosen.points()[0], [-1.0, 5.0, 0.0]);
        assert_eq!(cloud.bounding_box(), ([-1.0, 0.0, 0.0], [1.0, 5.0, 3.0]));
    }

    #[test]
    fn bad_clouds_are_errors() {
        let cloud = PointCloud::new(vec![[0.0; 3]]).unwrap();
        assert!(cloud.clone().with_parts(vec![]).is_err());
        assert!(cloud.with_normals(vec![[0.0; 3]; 2]).is_err());
        let error = PointCloud::new(vec![[0.0; 3], [0.0, f64::INFINITY, 0.0]]).unwrap_err();
        assert!(error.to_string().starts_with("point 2: expected three finite"), "{error}");
    }
}
