//! Regularised minimax conditional entropy: labelers have confusion matrices, and rows have confusing natures of their own.
//!
//! ```text
//! model      P(j votes l on row i | Y = c) = softmax over l of τ[i](c, l) + σ[j](c, l)
//! maximise   Σ over i, c of p[i](c) Σ over j that vote of ln P(vote | c) − ½ λ Σ ‖σ[j]‖² − ½ κ Σ ‖τ[i]‖²
//! start      p[i](c) = share of row i's votes that are for c,  σ = τ = 0
//! round      every σ[j] by L-BFGS, then every τ[i] by L-BFGS, then p[i](c) ∝ π(c) exp(Σ over j of ln P(vote | c))
//! λ = ¼ k²,  κ = λ · (votes per labeler) / (votes per row)
//! ```
//!
//! It stops when no p[i](c) changes by as much as the tolerance. Each round raises (never lowers) the penalised
//! log-likelihood with Y summed out. Abstentions are missing votes, or one more answer l with [`MissingVotes::Answer`]. For fixed p the problem falls
//! apart into one concave
//! problem for each labeler and class, and one for each row and class: all of them are solved side by side.
//!
//! Rows with the same votes begin alike and get the same updates, so they keep the same τ and p for ever. The fit works on
//! the distinct rows of votes with their counts; this is no approximation.
//!
//! A row that was not in the fit gets its own τ with all σ held fixed, by the same alternation; a row's answer depends on
//! that row only.
//!
//! Rules that only ever vote for one class are explained without any truth: σ alone says that they always vote so, and such votes may
//! end anywhere.
//!
//! Deviation: by default σ of such rules is not learned (`one_class_labelers.rs`), and the penalty pulls the others to a labeler that is right 7 times
//! in 10. `prior_accuracy: 0` is the published form.
//!
//! D. Zhou, Q. Liu, J. C. Platt, C. Meek and N. B. Shah, *Regularized minimax conditional entropy for crowdsourcing*, 2015.

use std::borrow::Cow;

use ndarray::{Array2, Array3};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::label_models::one_class_labelers::{OneClassLabeler, one_class_labelers};
use crate::label_models::tempering::Tempering;
use crate::label_models::{ClassBalance, FittedLabelModel, LabelModel, SignalShape};
use crate::numerics::{Lbfgs, dot, largest_change, normalize_logs};
use crate::rows::SoftLabels;
use crate::settings::{check_at_least_one, check_not_negative};
use crate::stop_reason::until_settled;
use crate::votes::{ABSTAIN, CountedVotes, VotePatterns, WeakSignals, vote_shares};
use crate::{Error, Result, StopReason, ensure};

/// What an abstention says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingVotes {
    /// Nothing.
    #[default]
    Silence,
    /// An abstention is one more answer, for every labeler: labelers of one class learn as the others do, and rows without votes are labelled by their
    /// silence.
    Answer,
}

/// A share of votes or abstentions is not taken to be smaller before anything is learned.
const LEAST_SHARE: f64 = 1e-3;

/// Regularised minimax conditional entropy. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{LabelModel, FittedLabelModel, MinimaxEntropy};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = array![[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, -1, 0], [1, -1, 1]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let labels = MinimaxEntropy::default().fit(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.argmax(), [0, 1, 0, 1, 0, 1]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MinimaxEntropy {
    /// λ, the penalty on the labelers' parameters; infinity holds them at zero. Default: ¼ (number of classes)².
    pub labeler_penalty: Option<f64>,
    /// κ, the penalty on the rows' parameters; infinity holds them at zero. Default: the labelers' penalty times the mean
    /// number of votes per labeler, over the mean number of votes per row; labelers and rows without votes do not count.
    pub row_penalty: Option<f64>,
    /// How often the votes of labelers are right before anything is learned: towards this, not towards chance, the penalty pulls their
    /// parameters, and labelers that vote for one class only do not learn: their votes count as right 7 times in 10, or not at all. 0, as published: towards chance, and all labelers learn. Default: 0.7.
    pub prior_accuracy: f64,
    /// What an abstention says. Default: nothing.
    pub abstentions: MissingVotes,
    /// How common each class is. Default: estimated. The published method takes it to be uniform, and may label unequal
    /// classes worse than a majority vote does.
    pub class_balance: ClassBalance,
    /// The most rounds. Default: 50.
    pub max_iterations: usize,
    /// The change of the labels below which it stops. Default: 5e-3.
    pub tolerance: f64,
    /// The most steps of L-BFGS for one labeler or row, in each round. Default: 25.
    pub inner_iterations: usize,
    /// The largest entry of the gradient with which L-BFGS is content. Default: 1e-3.
    pub inner_tolerance: f64,
    /// Whether labels are made less sure where the votes show that labelers err together. Default: yes; published: no.
    pub tempered: bool,
}

