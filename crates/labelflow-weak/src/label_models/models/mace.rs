//! MACE: a vote is either what a labeler knows or a habit of it that has nothing to do with the row.
//!
//! ```text
//! model    labeler j knows the class of a row with probability θ[j] and votes for it; otherwise it votes for a with probability ξ[j](a)
//!          P(labeler j votes a | it votes, Y = c) = θ[j] 1[a = c] + (1 − θ[j]) ξ[j](a)        P(Y = c) = π(c)
//!          θ[j] ~ Beta, ξ[j] ~ Dirichlet
//! E step   p[i](c) ∝ π(c) ∏ over labelers that vote of the same with exp(E[ln θ]), exp(E[ln (1 − θ)]), exp(E[ln ξ])
//! M step   Beta and Dirichlet, each with the expected counts of votes from knowledge and from habit added
//! ```
//!
//! This is variational Bayes: what it raises in each round is a bound below the evidence, the log-probability of the votes. It finds one of several
//! maxima. So the first rounds are run from several starts, and the one with the highest bound goes on until no competence changes by as much as the tolerance.
//! Abstentions say nothing, and the fit passes over distinct rows of votes with their counts.
//!
//! D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, *Learning whom to trust with MACE*, 2013.

use serde::{Deserialize, Serialize};

use crate::label_models::one_class_labelers::{OneClassLabeler, PRIOR_ACCURACY, one_class_labelers};
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::numerics::{digamma, largest_change, ln_gamma, normalize_logs, scramble};
use crate::rows::SoftLabels;
use crate::settings::{check_at_least_one, check_not_negative, check_positive};
use crate::stop_reason::until_settled;
use crate::votes::{CountedVotes, VotePatterns, WeakSignals, cast_votes};
use crate::{Result, StopReason};

/// Votes from knowledge and from habit that every labeler is taken to have cast, as published.
const COMPETENCE_PRIOR: f64 = 0.5;
/// Rounds after which the starts are compared.
const ROUNDS_OF_START: usize = 10;
/// The competences of random starts.
const START_COMPETENCES: (f64, f64) = (0.1, 0.9);
/// A start is better than one before it if its bound is higher by more than rounding errors explain.
const ROUNDING: f64 = 1e-9;

/// MACE, in which each labeler is competent or votes by habit. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{FittedLabelModel, LabelModel, Mace};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// // The last labeler votes for one class nearly always.
/// let votes = array![[0, 0, 0, 1], [1, 1, 1, 1], [0, 0, -1, 1], [1, 1, 1, 1], [0, 0, 0, 1], [1, -1, 1, 0]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let fitted = Mace::default().fit(&signals)?;
/// assert_eq!(fitted.predict_proba(&signals)?.argmax(), [0, 1, 0, 1, 0, 1]);
/// assert!(fitted.competences()[3] < fitted.competences()[0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mace {
    /// The most rounds after the starts were compared. Default: 1000.
    pub max_iterations: usize,
    /// It stops when no competence changes by as much. Default: 1e-6.
    pub tolerance: f64,
    /// The number of starts, of which the first has no randomness. Default: 10.
    pub n_starts: usize,
    /// So many votes of each labeler are taken to be right 7 times in 10, by knowledge or by luck, and all votes of labelers of one class.
    /// Default: 20; published: 0.
    pub prior_votes: f64,
    /// So many votes for each class every labeler is taken to have cast out of habit. Default: 10.
    pub habit_votes: f64,
    /// How common each class is. Default: estimated; published: uniform.
    pub class_balance: ClassBalance,
    /// Seed of the starts.
    pub seed: u64,
}

impl Default for Mace {
    fn default() -> Self {
        Self {
            max_iterations: 1000,
            tolerance: 1e-6,
            n_starts: 10,
            prior_votes: 20.0,
            habit_votes: 10.0,
            class_balance: ClassBalance::default(),
            seed: 0,
        }
    }
}

