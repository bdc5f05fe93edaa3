//! Labelers that vote for one class only, as keyword rules do and spammers.
//!
//! Given that such a labeler votes, it votes for its class, whatever the true one is. So its votes cannot tell a model of
//! votes how good it is, and a model that learns it all the same may draw every row to its class. What labelers that vote
//! for several classes say on its rows does tell whether its votes have anything to do with the class:
//!
//! ```text
//! agreement   share of their votes on its rows that are for its class, the votes of a row sharing one, over n rows
//! chance      share of all their votes that are for its class
//! heard       unless  agreement + 2 standard errors < chance + 0.1 (1 − chance)
//! right       the larger of 0.55 and p + g (1 − p) if it is heard, else p,   p: how common its class is,  g = (0.7 − 1/k) / (1 − 1/k)
//! ```
//!
//! So a vote of one that is heard is right 7 times in 10 where classes are equally common, more often for a common class and less often for a rare
//! one, but more often than not: alone it makes its class the most probable one, whatever the class balance.

use crate::label_models::SignalShape;
use crate::votes::{VotePatterns, cast_votes};

/// How often votes are right of labelers of whom nothing is known.
pub(crate) const PRIOR_ACCURACY: f64 = 0.7;
/// A vote for a class is right at least this often, however rare the class.
const LEAST_RIGHT: f64 = 0.55;
/// Less of what lies between chance and certainty is no agreement.
const LEAST_AGREEMENT: f64 = 0.1;
const STANDARD_ERRORS: f64 = 2.0;
/// No class is taken to be rarer, lest a vote for it count without end.
const RAREST: f64 = 1e-6;

/// A labeler that votes for one class only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OneClassLabeler {
    class: usize,
    is_heard: bool,
}

impl OneClassLabeler {
    /// The accuracy α for which its vote is right as often as said above: it votes for a class with probability α if that is the true one, and with
    /// (1 − α) / (k − 1) otherwise.
    pub(crate) fn accuracy(self, class_balance: &[f64]) -> f64 {
        let n_classes = class_balance.len() as f64;
        if !self.is_heard {
            return 1.0 / n_classes;
        }
        let p = class_balance[self.class].clamp(RAREST, 1.0 - RAREST);
        let gain = (PRIOR_ACCURACY - 1.0 / n_classes) / (1.0 - 1.0 / n_classes);
        let right = LEAST_RIGHT.max(p + gain * (1.0 - p));
        let odds = right / (1.0 - right) * (1.0 - p) / (p * (n_classes - 1.0));
        odds / (1.0 + odds)
    }
}

