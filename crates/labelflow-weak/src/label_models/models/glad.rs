//! GLAD: each labeler has an ability and each row a difficulty.
//!
//! ```text
//! model    P(labeler j votes a | it votes, Y = c) ∝ exp(α[j] β[i]) if a = c, 1 otherwise        P(Y = c) = π(c)
//!          α[j] ~ N(μ, s²)   ability;   ln β[i] ~ N(0, d²)   ease of row i;   μ makes 7 votes in 10 right where β = 1
//! E step   p[i](c, β) ∝ π(c) P(β) ∏ over labelers that vote of P(vote | c, β)       for seven values of β
//! M step   α[j] maximises its expected log-likelihood plus ln N(α[j]; μ, s²), by Newton's method
//! ```
//!
//! Ability zero is a guess and a negative one says the opposite. Errors are spread evenly over the wrong classes. Abstentions
//! say nothing.
//!
//! A row's votes are all that is known of its difficulty, so rows with the same votes have the same: the fit passes over
//! distinct rows of votes with their counts. It stops when no ability changes by as much as the tolerance.
//!
//! J. Whitehill, P. Ruvolo, T. Wu, J. Bergsma and J. Movellan, *Whose vote should count more: optimal integration of labels from
//! labelers of unknown expertise*, 2009.

use serde::{Deserialize, Serialize};

use crate::label_models::one_class_labelers::{OneClassLabeler, PRIOR_ACCURACY, one_class_labelers};
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::numerics::{fill_rows, largest_change, normalize_logs};
use crate::rows::SoftLabels;
use crate::settings::{check_at_least_one, check_not_negative, check_positive};
use crate::stop_reason::until_settled;
use crate::votes::{CountedVotes, VotePatterns, WeakSignals, cast_votes};
use crate::{Error, Result, StopReason, ensure};

/// The values of ln β that are looked at, in multiples of their standard deviation. Sums over them are integrals to three
/// digits or more.
const LEVELS: [f64; 7] = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
/// A larger spread of ln β would leave hardly any row of middling difficulty.
const MOST_SPREAD: f64 = 10.0;
/// Steps towards the best ability in each round; a few are enough.
const MOST_STEPS: usize = 60;
/// It is found up to this.
const PRECISION: f64 = 1e-13;
/// No labeler of one class is held to be abler.
const MOST_ABILITY: f64 = 50.0;

/// GLAD, with an ability for each labeler and a difficulty for each row. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{FittedLabelModel, Glad, LabelModel};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = array![[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let fitted = Glad::default().fit(&signals)?;
/// assert_eq!(fitted.predict_proba(&signals)?.argmax(), [0, 1, 0, 1, 0, 1]);
/// // The third labeler often disagrees with the others, and the third row divides them.
/// assert!(fitted.abilities()[2] < fitted.abilities()[0]);
/// let difficulties = fitted.difficulties(&signals)?;
/// assert!(difficulties[2] > difficulties[0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
// Deviation: difficulties are summed over. Published, each has one value that is learned like an ability, which tells too much from few votes.
// Deviation: with more than two classes ability zero is a guess, 1 in K right. Published, it is right every other time, so a labeler that is right
// less often than that would do worse on easier rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Glad {
    /// The most rounds of expectation and maximisation. Default: 1000.
    pub max_iterations: usize,
    /// It stops when no ability changes by as much. Default: 1e-5.
    pub tolerance: f64,
    /// How much abilities differ: their standard deviation before any vote. Default: 1.
    pub ability_spread: f64,
    /// How much rows differ: the standard deviation of ln β. At zero all rows are equally difficult. At most 10. Default: 1.
    pub difficulty_spread: f64,
    /// How common each class is. Default: estimated.
    pub class_balance: ClassBalance,
}

impl Default for Glad {
    fn default() -> Self {
        Self {
            max_iterations: 1000,
            tolerance: 1e-5,
            ability_spread: 1.0,
            difficulty_spread: 1.0,
            class_balance: ClassBalance::default(),
        }
    }
}

