//! Sums over the rows of votes that the learned label model reads: those of the votes alone, and those that depend on what is
//! expected of the classes.

use serde::{Deserialize, Serialize};

use super::network::NETWORKS;
use crate::label_models::{KnownLabels, SignalShape};
use crate::numerics::normalize_logs;
use crate::votes::{VotePatterns, cast_votes};

/// Sums of the votes alone. Pairs of a labeler and an answer lie as `[n_signals, n_classes]`.
pub(super) struct VoteSums {
    /// How often each labeler gives each answer.
    pub(super) of_answer: Vec<f64>,
    /// The votes of each labeler.
    pub(super) of_labeler: Vec<f64>,
    /// How many other votes for the same class there are on the rows of each answer.
    pub(super) together: Vec<f64>,
    /// Each row's share of votes for each class, summed, `[n_classes]`.
    pub(super) row_shares: Vec<f64>,
    /// Rows with a vote.
    pub(super) n_voted: f64,
    /// Known rows by labeler, answer and class, `[n_signals, n_classes, n_classes]`.
    pub(super) of_known: Vec<f64>,
}

impl VoteSums {
    pub(super) fn of(patterns: &VotePatterns, shape: SignalShape, known: Option<&KnownLabels>) -> Self {
        let SignalShape { n_signals, n_classes } = shape;
        let n_answers = n_signals * n_classes;
        let sums = patterns.sum(2 * n_answers + n_classes + 1, |patterns, sums| {
            let mut counts = vec![0.0; n_classes];
            for (votes, count) in patterns {
                counts.fill(0.0);
                cast_votes(votes).for_each(|(_, class)| counts[class] += 1.0);
                let n_votes: f64 = counts.iter().sum();
                if n_votes == 0.0 {
                    continue;
                }
                for (signal, class) in cast_votes(votes) {
                    sums[signal * n_classes + class] += count;
                    sums[n_answers + signal * n_classes + class] += count * (counts[class] - 1.0);
                }
                let rest = &mut sums[2 * n_answers..];
                rest.iter_mut().zip(&counts).for_each(|(sum, votes)| *sum += count * votes / n_votes);
                rest[n_classes] += count;
            }
        });
        let (of_answer, rest) = sums.split_at(n_answers);
        let (together, rest) = rest.split_at(n_answers);
        let mut of_known = vec![0.0; n_answers * n_classes];
        for (votes, class, count) in known.into_iter().flat_map(KnownLabels::iter) {
            for (signal, answer) in cast_votes(votes) {
                of_known[(signal * n_classes + answer) * n_classes + class] += count;
            }
        }
        Self {
            of_answer: of_answer.to_vec(),
            of_labeler: of_answer.chunks_exact(n_classes).map(|answers| answers.iter().sum()).collect(),
            together: together.to_vec(),
            row_shares: rest[..n_classes].to_vec(),
            n_voted: rest[n_classes],
            of_known,
        }
    }

    pub(super) fn n_votes(&self) -> f64 {
        self.of_labeler.iter().sum()
    }
}

/// Sums of what is expected of the classes. Triples of labeler, answer and class lie as `[n_signals, n_classes, n_classes]`.
pub(super) struct ExpectedSums {
    /// By the other votes of each row.
    pub(super) by_others: Vec<f64>,
    /// By all votes of each row.
    pub(super) by_all: Vec<f64>,
    /// Rows with a vote by class.
    pub(super) totals: Vec<f64>,
}

/// Weights of votes and the logarithm of how common classes are: all that a row's classes follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    /// `[n_signals, n_classes, n_classes]`: labeler, answer, class.
    pub(super) weights: Vec<f64>,
    /// `[n_classes]`.
    pub(super) log_balance: Vec<f64>,
}

