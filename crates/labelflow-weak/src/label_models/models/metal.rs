//! MeTaL's label model: how often labelers vote together tells how often each is right.
//!
//! ```text
//! fit         μ minimises Σ over pairs of different labelers of (O − μ P μᵀ)² + ‖μ p − diag O‖² + l2² ‖μ − μ₀‖²
//! with        O from the votes, P = diag(p) the class balance, μ₀ the guess that a vote is right 7 times in 10
//! descent     full gradients with momentum, from scale · μ₀; of μ and its mirror image the one above chance
//! prediction  P(Y = y | votes) ∝ p(y) ∏ over the labelers that vote of μ, kept from 0 and 1 by a margin
//! margin      a tenth of how often the labeler casts the vote, at most 0.01;   published: 0.01
//! ```
//!
//! With dependencies μ is fitted to Q instead of O, which is what the class explains of O, and all pairs count.
//!
//! The votes are read once; the rest of the work does not grow with the number of rows. For three classes and more, μ is
//! not the only solution (columns can be rotated against each other): the start decides, which is why the guess matters.
//!
//! A. Ratner, B. Hancock, J. Dunnmon, F. Sala, S. Pandey and C. Ré, *Training complex models with multi-task weak
//! supervision*, 2019.

use ndarray::{Array2, Array3};
use serde::{Deserialize, Serialize};

use crate::label_models::overlaps::{
    Descent, OverlapFit, Overlaps, VoteRates, check_descent, diverged, drawn_scale, explained_overlaps,
};
use crate::label_models::tempering::Tempering;
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::labelers::labeler_cliques::{has_independent_triple, shared_cliques};
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, WeakSignals};
use crate::{Error, Result, ensure};

/// How often a vote is guessed to be right.
const PRECISION: f64 = 0.7;
/// For prediction no rate is nearer to 0 or 1, as published.
const MARGIN: f64 = 0.01;
/// Nor is it below this share of how often the labeler casts the vote.
const MARGIN_SHARE: f64 = 0.1;
/// How often a learning rate that was too large is halved.
const MAX_HALVINGS: usize = 20;

/// MeTaL's label model. Probabilities are rounded to votes first. It needs three labelers.
///
/// ```
/// use labelflow_weak::label_models::{LabelModel, FittedLabelModel, MeTaL};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = array![[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, -1, 1], [1, 1, -1]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let labels = MeTaL::default().fit(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.argmax(), [0, 1, 0, 1, 0, 1]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MeTaL {
    /// How common each class is. Default: estimated.
    pub class_balance: ClassBalance,
    /// Pairs of labelers, counted from 0, that depend on each other beyond the true class, such as two rules that look
    /// at the same word. Default: none.
    pub dependencies: Vec<(usize, usize)>,
    /// Steps along the full gradient. Default: 1000.
    pub n_epochs: usize,
    /// The length of a step. It is halved, and the fit begun again, if the fit does not stay finite. Default: 0.01.
    pub learning_rate: f64,
    /// How much of its speed a step keeps for the next. Default: 0.9.
    pub momentum: f64,
    /// The pull towards the guess μ₀, which rules of one class and labelers with few votes need. Default: 0.3; published: 0.
    pub l2: f64,
    /// Rates are kept so far from 0 and 1 for prediction. Default: a tenth of how often the labeler casts the vote, at most 0.01;
    /// published: 0.01, which is more than rules that seldom vote are ever wrong.
    pub rate_margin: Option<f64>,
    /// Whether labels are made less sure where the votes show that labelers err together. Default: yes; published: no.
    pub tempered: bool,
    /// What the guess is multiplied by to start from; drawn between 0 and 1 when not given. Default: drawn.
    pub init_scale: Option<f64>,
    /// The seed of that draw. Default: 0.
    pub seed: u64,
}

impl Default for MeTaL {
    fn default() -> Self {
        Self {
            class_balance: ClassBalance::default(),
            dependencies: Vec::new(),
            n_epochs: 1000,
            learning_rate: 0.01,
            momentum: 0.9,
            l2: 0.3,
            rate_margin: None,
            tempered: true,
            init_scale: None,
            seed: 0,
        }
    }
}

