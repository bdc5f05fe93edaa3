//! The F-score: how many points are near enough.
//!
//! ```text
//! precision = share of generated points nearer than t to the truth,   recall = share of true points nearer than t to the generated
//! F = 2 · precision · recall / (precision + recall)                    0 if both are 0
//! ```

use labelflow_weak::{Error, Result};

use crate::geometry::NearestTree;

/// How many points of two clouds are near each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FScore {
    /// The share of generated points near the truth.
    pub precision: f64,
    /// The share of true points near the generated cloud.
    pub recall: f64,
}

impl FScore {
    /// The distance that tables use.
    pub const USUAL_DISTANCE: f64 = 0.01;

    /// Compares a generated cloud with the truth; points nearer than `distance` are near.
    pub fn between(generated: &NearestTree, truth: &NearestTree, distance: f64) -> Result<Self> {
        Ok(Self {
            precision: share_within(generated, truth, distance)?,
            recall: share_within(truth, generated, distance)?,
        })
    }

    /// The harmonic mean of precision and recall.
    pub fn value(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 { 2.0 * self.precision * self.recall / sum } else { 0.0 }
    }
}

/// The share of points that have a point of the other cloud nearer than `distance`. From a partial cloud to its completion, with the
/// distance 0.03, this is the completeness of multimodal completion.
pub fn share_within(from: &NearestTree, to: &NearestTree, distance: f64) -> Result<f64> {
    if !(distance.is_finite() && distance > 0.0) {
        return Err(Error::config("distance", "a positive number", distance));
    }
    let distances = to.squared_distances_in_tree_order(from);
    let n_near = distances.iter().filter(|&&d| f64::from(d) < distance * distance).count();
    Ok(n_near as f64 / distances.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::PointSet;

    fn line(points: &[f32]) -> NearestTree {
        let points = points.iter().map(|&x| [x, 0.0, 0.0]).collect();
        NearestTree::new(&PointSet::new(points).unwrap())
    }

    #[test]
    fn precision_and_recall_by_hand() {
        let (generated, truth) = (line(&[0.0, 1.0, 2.0, 9.0]), line(&[0.25, 5.0]));
        let score = FScore::between(&generated, &truth, 0.5).unwrap();
        assert_eq!((score.precision, score.recall), (0.25, 0.5));
        assert!((score.value() - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(FScore::between(&truth, &truth, 0.01).unwrap().value(), 1.0);
        assert_eq!(FScore::between(&line(&[0.0]), &line(&[5.0]), 1.0).unwrap().value(), 0.0);
        assert!(FScore::between(&truth, &truth, 0.0).is_err());
        assert!(share_within(&truth, &truth, f64::NAN).is_err());
    }
}
