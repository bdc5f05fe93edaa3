//! Labelers that vote for one class only, as keyword rules do and spammers.
//!
//! Given that such a labeler votes, it votes for its class, whatever the true one is. So its votes cannot tell a model of
//! votes how good it is, and a model that learns it all the same may draw every row to its class. What labelers that vote
//! for several classes say on its rows does tell whether its votes have anything to do with the class:
//!
//! ```text
//! agreement   share of their votes on its rows that are for its class, the votes of a row sharing one, over n rows
//! chance      share of all their votes that are for its class
//! accuracy    0.7 unless  agreement + 2 standard errors < chance + 0.1 (1 − chance);   then 1 / k: it is not heard
//! ```

use crate::label_models::SignalShape;
use crate::votes::{VotePatterns, cast_votes};

/// How often votes are right of labelers of whom nothing is known.
pub(crate) const PRIOR_ACCURACY: f64 = 0.7;
/// Less of what lies between chance and certainty is no agreement.
const LEAST_AGREEMENT: f64 = 0.1;
const STANDARD_ERRORS: f64 = 2.0;

/// The accuracy that is taken for granted of each labeler that votes for one class only; nothing for the others, `[n_signals]`.
pub(crate) fn one_class_accuracies(patterns: &VotePatterns, shape: SignalShape) -> Vec<Option<f64>> {
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
    let accuracy = |signal: usize| {
        let sums = &of_labelers[3 * signal..3 * signal + 3];
        let class = (sums[0] / (coverages[signal] * n_rows)).round() as usize;
        let chance = if n_votes > 0.0 { votes_for[class] / n_votes } else { 0.0 };
        let n = sums[1];
        let agreement = if n > 0.0 { sums[2] / n } else { 1.0 };
        let error = STANDARD_ERRORS * (0.25 / n.max(1.0)).sqrt();
        let is_heard = agreement + error >= chance + LEAST_AGREEMENT * (1.0 - chance);
        if is_heard { PRIOR_ACCURACY } else { 1.0 / n_classes as f64 }
    };
    let of_one_class = n_classes_voted_for.iter().enumerate();
    of_one_class.map(|(signal, n)| (*n == 1).then(|| accuracy(signal))).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, concatenate};

    use super::*;
    use crate::label_models::planted::Planted;
    use crate::votes::{Votes, WeakSignals};

    fn accuracies(signals: &WeakSignals) -> Vec<Option<f64>> {
        one_class_accuracies(&VotePatterns::of(&signals.votes()), SignalShape::of(signals))
    }

    #[test]
    fn rules_that_others_confirm_are_heard() {
        let rules = Planted::keywords(2000, &[0, 0, 1, 1], 0.5, 0.05, 3);
        assert_eq!(accuracies(&rules.signals), [Some(PRIOR_ACCURACY); 4]);
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
        assert_eq!(accuracies(&alone), [Some(PRIOR_ACCURACY), None, None]);
    }
}