impl Mace {
    fn check(&self, n_classes: usize) -> Result<()> {
        check_at_least_one(&[("max_iterations", self.max_iterations), ("n_starts", self.n_starts)])?;
        check_not_negative(&[("tolerance", self.tolerance), ("prior_votes", self.prior_votes)])?;
        check_positive(&[("habit_votes", self.habit_votes)])?;
        self.class_balance.check(n_classes)
    }
}

impl LabelModel for Mace {
    type Fitted = FittedMace;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedMace> {
        let shape = counted.shape();
        self.check(shape.n_classes)?;
        counted.check_any_vote()?;
        let class_balance = self.class_balance.resolve_counts(counted)?;
        let patterns = counted.patterns.without_silence();
        Ok(Fit::new(self, shape, &patterns, class_balance).run())
    }

    fn published(self) -> Self {
        Self { prior_votes: 0.0, ..self }
    }

    fn class_balance(&self) -> Option<&ClassBalance> {
        Some(&self.class_balance)
    }
}

/// A fitted MACE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedMace {
    shape: SignalShape,
    class_balance: Vec<f64>,
    /// The mean of θ, `[n_signals]`.
    competences: Vec<f64>,
    /// The mean of ξ, `[n_signals, n_classes]`.
    habits: Vec<f64>,
    /// The bound below the evidence in each round of the start that was chosen.
    pub bounds: Vec<f64>,
    /// Why the fit ended.
    pub stop: StopReason,
}

impl FittedMace {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> &[f64] {
        &self.class_balance
    }

    /// How often each labeler's vote is what it knows, `[n_signals]`.
    pub fn competences(&self) -> &[f64] {
        &self.competences
    }

    /// How often each labeler votes for each class when its vote is a habit, `[n_signals][n_classes]`.
    pub fn habits(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.habits.chunks_exact(self.shape.n_classes)
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        self.shape.check_list("class_balance", self.class_balance.len(), &[n_classes])?;
        self.shape.check_list("competences", self.competences.len(), &[n_signals])?;
        self.shape.check_list("habits", self.habits.len(), &[n_signals, n_classes])
    }
}

impl FittedLabelModel for FittedMace {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let mut weights = VoteWeights::new(self.shape, &self.class_balance);
        for (signal, (&competence, habits)) in self.competences.iter().zip(self.habits()).enumerate() {
            weights.set(signal, competence.ln(), (1.0 - competence).ln(), habits.iter().map(|p| p.ln()));
        }
        self.shape.label_votes(signals, |votes, posterior| {
            weights.posterior(votes, posterior);
        })
    }
}

/// What each vote says.
struct VoteWeights {
    n_classes: usize,
    /// ln π(c), `[n_classes]`.
    base: Vec<f64>,
    /// The log-probability of the vote where another class is true, `[n_signals, n_classes]`.
    wrongs: Vec<f64>,
    /// What is added where its class is true, `[n_signals, n_classes]`.
    gains: Vec<f64>,
    /// How probably the vote is knowledge where its class is true, `[n_signals, n_classes]`.
    known: Vec<f64>,
}

impl VoteWeights {
    fn new(shape: SignalShape, class_balance: &[f64]) -> Self {
        let zeros = || vec![0.0; shape.n_signals * shape.n_classes];
        Self {
            n_classes: shape.n_classes,
            base: class_balance.iter().map(|p| p.ln()).collect(),
            wrongs: zeros(),
            gains: zeros(),
            known: zeros(),
        }
    }

    /// Sets the weights of one labeler's votes.
    fn set(&mut self, signal: usize, log_competence: f64, log_habit: f64, log_habits: impl Iterator<Item = f64>) {
        for (class, log_share) in log_habits.enumerate() {
            let place = signal * self.n_classes + class;
            let wrong = log_habit + log_share;
            // The logarithm of knowledge over habit.
            let odds = log_competence - wrong;
            self.wrongs[place] = wrong;
            self.gains[place] = odds.max(0.0) + (-odds.abs()).exp().ln_1p();
            self.known[place] = 1.0 / (1.0 + (-odds).exp());
        }
    }

