//! Data programming: labelers that are right with a probability of their own, independent given the class.
//!
//! ```text
//! P(votes of a row) = Σ over c of π(c) ∏ over j of   β[j] α[j]               if j votes c
//!                                                    β[j] (1 − α[j]) / (k − 1)  if j votes otherwise
//!                                                    1 − β[j]                if j abstains
//! P(Y = c | votes)  ∝ π(c) exp(Σ over j that vote c of ln(α[j] (k − 1) / (1 − α[j])))
//! ```
//!
//! [`Coverage::Separate`]: the coverage β[j] is how often j votes; it separates from the rest, and the accuracies α come
//! from exact expectation maximisation.
//!
//! [`Coverage::Coupled`]: one weight w[j] for both, as in the first public tool, which had no factors for abstentions:
//!
//! ```text
//! P(vote of j | Y) = exp(w[j] φ) / (exp(w[j]) + (k − 1) exp(−w[j]) + 1),   φ = 1 agrees with Y, −1 disagrees, 0 abstains
//! maximise  mean ln P(votes of a row) − ½ regularization Σ u[j]²,          w[j] = 1 + u[j]
//! ```
//!
//! That tool followed sampled gradients; here they are exact. With two classes a labeler's coverage is then at least two
//! thirds, which misfits rules that seldom speak.
//!
//! Both forms hold that a labeler errs alike in all classes, and that abstentions say nothing of the class. By default the first form has an
//! accuracy for each class (`class_coins.rs`) where the votes say that labelers do not. Rules that
//! vote for one class only break this: their votes fit best if all rows are of one class, and the accuracies may run there.
//!
//! Deviation: by default accuracies of such rules are not learned (`one_class_labelers.rs`), and those of the others are drawn towards 0.7 as by 20
//! votes. `prior_votes: 0` is the published form.
//!
//! A. Ratner, C. De Sa, S. Wu, D. Selsam and C. Ré, *Data programming: creating large training sets, quickly*, 2016.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::label_models::class_coins::{ClassCoins, ClassCoinsFit, ClassWeights};
use crate::label_models::one_coin::{OneCoin, OneCoinFit, VoteWeights};
use crate::label_models::tempering::Tempering;
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::numerics::{Lbfgs, normalize_logs};
use crate::rows::SoftLabels;
use crate::settings::{check_at_least_one, check_not_negative};
use crate::votes::{CountedVotes, VotePatterns, WeakSignals, cast_votes};
use crate::{Result, StopReason};

/// The weight that a labeler has before anything is learned, in the coupled form.
const FIRST_WEIGHT: f64 = 1.0;
/// Without regularization a weight may grow without end; its accuracy stays below one by this much.
const CERTAINTY_MARGIN: f64 = 1e-9;

/// How a labeler's coverage enters the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coverage {
    /// It is a parameter of its own, and says nothing of the accuracy.
    #[default]
    Separate,
    /// One weight stands for accuracy and coverage, as in the first public tool: who votes often is held to be right
    /// often.
    Coupled,
}

/// Whether labelers are right as often in every class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accuracies {
    /// One accuracy for each labeler; or one for each class, if these explain the votes so much better that Schwarz's criterion prefers them.
    #[default]
    Chosen,
    /// One accuracy for each labeler, as published.
    PerLabeler,
    /// One accuracy for each labeler and class.
    PerClass,
}

/// Data programming with labelers that are independent given the class. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{DataProgramming, LabelModel, FittedLabelModel};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// // Labelers 0 and 1 always agree, labeler 2 is alone half of the time.
/// let votes = array![[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, -1, 1]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let labels = DataProgramming::default().fit(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.argmax(), [0, 1, 0, 1, 0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataProgramming {
    /// How coverage enters the model. Default: separate.
    pub coverage: Coverage,
    /// Whether labelers are right as often in every class. Not in the coupled form. Default: chosen by the votes; published: per labeler.
    pub accuracies: Accuracies,
    /// So many votes of each labeler are taken to be right 7 times in 10, and all votes of labelers that vote for one class only. With 0, as
    /// published, these learn as the others do, and may draw all rows to their class. Not in the coupled form. Default: 20.
    pub prior_votes: f64,
    /// How common each class is. Default: estimated.
    ///
    /// The estimate is the one that expectation maximisation learns together with the accuracies, unless the votes say
    /// that labelers err more often in one class than in another: learning it in this model, which knows of no such
    /// labelers, would then spoil both. See [`ClassBalance`].
    pub class_balance: ClassBalance,
    /// The most rounds of expectation and maximisation, or steps along the gradient. Default: 1000.
    pub max_iterations: usize,
    /// It stops when no parameter changes by as much, or no entry of the gradient is larger. Default: 1e-8.
    pub tolerance: f64,
    /// The pull of the weights towards one, in the coupled form only. Default: 0.1.
    pub regularization: f64,
    /// Whether labels are made less sure where the votes show that labelers err together. Default: yes; published: no.
    pub tempered: bool,
}

