//! The majority vote of those labelers whose vote cannot be very wrong, whatever the labels are.
//!
//! The errors of the labelers are known, and so is how often they disagree. For an odd set S of labelers, every joint
//! distribution of votes and labels that agrees with both is possible; the largest error of S's majority vote among
//! them is a bound that holds for sure. The set with the smallest bound votes.
//!
//! A row's votes say who dissents from the majority, a set d, and the majority is right or wrong:
//!
//! ```text
//! maximise Σ wrong[d]   over right, wrong ≥ 0 with Σ (right[d] + wrong[d]) = 1
//!   Σ with i ∈ d of right[d] + Σ with i ∉ d of wrong[d] = error[i]                    each labeler i of S
//!   Σ with i or j but not both in d of (right[d] + wrong[d]) = disagreement[i][j]     (VoteStatistics::Pairs)
//!   right[d] + wrong[d] = share of rows with dissenters d, errors "at most"           (VoteStatistics::Patterns)
//! ```
//!
//! Errors and disagreements come from different rows. When they contradict each other, all of them may be off by the
//! smallest of 0.001, 0.002, 0.004, … that ends the contradiction. A labeler that errs on more than half of the rows
//! is read as its opposite. With more than two classes there is one vote per class, "this class or another".
//!
//! A. Mazzetto, D. Sam, A. Park, E. Upfal and S. Bach, *Semi-supervised aggregation of dependent weak supervision
//! sources with performance guarantees*, 2021.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::average_signals::share_what_is_left;
use crate::label_models::{FittedLabelModel, LabelModel, SignalShape};
use crate::labelers::LabelerErrors;
use crate::numerics::LinearProgram;
use crate::rows::SoftLabels;
use crate::votes::{ABSTAIN, CountedVotes, VotePatterns, WeakSignals};
use crate::{Error, Result, ensure};

/// Up to this many labelers, every set is tried.
const MAX_EXHAUSTIVE: usize = 9;
/// A linear program has two variables for each set of dissenters; this many labelers have 256 of those.
const LARGEST_SIZE: usize = 9;
/// So many sets of one size are grown to the next when not every set is tried.
const MAX_GROWN: usize = 3;
/// The first slack that is tried when errors and disagreements contradict each other.
const FIRST_SLACK: f64 = 1e-3;
/// Bounds that differ by less are the same; linear programs are solved to about this.
const SAME_BOUND: f64 = 1e-8;

/// What the bound makes use of, beside the labelers' errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VoteStatistics {
    /// How often each two labelers disagree.
    #[default]
    Pairs,
    /// How often each pattern of votes occurs.
    Patterns,
}

/// Majority vote of the labelers with the smallest guaranteed error. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{FittedLabelModel, LabelModel, PerformanceGuaranteedVote};
/// use labelflow_weak::labelers::LabelerErrors;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// // No two labelers are ever wrong together if each errs on 20 % and each two disagree on 40 % of the rows.
/// let votes = array![[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let errors = LabelerErrors::per_labeler(&[0.2, 0.2, 0.2], 2)?;
/// let fitted = PerformanceGuaranteedVote::default().fit_with(&signals, &errors)?;
/// assert_eq!(fitted.subsets[0].labelers, [0, 1, 2]);
/// assert!(fitted.subsets[0].bound < 1e-6);
/// assert_eq!(fitted.predict_proba(&signals)?.argmax(), [1, 1, 1, 0, 1]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PerformanceGuaranteedVote {
    /// What the bound makes use of, beside the labelers' errors. Default: pairs.
    pub statistics: VoteStatistics,
    /// The fewest labelers that vote, an odd number up to 9. Default: 1. The authors' code has 5.
    pub min_size: usize,
}

impl Default for PerformanceGuaranteedVote {
    fn default() -> Self {
        Self { statistics: VoteStatistics::default(), min_size: 1 }
    }
}

impl LabelModel for PerformanceGuaranteedVote {
    type Fitted = FittedPerformanceGuaranteedVote;
    type Known = LabelerErrors;

