//! The learner for real-valued labels: features and rules about means in, a distribution of each row's label out.
//!
//! ```text
//! y = S(x) z + B(x)                                            eight affine maps one after another, which are one
//! loss = NLL / ln 2 + λ_range · range + λ_rules · Σ_j ([b_j⁻ − mean_j y]₊² + [mean_j y − b_j⁺]₊²)
//! ```
//!
//! Labels are learned on the scale where their range is [0, 1].

// Deviation: a few means leave most of a function free, and the paper does not say what decides. Here weights decay, so that the
// simplest function is learned that satisfies the rules; docs/measurements/regression.md has the comparison on planted problems.
// Deviation: the paper predicts the mean of ten clipped samples. The distribution is known in closed form, so that the mean of all
// samples, their deviation and their quantiles are too.

use burn::module::Module;
use burn::tensor::Device;
use labelflow_files::Sha256;
use labelflow_flow::{Activation, AffineFlowConfig, AffineMap, Flow, Mode};
use labelflow_weak::rows::{Features, LabelRange};
use labelflow_weak::rules::RuleDataset;
use ndarray::{Array2, Axis, s};
use serde::{Deserialize, Serialize};

use super::label_flow_classifier::{arrange, check_belongs, check_columns, check_run};
use super::row_samples::{rows_at_once, sample_rows, to_tensor};
use super::scaling::{Scaler, scale};
use crate::constraints::{GroupMean, GroupQuantile, Penalty, Range, RulePart};
use crate::learners::{PartDistribution, Scaling, ValueDistribution};
use crate::storage::Checkpoint;
use crate::training::train::{Task, train};
use crate::training::{DeviceKind, Objective, Observer, Report, TrainConfig};
use crate::{Error, Result};

/// Settings of a label learning flow for regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabelFlowRegressor {
    /// Where all randomness comes from. Default: 0.
    pub seed: u64,
    /// Affine maps one after another. Default: 8.
    pub n_steps: usize,
    /// Width of all hidden layers. Default: 64.
    pub d_hidden: usize,
    /// What follows the hidden layers. Default: tanh.
    pub activation: Activation,
    /// The weight of the likelihood term; 0 gives the paper's "w/o-nll". Default: 1.
    pub likelihood_weight: f64,
    /// The weight of the constraint that labels lie in their range. Default: 10.
    pub range_weight: f64,
    /// The weight of the rules. Default: 10.
    pub rules_weight: f64,
    /// Where to compute. Default: cpu.
    pub device: DeviceKind,
    /// What is done to the features before anything else. Default: standardize.
    pub scaling: Scaling,
    /// After every step, weights shrink by this share of the step size, less and less as training goes on, so that of all functions that
    /// satisfy the rules a simple one is learned. Default: 10.
    pub weight_decay: f64,
    /// How training proceeds.
    pub training: TrainConfig,
}

impl Default for LabelFlowRegressor {
    fn default() -> Self {
        Self {
            seed: 0,
            n_steps: 8,
            d_hidden: 64,
            activation: Activation::Tanh,
            likelihood_weight: 1.0,
            range_weight: 10.0,
            rules_weight: 10.0,
            device: DeviceKind::Cpu,
            scaling: Scaling::default(),
            weight_decay: 10.0,
            training: TrainConfig::default(),
        }
    }
}

impl LabelFlowRegressor {
    /// Trains on a dataset.
    pub fn fit(&self, dataset: &RuleDataset) -> Result<FittedLabelFlowRegressor> {
        self.fit_with(dataset, Vec::new(), None, &mut ())
    }