impl Default for DataProgramming {
    fn default() -> Self {
        Self {
            coverage: Coverage::default(),
            accuracies: Accuracies::default(),
            prior_votes: 20.0,
            class_balance: ClassBalance::default(),
            max_iterations: 1000,
            tolerance: 1e-8,
            regularization: 0.1,
            tempered: true,
        }
    }
}

impl DataProgramming {
    fn check(&self, n_classes: usize) -> Result<()> {
        check_at_least_one(&[("max_iterations", self.max_iterations)])?;
        check_not_negative(&[("tolerance", self.tolerance), ("regularization", self.regularization)])?;
        check_not_negative(&[("prior_votes", self.prior_votes)])?;
        self.class_balance.check(n_classes)
    }

    /// The accuracies of each class, if they are wanted: always, or where they are worth it.
    fn fit_classes(
        &self,
        patterns: &VotePatterns,
        shape: SignalShape,
        start: &OneCoin,
        log_likelihood: f64,
    ) -> Option<(ClassCoins, Vec<f64>, StopReason)> {
        if self.coverage == Coverage::Coupled || self.accuracies == Accuracies::PerLabeler {
            return None;
        }
        let n_classes_voted_for = patterns.n_classes_voted_for(shape.n_classes);
        let learns: Vec<bool> = n_classes_voted_for.iter().map(|&n| n > 1 || self.prior_votes == 0.0).collect();
        let Self { prior_votes, max_iterations, tolerance, .. } = *self;
        let fit = ClassCoinsFit { patterns, shape, start, learns: &learns, prior_votes, max_iterations, tolerance };
        let fitted = fit.run();
        let gain = fitted.1.last().copied().unwrap_or(log_likelihood) - log_likelihood;
        (self.accuracies == Accuracies::PerClass || fit.is_worth(gain)).then_some(fitted)
    }

    fn fit_coupled(
        &self,
        patterns: &VotePatterns,
        shape: SignalShape,
        class_balance: Vec<f64>,
    ) -> (OneCoin, Vec<f64>, StopReason) {
        let regularization = self.regularization;
        let objective = Coupled { patterns, shape, class_balance, regularization };
        let (max_iterations, tolerance) = (self.max_iterations, self.tolerance);
        let minimizer = Lbfgs { max_iterations, tolerance, ..Lbfgs::default() };
        let start = vec![0.0; shape.n_signals];
        let minimum = minimizer.minimize(start, |shifts, gradient| {
            let value = objective.value(shifts, gradient);
            gradient.iter_mut().for_each(|g| *g = -*g);
            -value
        });
        let penalty = 0.5 * regularization * minimum.point.iter().map(|u| u * u).sum::<f64>();
        let log_likelihood = (penalty - minimum.value) * patterns.n_rows();
        (objective.model(&minimum.point), vec![log_likelihood], minimum.stop)
    }
}

impl LabelModel for DataProgramming {
    type Fitted = FittedDataProgramming;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedDataProgramming> {
        let (shape, patterns) = (counted.shape(), &counted.patterns);
        self.check(shape.n_classes)?;
        counted.check_any_vote()?;
        let balance = self.class_balance.resolve_counts(counted)?;
        let coverages = patterns.coverages();
        let (model, mut log_likelihoods, mut stop) = match self.coverage {
            Coverage::Separate => {
                let Self { prior_votes, max_iterations, tolerance, .. } = *self;
                let class_balance = Some(&balance[..]);
                OneCoinFit { patterns, shape, class_balance, prior_votes, max_iterations, tolerance }.run()
            }
            Coverage::Coupled => self.fit_coupled(patterns, shape, balance),
        };
        let last = log_likelihoods.last().copied().unwrap_or(f64::NEG_INFINITY);
        let of_classes = self.fit_classes(patterns, shape, &model, last).map(|(of_classes, rounds, end)| {
            log_likelihoods.extend(rounds);
            stop = end;
            of_classes
        });
        let weights = Weights::of(&model, of_classes.as_ref());
        let label = |_: usize, votes: &[u8], posterior: &mut [f64]| weights.posterior(votes, posterior);
        let tempering = if self.tempered { Tempering::learned(patterns, shape, label) } else { Tempering::default() };
        Ok(FittedDataProgramming { shape, model, of_classes, tempering, coverages, log_likelihoods, stop })
    }

