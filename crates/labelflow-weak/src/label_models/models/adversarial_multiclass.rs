//! The mixture of labelers that does best when the labels are as bad for it as the labelers' errors allow.
//!
//! ```text
//! p[i] = Σ_j θ[j] vote[j][i],   θ on the simplex; a vote is a unit vector, an abstention the uniform vector
//! minimise over θ, maximise over labels Y   mean of loss(Y[i], p[i]),   loss(y, p) = ½ (‖p‖² + 1) − y·p
//!   such that | mean of loss(Y[i], vote[j][i]) − loss that labeler j's error implies | ≤ slack   each labeler j
//! ```
//!
//! The loss is linear in the labels and reads them only through each labeler's agreement s[j] = mean of
//! Y[i]·vote[j][i]. Let G[j][l] = mean of vote[j][i]·vote[l][i]; then
//!
//! ```text
//! mean loss of θ    = ½ (θᵀ G θ + 1) − θ·s,      its gradient as the step uses it  2 (G θ − s)
//! mean loss of j    = ½ (G[j][j] + 1) − s[j]
//! ```
//!
//! so the constraints are bounds on s, and the adversary looks for the smallest θ·s among the agreements that some
//! labels can have. Without slack there is nothing left to look for: s is given, if it is possible at all. With slack,
//! all agreements at their lowest are best for the adversary whatever θ is, if they are possible together. Only where
//! they are not, each step has to find its own worst s, in linear programs over mixtures of labelings. There are as many
//! labelings as there are ways to label the rows, so they are added as they are needed: the one with the smallest u·s
//! follows for any u by one look at each different partition of the labelers by their votes. The optimum is that of
//! the linear program over the labels of all rows.
//!
//! A. Mazzetto, C. Cousins, D. Sam, S. Bach and E. Upfal, *Adversarial multi class learning under weak supervision
//! with performance guarantees*, 2021.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::label_models::{FittedLabelModel, LabelModel, SignalShape};
use crate::labelers::LabelerErrors;
use crate::numerics::{LinearProgram, Optimum, dot, project_onto_simplex};
use crate::rows::SoftLabels;
use crate::settings::check_at_least_one;
use crate::votes::{ABSTAIN, CountedVotes, VotePatterns, WeakSignals};
use crate::{Error, Result};

/// The first slack that is tried when no labels give every labeler its error.
const FIRST_SLACK: f64 = 0.005;
/// Agreements and values that differ by less are the same.
const PRECISION: f64 = 1e-7;
/// What an agreement outside the slack costs the adversary, far more than it can gain by it.
const PENALTY: f64 = 1e3;
/// The most corners that are added for one answer. Ten labelers need about a hundred.
const MAX_ROUNDS: usize = 1000;
/// The accuracy that the step size is made for.
const ACCURACY: f64 = 0.3;

/// A mixture of labelers that is safe against the worst labels. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{AdversarialMulticlass, LabelModel};
/// use labelflow_weak::labelers::LabelerErrors;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// // Two labelers that never agree, one wrong in one case of ten.
/// let votes = Votes::from_indices(array![[0, 1], [1, 0]].view(), None)?;
/// let errors = LabelerErrors::per_labeler(&[0.1, 0.9], 2)?;
/// let model = AdversarialMulticlass::default();
/// let fitted = model.fit_with(&WeakSignals::from_votes(votes)?, &errors)?;
/// assert!((fitted.weights[0] - 0.9).abs() < 1e-6);
/// assert!((fitted.worst_case - 0.09).abs() < 1e-6);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdversarialMulticlass {
    /// Steps of projected subgradient descent. Default: 500.
    pub n_steps: usize,
    /// The number of labelled rows on which the errors were measured. When given, errors may be off by what sampling
    /// explains: 0.1 √((l + n) ln(40 m) / (2 l n)) for l labelled and n unlabelled rows and m labelers. Default: not
    /// given, and errors hold exactly if any labels allow that.
    pub n_labelled_rows: Option<usize>,
}

impl Default for AdversarialMulticlass {
    fn default() -> Self {
        Self { n_steps: 500, n_labelled_rows: None }
    }
}

impl LabelModel for AdversarialMulticlass {
    type Fitted = FittedAdversarialMulticlass;
    type Known = LabelerErrors;

