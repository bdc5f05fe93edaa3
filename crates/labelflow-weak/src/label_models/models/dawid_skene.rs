//! Dawid and Skene's model: each labeler has a confusion matrix of its own, found by expectation maximisation.
//!
//! ```text
//! model    P(Y = c) = π(c),   P(labeler j answers a | Y = c) = θ[j](c, a),   answers independent given Y
//! start    p[i](c) = share of row i's votes that are for c
//! M step   π(c) = mean of p[·](c) unless it is given,   θ[j](c, a) ∝ smoothing + Σ over rows where j answers a of p[i](c)
//! E step   p[i](c) ∝ π(c) ∏ over labelers of θ[j](c, answer of j on i)
//! ```
//!
//! It stops when π and θ each change by less than the tolerance (sum of absolute changes).
//!
//! A. P. Dawid and A. M. Skene, *Maximum likelihood estimation of observer error-rates using the EM algorithm*, 1979.

use std::borrow::Cow;

use ndarray::Array3;
use serde::{Deserialize, Serialize};

use crate::label_models::class_balance::balance_of_rules;
use crate::label_models::one_class_labelers::{OneClassLabeler, PRIOR_ACCURACY, one_class_labelers};
use crate::label_models::tempering::Tempering;
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::numerics::normalize_logs;
use crate::rows::SoftLabels;
use crate::settings::{check_at_least_one, check_not_negative};
use crate::stop_reason::until_settled;
use crate::votes::{CountedVotes, VotePatterns, WeakSignals, vote_shares};
use crate::{Result, StopReason};

/// What an abstention says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Abstentions {
    /// Nothing. Votes of labelers that only ever vote for one class, which cannot tell how good they are, count as right 7
    /// times in 10, or not at all if other votes on their rows are no more often for that class than elsewhere. Without
    /// other labelers the class balance is not learned, but estimated as said at [`ClassBalance`].
    #[default]
    Silence,
    /// Nothing, except for labelers that only ever vote for one class. Of those the votes alone say nothing, since
    /// "given that it votes, it votes for class 1" holds whatever the class is; when they keep silent is all that tells
    /// the classes apart. Keyword rules are of this kind.
    Automatic,
    /// Nothing: votes are missing at random. Labelers that only ever vote for one class are not heard.
    Ignored,
    /// An abstention is one more answer, for every labeler.
    Answer,
}

/// Dawid and Skene's model. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{DawidSkene, LabelModel, FittedLabelModel};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// // Labeler 2 always says the opposite of the other two; the model learns to read it.
/// let votes = array![[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 0]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let labels = DawidSkene::default().fit(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.argmax(), [0, 1, 0, 1, 1]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DawidSkene {
    /// The most rounds of expectation and maximisation. Default: 10,000.
    pub max_iterations: usize,
    /// The sum of absolute changes of the parameters below which it stops. Default: 1e-5.
    pub tolerance: f64,
    /// Added to each count of answers, so that an answer not seen in the fit is unlikely but not impossible. Default:
    /// 0.01.
    pub smoothing: f64,
    /// What an abstention says. Default: silence.
    pub abstentions: Abstentions,
    /// So many votes of each labeler in each class are taken to be right as often as all of its votes, and so many of all its votes to be right 7
    /// times in 10. Not where abstentions are answers. Default: 20; published: 0.
    pub prior_votes: f64,
    /// How common each class is. Default: estimated, which here means learned by the model itself, in each M step.
    pub class_balance: ClassBalance,
    /// Whether labels are made less sure where the votes show that labelers err together. Default: yes; published: no.
    pub tempered: bool,
}

impl Default for DawidSkene {
    fn default() -> Self {
        Self {
            max_iterations: 10_000,
            tolerance: 1e-5,
            smoothing: 0.01,
            abstentions: Abstentions::default(),
            prior_votes: 20.0,
            class_balance: ClassBalance::default(),
            tempered: true,
        }
    }
}