impl Glad {
    fn check(&self, n_classes: usize) -> Result<()> {
        check_at_least_one(&[("max_iterations", self.max_iterations)])?;
        check_not_negative(&[("tolerance", self.tolerance), ("difficulty_spread", self.difficulty_spread)])?;
        check_positive(&[("ability_spread", self.ability_spread)])?;
        ensure(self.difficulty_spread <= MOST_SPREAD, || {
            Error::config("difficulty_spread", format!("at most {MOST_SPREAD}"), self.difficulty_spread)
        })?;
        self.class_balance.check(n_classes)
    }
}

impl LabelModel for Glad {
    type Fitted = FittedGlad;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedGlad> {
        let shape = counted.shape();
        self.check(shape.n_classes)?;
        counted.check_any_vote()?;
        let class_balance = self.class_balance.resolve_counts(counted)?;
        let patterns = counted.patterns.without_silence();
        Ok(Fit { settings: self, shape, patterns: &patterns }.run(class_balance))
    }

    fn class_balance(&self) -> Option<&ClassBalance> {
        Some(&self.class_balance)
    }
}

/// A fitted GLAD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedGlad {
    shape: SignalShape,
    class_balance: Vec<f64>,
    abilities: Vec<f64>,
    difficulty_spread: f64,
    /// The log-likelihood of the votes plus the log-density of the abilities, at the beginning of each round.
    pub log_posteriors: Vec<f64>,
    /// Why the fit ended.
    pub stop: StopReason,
}

impl FittedGlad {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> &[f64] {
        &self.class_balance
    }

    /// How able each labeler is, `[n_signals]`: above zero if it is better than a guess, below if it says the opposite.
    pub fn abilities(&self) -> &[f64] {
        &self.abilities
    }

    /// How difficult each row is expected to be by its votes, −ln β, `[n_rows]`: zero without votes, and above zero for rows on which labelers
    /// do worse than elsewhere.
    pub fn difficulties(&self, signals: &WeakSignals) -> Result<Vec<f64>> {
        self.shape.check(signals)?;
        let (votes, tables) = (signals.votes(), self.tables());
        let difficulties = fill_rows(signals.n_rows(), 1, |row, difficulty| {
            let mut joint = tables.empty_joint();
            tables.joint(votes.row_bytes(row), &mut joint);
            let levels = joint.chunks_exact(self.shape.n_classes).zip(LEVELS);
            difficulty[0] = levels.map(|(p, level)| -self.difficulty_spread * level * p.iter().sum::<f64>()).sum();
        });
        Ok(difficulties.into_iter().collect())
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        self.shape.check_list("class_balance", self.class_balance.len(), &[n_classes])?;
        self.shape.check_list("abilities", self.abilities.len(), &[n_signals])
    }

    fn tables(&self) -> Tables<'_> {
        Tables::new(&self.abilities, &self.class_balance, self.difficulty_spread)
    }
}

impl FittedLabelModel for FittedGlad {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let tables = self.tables();
        self.shape.label_votes(signals, |votes, posterior| {
            let mut joint = tables.empty_joint();
            tables.joint(votes, &mut joint);
            for p in joint.chunks_exact(posterior.len()) {
                posterior.iter_mut().zip(p).for_each(|(sum, p)| *sum += p);
            }
        })
    }
}

/// What an ability of zero is right by chance, and what makes `accuracy` of the votes right where β = 1.
fn ability_of(accuracy: f64, n_classes: usize) -> f64 {
    (accuracy * (n_classes - 1) as f64 / (1.0 - accuracy)).ln()
}

/// What makes `accuracy` of the votes right over rows of all difficulties.
fn mean_ability_of(accuracy: f64, n_classes: usize, spread: f64) -> f64 {
    let (n_wrong, eases, weights) = ((n_classes - 1) as f64, eases(spread), log_levels().map(f64::exp));
    let right = |ability: f64| -> f64 {
        eases.iter().zip(weights).map(|(ease, weight)| weight / (1.0 + n_wrong * (-ability * ease).exp())).sum()
    };
    // No rows are easy enough for more.
    let (mut low, mut high) = (-MOST_ABILITY, MOST_ABILITY);
    while high - low > PRECISION * MOST_ABILITY {
        let middle = 0.5 * (low + high);
        *(if right(middle) < accuracy { &mut low } else { &mut high }) = middle;
    }
    low
}

