//! How common each class is, as label models need to know it: estimated from the votes alone, uniform, or given.
//!
//! The estimate is the class balance of one of two models of maximum likelihood:
//!
//! ```text
//! one coin        each labeler has one accuracy              m + k − 1 parameters          (errors alike in all classes)
//! Dawid-Skene     each labeler has a confusion matrix        m k (k − 1) + k − 1 parameters
//! choice          the larger of  log-likelihood − ½ (number of parameters) ln n            (Schwarz's criterion)
//! balance         (n π(c) + 1) / (n + k)                                                   (never zero)
//! ```
//!
//! for m labelers, k classes and n rows with votes. The one-coin model reads the balance off how often each class is voted
//! for, once it knows how often votes are wrong; it needs few rows, and misleads where labelers err more often in one
//! class. Dawid-Skene needs more rows and does not. The criterion asks the votes which one to believe.
//!
//! Labelers that vote for one class only, as keyword rules do, are left out. Their votes are the same whatever the balance, and their
//! silence is no safe guide: Dawid-Skene reads it well where labelers are independent, but takes the rows on which no rule fires for
//! the class whose rules fire less often.
//!
//! If no row has votes of three of the other labelers, these cannot tell: two labelers agree as often on a rare class when they are good as
//! on equal classes when they are less so. Then those of one class are asked after all. The rarer their class is, the more often they vote
//! together:
//!
//! ```text
//! balance   π(c) ∝ (expected(c) + 5 r) / (together(c) + 5),   r = Σ expected / Σ together
//! with      together(c)  pairs of votes by labelers of class c on the same row
//!           expected(c)  as many as there would be if they voted on rows of any class
//! ```
//!
//! Where they vote on rows of their class alone this is exact: together(c) is expected(c) / π(c). Rows without votes change nothing, nor does
//! what makes labelers of all classes vote together alike. Unless two classes have such pairs, the balance is uniform.
//!
//! G. Schwarz, *Estimating the dimension of a model*, 1978.

use serde::{Deserialize, Serialize};

use super::one_coin::OneCoinFit;
use crate::label_models::{DawidSkene, LabelModel, SignalShape};
use crate::numerics::normalize_weights;
use crate::votes::{ABSTAIN, CountedVotes, VotePatterns, WeakSignals, cast_votes};
use crate::{Error, Result, ensure};

/// Rounds after which an estimate is good enough to be used inside another model.
const MAX_ITERATIONS: usize = 1000;
const TOLERANCE: f64 = 1e-6;
/// Fewer labelers leave open whether they agree because they are good or because one class is common.
const MIN_VOTES: usize = 3;
/// So many pairs of votes of each class are taken to be as frequent as those of all classes are.
const PRIOR_PAIRS: f64 = 5.0;

/// How common each class is. In files: `"estimated"`, `"uniform"`, or a list of probabilities.
///
/// The estimate is the class balance of the one-coin model (each labeler has one accuracy) or of [`DawidSkene`] (each has
/// a confusion matrix), whichever Schwarz's criterion prefers, with one row added to each class so that none is zero.
/// Labelers that vote for one class only, as keyword rules do, are left out. Where no row has votes of three of the others, those of one class tell the
/// balance instead: the rarer their class is, the more often they vote together. If they never do, the balance is uniform.
/// [`DawidSkene`] itself needs no such estimate: it learns the balance with everything else.
///
/// ```
/// use labelflow_weak::label_models::ClassBalance;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, 0], [0, 0, -1], [1, 1, 1], [0, -1, 0]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// assert_eq!(ClassBalance::Uniform.resolve(&signals)?, [0.5, 0.5]);
/// // Three rows of one class and one of the other; both get one row more, so that no class is impossible.
/// let estimated = ClassBalance::Estimated.resolve(&signals)?;
/// assert!((estimated[0] - 4.0 / 6.0).abs() < 0.01);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "expected \"estimated\", \"uniform\" or a list of probabilities")]
pub enum ClassBalance {
    /// Estimated from the votes alone, as said above.
    #[default]
    Estimated,
    /// The same for all classes.
    Uniform,
    /// One probability for each class, none of them zero.
    #[serde(untagged)]
    Given(Vec<f64>),
}

impl ClassBalance {
    /// The probability of each class, `[n_classes]`, each above zero; they sum to one.
    ///
    /// Estimating it passes over the distinct rows of votes up to a few hundred times. Without any vote the estimate is
    /// uniform. A given balance must have one positive probability for each class.
    pub fn resolve(&self, signals: &WeakSignals) -> Result<Vec<f64>> {
        self.resolve_counts(&CountedVotes::of(signals))
    }

