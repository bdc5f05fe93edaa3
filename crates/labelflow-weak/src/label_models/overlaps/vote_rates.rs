//! μ: how often each labeler votes for each class, given the true class, and what votes then say of the class.
//!
//! ```text
//! μ[j·k + c][y] = P(labeler j votes for c | Y = y)
//! P(Y = y | votes) ∝ p(y) ∏ over the labelers that vote of μ[j·k + vote of j][y]
//! ```
//!
//! An abstention says nothing.
//!
//! Overlaps μ P μᵀ and frequencies μ p are the same for μ and for its mirror image, in which every rate is as far from its
//! mean over the classes on the other side, so a fit to them can end in either:
//!
//! ```text
//! mirror image   2 g − μ[·][y],   g = μ p
//! below chance   Σ over j and y of p(y) (μ[j·k + y][y] − g[j·k + y]) < 0
//! ```
//!
//! Rates below chance belong to labelers that are wrong more often than if they voted blindly; their mirror image is above.

use ndarray::Array3;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::label_models::tempering::Tempering;
use crate::label_models::{LogParameters, SignalShape};
use crate::rows::SoftLabels;
use crate::votes::{VotePatterns, WeakSignals};

/// μ with the class balance p.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct VoteRates {
    pub(crate) shape: SignalShape,
    pub(crate) class_balance: Vec<f64>,
    /// `[n_signals, n_classes voted for, n_classes]`.
    rates: Vec<f64>,
}

impl VoteRates {
    /// μ given column after column, one for each true class.
    pub(crate) fn new(shape: SignalShape, class_balance: &[f64], columns: &[f64]) -> Self {
        let n = shape.n_signals * shape.n_classes;
        let rates = (0..n * shape.n_classes)
            .map(|place| columns[place % shape.n_classes * n + place / shape.n_classes])
            .collect();
        Self { shape, class_balance: class_balance.to_vec(), rates }
    }

    /// The same rates, none nearer than `margin` to 0 or 1.
    pub(crate) fn clamped(mut self, margin: f64) -> Self {
        self.rates.iter_mut().for_each(|rate| *rate = rate.clamp(margin, 1.0 - margin));
        self
    }

    /// The same rates, none nearer to 0 or 1 than a share of how often the labeler casts the vote, or than `most`. A vote that is
    /// never cast keeps `most`.
    pub(crate) fn clamped_by_frequency(mut self, share: f64, most: f64) -> Self {
        let balance = &self.class_balance;
        for row in self.rates.chunks_exact_mut(balance.len()) {
            let frequency: f64 = balance.iter().zip(row.iter()).map(|(p, rate)| p * rate).sum();
            let margin = if frequency > 0.0 { (share * frequency).clamp(1e-9, most) } else { most };
            row.iter_mut().for_each(|rate| *rate = rate.clamp(margin, 1.0 - margin));
        }
        self
    }

    /// The same rates with column `order[y]` as that of class y.
    pub(crate) fn with_columns(mut self, order: &[usize]) -> Self {
        let mut moved = vec![0.0; order.len()];
        for row in self.rates.chunks_exact_mut(order.len()) {
            moved.iter_mut().zip(order).for_each(|(rate, &from)| *rate = row[from]);
            row.copy_from_slice(&moved);
        }
        self
    }

    /// The same rates, or their mirror image if they are below chance. What that puts outside of 0 to 1 must be clamped.
    pub(crate) fn above_chance(mut self) -> Self {
        let n_classes = self.shape.n_classes;
        let balance = self.class_balance.iter();
        let mean = |row: &[f64]| -> f64 { balance.clone().zip(row).map(|(p, rate)| p * rate).sum() };
        let rows = self.rates.chunks_exact(n_classes).enumerate();
        let gain: f64 = rows
            .map(|(place, row)| {
                let class = place % n_classes;
                self.class_balance[class] * (row[class] - mean(row))
            })
            .sum();
        if gain < 0.0 {
            for row in self.rates.chunks_exact_mut(n_classes) {
                let mean = mean(row);
                row.iter_mut().for_each(|rate| *rate = 2.0 * mean - *rate);
            }
        }
        self
    }

    /// Checks that its lists have the lengths that its shape says, which a file may contradict.
    pub(crate) fn check(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        self.shape.check_list("class_balance", self.class_balance.len(), &[n_classes])?;
        self.shape.check_list("rates", self.rates.len(), &[n_signals, n_classes, n_classes])
    }