    /// Writes P(Y | votes) and returns the log-probability of the votes.
    fn posterior(&self, votes: &[u8], posterior: &mut [f64]) -> f64 {
        posterior.copy_from_slice(&self.base);
        let mut log_wrong = 0.0;
        for (signal, class) in cast_votes(votes) {
            let place = signal * self.n_classes + class;
            posterior[class] += self.gains[place];
            log_wrong += self.wrongs[place];
        }
        log_wrong + normalize_logs(posterior)
    }
}

/// What the votes say of the labelers: expected counts of votes on top of the priors.
#[derive(Clone)]
struct Beliefs {
    /// Votes from knowledge, `[n_signals]`.
    knowledge: Vec<f64>,
    /// Votes from habit, `[n_signals]`.
    habit: Vec<f64>,
    /// Votes from habit for each class, `[n_signals, n_classes]`.
    habits: Vec<f64>,
}

impl Beliefs {
    fn competences(&self) -> Vec<f64> {
        self.knowledge.iter().zip(&self.habit).map(|(knowledge, habit)| knowledge / (knowledge + habit)).collect()
    }
}

/// Variational Bayes over the distinct rows of votes.
struct Fit<'a> {
    settings: &'a Mace,
    shape: SignalShape,
    patterns: &'a VotePatterns,
    class_balance: Vec<f64>,
    /// The competence of labelers whose votes do not tell it, `[n_signals]`.
    held: Vec<Option<f64>>,
    /// How often each labeler votes for each class, `[n_signals, n_classes]`.
    votes_for: Vec<f64>,
    /// Before any vote.
    prior: Beliefs,
}

impl<'a> Fit<'a> {
    fn new(settings: &'a Mace, shape: SignalShape, patterns: &'a VotePatterns, class_balance: Vec<f64>) -> Self {
        let SignalShape { n_signals, n_classes } = shape;
        let held = match settings.prior_votes > 0.0 {
            true => one_class_labelers(patterns, shape),
            false => vec![None; n_signals],
        };
        let competence = competence_of(PRIOR_ACCURACY, n_classes);
        let votes_for = patterns.sum(n_signals * n_classes, |patterns, sums| {
            for (votes, count) in patterns {
                cast_votes(votes).for_each(|(signal, class)| sums[signal * n_classes + class] += count);
            }
        });
        let prior = Beliefs {
            knowledge: vec![COMPETENCE_PRIOR + settings.prior_votes * competence; n_signals],
            habit: vec![COMPETENCE_PRIOR + settings.prior_votes * (1.0 - competence); n_signals],
            habits: vec![settings.habit_votes; n_signals * n_classes],
        };
        let competence = |labeler: OneClassLabeler| competence_of(labeler.accuracy(&class_balance), n_classes);
        let held = held.into_iter().map(|labeler| labeler.map(competence)).collect();
        Self { settings, shape, patterns, class_balance, held, votes_for, prior }
    }

    fn run(&self) -> FittedMace {
        let profiles = self.profiles();
        let starts = (0..self.settings.n_starts as u64).map(|start| {
            let mut beliefs = self.started(&self.start_competences(start, &profiles));
            let (bounds, _) = until_settled(ROUNDS_OF_START, 0.0, || self.round(&mut beliefs));
            (bounds, beliefs)
        });
        let last = |bounds: &[f64]| bounds[ROUNDS_OF_START - 1];
        let better = |best: (Vec<f64>, Beliefs), start: (Vec<f64>, Beliefs)| {
            let margin = ROUNDING * last(&best.0).abs();
            if last(&start.0) > last(&best.0) + margin { start } else { best }
        };
        let (mut bounds, mut beliefs) = starts.reduce(better).expect("there is a start");
        let Mace { max_iterations, tolerance, .. } = *self.settings;
        let (rest, stop) = until_settled(max_iterations, tolerance, || self.round(&mut beliefs));
        bounds.extend(rest);
        self.fitted(&beliefs, bounds, stop)
    }