impl DawidSkene {
    fn check(&self, n_classes: usize) -> Result<()> {
        check_at_least_one(&[("max_iterations", self.max_iterations)])?;
        check_not_negative(&[
            ("tolerance", self.tolerance),
            ("smoothing", self.smoothing),
            ("prior_votes", self.prior_votes),
        ])?;
        self.class_balance.check(n_classes)
    }

    /// How the answers of each labeler are read.
    fn readings(&self, patterns: &VotePatterns, shape: SignalShape) -> Vec<Reading> {
        match self.abstentions {
            Abstentions::Ignored => vec![Reading::GivenVote; shape.n_signals],
            Abstentions::Answer => vec![Reading::AllAnswers; shape.n_signals],
            Abstentions::Automatic => {
                let voted_for = patterns.n_classes_voted_for(shape.n_classes);
                let reading = |n| if n == 1 { Reading::AllAnswers } else { Reading::GivenVote };
                voted_for.into_iter().map(reading).collect()
            }
            Abstentions::Silence => {
                let of_one_class = one_class_labelers(patterns, shape).into_iter();
                of_one_class.map(|labeler| labeler.map_or(Reading::GivenVote, Reading::OneClass)).collect()
            }
        }
    }

    /// The fit to patterns that have a vote.
    pub(crate) fn fit_patterns(&self, patterns: &VotePatterns, shape: SignalShape) -> Result<FittedDawidSkene> {
        self.check(shape.n_classes)?;
        let readings = self.readings(patterns, shape);
        let patterns = match readings.contains(&Reading::AllAnswers) {
            true => Cow::Borrowed(patterns),
            // Rows without votes would only copy the class balance into its own estimate: the fixed point is the same
            // without them, and nearer.
            false => patterns.without_silence(),
        };
        let none_learns = || patterns.n_classes_voted_for(shape.n_classes).into_iter().all(|n| n <= 1);
        let cannot_learn = self.abstentions == Abstentions::Silence && none_learns();
        let given = self.class_balance.fixed(shape.n_classes);
        let class_balance = given.or_else(|| cannot_learn.then(|| balance_of_rules(&patterns, shape)));
        Ok(Fit { settings: self, shape, readings, class_balance, patterns: &patterns }.run())
    }
}

impl LabelModel for DawidSkene {
    type Fitted = FittedDawidSkene;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedDawidSkene> {
        counted.check_any_vote()?;
        self.fit_patterns(&counted.patterns, counted.shape())
    }

    fn published(self) -> Self {
        Self { abstentions: Abstentions::Automatic, prior_votes: 0.0, tempered: false, ..self }
    }

    /// It learns the class balance together with the accuracies.
    fn learns_accuracies(&self) -> bool {
        true
    }
}

/// A fitted model of Dawid and Skene.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedDawidSkene {
    shape: SignalShape,
    /// π, `[n_classes]`.
    class_balance: Vec<f64>,
    /// θ, `[n_signals, n_classes + 1 answers, n_classes]`: the classes lie side by side because every vote reads them
    /// all. The last answer is the abstention; one that says nothing has probability 1 whatever the class.
    answers: Vec<f64>,
    /// Whether an abstention of each labeler is an answer, `[n_signals]`.
    abstention_answers: Vec<bool>,
    #[serde(default, skip_serializing_if = "Tempering::is_none")]
    tempering: Tempering,
    /// The log-likelihood of the votes at the beginning of each round.
    pub log_likelihoods: Vec<f64>,
    /// Why the fit ended.
    pub stop: StopReason,
}

impl FittedDawidSkene {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> &[f64] {
        &self.class_balance
    }

    /// The probability of each answer given the true class, `[n_signals, n_classes, n_classes + 1]`. The last answer
    /// is the abstention, with probability 0 where abstentions say nothing: the other answers are then given that it
    /// votes.
    pub fn confusions(&self) -> Array3<f64> {
        let n_classes = self.shape.n_classes;
        let shape = (self.shape.n_signals, n_classes, n_classes + 1);
        Array3::from_shape_fn(shape, |(signal, class, answer)| {
            if answer == n_classes && !self.abstention_answers[signal] {
                0.0
            } else {
                self.answers[(signal * (n_classes + 1) + answer) * n_classes + class]
            }
        })
    }

