//! The learner: features and weak signals in, a conditional density over labels out.

// Deviation: the paper adds up samples; its code averages them after clipping, as here, and here the means are also scaled to add up to
// one, which changes no largest class.

use burn::module::Module;
use labelflow_files::Sha256;
use labelflow_flow::{Coupling, CouplingFlowConfig, Flow};
use labelflow_weak::calibration::{Calibration, CalibrationMethod, ConformalSets};
use labelflow_weak::rows::{Features, SoftLabels, Truth, WeakDataset};
use ndarray::{Array2, Array3, Axis};
use serde::{Deserialize, Serialize};

use super::row_samples::{sample_rows, to_tensor};
use super::scaling::{Scaler, scale};
use crate::constraints::{ConstraintConfig, Penalty};
use crate::learners::Scaling;
use crate::storage::Checkpoint;
use crate::training::train::{Task, train};
use crate::training::{DeviceKind, Objective, Observer, Report, TrainConfig};
use crate::{Error, Result};

/// The most samples that a prediction averages: all of those of a row are held at once, and a file may claim any number.
const MOST_SAMPLES: usize = 100_000;

/// Settings of a label learning flow for classification. The defaults are the paper's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabelFlowClassifier {
    /// Where all randomness comes from. Default: 0.
    pub seed: u64,
    /// Steps of the flow, each of which warps every class once. Default: 8.
    pub n_steps: usize,
    /// Width of all hidden layers. Default: 64.
    pub d_hidden: usize,
    /// Samples that a prediction averages, 100,000 at most. Default: 10.
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
        Self {
            likelihood_weight: SPREAD,
            final_likelihood_weight,
            n_samples: SPREAD_SAMPLES,
            ..self
        }
    }

    /// Trains on a dataset.
    pub fn fit(&self, dataset: &WeakDataset) -> Result<FittedLabelFlowClassifier> {
        self.fit_with(dataset, Vec::new(), None, &mut ())
    }

    /// Trains on a dataset with the user's own constraints besides the configured ones, from a checkpoint if there is one, watched by
    /// an observer.
    pub fn fit_with(
        &self,
        dataset: &WeakDataset,
        penalties: Vec<Penalty>,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<FittedLabelFlowClassifier> {
        self.check(dataset)?;
        let run = check_run(self.run_digest(dataset), &penalties, checkpoint.as_ref())?;
        self.train(dataset, penalties, run, &self.training, checkpoint, observer)
    }

    /// The model as it was when a checkpoint of this run was made: what training would have ended with then.
    pub fn at_checkpoint(
        &self,
        dataset: &WeakDataset,
        checkpoint: Checkpoint,
    ) -> Result<FittedLabelFlowClassifier> {
        self.check(dataset)?;
        check_belongs(&self.run_digest(dataset), &checkpoint)?;
        let training = self.training.ending_at(&checkpoint);
        let run = checkpoint.run.clone();
        self.train(dataset, Vec::new(), run, &training, Some(checkpoint), &mut ())
    }

    fn train(
        &self,
        dataset: &WeakDataset,
        penalties: Vec<Penalty>,
        run: String,
        training: &TrainConfig,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<FittedLabelFlowClassifier> {
        let device = self.device.open()?.autodiff();
        let scaler = self.scaling.fit(dataset.features())?;
        let scaled = scale(scaler.as_ref(), dataset.features().values())?;
        let mut objective = Objective {
            likelihood_weight: self.likelihood_weight,
            final_likelihood_weight: self.final_likelihood_weight,
            penalties,
        };
        for constraint in &self.constraints {
            objective.penalties.push(constraint.build(dataset, &device)?);
        }
        let task = Task {
            objective: &objective,
            features: to_tensor(scaled.view(), &device),
            d_labels: dataset.n_classes(),
            weight_decay: 0.0,
            seed: self.seed,
            run,
        };
        let flow = self
            .flow_config(dataset.features().d_features(), dataset.n_classes())
            .init(self.seed, &device);
        let (flow, report) = train(flow, &task, training, checkpoint, observer)?;
        Ok(FittedLabelFlowClassifier {
            config: self.clone(),
            flow: flow.valid(),
            scaler,
            feature_names: dataset.features().names().to_vec(),
            classes: dataset.signals().classes().to_vec(),
            certainty: Certainty::default(),
            report,
        })
    }

    /// A digest of the settings and the data: two runs with the same digest end with the same weights.
    pub fn run_digest(&self, dataset: &WeakDataset) -> String {
        let mut hash = Sha256::default();
        hash.update(toml::to_string(self).expect("settings can be written as TOML"));
        for value in dataset.features().values() {
            hash.update(value.to_le_bytes());
        }
        let signals = dataset.signals();
        for row in 0..signals.n_rows() {
            for signal in 0..signals.n_signals() {
                for class in 0..signals.n_classes() {
                    let q = signals.probability(row, signal, class).unwrap_or(-1.0);
                    hash.update(q.to_le_bytes());
                }
            }
        }
        for bound in dataset.bounds().values() {
            hash.update(bound.to_le_bytes());
        }
        hash.hex()
    }

    fn check(&self, dataset: &WeakDataset) -> Result<()> {
        self.check_settings()?;
        if dataset.n_rows() < 2 {
            return Err(Error::data("features", "at least 2 rows to train on", dataset.n_rows()));
        }
        Ok(())
    }

    /// Checks all that can be checked without data.
    pub(crate) fn check_settings(&self) -> Result<()> {
        for (setting, value) in [("n_steps", self.n_steps), ("d_hidden", self.d_hidden)] {
            if value == 0 {
                return Err(Error::config(setting, "at least 1", value));
            }
        }
        check_samples("n_samples", self.n_samples)?;
        for (setting, weight) in [
            ("likelihood_weight", Some(self.likelihood_weight)),
            ("final_likelihood_weight", self.final_likelihood_weight),
        ] {
            if let Some(weight) = weight.filter(|weight| !weight.is_finite()) {
                return Err(Error::config(setting, "a finite number", weight));
            }
        }
        self.training.check()
    }

    pub(crate) fn flow_config(&self, d_features: usize, n_classes: usize) -> CouplingFlowConfig {
        CouplingFlowConfig {
            d_features,
            d_labels: n_classes,
            d_hidden: self.d_hidden,
            n_steps: self.n_steps,
        }
    }
}

fn check_samples(setting: &str, n_samples: usize) -> Result<()> {
    match n_samples {
        0 => Err(Error::config(setting, "at least 1", n_samples)),
        1..=MOST_SAMPLES => Ok(()),
        _ => Err(Error::config(setting, format!("at most {MOST_SAMPLES}"), n_samples)),
    }
}

/// A trained label learning flow: p(y|x) with samples.
#[derive(Debug, Clone)]
pub struct FittedLabelFlowClassifier {
    pub(crate) config: LabelFlowClassifier,
    pub(crate) flow: Flow<Coupling>,
    pub(crate) scaler: Option<Scaler>,
    pub(crate) feature_names: Vec<String>,
    pub(crate) classes: Vec<String>,
    pub(crate) certainty: Certainty,
    pub(crate) report: Report,
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
        let (labels, lost) = self.mean_labels(self.sample(features, self.config.n_samples)?);
        if !lost.is_empty() && lost.len() == features.n_rows() {
            return Err(Self::all_rows_lost());
        }
        Ok((labels, lost))
    }

    /// The mean of clipped samples, calibrated, and the rows on which the flow overflows.
    pub(crate) fn mean_labels(&self, samples: Array3<f32>) -> (SoftLabels, Vec<usize>) {
        let mut mean = samples
            .mapv(|label| f64::from(label.clamp(0.0, 1.0)))
            .mean_axis(Axis(0))
            .expect("at least one sample");
        let mut lost = Vec::new();
        for (index, mut row) in mean.axis_iter_mut(Axis(0)).enumerate() {
            if row.iter().any(|label| label.is_nan()) {
                row.fill(1.0);
                lost.push(index);
            }
        }
        let labels = SoftLabels::normalized(mean);
        let Some(calibration) = &self.certainty.calibration else { return (labels, lost) };
        let mut calibrated = calibration.apply(&labels).values().to_owned();
        lost.iter().for_each(|&row| calibrated.row_mut(row).fill(1.0));
        (SoftLabels::normalized(calibrated), lost)
    }

    /// What speaks for each class of each row, on no particular scale: the mean of samples as the flow gives them, `[n_rows, n_classes]`.
    ///
    /// Unlike probabilities, scores of different rows are all different.
    pub fn scores(&self, features: &Features) -> Result<Array2<f64>> {
        Ok(Self::mean_scores(&self.sample(features, self.config.n_samples)?))
    }

    /// The mean of samples as the flow gives them. On rows on which it overflows nothing speaks against any class.
    pub(crate) fn mean_scores(samples: &Array3<f32>) -> Array2<f64> {
        let mut mean = samples.mapv(f64::from).mean_axis(Axis(0)).expect("at least one sample");
        for mut row in mean.axis_iter_mut(Axis(0)) {
            if row.iter().any(|score| score.is_nan()) {
                row.fill(f64::INFINITY);
            }
        }
        mean
    }

    /// The same model with probabilities that are calibrated on labelled rows, as others than the training rows.
    pub fn calibrated(
        mut self,
        method: CalibrationMethod,
        features: &Features,
        truth: &Truth,
    ) -> Result<Self> {
        self.certainty.calibration = None;
        let labels = self.predict_proba(features)?;
        self.certainty.calibration = Some(Calibration::fit(method, &labels, truth)?);
        Ok(self)
    }

    /// The same model with [sets of classes](Self::predict_sets) that hold the true class of this share of rows, learned from labelled rows
    /// other than the training rows.
    pub fn with_sets(mut self, level: f64, features: &Features, truth: &Truth) -> Result<Self> {
        let scores = self.scores(features)?;
        self.certainty.sets = Some(ConformalSets::fit(scores.view(), truth, level)?);
        Ok(self)
    }

    /// The same model with other knowledge of how sure it may be.
    pub fn with_certainty(mut self, certainty: Certainty) -> Result<Self> {
        if let Some(calibration) = &certainty.calibration {
            calibration.check(self.classes.len())?;
        }
        self.certainty = certainty;
        Ok(self)
    }

    /// What is known of how sure it may be.
    pub fn certainty(&self) -> &Certainty {
        &self.certainty
    }

    /// The classes that each row may have, after [`with_sets`](Self::with_sets). Of a row on which the flow overflows, all.
    pub fn predict_sets(&self, features: &Features) -> Result<Vec<Vec<usize>>> {
        let Some(sets) = &self.certainty.sets else {
            return Err(Error::config(
                "sets",
                "a model that learned sets from labelled rows",
                "none",
            ));
        };
        let scores = self.scores(features)?;
        Ok(scores.axis_iter(Axis(0)).map(|scores| sets.set(scores)).collect())
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows, n_classes]`, as the flow gives them: not clipped, and adding up to one only as far
    /// as the constraint was learned.
    pub fn sample(&self, features: &Features, n_samples: usize) -> Result<Array3<f32>> {
        self.check_features(features)?;
        let device = self.config.device.open()?;
        let scaled = scale(self.scaler.as_ref(), features.values())?;
        let shape = [n_samples, self.classes.len()];
        Ok(sample_rows(&self.flow, features, &scaled, shape, self.config.seed, &device))
    }

    /// The settings it was trained with.
    pub fn config(&self) -> &LabelFlowClassifier {
        &self.config
    }

    /// The course of training.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Names of the features.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// The density itself.
    pub fn flow(&self) -> &Flow<Coupling> {
        &self.flow
    }

    /// The same model on another device.
    pub fn to_device(mut self, device: DeviceKind) -> Result<Self> {
        self.flow = self.flow.fork(&device.open()?);
        self.config.device = device;
        Ok(self)
    }

    /// The same model with another number of samples to average.
    pub fn with_samples(mut self, n_samples: usize) -> Result<Self> {
        check_samples("samples", n_samples)?;
        self.config.n_samples = n_samples;
        Ok(self)
    }

    /// The columns that the model was trained on, in its order: by name, or by place when the table's columns have no names of their
    /// own.
    pub fn arrange(&self, features: Features) -> Result<Features> {
        arrange(features, &self.feature_names)
    }

    fn check_features(&self, features: &Features) -> Result<()> {
        check_columns(features, self.feature_names.len())
    }
}

/// Checks that rows to predict have as many columns as the training rows had.
pub(crate) fn check_columns(features: &Features, expected: usize) -> Result<()> {
    if features.d_features() == expected {
        return Ok(());
    }
    let expected = format!("{expected} columns, as the model was trained on");
    Err(Error::data("features", expected, format!("{} columns", features.d_features())))
}

/// The columns of these names, or all columns when the table has no names of its own.
pub(crate) fn arrange(features: Features, names: &[String]) -> Result<Features> {
    if features.names() == names || features.has_default_names() {
        check_columns(&features, names.len())?;
        return Ok(features);
    }
    Ok(features.select_columns(names)?)
}

/// What a run is, with the user's own constraints; an error when a checkpoint is not of it.
pub fn check_run(
    digest: String,
    penalties: &[Penalty],
    checkpoint: Option<&Checkpoint>,
) -> Result<String> {
    let own = penalties.iter().map(|penalty| format!("+{penalty:?}"));
    let run = digest + &own.collect::<String>();
    match checkpoint {
        Some(checkpoint) if checkpoint.run != run => {
            Err(Error::data("checkpoint", "one of this run", "one of other settings or data"))
        }
        _ => Ok(run),
    }
}

/// An error when a checkpoint is not of the run with this digest; the user's own constraints do not matter.
pub(crate) fn check_belongs(digest: &str, checkpoint: &Checkpoint) -> Result<()> {
    match checkpoint.run.starts_with(digest) {
        true => Ok(()),
        false => Err(Error::data("checkpoint", "one of this run", "one of other settings or data")),
    }
}

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
