//! Soft labels turned into classes when two classes may be equally probable.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::SoftLabels;

/// Probabilities that differ by less than this are equal.
const TOLERANCE: f64 = 1e-5;

/// What becomes of a row whose most probable classes are equally probable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ties {
    /// It gets no class.
    #[default]
    Abstain,
    /// One of them, chosen by a hash of the row's number: different rows go different ways, but a row always the same.
    Hash,
    /// One of them, drawn at random.
    Random {
        /// The seed of the draws.
        seed: u64,
    },
}

impl SoftLabels {
    /// The most probable class of each row, or nothing where a tie abstains. Probabilities are tied if they differ by
    /// less than 1e-5.
    ///
    /// ```
    /// use labelflow_weak::{SoftLabels, Ties};
    /// use ndarray::array;
    ///
    /// let labels = SoftLabels::new(array![[0.2, 0.8], [0.5, 0.5]])?;
    /// assert_eq!(labels.classes(Ties::Abstain), [Some(1), None]);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn classes(&self, ties: Ties) -> Vec<Option<usize>> {
        let mut rng = match ties {
            Ties::Random { seed } => ChaCha8Rng::seed_from_u64(seed),
            Ties::Abstain | Ties::Hash => ChaCha8Rng::seed_from_u64(0),
        };
        let mut tied = Vec::with_capacity(self.n_classes());
        let values = self.values();
        let rows = values.rows().into_iter().enumerate();
        rows.map(|(row, probabilities)| {
            let highest = probabilities.iter().copied().fold(0.0, f64::max);
            tied.clear();
            tied.extend(
                (0..probabilities.len()).filter(|&c| highest - probabilities[c] < TOLERANCE),
            );
            match (ties, &tied[..]) {
                (_, &[class]) => Some(class),
                (Ties::Abstain, _) => None,
                (Ties::Hash, tied) => Some(tied[(hash(row as u64) % tied.len() as u64) as usize]),
                (Ties::Random { .. }, tied) => tied.choose(&mut rng).copied(),
            }
        })
        .collect()
    }
}

/// A number that looks random but depends on `value` alone (the last step of the generator SplitMix64).
fn hash(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn only_ties_are_broken() {
        let labels = SoftLabels::new(array![
            [0.2, 0.5, 0.3],
            [0.45, 0.1, 0.45],
            [0.4, 0.4 - 2e-5, 0.2 + 2e-5],
            [0.4, 0.4 - 4e-6, 0.2 + 4e-6],
        ])
        .unwrap();
        assert_eq!(labels.classes(Ties::Abstain), [Some(1), None, Some(0), None]);
        for ties in [Ties::Hash, Ties::Random { seed: 1 }] {
            let classes = labels.classes(ties);
            assert_eq!((classes[0], classes[2]), (Some(1), Some(0)));
            assert!(matches!(classes[1], Some(0 | 2)) && matches!(classes[3], Some(0 | 1)));
        }
    }

    #[test]
    fn choices_are_fair_and_repeatable() {
        let labels = SoftLabels::new(Array2::from_elem((3000, 3), 1.0 / 3.0)).unwrap();
        for ties in [Ties::Hash, Ties::Random { seed: 7 }] {
            let classes = labels.classes(ties);
            assert_eq!(labels.classes(ties), classes);
            for class in 0..3 {
                let count = classes.iter().filter(|&&c| c == Some(class)).count();
                assert!((850..1150).contains(&count), "{ties:?}, class {class}: {count}");
            }
        }
        let first = labels.classes(Ties::Random { seed: 7 });
        assert_ne!(labels.classes(Ties::Random { seed: 8 }), first);
    }
}