    /// What it says of a row, by the row's votes.
    pub(crate) fn log_parameters(&self) -> LogParameters {
        LogParameters::new(&self.class_balance, &self.answers)
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let check = |list, found, dimensions: &[usize]| self.shape.check_list(list, found, dimensions);
        check("class_balance", self.class_balance.len(), &[n_classes])?;
        check("answers", self.answers.len(), &[n_signals, n_classes + 1, n_classes])?;
        self.tempering.check()?;
        check("abstention_answers", self.abstention_answers.len(), &[n_signals])
    }
}

impl FittedLabelModel for FittedDawidSkene {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        self.log_parameters().labels(self.shape, self.tempering, signals)
    }
}

/// Logarithms of π and θ.
pub(crate) struct LogParameters {
    class_balance: Vec<f64>,
    answers: Vec<f64>,
}

impl LogParameters {
    pub(crate) fn new(class_balance: &[f64], answers: &[f64]) -> Self {
        let log = |values: &[f64]| values.iter().map(|p| p.ln()).collect();
        Self { class_balance: log(class_balance), answers: log(answers) }
    }

    /// P(Y | votes) of each row, tempered.
    pub(crate) fn labels(&self, shape: SignalShape, tempering: Tempering, signals: &WeakSignals) -> Result<SoftLabels> {
        shape.label_votes(signals, |votes, posterior| {
            self.posterior(votes, posterior);
            tempering.apply(votes, posterior);
        })
    }

    /// What the votes of a fit show of errors that labelers have in common.
    pub(crate) fn tempering(&self, patterns: &VotePatterns, shape: SignalShape) -> Tempering {
        Tempering::learned(patterns, shape, |_, votes, posterior| {
            self.posterior(votes, posterior);
        })
    }

    /// Writes P(Y | votes) and returns log P(votes).
    pub(crate) fn posterior(&self, votes: &[u8], posterior: &mut [f64]) -> f64 {
        let n_classes = posterior.len();
        posterior.copy_from_slice(&self.class_balance);
        for (&vote, answers) in votes.iter().zip(self.answers.chunks_exact((n_classes + 1) * n_classes)) {
            let answer = usize::from(vote).min(n_classes);
            let log_given_class = &answers[answer * n_classes..][..n_classes];
            posterior.iter_mut().zip(log_given_class).for_each(|(sum, log)| *sum += log);
        }
        let highest = posterior.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if highest == f64::NEG_INFINITY {
            // Votes that the fit without smoothing holds impossible say nothing.
            posterior.iter_mut().zip(&self.class_balance).for_each(|(p, log)| *p = log.exp());
            return highest;
        }
        normalize_logs(posterior)
    }
}

/// Expectation maximisation over the distinct rows of votes.
struct Fit<'a> {
    settings: &'a DawidSkene,
    shape: SignalShape,
    readings: Vec<Reading>,
    /// π where it is not learned.
    class_balance: Option<Vec<f64>>,
    patterns: &'a VotePatterns,
}

/// How the answers of one labeler are read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reading {
    /// Its votes, given that it votes.
    GivenVote,
    /// Its votes, which are taken to be right as often as those of labelers of one class are.
    OneClass(OneClassLabeler),
    /// Its votes and abstentions alike.
    AllAnswers,
}