    /// The same from counted votes.
    pub fn resolve_counts(&self, counted: &CountedVotes) -> Result<Vec<f64>> {
        let shape = counted.shape();
        self.check(shape.n_classes)?;
        self.fixed(shape.n_classes).map_or_else(|| estimate(&counted.patterns, shape), Ok)
    }

    /// The probability of each class where it does not depend on the votes.
    pub(crate) fn fixed(&self, n_classes: usize) -> Option<Vec<f64>> {
        match self {
            Self::Estimated => None,
            Self::Uniform => Some(uniform(n_classes)),
            Self::Given(balance) => Some(balance.clone()),
        }
    }

    /// Checks a given balance.
    pub(crate) fn check(&self, n_classes: usize) -> Result<()> {
        let Self::Given(balance) = self else { return Ok(()) };
        let is_distribution = balance.len() == n_classes
            && balance.iter().all(|&p| p > 0.0)
            && (balance.iter().sum::<f64>() - 1.0).abs() <= 1e-6;
        ensure(is_distribution, || {
            let expected = format!("{n_classes} probabilities above 0 that sum to 1");
            Error::config("class_balance", expected, format!("{balance:?}"))
        })
    }
}

/// The same probability for each class.
pub(crate) fn uniform(n_classes: usize) -> Vec<f64> {
    vec![1.0 / n_classes as f64; n_classes]
}

/// Whether the votes say how common the classes are. The estimate is uniform otherwise.
pub(crate) fn votes_tell_balance(patterns: &VotePatterns, shape: SignalShape) -> bool {
    votes_of_three(patterns, shape.n_classes) || RulePairs::of(patterns, shape).tell_balance()
}

/// Whether some row has votes of three labelers that vote for several classes.
fn votes_of_three(patterns: &VotePatterns, n_classes: usize) -> bool {
    let n_classes_voted_for = patterns.n_classes_voted_for(n_classes);
    let n_votes = |votes: &[u8]| {
        let votes = votes.iter().zip(&n_classes_voted_for);
        votes.filter(|(vote, n_classes)| **vote != ABSTAIN && **n_classes > 1).count()
    };
    patterns.iter().any(|(votes, _)| n_votes(votes) >= MIN_VOTES)
}

/// The balance from labelers that vote for one class only.
pub(crate) fn balance_of_rules(patterns: &VotePatterns, shape: SignalShape) -> Vec<f64> {
    let pairs = RulePairs::of(patterns, shape);
    match pairs.tell_balance() {
        true => never_zero(pairs.balance(), patterns.n_rows()),
        false => uniform(shape.n_classes),
    }
}

/// Pairs of votes on the same row by labelers of one class, for each class.
struct RulePairs {
    together: Vec<f64>,
    expected: Vec<f64>,
}

impl RulePairs {
    fn of(patterns: &VotePatterns, shape: SignalShape) -> Self {
        let SignalShape { n_signals, n_classes } = shape;
        let n_classes_voted_for = patterns.n_classes_voted_for(n_classes);
        let is_rule = |signal: usize| n_classes_voted_for[signal] == 1;
        // Votes of each labeler for each class, then pairs of each class.
        let n_votes = n_signals * n_classes;
        let sums = patterns.sum(n_votes + n_classes, |patterns, sums| {
            let mut on_row = vec![0.0; n_classes];
            for (votes, count) in patterns {
                on_row.fill(0.0);
                for (signal, class) in cast_votes(votes).filter(|(signal, _)| is_rule(*signal)) {
                    sums[signal * n_classes + class] += count;
                    sums[n_votes + class] += count * on_row[class];
                    on_row[class] += 1.0;
                }
            }
        });
        let (of_labelers, together) = sums.split_at(n_votes);
        let expected = |class: usize| {
            let votes = || of_labelers[class..].iter().step_by(n_classes);
            let (sum, squares) = (votes().sum::<f64>(), votes().map(|n| n * n).sum::<f64>());
            (sum * sum - squares) / (2.0 * patterns.n_rows())
        };
        Self { together: together.to_vec(), expected: (0..n_classes).map(expected).collect() }
    }

    fn tell_balance(&self) -> bool {
        self.together.iter().filter(|&&pairs| pairs > 0.0).count() > 1
    }

    fn balance(&self) -> Vec<f64> {
        let ratio = self.expected.iter().sum::<f64>() / self.together.iter().sum::<f64>();
        let classes = self.expected.iter().zip(&self.together);
        let mut balance: Vec<f64> =
            classes.map(|(expected, together)| (expected + PRIOR_PAIRS * ratio) / (together + PRIOR_PAIRS)).collect();
        normalize_weights(&mut balance);
        balance
    }
}