impl Default for MinimaxEntropy {
    fn default() -> Self {
        Self {
            labeler_penalty: None,
            row_penalty: None,
            prior_accuracy: 0.7,
            abstentions: MissingVotes::default(),
            class_balance: ClassBalance::default(),
            max_iterations: 50,
            tolerance: 5e-3,
            inner_iterations: 25,
            inner_tolerance: 1e-3,
            tempered: true,
        }
    }
}

impl MinimaxEntropy {
    fn check(&self, n_classes: usize) -> Result<()> {
        check_at_least_one(&[("max_iterations", self.max_iterations), ("inner_iterations", self.inner_iterations)])?;
        check_not_negative(&[("tolerance", self.tolerance), ("inner_tolerance", self.inner_tolerance)])?;
        let penalties = [("labeler_penalty", self.labeler_penalty), ("row_penalty", self.row_penalty)];
        for (setting, value) in penalties {
            let value = value.unwrap_or(0.0);
            ensure(value >= 0.0, || Error::config(setting, "a number that is not negative, or infinity", value))?;
        }
        let prior = self.prior_accuracy;
        ensure((0.0..1.0).contains(&prior), || Error::config("prior_accuracy", "a number from 0 to below 1", prior))?;
        self.class_balance.check(n_classes)
    }

    /// σ of a labeler that votes with probability `coverage` and is then right with this accuracy, `[n_classes, n_answers]`.
    fn first_labeler(&self, accuracy: f64, coverage: f64, n_classes: usize) -> Vec<f64> {
        let own_odds = accuracy * (n_classes - 1) as f64 / (1.0 - accuracy);
        let abstains = (1.0 - coverage).max(LEAST_SHARE) / coverage.max(LEAST_SHARE);
        let abstention = (abstains * (own_odds + (n_classes - 1) as f64)).ln();
        let of_vote = |class: usize, vote: usize| if vote == class { own_odds.ln() } else { 0.0 };
        let of_class = |class: usize| {
            let votes = (0..n_classes).map(move |vote| of_vote(class, vote));
            votes.chain(self.abstentions_are_answers().then_some(abstention))
        };
        (0..n_classes).flat_map(of_class).collect()
    }

    fn abstentions_are_answers(&self) -> bool {
        self.abstentions == MissingVotes::Answer
    }

    fn minimizer(&self) -> Lbfgs {
        Lbfgs { max_iterations: self.inner_iterations, tolerance: self.inner_tolerance, ..Lbfgs::default() }
    }

    /// λ and κ.
    fn penalties(&self, patterns: &VotePatterns, shape: SignalShape) -> (f64, f64) {
        let of_labelers = self.labeler_penalty.unwrap_or(0.25 * (shape.n_classes * shape.n_classes) as f64);
        let voted_for = patterns.n_classes_voted_for(shape.n_classes);
        let n_labelers = voted_for.iter().filter(|&&n| n > 0).count() as f64;
        // (votes / labelers) / (votes / rows)
        let default = || of_labelers * patterns.n_rows() / n_labelers;
        (of_labelers, self.row_penalty.unwrap_or_else(default))
    }
}

impl LabelModel for MinimaxEntropy {
    type Fitted = FittedMinimaxEntropy;
    type Known = ();

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedMinimaxEntropy> {
        let shape = counted.shape();
        self.check(shape.n_classes)?;
        counted.check_any_vote()?;
        let patterns = match self.abstentions {
            // Rows without votes have the class balance for labels and no other part in the fit.
            MissingVotes::Silence => counted.patterns.without_silence(),
            MissingVotes::Answer => Cow::Borrowed(&counted.patterns),
        };
        let class_balance = self.class_balance.resolve_counts(counted)?;
        let (labeler_penalty, row_penalty) = self.penalties(&patterns, shape);
        let held = match self.prior_accuracy > 0.0 && !self.abstentions_are_answers() {
            true => one_class_labelers(&patterns, shape),
            false => vec![None; shape.n_signals],
        };
        let prior = if self.prior_accuracy > 0.0 { self.prior_accuracy } else { 1.0 / shape.n_classes as f64 };
        let accuracy = |held: &Option<OneClassLabeler>| held.map_or(prior, |held| held.accuracy(&class_balance));
        let labelers = held.iter().zip(patterns.coverages());
        let first = labelers.map(|(held, coverage)| self.first_labeler(accuracy(held), coverage, shape.n_classes));
        let first: Vec<Vec<f64>> = first.collect();
        let model = Confusions {
            log_balance: class_balance.iter().map(|p| p.ln()).collect(),
            labelers: first.concat(),
            row_penalty,
            abstentions_are_answers: self.abstentions_are_answers(),
        };
        let learns = held.iter().map(Option::is_none).collect();
        let first_labelers = first.concat();
        Ok(Fit { settings: self, shape, patterns: &patterns, labeler_penalty, learns, first_labelers }.run(model))
    }