impl MeTaL {
    /// The blocks of overlaps that say nothing of accuracies.
    fn cliques(&self, n_signals: usize) -> Result<Array2<bool>> {
        let cliques = shared_cliques(n_signals, &self.dependencies)?;
        if has_independent_triple(&cliques) {
            return Ok(cliques);
        }
        let expected = "three labelers of which no two depend on each other";
        Err(Error::config("dependencies", expected, format!("{:?}", self.dependencies)))
    }

    /// Descends with ever smaller rates until the result is finite.
    fn descend(&self, fit: &OverlapFit<'_>, target: &Array2<f64>, left_out: &Array2<bool>) -> Result<FittedMeTaL> {
        let halvings = std::iter::successors(Some(self.learning_rate), |rate| Some(rate / 2.0));
        for rate in halvings.take(MAX_HALVINGS) {
            let rates = std::iter::repeat_n(rate, self.n_epochs);
            let (rates, loss) = fit.run(target.view(), left_out.view(), rates);
            if loss.is_finite() {
                let rates = match self.rate_margin {
                    Some(margin) => rates.above_chance().clamped(margin),
                    None => rates.above_chance().clamped_by_frequency(MARGIN_SHARE, MARGIN),
                };
                return Ok(FittedMeTaL { rates, tempering: Tempering::default(), loss });
            }
        }
        Err(diverged(self.learning_rate))
    }
}

impl LabelModel for MeTaL {
    type Fitted = FittedMeTaL;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedMeTaL> {
        let Self { n_epochs, learning_rate, momentum, l2, init_scale, .. } = *self;
        check_descent(n_epochs, learning_rate, momentum, l2, init_scale)?;
        let margin = self.rate_margin.unwrap_or(MARGIN);
        ensure(margin > 0.0 && margin < 0.5, || Error::config("rate_margin", "a number above 0, below 0.5", margin))?;
        let shape = counted.shape();
        shape.check_three_labelers()?;
        shape.check_overlaps()?;
        counted.check_any_vote()?;
        let cliques = self.cliques(shape.n_signals)?;
        let class_balance = self.class_balance.resolve_counts(counted)?;
        let overlaps = Overlaps::of_patterns(&counted.patterns, shape);
        let fit = OverlapFit {
            overlaps: &overlaps,
            class_balance: &class_balance,
            precisions: &vec![PRECISION; shape.n_signals],
            init_scale: drawn_scale(init_scale, self.seed),
            l2,
            descent: Descent { momentum, decay: 0.0 },
        };
        let fitted = match self.dependencies.is_empty() {
            true => self.descend(&fit, &overlaps.values.clone(), &cliques)?,
            false => {
                let explained = explained_overlaps(&overlaps, &cliques, &fit.guess(), &class_balance)?;
                self.descend(&fit, &explained, &cliques.mapv(|_| false))?
            }
        };
        let tempering = if self.tempered { fitted.rates.tempering(&counted.patterns) } else { Tempering::default() };
        Ok(FittedMeTaL { tempering, ..fitted })
    }

    fn published(self) -> Self {
        Self { l2: 0.0, rate_margin: Some(MARGIN), tempered: false, ..self }
    }

    fn class_balance(&self) -> Option<&ClassBalance> {
        Some(&self.class_balance)
    }
}

/// A fitted label model of MeTaL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedMeTaL {
    rates: VoteRates,
    #[serde(default, skip_serializing_if = "Tempering::is_none")]
    tempering: Tempering,
    /// The loss where the fit ended.
    pub loss: f64,
}

impl FittedMeTaL {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> &[f64] {
        &self.rates.class_balance
    }

    /// The probability of each answer given the true class, `[n_signals, n_classes, n_classes + 1]`, as prediction uses
    /// it: votes between 0.01 and 0.99. The last answer is the abstention, which has what the votes leave.
    pub fn confusions(&self) -> Array3<f64> {
        self.rates.confusions()
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        self.tempering.check()?;
        self.rates.check()
    }
}

impl FittedLabelModel for FittedMeTaL {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        self.rates.labels(self.tempering, signals)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;
    use crate::label_models::SnorkelLabelModel;
    use crate::label_models::planted::Planted;
    use crate::votes::{ABSTAIN, Votes};

    fn signals(rows: &[Vec<u8>], n_classes: usize) -> WeakSignals {
        let n_signals = rows[0].len();
        let bytes = Array2::from_shape_fn((rows.len(), n_signals), |(row, signal)| rows[row][signal]);
        WeakSignals::from_votes(Votes::from_bytes(bytes, n_classes).unwrap()).unwrap()
    }

