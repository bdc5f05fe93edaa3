//! The learner: features and weak signals in, a conditional density over labels out.

// Deviation: the paper adds up samples; its code averages them after clipping, as here, and here the means are also scaled to add up to
// one, which changes no largest class.

use std::borrow::Cow;

use burn::tensor::Device;
use labelflow_flow::{Coupling, CouplingFlowConfig, Flow, MAX_LOG_SCALE};
use labelflow_weak::calibration::{Calibration, CalibrationMethod, ConformalSets};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::{Features, SoftLabels, Truth, WeakDataset};
use labelflow_weak::settings::check_at_least_one;
use labelflow_weak::warnings::{DataWarning, LabelerTally};
use ndarray::{Array2, Array3, ArrayView2, Axis, s, stack};
use serde::{Deserialize, Serialize};

use crate::constraints::{ConstraintConfig, Penalty, SignalTotals, Whole};
use crate::learners::{FitOptions, FittedFlow, FlowLearner, FlowSettings, PreparedFit, Scaling, impl_classifier};
use crate::sources::{Demands, FitRows, RowLayout, RowSignals, RowSource, SignalForm};
use crate::storage::ModelTask;
use crate::training::{DeviceKind, Objective, Preset, TrainConfig};
use crate::{Error, Result};

/// The most samples that a prediction averages: all of those of a row are held at once, and a file may claim any number.
const MOST_SAMPLES: usize = 100_000;

/// The most flows of an ensemble.
const MOST_MEMBERS: usize = 256;
/// The largest logarithm of a scale that does not overflow in a chain of couplings.
const MOST_LOG_SCALE: f64 = 10.0;

/// Settings of a label learning flow for classification, or of several side by side. The defaults are the paper's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabelFlowClassifier {
    /// Where all randomness comes from. Default: 0.
    pub seed: u64,
    /// Steps of the flow, each of which warps every class once. Default: 8.
    pub n_steps: usize,
    /// Width of all hidden layers. Default: 64.
    pub d_hidden: usize,
    /// Flows that are trained side by side and averaged in prediction, 256 at most. Default: 1.
    #[serde(skip_serializing_if = "is_one")]
    pub n_members: usize,
    /// How far a coupling may shrink or stretch a label: the largest logarithm of the factor. Shallow flows need more than deep ones to grow
    /// sure of a label. Default: 0.5.
    #[serde(skip_serializing_if = "is_papers")]
    pub max_log_scale: f64,
    /// Samples of each flow that a prediction averages, 100,000 at most. Default: 10.
    pub n_samples: usize,
    /// The weight of the likelihood term; 0 gives the paper's "w/o-nll", and less than 0 samples that spread over what the constraints
    /// allow. Default: 1.
    pub likelihood_weight: f64,
    /// The weight that it has moved to by the last epoch, in equal steps. Default: none, it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_likelihood_weight: Option<f64>,
    /// Where to compute. Default: cpu.
    pub device: DeviceKind,
    /// What is done to the features before anything else. Default: standardize.
    pub scaling: Scaling,
    /// How training proceeds.
    pub training: TrainConfig,
    /// What must hold of the labels. Default: range, sum to one and error bounds, with weight 10 each.
    pub constraints: Vec<ConstraintConfig>,
}

impl Default for LabelFlowClassifier {
    fn default() -> Self {
        Self {
            seed: 0,
            n_steps: 8,
            d_hidden: 64,
            n_members: 1,
            max_log_scale: MAX_LOG_SCALE,
            n_samples: 10,
            likelihood_weight: 1.0,
            final_likelihood_weight: None,
            device: DeviceKind::Cpu,
            scaling: Scaling::default(),
            training: TrainConfig::default(),
            constraints: ConstraintConfig::classification(),
        }
    }
}

/// The weight of what a label model expects. Its violations are smaller than those of bounds: each row is in one group alone.
const LABEL_MODEL_WEIGHT: f64 = 100.0;

/// The weight of the likelihood at the start of [`LabelFlowClassifier::spread_first`].
const SPREAD: f64 = -0.1;
/// Samples that differ want more of them.
const SPREAD_SAMPLES: usize = 100;