    fn published(self) -> Self {
        Self { prior_accuracy: 0.0, tempered: false, ..self }
    }

    fn class_balance(&self) -> Option<&ClassBalance> {
        Some(&self.class_balance)
    }

    fn bytes_per_pattern(&self, _n_signals: usize, n_classes: usize) -> usize {
        // Labels, those before, and a matrix per row.
        8 * n_classes * (n_classes + 4)
    }
}

/// A fitted model of minimax conditional entropy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedMinimaxEntropy {
    #[serde(with = "settings_of_fit")]
    settings: MinimaxEntropy,
    shape: SignalShape,
    model: Confusions,
    #[serde(default, skip_serializing_if = "Tempering::is_none")]
    tempering: Tempering,
    /// The penalised log-likelihood of the votes, with the classes summed out, after each round.
    pub objectives: Vec<f64>,
    /// Why the fit ended.
    pub stop: StopReason,
}

/// The settings in files of fits, without those on which labels of new rows do not depend and which fits of earlier versions do not have.
mod settings_of_fit {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{MinimaxEntropy, MissingVotes};
    use crate::label_models::ClassBalance;

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct SettingsOfFit {
        labeler_penalty: Option<f64>,
        row_penalty: Option<f64>,
        class_balance: ClassBalance,
        max_iterations: usize,
        tolerance: f64,
        inner_iterations: usize,
        inner_tolerance: f64,
    }

    pub(super) fn serialize<S: Serializer>(settings: &MinimaxEntropy, serializer: S) -> Result<S::Ok, S::Error> {
        SettingsOfFit {
            labeler_penalty: settings.labeler_penalty,
            row_penalty: settings.row_penalty,
            class_balance: settings.class_balance.clone(),
            max_iterations: settings.max_iterations,
            tolerance: settings.tolerance,
            inner_iterations: settings.inner_iterations,
            inner_tolerance: settings.inner_tolerance,
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MinimaxEntropy, D::Error> {
        let settings = SettingsOfFit::deserialize(deserializer)?;
        Ok(MinimaxEntropy {
            labeler_penalty: settings.labeler_penalty,
            row_penalty: settings.row_penalty,
            prior_accuracy: 0.0,
            abstentions: MissingVotes::default(),
            class_balance: settings.class_balance,
            max_iterations: settings.max_iterations,
            tolerance: settings.tolerance,
            inner_iterations: settings.inner_iterations,
            inner_tolerance: settings.inner_tolerance,
            tempered: false,
        })
    }
}

impl FittedMinimaxEntropy {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> Vec<f64> {
        self.model.log_balance.iter().map(|log| log.exp()).collect()
    }

    /// The probability of each vote given the true class, on a row that confuses nobody (τ = 0),
    /// `[n_signals, n_classes, n_classes]`. Where abstentions are answers, they are one column more, the last.
    pub fn confusions(&self) -> Array3<f64> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let n_answers = self.model.n_answers();
        let mut probabilities = self.model.labelers.clone();
        for row in probabilities.chunks_exact_mut(n_answers) {
            normalize_logs(row);
        }
        Array3::from_shape_vec((n_signals, n_classes, n_answers), probabilities).expect("one matrix for each labeler")
    }

    /// Labels of a row that need not have been in the fit.
    fn label(&self, votes: &[u8]) -> Vec<f64> {
        let n_classes = self.shape.n_classes;
        let minimizer = self.settings.minimizer();
        let mut of_row = vec![0.0; n_classes * self.model.n_answers()];
        let mut labels = vec![0.0; n_classes];
        self.model.posterior(votes, &of_row, &mut labels);
        until_settled(self.settings.max_iterations, self.settings.tolerance, || {
            let before = labels.clone();
            self.model.fit_row(votes, &labels, &mut of_row, &minimizer);
            let log_likelihood = self.model.posterior(votes, &of_row, &mut labels);
            (log_likelihood, largest_change(&before, &labels))
        });
        labels
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        self.settings.check(n_classes)?;
        self.tempering.check()?;
        let Confusions { log_balance, labelers, .. } = &self.model;
        self.shape.check_list("log_balance", log_balance.len(), &[n_classes])?;
        self.shape.check_list("labelers", labelers.len(), &[n_signals, n_classes, self.model.n_answers()])
    }
}

impl FittedLabelModel for FittedMinimaxEntropy {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        self.shape.check(signals)?;
        let votes = signals.votes();
        let patterns = VotePatterns::of(&votes);
        // The same votes have the same labels: each pattern is worked out once, and by itself, since it takes long.
        let label = |pattern: usize| {
            let mut labels = self.label(patterns.row(pattern));
            self.tempering.apply(patterns.row(pattern), &mut labels);
            labels
        };
        let labels: Vec<f64> = (0..patterns.len()).into_par_iter().flat_map_iter(label).collect();
        let labels = Array2::from_shape_vec((patterns.len(), self.shape.n_classes), labels)
            .expect("each pattern has a label for each class");
        SoftLabels::try_normalized(patterns.spread(&votes, labels.view()))
    }
}