    /// Every pattern of binary votes as often as `weight(votes, truth)` says, for both truths.
    fn population(n_signals: usize, weight: impl Fn(&[u8], u8) -> usize) -> WeakSignals {
        let mut rows = Vec::new();
        for pattern in 0..1u32 << n_signals {
            let votes: Vec<u8> = (0..n_signals).map(|j| (pattern >> j & 1) as u8).collect();
            let count = weight(&votes, 0) + weight(&votes, 1);
            rows.extend(std::iter::repeat_n(votes, count));
        }
        signals(&rows, 2)
    }

    /// Independent labelers with accuracies in twentieths, classes equally common.
    fn independent(accuracies: &[usize]) -> WeakSignals {
        population(accuracies.len(), |votes, truth| {
            let each = votes.iter().zip(accuracies);
            each.map(|(&vote, right)| if vote == truth { *right } else { 20 - right }).product()
        })
    }

    fn model(n_epochs: usize) -> MeTaL {
        let class_balance = ClassBalance::Given(vec![0.5, 0.5]);
        MeTaL { class_balance, n_epochs, ..MeTaL::default().published() }
    }

    #[track_caller]
    fn assert_accuracies(fitted: &FittedMeTaL, accuracies: &[f64], tolerance: f64) {
        let confusions = fitted.confusions();
        for (signal, &accuracy) in accuracies.iter().enumerate() {
            for class in 0..2 {
                let found = confusions[[signal, class, class]];
                let context = format!("labeler {signal}: {found}, expected {accuracy}");
                assert!((found - accuracy).abs() < tolerance, "{context}");
            }
        }
    }

    #[test]
    fn the_loss_at_the_truth_is_zero() {
        let overlaps = Overlaps::of(&independent(&[18, 15, 12]).votes());
        let frequencies = overlaps.frequencies();
        let left_out = Array2::from_shape_fn((3, 3), |(a, b)| a == b);
        let problem = crate::label_models::overlaps::masked_factorization::MaskedFactorization {
            target: overlaps.values.view(),
            labeler_of: &[0, 0, 1, 1, 2, 2],
            left_out: left_out.view(),
            weights: &[0.5, 0.5],
            weighted_sums: Some(&frequencies),
            center: None,
        };
        let truth = [0.9, 0.1, 0.75, 0.25, 0.6, 0.4, 0.1, 0.9, 0.25, 0.75, 0.4, 0.6];
        let mut gradient = vec![0.0; 12];
        assert!(problem.value_and_gradient(&truth, &mut gradient) < 1e-30);
        assert!(gradient.iter().all(|slope| slope.abs() < 1e-14));
    }

    #[test]
    fn an_exact_population_is_recovered() {
        let fitted = model(20_000).fit(&independent(&[18, 15, 12])).unwrap();
        assert_accuracies(&fitted, &[0.9, 0.75, 0.6], 1e-3);
        assert!(fitted.loss < 1e-6, "{}", fitted.loss);
    }

    #[test]
    fn equal_labelers_are_recovered_in_a_thousand_steps() {
        let population = independent(&[16, 16, 16]);
        let fitted = model(1000).fit(&population).unwrap();
        assert_accuracies(&fitted, &[0.8, 0.8, 0.8], 1e-3);
        let labels = fitted.predict_proba(&signals(&[vec![1, 1, 0], vec![ABSTAIN; 3]], 2)).unwrap();
        assert_abs_diff_eq!(labels.values()[[0, 1]], 0.8, epsilon = 2e-3);
        assert_abs_diff_eq!(labels.values()[[1, 1]], 0.5, epsilon = 1e-12);
    }

    /// Labeler 1 copies labeler 0 three times in four and otherwise votes at random; the others are independent, right
    /// as many times in five as `right` says.
    fn with_a_copy(right: &[usize]) -> WeakSignals {
        population(right.len() + 1, |votes, truth| {
            let others = votes[2..].iter().zip(&right[1..]);
            let independent: usize = others
                .chain([(&votes[0], &right[0])])
                .map(|(&vote, right)| if vote == truth { *right } else { 5 - right })
                .product();
            independent * if votes[1] == votes[0] { 7 } else { 1 }
        })
    }

