//! A regression from features and rules about means, in memory or in parts.

use anyhow::Context;
use labelflow::LabelFlowRegressor;
use labelflow::evaluation::regression_metrics;
use labelflow::learners::FittedLabelFlowRegressor;
use labelflow::rows::LabelRange;
use labelflow::rules::{Rule, RuleDataset};
use labelflow::sources::RowSource;
use labelflow_data::inputs::{Keyed, RowKeys, read_features, read_rules, read_values};

use super::parts::PartsSource;
use super::plan::{FitPlan, SharedSettings, required};
use super::training::train_flow;
use crate::Outcome;

/// What is trained on.
enum Rows {
    Memory(RuleDataset, RowKeys),
    /// Rules, the range of labels, and the bytes that are left for training.
    Parts(Box<PartsSource>, Vec<Rule>, Option<LabelRange>, u64),
}

pub(super) fn run(plan: &FitPlan<'_>) -> anyhow::Result<Outcome> {
    let mut config: LabelFlowRegressor = plan.config()?;
    let features = required(&plan.settings.features, "features")?;
    let rules = required(&plan.settings.rules, "rules")?;
    let place = || format!("{}, {}", features.display(), rules.display());
    let range = plan.settings.range.as_ref().map(|range| LabelRange::new(range[0], range[1]));
    let range = range.transpose()?;
    let rows = if plan.settings.is_in_parts() {
        let file = read_rules(rules, None)?;
        let (source, memory) = PartsSource::open_features(plan)?;
        Rows::Parts(Box::new(source), file.rules, range.or(file.range), memory)
    } else {
        let Keyed { value: table, keys } = read_features(features, &plan.settings.key_column())?;
        let file = read_rules(rules, Some(&keys))?;
        let dataset = RuleDataset::new(table, file.rules, range.or(file.range));
        Rows::Memory(dataset.with_context(place)?, keys)
    };
    let n_rows = match &rows {
        Rows::Memory(dataset, _) => dataset.n_rows() as u64,
        Rows::Parts(source, ..) => source.n_rows(),
    };
    let LabelFlowRegressor { seed, training, likelihood_weight, device, .. } = &mut config;
    plan.override_shared(n_rows, SharedSettings { seed, training, likelihood_weight, device });
    let (fit, judged) = match &rows {
        Rows::Memory(dataset, keys) => {
            let judged = plan.truth(keys, read_values)?;
            let judged = judged.map(|truth| (dataset.features(), truth));
            (config.prepare(dataset)?, judged)
        }
        Rows::Parts(source, rules, range, memory) => {
            let fit = config.prepare_source(&**source, rules.clone(), *range, *memory);
            (fit.with_context(place)?, None)
        }
    };
    let metrics = judged.as_ref().map(|(features, truth)| {
        |model: &FittedLabelFlowRegressor| Ok(regression_metrics(&model.predict_distribution(features)?, truth)?)
    });
    train_flow(plan, &fit, n_rows, "are in no rule", metrics)
}