/// Each labeler that votes for one class only; nothing for the others, `[n_signals]`.
pub(crate) fn one_class_labelers(patterns: &VotePatterns, shape: SignalShape) -> Vec<Option<OneClassLabeler>> {
    let SignalShape { n_signals, n_classes } = shape;
    let n_classes_voted_for = patterns.n_classes_voted_for(n_classes);
    if !n_classes_voted_for.contains(&1) {
        return vec![None; n_signals];
    }
    // For each labeler: the sum of its classes over its votes, rows with votes of the others, shares of its class among these. Then the others'
    // votes for each class.
    let length = 3 * n_signals + n_classes;
    let sums = patterns.sum(length, |patterns, sums| {
        let mut votes_for = vec![0.0; n_classes];
        for (votes, count) in patterns {
            votes_for.fill(0.0);
            let others = cast_votes(votes).filter(|(signal, _)| n_classes_voted_for[*signal] > 1);
            others.for_each(|(_, class)| votes_for[class] += 1.0);
            let n_others: f64 = votes_for.iter().sum();
            for (signal, class) in cast_votes(votes) {
                sums[3 * signal] += count * class as f64;
                if n_others > 0.0 {
                    sums[3 * signal + 1] += count;
                    sums[3 * signal + 2] += count * votes_for[class] / n_others;
                }
            }
            let totals = sums[3 * n_signals..].iter_mut().zip(&votes_for);
            totals.for_each(|(total, votes)| *total += count * votes);
        }
    });
    let (of_labelers, votes_for) = sums.split_at(3 * n_signals);
    let n_votes: f64 = votes_for.iter().sum();
    let coverages = patterns.coverages();
    let n_rows = patterns.n_rows();
    let labeler = |signal: usize| {
        let sums = &of_labelers[3 * signal..3 * signal + 3];
        let class = (sums[0] / (coverages[signal] * n_rows)).round() as usize;
        let chance = if n_votes > 0.0 { votes_for[class] / n_votes } else { 0.0 };
        let n = sums[1];
        let agreement = if n > 0.0 { sums[2] / n } else { 1.0 };
        let error = STANDARD_ERRORS * (0.25 / n.max(1.0)).sqrt();
        let is_heard = agreement + error >= chance + LEAST_AGREEMENT * (1.0 - chance);
        OneClassLabeler { class, is_heard }
    };
    let of_one_class = n_classes_voted_for.iter().enumerate();
    of_one_class.map(|(signal, n)| (*n == 1).then(|| labeler(signal))).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, concatenate};

    use approx::assert_abs_diff_eq;

    use super::*;
    use crate::label_models::class_balance::uniform;
    use crate::label_models::planted::Planted;
    use crate::votes::{Votes, WeakSignals};

    fn accuracies(signals: &WeakSignals) -> Vec<Option<f64>> {
        let labelers = one_class_labelers(&VotePatterns::of(&signals.votes()), SignalShape::of(signals));
        let balance = uniform(signals.n_classes());
        labelers.into_iter().map(|labeler| labeler.map(|labeler| labeler.accuracy(&balance))).collect()
    }

    #[test]
    fn rules_that_others_confirm_are_heard() {
        let rules = Planted::keywords(2000, &[0, 0, 1, 1], 0.5, 0.05, 3);
        for accuracy in accuracies(&rules.signals) {
            assert_abs_diff_eq!(accuracy.unwrap(), PRIOR_ACCURACY, epsilon = 1e-12);
        }
    }

    #[test]
    fn a_vote_for_a_rare_class_is_right_more_often_than_not() {
        let balance = [0.949, 0.05, 0.001];
        let probability = |class: usize| {
            let accuracy = OneClassLabeler { class, is_heard: true }.accuracy(&balance);
            let [own, others] = [balance[class] * accuracy, (1.0 - balance[class]) * (1.0 - accuracy) / 2.0];
            own / (own + others)
        };
        assert_abs_diff_eq!(probability(2), 0.55045, epsilon = 1e-12);
        // 0.55 of the way from chance to certainty.
        assert_abs_diff_eq!(probability(0), 0.949 + 0.55 * 0.051, epsilon = 1e-12);
        assert_eq!(OneClassLabeler { class: 0, is_heard: false }.accuracy(&balance), 1.0 / 3.0);
    }

    #[test]
    fn a_labeler_that_always_says_the_same_is_not_heard() {
        let problem = Planted::new(500, 3, &[0.8, 0.7, 0.9], 0.3, 2);
        let votes = problem.signals.votes();
        let same = ndarray::Array2::from_elem((500, 1), 1u8);
        let both = concatenate![Axis(1), votes.bytes(), same];
        let signals = WeakSignals::from_votes(Votes::from_bytes(both, 3).unwrap()).unwrap();
        assert_eq!(accuracies(&signals), [None, None, None, Some(1.0 / 3.0)]);
    }

    #[test]
    fn a_rule_that_votes_alone_is_heard_and_one_that_never_votes_is_none() {
        let alone = crate::label_models::planted::signals(ndarray::array![[0, -1, 1], [0, -1, 0]], 2);
        let found = accuracies(&alone);
        assert_abs_diff_eq!(found[0].unwrap(), PRIOR_ACCURACY, epsilon = 1e-12);
        assert_eq!(found[1..], [None, None]);
    }
}