    fn published(self) -> Self {
        Self { accuracies: Accuracies::PerLabeler, prior_votes: 0.0, tempered: false, ..self }
    }

    fn class_balance(&self) -> Option<&ClassBalance> {
        Some(&self.class_balance)
    }
}

/// Fitted data programming.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedDataProgramming {
    shape: SignalShape,
    model: OneCoin,
    /// Accuracies for each class, if they were chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_classes: Option<ClassCoins>,
    #[serde(default, skip_serializing_if = "Tempering::is_none")]
    tempering: Tempering,
    /// How often each labeler votes, `[n_signals]`.
    pub coverages: Vec<f64>,
    /// The log-likelihood at the beginning of each round: of the votes, given who votes. With coupled coverage: one value,
    /// that of votes and abstentions at the end.
    pub log_likelihoods: Vec<f64>,
    /// Why the fit ended.
    pub stop: StopReason,
}

impl FittedDataProgramming {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> &[f64] {
        &self.model.class_balance
    }

    /// How often each labeler is right where it votes, `[n_signals]`, whatever the class.
    pub fn accuracies(&self) -> &[f64] {
        &self.model.accuracies
    }

    /// How often each labeler is right in each class where it votes, `[n_signals, n_classes]`, if that was learned.
    pub fn accuracies_in_classes(&self) -> Option<ArrayView2<'_, f64>> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let of_classes = self.of_classes.as_ref()?;
        ArrayView2::from_shape((n_signals, n_classes), &of_classes.accuracies).ok()
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        self.tempering.check()?;
        self.shape.check_list("class_balance", self.model.class_balance.len(), &[n_classes])?;
        self.shape.check_list("accuracies", self.model.accuracies.len(), &[n_signals])?;
        if let Some(of_classes) = &self.of_classes {
            self.shape.check_list("of_classes", of_classes.accuracies.len(), &[n_signals, n_classes])?;
        }
        self.shape.check_list("coverages", self.coverages.len(), &[n_signals])
    }
}

impl FittedLabelModel for FittedDataProgramming {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let weights = Weights::of(&self.model, self.of_classes.as_ref());
        self.shape.label_votes(signals, |votes, posterior| {
            weights.posterior(votes, posterior);
            self.tempering.apply(votes, posterior);
        })
    }
}

/// With one accuracy for each labeler, or one for each class too.
enum Weights {
    Alike(VoteWeights),
    OfClasses(ClassWeights),
}

impl Weights {
    fn of(model: &OneCoin, of_classes: Option<&ClassCoins>) -> Self {
        match of_classes {
            Some(of_classes) => Self::OfClasses(of_classes.weights(&model.class_balance)),
            None => Self::Alike(model.weights()),
        }
    }

    /// Writes P(Y | votes).
    fn posterior(&self, votes: &[u8], posterior: &mut [f64]) {
        match self {
            Self::Alike(weights) => weights.posterior(votes, posterior),
            Self::OfClasses(weights) => weights.posterior(votes, posterior),
        };
    }
}

/// The objective of the coupled form as a function of the shifts u.
struct Coupled<'a> {
    patterns: &'a VotePatterns,
    shape: SignalShape,
    class_balance: Vec<f64>,
    regularization: f64,
}