    /// Chooses the labelers that vote, from how often they disagree and how often they err.
    ///
    /// A set of labelers is judged by the rows on which all of them vote. If there is none, only their errors count.
    fn fit_counts_with(&self, counted: &CountedVotes, errors: &LabelerErrors) -> Result<Self::Fitted> {
        let shape = counted.shape();
        self.check(shape.n_signals)?;
        errors.check_shape(shape)?;
        let subsets = shape
            .classes_against_rest()
            .map(|class| {
                let errors = errors.one_versus_rest().column(class).to_vec();
                ClassVote::new(self, &counted.patterns, class, errors).best_subset()
            })
            .collect::<Result<_>>()?;
        Ok(FittedPerformanceGuaranteedVote { shape, subsets })
    }
}

impl PerformanceGuaranteedVote {
    fn check(&self, n_signals: usize) -> Result<()> {
        let largest = n_signals.min(LARGEST_SIZE);
        ensure(self.min_size % 2 == 1 && self.min_size <= largest, || {
            Error::config("min_size", format!("an odd number of labelers, at most {largest}"), self.min_size)
        })
    }
}

/// The chosen labelers and how they vote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedPerformanceGuaranteedVote {
    shape: SignalShape,
    /// The labelers that vote: one set for two classes, otherwise one for each class against the others.
    pub subsets: Vec<GuaranteedSubset>,
}

impl FittedPerformanceGuaranteedVote {
    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let n_votes = self.shape.classes_against_rest().len();
        self.shape.check_list("subsets", self.subsets.len(), &[n_votes])?;
        let n_signals = self.shape.n_signals;
        let mut voters = self.subsets.iter().flat_map(|subset| &subset.labelers);
        match voters.find(|&&labeler| labeler >= n_signals) {
            None => Ok(self.shape),
            Some(labeler) => Err(Error::data("subsets", format!("labelers below {n_signals}"), labeler)),
        }
    }
}

impl FittedLabelModel for FittedPerformanceGuaranteedVote {
    /// Each class gets the share of its voters who say it, and shares are scaled to sum to one. Classes whose voters
    /// are all silent share what the others leave of the whole; without any vote, all classes are equal.
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let classes = self.shape.classes_against_rest();
        self.shape.label_votes(signals, |votes, shares| {
            for (class, subset) in classes.clone().zip(&self.subsets) {
                shares[class] = subset.share(votes, class);
            }
            if shares.len() == 2 {
                shares[0] = 1.0 - shares[1];
            }
            share_what_is_left(shares);
        })
    }
}

/// Labelers whose majority vote about one class was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuaranteedSubset {
    /// The labelers that vote, in ascending order; an odd number.
    pub labelers: Vec<usize>,
    /// Those of them that are read as their opposite, since they err on more than half of the rows.
    pub flipped: Vec<usize>,
    /// The vote errs on no larger share of rows than this, if errors and disagreements are what they are said to be.
    pub bound: f64,
    /// By how much errors and disagreements had to be off for both to be possible; 0 when they were.
    pub slack: f64,
}

impl GuaranteedSubset {
    /// The share of the labelers with a vote who say "`class`"; NaN when none votes.
    fn share(&self, votes: &[u8], class: usize) -> f64 {
        let (mut n_yes, mut n_votes) = (0, 0);
        for &labeler in self.labelers.iter().filter(|&&labeler| votes[labeler] != ABSTAIN) {
            let says_class = usize::from(votes[labeler]) == class;
            n_yes += usize::from(says_class != self.flipped.contains(&labeler));
            n_votes += 1;
        }
        n_yes as f64 / f64::from(n_votes)
    }

    fn is_better_than(&self, other: &Self) -> bool {
        self.bound < other.bound - SAME_BOUND
    }
}

/// The search for the voters about one class.
struct ClassVote<'a> {
    settings: &'a PerformanceGuaranteedVote,
    patterns: &'a VotePatterns,
    class: usize,
    /// Errors and opposites, `[n_signals]`.
    errors: Vec<f64>,
    flipped: Vec<bool>,
}

impl<'a> ClassVote<'a> {
    fn new(
        settings: &'a PerformanceGuaranteedVote,
        patterns: &'a VotePatterns,
        class: usize,
        mut errors: Vec<f64>,
    ) -> Self {
        let flipped: Vec<bool> = errors.iter().map(|&error| error > 0.5).collect();
        for (error, _) in errors.iter_mut().zip(&flipped).filter(|(_, flipped)| **flipped) {
            *error = 1.0 - *error;
        }
        Self { settings, patterns, class, errors, flipped }
    }