    /// Finds the weights of the labelers, from their votes and how often they err.
    fn fit_counts_with(&self, counted: &CountedVotes, errors: &LabelerErrors) -> Result<Self::Fitted> {
        self.check()?;
        let shape = counted.shape();
        errors.check_shape(shape)?;
        shape.check_pairs()?;
        let game = Game::new(&counted.patterns, shape, &errors.rates());
        let mut adversary = Adversary::new(&game, self.slack(counted))?;
        let (weights, worst_case) = self.descend(&game, &mut adversary)?;
        Ok(FittedAdversarialMulticlass { shape, weights, worst_case, slack: adversary.slack })
    }

    fn bytes_per_pattern(&self, n_signals: usize, _n_classes: usize) -> usize {
        // Partitions, each with its own memory.
        2 * n_signals + 64
    }
}

impl AdversarialMulticlass {
    fn check(&self) -> Result<()> {
        let n_labelled_rows = self.n_labelled_rows.unwrap_or(1);
        check_at_least_one(&[("n_steps", self.n_steps), ("n_labelled_rows", n_labelled_rows)])
    }

    /// How far sampling may have carried the errors off.
    fn slack(&self, counted: &CountedVotes) -> f64 {
        let Some(n_labelled) = self.n_labelled_rows else { return 0.0 };
        let (labelled, unlabelled) = (n_labelled as f64, counted.n_rows() as f64);
        let n_events = 4.0 * counted.n_signals() as f64 / 0.1;
        let variance = (labelled + unlabelled) * n_events.ln() / (2.0 * labelled * unlabelled);
        0.1 * variance.sqrt()
    }

    /// The best of the weights that the descent visits, with their worst case.
    fn descend(&self, game: &Game, adversary: &mut Adversary<'_>) -> Result<(Vec<f64>, f64)> {
        let n_signals = game.n_signals();
        // L = 2 √(m + 1) bounds the gradient.
        let step = ACCURACY / (4.0 * (n_signals + 1) as f64);
        let mut weights = vec![1.0 / n_signals as f64; n_signals];
        let mut best = (weights.clone(), f64::INFINITY);
        for _ in 0..self.n_steps {
            let agreements = adversary.worst_agreements(&weights)?;
            let value = game.loss(&weights, &agreements);
            if value < best.1 {
                best = (weights.clone(), value);
            }
            let gradient = game.gradient(&weights, &agreements);
            weights.iter_mut().zip(gradient).for_each(|(weight, g)| *weight -= step * g);
            project_onto_simplex(&mut weights);
        }
        Ok(best)
    }
}

/// The weights of the labelers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedAdversarialMulticlass {
    shape: SignalShape,
    /// The weight of each labeler, θ; they sum to one.
    pub weights: Vec<f64>,
    /// The mean loss with these weights under the worst labels.
    pub worst_case: f64,
    /// By how much a labeler's mean loss may be off.
    pub slack: f64,
}

impl FittedAdversarialMulticlass {
    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        self.shape.check_list("weights", self.weights.len(), &[self.shape.n_signals])
    }
}

impl FittedLabelModel for FittedAdversarialMulticlass {
    /// The mixture of the votes; an abstaining labeler's weight is spread over all classes.
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        self.shape.label_votes(signals, |votes, mixture| {
            let mut undecided = 0.0;
            for (&vote, weight) in votes.iter().zip(&self.weights) {
                match vote {
                    ABSTAIN => undecided += weight,
                    class => mixture[usize::from(class)] += weight,
                }
            }
            let share = undecided / mixture.len() as f64;
            mixture.iter_mut().for_each(|p| *p += share);
        })
    }
}

/// What the unlabelled votes and the errors say: all that the value of weights and labels depends on.
struct Game {
    /// G, `[n_signals, n_signals]`: how far each two labelers agree, on average.
    overlaps: Vec<f64>,
    /// s as the errors have it, `[n_signals]`.
    agreements: Vec<f64>,
    /// Partitions of the labelers with the share of their rows.
    partitions: Vec<(Vec<u8>, f64)>,
    n_classes: usize,
}

