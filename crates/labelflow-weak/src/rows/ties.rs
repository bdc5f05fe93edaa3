//! Soft labels turned into classes when two classes may be equally probable.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::numerics::scramble;
use crate::rows::SoftLabels;
use crate::settings::check_rows;
use crate::votes::WeakSignals;
use crate::{Error, Result, ensure};

/// Probabilities that differ by less than this are equal.
const TOLERANCE: f64 = 1e-5;

/// What becomes of a row whose most probable classes are equally probable. In files: `"abstain"`, `"lowest"`, `"hash"`,
/// or a seed as `{ random = { seed = 0 } }`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ties {
    /// It gets no class.
    #[default]
    Abstain,
    /// The lowest of them, as [`SoftLabels::argmax`] has it: the smallest difference decides. Where ties are common, as
    /// with the votes of a few rules, this makes class 0 too common.
    Lowest,
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
    /// less than 1e-5; for [`Ties::Lowest`], if they do not differ at all.
    ///
    /// ```
    /// use labelflow_weak::rows::{SoftLabels, Ties};
    /// use ndarray::array;
    ///
    /// let labels = SoftLabels::new(array![[0.2, 0.8], [0.5, 0.5]])?;
    /// assert_eq!(labels.classes(Ties::Abstain), [Some(1), None]);
    /// assert_eq!(labels.classes(Ties::Lowest), [Some(1), Some(0)]);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn classes(&self, ties: Ties) -> Vec<Option<usize>> {
        match ties {
            Ties::Lowest => self.argmax().into_iter().map(Some).collect(),
            Ties::Abstain => self.untied(|_, _| None),
            Ties::Hash => self.untied(|row, tied| {
                let choice = scramble(row as u64) % tied.len() as u64;
                Some(tied[choice as usize])
            }),
            Ties::Random { seed } => {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                self.untied(|_, tied| tied.choose(&mut rng).copied())
            }
        }
    }

    /// The most probable class of each row of a label model's labels. Of several the most common one by `class_balance`, `[n_classes]`; of
    /// several that are as common the one that a hash of the seed and of the row's votes chooses: rows with the same
    /// votes get the same class, wherever they are, and no class is preferred. Probabilities are tied if they differ by less
    /// than 1e-5.
    ///
    /// ```
    /// use labelflow_weak::rows::SoftLabels;
    /// use labelflow_weak::votes::{Votes, WeakSignals};
    /// use ndarray::array;
    ///
    /// let votes = Votes::from_indices(array![[1, 1], [0, 1], [1, 0]].view(), None)?;
    /// let labels = SoftLabels::new(array![[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]])?;
    /// let classes = labels.classes_of_votes(&WeakSignals::from_votes(votes)?, &[0.4, 0.6], 0)?;
    /// assert_eq!(classes, [1, 1, 1]);
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn classes_of_votes(&self, signals: &WeakSignals, class_balance: &[f64], seed: u64) -> Result<Vec<usize>> {
        check_rows("signals", signals.n_rows(), self.n_rows(), "were labelled")?;
        ensure(class_balance.len() == self.n_classes(), || {
            let expected = format!("{} probabilities, one of each class", self.n_classes());
            Error::config("class_balance", expected, class_balance.len())
        })?;
        let votes = signals.votes();
        let classes = self.untied(|row, tied| {
            let most = tied.iter().map(|&class| class_balance[class]).fold(f64::NEG_INFINITY, f64::max);
            let is_common = |class: &&usize| most - class_balance[**class] < TOLERANCE;
            let common: Vec<usize> = tied.iter().filter(is_common).copied().collect();
            let hash = votes.row_bytes(row).iter().fold(scramble(seed), |hash, &vote| scramble(hash ^ u64::from(vote)));
            common.get((hash % common.len().max(1) as u64) as usize).copied()
        });
        // Only a balance that is not a number leaves nothing to choose from.
        Ok(classes.into_iter().zip(self.argmax()).map(|(class, first)| class.unwrap_or(first)).collect())
    }

    /// The most probable class of each row; where there are several, what `choose(row, classes)` says.
    fn untied(&self, mut choose: impl FnMut(usize, &[usize]) -> Option<usize>) -> Vec<Option<usize>> {
        let mut tied = Vec::with_capacity(self.n_classes());
        let values = self.values();
        let rows = values.rows().into_iter().enumerate();
        rows.map(|(row, probabilities)| {
            let highest = probabilities.iter().copied().fold(0.0, f64::max);
            let is_highest = |&class: &usize| highest - probabilities[class] < TOLERANCE;
            tied.clear();
            tied.extend((0..probabilities.len()).filter(is_highest));
            if let [class] = tied[..] { Some(class) } else { choose(row, &tied) }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::votes::Votes;

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
        assert_eq!(labels.classes(Ties::Lowest), [Some(1), Some(0), Some(0), Some(0)]);
        for ties in [Ties::Hash, Ties::Random { seed: 1 }] {
            let classes = labels.classes(ties);
            assert_eq!((classes[0], classes[2]), (Some(1), Some(0)));
            assert!(matches!(classes[1], Some(0 | 2)) && matches!(classes[3], Some(0 | 1)));
        }
    }

    #[test]
    fn ties_of_votes_go_to_the_common_class_and_then_either_way() {
        let n_rows = 1000;
        // Ten labelers that vote at random: a thousand different rows.
        let votes =
            Array2::from_shape_fn((n_rows, 10), |(row, signal)| (scramble((row * 10 + signal) as u64) % 2) as i64);
        let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(3)).unwrap()).unwrap();
        let tied = SoftLabels::new(array![[0.5, 0.5, 0.0]].broadcast((n_rows, 3)).unwrap().to_owned()).unwrap();
        let common = tied.classes_of_votes(&signals, &[0.3, 0.31, 0.39], 0).unwrap();
        assert_eq!(common, vec![1; n_rows]);
        let equal = tied.classes_of_votes(&signals, &[0.3, 0.3, 0.4], 0).unwrap();
        let n_first = equal.iter().filter(|&&class| class == 0).count();
        assert!((200..800).contains(&n_first) && equal.iter().all(|&class| class < 2), "{n_first}");
        // The votes decide, not the place of the row; another seed decides otherwise.
        let order: Vec<usize> = (0..n_rows).rev().collect();
        let moved = tied.classes_of_votes(&signals.select_rows(&order), &[0.3, 0.3, 0.4], 0).unwrap();
        assert_eq!(moved, order.iter().map(|&row| equal[row]).collect::<Vec<_>>());
        assert_ne!(tied.classes_of_votes(&signals, &[0.3, 0.3, 0.4], 1).unwrap(), equal);
        let error = tied.classes_of_votes(&signals, &[0.5, 0.5], 0).unwrap_err().to_string();
        assert!(error.starts_with("class_balance: expected 3 probabilities"), "{error}");
        let error = tied.classes_of_votes(&signals.select_rows(&[0]), &[0.3, 0.3, 0.4], 0).unwrap_err().to_string();
        assert!(error.starts_with("signals"), "{error}");
    }

    #[test]
    fn files_hold_a_word_or_a_seed() {
        let read = |text: &str| serde_json::from_str::<Ties>(text);
        assert_eq!(read("\"lowest\"").unwrap(), Ties::Lowest);
        let random = Ties::Random { seed: 3 };
        assert_eq!(read("{\"random\": {\"seed\": 3}}").unwrap(), random);
        assert!(read("\"random\"").is_err());
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