    #[test]
    fn dependencies_are_told_apart_from_accuracy() {
        let signals = with_a_copy(&[3, 4, 4, 3]);
        let alone = model(5000).fit(&signals).unwrap();
        let copied = alone.confusions()[[0, 0, 0]];
        assert!(copied > 0.7, "a copy that nobody knows of makes labeler 0 look good: {copied}");
        let known = MeTaL { dependencies: vec![(0, 1)], ..model(20_000) };
        // The copy is right 7/8 · 3/5 + 1/8 · 2/5 of the time.
        assert_accuracies(&known.fit(&signals).unwrap(), &[0.6, 0.575, 0.8, 0.8, 0.6], 1e-3);
    }

    #[test]
    fn dependencies_are_told_apart_where_labelers_abstain() {
        // Each labeler keeps silent on half of the rows, independently of all else.
        let mut rows = Vec::new();
        for row in with_a_copy(&[4, 4, 3]).votes().bytes().rows() {
            for silent in 0..16 {
                let vote = |signal: usize| if silent >> signal & 1 == 1 { ABSTAIN } else { row[signal] };
                rows.push((0..4).map(vote).collect());
            }
        }
        let known = MeTaL { dependencies: vec![(0, 1)], ..model(20_000) };
        let fitted = known.fit(&signals(&rows, 2)).unwrap();
        let halves = [0.8, 0.725, 0.8, 0.6].map(|accuracy| accuracy / 2.0);
        assert_accuracies(&fitted, &halves, 1e-3);
    }

    #[test]
    fn permuting_labelers_permutes_their_dependencies() {
        let always = with_a_copy(&[3, 4, 4, 3]);
        let order = [3, 1, 4, 0, 2];
        let bytes = always.votes().bytes().select(ndarray::Axis(1), &order);
        let permuted = WeakSignals::from_votes(Votes::from_bytes(bytes, 2).unwrap()).unwrap();
        let fit = |signals: &WeakSignals, pair| {
            let model = MeTaL { dependencies: vec![pair], ..model(1000) };
            model.fit(signals).unwrap().predict_proba(signals).unwrap()
        };
        let (labels, moved) = (fit(&always, (0, 1)), fit(&permuted, (3, 1)));
        let worst = (&labels.values() - &moved.values()).iter().fold(0.0, |w: f64, d| w.max(d.abs()));
        assert!(worst < 1e-6, "{worst}");
    }

    #[test]
    fn dependencies_that_change_nothing_cost_little() {
        let problem = Planted::new(20_000, 3, &[0.5, 0.6, 0.7, 0.8, 0.6], 0.3, 1);
        let accuracy = |dependencies| {
            let model = MeTaL { dependencies, ..MeTaL::default() };
            let labels = model.fit(&problem.signals).unwrap().predict_proba(&problem.signals);
            problem.truth.accuracy(&labels.unwrap().argmax())
        };
        let (without, with) = (accuracy(vec![]), accuracy(vec![(0, 1)]));
        assert!(without > 0.7 && with > without - 0.02, "{without} {with}");
    }

    #[test]
    fn weak_labelers_are_not_believed_to_lie() {
        // Momentum carries some of these descents into the mirror image.
        for seed in 0..8 {
            let problem = Planted::new(500, 2, &[0.6; 30], 0.0, seed);
            let fitted = MeTaL { seed, ..MeTaL::default() }.fit(&problem.signals).unwrap();
            let labels = fitted.predict_proba(&problem.signals).unwrap();
            let accuracy = problem.truth.accuracy(&labels.argmax());
            assert!(accuracy > 0.7, "seed {seed}: {accuracy}");
        }
    }

    #[test]
    fn many_labelers_need_shorter_steps() {
        let problem = Planted::new(300, 2, &[0.7; 120], 0.0, 2);
        let diverging = SnorkelLabelModel { n_epochs: 200, ..SnorkelLabelModel::default().published() };
        let error = diverging.fit(&problem.signals).unwrap_err().to_string();
        assert!(error.contains("stays finite"), "{error}");
        let fitted = MeTaL::default().fit(&problem.signals).unwrap();
        let labels = fitted.predict_proba(&problem.signals).unwrap();
        assert!(problem.truth.accuracy(&labels.argmax()) > 0.98);
    }

