//! Votes, problems with planted truth, and the comparison of arrays, for tests.

use ndarray::{Array2, ArrayView2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::one_coin::OneCoin;
use crate::numerics::fill_rows;
use crate::rows::{SoftLabels, Truth};
use crate::votes::{ABSTAIN, Votes, WeakSignals};

/// Votes given as class indices, −1 for an abstention.
pub(crate) fn signals(votes: Array2<i64>, n_classes: usize) -> WeakSignals {
    let votes = Votes::from_indices(votes.view(), Some(n_classes)).unwrap();
    WeakSignals::from_votes(votes).unwrap()
}

/// Votes of labelers that are independent given the true class.
pub(crate) struct Planted {
    pub(crate) signals: WeakSignals,
    pub(crate) truth: Truth,
}

impl Planted {
    /// Labelers that are right with these probabilities, err towards the next class more often than to others, and
    /// abstain at random.
    pub(crate) fn new(n_rows: usize, n_classes: usize, accuracies: &[f64], abstention_rate: f64, seed: u64) -> Self {
        let uniform = vec![1.0; n_classes];
        Self::generate(n_rows, &uniform, accuracies.len(), seed, |truth, signal, rng| {
            if rng.random_bool(abstention_rate) {
                ABSTAIN
            } else if rng.random_bool(accuracies[signal]) {
                truth
            } else {
                let shift = if rng.random_bool(0.5) { 1 } else { rng.random_range(1..n_classes) };
                ((usize::from(truth) + shift) % n_classes) as u8
            }
        })
    }

    /// Every pattern of three binary labelers that always vote, as often as its probability says; accuracies are in
    /// twentieths. Classes are equally common.
    pub(crate) fn exact_population(accuracies: [u64; 3]) -> WeakSignals {
        let mut bytes: Vec<u8> = Vec::new();
        for pattern in 0..8 {
            let votes = [pattern & 1, pattern >> 1 & 1, pattern >> 2 & 1];
            for truth in [0, 1] {
                let right = votes.iter().zip(accuracies);
                let weight = right.map(|(&vote, a)| if vote == truth { a } else { 20 - a });
                bytes.extend(votes.repeat(weight.product::<u64>() as usize));
            }
        }
        let votes = Array2::from_shape_vec((bytes.len() / 3, 3), bytes).unwrap();
        WeakSignals::from_votes(Votes::from_bytes(votes, 2).unwrap()).unwrap()
    }

    /// Binary rules that speak for one class each, on `hit` of its rows and on `miss` of the others.
    pub(crate) fn keywords(n_rows: usize, speaks_for: &[u8], hit: f64, miss: f64, seed: u64) -> Self {
        Self::generate(n_rows, &[1.0, 1.0], speaks_for.len(), seed, |truth, signal, rng| {
            let class = speaks_for[signal];
            let rate = if truth == class { hit } else { miss };
            if rng.random_bool(rate) { class } else { ABSTAIN }
        })
    }

    /// Rules that speak for one class each, on a third of its rows and on so large a share of the others, `miss[class]`.
    pub(crate) fn rules(n_rows: usize, balance: &[f64], speaks_for: &[u8], miss: &[f64], seed: u64) -> Self {
        Self::generate(n_rows, balance, speaks_for.len(), seed, |truth, signal, rng| {
            let class = speaks_for[signal];
            let rate = if truth == class { 1.0 / 3.0 } else { miss[usize::from(class)] };
            if rng.random_bool(rate) { class } else { ABSTAIN }
        })
    }

    /// Ten labelers with coverages from 0.3 to 0.7 and accuracies from 0.55 to 0.85 in no common order, whose errors are
    /// spread evenly over the wrong classes; classes as common as `balance` says.
    pub(crate) fn unequal(n_rows: usize, balance: &[f64], seed: u64) -> Self {
        Self::one_coin(n_rows, balance, &Self::ten_labelers(), seed)
    }

    fn ten_labelers() -> Vec<(f64, f64)> {
        let spread = |place: usize| (place % 10) as f64 / 9.0;
        (0..10).map(|j| (0.3 + 0.4 * spread(3 * j), 0.55 + 0.3 * spread(7 * j))).collect()
    }

    /// Labelers with these coverages and accuracies, whose errors are spread evenly over the wrong classes.
    pub(crate) fn one_coin(n_rows: usize, balance: &[f64], labelers: &[(f64, f64)], seed: u64) -> Self {
        let n_classes = balance.len();
        Self::generate(n_rows, balance, labelers.len(), seed, |truth, signal, rng| {
            let (coverage, accuracy) = labelers[signal];
            if !rng.random_bool(coverage) {
                ABSTAIN
            } else if rng.random_bool(accuracy) {
                truth
            } else {
                ((usize::from(truth) + rng.random_range(1..n_classes)) % n_classes) as u8
            }
        })
    }

    /// The accuracy on a problem of [`Self::unequal`] of whoever knows its parameters: no label model can do better,
    /// but for luck.
    pub(crate) fn best_accuracy(&self, balance: &[f64]) -> f64 {
        let accuracies = Self::ten_labelers().into_iter().map(|(_, accuracy)| accuracy).collect();
        let model = OneCoin { class_balance: balance.to_vec(), accuracies };
        let (weights, votes) = (model.weights(), self.signals.votes());
        let posteriors = fill_rows(votes.n_rows(), balance.len(), |row, posterior| {
            weights.posterior(votes.row_bytes(row), posterior);
        });
        self.truth.accuracy(&SoftLabels::normalized(posteriors).argmax())
    }

    /// Binary labelers that always vote and are right as often as the true class says.
    pub(crate) fn asymmetric(n_rows: usize, balance: &[f64; 2], right: &[f64; 2], n_signals: usize, seed: u64) -> Self {
        Self::generate(n_rows, balance, n_signals, seed, |truth, _, rng| {
            if rng.random_bool(right[usize::from(truth)]) { truth } else { 1 - truth }
        })
    }

    fn generate(
        n_rows: usize,
        balance: &[f64],
        n_signals: usize,
        seed: u64,
        mut vote: impl FnMut(u8, usize, &mut ChaCha8Rng) -> u8,
    ) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n_classes = balance.len();
        let labels: Vec<usize> = (0..n_rows).map(|_| draw(balance, &mut rng)).collect();
        let votes =
            Array2::from_shape_fn((n_rows, n_signals), |(row, signal)| vote(labels[row] as u8, signal, &mut rng));
        let votes = Votes::from_bytes(votes, n_classes).unwrap();
        Self { signals: WeakSignals::from_votes(votes).unwrap(), truth: Truth::new(labels, n_classes).unwrap() }
    }
}

/// A class with these weights.
fn draw(weights: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut rest = rng.random_range(0.0..weights.iter().sum());
    for (class, weight) in weights.iter().enumerate() {
        if rest < *weight {
            return class;
        }
        rest -= weight;
    }
    weights.len() - 1
}

/// Fails unless two arrays have the same shape and differ by at most `tolerance` anywhere.
#[track_caller]
pub(crate) fn assert_near(found: ArrayView2<'_, f64>, expected: &Array2<f64>, tolerance: f64) {
    assert_eq!(found.dim(), expected.dim());
    let worst = found.iter().zip(expected).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()));
    assert!(worst <= tolerance, "found {found}, expected {expected}");
}