impl LabelFlowClassifier {
    /// The same settings, but labels first spread over all that the constraints allow, and the likelihood gains weight only as training goes
    /// on; predictions average 100 samples.
    ///
    /// The paper's objective rewards a flow for being sure from the first step on, of whatever fits the constraints. Here it first learns what
    /// does not follow from them.
    #[must_use]
    pub fn spread_first(self) -> Self {
        let final_likelihood_weight = Some(self.likelihood_weight);
        Self { likelihood_weight: SPREAD, final_likelihood_weight, n_samples: SPREAD_SAMPLES, ..self }
    }

    /// The same settings, trained in a named way on a dataset of this many rows and classes.
    #[must_use]
    pub fn with_preset(self, preset: Preset, n_rows: usize, n_classes: usize) -> Self {
        let training = preset.training(n_rows);
        if preset != Preset::Ensemble {
            return Self { training, ..self };
        }
        let [n_members, n_steps] = match n_classes {
            0..=2 => [8, 4],
            3..=10 => [8, 2],
            _ => [4, 1],
        };
        let scaling = if self.scaling == Scaling::Standardize { Scaling::Auto } else { self.scaling };
        // As much as the paper's flow may shrink a label, and half more.
        let max_log_scale = (6.0 / n_steps as f64).min(4.0);
        Self { n_members, n_steps, d_hidden: 32, max_log_scale, likelihood_weight: 2.0, scaling, training, ..self }
    }

    /// Small flows side by side, trained for a short time and averaged in prediction, for a dataset of this many rows and classes.
    ///
    /// One flow ends at one of many labelings that the constraints allow, and another start at another; their mean is better than most of
    /// them. A shallow flow needs couplings that may shrink labels more, and a larger weight of the likelihood makes it sure within
    /// fewer passes. Its time grows with the classes, so that many classes have fewer and shallower flows.
    #[must_use]
    pub fn ensemble(n_rows: usize, n_classes: usize) -> Self {
        Self::default().with_preset(Preset::Ensemble, n_rows, n_classes)
    }

    /// The same settings for votes of labelers whose error bounds nobody knows: what the label model of the votes expects stands in the
    /// place of bounds.
    #[must_use]
    pub fn of_votes(mut self) -> Self {
        for constraint in &mut self.constraints {
            if matches!(constraint, ConstraintConfig::ErrorBound { .. }) {
                *constraint = ConstraintConfig::LabelModel { weight: LABEL_MODEL_WEIGHT };
            }
        }
        self
    }

    /// Trains on a dataset.
    pub fn fit(&self, dataset: &WeakDataset) -> Result<FittedLabelFlowClassifier> {
        self.fit_with(dataset, FitOptions::default())
    }

    /// Trains on a dataset with further constraints, from a checkpoint, or watched by an observer.
    pub fn fit_with(&self, dataset: &WeakDataset, options: FitOptions<'_>) -> Result<FittedLabelFlowClassifier> {
        self.prepare(dataset)?.fit(options)
    }