impl Game {
    fn new(patterns: &VotePatterns, shape: SignalShape, error_rates: &[f64]) -> Self {
        let partitions = partitions(patterns);
        let uniform = 1.0 / shape.n_classes as f64;
        let n_signals = shape.n_signals;
        let mut overlaps = vec![0.0; n_signals * n_signals];
        for (parts, share) in &partitions {
            for (first, row) in parts.iter().zip(overlaps.chunks_exact_mut(n_signals)) {
                for (second, overlap) in parts.iter().zip(row) {
                    *overlap += share * part_overlap(*first, *second, uniform);
                }
            }
        }
        // An error is given as a share of a labeler's votes; where it abstains, its loss is that of the uniform vector
        // under any labels.
        let agreements = patterns
            .coverages()
            .into_iter()
            .zip(error_rates)
            .map(|(covered, error)| covered * (1.0 - error) + (1.0 - covered) * uniform)
            .collect();
        Self { overlaps, agreements, partitions, n_classes: shape.n_classes }
    }

    fn n_signals(&self) -> usize {
        self.agreements.len()
    }

    /// G θ.
    fn overlaps_with(&self, weights: &[f64]) -> Vec<f64> {
        self.overlaps.chunks_exact(weights.len()).map(|row| dot(row, weights)).collect()
    }

    /// The agreements of the labels with the smallest sum of agreements in this direction.
    fn lowest(&self, direction: &[f64]) -> Vec<f64> {
        let uniform = 1.0 / self.n_classes as f64;
        let mut agreements = vec![0.0; self.n_signals()];
        let mut sums = Vec::new();
        for (parts, share) in &self.partitions {
            // One sum for the label of each part, and one for a class that nobody votes for, if there is any.
            let voted = parts.iter().filter(|&&part| part != ABSTAIN);
            let n_parts = voted.max().map_or(0, |&part| usize::from(part) + 1);
            sums.clear();
            sums.resize((n_parts + 1).min(self.n_classes), 0.0);
            for (&part, weight) in parts.iter().zip(direction).filter(|(part, _)| **part != ABSTAIN) {
                sums[usize::from(part)] += weight;
            }
            let label = (0..sums.len()).fold(0, |best, label| if sums[label] < sums[best] { label } else { best });
            for (&part, agreement) in parts.iter().zip(&mut agreements) {
                *agreement += share * part_overlap(part, label as u8, uniform);
            }
        }
        agreements
    }

    fn loss(&self, weights: &[f64], agreements: &[f64]) -> f64 {
        0.5 * (dot(weights, &self.overlaps_with(weights)) + 1.0) - dot(weights, agreements)
    }

    fn gradient(&self, weights: &[f64], agreements: &[f64]) -> Vec<f64> {
        let overlaps = self.overlaps_with(weights);
        overlaps.iter().zip(agreements).map(|(overlap, s)| 2.0 * (overlap - s)).collect()
    }
}

/// The inner product of two votes.
fn part_overlap(first: u8, second: u8, uniform: f64) -> f64 {
    if first == ABSTAIN || second == ABSTAIN { uniform } else { f64::from(u8::from(first == second)) }
}

/// Who votes alike, whatever for: classes are numbered anew in the order in which a row names them. Labels agree with
/// the labelers in the same ways on all rows of a partition.
fn partitions(patterns: &VotePatterns) -> Vec<(Vec<u8>, f64)> {
    let mut counts: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
    let mut n_rows = 0.0;
    for (votes, count) in patterns.iter() {
        let mut seen: Vec<u8> = Vec::new();
        let parts = votes
            .iter()
            .map(|&vote| match seen.iter().position(|&class| class == vote) {
                _ if vote == ABSTAIN => ABSTAIN,
                Some(part) => part as u8,
                None => {
                    seen.push(vote);
                    (seen.len() - 1) as u8
                }
            })
            .collect();
        *counts.entry(parts).or_default() += count;
        n_rows += count;
    }
    counts.into_iter().map(|(parts, count)| (parts, count / n_rows)).collect()
}

/// Chooses the labels.
struct Adversary<'a> {
    game: &'a Game,
    slack: f64,
    /// The lowest agreements of all labelers, if some labels have them together.
    always: Option<Vec<f64>>,
    /// Possible agreements found so far. They do not depend on the weights, so every step begins with those of the
    /// steps before it.
    corners: Vec<Vec<f64>>,
}