    /// Trains on a dataset with the user's own constraints besides range and rules, from a checkpoint if there is one, watched by an
    /// observer. Constraints see labels on the scale where their range is [0, 1].
    pub fn fit_with(
        &self,
        dataset: &RuleDataset,
        penalties: Vec<Penalty>,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<FittedLabelFlowRegressor> {
        self.check(dataset)?;
        let run = check_run(self.run_digest(dataset), &penalties, checkpoint.as_ref())?;
        self.train(dataset, penalties, run, &self.training, checkpoint, observer)
    }

    /// The model as it was when a checkpoint of this run was made: what training would have ended with then.
    pub fn at_checkpoint(
        &self,
        dataset: &RuleDataset,
        checkpoint: Checkpoint,
    ) -> Result<FittedLabelFlowRegressor> {
        self.check(dataset)?;
        check_belongs(&self.run_digest(dataset), &checkpoint)?;
        let training = self.training.ending_at(&checkpoint);
        let run = checkpoint.run.clone();
        self.train(dataset, Vec::new(), run, &training, Some(checkpoint), &mut ())
    }

    fn check(&self, dataset: &RuleDataset) -> Result<()> {
        self.check_settings()?;
        if dataset.n_rows() < 2 {
            return Err(Error::data("features", "at least 2 rows to train on", dataset.n_rows()));
        }
        Ok(())
    }

    fn train(
        &self,
        dataset: &RuleDataset,
        penalties: Vec<Penalty>,
        run: String,
        training: &TrainConfig,
        checkpoint: Option<Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<FittedLabelFlowRegressor> {
        let device = self.device.open()?.autodiff();
        let scaler = self.scaling.fit(dataset.features())?;
        let scaled = scale(scaler.as_ref(), dataset.features().values())?;
        let rules = RulePart::of_dataset(dataset);
        let objective = self.objective(penalties, &rules, dataset.range(), &device)?;
        let task = Task {
            objective: &objective,
            features: to_tensor(scaled.view(), &device),
            d_labels: 1,
            weight_decay: self.weight_decay,
            seed: self.seed,
            run,
        };
        let flow = self.flow_config(dataset.features().d_features()).init(self.seed, &device);
        let (flow, report) = train(flow, &task, training, checkpoint, observer)?;
        Ok(FittedLabelFlowRegressor {
            config: self.clone(),
            flow: flow.valid(),
            scaler,
            feature_names: dataset.features().names().to_vec(),
            range: dataset.range(),
            report,
        })
    }

    /// What must hold of labels on the scale where their range is [0, 1]: their range and the rules, besides other constraints.
    pub(crate) fn objective(
        &self,
        mut penalties: Vec<Penalty>,
        rules: &[RulePart<'_>],
        range: LabelRange,
        device: &Device,
    ) -> Result<Objective> {
        penalties.push(Penalty::new(Range::unit(), self.range_weight)?);
        if let Some(means) = GroupMean::of_rule_parts(rules, range, device)? {
            penalties.push(Penalty::new(means, self.rules_weight)?);
        }
        if let Some(quantiles) = GroupQuantile::of_rule_parts(rules, range, device) {
            penalties.push(Penalty::new(quantiles, self.rules_weight)?);
        }
        let likelihood_weight = self.likelihood_weight;
        Ok(Objective { likelihood_weight, final_likelihood_weight: None, penalties })
    }

    /// A digest of the settings and the data: two runs with the same digest end with the same weights.
    pub fn run_digest(&self, dataset: &RuleDataset) -> String {
        let mut hash = Sha256::default();
        hash.update(toml::to_string(self).expect("settings can be written as TOML"));
        for value in dataset.features().values() {
            hash.update(value.to_le_bytes());
        }
        hash.update(dataset.range().lower().to_le_bytes());
        hash.update(dataset.range().upper().to_le_bytes());
        for group in dataset.groups() {
            hash.update(format!("{:?}", group.rule.claim));
            group.members.iter().for_each(|&member| hash.update([u8::from(member)]));
        }
        hash.hex()
    }

    /// Checks all that can be checked without data.
    pub(crate) fn check_settings(&self) -> Result<()> {
        for (setting, value) in [("n_steps", self.n_steps), ("d_hidden", self.d_hidden)] {
            if value == 0 {
                return Err(Error::config(setting, "at least 1", value));
            }
        }
        if !self.likelihood_weight.is_finite() {
            let weight = self.likelihood_weight;
            return Err(Error::config("likelihood_weight", "a finite number", weight));
        }
        let decay = self.weight_decay;
        if !(decay >= 0.0 && decay * self.training.learning_rate < 1.0) {
            let expected = "from 0 to less than 1 / learning_rate";
            return Err(Error::config("weight_decay", expected, decay));
        }
        self.training.check()
    }

    pub(crate) fn flow_config(&self, d_features: usize) -> AffineFlowConfig {
        AffineFlowConfig {
            d_features,
            d_labels: 1,
            d_hidden: self.d_hidden,
            n_steps: self.n_steps,
            activation: self.activation,
        }
    }
}

/// A trained label learning flow for regression: p(y|x).
#[derive(Debug, Clone)]
pub struct FittedLabelFlowRegressor {
    pub(crate) config: LabelFlowRegressor,
    pub(crate) flow: Flow<AffineMap>,
    pub(crate) scaler: Option<Scaler>,
    pub(crate) feature_names: Vec<String>,
    pub(crate) range: LabelRange,
    pub(crate) report: Report,
}

impl FittedLabelFlowRegressor {
    /// The mean of each row's label.
    pub fn predict(&self, features: &Features) -> Result<Vec<f64>> {
        Ok(self.predict_distribution(features)?.mean())
    }

    /// The distribution of each row's label. It depends on the row's features alone, never on the other rows.
    pub fn predict_distribution(&self, features: &Features) -> Result<ValueDistribution> {
        let PartDistribution { labels, lost } = self.predict_part(features)?;
        match lost.first() {
            Some(&row) => Err(Self::row_lost(row as u64)),
            None => Ok(labels),
        }
    }

    /// [`predict_distribution`](Self::predict_distribution) of the rows of a part of a table, of which some may be lost.
    pub fn predict_part(&self, features: &Features) -> Result<PartDistribution> {
        check_columns(features, self.feature_names.len())?;
        let device = self.config.device.open()?;
        let scaled = scale(self.scaler.as_ref(), features.values())?;
        let mut rows = Vec::with_capacity(features.n_rows());
        let at_once = rows_at_once(&self.flow);
        for part in scaled.axis_chunks_iter(Axis(0), at_once) {
            let gaussian = self.flow.composed(to_tensor(part, &device), Mode::Predict);
            let locations = gaussian.shift.into_data();
            let deviations = gaussian.scale.into_data();
            rows.extend(locations.iter::<f64>().zip(deviations.iter::<f64>()));
        }
        let mut lost = Vec::new();
        for (row, values) in rows.iter_mut().enumerate() {
            if !(values.0.is_finite() && values.1.is_finite()) {
                *values = (0.0, 1.0);
                lost.push(row);
            }
        }
        Ok(PartDistribution { labels: ValueDistribution::new(self.range, rows), lost })
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows]`, within the label range.
    pub fn sample(&self, features: &Features, n_samples: usize) -> Result<Array2<f64>> {
        check_columns(features, self.feature_names.len())?;
        let device = self.config.device.open()?;
        let scaled = scale(self.scaler.as_ref(), features.values())?;
        let shape = [n_samples, 1];
        let samples = sample_rows(&self.flow, features, &scaled, shape, self.config.seed, &device);
        let label = |unit: &f32| self.range.from_unit(f64::from(unit.clamp(0.0, 1.0)));
        Ok(samples.slice(s![.., .., 0]).map(label))
    }

    /// The settings it was trained with.
    pub fn config(&self) -> &LabelFlowRegressor {
        &self.config
    }

    /// The course of training.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The range of the labels.
    pub fn range(&self) -> LabelRange {
        self.range
    }

    /// Names of the features.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// The density itself, of labels on the scale where their range is [0, 1].
    pub fn flow(&self) -> &Flow<AffineMap> {
        &self.flow
    }

    /// The same model on another device.
    pub fn to_device(mut self, device: DeviceKind) -> Result<Self> {
        self.flow = self.flow.fork(&device.open()?);
        self.config.device = device;
        Ok(self)
    }

    /// The columns that the model was trained on, in its order: by name, or by place when the table's columns have no names of their
    /// own.
    pub fn arrange(&self, features: Features) -> Result<Features> {
        arrange(features, &self.feature_names)
    }
}