impl Fit<'_> {
    fn run(&self) -> FittedDawidSkene {
        // The starting posterior has no likelihood.
        let shares = |votes: &[u8], posterior: &mut [f64]| {
            vote_shares(votes, posterior);
            0.0
        };
        let (mut class_balance, mut answers) = self.maximize(&self.expected_counts(shares));
        let DawidSkene { max_iterations, tolerance, .. } = *self.settings;
        let (log_likelihoods, stop) = until_settled(max_iterations, tolerance, || {
            let logs = LogParameters::new(&class_balance, &answers);
            let counts = self.expected_counts(|votes, posterior| logs.posterior(votes, posterior));
            let (new_balance, new_answers) = self.maximize(&counts);
            let change = distance(&new_balance, &class_balance).max(distance(&new_answers, &answers));
            (class_balance, answers) = (new_balance, new_answers);
            (counts[counts.len() - 1], change)
        });
        let logs = LogParameters::new(&class_balance, &answers);
        let tempering =
            if self.settings.tempered { logs.tempering(self.patterns, self.shape) } else { Tempering::default() };
        FittedDawidSkene {
            shape: self.shape,
            class_balance,
            answers,
            tempering,
            abstention_answers: self.readings.iter().map(|reading| *reading == Reading::AllAnswers).collect(),
            log_likelihoods,
            stop,
        }
    }

    /// Posterior-weighted counts of answers `[n_signals, n_answers, n_classes]`, then of classes `[n_classes]`, then
    /// the sum of what `posterior` returns. Never more than one row's posterior is kept.
    fn expected_counts(&self, posterior: impl Fn(&[u8], &mut [f64]) -> f64 + Sync) -> Vec<f64> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let n_counts = n_signals * (n_classes + 1) * n_classes;
        self.patterns.sum(n_counts + n_classes + 1, |patterns, sums| {
            let mut weights = vec![0.0; n_classes];
            for (votes, count) in patterns {
                let value = posterior(votes, &mut weights);
                weights.iter_mut().for_each(|weight| *weight *= count);
                let (answers, totals) = sums.split_at_mut(n_counts);
                add_answers(votes, &weights, answers);
                totals.iter_mut().zip(&weights).for_each(|(total, weight)| *total += weight);
                totals[n_classes] += count * value;
            }
        })
    }

    /// π and θ from expected counts.
    fn maximize(&self, counts: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let SignalShape { n_signals, n_classes } = self.shape;
        let (answers, totals) = counts.split_at(n_signals * (n_classes + 1) * n_classes);
        let class_balance = self.class_balance.clone().unwrap_or_else(|| {
            let n_rows: f64 = totals[..n_classes].iter().sum();
            totals[..n_classes].iter().map(|total| total / n_rows).collect()
        });
        let mut probabilities = answers.to_vec();
        let per_signal = probabilities.chunks_exact_mut((n_classes + 1) * n_classes);
        for (answers, reading) in per_signal.zip(&self.readings) {
            let (votes, abstentions) = answers.split_at_mut(n_classes * n_classes);
            match reading {
                Reading::AllAnswers => (0..n_classes).for_each(|class| self.normalize_answers(answers, class)),
                Reading::GivenVote => {
                    self.add_prior_votes(votes);
                    (0..n_classes).for_each(|class| self.normalize_answers(votes, class));
                    abstentions.fill(1.0);
                }
                Reading::OneClass(labeler) => {
                    let accuracy = labeler.accuracy(&class_balance);
                    let each = votes.iter_mut().enumerate();
                    let is_right = |place: usize| place / n_classes == place % n_classes;
                    each.for_each(|(place, p)| *p = share(accuracy, n_classes, is_right(place)));
                    abstentions.fill(1.0);
                }
            }
        }
        (class_balance, probabilities)
    }

    /// Adds to each class's counts of votes, `[vote, class]`, votes that are right as often as the labeler.
    fn add_prior_votes(&self, counts: &mut [f64]) {
        let (n_classes, prior) = (self.shape.n_classes, self.settings.prior_votes);
        let right: f64 = counts.iter().step_by(n_classes + 1).sum();
        let total: f64 = counts.iter().sum();
        let accuracy = if prior > 0.0 { (right + prior * PRIOR_ACCURACY) / (total + prior) } else { 0.0 };
        for (place, count) in counts.iter_mut().enumerate() {
            *count += prior * share(accuracy, n_classes, place / n_classes == place % n_classes);
        }
    }

    /// Scales one class's smoothed counts of answers to probabilities; without any count they are equal.
    fn normalize_answers(&self, answers: &mut [f64], class: usize) {
        let (n_classes, smoothing) = (self.shape.n_classes, self.settings.smoothing);
        let n_answers = answers.len() / n_classes;
        let counts = || (0..n_answers).map(|answer| answer * n_classes + class);
        let total: f64 = counts().map(|index| answers[index] + smoothing).sum();
        for index in counts() {
            answers[index] = if total > 0.0 { (answers[index] + smoothing) / total } else { 1.0 / n_answers as f64 };
        }
    }
}

