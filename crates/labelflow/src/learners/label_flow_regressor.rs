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

use std::borrow::Cow;

use burn::tensor::Device;
use labelflow_flow::{Activation, AffineFlowConfig, AffineMap, Flow, Mode};
use labelflow_weak::rows::{Features, LabelRange};
use labelflow_weak::rules::{CheckedRules, Rule, RuleDataset, RuleTally};
use labelflow_weak::warnings::DataWarning;
use ndarray::{Array2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::constraints::{GroupMean, GroupQuantile, Penalty, Range, RulePart};
use crate::learners::{
    FitOptions, FittedFlow, FlowLearner, FlowSettings, PreparedFit, Scaling, ValueDistribution, rows_at_once, to_tensor,
};
use crate::sources::{Demands, FitRows, RowSignals, RowSource, SignalForm};
use crate::storage::ModelTask;
use crate::training::{DeviceKind, Objective, TrainConfig};
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
        self.fit_with(dataset, FitOptions::default())
    }

    /// Trains on a dataset with further constraints, from a checkpoint, or watched by an observer. Constraints see labels on the scale
    /// where their range is [0, 1].
    pub fn fit_with(&self, dataset: &RuleDataset, options: FitOptions<'_>) -> Result<FittedLabelFlowRegressor> {
        self.prepare(dataset)?.fit(options)
    }

    /// A fit to a dataset that has not begun.
    pub fn prepare<'a>(&self, dataset: &'a RuleDataset) -> Result<PreparedFit<'a, Self>> {
        let (range, config) = (dataset.range(), self.clone());
        let rows =
            FitRows::in_memory(self, dataset.features(), Cow::Borrowed(dataset.features()), None, move |hash| {
                hash.update(range.lower().to_le_bytes());
                hash.update(range.upper().to_le_bytes());
                for group in dataset.groups() {
                    hash.update(format!("{:?}", group.rule.claim));
                    group.members.iter().for_each(|&member| hash.update([u8::from(member)]));
                }
            })?;
        let objective = move |_: &Features, _: &RowSignals, device: &Device| {
            config.objective(&RulePart::of_dataset(dataset), range, device)
        };
        let n_uncovered = dataset.n_uncovered() as u64;
        let warnings = dataset.warnings().iter().cloned().map(DataWarning::Rules);
        Ok(PreparedFit::new(self, rows, Values { range }, n_uncovered, warnings, objective))
    }

    /// Reads all rows of a source once, checks the rules as [`RuleDataset::new`] does, and decides how many rows are in memory at a time
    /// so that training takes at most `memory` bytes beside what reading takes.
    ///
    /// If all rows fit, training is that of [`fit`](Self::fit), to the last bit. Rules must be about features: none about given rows.
    pub fn prepare_source<'a>(
        &self,
        source: &'a dyn RowSource,
        rules: Vec<Rule>,
        range: Option<LabelRange>,
        memory: u64,
    ) -> Result<PreparedFit<'a, Self>> {
        if source.signal_form() != SignalForm::None {
            return Err(Error::data("rules", "features alone, of which rules speak", "signals"));
        }
        if let Some(rule) = rules.iter().find(|rule| !rule.region.is_general()) {
            let expected = "a region of features, for rows that are read in parts";
            return Err(Error::data(format!("rule '{}'", rule.name), expected, &rule.region));
        }
        let demands = Demands {
            memory,
            d_labels: 1,
            // Members of groups, and shares of rows in their means, three times over.
            constraint_bytes: 14 * rules.len() as u64,
            beside_settings: format!("{range:?}{rules:?}"),
        };
        let mut tally = RuleTally::new(rules)?;
        let mut visit = |features: &Features, _: &RowSignals| {
            tally.add(features)?;
            Ok(())
        };
        let rows = FitRows::of_source(self, source, &demands, &mut visit)?;
        let CheckedRules { range, rules, warnings, n_uncovered } = tally.finish(range)?;
        let config = self.clone();
        let objective = move |features: &Features, _: &RowSignals, device: &Device| {
            let members = rules.iter().map(|counted| counted.rule.region.members(features));
            let members = members.collect::<Result<Vec<_>, _>>()?;
            let parts = rules.iter().zip(&members).map(|(counted, members)| RulePart {
                claim: counted.rule.claim,
                members,
                n_members: counted.n_members,
            });
            config.objective(&parts.collect::<Vec<_>>(), range, device)
        };
        let warnings = warnings.into_iter().map(DataWarning::Rules);
        Ok(PreparedFit::new(self, rows, Values { range }, n_uncovered, warnings, objective))
    }

    /// What must hold of labels on the scale where their range is [0, 1]: their range and the rules.
    fn objective(&self, rules: &[RulePart<'_>], range: LabelRange, device: &Device) -> Result<Objective> {
        let mut penalties = vec![Penalty::new(Range::unit(), self.range_weight)?];
        if let Some(means) = GroupMean::of_rule_parts(rules, range, device)? {
            penalties.push(Penalty::new(means, self.rules_weight)?);
        }
        if let Some(quantiles) = GroupQuantile::of_rule_parts(rules, range, device) {
            penalties.push(Penalty::new(quantiles, self.rules_weight)?);
        }
        let likelihood_weight = self.likelihood_weight;
        Ok(Objective { likelihood_weight, final_likelihood_weight: None, penalties, n_members: 1 })
    }
}