    /// A fit to a dataset that has not begun.
    pub fn prepare<'a>(&self, dataset: &'a WeakDataset) -> Result<PreparedFit<'a, Self>> {
        let (signals, config) = (dataset.signals(), self.clone());
        let seen = if self.leaves_out_unvoted() { dataset.covered() } else { Cow::Borrowed(dataset) };
        let features = match &seen {
            Cow::Borrowed(dataset) => Cow::Borrowed(dataset.features()),
            Cow::Owned(dataset) => Cow::Owned(dataset.features().clone()),
        };
        let rows = FitRows::in_memory(self, dataset.features(), features, Some(signals), move |hash| {
            for row in 0..signals.n_rows() {
                for signal in 0..signals.n_signals() {
                    for class in 0..signals.n_classes() {
                        let q = signals.probability(row, signal, class).unwrap_or(-1.0);
                        hash.update(q.to_le_bytes());
                    }
                }
            }
            dataset.bounds().values().iter().for_each(|bound| hash.update(bound.to_le_bytes()));
        })?;
        let objective = move |_: &Features, _: &RowSignals, device: &Device| {
            config.objective(|_, constraint| constraint.build(&seen, device))
        };
        let (labels, n_uncovered) = (Classes::new(signals.classes()), signals.n_uncovered() as u64);
        let mut tally = LabelerTally::new(signals.labelers(), signals.classes());
        tally.add(signals.view());
        let bounds = self.needs_bounds().then_some(dataset.bounds());
        let warnings = tally.warnings(bounds).into_iter().map(DataWarning::Labelers);
        Ok(PreparedFit::new(self, rows, labels, n_uncovered, warnings, objective))
    }

    /// Reads all rows of a source once, and decides how many of them are in memory at a time so that training takes at most `memory`
    /// bytes beside what reading takes.
    ///
    /// If all rows fit, training is that of [`fit`](Self::fit), to the last bit. The rows of a step are as many as
    /// [`BatchSize::Rows`](crate::training::BatchSize::Rows) says or, with [`BatchSize::Auto`](crate::training::BatchSize::Auto), as many as fit into a third of the
    /// memory. Another memory may mean other windows, and so another order of rows.
    pub fn prepare_source<'a>(
        &self,
        source: &'a dyn RowSource,
        bounds: Bounds,
        memory: u64,
    ) -> Result<PreparedFit<'a, Self>> {
        let RowLayout { n_signals, n_classes, form, .. } = RowLayout::of(source);
        if bounds.values().dim() != (n_signals, n_classes) {
            let expected = format!("bounds of {n_signals} labelers and {n_classes} classes");
            return Err(Error::data("bounds", expected, format!("{:?}", bounds.values().dim())));
        }
        if form == SignalForm::None {
            return Err(Error::data("signals", "votes or probabilities", "none"));
        }
        let mut signals = SignalTotals::new(n_signals, n_classes);
        let mut tally = LabelerTally::new(source.labelers(), source.classes());
        let mut groups = Whole::groups_of(&self.constraints, source.feature_names())?;
        let of_bounds: Vec<f64> = bounds.values().iter().copied().collect();
        let demands = Demands {
            memory,
            d_labels: self.n_members * n_classes,
            // Slopes of error bounds.
            constraint_bytes: 8 * (n_signals * n_classes) as u64,
            beside_settings: format!("{of_bounds:?}"),
        };
        let mut visit = |features: &Features, of_rows: &RowSignals| {
            if let Some(rows) = of_rows.view(n_classes) {
                signals.add(rows);
                tally.add(rows);
            }
            groups.iter_mut().flatten().for_each(|group| group.add(features.values()));
            Ok(())
        };
        let rows = FitRows::of_source(self, source, &demands, &mut visit)?;
        let n_uncovered = signals.n_uncovered;
        if n_uncovered == source.n_rows() {
            return Err(Error::data("signals", "at least one vote", "abstentions only"));
        }
        let warnings = tally.warnings(Some(&bounds)).into_iter().map(DataWarning::Labelers);
        let whole = Whole { n_rows: source.n_rows(), signals, bounds, groups };
        let config = self.clone();
        let objective = move |features: &Features, signals: &RowSignals, device: &Device| {
            config.objective(|index, constraint| constraint.build_part(index, features, signals, &whole, device))
        };
        let labels = Classes::new(source.classes());
        Ok(PreparedFit::new(self, rows, labels, n_uncovered, warnings, objective))
    }

    /// Whether any constraint reads error bounds.
    pub fn needs_bounds(&self) -> bool {
        self.constraints.iter().any(|one| matches!(one, ConstraintConfig::ErrorBound { .. }))
    }

    /// Whether rows that nobody voted on are left out of training on rows in memory: what a label model expects says nothing of them, and the likelihood alone would make
    /// them sure of anything.
    pub fn leaves_out_unvoted(&self) -> bool {
        use ConstraintConfig::{ClassBalance, GroupMean, LabelModel};
        let has_label_model = self.constraints.iter().any(|one| matches!(one, LabelModel { .. }));
        has_label_model && !self.constraints.iter().any(|one| matches!(one, ClassBalance { .. } | GroupMean { .. }))
    }

    fn objective(&self, build: impl Fn(usize, &ConstraintConfig) -> Result<Penalty>) -> Result<Objective> {
        let penalties = self.constraints.iter().enumerate();
        Ok(Objective {
            likelihood_weight: self.likelihood_weight,
            final_likelihood_weight: self.final_likelihood_weight,
            penalties: penalties.map(|(index, one)| build(index, one)).collect::<Result<_>>()?,
            n_members: self.n_members,
        })
    }
}