fn estimate(patterns: &VotePatterns, shape: SignalShape) -> Result<Vec<f64>> {
    if !votes_of_three(patterns, shape.n_classes) {
        return Ok(balance_of_rules(patterns, shape));
    }
    let n_classes_voted_for = patterns.n_classes_voted_for(shape.n_classes);
    let chosen: Vec<usize> = (0..shape.n_signals).filter(|&signal| n_classes_voted_for[signal] > 1).collect();
    if chosen.len() == shape.n_signals {
        return estimate_from_all(patterns, shape);
    }
    let shape = SignalShape { n_signals: chosen.len(), ..shape };
    estimate_from_all(&patterns.of_labelers(&chosen, shape.n_classes), shape)
}

/// The estimate from labelers each of which votes for several classes.
fn estimate_from_all(patterns: &VotePatterns, shape: SignalShape) -> Result<Vec<f64>> {
    let patterns = patterns.without_silence();
    let n_rows = patterns.n_rows();
    let (one_coin, of_one_coin) = one_coin(&patterns, shape);
    let (confusions, of_confusions) = dawid_skene(&patterns, shape)?;
    // The k − 1 parameters of the balance itself are in both.
    let (m, k) = (shape.n_signals as f64, shape.n_classes as f64);
    let penalty = 0.5 * n_rows.ln() * m * (k * (k - 1.0) - 1.0);
    let balance = if of_confusions - of_one_coin > penalty { confusions } else { one_coin };
    Ok(never_zero(balance, n_rows))
}

/// The class balance of Dawid-Skene and its log-likelihood.
fn dawid_skene(patterns: &VotePatterns, shape: SignalShape) -> Result<(Vec<f64>, f64)> {
    let model = DawidSkene { max_iterations: MAX_ITERATIONS, ..DawidSkene::default().published() };
    let fitted = model.fit_patterns(patterns, shape)?;
    let log_likelihood = fitted.log_likelihoods.last().copied();
    Ok((fitted.class_balance().to_vec(), log_likelihood.unwrap_or(f64::NEG_INFINITY)))
}

/// The class balance of the one-coin model and its log-likelihood.
fn one_coin(patterns: &VotePatterns, shape: SignalShape) -> (Vec<f64>, f64) {
    let fit = OneCoinFit {
        patterns,
        shape,
        class_balance: None,
        prior_votes: 0.0,
        max_iterations: MAX_ITERATIONS,
        tolerance: TOLERANCE,
    };
    let (model, log_likelihoods, _) = fit.run();
    (model.class_balance, log_likelihoods.last().copied().unwrap_or(f64::NEG_INFINITY))
}

