//! The frame of a shape: centred on the middle of its bounding box, scaled to a given radius.
//!
//! ```text
//! p = (x − centre) · scale,   centre = (low + high) / 2,   scale = radius / max ‖x − centre‖
//! ```

use labelflow_weak::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::geometry::{PointCloud, PointSet};

/// How a cloud is moved and scaled, so that completions can be moved back to where the scan was.
///
/// ```
/// use labelflow_clouds::geometry::{Normalization, PointCloud};
///
/// let cloud = PointCloud::new(vec![[10.0, 0.0, 0.0], [14.0, 0.0, 0.0]])?;
/// let frame = Normalization::fit(&cloud, 0.5)?;
/// let points = frame.apply(&cloud)?;
/// assert_eq!(points.as_slice(), [[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]);
/// assert_eq!(frame.undo(&points)?, cloud);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Normalization {
    center: [f64; 3],
    scale: f64,
}

/// What a file holds, not yet checked.
#[derive(Deserialize)]
struct Stored {
    center: [f64; 3],
    scale: f64,
}

impl TryFrom<Stored> for Normalization {
    type Error = Error;

    fn try_from(Stored { center, scale }: Stored) -> Result<Self> {
        Self::new(center, scale)
    }
}

impl Normalization {
    /// The radius of shapes in the frame of the networks.
    pub const SHAPE_RADIUS: f64 = 0.5;

    /// A given frame: a finite centre and a positive scale.
    pub fn new(center: [f64; 3], scale: f64) -> Result<Self> {
        if !center.iter().all(|value| value.is_finite()) {
            return Err(Error::config("center", "three finite numbers", format!("{center:?}")));
        }
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::config("scale", "a positive number", scale));
        }
        Ok(Self { center, scale })
    }

    /// The frame in which `cloud` has this radius around the middle of its bounding box.
    ///
    /// A cloud without extent, such as a single point, is moved but not scaled.
    pub fn fit(cloud: &PointCloud, radius: f64) -> Result<Self> {
        if !(radius.is_finite() && radius > 0.0) {
            return Err(Error::config("radius", "a positive number", radius));
        }
        let (low, high) = cloud.bounding_box();
        // Half of each first: the sum of two huge coordinates would overflow.
        let center: [f64; 3] = std::array::from_fn(|axis| low[axis] / 2.0 + high[axis] / 2.0);
        let largest = largest_distance(cloud.points(), center);
        let scale = if largest > 0.0 { radius / largest } else { 1.0 };
        if !(scale.is_finite() && scale > 0.0) {
            let expected = "a cloud whose extent is neither nothing nor endless";
            return Err(Error::data("point cloud", expected, format!("a radius of {largest:e}")));
        }
        Ok(Self { center, scale })
    }

    /// What is subtracted from every point.
    pub fn center(&self) -> [f64; 3] {
        self.center
    }

    /// By what every difference from the centre is multiplied.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The points of a cloud in this frame. Differences are taken in double precision.
    pub fn apply(&self, cloud: &PointCloud) -> Result<PointSet> {
        let moved =
            |point: &[f64; 3]| std::array::from_fn(|axis| ((point[axis] - self.center[axis]) * self.scale) as f32);
        PointSet::new(cloud.points().iter().map(moved).collect())
    }

    /// Points of this frame where the cloud was.
    pub fn undo(&self, points: &PointSet) -> Result<PointCloud> {
        let moved =
            |point: &[f32; 3]| std::array::from_fn(|axis| f64::from(point[axis]) / self.scale + self.center[axis]);
        PointCloud::new(points.as_slice().iter().map(moved).collect())
    }
}

fn largest_distance(points: &[[f64; 3]], center: [f64; 3]) -> f64 {
    let distance = |point: &[f64; 3]| {
        let [x, y, z] = std::array::from_fn(|axis| point[axis] - center[axis]);
        f64::hypot(f64::hypot(x, y), z)
    };
    points.iter().map(distance).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_centred_and_the_radius_is_reached() {
        let cloud = PointCloud::new(vec![[1.0, 2.0, 3.0], [4.0, -2.0, 3.0], [2.0, 2.0, 9.0]]).unwrap();
        let points = Normalization::fit(&cloud, 1.0).unwrap().apply(&cloud).unwrap();
        let (mut low, mut high, mut radius) = ([f32::MAX; 3], [f32::MIN; 3], 0f32);
        for point in points.as_slice() {
            for axis in 0..3 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
            radius = radius.max(point.iter().map(|value| value * value).sum::<f32>().sqrt());
        }
        assert!((0..3).all(|axis| (low[axis] + high[axis]).abs() < 1e-6), "{low:?} {high:?}");
        assert!((radius - 1.0).abs() < 1e-6, "{radius}");
    }

    #[test]
    fn millimetres_at_utm_coordinates_survive() {
        // A scan of 20 m in millimetres, half a million metres east and five million north.
        let points = (0..100).map(|index| {
            let step = f64::from(index) * 200.0;
            [500_000_123.0 + step, 5_000_000_456.0 - step, step / 2.0 + 1.0]
        });
        let cloud = PointCloud::new(points.collect()).unwrap();
        let frame = Normalization::fit(&cloud, 0.5).unwrap();
        let back = frame.undo(&frame.apply(&cloud).unwrap()).unwrap();
        for (point, other) in cloud.points().iter().zip(back.points()) {
            assert!((0..3).all(|axis| (point[axis] - other[axis]).abs() < 0.01));
        }
    }

    #[test]
    fn degenerate_and_extreme_clouds() {
        let one = PointCloud::new(vec![[3.0, 4.0, 5.0]]).unwrap();
        let frame = Normalization::fit(&one, 0.5).unwrap();
        assert_eq!((frame.center(), frame.scale()), ([3.0, 4.0, 5.0], 1.0));
        assert_eq!(frame.apply(&one).unwrap().as_slice(), [[0.0; 3]]);
        let huge = PointCloud::new(vec![[-f64::MAX; 3], [f64::MAX; 3]]).unwrap();
        assert!(Normalization::fit(&huge, 0.5).is_err());
        let large = PointCloud::new(vec![[-1e300; 3], [1e300; 3]]).unwrap();
        let frame = Normalization::fit(&large, 0.5).unwrap();
        assert!(frame.apply(&large).unwrap().as_slice()[1][0] > 0.28);
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Normalization::new([0.0; 3], scale).is_err());
        }
        assert!(Normalization::fit(&one, 0.0).is_err());
        assert!(serde_json::from_str::<Normalization>(r#"{"center":[0,0,0],"scale":0}"#).is_err());
    }
}
