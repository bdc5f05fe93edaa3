//! Snorkel's label model: MeTaL without dependencies, with Snorkel's settings and what it does after the descent.
//!
//! ```text
//! fit       the loss and the guess μ₀ of MeTaL, from scale · μ₀
//! clamp     μ between e and 1 − e,   e = min(0.01, 10^−⌈log₁₀ n⌉)
//! columns   among classes equally common (to 3 decimals), permuted so that Σ over j and y of μ[j·k + y][y] p(y) is largest
//! mirror    of μ and its mirror image the one above chance; with equally common classes the columns are above it already
//! weight    of labeler j: Σ over y of μ[j·k + y][y] p(y) / coverage(j), between 10⁻⁶ and 1
//! ```
//!
//! Deviation: Snorkel has no mirror. With classes that are not equally common it sometimes ends below chance, with labels
//! that are nearly all wrong; where it does not, the probabilities are the same.
//!
//! What is meant by Snorkel is version 0.10.0 of its Python package; `tools/golden_snorkel.py` compares with it.
//!
//! A. Ratner, S. H. Bach, H. Ehrenberg, J. Fries, S. Wu and C. Ré, *Snorkel: rapid training data creation with weak
//! supervision*, 2017.

use std::collections::BTreeMap;

use ndarray::{Array2, Array3};
use serde::{Deserialize, Serialize};

use crate::label_models::overlaps::{Descent, OverlapFit, Overlaps, VoteRates, check_descent, diverged, drawn_scale};
use crate::label_models::tempering::Tempering;
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::linear::LearningRateSchedule;
use crate::numerics::best_assignment;
use crate::rows::SoftLabels;
use crate::settings::check_not_negative;
use crate::votes::{CountedVotes, WeakSignals};
use crate::{Error, Result, ensure};

/// The largest margin of rates when none is given.
const MAX_MARGIN: f64 = 0.01;
/// The smallest weight of a labeler.
const MIN_WEIGHT: f64 = 1e-6;
/// A permutation must gain more than this, so that rounding moves no column.
const MIN_GAIN: f64 = 1e-12;

/// How often a labeler is guessed to be right when it votes. In files: a number, or a list with one per labeler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Precision {
    /// The same for all labelers.
    Same(f64),
    /// One for each labeler.
    PerLabeler(Vec<f64>),
}

impl Precision {
    /// One number per labeler.
    fn resolve(&self, n_signals: usize) -> Result<Vec<f64>> {
        let precisions = match self {
            Self::Same(precision) => vec![*precision; n_signals],
            Self::PerLabeler(precisions) => precisions.clone(),
        };
        ensure(precisions.len() == n_signals, || {
            Error::config("precision", format!("one number, or one for each of {n_signals} labelers"), precisions.len())
        })?;
        match precisions.iter().find(|&&precision| !(precision > 0.0 && precision <= 1.0)) {
            None => Ok(precisions),
            Some(bad) => Err(Error::config("precision", "numbers above 0, at most 1", bad)),
        }
    }
}

/// Snorkel's label model. Probabilities are rounded to votes first. It needs three labelers.
///
/// The defaults are Snorkel's, but for the class balance: Snorkel itself assumes that all classes are equally common
/// ([`ClassBalance::Uniform`]), which costs accuracy where they are not.
///
/// ```
/// use labelflow_weak::label_models::{LabelModel, FittedLabelModel, SnorkelLabelModel};
/// use labelflow_weak::rows::Ties;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, -1], [1, 1, -1], [0, 0, -1]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let labels = SnorkelLabelModel::default().fit(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.classes(Ties::Abstain), [Some(0), Some(1), Some(0)]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnorkelLabelModel {
    /// How common each class is. Default: estimated. (Snorkel: uniform unless given.)
    pub class_balance: ClassBalance,
    /// Steps along the full gradient. Default: 100.
    pub n_epochs: usize,
    /// The length of a step. Default: 0.01.
    pub learning_rate: f64,
    /// How the learning rate falls. Default: not at all.
    pub schedule: LearningRateSchedule,
    /// Over so many epochs the learning rate rises from zero. Default: 0.
    pub warm_up_epochs: usize,
    /// The schedule does not bring the learning rate below this. Default: 0.
    pub min_learning_rate: f64,
    /// How much of its speed a step keeps for the next. Default: 0.9.
    pub momentum: f64,
    /// Used twice, as in Snorkel: squared as the pull of the loss towards the guess μ₀, and as it is as a decay towards
    /// zero in each step. A large value therefore makes rates small, not close to the guess. Default: 0.
    pub l2: f64,
    /// How often a labeler is guessed to be right when it votes. Default: 0.7 for all.
    pub precision: Precision,
    /// Rates are kept so far from 0 and 1. Default: 1 / n for n rows, rounded down to a power of ten, at most 0.01.
    pub rate_margin: Option<f64>,
    /// Whether labels are made less sure where the votes show that labelers err together. Default: yes; Snorkel: no.
    pub tempered: bool,
    /// What the guess is multiplied by to start from; in Snorkel drawn between 0 and 1, as it is when this is empty. From small values 100
    /// epochs may end before the fit has begun. Default: 1.
    pub init_scale: Option<f64>,
    /// The seed of that draw. It is not Snorkel's generator: for its numbers give the scale. Default: 0.
    pub seed: u64,
}

