//! Choices of styles and sizes.

use rand::{Rng, RngExt};

use super::primitive::Primitive;

/// A part: where it stands in PartNet's tree, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// The names from below the root down to the part.
    pub(crate) path: &'static [&'static str],
    pub(crate) primitives: Vec<Primitive>,
}

impl Part {
    pub(crate) fn new(path: &'static [&'static str], primitives: Vec<Primitive>) -> Self {
        Self { path, primitives }
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
    for (index, weight) in weights.iter().enumerate() {
        wanted -= weight;
        if wanted < 0.0 {
            return index;
        }
    }
    weights.len() - 1
}

/// `n` numbers from `low` to `high`, both included.
pub(crate) fn spaced(n: usize, low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..n).map(move |index| low + (high - low) * index as f64 / (n - 1).max(1) as f64)
}