impl Coupled<'_> {
    /// Given that a labeler votes, a weight w is the accuracy exp(w) / (exp(w) + (k − 1) exp(−w)).
    fn model(&self, shifts: &[f64]) -> OneCoin {
        let n_wrong = (self.shape.n_classes - 1) as f64;
        let accuracy = |u: &f64| 1.0 / (1.0 + n_wrong * (-2.0 * (FIRST_WEIGHT + u)).exp());
        let in_range = |a: f64| a.clamp(CERTAINTY_MARGIN, 1.0 - CERTAINTY_MARGIN);
        OneCoin {
            class_balance: self.class_balance.clone(),
            accuracies: shifts.iter().map(|u| in_range(accuracy(u))).collect(),
        }
    }

    /// The mean log-likelihood less the penalty; writes its gradient.
    fn value(&self, shifts: &[f64], gradient: &mut [f64]) -> f64 {
        let n_rows = self.patterns.n_rows();
        let mut sums = self.sums(shifts);
        let mut value = sums.pop().expect("the last sum is the log-likelihood") / n_rows;
        for ((&shift, agreement), gradient) in shifts.iter().zip(sums).zip(gradient) {
            let (log_sum, expected) = self.answers(FIRST_WEIGHT + shift);
            value -= log_sum + 0.5 * self.regularization * shift * shift;
            *gradient = agreement / n_rows - expected - self.regularization * shift;
        }
        value
    }

    /// ln(exp(w) + (k − 1) exp(−w) + 1) and its derivative, the mean of φ under the model.
    fn answers(&self, weight: f64) -> (f64, f64) {
        let n_wrong = (self.shape.n_classes - 1) as f64;
        let highest = weight.abs();
        let (right, wrong) = ((weight - highest).exp(), n_wrong * (-weight - highest).exp());
        let sum = right + wrong + (-highest).exp();
        (highest + sum.ln(), (right - wrong) / sum)
    }

    /// Σ over rows of E[φ[j] | votes] for each labeler, then of ln Σ over c of π(c) exp(Σ over j of w[j] φ[j]).
    fn sums(&self, shifts: &[f64]) -> Vec<f64> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let log_balance: Vec<f64> = self.class_balance.iter().map(|p| p.ln()).collect();
        self.patterns.sum(n_signals + 1, |patterns, sums| {
            let mut posterior = vec![0.0; n_classes];
            for (votes, count) in patterns {
                posterior.copy_from_slice(&log_balance);
                let mut all_disagree = 0.0;
                for (signal, class) in cast_votes(votes) {
                    all_disagree -= FIRST_WEIGHT + shifts[signal];
                    posterior[class] += 2.0 * (FIRST_WEIGHT + shifts[signal]);
                }
                sums[n_signals] += count * (all_disagree + normalize_logs(&mut posterior));
                for (signal, class) in cast_votes(votes) {
                    sums[signal] += count * (2.0 * posterior[class] - 1.0);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    use super::*;
    use crate::label_models::planted::{Planted, signals};
    use crate::votes::ABSTAIN;

    fn accuracy(model: &DataProgramming, problem: &Planted) -> f64 {
        let labels = model.fit(&problem.signals).unwrap().predict_proba(&problem.signals).unwrap();
        problem.truth.accuracy(&labels.argmax())
    }

    #[test]
    fn exact_populations_are_recovered() {
        for class_balance in [ClassBalance::Uniform, ClassBalance::Estimated] {
            let model = DataProgramming { class_balance, tolerance: 1e-11, ..DataProgramming::default().published() };
            let fitted = model.fit(&Planted::exact_population([18, 15, 12])).unwrap();
            assert_eq!(fitted.stop, StopReason::Converged);
            assert_abs_diff_eq!(fitted.accuracies(), &[0.9, 0.75, 0.6][..], epsilon = 1e-8);
            assert_abs_diff_eq!(fitted.class_balance(), &[0.5, 0.5][..], epsilon = 1e-8);
            assert_eq!(fitted.coverages, [1.0; 3]);
        }
    }

    #[test]
    fn equal_labelers_are_recovered_in_some_twenty_rounds() {
        let population = Planted::exact_population([16, 16, 16]);
        let model = DataProgramming { class_balance: ClassBalance::Uniform, ..DataProgramming::default().published() };
        let fitted = model.fit(&population).unwrap();
        assert_abs_diff_eq!(fitted.accuracies(), &[0.8; 3][..], epsilon = 1e-7);
        let n_rounds = fitted.log_likelihoods.len();
        assert!((15..30).contains(&n_rounds), "{n_rounds}");
        // Two labelers of accuracy 0.8 against one.
        let labels = fitted.predict_proba(&signals(array![[1, 1, 0]], 2)).unwrap();
        assert_abs_diff_eq!(labels.values()[[0, 1]], 0.8, epsilon = 1e-7);
    }

    #[test]
    fn the_likelihood_never_falls() {
        for (seed, n_classes) in [(0, 2), (1, 3), (2, 5)] {
            let problem = Planted::new(500, n_classes, &[0.4, 0.5, 0.7, 0.8], 0.4, seed);
            for class_balance in [ClassBalance::Uniform, ClassBalance::Estimated] {
                let model = DataProgramming { class_balance, ..DataProgramming::default().published() };
                let fitted = model.fit(&problem.signals).unwrap();
                let likelihoods = fitted.log_likelihoods;
                assert!(likelihoods.len() > 2);
                assert!(likelihoods.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9), "{seed}");
            }
        }
    }

    #[test]
    fn labelers_that_lean_to_a_class_get_accuracies_of_classes() {
        // Some lean to class 0, others to class 1.
        let leaning =
            |class: usize, seed| Planted::asymmetric(2000, &[0.5, 0.5], &[[0.95, 0.5], [0.5, 0.95]][class], 4, seed);
        let problem = leaning(0, 1);
        let fitted = DataProgramming::default().fit(&problem.signals).unwrap();
        let found = fitted.accuracies_in_classes().unwrap();
        found
            .rows()
            .into_iter()
            .for_each(|row| assert_abs_diff_eq!(&row.to_vec()[..], &[0.95, 0.5][..], epsilon = 0.08));
        let alike = DataProgramming { accuracies: Accuracies::PerLabeler, ..DataProgramming::default() };
        assert!(accuracy(&DataProgramming::default(), &problem) > accuracy(&alike, &problem) + 0.01);
        let other = leaning(1, 2);
        assert!(accuracy(&DataProgramming::default(), &other) > accuracy(&alike, &other) + 0.01);
        assert!(alike.fit(&problem.signals).unwrap().accuracies_in_classes().is_none());
        let saved = serde_json::to_string(&fitted).unwrap();
        assert_eq!(serde_json::from_str::<FittedDataProgramming>(&saved).unwrap(), fitted);
    }

    #[test]
    fn labelers_that_err_alike_keep_one_accuracy() {
        for seed in 0..5 {
            let problem = Planted::unequal(1000, &[0.65, 0.35], seed);
            assert!(DataProgramming::default().fit(&problem.signals).unwrap().accuracies_in_classes().is_none());
            let always = DataProgramming { accuracies: Accuracies::PerClass, ..DataProgramming::default() };
            assert!(always.fit(&problem.signals).unwrap().accuracies_in_classes().is_some());
        }
    }

    #[test]
    fn rules_of_one_class_do_not_end_in_one_class() {
        let problem = Planted::keywords(2000, &[0, 0, 0, 1, 1], 0.4, 0.1, 5);
        let published = DataProgramming::default().published();
        let labels = published.fit(&problem.signals).unwrap().predict_proba(&problem.signals).unwrap().argmax();
        assert!(problem.truth.accuracy(&labels) < 0.6);
        let covered = problem.signals.covered_rows();
        let (signals, truth) = (problem.signals.select_rows(&covered), problem.truth.select_rows(&covered));
        let fitted = DataProgramming::default().fit(&signals).unwrap();
        assert_abs_diff_eq!(fitted.accuracies(), &[0.7; 5][..], epsilon = 0.01);
        let found = truth.accuracy(&fitted.predict_proba(&signals).unwrap().argmax());
        assert!(found > 0.7, "{found}");
    }

    #[test]
    fn a_weighted_vote_of_several_classes_is_as_the_formula_says() {
        let model = OneCoin { class_balance: vec![0.5, 0.3, 0.2], accuracies: vec![0.7, 0.6, 0.5] };
        let mut posterior = [0.0; 3];
        let log_likelihood = model.weights().posterior(&[0, 2, ABSTAIN], &mut posterior);
        let joint = [0.5 * 0.7 * 0.2, 0.3 * 0.15 * 0.2, 0.2 * 0.15 * 0.6];
        let sum: f64 = joint.iter().sum();
        assert_abs_diff_eq!(&posterior[..], &joint.map(|p| p / sum)[..], epsilon = 1e-12);
        assert_abs_diff_eq!(log_likelihood, sum.ln(), epsilon = 1e-12);
    }

    #[test]
    fn unequal_classes_are_labelled_almost_as_well_as_with_known_parameters() {
        let problem = Planted::unequal(20_000, &[0.65, 0.35], 7);
        let best = problem.best_accuracy(&[0.65, 0.35]);
        let separate = accuracy(&DataProgramming::default(), &problem);
        assert!(separate > best - 0.004, "{separate}, best {best}");
        let coupled = DataProgramming { coverage: Coverage::Coupled, ..DataProgramming::default() };
        let coupled = accuracy(&coupled, &problem);
        // Its coverages are far from those of these labelers.
        assert!(coupled > best - 0.03, "{coupled}, best {best}");
    }

    #[test]
    fn rows_without_votes_get_the_class_balance() {
        let signals = signals(array![[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1], [-1, -1, -1]], 2);
        for coverage in [Coverage::Separate, Coverage::Coupled] {
            let class_balance = ClassBalance::Given(vec![0.7, 0.3]);
            let model = DataProgramming { coverage, class_balance, ..DataProgramming::default() };
            let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
            assert_abs_diff_eq!(labels.values()[[4, 0]], 0.7, epsilon = 1e-12);
        }
    }

    #[test]
    fn the_coupled_gradient_matches_finite_differences() {
        for n_classes in [2, 4] {
            let problem = Planted::new(200, n_classes, &[0.5, 0.8, 0.9], 0.3, 4);
            let patterns = VotePatterns::of(&problem.signals.votes());
            let shape = SignalShape::of(&problem.signals);
            let class_balance = (1..=n_classes).map(|c| c as f64 / 10.0).collect();
            let objective = Coupled { patterns: &patterns, shape, class_balance, regularization: 0.1 };
            let point = [0.3, -1.7, 0.9];
            let mut gradient = [0.0; 3];
            objective.value(&point, &mut gradient);
            for signal in 0..3 {
                let shifted = |by: f64| {
                    let mut point = point;
                    point[signal] += by;
                    objective.value(&point, &mut [0.0; 3])
                };
                let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                assert_abs_diff_eq!(gradient[signal], numeric, epsilon = 1e-8);
            }
        }
    }

    #[test]
    fn the_coupled_form_ties_accuracy_to_coverage() {
        // A labeler that votes everywhere, beside two of the same accuracy that vote seldom.
        let problem = Planted::one_coin(3000, &[0.5, 0.5], &[(1.0, 0.8), (0.3, 0.8), (0.3, 0.8)], 5);
        let model = DataProgramming {
            coverage: Coverage::Coupled,
            class_balance: ClassBalance::Uniform,
            ..DataProgramming::default()
        };
        let fitted = model.fit(&problem.signals).unwrap();
        assert_eq!(fitted.stop, StopReason::Converged);
        let accuracies = fitted.accuracies();
        assert!(accuracies[0] > accuracies[1] + 0.1, "{accuracies:?}");
        assert!(fitted.log_likelihoods.iter().all(|value| value.is_finite() && *value < 0.0));
    }

    #[test]
    fn extreme_votes_give_finite_labels() {
        let cases = [array![[0]], array![[1, 1, 1]], array![[0, -1], [0, -1]], array![[0, 0], [1, 1]]];
        for votes in cases {
            let signals = signals(votes, 2);
            for coverage in [Coverage::Separate, Coverage::Coupled] {
                let model = DataProgramming { coverage, regularization: 0.0, ..DataProgramming::default() };
                let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
                assert!(labels.values().iter().all(|p| p.is_finite()));
            }
        }
    }

    #[test]
    fn bad_settings_and_empty_votes_are_errors() {
        let votes = signals(array![[0, 1], [1, 1]], 2);
        let bad = |change: fn(&mut DataProgramming)| {
            let mut model = DataProgramming::default();
            change(&mut model);
            model.fit(&votes).unwrap_err().to_string()
        };
        assert!(bad(|model| model.max_iterations = 0).starts_with("max_iterations"));
        assert!(bad(|model| model.tolerance = f64::NAN).starts_with("tolerance"));
        assert!(bad(|model| model.regularization = -1.0).starts_with("regularization"));
        let zero = |model: &mut DataProgramming| {
            model.class_balance = ClassBalance::Given(vec![1.0, 0.0]);
        };
        assert!(bad(zero).starts_with("class_balance"));
        let error = DataProgramming::default().fit(&signals(array![[-1, -1]], 2)).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