/// The share of votes for a class that is right, or one that is wrong, of a labeler of this accuracy.
fn share(accuracy: f64, n_classes: usize, is_right: bool) -> f64 {
    if is_right { accuracy } else { (1.0 - accuracy) / (n_classes - 1) as f64 }
}

/// Adds one row's class weights to the counts of the answers it holds.
fn add_answers(votes: &[u8], weights: &[f64], counts: &mut [f64]) {
    let n_classes = weights.len();
    for (&vote, counts) in votes.iter().zip(counts.chunks_exact_mut((n_classes + 1) * n_classes)) {
        let answer = usize::from(vote).min(n_classes);
        let counts = &mut counts[answer * n_classes..][..n_classes];
        counts.iter_mut().zip(weights).for_each(|(count, weight)| *count += weight);
    }
}

/// Sum of absolute differences.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, array};

    use super::*;
    use crate::label_models::planted::{Planted, assert_near};
    use crate::votes::Votes;

    fn signals(votes: Array2<i64>) -> WeakSignals {
        WeakSignals::from_votes(Votes::from_indices(votes.view(), None).unwrap()).unwrap()
    }

    #[test]
    fn an_exact_population_is_recovered() {
        let model = DawidSkene { smoothing: 0.0, tolerance: 1e-10, ..DawidSkene::default().published() };
        let fitted = model.fit(&Planted::exact_population([18, 15, 12])).unwrap();
        assert_eq!(fitted.stop, StopReason::Converged);
        assert_abs_diff_eq!(fitted.class_balance(), &[0.5, 0.5][..], epsilon = 1e-6);
        for (signal, accuracy) in [0.9, 0.75, 0.6].into_iter().enumerate() {
            let expected = array![[accuracy, 1.0 - accuracy, 0.0], [1.0 - accuracy, accuracy, 0.0]];
            let found = fitted.confusions();
            let found = found.index_axis(ndarray::Axis(0), signal);
            assert_near(found, &expected, 1e-6);
        }
    }

    #[test]
    fn the_likelihood_never_falls() {
        let model =
            DawidSkene { smoothing: 0.0, max_iterations: 100, tolerance: 0.0, ..DawidSkene::default().published() };
        for seed in 0..5 {
            let problem = Planted::new(500, 3, &[0.4, 0.5, 0.7, 0.8], 0.4, seed);
            let fitted = model.fit(&problem.signals).unwrap();
            assert_eq!(fitted.stop, StopReason::MaxIterations);
            let likelihoods = fitted.log_likelihoods;
            assert!(likelihoods.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9), "seed {seed}");
        }
    }

    #[test]
    fn three_labelers_of_accuracy_08_give_two_against_one_08() {
        let answers = [0.8, 0.2, 0.2, 0.8, 1.0, 1.0].repeat(3);
        let logs = LogParameters::new(&[0.5, 0.5], &answers);
        let mut posterior = [0.0; 2];
        let log_likelihood = logs.posterior(&[1, 1, 0], &mut posterior);
        assert_abs_diff_eq!(posterior[1], 0.8, epsilon = 1e-12);
        // P(1, 1, 0) = ½ (0.8·0.8·0.2 + 0.2·0.2·0.8)
        assert_abs_diff_eq!(log_likelihood, 0.08f64.ln(), epsilon = 1e-12);
    }

    #[test]
    fn unanimous_votes_stay_unanimous() {
        let signals = signals(array![[0, 0], [2, 2], [1, 1], [2, 2], [0, -1]]);
        for smoothing in [0.0, 0.01] {
            let model = DawidSkene { smoothing, ..DawidSkene::default() };
            let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
            assert_eq!(labels.argmax(), [0, 2, 1, 2, 0]);
        }
    }

    #[test]
    fn rows_without_votes_get_the_class_balance() {
        let signals = signals(array![[0, 0], [0, 0], [0, 0], [1, 1], [-1, -1]]);
        let fitted = DawidSkene::default().published().fit(&signals).unwrap();
        let labels = fitted.predict_proba(&signals).unwrap();
        assert_abs_diff_eq!(labels.values()[[4, 0]], 0.75, epsilon = 1e-3);
    }

    #[test]
    fn a_fixed_class_balance_is_kept() {
        let signals = signals(array![[0, 0], [0, 0], [0, 0], [1, 1], [-1, -1]]);
        for (class_balance, expected) in
            [(ClassBalance::Uniform, [0.5, 0.5]), (ClassBalance::Given(vec![0.3, 0.7]), [0.3, 0.7])]
        {
            let model = DawidSkene { class_balance, ..DawidSkene::default() };
            let fitted = model.fit(&signals).unwrap();
            assert_eq!(fitted.class_balance(), expected);
            let labels = fitted.predict_proba(&signals).unwrap();
            assert_abs_diff_eq!(labels.values()[[4, 0]], expected[0], epsilon = 1e-12);
        }
    }

    #[test]
    fn votes_never_seen_in_the_fit_give_no_nan() {
        let model = DawidSkene { smoothing: 0.0, ..DawidSkene::default().published() };
        let fitted = model.fit(&signals(array![[0, 0], [1, 1]])).unwrap();
        let labels = fitted.predict_proba(&signals(array![[0, 1]])).unwrap();
        assert_eq!(labels.values(), array![[0.5, 0.5]]);
    }

    #[test]
    fn labelers_of_one_class_only_are_read_by_their_silence() {
        // Keyword rules: 0 and 1 speak for class 0, 2 and 3 for class 1, each on half of its class and 5 % of the
        // other.
        let problem = Planted::keywords(4000, &[0, 0, 1, 1], 0.5, 0.05, 3);
        let accuracy = |abstentions| {
            let model = DawidSkene { abstentions, ..DawidSkene::default() };
            let labels = model.fit(&problem.signals).unwrap().predict_proba(&problem.signals);
            problem.truth.accuracy(&labels.unwrap().argmax())
        };
        let [automatic, silence, ignored] =
            [Abstentions::Automatic, Abstentions::Silence, Abstentions::Ignored].map(accuracy);
        assert!(automatic > 0.8, "{automatic}");
        assert!(silence > 0.8, "{silence}");
        assert!(ignored < 0.6, "{ignored}");
    }

    #[test]
    fn many_labelers_are_fitted_through_the_hash_map() {
        let problem = Planted::new(2000, 4, &[0.5; 30], 0.5, 1);
        let fitted = DawidSkene::default().fit(&problem.signals).unwrap();
        let labels = fitted.predict_proba(&problem.signals).unwrap();
        let accuracy = problem.truth.accuracy(&labels.argmax());
        assert!(accuracy > 0.85, "{accuracy}");
    }

    #[test]
    fn bad_settings_and_empty_votes_are_errors() {
        let signals = signals(array![[0, 1], [1, 1]]);
        let bad = |change: fn(&mut DawidSkene)| {
            let mut model = DawidSkene::default();
            change(&mut model);
            model.fit(&signals).unwrap_err().to_string()
        };
        assert!(bad(|model| model.max_iterations = 0).starts_with("max_iterations"));
        assert!(bad(|model| model.tolerance = f64::NAN).starts_with("tolerance"));
        assert!(bad(|model| model.smoothing = -1.0).starts_with("smoothing"));
        let sums_to_08 = |model: &mut DawidSkene| {
            model.class_balance = ClassBalance::Given(vec![0.4, 0.4]);
        };
        assert!(bad(sums_to_08).starts_with("class_balance"));
        let silent = Votes::from_indices(array![[-1, -1]].view(), Some(2)).unwrap();
        let silent = WeakSignals::from_votes(silent).unwrap();
        let error = DawidSkene::default().fit(&silent).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