/// ln P(β) of each level.
fn log_levels() -> [f64; LEVELS.len()] {
    let log_levels = LEVELS.map(|level| -0.5 * level * level);
    let log_total = log_levels.iter().map(|log| log.exp()).sum::<f64>().ln();
    log_levels.map(|log| log - log_total)
}

/// ln(exp(score) + n_wrong).
fn log_sum(score: f64, n_wrong: f64) -> f64 {
    if score > 0.0 { score + (n_wrong * (-score).exp()).ln_1p() } else { (score.exp() + n_wrong).ln() }
}

/// β of each level.
fn eases(spread: f64) -> [f64; LEVELS.len()] {
    LEVELS.map(|level| (spread * level).exp())
}

/// What the votes of a row are weighed with.
struct Tables<'a> {
    abilities: &'a [f64],
    eases: [f64; LEVELS.len()],
    /// ln P(β) + ln π(c), `[n_levels, n_classes]`.
    prior: Vec<f64>,
    /// The logarithm of the probability of a vote for a wrong class, `[n_signals, n_levels]`.
    log_wrong: Vec<f64>,
}

impl<'a> Tables<'a> {
    fn new(abilities: &'a [f64], class_balance: &[f64], spread: f64) -> Self {
        let n_wrong = (class_balance.len() - 1) as f64;
        let eases = eases(spread);
        let prior = log_levels().into_iter().flat_map(|level| class_balance.iter().map(move |p| level + p.ln()));
        let log_wrong = abilities.iter().flat_map(|a| eases.map(|ease| -log_sum(a * ease, n_wrong)));
        Self { abilities, eases, prior: prior.collect(), log_wrong: log_wrong.collect() }
    }

    fn empty_joint(&self) -> Vec<f64> {
        vec![0.0; self.prior.len()]
    }

    /// Writes P(β, Y | votes), `[n_levels, n_classes]`, and returns log P(votes).
    fn joint(&self, votes: &[u8], joint: &mut [f64]) -> f64 {
        let n_classes = joint.len() / LEVELS.len();
        // The abilities that speak for each class stand where the first level will.
        joint[..n_classes].fill(0.0);
        let mut log_wrong = [0.0; LEVELS.len()];
        for (signal, class) in cast_votes(votes) {
            joint[class] += self.abilities[signal];
            let of_signal = &self.log_wrong[signal * LEVELS.len()..][..LEVELS.len()];
            log_wrong.iter_mut().zip(of_signal).for_each(|(sum, log)| *sum += log);
        }
        for level in (0..LEVELS.len()).rev() {
            for class in 0..n_classes {
                let place = level * n_classes + class;
                joint[place] = self.prior[place] + self.eases[level] * joint[class] + log_wrong[level];
            }
        }
        normalize_logs(joint)
    }
}

/// Expectation maximisation over the distinct rows of votes.
struct Fit<'a> {
    settings: &'a Glad,
    shape: SignalShape,
    patterns: &'a VotePatterns,
}