    fn best_subset(&self) -> Result<GuaranteedSubset> {
        if self.errors.len() <= MAX_EXHAUSTIVE { self.search_all() } else { self.search_greedily() }
    }

    /// The best of all sets; among equals, the smallest.
    fn search_all(&self) -> Result<GuaranteedSubset> {
        let n_signals = self.errors.len();
        let mut subsets: Vec<Vec<usize>> = (0usize..1 << n_signals)
            .map(|members| (0..n_signals).filter(|&i| members >> i & 1 == 1).collect())
            .filter(|subset: &Vec<usize>| subset.len() % 2 == 1 && subset.len() >= self.settings.min_size)
            .collect();
        subsets.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        self.best_of(subsets, &mut HashMap::new())
    }

    /// Adds to each labeler the best two others, and two more to the best of the sets, as long as sets are too small
    /// or their bounds fall.
    // Deviation: the authors' search goes on from every labeler to the end. With forty labelers those are more than
    // ten thousand linear programs; here only the best few sets of each size go on.
    fn search_greedily(&self) -> Result<GuaranteedSubset> {
        let n_signals = self.errors.len();
        let mut known = HashMap::new();
        let singles = (0..n_signals).map(|labeler| vec![labeler]).collect();
        let mut best = self.best_of(singles, &mut known)?;
        let mut reached: Vec<GuaranteedSubset> = known.values().cloned().collect();
        reached.sort_by_key(|single| single.labelers[0]);
        while !reached.is_empty() {
            let mut next = Vec::new();
            for set in &reached {
                let grown = self.best_of(with_two_more(&set.labelers, n_signals), &mut known)?;
                let is_too_small = set.labelers.len() < self.settings.min_size;
                if is_too_small || grown.is_better_than(set) {
                    next.push(grown);
                }
            }
            next.sort_by(|a, b| a.bound.total_cmp(&b.bound));
            next.dedup_by(|a, b| a.labelers == b.labelers);
            next.truncate(MAX_GROWN);
            for set in &next {
                let is_too_small = best.labelers.len() < self.settings.min_size;
                if is_too_small || set.is_better_than(&best) {
                    best = set.clone();
                }
            }
            next.retain(|set| set.labelers.len() + 2 <= LARGEST_SIZE.min(n_signals));
            reached = next;
        }
        Ok(best)
    }

    /// The first of those with the smallest bound. Different starts lead to the same sets, so bounds are kept.
    fn best_of(
        &self,
        subsets: Vec<Vec<usize>>,
        known: &mut HashMap<Vec<usize>, GuaranteedSubset>,
    ) -> Result<GuaranteedSubset> {
        let unknown: Vec<&Vec<usize>> = subsets.iter().filter(|subset| !known.contains_key(*subset)).collect();
        let found: Vec<GuaranteedSubset> =
            unknown.into_par_iter().map(|labelers| self.candidate(labelers.clone())).collect::<Result<_>>()?;
        known.extend(found.into_iter().map(|found| (found.labelers.clone(), found)));
        let best = subsets
            .iter()
            .map(|subset| &known[subset])
            .reduce(|best, candidate| if candidate.is_better_than(best) { candidate } else { best });
        Ok(best.expect("the search names sets").clone())
    }

    fn candidate(&self, labelers: Vec<usize>) -> Result<GuaranteedSubset> {
        let errors: Vec<f64> = labelers.iter().map(|&labeler| self.errors[labeler]).collect();
        let (bound, slack) = if let [error] = errors[..] {
            (error, 0.0)
        } else {
            let dissent = self.dissent_shares(&labelers);
            bound_with_slack(self.settings.statistics, &errors, dissent.as_deref())?
        };
        let flipped = labelers.iter().copied().filter(|&labeler| self.flipped[labeler]).collect();
        Ok(GuaranteedSubset { labelers, flipped, bound, slack })
    }