/// The parameters that rows have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Confusions {
    log_balance: Vec<f64>,
    /// σ, `[n_signals, n_classes, n_answers]`.
    labelers: Vec<f64>,
    /// κ
    row_penalty: f64,
    /// Whether an abstention is one more answer, the last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    abstentions_are_answers: bool,
}

impl Confusions {
    fn n_answers(&self) -> usize {
        self.log_balance.len() + usize::from(self.abstentions_are_answers)
    }

    /// Each labeler that answers on a row, with its answer.
    fn answers(&self, votes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
        let (n_classes, all) = (self.log_balance.len(), self.abstentions_are_answers);
        let answering = votes.iter().enumerate().filter(move |(_, vote)| all || **vote != ABSTAIN);
        answering.map(move |(signal, &vote)| (signal, usize::from(vote).min(n_classes)))
    }

    /// σ[j](c, ·)
    fn labeler(&self, signal: usize, class: usize) -> &[f64] {
        let (n_classes, n_answers) = (self.log_balance.len(), self.n_answers());
        &self.labelers[(signal * n_classes + class) * n_answers..][..n_answers]
    }

    /// Writes P(Y | votes) for a row with parameters τ and returns log P(votes).
    fn posterior(&self, votes: &[u8], of_row: &[f64], posterior: &mut [f64]) -> f64 {
        let rows = of_row.chunks_exact(self.n_answers());
        for (class, (log, of_class)) in posterior.iter_mut().zip(rows).enumerate() {
            let cast = self.cast(votes, class, 1.0);
            *log = self.log_balance[class] + log_likelihood(of_class, cast, &mut []);
        }
        normalize_logs(posterior)
    }

    /// What the votes of a row say of one class's parameters of that row.
    fn cast<'a>(&'a self, votes: &'a [u8], class: usize, weight: f64) -> impl Iterator<Item = CastVote<'a>> {
        self.answers(votes).map(move |(signal, vote)| {
            let offsets = self.labeler(signal, class);
            CastVote { vote, weight, offsets }
        })
    }

    /// The best τ of a row for these labels, beginning with the present one.
    fn fit_row(&self, votes: &[u8], labels: &[f64], of_row: &mut [f64], minimizer: &Lbfgs) {
        let n_answers = self.n_answers();
        for (class, of_class) in of_row.chunks_exact_mut(n_answers).enumerate() {
            let cast = || self.cast(votes, class, labels[class]);
            maximize(of_class, &vec![0.0; n_answers], self.row_penalty, cast, minimizer);
        }
    }
}

/// One vote, with the parameters that are added to those in question.
struct CastVote<'a> {
    vote: usize,
    weight: f64,
    offsets: &'a [f64],
}

/// Σ over votes of weight · ln softmax(parameters + offsets)[vote]; adds its gradient unless there is no place for it.
fn log_likelihood<'a>(parameters: &[f64], votes: impl Iterator<Item = CastVote<'a>>, gradient: &mut [f64]) -> f64 {
    let mut probabilities = vec![0.0; parameters.len()];
    let mut value = 0.0;
    for CastVote { vote, weight, offsets } in votes {
        let logits = parameters.iter().zip(offsets).map(|(own, offset)| own + offset);
        probabilities.iter_mut().zip(logits).for_each(|(p, logit)| *p = logit);
        let logit = probabilities[vote];
        value += weight * (logit - normalize_logs(&mut probabilities));
        if let Some(of_vote) = gradient.get_mut(vote) {
            *of_vote += weight;
            gradient.iter_mut().zip(&probabilities).for_each(|(g, p)| *g -= weight * p);
        }
    }
    value
}

/// Moves `parameters` to where the log-likelihood of `votes`, less the penalty on their distance from `center`, is highest.
fn maximize<'a, I: Iterator<Item = CastVote<'a>>>(
    parameters: &mut [f64],
    center: &[f64],
    penalty: f64,
    votes: impl Fn() -> I,
    minimizer: &Lbfgs,
) {
    if penalty == f64::INFINITY {
        parameters.copy_from_slice(center);
        return;
    }
    let minimum = minimizer.minimize(parameters.to_vec(), |parameters, gradient| {
        gradient.fill(0.0);
        let value = log_likelihood(parameters, votes(), gradient);
        let mut distance = 0.0;
        for (gradient, (parameter, center)) in gradient.iter_mut().zip(parameters.iter().zip(center)) {
            let shift = parameter - center;
            *gradient = penalty * shift - *gradient;
            distance += shift * shift;
        }
        0.5 * penalty * distance - value
    });
    parameters.copy_from_slice(&minimum.point);
}