/// What is asked of the adversary: the smallest `weights`·s + `penalty`·τ over possible s and τ ≥ 0 with
/// low − τ ≤ s ≤ high + τ.
struct Question<'a> {
    weights: &'a [f64],
    penalty: f64,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl<'a> Adversary<'a> {
    /// With the given slack, or the first of 0.005, 0.01, 0.02, … above it that leaves the adversary any labels.
    fn new(game: &'a Game, slack: f64) -> Result<Self> {
        let units = (0..game.n_signals()).flat_map(|signal| [(signal, 1.0), (signal, -1.0)]);
        let corners = units.map(|(signal, sign)| {
            let mut direction = vec![0.0; game.n_signals()];
            direction[signal] = sign;
            game.lowest(&direction)
        });
        let corners = corners.collect();
        let mut adversary = Self { game, slack, always: None, corners };
        let needed = adversary.distance(&game.agreements)?;
        while adversary.slack < needed - PRECISION {
            adversary.slack = (2.0 * adversary.slack).max(FIRST_SLACK);
        }
        let lowest = adversary.shifted(-adversary.slack);
        if adversary.distance(&lowest)? <= PRECISION {
            adversary.always = Some(lowest);
        }
        Ok(adversary)
    }

    /// By how much some labeler's agreement must differ from `agreements`, so that they are possible.
    fn distance(&mut self, agreements: &[f64]) -> Result<f64> {
        let question = Question {
            weights: &vec![0.0; agreements.len()],
            penalty: 1.0,
            low: agreements.to_vec(),
            high: agreements.to_vec(),
        };
        self.answer(&question)
    }

    fn shifted(&self, shift: f64) -> Vec<f64> {
        self.game.agreements.iter().map(|s| s + shift).collect()
    }

    /// The agreements of the labels that are worst for these weights.
    fn worst_agreements(&mut self, weights: &[f64]) -> Result<Vec<f64>> {
        if let Some(agreements) = &self.always {
            return Ok(agreements.clone());
        }
        let (low, high) = (self.shifted(-self.slack), self.shifted(self.slack));
        let question = Question { weights, penalty: PENALTY, low, high };
        self.answer(&question)?;
        question.best_mixture(&self.corners)
    }

    /// The smallest value of the question. Mixtures of the known corners answer from above, prices of the constraints
    /// from below; as long as the two differ, the labels that are best at those prices are a new corner.
    fn answer(&mut self, question: &Question<'_>) -> Result<f64> {
        let mut rounds = 0;
        loop {
            let prices = question.best_prices(&self.corners)?;
            let corner = self.game.lowest(&prices.direction);
            // Weights, agreements and excess are not negative, nor is then the answer.
            let lower = (dot(&prices.direction, &corner) + prices.constant).max(0.0);
            rounds += 1;
            let is_done = lower >= prices.value - PRECISION || self.corners.contains(&corner);
            if is_done || rounds == MAX_ROUNDS {
                return Ok(prices.value);
            }
            self.corners.push(corner);
        }
    }
}

/// Prices of the constraints "at least low" and "at most high".
struct Prices {
    /// How labels are judged at these prices, `[n_signals]`, and what is added to that.
    direction: Vec<f64>,
    constant: f64,
    /// What the cheapest mixture of the known corners costs, at these prices as well as under the constraints.
    value: f64,
}