    #[test]
    fn the_seed_decides_the_start_unless_its_scale_is_given() {
        let population = independent(&[18, 15, 12]);
        let fit = |seed| MeTaL { seed, ..model(10) }.fit(&population).unwrap();
        assert_eq!(fit(1), fit(1));
        assert_ne!(fit(1), fit(2));
        let scaled = |seed| MeTaL { seed, init_scale: Some(0.5), ..model(10) };
        assert_eq!(scaled(1).fit(&population), scaled(2).fit(&population));
    }

    #[test]
    fn extreme_votes_give_valid_labels() {
        for rows in [
            vec![vec![0, 1, ABSTAIN]],
            vec![vec![1, 1, 1]; 5],
            vec![vec![0, ABSTAIN, ABSTAIN], vec![ABSTAIN; 3], vec![1, ABSTAIN, ABSTAIN]],
        ] {
            let signals = signals(&rows, 2);
            let labels = MeTaL::default().fit(&signals).unwrap().predict_proba(&signals).unwrap();
            assert!(labels.values().iter().all(|p| p.is_finite()));
        }
        let unanimous = signals(&vec![vec![1, 1, 1]; 5], 2);
        let labels = MeTaL::default().fit(&unanimous).unwrap().predict_proba(&unanimous).unwrap();
        assert_eq!(labels.argmax(), [1; 5]);
    }

    #[test]
    fn labelers_that_always_say_the_same_explain_nothing() {
        let rows = [vec![1, 0, 1, 0, 1], vec![1, 0, 1, 0, 1], vec![1, 0, 1, 0, 1]];
        let constant = signals(&rows, 2);
        let dependent = MeTaL { dependencies: vec![(0, 1)], ..MeTaL::default() };
        let labels = dependent.fit(&constant).unwrap().predict_proba(&constant).unwrap();
        assert!(labels.values().iter().all(|p| p.is_finite()));
    }

    #[test]
    fn what_was_fitted_can_be_saved() {
        let fitted = model(100).fit(&independent(&[18, 15, 12])).unwrap();
        let saved = serde_json::to_string(&fitted).unwrap();
        assert_eq!(serde_json::from_str::<FittedMeTaL>(&saved).unwrap(), fitted);
        let written = r#"{"class_balance": "uniform", "dependencies": [[0, 2]], "n_epochs": 5}"#;
        let read: MeTaL = serde_json::from_str(written).unwrap();
        assert_eq!((read.dependencies, read.n_epochs), (vec![(0, 2)], 5));
        assert!(serde_json::from_str::<MeTaL>(r#"{"epoch": 5}"#).is_err());
    }

    #[test]
    fn bad_settings_and_signals_are_errors() {
        let good = independent(&[18, 15, 12]);
        let bad = |change: fn(&mut MeTaL)| {
            let mut model = MeTaL::default();
            change(&mut model);
            model.fit(&good).unwrap_err().to_string()
        };
        assert!(bad(|model| model.n_epochs = 0).starts_with("n_epochs"));
        assert!(bad(|model| model.learning_rate = 0.0).starts_with("learning_rate"));
        assert!(bad(|model| model.learning_rate = 1e300).starts_with("learning_rate"));
        assert!(bad(|model| model.momentum = 1.0).starts_with("momentum"));
        assert!(bad(|model| model.l2 = f64::NAN).starts_with("l2"));
        assert!(bad(|model| model.init_scale = Some(0.0)).starts_with("init_scale"));
        assert!(bad(|model| model.dependencies = vec![(0, 7)]).starts_with("dependencies"));
        assert!(bad(|model| model.dependencies = vec![(0, 1)]).contains("no two depend"));
        let zero = |model: &mut MeTaL| model.class_balance = ClassBalance::Given(vec![1.0, 0.0]);
        assert!(bad(zero).starts_with("class_balance"));
        let error = MeTaL::default().fit(&signals(&[vec![0, 1]], 2)).unwrap_err().to_string();
        assert!(error.contains("at least 3 labelers"), "{error}");
        let error = MeTaL::default().fit(&signals(&[vec![ABSTAIN; 3]], 2)).unwrap_err().to_string();
        assert!(error.contains("at least one vote"), "{error}");
        let copies = MeTaL { dependencies: vec![(0, 1)], ..MeTaL::default() };
        let rows = [vec![0, 0, 1, 0], vec![1, 1, 1, 0], vec![0, 0, 0, 1], vec![1, 1, 0, 0]];
        let error = copies.fit(&signals(&rows, 2)).unwrap_err().to_string();
        assert!(error.contains("labelers that differ"), "{error}");
    }
}
