//! A shape whose parts are known, and random streams for each shape and purpose.

use labelflow_weak::numerics::scramble;
use labelflow_weak::{Error, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

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

/// The stream that depends on `seed`, the name of a shape and what is drawn for it, and on nothing else.
///
/// ```
/// use labelflow_clouds::geometry::shape_stream;
/// use rand::Rng;
///
/// let first = |id, role| shape_stream(7, id, role).next_u64();
/// assert_eq!(first("chair-1", "cut"), first("chair-1", "cut"));
/// assert_ne!(first("chair-1", "cut"), first("chair-2", "cut"));
/// assert_ne!(first("chair-1", "cut"), first("chair-1", "complete"));
/// ```
pub fn shape_stream(seed: u64, shape_id: &str, role: &str) -> ChaCha8Rng {
    // No text in UTF-8 holds the byte 0xff, so that "a" + "bc" and "ab" + "c" differ.
    let bytes = role.bytes().chain([0xff]).chain(shape_id.bytes());
    let mut state = bytes.fold(scramble(seed), |state, byte| scramble(state ^ u64::from(byte)));
    let mut key = [0; 32];
    for word in key.chunks_exact_mut(8) {
        state = scramble(state);
        word.copy_from_slice(&state.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_apart() {
        let first = |seed, id, role| shape_stream(seed, id, role).next_u64();
        assert_ne!(first(0, "bc", "a"), first(0, "c", "ab"));
        assert_ne!(first(0, "a", "cut"), first(1, "a", "cut"));
        assert_ne!(first(0, "", ""), first(0, "\0", ""));
    }
}