    /// P(labeler `signal` votes for `vote` | Y = `class`).
    pub(crate) fn get(&self, signal: usize, vote: usize, class: usize) -> f64 {
        let n_classes = self.shape.n_classes;
        self.rates[(signal * n_classes + vote) * n_classes + class]
    }

    /// The probability of each answer given the true class, `[n_signals, n_classes, n_classes + 1]`; the last answer is
    /// the abstention, which has what the votes leave.
    pub(crate) fn confusions(&self) -> Array3<f64> {
        let SignalShape { n_signals, n_classes } = self.shape;
        Array3::from_shape_fn((n_signals, n_classes, n_classes + 1), |(signal, class, answer)| {
            if answer < n_classes {
                return self.get(signal, answer, class);
            }
            let votes: f64 = (0..n_classes).map(|vote| self.get(signal, vote, class)).sum();
            (1.0 - votes).max(0.0)
        })
    }

    /// P(Y | votes) for each row of signals with the shape of the fit, tempered. No rate may be zero.
    pub(crate) fn labels(&self, tempering: Tempering, signals: &WeakSignals) -> Result<SoftLabels> {
        self.logs().labels(self.shape, tempering, signals)
    }

    /// What the votes of a fit show of errors that labelers have in common.
    pub(crate) fn tempering(&self, patterns: &VotePatterns) -> Tempering {
        self.logs().tempering(patterns, self.shape)
    }

    fn logs(&self) -> LogParameters {
        let n_classes = self.shape.n_classes;
        // An abstention is an answer that is certain whatever the class.
        let per_signal = self.rates.chunks_exact(n_classes * n_classes);
        let answers: Vec<f64> =
            per_signal.flat_map(|rates| rates.iter().copied().chain(std::iter::repeat_n(1.0, n_classes))).collect();
        LogParameters::new(&self.class_balance, &answers)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    use super::*;
    use crate::votes::Votes;

    fn accuracy_08() -> VoteRates {
        let shape = SignalShape { n_signals: 3, n_classes: 2 };
        let first: Vec<f64> = [0.8, 0.2].repeat(3);
        let second: Vec<f64> = [0.2, 0.8].repeat(3);
        VoteRates::new(shape, &[0.5, 0.5], &[first, second].concat())
    }

    #[test]
    fn two_against_one_of_accuracy_08_give_08() {
        let votes = Votes::from_indices(array![[1, 1, 0], [1, -1, 0], [-1, -1, 1]].view(), None);
        let signals = WeakSignals::from_votes(votes.unwrap()).unwrap();
        let labels = accuracy_08().labels(Tempering::default(), &signals).unwrap();
        let class_1 = labels.values().column(1).to_vec();
        assert_abs_diff_eq!(&class_1[..], &[0.8, 0.5, 0.8][..], epsilon = 1e-12);
    }

    #[test]
    fn rates_below_chance_are_mirrored() {
        assert_eq!(accuracy_08().above_chance(), accuracy_08());
        let swapped = accuracy_08().with_columns(&[1, 0]).above_chance();
        let difference = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(swapped.rates.iter().zip(&accuracy_08().rates).all(difference));
        // Unequal classes: overlaps and frequencies stay as they are.
        let shape = SignalShape { n_signals: 3, n_classes: 2 };
        let columns = [[0.2, 0.5, 0.3, 0.6, 0.1, 0.7], [0.4, 0.4, 0.5, 0.3, 0.2, 0.5]].concat();
        let (below, p) = (VoteRates::new(shape, &[0.7, 0.3], &columns), [0.7, 0.3]);
        let above = below.clone().above_chance();
        assert_ne!(below, above);
        assert_eq!(above.clone().above_chance(), above);
        let rate = |rates: &VoteRates, vote: usize, class| rates.get(vote / 2, vote % 2, class);
        for (a, b) in (0..36).map(|pair| (pair / 6, pair % 6)) {
            let overlap =
                |rates: &VoteRates| -> f64 { (0..2).map(|y| p[y] * rate(rates, a, y) * rate(rates, b, y)).sum() };
            assert_abs_diff_eq!(overlap(&above), overlap(&below), epsilon = 1e-12);
        }
    }

    #[test]
    fn rates_are_clamped_and_moved() {
        let rates = accuracy_08().clamped(0.3).with_columns(&[1, 0]);
        assert_eq!((rates.get(2, 0, 0), rates.get(2, 0, 1)), (0.3, 0.7));
        assert_eq!(rates.confusions().dim(), (3, 2, 3));
        assert_abs_diff_eq!(rates.confusions()[[1, 0, 2]], 0.0, epsilon = 1e-12);
    }
}