impl FlowLearner for LabelFlowClassifier {
    const TASK: ModelTask = ModelTask::Classification;
    type Bijection = Coupling;
    type Labels = Classes;

    fn settings(&self) -> FlowSettings<'_> {
        let &Self { seed, n_steps, d_hidden, n_members, likelihood_weight, device, scaling, ref training, .. } = self;
        FlowSettings {
            seed,
            n_steps,
            d_hidden,
            n_members,
            likelihood_weight,
            weight_decay: 0.0,
            device,
            scaling,
            training,
        }
    }

    fn check_own(&self) -> Result<()> {
        check_samples("n_samples", self.n_samples)?;
        check_at_least_one(&[("n_members", self.n_members)])?;
        if self.n_members > MOST_MEMBERS {
            return Err(Error::config("n_members", format!("at most {MOST_MEMBERS}"), self.n_members));
        }
        if !(self.max_log_scale > 0.0 && self.max_log_scale <= MOST_LOG_SCALE) {
            let expected = format!("a number above 0, at most {MOST_LOG_SCALE}");
            return Err(Error::config("max_log_scale", expected, self.max_log_scale));
        }
        match self.final_likelihood_weight.filter(|weight| !weight.is_finite()) {
            Some(weight) => Err(Error::config("final_likelihood_weight", "a finite number", weight)),
            None => Ok(()),
        }
    }

    fn with_device(self, device: DeviceKind) -> Self {
        Self { device, ..self }
    }

    fn d_labels(&self, classes: &Classes) -> usize {
        self.n_members * classes.classes.len()
    }

    fn check_labels(labels: &Classes) -> Result<()> {
        if labels.classes.len() < 2 {
            return Err(Error::data("model", "at least two classes", labels.classes.len()));
        }
        match &labels.certainty.calibration {
            Some(calibration) => Ok(calibration.check(labels.classes.len())?),
            None => Ok(()),
        }
    }

    fn init_flow(&self, d_features: usize, d_labels: usize, device: &Device) -> Flow<Coupling> {
        let Self { d_hidden, n_steps, n_members, max_log_scale, seed, .. } = *self;
        let d_labels = d_labels / n_members;
        CouplingFlowConfig { d_features, d_labels, d_hidden, n_steps, n_members, max_log_scale }.init(seed, device)
    }
}

fn is_one(n_members: &usize) -> bool {
    *n_members == 1
}

fn is_papers(max_log_scale: &f64) -> bool {
    *max_log_scale == MAX_LOG_SCALE
}

fn check_samples(setting: &str, n_samples: usize) -> Result<()> {
    match n_samples {
        0 => Err(Error::config(setting, "at least 1", n_samples)),
        1..=MOST_SAMPLES => Ok(()),
        _ => Err(Error::config(setting, format!("at most {MOST_SAMPLES}"), n_samples)),
    }
}

/// A trained label learning flow: p(y|x) with samples.
pub type FittedLabelFlowClassifier = FittedFlow<LabelFlowClassifier>;

/// What the labels of classification are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Classes {
    classes: Vec<String>,
    #[serde(default, skip_serializing_if = "Certainty::is_empty")]
    certainty: Certainty,
}

impl Classes {
    fn new(classes: &[String]) -> Self {
        Self { classes: classes.to_vec(), certainty: Certainty::default() }
    }
}

/// What was learned from labelled rows after training: how sure predictions may be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Certainty {
    /// Applied to probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Which classes a row may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<ConformalSets>,
}

impl Certainty {
    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl FittedLabelFlowClassifier {
    /// The most probable class of each row.
    pub fn predict(&self, features: &Features) -> Result<Vec<usize>> {
        Ok(self.predict_proba(features)?.argmax())
    }

    /// Probabilities of the classes of each row: the mean of samples, each clipped to [0, 1], then [calibrated](Self::calibrated) if that was
    /// done.
    ///
    /// A row's probabilities depend on its features alone, never on the other rows. Of a row so far from the training rows that the
    /// flow overflows nothing is known: its classes are equally probable. When that is all rows, it is an error.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        Ok(self.predict_proba_with_lost(features)?.0)
    }