impl Default for SnorkelLabelModel {
    fn default() -> Self {
        Self {
            class_balance: ClassBalance::default(),
            n_epochs: 100,
            learning_rate: 0.01,
            schedule: LearningRateSchedule::default(),
            warm_up_epochs: 0,
            min_learning_rate: 0.0,
            momentum: 0.9,
            l2: 0.0,
            precision: Precision::Same(0.7),
            rate_margin: None,
            tempered: true,
            init_scale: Some(1.0),
            seed: 0,
        }
    }
}

impl SnorkelLabelModel {
    fn check(&self) -> Result<()> {
        let Self { n_epochs, learning_rate, momentum, l2, init_scale, .. } = *self;
        check_descent(n_epochs, learning_rate, momentum, l2, init_scale)?;
        self.schedule.check()?;
        check_not_negative(&[("min_learning_rate", self.min_learning_rate)])?;
        let margin = self.rate_margin.unwrap_or(MAX_MARGIN);
        ensure(margin > 0.0 && margin < 0.5, || Error::config("rate_margin", "a number above 0, below 0.5", margin))
    }

    fn rates(&self) -> impl Iterator<Item = f64> + use<> {
        self.schedule.rates(self.learning_rate, self.n_epochs, self.warm_up_epochs, self.min_learning_rate)
    }
}

impl LabelModel for SnorkelLabelModel {
    type Fitted = FittedSnorkelLabelModel;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedSnorkelLabelModel> {
        self.check()?;
        let shape = counted.shape();
        shape.check_three_labelers()?;
        shape.check_overlaps()?;
        counted.check_any_vote()?;
        let precisions = self.precision.resolve(shape.n_signals)?;
        let class_balance = self.class_balance.resolve_counts(counted)?;
        let overlaps = Overlaps::of_patterns(&counted.patterns, shape);
        let fit = OverlapFit {
            overlaps: &overlaps,
            class_balance: &class_balance,
            precisions: &precisions,
            init_scale: drawn_scale(self.init_scale, self.seed),
            l2: self.l2,
            descent: Descent { momentum: self.momentum, decay: self.l2 },
        };
        let own_blocks = Array2::from_shape_fn((precisions.len(), precisions.len()), |(a, b)| a == b);
        let (rates, loss) = fit.run(overlaps.values.view(), own_blocks.view(), self.rates());
        ensure(loss.is_finite(), || diverged(self.learning_rate))?;
        let margin = self.rate_margin.unwrap_or_else(|| default_margin(counted.n_rows()));
        let rates = break_column_symmetry(rates.clamped(margin)).above_chance().clamped(margin);
        let tempering = if self.tempered { rates.tempering(&counted.patterns) } else { Tempering::default() };
        Ok(FittedSnorkelLabelModel { rates, tempering, coverages: overlaps.coverages(), loss })
    }

    fn published(self) -> Self {
        Self { init_scale: None, tempered: false, ..self }
    }

    fn class_balance(&self) -> Option<&ClassBalance> {
        Some(&self.class_balance)
    }
}

/// e = min(0.01, 10^−⌈log₁₀ n⌉).
fn default_margin(n_rows: u64) -> f64 {
    let mut power = 1.0;
    while power < n_rows as f64 {
        power *= 10.0;
    }
    (1.0 / power).min(MAX_MARGIN)
}

