//! The one-coin model: each labeler is right with one probability of its own, whatever the class.
//!
//! ```text
//! model    P(Y = c) = π(c),   P(labeler j votes a | it votes, Y = c) = α[j] if a = c, (1 − α[j]) / (k − 1) otherwise
//! E step   p[i](c) ∝ π(c) exp(sum over j that vote c of ln(α[j] (k − 1) / (1 − α[j])))
//! start    α[j] = 0.7: better than chance, which is what makes class 0 mean class 0
//! M step   α[j] = mean over the rows where j votes of p[i](vote of j),   π(c) = mean of p[·](c) unless it is given
//! ```
//!
//! With two classes P(Y = 1) is the logistic function of a weighted vote. Coverages separate from all this: how often a
//! labeler votes says nothing of the class.

use serde::{Deserialize, Serialize};

use super::class_balance::uniform;
use super::one_class_labelers::{OneClassLabeler, PRIOR_ACCURACY, one_class_labelers};
use crate::label_models::SignalShape;
use crate::numerics::{largest_change, normalize_logs, normalize_weights};
use crate::stop_reason::{StopReason, until_settled};
use crate::votes::{VotePatterns, cast_votes};

/// A labeler is never held to be right or wrong for certain: its word would outweigh all others.
pub(crate) const ACCURACIES: (f64, f64) = (0.01, 0.99);

/// Class balance π and accuracies α.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OneCoin {
    /// π, `[n_classes]`.
    pub(crate) class_balance: Vec<f64>,
    /// α, `[n_signals]`.
    pub(crate) accuracies: Vec<f64>,
}

impl OneCoin {
    /// The weights with which votes count towards the posterior.
    pub(crate) fn weights(&self) -> VoteWeights {
        let n_wrong = (self.class_balance.len() - 1) as f64;
        VoteWeights {
            base: self.class_balance.iter().map(|p| p.ln()).collect(),
            gains: self.accuracies.iter().map(|a| (a * n_wrong / (1.0 - a)).ln()).collect(),
            wrongs: self.accuracies.iter().map(|a| ((1.0 - a) / n_wrong).ln()).collect(),
        }
    }
}

/// Logarithms of the parameters, as the posterior adds them up.
pub(crate) struct VoteWeights {
    /// ln π(c), `[n_classes]`.
    base: Vec<f64>,
    /// What a vote adds to its class, `[n_signals]`.
    gains: Vec<f64>,
    /// The log-likelihood of a vote for a wrong class, `[n_signals]`.
    wrongs: Vec<f64>,
}

impl VoteWeights {
    /// Writes P(Y | votes) and returns log P(votes).
    pub(crate) fn posterior(&self, votes: &[u8], posterior: &mut [f64]) -> f64 {
        posterior.copy_from_slice(&self.base);
        let mut log_wrong = 0.0;
        for (signal, class) in cast_votes(votes) {
            posterior[class] += self.gains[signal];
            log_wrong += self.wrongs[signal];
        }
        log_wrong + normalize_logs(posterior)
    }
}

/// Expectation maximisation over the distinct rows of votes.
pub(crate) struct OneCoinFit<'a> {
    pub(crate) patterns: &'a VotePatterns,
    pub(crate) shape: SignalShape,
    /// π where it is given; learned from the uniform balance otherwise.
    pub(crate) class_balance: Option<&'a [f64]>,
    /// So many votes of each labeler are right as often as at the start. Unless it is zero, the accuracies of labelers that vote for one class
    /// only are taken for granted.
    pub(crate) prior_votes: f64,
    pub(crate) max_iterations: usize,
    /// It stops when no parameter changes by as much.
    pub(crate) tolerance: f64,
}

impl OneCoinFit<'_> {
    /// The model, and the log-likelihood at the beginning of each round.
    pub(crate) fn run(&self) -> (OneCoin, Vec<f64>, StopReason) {
        let held = match self.prior_votes > 0.0 {
            true => one_class_labelers(self.patterns, self.shape),
            false => vec![None; self.shape.n_signals],
        };
        let class_balance = self.class_balance.map_or_else(|| uniform(self.shape.n_classes), <[f64]>::to_vec);
        let first = |held: &Option<OneClassLabeler>| held.map_or(PRIOR_ACCURACY, |held| held.accuracy(&class_balance));
        let mut model = OneCoin { accuracies: held.iter().map(first).collect(), class_balance };
        let (log_likelihoods, stop) = until_settled(self.max_iterations, self.tolerance, || {
            let (log_likelihood, next) = self.round(&model, &held);
            let change = largest_change(&next.accuracies, &model.accuracies)
                .max(largest_change(&next.class_balance, &model.class_balance));
            model = next;
            (log_likelihood, change)
        });
        (model, log_likelihoods, stop)
    }

    /// The log-likelihood of a model, and the model after one round.
    fn round(&self, model: &OneCoin, held: &[Option<OneClassLabeler>]) -> (f64, OneCoin) {
        let SignalShape { n_signals, n_classes } = self.shape;
        let weights = model.weights();
        // Expected right votes and votes of each labeler, rows of each class, log-likelihood.
        let length = 2 * n_signals + n_classes + 1;
        let sums = self.patterns.sum(length, |patterns, sums| {
            let mut posterior = vec![0.0; n_classes];
            for (votes, count) in patterns {
                sums[length - 1] += count * weights.posterior(votes, &mut posterior);
                let (of_labelers, of_classes) = sums.split_at_mut(2 * n_signals);
                for (signal, class) in cast_votes(votes) {
                    of_labelers[2 * signal] += count * posterior[class];
                    of_labelers[2 * signal + 1] += count;
                }
                of_classes.iter_mut().zip(&posterior).for_each(|(sum, p)| *sum += count * p);
            }
        });
        let (of_labelers, rest) = sums.split_at(2 * n_signals);
        let class_balance = self.next_balance(&rest[..n_classes]);
        let accuracies = of_labelers.chunks_exact(2).zip(&model.accuracies).zip(held);
        let next = OneCoin {
            accuracies: accuracies
                .map(|((sums, &before), held)| match held {
                    Some(held) => held.accuracy(&class_balance),
                    None => self.next_accuracy(sums, before),
                })
                .collect(),
            class_balance,
        };
        (rest[n_classes], next)
    }

    fn next_balance(&self, rows_of_class: &[f64]) -> Vec<f64> {
        if let Some(given) = self.class_balance {
            return given.to_vec();
        }
        let mut balance = rows_of_class.to_vec();
        normalize_weights(&mut balance);
        balance
    }

    /// The share of right votes; a labeler that never votes keeps what it had.
    fn next_accuracy(&self, sums: &[f64], before: f64) -> f64 {
        let prior = self.prior_votes;
        let share = (sums[0] + prior * PRIOR_ACCURACY) / (sums[1] + prior);
        if sums[1] > 0.0 { share.clamp(ACCURACIES.0, ACCURACIES.1) } else { before }
    }
}