impl Evidence {
    /// Every vote counts the same.
    pub(super) fn first(SignalShape { n_signals, n_classes }: SignalShape) -> Self {
        let n_cells = n_classes * n_classes;
        let is_own = |triple: usize| triple % n_cells / n_classes == triple % n_classes;
        let weight = |triple| if is_own(triple) { NETWORKS.start } else { 0.0 };
        Self { weights: (0..n_signals * n_cells).map(weight).collect(), log_balance: vec![0.0; n_classes] }
    }

    /// What the votes of a row say for each class, up to a constant.
    pub(super) fn logits(&self, votes: &[u8], logits: &mut [f64]) {
        let n_classes = logits.len();
        logits.copy_from_slice(&self.log_balance);
        for (signal, answer) in cast_votes(votes) {
            let of_vote = &self.weights[(signal * n_classes + answer) * n_classes..][..n_classes];
            logits.iter_mut().zip(of_vote).for_each(|(sum, weight)| *sum += weight);
        }
    }

    /// The sums that it expects over all rows. Of rows that are known nothing else is expected.
    pub(super) fn expected(
        &self,
        patterns: &VotePatterns,
        shape: SignalShape,
        known: Option<&KnownLabels>,
    ) -> ExpectedSums {
        let n_classes = shape.n_classes;
        let n_triples = shape.n_signals * n_classes * n_classes;
        let n_sums = 2 * n_triples + n_classes;
        let mut sums = patterns.sum(n_sums, |patterns, sums| {
            let mut scratch = Scratch::new(n_classes);
            patterns.for_each(|(votes, count)| self.add_expected(votes, count, sums, &mut scratch));
        });
        let mut scratch = Scratch::new(n_classes);
        for (votes, class, count) in known.into_iter().flat_map(KnownLabels::iter) {
            if cast_votes(votes).next().is_none() {
                continue;
            }
            self.add_expected(votes, -count, &mut sums, &mut scratch);
            for (signal, answer) in cast_votes(votes) {
                let triple = (signal * n_classes + answer) * n_classes + class;
                sums[triple] += count;
                sums[n_triples + triple] += count;
            }
            sums[2 * n_triples + class] += count;
        }
        // What was taken away again may leave a rounding error below zero.
        sums.iter_mut().for_each(|sum| *sum = sum.max(0.0));
        let totals = sums.split_off(2 * n_triples);
        let by_all = sums.split_off(n_triples);
        ExpectedSums { by_others: sums, by_all, totals }
    }

    fn add_expected(&self, votes: &[u8], count: f64, sums: &mut [f64], scratch: &mut Scratch) {
        let Scratch { logits, all, others } = scratch;
        let n_classes = logits.len();
        if cast_votes(votes).next().is_none() {
            return;
        }
        self.logits(votes, logits);
        all.copy_from_slice(logits);
        normalize_logs(all);
        let (by_others, rest) = sums.split_at_mut(self.weights.len());
        let (by_all, totals) = rest.split_at_mut(self.weights.len());
        totals.iter_mut().zip(all.iter()).for_each(|(total, p)| *total += count * p);
        for (signal, answer) in cast_votes(votes) {
            let first = (signal * n_classes + answer) * n_classes;
            let own = &self.weights[first..][..n_classes];
            others.iter_mut().zip(logits.iter().zip(own)).for_each(|(other, (all, own))| *other = all - own);
            normalize_logs(others);
            by_others[first..][..n_classes].iter_mut().zip(others.iter()).for_each(|(sum, p)| *sum += count * p);
            by_all[first..][..n_classes].iter_mut().zip(all.iter()).for_each(|(sum, p)| *sum += count * p);
        }
    }
}

/// Room for one row's classes.
struct Scratch {
    logits: Vec<f64>,
    all: Vec<f64>,
    others: Vec<f64>,
}

impl Scratch {
    fn new(n_classes: usize) -> Self {
        Self { logits: vec![0.0; n_classes], all: vec![0.0; n_classes], others: vec![0.0; n_classes] }
    }
}