impl FlowLearner for LabelFlowRegressor {
    const TASK: ModelTask = ModelTask::Regression;
    type Bijection = AffineMap;
    type Labels = Values;

    fn settings(&self) -> FlowSettings<'_> {
        let &Self { seed, n_steps, d_hidden, likelihood_weight, weight_decay, device, scaling, ref training, .. } =
            self;
        let n_members = 1;
        FlowSettings { seed, n_steps, d_hidden, n_members, likelihood_weight, weight_decay, device, scaling, training }
    }

    fn check_own(&self) -> Result<()> {
        let decay = self.weight_decay;
        if !(decay >= 0.0 && decay * self.training.learning_rate < 1.0) {
            let expected = "from 0 to less than 1 / learning_rate";
            return Err(Error::config("weight_decay", expected, decay));
        }
        Ok(())
    }

    fn with_device(self, device: DeviceKind) -> Self {
        Self { device, ..self }
    }

    fn d_labels(&self, _: &Values) -> usize {
        1
    }

    fn init_flow(&self, d_features: usize, d_labels: usize, device: &Device) -> Flow<AffineMap> {
        let Self { d_hidden, n_steps, activation, seed, .. } = *self;
        AffineFlowConfig { d_features, d_labels, d_hidden, n_steps, activation }.init(seed, device)
    }
}

/// A trained label learning flow for regression: p(y|x).
pub type FittedLabelFlowRegressor = FittedFlow<LabelFlowRegressor>;

/// What the labels of regression are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Values {
    range: LabelRange,
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
        let device = self.config.device.open()?;
        let scaled = self.scaled(features)?;
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
        Ok(PartDistribution { labels: ValueDistribution::new(self.labels.range, rows), lost })
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows]`, within the label range.
    pub fn sample(&self, features: &Features, n_samples: usize) -> Result<Array2<f64>> {
        let samples = self.draw(features, [n_samples, 1])?;
        let label = |unit: &f32| self.labels.range.from_unit(f64::from(unit.clamp(0.0, 1.0)));
        Ok(samples.slice(s![.., .., 0]).map(label))
    }

    /// The range of the labels.
    pub fn range(&self) -> LabelRange {
        self.labels.range
    }

    /// What the prediction of one more row takes, in bytes.
    pub fn bytes_per_row(&self) -> usize {
        self.condition_bytes() + 256
    }

    /// The error of a row on which the flow overflows.
    pub fn row_lost(row: u64) -> Error {
        let place = format!("features, row {row}");
        let found = "numbers so far from it that the flow overflows";
        labelflow_weak::Error::data(place, "numbers in the range of the training rows", found)
            .with_hint("check the units")
            .into()
    }
}

/// Distributions of the labels of the rows of a part of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDistribution {
    /// The distributions; those of lost rows mean nothing.
    pub labels: ValueDistribution,
    /// Rows on which the flow overflows.
    pub lost: Vec<usize>,
}