    /// [`predict_proba`](Self::predict_proba), and the rows on which the flow overflows.
    pub fn predict_proba_with_lost(&self, features: &Features) -> Result<(SoftLabels, Vec<usize>)> {
        let PartPrediction { labels, lost, .. } = self.predict_part(features)?;
        if !lost.is_empty() && lost.len() == features.n_rows() {
            return Err(Self::all_rows_lost());
        }
        Ok((labels, lost))
    }

    /// The mean of clipped samples, calibrated, and the rows on which the flow overflows.
    pub(crate) fn mean_labels(&self, samples: Array3<f32>) -> (SoftLabels, Vec<usize>) {
        let (mean, lost) = mean_of_samples(&samples, |label| f64::from(label.clamp(0.0, 1.0)), 1.0);
        let labels = SoftLabels::normalized(mean);
        let Some(calibration) = &self.labels.certainty.calibration else { return (labels, lost) };
        let mut calibrated = calibration.apply(&labels).values().to_owned();
        lost.iter().for_each(|&row| calibrated.row_mut(row).fill(1.0));
        (SoftLabels::normalized(calibrated), lost)
    }

    /// What speaks for each class of each row, on no particular scale: the mean of samples as the flow gives them, `[n_rows, n_classes]`.
    ///
    /// Unlike probabilities, scores of different rows are all different.
    pub fn scores(&self, features: &Features) -> Result<Array2<f64>> {
        Ok(Self::mean_scores(&self.averaged_samples(features)?))
    }

    /// The mean of samples as the flow gives them. On rows on which it overflows nothing speaks against any class.
    pub(crate) fn mean_scores(samples: &Array3<f32>) -> Array2<f64> {
        mean_of_samples(samples, f64::from, f64::INFINITY).0
    }

    /// The same model with probabilities that are calibrated on labelled rows, as others than the training rows.
    pub fn calibrated(mut self, method: CalibrationMethod, features: &Features, truth: &Truth) -> Result<Self> {
        self.labels.certainty.calibration = None;
        let labels = self.predict_proba(features)?;
        self.labels.certainty.calibration = Some(Calibration::fit(method, &labels, truth)?);
        Ok(self)
    }

    /// The same model with [sets of classes](Self::predict_sets) that hold the true class of this share of rows, learned from labelled rows
    /// other than the training rows.
    pub fn with_sets(mut self, level: f64, features: &Features, truth: &Truth) -> Result<Self> {
        let scores = self.scores(features)?;
        self.labels.certainty.sets = Some(ConformalSets::fit(scores.view(), truth, level)?);
        Ok(self)
    }

    /// The same model with other knowledge of how sure it may be.
    pub fn with_certainty(mut self, certainty: Certainty) -> Result<Self> {
        self.labels.certainty = certainty;
        LabelFlowClassifier::check_labels(&self.labels)?;
        Ok(self)
    }

    /// What is known of how sure it may be.
    pub fn certainty(&self) -> &Certainty {
        &self.labels.certainty
    }