    /// The share of each set of dissenters (bit i for `labelers[i]`), among the rows on which all of `labelers` vote;
    /// nothing if there is no such row.
    fn dissent_shares(&self, labelers: &[usize]) -> Option<Vec<f64>> {
        let mut shares = vec![0.0; 1 << labelers.len()];
        let mut n_rows = 0.0;
        for (votes, count) in self.patterns.iter() {
            if let Some(yes) = self.yes_votes(votes, labelers) {
                shares[dissenters(yes, labelers.len())] += count;
                n_rows += count;
            }
        }
        shares.iter_mut().for_each(|share| *share /= n_rows);
        (n_rows > 0.0).then_some(shares)
    }

    /// Who of `labelers` says that it is this class, as bits; nothing unless all vote.
    fn yes_votes(&self, votes: &[u8], labelers: &[usize]) -> Option<usize> {
        labelers.iter().enumerate().try_fold(0, |yes, (bit, &labeler)| {
            let vote = votes[labeler];
            let says_class = (usize::from(vote) == self.class) != self.flipped[labeler];
            (vote != ABSTAIN).then_some(yes | usize::from(says_class) << bit)
        })
    }
}

/// All sets that `labelers` become by adding two others.
fn with_two_more(labelers: &[usize], n_signals: usize) -> Vec<Vec<usize>> {
    let others: Vec<usize> = (0..n_signals).filter(|other| !labelers.contains(other)).collect();
    let mut subsets = Vec::new();
    for (index, &first) in others.iter().enumerate() {
        for &second in &others[index + 1..] {
            let mut subset = [labelers, &[first, second]].concat();
            subset.sort_unstable();
            subsets.push(subset);
        }
    }
    subsets
}

/// The minority among `size` votes, of which those in `yes` say yes.
fn dissenters(yes: usize, size: usize) -> usize {
    if 2 * yes.count_ones() as usize > size { !yes & ((1 << size) - 1) } else { yes }
}

/// The worst error of the majority, and the slack that errors and statistics need to agree.
fn bound_with_slack(statistics: VoteStatistics, errors: &[f64], dissent: Option<&[f64]>) -> Result<(f64, f64)> {
    if let (VoteStatistics::Pairs, &[first, second, third], Some(dissent)) = (statistics, errors, dissent)
        && let Some(worst) = worst_error_of_three([first, second, third], dissent)
    {
        return Ok((worst.clamp(0.0, 1.0), 0.0));
    }
    let mut slack = 0.0;
    while slack <= 1.0 {
        let worst = match (statistics, dissent) {
            (VoteStatistics::Patterns, Some(dissent)) => worst_error_by_patterns(errors, dissent, slack)?,
            (_, dissent) => worst_error_by_pairs(errors, dissent, slack)?,
        };
        if let Some(worst) = worst {
            return Ok((worst.clamp(0.0, 1.0), slack));
        }
        slack = if slack == 0.0 { FIRST_SLACK } else { 2.0 * slack };
    }
    // With a slack of one anything is possible, also that the majority is always wrong.
    Ok((1.0, 1.0))
}

/// The sets of dissenters among `size` labelers, as bits: fewer than half.
fn dissenting_sets(size: usize) -> Vec<usize> {
    (0..1 << size).filter(|&set: &usize| 2 * (set.count_ones() as usize) < size).collect()
}

/// [`worst_error_by_pairs`] for three labelers, without a linear program; a search among many labelers asks for it
/// most. Nothing if errors and disagreements contradict each other.
///
/// Let m\[k\] be the share of rows on which k dissents, x\[k\] the part of it on which the majority is wrong, and t
/// the share of rows on which all are wrong together. Two labelers i and j err on e\[i\] + e\[j\] = 2 t + m\[i\] +
/// m\[j\] + 2 x\[k\], which gives every x\[k\] for a t. The majority errs on t + Σ x = Σ e − Σ m − 2 t, most for the
/// smallest t for which no x\[k\] is above m\[k\].
fn worst_error_of_three(errors: [f64; 3], dissent: &[f64]) -> Option<f64> {
    let alone = [dissent[0b001], dissent[0b010], dissent[0b100]];
    let all_errors: f64 = errors.iter().sum();
    let all_dissent: f64 = alone.iter().sum();
    // x[k] + t, for the two labelers other than k.
    let with_t = |k: usize| 0.5 * (all_errors - errors[k] - all_dissent + alone[k]);
    let least = (0..3).map(|k| with_t(k) - alone[k]).fold(0.0, f64::max);
    let most = (0..3).map(with_t).fold(1.0 - all_dissent, f64::min);
    (least <= most).then_some(all_errors - all_dissent - 2.0 * least)
}

