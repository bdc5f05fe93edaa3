//! Choices of styles and sizes.

use std::f64::consts::TAU;

use rand::{Rng, RngExt};

use super::primitive::Primitive;

/// The signs of x and z at the corners of a rectangle.
pub(crate) const CORNERS: [[f64; 2]; 4] = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]];

/// A part: where it stands in PartNet's tree, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// The names from below the root down to the part.
    pub(crate) path: &'static [&'static str],
    pub(crate) primitives: Vec<Primitive>,
}

impl Part {
    pub(crate) fn new(path: &'static [&'static str], primitives: impl IntoIterator<Item = Primitive>) -> Self {
        Self { path, primitives: primitives.into_iter().collect() }
    }
}

/// A number between two others, all alike.
pub(crate) fn between(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    rng.random_range(low..high)
}

/// Whether something happens that has this probability.
pub(crate) fn chance(rng: &mut impl Rng, probability: f64) -> bool {
    rng.random::<f64>() < probability
}

/// The index of a choice; the weights need not sum to 1.
pub(crate) fn choice(rng: &mut impl Rng, weights: &[f64]) -> usize {
    let mut wanted = rng.random::<f64>() * weights.iter().sum::<f64>();
    let chosen = weights.iter().position(|weight| {
        wanted -= weight;
        wanted < 0.0
    });
    chosen.unwrap_or(weights.len() - 1)
}

/// `n` numbers from `low` to `high`, both included.
pub(crate) fn spaced(n: usize, low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..n).map(move |index| low + (high - low) * index as f64 / (n - 1).max(1) as f64)
}

/// x and z of `n` places on a circle around the upright axis.
pub(crate) fn around(n: u32, radius: f64) -> impl Iterator<Item = [f64; 2]> {
    let angles = (0..n).map(move |index| TAU * f64::from(index) / f64::from(n));
    angles.map(move |angle| [radius * angle.cos(), radius * angle.sin()])
}