    /// The classes that each row may have, after [`with_sets`](Self::with_sets). Of a row on which the flow overflows, all.
    pub fn predict_sets(&self, features: &Features) -> Result<Vec<Vec<usize>>> {
        let expected = "a model that learned sets from labelled rows";
        let none = || Error::config("sets", expected, "none");
        let sets = self.labels.certainty.sets.as_ref().ok_or_else(none)?;
        let scores = self.scores(features)?;
        Ok(scores.axis_iter(Axis(0)).map(|scores| sets.set(scores)).collect())
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows, n_classes]`, as the flow gives them: not clipped, and adding up to one only as far
    /// as the constraint was learned. Of several flows each gives a sample in turn.
    pub fn sample(&self, features: &Features, n_samples: usize) -> Result<Array3<f32>> {
        let (n_members, n_classes) = (self.config.n_members, self.labels.classes.len());
        let n_rounds = n_samples.div_ceil(n_members);
        let samples = self.draw(features, [n_rounds, n_members * n_classes])?;
        if n_members == 1 {
            return Ok(samples);
        }
        let of_round = |round: usize| (0..n_members).map(move |member| (round, member));
        let of_member = |(round, member): (usize, usize)| {
            samples.slice(s![round, .., member * n_classes..(member + 1) * n_classes])
        };
        let in_turn: Vec<ArrayView2<'_, f32>> =
            (0..n_rounds).flat_map(of_round).take(n_samples).map(of_member).collect();
        match in_turn.is_empty() {
            true => Ok(Array3::zeros((0, samples.dim().1, n_classes))),
            false => Ok(stack(Axis(0), &in_turn).expect("samples have the same shape")),
        }
    }

    /// The samples that a prediction averages.
    fn averaged_samples(&self, features: &Features) -> Result<Array3<f32>> {
        self.sample(features, self.config.n_members * self.config.n_samples)
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.labels.classes
    }

    /// The same model with another number of samples to average.
    pub fn with_samples(mut self, n_samples: usize) -> Result<Self> {
        check_samples("samples", n_samples)?;
        self.config.n_samples = n_samples;
        Ok(self)
    }

    /// Probabilities and, if sets were learned, [`predict_sets`](Self::predict_sets), from the same samples. Here all rows may be lost.
    pub fn predict_part(&self, features: &Features) -> Result<PartPrediction> {
        let samples = self.averaged_samples(features)?;
        let sets = self.labels.certainty.sets.as_ref().map(|sets| {
            let scores = Self::mean_scores(&samples);
            scores.axis_iter(Axis(0)).map(|scores| sets.set(scores)).collect()
        });
        let (labels, lost) = self.mean_labels(samples);
        Ok(PartPrediction { labels, lost, sets })
    }

    /// What the prediction of one more row takes, in bytes.
    pub fn bytes_per_row(&self) -> usize {
        let d_labels = self.labels.classes.len();
        // Noise and samples as arrays and as tensors, then in double precision; labels, and what is written of them.
        let samples = self.config.n_members * self.config.n_samples * d_labels * (4 * 4 + 8) + d_labels * 64;
        self.condition_bytes() + samples
    }

    /// The error of a table all of whose rows are lost.
    pub fn all_rows_lost() -> Error {
        let found = "numbers so far from it that the flow overflows, in every row";
        labelflow_weak::Error::data("features", "numbers in the range of the training rows", found)
            .with_hint("check the units")
            .into()
    }
}

/// The mean of the numbers that samples are taken for, `[n_rows, n_classes]`, and the rows on which the flow overflows, which get another
/// number.
fn mean_of_samples(samples: &Array3<f32>, number: fn(f32) -> f64, of_lost: f64) -> (Array2<f64>, Vec<usize>) {
    let mut mean = samples.mapv(number).mean_axis(Axis(0)).expect("at least one sample");
    let mut lost = Vec::new();
    for (index, mut row) in mean.axis_iter_mut(Axis(0)).enumerate() {
        if row.iter().any(|number| number.is_nan()) {
            row.fill(of_lost);
            lost.push(index);
        }
    }
    (mean, lost)
}

/// What is predicted of the rows of a part of a table.
///
/// A row's prediction depends on its features alone, so the predictions of the parts are those of the whole, bit for bit. Whether
/// any row was in the range of the training rows is left to whoever has seen all parts.
#[derive(Debug, Clone, PartialEq)]
pub struct PartPrediction {
    /// Probabilities of the classes.
    pub labels: SoftLabels,
    /// Rows on which the flow overflows: their classes are equally probable.
    pub lost: Vec<usize>,
    /// The classes that each row may have, if the model learned such sets.
    pub sets: Option<Vec<Vec<usize>>>,
}

impl_classifier!(FittedLabelFlowClassifier, |model| model.feature_names.len(), model.classes().len());

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    /// So that sets hold all classes of such a row, whether it is labelled or predicted.
    #[test]
    fn nothing_speaks_against_classes_of_rows_on_which_the_flow_overflows() {
        let samples = array![[[0.25f32, 0.75], [f32::NAN, 0.5]], [[0.75, 0.25], [1.0, 0.0]]];
        let scores = FittedLabelFlowClassifier::mean_scores(&samples);
        assert_eq!(scores, array![[0.5, 0.5], [f64::INFINITY, f64::INFINITY]]);
    }
}
