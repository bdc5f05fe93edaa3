//! A shape whose parts are known.

use labelflow_weak::{Error, Result};
use rand::Rng;

use crate::geometry::{PointSet, resample};

/// Many points of a whole shape, each with the part it belongs to. Clouds for training are drawn from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    id: String,
    points: PointSet,
    parts: Vec<u32>,
}

impl Shape {
    /// A shape with a part for each point. Its name decides its random streams.
    pub fn new(id: impl Into<String>, points: PointSet, parts: Vec<u32>) -> Result<Self> {
        let id = id.into();
        if parts.len() != points.len() {
            let expected = format!("a part for each of the {} points", points.len());
            return Err(Error::data(format!("shape '{id}'"), expected, parts.len()));
        }
        Ok(Self { id, points, parts })
    }

    /// The name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The points.
    pub fn points(&self) -> &PointSet {
        &self.points
    }

    /// The part of each point.
    pub fn parts(&self) -> &[u32] {
        &self.parts
    }

    /// The parts that own a point, ascending.
    pub fn present_parts(&self) -> Vec<u32> {
        let mut present = self.parts.clone();
        present.sort_unstable();
        present.dedup();
        present
    }

    /// A complete cloud of `n_points` points, drawn as [`resample`] does.
    pub fn complete(&self, n_points: usize, rng: &mut impl Rng) -> Result<PointSet> {
        Ok(self.points.select(&resample(self.points.len(), n_points, rng)?))
    }
}