impl Question<'_> {
    /// The best mixture of these agreements.
    fn best_mixture(&self, corners: &[Vec<f64>]) -> Result<Vec<f64>> {
        let excess = corners.len();
        let costs = corners.iter().map(|corner| -dot(corner, self.weights));
        let mut program = LinearProgram::maximize(costs.chain([-self.penalty]));
        program.constrain((0..excess).map(|corner| (corner, 1.0)), 1.0, 1.0);
        for (signal, (low, high)) in self.low.iter().zip(&self.high).enumerate() {
            let mixed = || corners.iter().map(|corner| corner[signal]).enumerate();
            program.constrain(mixed().chain([(excess, -1.0)]), f64::NEG_INFINITY, *high);
            let negative = mixed().map(|(corner, s)| (corner, -s));
            program.constrain(negative.chain([(excess, -1.0)]), f64::NEG_INFINITY, -low);
        }
        let optimum = possible(&program)?;
        let mut agreements = vec![0.0; self.weights.len()];
        for (corner, share) in corners.iter().zip(&optimum.variables) {
            agreements.iter_mut().zip(corner).for_each(|(sum, s)| *sum += share * s);
        }
        Ok(agreements)
    }

    /// The prices at which mixtures of these agreements cost the most. By duality the cheapest then costs as much as
    /// the best mixture under the constraints.
    fn best_prices(&self, corners: &[Vec<f64>]) -> Result<Prices> {
        let n_signals = self.weights.len();
        // Prices of low, then of high, then what the cheapest corner costs, as a difference of two numbers.
        let (cost, negative_cost) = (2 * n_signals, 2 * n_signals + 1);
        let gains = self.low.iter().copied().chain(self.high.iter().map(|high| -high));
        let mut program = LinearProgram::maximize(gains.clone().chain([1.0, -1.0]));
        program.constrain((0..cost).map(|price| (price, 1.0)), f64::NEG_INFINITY, self.penalty);
        for corner in corners {
            let terms = corner.iter().copied().chain(corner.iter().map(|s| -s)).enumerate();
            let terms = terms.chain([(cost, 1.0), (negative_cost, -1.0)]);
            program.constrain(terms, f64::NEG_INFINITY, dot(corner, self.weights));
        }
        let Optimum { value, variables: prices } = possible(&program)?;
        let (of_low, of_high) = prices[..cost].split_at(n_signals);
        let direction = self.weights.iter().zip(of_low.iter().zip(of_high));
        let direction = direction.map(|(weight, (low, high))| weight - low + high).collect();
        let constant = gains.zip(&prices).map(|(gain, price)| gain * price).sum();
        Ok(Prices { direction, constant, value })
    }
}