/// ½ penalty · ‖values‖², zero where an infinite penalty holds them at zero.
fn penalty_term(penalty: f64, values: &[f64]) -> f64 {
    if penalty == f64::INFINITY { 0.0 } else { 0.5 * penalty * dot(values, values) }
}

/// The alternation over the distinct rows of votes.
struct Fit<'a> {
    settings: &'a MinimaxEntropy,
    shape: SignalShape,
    patterns: &'a VotePatterns,
    /// λ
    labeler_penalty: f64,
    /// Whether each labeler's σ is learned, `[n_signals]`.
    learns: Vec<bool>,
    /// σ before anything is learned, `[n_signals, n_classes, n_answers]`.
    first_labelers: Vec<f64>,
}

/// What belongs to one distinct row of votes.
struct RowState {
    /// p, `[n_classes]`.
    labels: Vec<f64>,
    /// τ, `[n_classes, n_answers]`.
    parameters: Vec<f64>,
    /// Its part of the objective.
    objective: f64,
}

impl Fit<'_> {
    fn run(&self, mut model: Confusions) -> FittedMinimaxEntropy {
        let minimizer = self.settings.minimizer();
        let answers_of_labelers = self.answers_of_labelers(&model);
        let mut rows = self.first_rows(model.n_answers());
        let MinimaxEntropy { max_iterations, tolerance, .. } = *self.settings;
        let (objectives, stop) = until_settled(max_iterations, tolerance, || {
            self.fit_labelers(&mut model, &answers_of_labelers, &rows, &minimizer);
            let change = self.fit_rows(&model, &mut rows, &minimizer);
            (self.objective(&model, &rows), change)
        });
        let label = |pattern: usize, _: &[u8], p: &mut [f64]| p.copy_from_slice(&rows[pattern].labels);
        let learned = || Tempering::learned(self.patterns, self.shape, label);
        let tempering = if self.settings.tempered { learned() } else { Tempering::default() };
        // Labels of new rows do not depend on these, and files do not hold them.
        let settings = MinimaxEntropy {
            prior_accuracy: 0.0,
            abstentions: MissingVotes::default(),
            tempered: false,
            ..self.settings.clone()
        };
        FittedMinimaxEntropy { settings, shape: self.shape, model, tempering, objectives, stop }
    }

    /// The patterns in which each labeler answers.
    fn answers_of_labelers(&self, model: &Confusions) -> Vec<Vec<u32>> {
        let mut patterns_of = vec![Vec::new(); self.shape.n_signals];
        for (pattern, (votes, _)) in self.patterns.iter().enumerate() {
            let pattern = u32::try_from(pattern).expect("fewer than 2³² distinct rows");
            for (signal, _) in model.answers(votes) {
                patterns_of[signal].push(pattern);
            }
        }
        patterns_of
    }

    fn first_rows(&self, n_answers: usize) -> Vec<RowState> {
        let n_classes = self.shape.n_classes;
        let first = |(votes, _): (&[u8], f64)| {
            let mut labels = vec![0.0; n_classes];
            vote_shares(votes, &mut labels);
            RowState { labels, parameters: vec![0.0; n_classes * n_answers], objective: 0.0 }
        };
        self.patterns.iter().map(first).collect()
    }

    /// Every σ[j](c, ·) for the present p and τ.
    fn fit_labelers(
        &self,
        model: &mut Confusions,
        answers_of_labelers: &[Vec<u32>],
        rows: &[RowState],
        minimizer: &Lbfgs,
    ) {
        let (n_classes, n_answers) = (self.shape.n_classes, model.n_answers());
        let parts = model.labelers.par_chunks_mut(n_answers).enumerate();
        parts.for_each(|(part, parameters)| {
            let (signal, class) = (part / n_classes, part % n_classes);
            let votes = || {
                answers_of_labelers[signal].iter().map(|&pattern| {
                    let pattern = pattern as usize;
                    CastVote {
                        vote: usize::from(self.patterns.row(pattern)[signal]).min(n_classes),
                        weight: self.patterns.counts[pattern] * rows[pattern].labels[class],
                        offsets: &rows[pattern].parameters[class * n_answers..][..n_answers],
                    }
                })
            };
            if self.learns[signal] {
                let center = &self.first_labelers[part * n_answers..][..n_answers];
                maximize(parameters, center, self.labeler_penalty, votes, minimizer);
            }
        });
    }

    /// Every τ[i] and then p[i] for the present σ; returns the largest change of p.
    fn fit_rows(&self, model: &Confusions, rows: &mut [RowState], minimizer: &Lbfgs) -> f64 {
        let parts = rows.par_iter_mut().enumerate();
        let changes = parts.map(|(pattern, row)| {
            let votes = self.patterns.row(pattern);
            model.fit_row(votes, &row.labels, &mut row.parameters, minimizer);
            let before = row.labels.clone();
            let log_likelihood = model.posterior(votes, &row.parameters, &mut row.labels);
            row.objective = log_likelihood - penalty_term(model.row_penalty, &row.parameters);
            largest_change(&before, &row.labels)
        });
        changes.reduce(|| 0.0, f64::max)
    }

    /// The penalised log-likelihood, in a fixed order.
    fn objective(&self, model: &Confusions, rows: &[RowState]) -> f64 {
        let sum: f64 = rows.iter().zip(&self.patterns.counts).map(|(row, count)| count * row.objective).sum();
        let shifts = model.labelers.iter().zip(&self.first_labelers).map(|(value, first)| value - first);
        sum - penalty_term(self.labeler_penalty, &shifts.collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{array, s};

    use super::*;
    use crate::label_models::planted::{Planted, assert_near, signals};
    use crate::label_models::{Abstentions, DawidSkene};

    /// Without row parameters and penalties, iterated to the end.
    fn plain() -> MinimaxEntropy {
        MinimaxEntropy {
            labeler_penalty: Some(0.0),
            row_penalty: Some(f64::INFINITY),
            prior_accuracy: 0.0,
            abstentions: MissingVotes::Silence,
            class_balance: ClassBalance::Uniform,
            max_iterations: 2000,
            tolerance: 1e-9,
            inner_iterations: 200,
            inner_tolerance: 1e-9,
            tempered: false,
        }
    }

    #[test]
    fn without_row_parameters_and_penalties_it_is_dawid_skene() {
        let labelers = [(0.9, 0.8), (0.8, 0.6), (0.7, 0.7), (0.8, 0.7), (0.9, 0.6)];
        let planted = Planted::one_coin(1500, &[1.0 / 3.0; 3], &labelers, 3).signals;
        let readings = [(Abstentions::Ignored, MissingVotes::Silence), (Abstentions::Answer, MissingVotes::Answer)];
        let cases = [(&planted, readings[0]), (&planted, readings[1])];
        let exact = Planted::exact_population([18, 15, 12]);
        for (signals, (of_dawid_skene, abstentions)) in cases.into_iter().chain([(&exact, readings[0])]) {
            let dawid_skene = DawidSkene {
                smoothing: 0.0,
                tolerance: 1e-9,
                abstentions: of_dawid_skene,
                class_balance: ClassBalance::Uniform,
                ..DawidSkene::default().published()
            };
            let expected = dawid_skene.fit(signals).unwrap();
            let found = MinimaxEntropy { abstentions, ..plain() }.fit(signals).unwrap();
            assert_eq!(found.stop, StopReason::Converged);
            // The votes leave no confusion at zero.
            let n_answers = found.confusions().dim().2;
            assert_eq!(n_answers, signals.n_classes() + usize::from(abstentions == MissingVotes::Answer));
            let confusions = expected.confusions().slice(s![.., .., ..n_answers]).to_owned();
            assert!(confusions.iter().all(|&p| p > 1e-3), "{confusions}");
            let difference = &found.confusions() - &confusions;
            assert!(difference.iter().all(|d| d.abs() < 1e-5), "{difference}");
            let expected = expected.predict_proba(signals).unwrap();
            let found = found.predict_proba(signals).unwrap();
            assert_near(found.values(), &expected.values().to_owned(), 1e-5);
        }
    }

    #[test]
    fn rules_are_read_by_their_silence_where_abstentions_are_answers() {
        let problem = Planted::keywords(2000, &[0, 0, 0, 1, 1], 0.5, 0.05, 3);
        let silent: Vec<usize> = {
            let votes = problem.signals.votes();
            (0..2000).filter(|&row| votes.row_bytes(row).iter().all(|&vote| vote == ABSTAIN)).collect()
        };
        let classes = |abstentions| {
            let model = MinimaxEntropy { abstentions, ..MinimaxEntropy::default() };
            let fitted = model.fit(&problem.signals).unwrap();
            fitted.predict_proba(&problem.signals).unwrap().argmax()
        };
        // On a row without votes three rules for class 0 keep silent, but only two for class 1.
        let found = classes(MissingVotes::Answer);
        assert!(problem.truth.accuracy(&found) > 0.85, "{}", problem.truth.accuracy(&found));
        assert!(silent.len() > 100 && silent.iter().all(|&row| found[row] == 1));
        let unheard = classes(MissingVotes::Silence);
        assert!(problem.truth.accuracy(&unheard) < problem.truth.accuracy(&found));
    }

    #[test]
    fn the_objective_never_falls() {
        for seed in 0..3 {
            let problem = Planted::new(300, 3, &[0.4, 0.5, 0.7, 0.8], 0.4, seed);
            for row_penalty in [None, Some(1.0), Some(f64::INFINITY)] {
                let model =
                    MinimaxEntropy { row_penalty, tolerance: 0.0, max_iterations: 20, ..MinimaxEntropy::default() };
                let fitted = model.fit(&problem.signals).unwrap();
                let objectives = fitted.objectives;
                assert_eq!(objectives.len(), 20);
                assert!(objectives.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9), "{seed}");
            }
        }
    }

    #[test]
    fn infinite_penalties_leave_the_class_balance() {
        let problem = Planted::new(100, 3, &[0.8, 0.7, 0.6], 0.2, 1);
        let model = MinimaxEntropy {
            labeler_penalty: Some(f64::INFINITY),
            row_penalty: Some(f64::INFINITY),
            class_balance: ClassBalance::Uniform,
            ..MinimaxEntropy::default().published()
        };
        let fitted = model.fit(&problem.signals).unwrap();
        assert!(fitted.confusions().iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-12));
        let labels = fitted.predict_proba(&problem.signals).unwrap();
        assert!(labels.values().iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-12));
        // A penalty as large as that does nearly the same.
        let large = MinimaxEntropy {
            labeler_penalty: Some(1e9),
            row_penalty: Some(1e9),
            class_balance: ClassBalance::Uniform,
            ..MinimaxEntropy::default().published()
        };
        let labels = large.fit(&problem.signals).unwrap().predict_proba(&problem.signals).unwrap();
        assert!(labels.values().iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-3));
    }

    #[test]
    fn gradients_match_finite_differences() {
        let offsets = [[0.3, -0.2, 0.9], [-1.0, 0.4, 0.1]];
        let votes = || {
            let cast = [(0, 0.7), (2, 1.9)].into_iter().zip(&offsets);
            cast.map(|((vote, weight), offsets)| CastVote { vote, weight, offsets })
        };
        let point = [0.2, -0.7, 1.1];
        let mut gradient = [0.0; 3];
        log_likelihood(&point, votes(), &mut gradient);
        for index in 0..3 {
            let shifted = |by: f64| {
                let mut point = point;
                point[index] += by;
                log_likelihood(&point, votes(), &mut [])
            };
            let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert_abs_diff_eq!(gradient[index], numeric, epsilon = 1e-8);
        }
    }

    #[test]
    fn rules_of_one_class_do_not_end_in_one_class() {
        // Three rules for class 0 and one for class 1, which others contradict at times.
        let problem = Planted::keywords(2000, &[0, 0, 0, 1], 0.4, 0.1, 5);
        let covered = problem.signals.covered_rows();
        let (signals, truth) = (problem.signals.select_rows(&covered), problem.truth.select_rows(&covered));
        let accuracy = |model: MinimaxEntropy| {
            let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
            truth.accuracy(&labels.argmax())
        };
        let found = accuracy(MinimaxEntropy::default());
        assert!(found > 0.7, "{found}");
        let published = accuracy(MinimaxEntropy::default().published());
        assert!(published < found - 0.05, "{published}, {found}");
    }

    #[test]
    fn one_vote_moves_the_parameters_as_far_as_the_penalty_allows() {
        // Two classes, one vote for class 0: x = (t, −t) where 2 κ t = 2 (1 − softmax(x)[0]), κ = ½.
        let mut parameters = [0.0, 0.0];
        let votes = || std::iter::once(CastVote { vote: 0, weight: 1.0, offsets: &[0.0, 0.0] });
        let minimizer = Lbfgs { tolerance: 1e-10, ..Lbfgs::default() };
        maximize(&mut parameters, &[0.0, 0.0], 0.5, votes, &minimizer);
        let [t, minus_t] = parameters;
        assert_abs_diff_eq!(t, -minus_t, epsilon = 1e-9);
        assert_abs_diff_eq!(0.5 * t, 1.0 / (1.0 + (2.0 * t).exp()), epsilon = 1e-9);
    }

    #[test]
    fn default_penalties_are_those_of_the_formula() {
        // Nine votes of three labelers on five rows; one row and one labeler have none.
        let votes = array![[0, 0, -1, -1], [1, 1, 1, -1], [-1, -1, -1, -1], [0, 1, -1, -1], [-1, 0, 1, -1]];
        let signals = signals(votes, 2);
        let patterns = VotePatterns::of(&signals.votes());
        let patterns = patterns.without_silence();
        let penalties = MinimaxEntropy::default().penalties(&patterns, SignalShape::of(&signals));
        assert_abs_diff_eq!(penalties.0, 1.0);
        assert_abs_diff_eq!(penalties.1, (9.0 / 3.0) / (9.0 / 4.0), epsilon = 1e-12);
    }

    #[test]
    fn repeating_every_row_is_a_count_and_nothing_else() {
        let problem = Planted::new(200, 3, &[0.8, 0.6, 0.7], 0.3, 3);
        let votes = problem.signals.votes();
        let patterns = VotePatterns::of(&votes);
        let patterns = patterns.without_silence();
        assert!(patterns.len() < 60);
        let settings = MinimaxEntropy::default();
        let shape = SignalShape::of(&problem.signals);
        let (labeler_penalty, row_penalty) = settings.penalties(&patterns, shape);
        let run = |patterns: &VotePatterns| {
            let model = Confusions {
                log_balance: vec![(1f64 / 3.0).ln(); 3],
                labelers: vec![0.0; 27],
                row_penalty,
                abstentions_are_answers: false,
            };
            let (learns, first_labelers) = (vec![true; 3], vec![0.0; 27]);
            Fit { settings: &settings, shape, patterns, labeler_penalty, learns, first_labelers }.run(model)
        };
        let counted = run(&patterns);
        let one_by_one = run(&VotePatterns::all_rows(&votes).without_silence());
        assert_eq!(counted.objectives.len(), one_by_one.objectives.len());
        let difference = &counted.confusions() - &one_by_one.confusions();
        assert!(difference.iter().all(|d| d.abs() < 1e-9), "{difference}");
    }

    #[test]
    fn unequal_classes_are_labelled_almost_as_well_as_with_known_parameters() {
        let problem = Planted::unequal(5000, &[0.65, 0.35], 7);
        let best = problem.best_accuracy(&[0.65, 0.35]);
        let model = MinimaxEntropy::default();
        let labels = model.fit(&problem.signals).unwrap().predict_proba(&problem.signals).unwrap();
        let accuracy = problem.truth.accuracy(&labels.argmax());
        assert!(accuracy > best - 0.01, "{accuracy}, best {best}");
    }

    #[test]
    fn rows_without_votes_get_the_class_balance() {
        let signals = signals(array![[0, 0, 1], [1, 1, 1], [-1, -1, -1]], 2);
        let class_balance = ClassBalance::Given(vec![0.7, 0.3]);
        let model = MinimaxEntropy { class_balance, ..MinimaxEntropy::default() };
        let fitted = model.fit(&signals).unwrap();
        assert_abs_diff_eq!(fitted.class_balance()[..], [0.7, 0.3][..], epsilon = 1e-12);
        let labels = fitted.predict_proba(&signals).unwrap();
        assert_abs_diff_eq!(labels.values()[[2, 0]], 0.7, epsilon = 1e-12);
    }

    #[test]
    fn a_row_is_labelled_without_regard_to_the_rows_beside_it() {
        let problem = Planted::new(300, 3, &[0.8, 0.6, 0.7], 0.3, 8);
        let fitted = MinimaxEntropy::default().fit(&problem.signals).unwrap();
        let all = fitted.predict_proba(&problem.signals).unwrap();
        for row in [0, 7, 299] {
            let alone = problem.signals.votes().select_rows(&[row]);
            let alone = fitted.predict_proba(&WeakSignals::from_votes(alone).unwrap()).unwrap();
            assert_eq!(alone.values().row(0), all.values().row(row));
        }
    }

    #[test]
    fn extreme_votes_give_finite_labels() {
        let cases = [array![[0]], array![[1, 1, 1]], array![[0, -1], [0, -1]], array![[0, 1], [1, 0]]];
        for votes in cases {
            let signals = signals(votes, 2);
            for labeler_penalty in [None, Some(0.0)] {
                let model =
                    MinimaxEntropy { labeler_penalty, row_penalty: labeler_penalty, ..MinimaxEntropy::default() };
                let labels = model.fit(&signals).unwrap().predict_proba(&signals).unwrap();
                assert!(labels.values().iter().all(|p| p.is_finite()));
            }
        }
    }

    #[test]
    fn bad_settings_and_empty_votes_are_errors() {
        let votes = signals(array![[0, 1], [1, 1]], 2);
        let bad = |change: fn(&mut MinimaxEntropy)| {
            let mut model = MinimaxEntropy::default();
            change(&mut model);
            model.fit(&votes).unwrap_err().to_string()
        };
        assert!(bad(|model| model.max_iterations = 0).starts_with("max_iterations"));
        assert!(bad(|model| model.inner_iterations = 0).starts_with("inner_iterations"));
        assert!(bad(|model| model.tolerance = -1.0).starts_with("tolerance"));
        assert!(bad(|model| model.inner_tolerance = f64::NAN).starts_with("inner_tolerance"));
        assert!(bad(|model| model.labeler_penalty = Some(-1.0)).starts_with("labeler_penalty"));
        assert!(bad(|model| model.row_penalty = Some(f64::NAN)).starts_with("row_penalty"));
        let zero = |model: &mut MinimaxEntropy| {
            model.class_balance = ClassBalance::Given(vec![1.0, 0.0]);
        };
        assert!(bad(zero).starts_with("class_balance"));
        let error = MinimaxEntropy::default().fit(&signals(array![[-1, -1]], 2)).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
