//! The split of an evaluated problem into three parts, stratified by class where there are classes.
//!
//! ```text
//! test       = 30 % of each class, or of all rows
//! simulation = 42.85 % of what remains of each class, or of all rows
//! train      = the rest                                  (train : simulation : test = 4 : 3 : 3)
//! ```

use labelflow_weak::numerics::stream;
use labelflow_weak::rows::Truth;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::{Error, Result};

const TEST_SHARE: f64 = 0.3;
const SIMULATION_SHARE: f64 = 0.4285;

/// Row indices of the three parts: each ascending, together every row once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows that training sees without their labels.
    pub train: Vec<usize>,
    /// Rows whose labels make the weak signals and their bounds.
    pub simulation: Vec<usize>,
    /// Rows that only evaluation sees.
    pub test: Vec<usize>,
}

impl Split {
    /// Splits the rows, in each class by the same shares. The same seed gives the same split.
    ///
    /// ```
    /// use labelflow_data::catalog::Split;
    /// use labelflow_weak::rows::Truth;
    ///
    /// let truth = Truth::new([[0; 50], [1; 50]].concat(), 2)?;
    /// let split = Split::stratified(&truth, 0);
    /// assert_eq!((split.train.len(), split.simulation.len(), split.test.len()), (40, 30, 30));
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn stratified(truth: &Truth, seed: u64) -> Self {
        Self::within_classes(truth.labels(), truth.n_classes(), seed)
    }

    /// Splits this many rows at random. The same seed gives the same split.
    pub fn random(n_rows: usize, seed: u64) -> Self {
        Self::within_classes(&vec![0; n_rows], 1, seed)
    }

    /// Refuses to go on with a part that has no rows.
    pub(crate) fn check(&self) -> Result<()> {
        let parts = [("train", &self.train), ("simulation", &self.simulation), ("test", &self.test)];
        let Some((empty, _)) = parts.iter().find(|(_, rows)| rows.is_empty()) else {
            return Ok(());
        };
        let n_rows: usize = parts.iter().map(|(_, rows)| rows.len()).sum();
        let found = format!("{n_rows}, which leaves no {empty} rows");
        Err(Error::config("rows", "enough for train, simulation and test", found))
    }

    fn within_classes(classes: &[usize], n_classes: usize, seed: u64) -> Self {
        let mut rng = stream(seed, "split");
        let mut take = |rows, share| take_share(classes, n_classes, rows, share, &mut rng);
        let (test, rest) = take((0..classes.len()).collect(), TEST_SHARE);
        let (simulation, train) = take(rest, SIMULATION_SHARE);
        Self { train, simulation, test }
    }
}

/// Draws `share` of the rows of each class; returns the drawn and the remaining, both ascending.
fn take_share(
    classes: &[usize],
    n_classes: usize,
    rows: Vec<usize>,
    share: f64,
    rng: &mut ChaCha8Rng,
) -> (Vec<usize>, Vec<usize>) {
    let mut by_class = vec![Vec::new(); n_classes];
    for row in rows {
        by_class[classes[row]].push(row);
    }
    let (mut taken, mut rest) = (Vec::new(), Vec::new());
    for mut rows in by_class {
        rows.shuffle(rng);
        let n_taken = (share * rows.len() as f64).round_ties_even() as usize;
        taken.extend_from_slice(&rows[..n_taken]);
        rest.extend_from_slice(&rows[n_taken..]);
    }
    taken.sort_unstable();
    rest.sort_unstable();
    (taken, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_split_is_a_partition_with_the_right_shares(
            labels in proptest::collection::vec(0usize..4, 1..400),
            seed in any::<u64>(),
        ) {
            let truth = Truth::new(labels, 4).unwrap();
            let split = Split::stratified(&truth, seed);
            prop_assert_eq!(&split, &Split::stratified(&truth, seed));
            let mut all = [split.train.clone(), split.simulation.clone(), split.test.clone()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..truth.n_rows()).collect::<Vec<_>>());
            for class in 0..4 {
                let count = |rows: &[usize]| {
                    rows.iter().filter(|&&row| truth.labels()[row] == class).count() as f64
                };
                let n = count(&(0..truth.n_rows()).collect::<Vec<_>>());
                prop_assert!((count(&split.test) - 0.3 * n).abs() <= 0.5);
                prop_assert!((count(&split.simulation) - 0.3 * n).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn seeds_differ() {
        let truth = Truth::new([[0; 50], [1; 50]].concat(), 2).unwrap();
        assert_ne!(Split::stratified(&truth, 0), Split::stratified(&truth, 1));
        assert_ne!(Split::random(100, 0), Split::random(100, 1));
    }

    #[test]
    fn a_random_split_has_the_same_shares() {
        let split = Split::random(17_379, 0);
        let lengths = [&split.train, &split.simulation, &split.test].map(Vec::len);
        assert_eq!(lengths, [6952, 5213, 5214]);
        assert!(Split::random(0, 0).train.is_empty());
    }
}