    fn fitted(&self, beliefs: &Beliefs, bounds: Vec<f64>, stop: StopReason) -> FittedMace {
        let n_classes = self.shape.n_classes;
        let learned = beliefs.competences().into_iter().zip(&self.held);
        let habits = beliefs.habits.chunks_exact(n_classes).zip(&self.held).flat_map(|(habits, held)| {
            let total: f64 = habits.iter().sum();
            let uniform = 1.0 / n_classes as f64;
            habits.iter().map(move |n| if held.is_some() { uniform } else { n / total })
        });
        FittedMace {
            shape: self.shape,
            class_balance: self.class_balance.clone(),
            competences: learned.map(|(learned, held)| held.unwrap_or(learned)).collect(),
            habits: habits.collect(),
            bounds,
            stop,
        }
    }

    /// How often each labeler votes, and how many votes of others are the same on the same rows. It tells labelers apart whatever
    /// their order and that of the classes.
    fn profiles(&self) -> Vec<[u64; 2]> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let sums = self.patterns.sum(2 * n_signals, |patterns, sums| {
            let mut votes_for = vec![0.0; n_classes];
            for (votes, count) in patterns {
                votes_for.fill(0.0);
                cast_votes(votes).for_each(|(_, class)| votes_for[class] += 1.0);
                for (signal, class) in cast_votes(votes) {
                    sums[2 * signal] += count;
                    sums[2 * signal + 1] += count * votes_for[class];
                }
            }
        });
        sums.chunks_exact(2).map(|sums| [sums[0] as u64, sums[1] as u64]).collect()
    }

    /// The competences of a start: all the same in the first, random in the others.
    fn start_competences(&self, start: u64, profiles: &[[u64; 2]]) -> Vec<f64> {
        let (lowest, highest) = START_COMPETENCES;
        let random = |&[n_votes, n_same]: &[u64; 2]| {
            let parts = [self.settings.seed, start, n_votes, n_same];
            let bits = parts.into_iter().fold(0, |hash, part| scramble(hash ^ part));
            lowest + (highest - lowest) * (bits >> 11) as f64 * 0.5f64.powi(53)
        };
        let same = competence_of(PRIOR_ACCURACY, self.shape.n_classes);
        profiles.iter().map(|profile| if start == 0 { same } else { random(profile) }).collect()
    }

    /// What labelers of these competences, whose habits are uniform, make of the votes.
    fn started(&self, competences: &[f64]) -> Beliefs {
        let mut weights = VoteWeights::new(self.shape, &self.class_balance);
        for (signal, competence) in competences.iter().enumerate() {
            self.set_uniform(&mut weights, signal, self.held[signal].unwrap_or(*competence));
        }
        self.learned(&weights).1
    }

    fn set_uniform(&self, weights: &mut VoteWeights, signal: usize, competence: f64) {
        let n_classes = self.shape.n_classes;
        let habits = vec![-(n_classes as f64).ln(); n_classes];
        weights.set(signal, competence.ln(), (1.0 - competence).ln(), habits.into_iter());
    }

    /// Moves the beliefs by one round. Returns the bound before it, and the largest change of a competence.
    fn round(&self, beliefs: &mut Beliefs) -> (f64, f64) {
        let (log_likelihood, next) = self.learned(&self.weights(beliefs));
        let bound = log_likelihood - self.divergence(beliefs);
        let change = largest_change(&next.competences(), &beliefs.competences());
        *beliefs = next;
        (bound, change)
    }

    /// The weights of votes by what is expected of the logarithms of all probabilities.
    fn weights(&self, beliefs: &Beliefs) -> VoteWeights {
        let mut weights = VoteWeights::new(self.shape, &self.class_balance);
        for (signal, habits) in beliefs.habits.chunks_exact(self.shape.n_classes).enumerate() {
            if let Some(competence) = self.held[signal] {
                self.set_uniform(&mut weights, signal, competence);
                continue;
            }
            let (knowledge, habit) = (beliefs.knowledge[signal], beliefs.habit[signal]);
            let (of_votes, of_habits) = (digamma(knowledge + habit), digamma(habits.iter().sum()));
            let log_habits = habits.iter().map(|n| digamma(*n) - of_habits);
            weights.set(signal, digamma(knowledge) - of_votes, digamma(habit) - of_votes, log_habits);
        }
        weights
    }

    /// The log-probability of the votes, and what they say of the labelers.
    fn learned(&self, weights: &VoteWeights) -> (f64, Beliefs) {
        let n_classes = self.shape.n_classes;
        let n_votes = self.votes_for.len();
        // Expected right votes for each class, then the log-probability.
        let sums = self.patterns.sum(n_votes + 1, |patterns, sums| {
            let mut posterior = vec![0.0; n_classes];
            for (votes, count) in patterns {
                sums[n_votes] += count * weights.posterior(votes, &mut posterior);
                for (signal, class) in cast_votes(votes) {
                    sums[signal * n_classes + class] += count * posterior[class];
                }
            }
        });
        let mut beliefs = self.prior.clone();
        for (place, (right, known)) in sums.iter().zip(&weights.known).enumerate() {
            let (from_knowledge, signal) = (right * known, place / n_classes);
            let from_habit = self.votes_for[place] - from_knowledge;
            beliefs.knowledge[signal] += from_knowledge;
            beliefs.habit[signal] += from_habit;
            beliefs.habits[place] += from_habit;
        }
        (sums[n_votes], beliefs)
    }

    /// How far the beliefs are from the priors, of all labelers that are learned.
    fn divergence(&self, beliefs: &Beliefs) -> f64 {
        let n_classes = self.shape.n_classes;
        let learned = (0..self.shape.n_signals).filter(|&signal| self.held[signal].is_none());
        let of_signal = |signal: usize| {
            let classes = signal * n_classes..(signal + 1) * n_classes;
            let competence = |of: &Beliefs| [of.knowledge[signal], of.habit[signal]];
            dirichlet_divergence(&competence(beliefs), &competence(&self.prior))
                + dirichlet_divergence(&beliefs.habits[classes.clone()], &self.prior.habits[classes])
        };
        learned.map(of_signal).sum()
    }
}