/// The largest error of the majority given each labeler's error and each pair's disagreement; nothing if they
/// contradict each other.
fn worst_error_by_pairs(errors: &[f64], dissent: Option<&[f64]>, slack: f64) -> Result<Option<f64>> {
    let sets = dissenting_sets(errors.len());
    // Variable 2 s: the majority against dissenters s is right; 2 s + 1: it is wrong.
    let mut program = LinearProgram::maximize(sets.iter().flat_map(|_| [0.0, 1.0]));
    program.constrain((0..2 * sets.len()).map(|variable| (variable, 1.0)), 1.0, 1.0);
    for (labeler, &error) in errors.iter().enumerate() {
        // Whoever dissents errs when the majority is right.
        let errs = sets.iter().enumerate().map(|(index, set)| {
            let is_dissenter = set >> labeler & 1 == 1;
            (2 * index + usize::from(!is_dissenter), 1.0)
        });
        program.constrain(errs, error - slack, error + slack);
    }
    let Some(dissent) = dissent else { return optimal_value(&program) };
    for second in 0..errors.len() {
        for first in 0..second {
            let differ = |set: usize| (set >> first ^ set >> second) & 1 == 1;
            let disagreement: f64 = sets.iter().filter(|&&set| differ(set)).map(|&set| dissent[set]).sum();
            let terms = sets.iter().enumerate().filter(|(_, set)| differ(**set));
            let terms = terms.flat_map(|(index, _)| [(2 * index, 1.0), (2 * index + 1, 1.0)]);
            program.constrain(terms, disagreement - slack, disagreement + slack);
        }
    }
    optimal_value(&program)
}

/// The largest error of the majority given the share of each set of dissenters, and that no labeler errs more often
/// than said; nothing if that is impossible.
fn worst_error_by_patterns(errors: &[f64], dissent: &[f64], slack: f64) -> Result<Option<f64>> {
    let sets: Vec<usize> = dissenting_sets(errors.len()).into_iter().filter(|&set| dissent[set] > 0.0).collect();
    // Each variable is the share of rows with these dissenters on which the majority is wrong.
    let mut program = LinearProgram::maximize(sets.iter().map(|_| 1.0));
    for (index, &set) in sets.iter().enumerate() {
        program.constrain([(index, 1.0)], f64::NEG_INFINITY, dissent[set]);
    }
    for (labeler, &error) in errors.iter().enumerate() {
        let is_dissenter = |set: usize| set >> labeler & 1 == 1;
        let dissents: f64 = sets.iter().filter(|&&set| is_dissenter(set)).map(|&set| dissent[set]).sum();
        // It errs where it dissents, less where the majority is wrong then, plus where it is wrong with the majority.
        let terms = sets.iter().enumerate().map(|(index, &set)| (index, if is_dissenter(set) { -1.0 } else { 1.0 }));
        program.constrain(terms, f64::NEG_INFINITY, error + slack - dissents);
    }
    optimal_value(&program)
}