/// Classes that are equally common can change places without changing the loss: they take those places in which
/// labelers are right most often.
fn break_column_symmetry(rates: VoteRates) -> VoteRates {
    let balance = rates.class_balance.clone();
    let n_signals = rates.shape.n_signals;
    // What class y gains by the column of class x.
    let gain = |y: usize, x: usize| -> f64 { (0..n_signals).map(|signal| rates.get(signal, y, x) * balance[x]).sum() };
    let mut alike: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (class, p) in balance.iter().enumerate() {
        alike.entry((p * 1000.0).round_ties_even() as i64).or_default().push(class);
    }
    let mut order: Vec<usize> = (0..balance.len()).collect();
    for classes in alike.into_values() {
        let gains = Array2::from_shape_fn((classes.len(), classes.len()), |(y, x)| gain(classes[y], classes[x]));
        let columns = best_assignment(gains.view());
        let total = columns.iter().enumerate().map(|(y, &x)| gains[[y, x]]).sum::<f64>();
        if total > gains.diag().sum() + MIN_GAIN {
            columns.iter().zip(&classes).for_each(|(&x, &class)| order[class] = classes[x]);
        }
    }
    rates.with_columns(&order)
}

/// A fitted label model of Snorkel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedSnorkelLabelModel {
    rates: VoteRates,
    #[serde(default, skip_serializing_if = "Tempering::is_none")]
    tempering: Tempering,
    coverages: Vec<f64>,
    /// The loss where the descent ended.
    pub loss: f64,
}

impl FittedSnorkelLabelModel {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> &[f64] {
        &self.rates.class_balance
    }

    /// The probability of each answer given the true class, `[n_signals, n_classes, n_classes + 1]`. The last answer is
    /// the abstention, which has what the votes leave.
    pub fn confusions(&self) -> Array3<f64> {
        self.rates.confusions()
    }

    /// How often each labeler is right when it votes, `[n_signals]`, as far as the fit knows: from 10⁻⁶ to 1, and 10⁻⁶
    /// for a labeler that never voted.
    pub fn labeler_weights(&self) -> Vec<f64> {
        let right = |signal: usize| -> f64 {
            let balance = self.rates.class_balance.iter().enumerate();
            balance.map(|(class, p)| self.rates.get(signal, class, class) * p).sum()
        };
        let weight = |(signal, &coverage): (usize, &f64)| {
            if coverage > 0.0 { (right(signal) / coverage).clamp(MIN_WEIGHT, 1.0) } else { MIN_WEIGHT }
        };
        self.coverages.iter().enumerate().map(weight).collect()
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        self.tempering.check()?;
        let shape = self.rates.check()?;
        shape.check_list("coverages", self.coverages.len(), &[shape.n_signals])
    }
}