/// The balance with one row more in each class.
pub(crate) fn never_zero(balance: Vec<f64>, n_rows: f64) -> Vec<f64> {
    let n_classes = balance.len() as f64;
    balance.into_iter().map(|p| (n_rows * p + 1.0) / (n_rows + n_classes)).collect()
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Axis, array, concatenate};
    use serde::de::value::{Error as ValueError, SeqDeserializer, StrDeserializer};

    use super::*;
    use crate::label_models::planted::{Planted, signals};
    use crate::votes::Votes;

    #[test]
    fn an_unequal_balance_is_found_in_few_rows_and_in_many() {
        for (n_rows, tolerance) in [(500, 0.08), (4000, 0.04)] {
            for seed in 0..2 {
                let problem = Planted::unequal(n_rows, &[0.65, 0.35], seed);
                let balance = ClassBalance::Estimated.resolve(&problem.signals).unwrap();
                assert_abs_diff_eq!(balance[0], 0.65, epsilon = tolerance);
                assert_abs_diff_eq!(balance[0] + balance[1], 1.0, epsilon = 1e-12);
            }
        }
    }

    #[test]
    fn labelers_that_err_in_one_class_do_not_mislead() {
        // Right on 95 % of class 0 and on 60 % of class 1: one coin takes the errors for rows of class 0.
        let problem = Planted::asymmetric(4000, &[0.5, 0.5], &[0.95, 0.6], 7, 5);
        let patterns = VotePatterns::of(&problem.signals.votes());
        let (misled, _) = one_coin(&patterns, SignalShape::of(&problem.signals));
        assert!(misled[0] > 0.6, "{misled:?}");
        let balance = ClassBalance::Estimated.resolve(&problem.signals).unwrap();
        assert_abs_diff_eq!(balance[0], 0.5, epsilon = 0.04);
    }

    #[test]
    fn keyword_rules_are_left_out() {
        let rules = Planted::keywords(2000, &[0, 0, 1, 1], 0.5, 0.05, 3);
        // Beside labelers that vote for both classes they change nothing.
        let problem = Planted::unequal(2000, &[0.8, 0.2], 4);
        let (votes, rules) = (problem.signals.votes(), rules.signals.votes());
        let both = concatenate![Axis(1), rules.bytes(), votes.bytes()];
        let both = WeakSignals::from_votes(Votes::from_bytes(both, 2).unwrap()).unwrap();
        let expected = ClassBalance::Estimated.resolve(&problem.signals).unwrap();
        assert_abs_diff_eq!(expected[0], 0.8, epsilon = 0.04);
        assert_eq!(ClassBalance::Estimated.resolve(&both).unwrap(), expected);
    }

    #[test]
    fn rules_of_a_rare_class_vote_together_more_often() {
        // Each finds a third of its class; one vote in twenty of those for class 1 is wrong.
        let problem = Planted::rules(20_000, &[0.9, 0.1], &[0, 0, 0, 1, 1, 1], &[0.002, 0.002], 1);
        let balance = ClassBalance::Estimated.resolve(&problem.signals).unwrap();
        assert_abs_diff_eq!(balance[1], 0.1, epsilon = 0.02);
        // Rows without votes change nothing but the row that is added to each class.
        let votes = problem.signals.votes();
        let spoken: Vec<usize> =
            (0..votes.n_rows()).filter(|&row| votes.row_bytes(row).iter().any(|&vote| vote != ABSTAIN)).collect();
        assert!(spoken.len() < votes.n_rows());
        let spoken = Votes::from_bytes(votes.bytes().select(Axis(0), &spoken), 2).unwrap();
        let of_spoken = ClassBalance::Estimated.resolve(&WeakSignals::from_votes(spoken).unwrap()).unwrap();
        assert_abs_diff_eq!(&of_spoken[..], &balance[..], epsilon = 1e-3);
    }

    #[test]
    fn rules_that_never_vote_together_tell_nothing() {
        // Those of class 0 do, those of class 1 do not.
        let votes = array![[0, 0, -1, -1], [0, -1, 1, -1], [-1, 0, -1, 1], [0, 0, -1, -1]];
        assert_eq!(ClassBalance::Estimated.resolve(&signals(votes, 2)).unwrap(), [0.5, 0.5]);
    }

    #[test]
    fn votes_that_cannot_tell_give_the_uniform_balance() {
        let cases = [
            array![[0, 0], [0, 1], [0, 0]],
            array![[-1, -1, -1], [-1, -1, -1]],
            array![[0, 0, -1], [0, -1, 1], [-1, 1, 0], [1, 1, -1], [1, -1, 1]],
            array![[1]],
        ];
        for votes in cases {
            let balance = ClassBalance::Estimated.resolve(&signals(votes, 2)).unwrap();
            assert_eq!(balance, [0.5, 0.5]);
        }
    }

    #[test]
    fn no_class_is_impossible() {
        let cases = [array![[0, 0, 0], [0, 0, 0]], array![[0, 0, 0]], array![[0, 0, 1], [1, 1, 0], [1, 0, 1]]];
        for votes in cases {
            let balance = ClassBalance::Estimated.resolve(&signals(votes, 3)).unwrap();
            assert!(balance.iter().all(|&p| p > 0.0 && p < 1.0), "{balance:?}");
            assert_abs_diff_eq!(balance.iter().sum::<f64>(), 1.0, epsilon = 1e-12);
        }
    }

    #[test]
    fn files_hold_a_word_or_a_list() {
        type Text<'a> = StrDeserializer<'a, ValueError>;
        let word = |word: &'static str| ClassBalance::deserialize(Text::new(word));
        assert_eq!(word("estimated"), Ok(ClassBalance::Estimated));
        assert_eq!(word("uniform"), Ok(ClassBalance::Uniform));
        let error = word("equal").unwrap_err().to_string();
        assert!(error.contains("a list of probabilities"), "{error}");
        let list = SeqDeserializer::<_, ValueError>::new([0.25, 0.75].into_iter());
        assert_eq!(ClassBalance::deserialize(list), Ok(ClassBalance::Given(vec![0.25, 0.75])));
    }

    #[test]
    fn a_given_balance_must_be_positive_and_sum_to_one() {
        let signals = signals(array![[0, 1, 1]], 2);
        let given = |balance: &[f64]| ClassBalance::Given(balance.to_vec()).resolve(&signals);
        assert_eq!(given(&[0.3, 0.7]).unwrap(), [0.3, 0.7]);
        for wrong in [&[1.0, 0.0][..], &[-0.5, 1.5], &[0.5, 0.6], &[1.0], &[f64::NAN, 0.5]] {
            let error = given(wrong).unwrap_err().to_string();
            assert!(error.starts_with("class_balance: expected 2 probabilities above 0"), "{error}");
        }
    }
}
