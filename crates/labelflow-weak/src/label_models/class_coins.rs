//! The one-coin model with a coin for each class: labelers may be right more often in one class than in another.
//!
//! ```text
//! model    P(labeler j votes a | it votes, Y = c) = α[j](c) if a = c, (1 − α[j](c)) / (k − 1) otherwise
//! start    the accuracies of the one-coin model, the same for all classes
//! M step   α[j](c) = share of right votes on rows of class c, with so many votes more that are right as often as all of its votes
//! choice   over the one-coin model if  gain in log-likelihood > ½ (number of accuracies more) ln n   (Schwarz's criterion)
//! ```

use serde::{Deserialize, Serialize};

use super::one_coin::{ACCURACIES, OneCoin};
use crate::label_models::SignalShape;
use crate::numerics::{largest_change, normalize_logs};
use crate::stop_reason::{StopReason, until_settled};
use crate::votes::{VotePatterns, cast_votes};

/// Accuracies of labelers in each class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassCoins {
    /// α, `[n_signals, n_classes]`.
    pub(crate) accuracies: Vec<f64>,
}

/// Logarithms of the parameters, as the posterior adds them up.
pub(crate) struct ClassWeights {
    /// ln π(c), `[n_classes]`.
    base: Vec<f64>,
    /// ln P(a right vote | c) and ln P(a wrong vote | c), `[n_signals, n_classes]`.
    logs: Vec<[f64; 2]>,
}

impl ClassCoins {
    pub(crate) fn weights(&self, class_balance: &[f64]) -> ClassWeights {
        let n_wrong = (class_balance.len() - 1) as f64;
        ClassWeights {
            base: class_balance.iter().map(|p| p.ln()).collect(),
            logs: self.accuracies.iter().map(|a| [a.ln(), ((1.0 - a) / n_wrong).ln()]).collect(),
        }
    }
}

impl ClassWeights {
    /// Writes P(Y | votes) and returns log P(votes).
    pub(crate) fn posterior(&self, votes: &[u8], posterior: &mut [f64]) -> f64 {
        posterior.copy_from_slice(&self.base);
        let n_classes = posterior.len();
        for (signal, vote) in cast_votes(votes) {
            let of_classes = &self.logs[signal * n_classes..][..n_classes];
            for (class, (sum, [right, wrong])) in posterior.iter_mut().zip(of_classes).enumerate() {
                *sum += if class == vote { right } else { wrong };
            }
        }
        normalize_logs(posterior)
    }
}

/// Expectation maximisation over the distinct rows of votes, from a fitted one-coin model.
pub(crate) struct ClassCoinsFit<'a> {
    pub(crate) patterns: &'a VotePatterns,
    pub(crate) shape: SignalShape,
    pub(crate) start: &'a OneCoin,
    /// Whether the accuracies of each labeler are learned, `[n_signals]`.
    pub(crate) learns: &'a [bool],
    pub(crate) prior_votes: f64,
    pub(crate) max_iterations: usize,
    /// It stops when no accuracy changes by as much.
    pub(crate) tolerance: f64,
}

impl ClassCoinsFit<'_> {
    /// The model, and the log-likelihood at the beginning of each round.
    pub(crate) fn run(&self) -> (ClassCoins, Vec<f64>, StopReason) {
        let per_class = |a: &f64| std::iter::repeat_n(*a, self.shape.n_classes);
        let mut model = ClassCoins { accuracies: self.start.accuracies.iter().flat_map(per_class).collect() };
        let (log_likelihoods, stop) = until_settled(self.max_iterations, self.tolerance, || {
            let (log_likelihood, next) = self.round(&model);
            let change = largest_change(&next.accuracies, &model.accuracies);
            model = next;
            (log_likelihood, change)
        });
        (model, log_likelihoods, stop)
    }

    /// Whether so much more log-likelihood is worth the accuracies more that are learned.
    pub(crate) fn is_worth(&self, gain: f64) -> bool {
        let n_learned = self.learns.iter().filter(|learns| **learns).count();
        gain > 0.5 * (n_learned * (self.shape.n_classes - 1)) as f64 * self.patterns.n_rows().ln()
    }

    /// The log-likelihood of a model, and the model after one round.
    fn round(&self, model: &ClassCoins) -> (f64, ClassCoins) {
        let SignalShape { n_signals, n_classes } = self.shape;
        let weights = model.weights(&self.start.class_balance);
        // Expected votes and right votes of each labeler in each class, log-likelihood.
        let n_accuracies = n_signals * n_classes;
        let mut sums = self.patterns.sum(2 * n_accuracies + 1, |patterns, sums| {
            let mut posterior = vec![0.0; n_classes];
            for (votes, count) in patterns {
                sums[2 * n_accuracies] += count * weights.posterior(votes, &mut posterior);
                for (signal, vote) in cast_votes(votes) {
                    let of_labeler = sums[signal * n_classes..].iter_mut();
                    of_labeler.zip(&posterior).for_each(|(sum, p)| *sum += count * p);
                    sums[n_accuracies + signal * n_classes + vote] += count * posterior[vote];
                }
            }
        });
        let log_likelihood = sums.pop().expect("the last sum is the log-likelihood");
        let (votes, right) = sums.split_at(n_accuracies);
        let mut accuracies = model.accuracies.clone();
        let of_labelers = votes.chunks_exact(n_classes).zip(right.chunks_exact(n_classes));
        for ((signal, own), (votes, right)) in accuracies.chunks_exact_mut(n_classes).enumerate().zip(of_labelers) {
            let n_votes: f64 = votes.iter().sum();
            if !self.learns[signal] || n_votes == 0.0 {
                continue;
            }
            let of_all = right.iter().sum::<f64>() / n_votes;
            for (accuracy, (votes, right)) in own.iter_mut().zip(votes.iter().zip(right)) {
                let n = votes + self.prior_votes;
                if n > 0.0 {
                    *accuracy = ((right + self.prior_votes * of_all) / n).clamp(ACCURACIES.0, ACCURACIES.1);
                }
            }
        }
        (log_likelihood, ClassCoins { accuracies })
    }
}