/// The competence with uniform habits at which this share of votes is right.
fn competence_of(accuracy: f64, n_classes: usize) -> f64 {
    let n_classes = n_classes as f64;
    ((accuracy * n_classes - 1.0) / (n_classes - 1.0)).max(0.0)
}

/// The Kullback-Leibler divergence of a Dirichlet distribution from another.
fn dirichlet_divergence(counts: &[f64], from: &[f64]) -> f64 {
    let (total, total_from): (f64, f64) = (counts.iter().sum(), from.iter().sum());
    let of_total = digamma(total);
    // Most labelers never vote for most of many classes.
    let changed = counts.iter().zip(from).filter(|(count, from)| count != from);
    let terms =
        changed.map(|(&count, &from)| ln_gamma(from) - ln_gamma(count) + (count - from) * (digamma(count) - of_total));
    ln_gamma(total) - ln_gamma(total_from) + terms.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, array};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::label_models::planted::{Planted, signals};
    use crate::rows::Truth;
    use crate::votes::{ABSTAIN, Votes};

    /// Votes as the model says, of labelers with these competences and habits.
    fn planted(n_rows: usize, labelers: &[(f64, [f64; 3])], seed: u64) -> (WeakSignals, Truth) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let truth: Vec<usize> = (0..n_rows).map(|_| rng.random_range(0..3)).collect();
        let votes = Array2::from_shape_fn((n_rows, labelers.len()), |(row, signal)| {
            let (competence, habits) = labelers[signal];
            if rng.random_bool(competence) {
                return truth[row] as u8;
            }
            let draw = rng.random_range(0.0..1.0);
            if draw < habits[0] { 0 } else { 1 + u8::from(draw >= habits[0] + habits[1]) }
        });
        let votes = Votes::from_bytes(votes, 3).unwrap();
        (WeakSignals::from_votes(votes).unwrap(), Truth::new(truth, 3).unwrap())
    }

    #[test]
    fn planted_competences_and_habits_are_recovered() {
        let labelers = [
            (0.9, [0.2, 0.2, 0.6]),
            (0.7, [0.4, 0.3, 0.3]),
            (0.5, [0.8, 0.1, 0.1]),
            (0.3, [0.1, 0.8, 0.1]),
            (0.0, [0.3, 0.6, 0.1]),
        ];
        let (signals, truth) = planted(5000, &labelers, 2);
        let fitted = Mace::default().fit(&signals).unwrap();
        assert_eq!(fitted.stop, StopReason::Converged);
        for ((found, habits), (expected, of_labeler)) in fitted.competences().iter().zip(fitted.habits()).zip(labelers)
        {
            assert_abs_diff_eq!(*found, expected, epsilon = 0.05);
            assert_abs_diff_eq!(habits, &of_labeler[..], epsilon = 0.1);
        }
        let labels = fitted.predict_proba(&signals).unwrap();
        assert!(truth.accuracy(&labels.argmax()) > 0.93, "{}", truth.accuracy(&labels.argmax()));
    }

    #[test]
    fn the_bound_never_falls() {
        for (seed, n_classes) in [(0, 2), (1, 3), (2, 5)] {
            let problem = Planted::new(500, n_classes, &[0.4, 0.5, 0.7, 0.8], 0.4, seed);
            for model in [Mace::default(), Mace::default().published()] {
                let fitted = Mace { max_iterations: 50, tolerance: 0.0, ..model }.fit(&problem.signals).unwrap();
                let bounds = fitted.bounds;
                assert_eq!(bounds.len(), 50 + ROUNDS_OF_START);
                assert!(bounds.windows(2).all(|pair| pair[1] >= pair[0] - 1e-8), "{seed}: {bounds:?}");
            }
        }
    }

    #[test]
    fn a_row_is_labelled_as_the_formula_says() {
        let fitted = FittedMace {
            shape: SignalShape { n_signals: 3, n_classes: 2 },
            class_balance: vec![0.6, 0.4],
            competences: vec![0.8, 0.5, 0.0],
            habits: vec![0.5, 0.5, 0.1, 0.9, 0.3, 0.7],
            bounds: Vec::new(),
            stop: StopReason::Converged,
        };
        let labels = fitted.predict_proba(&signals(array![[0, 1, 1], [-1, -1, 0]], 2)).unwrap();
        let weights = [0.6 * (0.8 + 0.2 * 0.5) * (0.5 * 0.9), 0.4 * (0.2 * 0.5) * (0.5 + 0.5 * 0.9)];
        assert_abs_diff_eq!(labels.values()[[0, 0]], weights[0] / (weights[0] + weights[1]), epsilon = 1e-12);
        // A vote from habit says nothing.
        assert_abs_diff_eq!(labels.values()[[1, 0]], 0.6, epsilon = 1e-12);
    }

    #[test]
    fn the_bound_is_below_the_evidence() {
        // One vote for one of two classes has probability ½, whatever is known of the labeler.
        let model = Mace { habit_votes: 1.0, class_balance: ClassBalance::Uniform, ..Mace::default().published() };
        let bound = *model.fit(&signals(array![[0]], 2)).unwrap().bounds.last().unwrap();
        assert!(bound < 0.5f64.ln() && bound > 0.5f64.ln() - 0.7, "{bound}");
    }

    #[test]
    fn divergences_are_as_published() {
        // Of Beta(2, 1), whose density is 2x, from the uniform distribution: ln 2 − ½.
        assert_abs_diff_eq!(dirichlet_divergence(&[2.0, 1.0], &[1.0, 1.0]), 2f64.ln() - 0.5, epsilon = 1e-12);
        assert_eq!(dirichlet_divergence(&[0.5, 3.0], &[0.5, 3.0]), 0.0);
    }

    #[test]
    fn starts_find_the_better_explanation_and_do_not_depend_on_the_order_of_labelers() {
        let problem = Planted::new(400, 3, &[0.8, 0.7, 0.6, 0.5, 0.4], 0.3, 7);
        let last = |n_starts: usize, seed: u64| {
            let fitted = Mace { n_starts, seed, ..Mace::default().published() }.fit(&problem.signals).unwrap();
            fitted.bounds[fitted.bounds.len() - 1]
        };
        assert!(last(10, 0) >= last(1, 0) - 1e-6);
        assert_eq!(last(1, 0), last(1, 5));
    }

    #[test]
    fn rules_of_one_class_do_not_end_in_one_class() {
        let problem = Planted::keywords(2000, &[0, 0, 0, 1, 1], 0.4, 0.1, 5);
        let covered = problem.signals.covered_rows();
        let (signals, truth) = (problem.signals.select_rows(&covered), problem.truth.select_rows(&covered));
        let labels = Mace::default().fit(&signals).unwrap().predict_proba(&signals).unwrap();
        assert!(truth.accuracy(&labels.argmax()) > 0.7);
    }

    #[test]
    fn sparse_votes_do_not_end_in_one_class() {
        for n_classes in [2, 5] {
            let labelers = [(0.02, 0.7); 80];
            let problem = Planted::one_coin(1000, &vec![1.0; n_classes], &labelers, 4);
            let covered = problem.signals.covered_rows();
            let (signals, truth) = (problem.signals.select_rows(&covered), problem.truth.select_rows(&covered));
            let labels = Mace::default().fit(&signals).unwrap().predict_proba(&signals).unwrap().argmax();
            assert!(truth.accuracy(&labels) > 0.7, "{}", truth.accuracy(&labels));
        }
    }

    #[test]
    fn rows_without_votes_get_the_class_balance() {
        let signals = signals(array![[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1], [-1, -1, -1]], 2);
        let model = Mace { class_balance: ClassBalance::Given(vec![0.7, 0.3]), ..Mace::default() };
        let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
        assert_abs_diff_eq!(labels.values()[[4, 0]], 0.7, epsilon = 1e-12);
        assert_eq!(signals.votes().row_bytes(4), [ABSTAIN; 3]);
    }

    #[test]
    fn bad_settings_and_empty_votes_are_errors() {
        let votes = signals(array![[0, 1], [1, 1]], 2);
        let bad = |change: fn(&mut Mace)| {
            let mut model = Mace::default();
            change(&mut model);
            model.fit(&votes).unwrap_err().to_string()
        };
        assert!(bad(|model| model.max_iterations = 0).starts_with("max_iterations"));
        assert!(bad(|model| model.n_starts = 0).starts_with("n_starts"));
        assert!(bad(|model| model.tolerance = f64::NAN).starts_with("tolerance"));
        assert!(bad(|model| model.prior_votes = -1.0).starts_with("prior_votes"));
        assert!(bad(|model| model.habit_votes = 0.0).starts_with("habit_votes"));
        assert!(bad(|model| model.class_balance = ClassBalance::Given(vec![1.0])).starts_with("class_balance"));
        let error = Mace::default().fit(&signals(array![[-1, -1]], 2)).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