impl FittedLabelModel for FittedSnorkelLabelModel {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        self.rates.labels(self.tempering, signals)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Axis, array};

    use super::*;
    use crate::label_models::planted::Planted;
    use crate::rows::Ties;
    use crate::votes::{ABSTAIN, Votes};

    fn signals(votes: Array2<i64>) -> WeakSignals {
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap()
    }

    #[test]
    fn two_labelers_that_agree_are_believed() {
        let signals = signals(array![[0, 0, -1], [1, 1, -1], [0, 0, -1]]);
        for seed in 0..20 {
            let model = SnorkelLabelModel { seed, ..SnorkelLabelModel::default() };
            let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
            assert_eq!(labels.classes(Ties::Abstain), [Some(0), Some(1), Some(0)], "seed {seed}");
        }
    }

    #[test]
    fn the_margin_is_the_next_power_of_ten() {
        let margins = [1, 50, 100, 101, 1000, 1001, 123_456].map(default_margin);
        let expected = [0.01, 0.01, 0.01, 1e-3, 1e-3, 1e-4, 1e-6];
        assert_abs_diff_eq!(&margins[..], &expected[..], epsilon = 1e-15);
    }

    /// Rates of two labelers, classes in this order.
    fn rates(balance: &[f64], order: &[usize]) -> VoteRates {
        let n = balance.len();
        let shape = SignalShape { n_signals: 2, n_classes: n };
        let columns: Vec<f64> = order
            .iter()
            .flat_map(|&class| {
                (0..2 * n).map(move |vote| if vote % n == class { 0.6 } else { 0.1 + 0.01 * vote as f64 })
            })
            .collect();
        VoteRates::new(shape, balance, &columns)
    }

    #[test]
    fn columns_of_equal_classes_find_their_places() {
        let uniform = [0.2; 5];
        let right = rates(&uniform, &[0, 1, 2, 3, 4]);
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 2, 3, 4, 0], [2, 0, 1, 4, 3]] {
            assert_eq!(break_column_symmetry(rates(&uniform, &order)), right);
        }
    }

    #[test]
    fn columns_of_unequal_classes_keep_their_places() {
        let balance = [0.3, 0.2004, 0.1996, 0.2999, 0.0001];
        // 0.2004 and 0.1996 are 0.200 to three decimals, 0.3 and 0.2999 are 0.300, the last is alone.
        let found = break_column_symmetry(rates(&balance, &[3, 2, 1, 0, 4]));
        assert_eq!(found, rates(&balance, &[0, 1, 2, 3, 4]));
        let balance = [0.3, 0.2, 0.5];
        let wrong = rates(&balance, &[1, 0, 2]);
        assert_eq!(break_column_symmetry(wrong.clone()), wrong);
    }

    #[test]
    fn classes_that_are_nearly_equal_are_not_exchanged() {
        for seed in 0..8 {
            let problem = Planted::new(500, 2, &[0.6; 30], 0.0, seed);
            let class_balance = ClassBalance::Given(vec![0.497, 0.503]);
            let model = SnorkelLabelModel { class_balance, n_epochs: 1000, seed, ..Default::default() };
            let labels = model.fit(&problem.signals).unwrap().predict_proba(&problem.signals);
            let accuracy = problem.truth.accuracy(&labels.unwrap().argmax());
            assert!(accuracy > 0.7, "seed {seed}: {accuracy}");
        }
    }

    #[test]
    fn equal_classes_need_no_mirror() {
        // Any rates, after the columns have found their places.
        for seed in 0..50usize {
            let shape = SignalShape { n_signals: 3, n_classes: 4 };
            let columns: Vec<f64> = (0..48).map(|place| ((place * 37 + seed * 101) * 53 % 97) as f64 / 97.0).collect();
            let rates = break_column_symmetry(VoteRates::new(shape, &[0.25; 4], &columns));
            assert_eq!(rates.clone().above_chance(), rates);
        }
    }

    #[test]
    fn labelers_are_weighed_by_how_often_they_are_right() {
        let accuracies = [0.9, 0.8, 0.7, 0.6];
        let problem = Planted::new(20_000, 2, &accuracies, 0.3, 5);
        let model = SnorkelLabelModel { n_epochs: 2000, ..SnorkelLabelModel::default() };
        let fitted = model.fit(&problem.signals).unwrap();
        for (weight, accuracy) in fitted.labeler_weights().into_iter().zip(accuracies) {
            assert!((weight - accuracy).abs() < 0.03, "{weight}, expected {accuracy}");
        }
        let mut bytes = problem.signals.votes().bytes().to_owned();
        bytes.column_mut(2).fill(ABSTAIN);
        let silent = WeakSignals::from_votes(Votes::from_bytes(bytes, 2).unwrap()).unwrap();
        assert_eq!(model.fit(&silent).unwrap().labeler_weights()[2], MIN_WEIGHT);
    }

    #[test]
    fn l2_also_decays() {
        // One epoch by hand: the first step is −rate · (gradient at the start + l2 · start).
        let signals = Planted::new(300, 2, &[0.8, 0.7, 0.6], 0.2, 6).signals;
        let one_epoch = |l2: f64, scale: f64| {
            let balance = ClassBalance::Uniform;
            let model = SnorkelLabelModel {
                class_balance: balance,
                n_epochs: 1,
                l2,
                init_scale: Some(scale),
                rate_margin: Some(1e-9),
                ..SnorkelLabelModel::default()
            };
            model.fit(&signals).unwrap().confusions()
        };
        // At scale 1 the start is the guess, so the pull towards the guess is zero and only the decay differs.
        let (without, with) = (one_epoch(0.0, 1.0), one_epoch(0.5, 1.0));
        let overlaps = Overlaps::of(&signals.votes());
        for signal in 0..3 {
            let start = overlaps.frequencies()[2 * signal] * 0.7 / 0.5;
            let expected = without[[signal, 0, 0]] - 0.01 * 0.5 * start;
            assert_abs_diff_eq!(with[[signal, 0, 0]], expected, epsilon = 1e-12);
        }
        // At scale ½ the guess is start / ½: the pull 2 l2² (μ − μ₀) is there as well.
        let (without, with) = (one_epoch(0.0, 0.5), one_epoch(0.5, 0.5));
        for signal in 0..3 {
            let guess = overlaps.frequencies()[2 * signal] * 0.7 / 0.5;
            let pull = 2.0 * 0.25 * (0.5 * guess - guess) + 0.5 * 0.5 * guess;
            let expected = without[[signal, 0, 0]] - 0.01 * pull;
            assert_abs_diff_eq!(with[[signal, 0, 0]], expected, epsilon = 1e-12);
        }
    }

    #[test]
    fn schedules_and_warm_up_change_the_fit_but_not_the_answer() {
        let problem = Planted::new(2000, 3, &[0.8, 0.7, 0.6, 0.6], 0.2, 7);
        let fit = |schedule, warm_up_epochs| {
            let model = SnorkelLabelModel { schedule, warm_up_epochs, ..SnorkelLabelModel::default() };
            let fitted = model.fit(&problem.signals).unwrap();
            let labels = fitted.predict_proba(&problem.signals).unwrap();
            (fitted.loss, problem.truth.accuracy(&labels.argmax()))
        };
        let (loss, accuracy) = fit(LearningRateSchedule::Constant, 0);
        for (schedule, warm_up) in [
            (LearningRateSchedule::Constant, 10),
            (LearningRateSchedule::Linear, 0),
            (LearningRateSchedule::Exponential { factor: 0.98 }, 5),
            (LearningRateSchedule::Step { factor: 0.9, every: 5 }, 0),
        ] {
            let found = fit(schedule, warm_up);
            assert!(found.0 != loss, "{schedule:?}");
            assert!(found.1 > accuracy - 0.02, "{schedule:?}: {found:?}, {accuracy}");
        }
    }

    #[test]
    fn one_precision_for_all_is_that_of_each() {
        let signals = Planted::new(500, 2, &[0.8, 0.7, 0.6], 0.2, 8).signals;
        let fit = |precision| SnorkelLabelModel { precision, ..SnorkelLabelModel::default() }.fit(&signals);
        assert_eq!(fit(Precision::Same(0.7)), fit(Precision::PerLabeler(vec![0.7; 3])));
        assert_ne!(fit(Precision::Same(0.7)), fit(Precision::PerLabeler(vec![0.9, 0.7, 0.5])));
    }

    #[test]
    fn what_was_fitted_can_be_saved() {
        let signals = Planted::new(200, 3, &[0.8, 0.7, 0.6], 0.2, 9).signals;
        let fitted = SnorkelLabelModel::default().fit(&signals).unwrap();
        let saved = serde_json::to_string(&fitted).unwrap();
        assert_eq!(serde_json::from_str::<FittedSnorkelLabelModel>(&saved).unwrap(), fitted);
        let settings = serde_json::to_string(&SnorkelLabelModel::default()).unwrap();
        let read: SnorkelLabelModel = serde_json::from_str(&settings).unwrap();
        assert_eq!(read, SnorkelLabelModel::default());
    }

    #[test]
    fn extreme_votes_give_valid_labels() {
        for votes in [array![[0, 1, -1]], array![[1, 1, 1], [1, 1, 1]], array![[0, -1, -1], [-1, -1, -1], [1, -1, -1]]]
        {
            let signals = signals(votes);
            let fitted = SnorkelLabelModel::default().fit(&signals).unwrap();
            let labels = fitted.predict_proba(&signals).unwrap();
            assert!(labels.values().sum_axis(Axis(1)).iter().all(|sum| (sum - 1.0).abs() < 1e-9));
            assert!(fitted.labeler_weights().iter().all(|w| (MIN_WEIGHT..=1.0).contains(w)));
        }
    }

    #[test]
    fn bad_settings_and_signals_are_errors() {
        let good = signals(array![[0, 1, 1], [1, 1, 0]]);
        let bad = |change: fn(&mut SnorkelLabelModel)| {
            let mut model = SnorkelLabelModel::default();
            change(&mut model);
            model.fit(&good).unwrap_err().to_string()
        };
        assert!(bad(|model| model.n_epochs = 0).starts_with("n_epochs"));
        assert!(bad(|model| model.learning_rate = 1e30).starts_with("learning_rate"));
        assert!(bad(|model| model.min_learning_rate = -1.0).starts_with("min_learning_rate"));
        assert!(bad(|model| model.rate_margin = Some(0.5)).starts_with("rate_margin"));
        assert!(bad(|model| model.precision = Precision::Same(0.0)).starts_with("precision"));
        let two = |model: &mut SnorkelLabelModel| model.precision = Precision::PerLabeler(vec![0.5; 2]);
        assert!(bad(two).starts_with("precision"));
        let every = |model: &mut SnorkelLabelModel| {
            model.schedule = LearningRateSchedule::Step { factor: 0.9, every: 0 };
        };
        assert!(bad(every).starts_with("schedule.every"));
        let zero = |model: &mut SnorkelLabelModel| {
            model.class_balance = ClassBalance::Given(vec![1.0, 0.0]);
        };
        assert!(bad(zero).starts_with("class_balance"));
        let error = SnorkelLabelModel::default().fit(&signals(array![[0, 1]])).unwrap_err();
        assert!(error.to_string().contains("at least 3 labelers"), "{error}");
        let silent = signals(array![[-1, -1, -1]]);
        let error = SnorkelLabelModel::default().fit(&silent).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