impl Fit<'_> {
    fn run(&self, class_balance: Vec<f64>) -> FittedGlad {
        let &Glad { max_iterations, tolerance, difficulty_spread, .. } = self.settings;
        let mean = ability_of(PRIOR_ACCURACY, self.shape.n_classes);
        let held = one_class_labelers(self.patterns, self.shape).into_iter();
        let ability = |labeler: OneClassLabeler| {
            mean_ability_of(labeler.accuracy(&class_balance), self.shape.n_classes, difficulty_spread)
        };
        let held: Vec<_> = held.map(|labeler| labeler.map(ability)).collect();
        let mut abilities: Vec<f64> = held.iter().map(|ability| ability.unwrap_or(mean)).collect();
        let (log_posteriors, stop) = until_settled(max_iterations, tolerance, || {
            let tables = Tables::new(&abilities, &class_balance, difficulty_spread);
            let mut sums = self.expected_counts(&tables);
            let log_likelihood = sums.pop().expect("the last sum is the log-likelihood");
            let labelers = sums.chunks_exact(2 * LEVELS.len()).zip(&abilities).zip(&held);
            let objectives = labelers.map(|((counts, &ability), held)| {
                (AbilityObjective { counts, mean, eases: &tables.eases, fit: self }, ability, held.is_some())
            });
            let mut log_prior = 0.0;
            let next: Vec<f64> = objectives
                .map(|(objective, ability, is_held)| {
                    log_prior += objective.log_prior(ability);
                    if is_held { ability } else { objective.maximum(ability) }
                })
                .collect();
            let change = largest_change(&next, &abilities);
            abilities = next;
            (log_likelihood + log_prior, change)
        });
        FittedGlad { shape: self.shape, class_balance, abilities, difficulty_spread, log_posteriors, stop }
    }

    /// Expected right votes and expected votes of each labeler at each level, `[n_signals, n_levels, 2]`, then the
    /// log-likelihood.
    fn expected_counts(&self, tables: &Tables<'_>) -> Vec<f64> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let n_counts = 2 * LEVELS.len();
        self.patterns.sum(n_signals * n_counts + 1, |patterns, sums| {
            let mut joint = tables.empty_joint();
            for (votes, count) in patterns {
                sums[n_signals * n_counts] += count * tables.joint(votes, &mut joint);
                let mut levels = [0.0; LEVELS.len()];
                let of_levels = levels.iter_mut().zip(joint.chunks_exact(n_classes));
                of_levels.for_each(|(sum, p)| *sum = p.iter().sum());
                for (signal, class) in cast_votes(votes) {
                    let counts = sums[signal * n_counts..][..n_counts].chunks_exact_mut(2);
                    for ((counts, p), level) in counts.zip(joint.chunks_exact(n_classes)).zip(levels) {
                        counts[0] += count * p[class];
                        counts[1] += count * level;
                    }
                }
            }
        })
    }
}

/// The expected log-likelihood of one labeler's votes with its prior, as a function of its ability: concave.
struct AbilityObjective<'a> {
    /// Right votes and votes, `[n_levels, 2]`.
    counts: &'a [f64],
    mean: f64,
    eases: &'a [f64],
    fit: &'a Fit<'a>,
}