/// The optimum of a program that has one: the excess may be as large as it needs to be.
fn possible(program: &LinearProgram) -> Result<Optimum> {
    program
        .solve()?
        .ok_or_else(|| Error::data("labeler errors", "errors that can be compared with votes", "numbers too small"))
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    use super::*;
    use crate::label_models::planted::{Planted, assert_near, signals};
    use crate::rows::Truth;

    fn fit(signals: &WeakSignals, rates: &[f64]) -> FittedAdversarialMulticlass {
        let errors = LabelerErrors::per_labeler(rates, signals.n_classes()).unwrap();
        AdversarialMulticlass::default().fit_with(signals, &errors).unwrap()
    }

    /// The same adversary without any reduction: a variable for each row and class.
    /// Returns the value of the game for these weights, or nothing if no labels are allowed.
    fn value_by_rows(signals: &WeakSignals, rates: &[f64], weights: &[f64], slack: f64) -> Option<f64> {
        let (n, k) = (signals.n_rows(), signals.n_classes());
        let vector = |row: usize, signal: usize| -> Vec<f64> {
            (0..k)
                .map(|class| match signals.vote(row, signal) {
                    None => 1.0 / k as f64,
                    Some(vote) => f64::from(u8::from(vote == class)),
                })
                .collect()
        };
        let loss = |p: &[f64], class: usize| 0.5 * (dot(p, p) + 1.0) - p[class];
        let mixture = |row: usize| -> Vec<f64> {
            let mut p = vec![0.0; k];
            for (signal, weight) in weights.iter().enumerate() {
                let vote = vector(row, signal);
                p.iter_mut().zip(vote).for_each(|(p, v)| *p += weight * v);
            }
            p
        };
        let cells = || (0..n).flat_map(|row| (0..k).map(move |class| (row, class)));
        let mut program = LinearProgram::maximize(cells().map(|(row, class)| loss(&mixture(row), class)));
        for row in 0..n {
            let share = 1.0 / n as f64;
            program.constrain((0..k).map(|class| (row * k + class, 1.0)), share, share);
        }
        for (signal, rate) in rates.iter().enumerate() {
            let votes = (0..n).filter(|&row| signals.vote(row, signal).is_some()).count() as f64;
            let silent = n as f64 - votes;
            let uniform_loss = 0.5 - 0.5 / k as f64;
            let expected = (votes * rate + silent * uniform_loss) / n as f64;
            let terms =
                cells().enumerate().map(|(variable, (row, class))| (variable, loss(&vector(row, signal), class)));
            program.constrain(terms, expected - slack, expected + slack);
        }
        program.solve().unwrap().map(|optimum| optimum.value)
    }

    #[test]
    fn opposite_labelers_are_weighted_by_their_accuracy() {
        let fitted = fit(&signals(array![[0, 1], [1, 0], [1, 0]], 2), &[0.1, 0.9]);
        assert_abs_diff_eq!(&fitted.weights[..], &[0.9, 0.1][..], epsilon = 1e-8);
        assert_abs_diff_eq!(fitted.worst_case, 0.09, epsilon = 1e-8);
        assert_eq!(fitted.slack, 0.0);
    }

    #[test]
    fn one_labeler_costs_its_error_and_so_do_two_copies() {
        for n_classes in [2, 4] {
            let one = fit(&signals(array![[0], [1], [0]], n_classes), &[0.3]);
            assert_eq!(one.weights, [1.0]);
            assert_abs_diff_eq!(one.worst_case, 0.3, epsilon = 1e-12);
            let two = fit(&signals(array![[0, 0], [1, 1], [0, 0]], n_classes), &[0.3, 0.3]);
            assert_abs_diff_eq!(two.worst_case, 0.3, epsilon = 1e-12);
        }
    }

    #[test]
    fn the_reduced_game_has_the_value_of_the_game_over_rows() {
        let (mut n_constant, mut n_programs) = (0, 0);
        for (seed, n_classes, abstentions) in [(0, 2, 0.0), (1, 3, 0.0), (2, 3, 0.4), (3, 5, 0.3)] {
            let problem = Planted::new(30, n_classes, &[0.8, 0.7, 0.5], abstentions, seed);
            let rates = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap().rates();
            let patterns = VotePatterns::of(&problem.signals.votes());
            let shape = SignalShape::of(&problem.signals);
            // What was measured is possible; what is much better or worse needs slack. With so much slack that the lowest
            // agreements are negative, it takes the linear program.
            let shifts_and_slacks =
                [(0.0, 0.0), (0.0, 0.02), (0.0, 0.3), (-0.15, 0.2), (0.2, 0.25), (-1.0, 0.7), (0.0, 0.5), (0.1, 0.6)];
            for (shift, slack) in shifts_and_slacks {
                let rates: Vec<f64> = rates.iter().map(|rate| (rate + shift).clamp(0.0, 1.0)).collect();
                let game = Game::new(&patterns, shape, &rates);
                let mut adversary = Adversary::new(&game, slack).unwrap();
                n_constant += usize::from(adversary.always.is_some());
                n_programs += usize::from(adversary.always.is_none());
                for weights in [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.9, 0.1]] {
                    let expected = value_by_rows(&problem.signals, &rates, &weights, adversary.slack);
                    let agreements = adversary.worst_agreements(&weights).unwrap();
                    let found = game.loss(&weights, &agreements);
                    assert_abs_diff_eq!(found, expected.unwrap(), epsilon = 1e-6);
                }
                if adversary.slack > slack {
                    let before =
                        if slack == 0.0 && adversary.slack == FIRST_SLACK { 0.0 } else { adversary.slack / 2.0 };
                    let infeasible = value_by_rows(&problem.signals, &rates, &[1.0; 3], before);
                    assert_eq!(infeasible, None);
                }
            }
        }
        assert!(n_constant > 4 && n_programs > 4, "{n_constant} {n_programs}");
    }

    #[test]
    fn the_gradient_is_twice_that_of_the_loss_without_the_square() {
        // g = 2 mean of vote·(p − Y), while ½ ‖p‖² − Y·p has half of that.
        let problem = Planted::new(200, 3, &[0.8, 0.6, 0.5], 0.2, 4);
        let patterns = VotePatterns::of(&problem.signals.votes());
        let game = Game::new(&patterns, SignalShape::of(&problem.signals), &[0.2, 0.4, 0.5]);
        let weights = [0.5, 0.2, 0.3];
        let gradient = game.gradient(&weights, &game.agreements);
        for signal in 0..3 {
            let at = |shift: f64| {
                let mut weights = weights;
                weights[signal] += shift;
                game.loss(&weights, &game.agreements)
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert_abs_diff_eq!(gradient[signal], 2.0 * difference, epsilon = 1e-8);
        }
    }

    #[test]
    fn the_worst_case_is_no_worse_than_the_best_labeler() {
        for (seed, n_classes) in [(0, 2), (1, 3), (2, 6)] {
            let problem = Planted::new(1000, n_classes, &[0.5, 0.85, 0.7], 0.0, seed);
            let errors = LabelerErrors::measured(&problem.signals, &problem.truth).unwrap();
            let fitted = AdversarialMulticlass::default().fit_with(&problem.signals, &errors).unwrap();
            let least = errors.rates().into_iter().fold(1.0, f64::min);
            assert_eq!(fitted.slack, 0.0);
            assert!(fitted.worst_case <= least + 1e-3, "{} {least}", fitted.worst_case);
            let sampled = AdversarialMulticlass { n_labelled_rows: Some(500), ..Default::default() };
            let sampled = sampled.fit_with(&problem.signals, &errors).unwrap();
            // 0.1 √(1500 ln(120) / (2 · 500 · 1000))
            assert_abs_diff_eq!(sampled.slack, 0.008_474, epsilon = 1e-6);
            assert!(sampled.worst_case > fitted.worst_case);
            assert!(sampled.worst_case <= least + sampled.slack + 1e-3);
            let labels = fitted.predict_proba(&problem.signals).unwrap();
            assert!(problem.truth.accuracy(&labels.argmax()) > 0.8);
        }
    }

    #[test]
    fn errors_that_no_labels_allow_get_slack() {
        // They always disagree, so they cannot both be right: each must be off by a half.
        let fitted = fit(&signals(array![[0, 1], [1, 0]], 2), &[0.0, 0.0]);
        assert_abs_diff_eq!(fitted.slack, 0.64, epsilon = 1e-12);
        assert!(fitted.worst_case.is_finite());
        assert_abs_diff_eq!(&fitted.weights[..], &[0.5, 0.5][..], epsilon = 1e-6);
    }

    #[test]
    fn labels_are_mixtures_of_votes() {
        let fitted = FittedAdversarialMulticlass {
            shape: SignalShape { n_signals: 3, n_classes: 3 },
            weights: vec![0.5, 0.2, 0.3],
            worst_case: 0.0,
            slack: 0.0,
        };
        let votes = signals(array![[0, 1, 1], [2, -1, 2], [-1, -1, -1]], 3);
        let (fifteenth, third) = (1.0 / 15.0, 1.0 / 3.0);
        let expected = array![[0.5, 0.5, 0.0], [fifteenth, fifteenth, 0.8 + fifteenth], [third, third, third]];
        assert_near(fitted.predict_proba(&votes).unwrap().values(), &expected, 1e-12);
    }

    #[test]
    fn partitions_forget_the_names_of_classes() {
        let votes = signals(array![[0, 2, 0, -1], [1, 0, 1, -1], [2, 2, 2, 2]], 3);
        let found = partitions(&VotePatterns::of(&votes.votes()));
        let third = 1.0 / 3.0;
        assert_eq!(found, [(vec![0, 0, 0, 0], third), (vec![0, 1, 0, ABSTAIN], 2.0 * third)]);
    }

    #[test]
    fn extreme_votes_give_finite_results() {
        for votes in [array![[-1, -1]], array![[1, 1]], array![[0, -1], [0, -1]]] {
            for rates in [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]] {
                let fitted = fit(&signals(votes.clone(), 2), &rates);
                assert!(fitted.worst_case.is_finite(), "{votes} {rates:?}");
                assert_abs_diff_eq!(fitted.weights.iter().sum::<f64>(), 1.0, epsilon = 1e-12);
            }
        }
    }

    #[test]
    fn bad_settings_and_errors_of_others_are_errors() {
        let votes = signals(array![[0, 1], [1, 1]], 2);
        let errors = LabelerErrors::per_labeler(&[0.2, 0.2], 2).unwrap();
        let none = AdversarialMulticlass { n_steps: 0, ..Default::default() };
        assert!(none.fit_with(&votes, &errors).unwrap_err().to_string().starts_with("n_steps"));
        let none = AdversarialMulticlass { n_labelled_rows: Some(0), ..Default::default() };
        assert!(none.fit_with(&votes, &errors).unwrap_err().to_string().starts_with("n_labelled_rows"));
        let three = LabelerErrors::per_labeler(&[0.2; 2], 3).unwrap();
        let error = AdversarialMulticlass::default().fit_with(&votes, &three).unwrap_err();
        assert!(error.to_string().starts_with("labeler errors: expected 2 labelers"), "{error}");
        let truth = Truth::new(vec![0, 1], 2).unwrap();
        let measured = LabelerErrors::measured(&votes, &truth).unwrap();
        assert_eq!(measured.rates(), [0.0, 0.5]);
    }
}