fn optimal_value(program: &LinearProgram) -> Result<Option<f64>> {
    Ok(program.solve()?.map(|optimum| optimum.value))
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::label_models::planted::{Planted, assert_near};
    use crate::rows::Truth;
    use crate::votes::Votes;

    const BOTH: [VoteStatistics; 2] = [VoteStatistics::Pairs, VoteStatistics::Patterns];

    fn signals(votes: ndarray::Array2<i64>) -> WeakSignals {
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap()
    }

    fn fit(model: &PerformanceGuaranteedVote, problem: &Planted) -> Vec<GuaranteedSubset> {
        let errors = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap();
        model.fit_with(&problem.signals, &errors).unwrap().subsets
    }

    /// A joint distribution of a binary label and binary votes, and what follows from it.
    struct Joint {
        errors: Vec<f64>,
        dissent: Vec<f64>,
        majority_error: f64,
    }

    impl Joint {
        fn random(size: usize, rng: &mut ChaCha8Rng) -> Self {
            // Powers make a few of the probabilities large, so that labelers are correlated in many ways.
            let power = rng.random_range(1..6);
            let weights: Vec<f64> = (0..2 << size).map(|_| rng.random::<f64>().powi(power)).collect();
            let total: f64 = weights.iter().sum();
            let mut joint = Self { errors: vec![0.0; size], dissent: vec![0.0; 1 << size], majority_error: 0.0 };
            for (cell, weight) in weights.iter().enumerate() {
                let (label, yes, p) = (cell & 1, cell >> 1, weight / total);
                for (labeler, error) in joint.errors.iter_mut().enumerate() {
                    *error += if yes >> labeler & 1 == label { 0.0 } else { p };
                }
                joint.dissent[dissenters(yes, size)] += p;
                let majority = usize::from(2 * yes.count_ones() as usize > size);
                joint.majority_error += if majority == label { 0.0 } else { p };
            }
            joint
        }

        fn disagreement(&self, i: usize, j: usize) -> f64 {
            let differ = |set: &usize| (set >> i ^ set >> j) & 1 == 1;
            (0..self.dissent.len()).filter(differ).map(|set| self.dissent[set]).sum()
        }

        /// The bound for three labelers in terms of disagreements.
        fn closed_form(&self) -> f64 {
            let [e1, e2, e3] = self.errors[..] else { panic!("three labelers") };
            let (d12, d13, d23) = (self.disagreement(0, 1), self.disagreement(0, 2), self.disagreement(1, 2));
            let least = (e2 + e3 - d12 - d13).max(e1 + e3 - d12 - d23).max(e1 + e2 - d13 - d23);
            e1 + e2 + e3 - 0.5 * (d12 + d13 + d23) - least.max(0.0)
        }
    }

    #[test]
    fn three_labelers_that_err_on_a_fifth() {
        for (disagreement, expected) in [(0.0, 0.2), (0.4, 0.0), (0.32, 0.12)] {
            // Each alone dissents on half of what two of them disagree on.
            let alone = disagreement / 2.0;
            let dissent = [1.0 - 3.0 * alone, alone, alone, 0.0, alone, 0.0, 0.0, 0.0];
            for statistics in BOTH {
                let (bound, slack) = bound_with_slack(statistics, &[0.2; 3], Some(&dissent)).unwrap();
                assert_abs_diff_eq!(bound, expected, epsilon = 1e-8);
                assert_eq!(slack, 0.0);
            }
        }
    }

    #[test]
    fn pairs_of_three_labelers_have_the_closed_form() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        for case in 0..200 {
            let joint = Joint::random(3, &mut rng);
            let found = worst_error_by_pairs(&joint.errors, Some(&joint.dissent), 0.0).unwrap();
            let found = found.unwrap_or_else(|| panic!("case {case} is feasible"));
            assert_abs_diff_eq!(found, joint.closed_form(), epsilon = 1e-7);
        }
    }

    #[test]
    fn the_short_cut_for_three_labelers_is_the_linear_program() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let mut n_feasible = 0;
        for case in 0..400 {
            let joint = Joint::random(3, &mut rng);
            // Errors of other labelers contradict the disagreements in about half of the cases.
            let errors = [(); 3].map(|()| rng.random::<f64>());
            let program = worst_error_by_pairs(&errors, Some(&joint.dissent), 0.0).unwrap();
            let short_cut = worst_error_of_three(errors, &joint.dissent);
            assert_eq!(short_cut.is_some(), program.is_some(), "case {case}");
            if let (Some(short_cut), Some(program)) = (short_cut, program) {
                assert_abs_diff_eq!(short_cut, program, epsilon = 1e-7);
                n_feasible += 1;
            }
        }
        assert!((40..360).contains(&n_feasible), "{n_feasible}");
    }

    #[test]
    fn no_joint_distribution_errs_more_than_its_bound() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for case in 0..200 {
            let joint = Joint::random([3, 5][case % 2], &mut rng);
            for statistics in BOTH {
                let dissent = Some(&joint.dissent[..]);
                let (bound, slack) = bound_with_slack(statistics, &joint.errors, dissent).unwrap();
                assert_eq!(slack, 0.0, "case {case}");
                assert!(bound >= joint.majority_error - 1e-8, "case {case}: {bound}");
            }
            let (bound, _) = bound_with_slack(VoteStatistics::Pairs, &joint.errors, None).unwrap();
            assert!(bound >= joint.majority_error - 1e-8, "case {case} without pairs: {bound}");
        }
    }

    #[test]
    fn one_labeler_has_its_own_error() {
        let errors = LabelerErrors::per_labeler(&[0.3], 2).unwrap();
        let fitted = PerformanceGuaranteedVote::default().fit_with(&signals(array![[0], [1]]), &errors).unwrap();
        let [subset] = &fitted.subsets[..] else { panic!("one set") };
        assert_eq!((subset.bound, subset.slack), (0.3, 0.0));
        let labels = fitted.predict_proba(&signals(array![[1], [-1], [0]])).unwrap();
        assert_near(labels.values(), &array![[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], 0.0);
    }

    #[test]
    fn a_good_labeler_votes_alone_and_equal_ones_together() {
        for statistics in BOTH {
            let model = PerformanceGuaranteedVote { statistics, ..Default::default() };
            let one_good = Planted::new(4000, 2, &[0.6, 0.95, 0.6], 0.0, 2);
            assert_eq!(fit(&model, &one_good)[0].labelers, [1]);
            let equal = Planted::new(4000, 2, &[0.8; 3], 0.0, 2);
            let subset = &fit(&model, &equal)[0];
            assert_eq!(subset.labelers, [0, 1, 2]);
            // Independent labelers have 0.104; the bound for them is 0.12.
            assert!((0.09..0.15).contains(&subset.bound), "{subset:?}");
        }
    }

    #[test]
    fn the_bound_holds_on_planted_rows() {
        for (seed, n_signals) in [(0, 5), (1, 7), (2, 11)] {
            let accuracies: Vec<f64> = (0..n_signals).map(|i| 0.55 + 0.03 * i as f64).collect();
            let problem = Planted::new(2000, 2, &accuracies, 0.0, seed);
            let errors = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap();
            let model = PerformanceGuaranteedVote { min_size: 3, ..Default::default() };
            let fitted = model.fit_with(&problem.signals, &errors).unwrap();
            let labels = fitted.predict_proba(&problem.signals).unwrap().argmax();
            let error = 1.0 - problem.truth.accuracy(&labels);
            let subset = &fitted.subsets[0];
            assert_eq!(subset.slack, 0.0);
            assert!(error <= subset.bound + 1e-7, "{error}, {subset:?}");
        }
    }

    #[test]
    fn labelers_that_are_mostly_wrong_are_flipped() {
        let problem = Planted::new(2000, 2, &[0.05, 0.6, 0.6], 0.0, 3);
        let errors = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap();
        let fitted = PerformanceGuaranteedVote::default().fit_with(&problem.signals, &errors).unwrap();
        assert_eq!(fitted.subsets[0].labelers, [0]);
        assert_eq!(fitted.subsets[0].flipped, [0]);
        let labels = fitted.predict_proba(&problem.signals).unwrap();
        assert!(problem.truth.accuracy(&labels.argmax()) > 0.93);
    }

    #[test]
    fn many_classes_are_one_vote_each() {
        let problem = Planted::new(3000, 4, &[0.7; 5], 0.2, 4);
        for statistics in BOTH {
            let model = PerformanceGuaranteedVote { statistics, min_size: 3 };
            let errors = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap();
            let fitted = model.fit_with(&problem.signals, &errors).unwrap();
            assert_eq!(fitted.subsets.len(), 4);
            let labels = fitted.predict_proba(&problem.signals).unwrap();
            let accuracy = problem.truth.accuracy(&labels.argmax());
            assert!(accuracy > 0.8, "{accuracy}");
        }
    }

    #[test]
    fn contradictions_are_resolved_by_the_smallest_slack() {
        // Nobody errs, yet one of them disagrees on half of the rows.
        let votes = signals(array![[0, 0, 1], [1, 1, 1]]);
        let errors = LabelerErrors::per_labeler(&[0.0; 3], 2).unwrap();
        for statistics in BOTH {
            let model = PerformanceGuaranteedVote { statistics, min_size: 3 };
            let fitted = model.fit_with(&votes, &errors).unwrap();
            let subset = &fitted.subsets[0];
            let doublings = (subset.slack / FIRST_SLACK).log2();
            assert!(doublings > 0.0 && doublings.fract() == 0.0, "{subset:?}");
            assert!((0.0..=1.0).contains(&subset.bound), "{subset:?}");
            let patterns = VotePatterns::of(&votes.votes());
            let feasible = |slack| {
                let vote = ClassVote::new(&model, &patterns, 1, vec![0.0; 3]);
                let dissent = vote.dissent_shares(&[0, 1, 2]).unwrap();
                let worst = match statistics {
                    VoteStatistics::Pairs => worst_error_by_pairs(&[0.0; 3], Some(&dissent), slack),
                    VoteStatistics::Patterns => worst_error_by_patterns(&[0.0; 3], &dissent, slack),
                };
                worst.unwrap().is_some()
            };
            assert!(feasible(subset.slack) && !feasible(subset.slack / 2.0));
        }
    }

    #[test]
    fn labelers_that_never_meet_are_judged_by_their_errors() {
        let votes = signals(array![[0, -1, -1], [-1, 1, -1], [-1, -1, 1], [-1, -1, -1]]);
        let errors = LabelerErrors::per_labeler(&[0.1, 0.2, 0.2], 2).unwrap();
        for statistics in BOTH {
            let model = PerformanceGuaranteedVote { statistics, min_size: 3 };
            let fitted = model.fit_with(&votes, &errors).unwrap();
            // Two of three err together on half of all errors at most.
            assert_abs_diff_eq!(fitted.subsets[0].bound, 0.25, epsilon = 1e-8);
            let labels = fitted.predict_proba(&votes).unwrap();
            let expected = array![[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, 0.5]];
            assert_near(labels.values(), &expected, 0.0);
        }
    }

    #[test]
    fn greedy_steps_are_no_worse_than_any_three() {
        let accuracies = [0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];
        let problem = Planted::new(3000, 2, &accuracies, 0.0, 8);
        let errors = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap();
        let patterns = VotePatterns::of(&problem.signals.votes());
        let model = PerformanceGuaranteedVote { min_size: 3, ..Default::default() };
        let vote = ClassVote::new(&model, &patterns, 1, errors.rates());
        let (all, greedy) = (vote.search_all().unwrap(), vote.search_greedily().unwrap());
        // From its first labeler every set of three is reached; only larger sets can be missed.
        assert!(greedy.bound >= all.bound - SAME_BOUND);
        let best_three =
            vote.best_of((0..7).flat_map(|start| with_two_more(&[start], 7)).collect(), &mut HashMap::new());
        assert!(greedy.bound <= best_three.unwrap().bound + SAME_BOUND);
    }

    #[test]
    fn all_equal_votes_and_silence_give_finite_labels() {
        for votes in [array![[1, 1, 1], [1, 1, 1]], array![[-1, -1, -1]], array![[0, 1, -1]]] {
            let votes = signals(votes);
            let errors = LabelerErrors::per_labeler(&[0.5, 0.0, 1.0], 2).unwrap();
            for min_size in [1, 3] {
                let model = PerformanceGuaranteedVote { min_size, ..Default::default() };
                let fitted = model.fit_with(&votes, &errors).unwrap();
                assert!(fitted.subsets[0].bound.is_finite());
                fitted.predict_proba(&votes).unwrap();
            }
        }
    }

    #[test]
    fn bad_settings_and_errors_of_others_are_errors() {
        let votes = signals(array![[0, 1, 1], [1, 1, 0]]);
        let errors = LabelerErrors::per_labeler(&[0.2; 3], 2).unwrap();
        for min_size in [0, 2, 5, 11] {
            let model = PerformanceGuaranteedVote { min_size, ..Default::default() };
            let error = model.fit_with(&votes, &errors).unwrap_err();
            assert!(error.to_string().starts_with("min_size: expected an odd number"), "{error}");
        }
        let two = LabelerErrors::per_labeler(&[0.2; 2], 2).unwrap();
        let error = PerformanceGuaranteedVote::default().fit_with(&votes, &two).unwrap_err();
        assert_eq!(
            error.to_string(),
            "labeler errors: expected 3 labelers and 2 classes, as the signals have, \
             found 2 labelers and 2 classes"
        );
        let truth = Truth::new(vec![0], 2).unwrap();
        assert!(LabelerErrors::measured(&votes, &truth).is_err());
    }
}