impl AbilityObjective<'_> {
    fn n_wrong(&self) -> f64 {
        (self.fit.shape.n_classes - 1) as f64
    }

    fn log_prior(&self, ability: f64) -> f64 {
        -0.5 * ((ability - self.mean) / self.fit.settings.ability_spread).powi(2)
    }

    /// The gradient, which falls everywhere, and minus its slope.
    fn derivatives(&self, ability: f64) -> (f64, f64) {
        let precision = self.fit.settings.ability_spread.powi(-2);
        let (mut gradient, mut curvature) = (precision * (self.mean - ability), precision);
        for (counts, ease) in self.counts.chunks_exact(2).zip(self.eases) {
            let score = ability * ease;
            let right = (score - log_sum(score, self.n_wrong())).exp();
            gradient += ease * (counts[0] - counts[1] * right);
            curvature += ease * ease * counts[1] * right * (1.0 - right);
        }
        (gradient, curvature)
    }

    /// The best ability, by Newton's method from this one. A step that leads past a point known to be too far goes half the way to it.
    fn maximum(&self, mut ability: f64) -> f64 {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for _ in 0..MOST_STEPS {
            let (gradient, curvature) = self.derivatives(ability);
            let side = if gradient > 0.0 { &mut low } else { &mut high };
            *side = ability;
            let newton = ability + gradient / curvature;
            let next = if low <= newton && newton <= high { newton } else { 0.5 * (low + high) };
            let change = (next - ability).abs();
            ability = next;
            if change <= PRECISION * (1.0 + ability.abs()) {
                break;
            }
        }
        ability
    }
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

    /// Votes as the model says, and ln β of each row.
    fn planted(n_rows: usize, n_classes: usize, abilities: &[f64], seed: u64) -> (WeakSignals, Truth, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let truth: Vec<usize> = (0..n_rows).map(|_| rng.random_range(0..n_classes)).collect();
        // Twelve uniform numbers have the variance of a normal one.
        let normal = |rng: &mut ChaCha8Rng| (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
        let eases: Vec<f64> = (0..n_rows).map(|_| normal(&mut rng)).collect();
        let votes = Array2::from_shape_fn((n_rows, abilities.len()), |(row, signal)| {
            let score = abilities[signal] * eases[row].exp();
            let right = (score - log_sum(score, (n_classes - 1) as f64)).exp();
            let shift = if rng.random_bool(right) { 0 } else { rng.random_range(1..n_classes) };
            ((truth[row] + shift) % n_classes) as u8
        });
        let votes = Votes::from_bytes(votes, n_classes).unwrap();
        (WeakSignals::from_votes(votes).unwrap(), Truth::new(truth, n_classes).unwrap(), eases)
    }

    #[test]
    fn a_vote_of_a_rule_for_a_rare_class_is_right_more_often_than_not() {
        for (accuracy, n_classes, spread) in [(0.7, 2, 1.0), (0.92, 2, 1.0), (0.4, 5, 0.5), (0.7, 3, 0.0)] {
            let ability = mean_ability_of(accuracy, n_classes, spread);
            let mean: f64 = (eases(spread).iter().zip(log_levels()))
                .map(|(ease, log)| log.exp() / (1.0 + (n_classes - 1) as f64 * (-ability * ease).exp()))
                .sum();
            assert_abs_diff_eq!(mean, accuracy, epsilon = 1e-9);
        }
        // Eight rules for class 0, one for class 1, which hardly ever meet.
        let votes = Array2::from_shape_fn(
            (900, 9),
            |(row, signal)| if row % 9 == signal { i64::from(signal == 8) } else { -1 },
        );
        let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap();
        let labels = Glad::default().fit(&signals).unwrap().predict_proba(&signals).unwrap().argmax();
        assert!((0..900).all(|row| labels[row] == usize::from(row % 9 == 8)));
    }

    #[test]
    fn planted_abilities_and_difficulties_are_recovered() {
        for n_classes in [2, 4] {
            let abilities = [2.0, 1.5, 1.0, 1.0, 0.5, 0.0, -1.0];
            let (signals, truth, eases) = planted(5000, n_classes, &abilities, 1);
            let fitted = Glad::default().fit(&signals).unwrap();
            assert_eq!(fitted.stop, StopReason::Converged);
            for (found, expected) in fitted.abilities().iter().zip(abilities) {
                assert!((found - expected).abs() < 0.05 + 0.15 * expected.abs(), "{:?}", fitted.abilities());
            }
            let difficulties = fitted.difficulties(&signals).unwrap();
            let mean_of = |is_easy: bool| {
                let rows = difficulties.iter().zip(&eases).filter(|(_, ease)| (**ease > 0.0) == is_easy);
                let (sum, n) = rows.fold((0.0, 0.0), |(sum, n), (difficulty, _)| (sum + difficulty, n + 1.0));
                sum / n
            };
            assert!(mean_of(false) > mean_of(true) + 0.4, "{} and {}", mean_of(false), mean_of(true));
            let labels = fitted.predict_proba(&signals).unwrap();
            let chosen = labels.argmax();
            let confidence = chosen.iter().enumerate().map(|(row, &class)| labels.values()[[row, class]]).sum::<f64>();
            assert_abs_diff_eq!(truth.accuracy(&chosen), confidence / 5000.0, epsilon = 0.015);
        }
    }

    #[test]
    fn the_objective_never_falls() {
        for (seed, n_classes) in [(0, 2), (1, 3), (2, 5)] {
            let problem = Planted::new(500, n_classes, &[0.4, 0.5, 0.7, 0.8], 0.4, seed);
            let fitted = Glad { tolerance: 0.0, max_iterations: 60, ..Glad::default() }.fit(&problem.signals).unwrap();
            let rounds = fitted.log_posteriors;
            assert_eq!(rounds.len(), 60);
            assert!(rounds.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9), "{rounds:?}");
        }
    }

    #[test]
    fn a_row_is_labelled_as_the_formula_says() {
        let abilities = [1.0, 0.5, -0.2];
        let tables = Tables::new(&abilities, &[0.5, 0.3, 0.2], 0.7);
        let mut joint = tables.empty_joint();
        let log_likelihood = tables.joint(&[0, 2, ABSTAIN], &mut joint);
        let weights = [0.004_433_0, 0.054_005_6, 0.242_036_2, 0.399_050_3];
        let mut expected = Vec::new();
        for (level, weight) in (-3..=3).zip(weights.iter().chain(weights[..3].iter().rev())) {
            let beta = (0.7 * f64::from(level)).exp();
            let (first, second) = (beta.exp(), (0.5 * beta).exp());
            let both = weight / ((first + 2.0) * (second + 2.0));
            expected.extend([0.5 * first * both, 0.3 * both, 0.2 * second * both]);
        }
        let sum: f64 = expected.iter().sum();
        expected.iter_mut().for_each(|p| *p /= sum);
        assert_abs_diff_eq!(&joint[..], &expected[..], epsilon = 1e-6);
        assert_abs_diff_eq!(log_likelihood, sum.ln(), epsilon = 1e-5);
    }

    #[test]
    fn equally_difficult_rows_give_a_weighted_vote() {
        // One ability each: two labelers of accuracy 0.8 against one.
        let ability = ability_of(0.8, 2);
        let fitted = FittedGlad {
            shape: SignalShape { n_signals: 3, n_classes: 2 },
            class_balance: vec![0.5; 2],
            abilities: vec![ability; 3],
            difficulty_spread: 0.0,
            log_posteriors: Vec::new(),
            stop: StopReason::Converged,
        };
        let labels = fitted.predict_proba(&signals(array![[1, 1, 0]], 2)).unwrap();
        assert_abs_diff_eq!(labels.values()[[0, 1]], 0.8, epsilon = 1e-12);
    }

    #[test]
    fn disagreement_makes_a_row_difficult_and_its_label_less_certain() {
        let problem = Planted::unequal(3000, &[0.5, 0.5], 3);
        let fitted = Glad::default().fit(&problem.signals).unwrap();
        let rows = signals(array![[0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1, 1, 1], [-1; 10]], 2);
        let difficulties = fitted.difficulties(&rows).unwrap();
        assert!(difficulties[1] > difficulties[2] && difficulties[2] > difficulties[0], "{difficulties:?}");
        assert_abs_diff_eq!(difficulties[2], 0.0, epsilon = 1e-12);
    }

    #[test]
    fn rules_of_one_class_do_not_end_in_one_class() {
        let problem = Planted::keywords(2000, &[0, 0, 0, 1, 1], 0.4, 0.1, 5);
        let covered = problem.signals.covered_rows();
        let (signals, truth) = (problem.signals.select_rows(&covered), problem.truth.select_rows(&covered));
        let labels = Glad::default().fit(&signals).unwrap().predict_proba(&signals).unwrap();
        assert!(truth.accuracy(&labels.argmax()) > 0.7);
    }

    #[test]
    fn sparse_votes_do_not_end_in_one_class() {
        for n_classes in [2, 5] {
            let labelers = [(0.02, 0.7); 80];
            let problem = Planted::one_coin(1000, &vec![1.0; n_classes], &labelers, 4);
            let covered = problem.signals.covered_rows();
            let (signals, truth) = (problem.signals.select_rows(&covered), problem.truth.select_rows(&covered));
            let labels = Glad::default().fit(&signals).unwrap().predict_proba(&signals).unwrap().argmax();
            assert!(truth.accuracy(&labels) > 0.67, "{n_classes} classes: {}", truth.accuracy(&labels));
        }
    }

    #[test]
    fn bad_settings_and_empty_votes_are_errors() {
        let votes = signals(array![[0, 1], [1, 1]], 2);
        let bad = |change: fn(&mut Glad)| {
            let mut model = Glad::default();
            change(&mut model);
            model.fit(&votes).unwrap_err().to_string()
        };
        assert!(bad(|model| model.max_iterations = 0).starts_with("max_iterations"));
        assert!(bad(|model| model.tolerance = f64::NAN).starts_with("tolerance"));
        assert!(bad(|model| model.ability_spread = 0.0).starts_with("ability_spread"));
        assert!(bad(|model| model.difficulty_spread = 11.0).starts_with("difficulty_spread"));
        assert!(bad(|model| model.class_balance = ClassBalance::Given(vec![1.0])).starts_with("class_balance"));
        let error = Glad::default().fit(&signals(array![[-1, -1]], 2)).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
