//! A regression from features and rules about means, in memory or in parts.

use anyhow::Context;
use labelflow::LabelFlowRegressor;
use labelflow::evaluation::regression_metrics;
use labelflow::learners::FittedLabelFlowRegressor;
use labelflow::rows::LabelRange;
use labelflow::rules::RuleDataset;
use labelflow::sources::RowSource;
use labelflow_data::inputs::{read_features, read_rules, read_values};

use super::parts::PartsSource;
use super::plan::{FitPlan, required};
use super::training::train_flow;
use crate::Outcome;

pub(super) fn run(plan: &FitPlan<'_>) -> anyhow::Result<Outcome> {
    let mut config: LabelFlowRegressor = plan.config()?;
    let mut configured = |n_rows: u64| {
        let LabelFlowRegressor { seed, training, likelihood_weight, device, .. } = &mut config;
        plan.override_shared(n_rows, (seed, training, likelihood_weight, device));
        config.clone()
    };
    let features = required(&plan.settings.features, "features")?;
    let rules = required(&plan.settings.rules, "rules")?;
    let place = || format!("{}, {}", features.display(), rules.display());
    let range = plan.settings.range.as_ref().map(|range| LabelRange::new(range[0], range[1]));
    let range = range.transpose()?;
    let (source, dataset);
    let (n_rows, fit, judged) = if plan.settings.is_in_parts() {
        let file = read_rules(rules, None)?;
        let (opened, memory) = PartsSource::open_features(plan)?;
        source = opened;
        let n_rows = source.n_rows();
        let fit = configured(n_rows).prepare_source(&source, file.rules, range.or(file.range), memory);
        (n_rows, fit.with_context(place)?, None)
    } else {
        let table = read_features(features, &plan.settings.key_column())?;
        let file = read_rules(rules, Some(&table.keys))?;
        dataset = RuleDataset::new(table.value, file.rules, range.or(file.range)).with_context(place)?;
        let truth = plan.truth(&table.keys, read_values)?;
        let n_rows = dataset.n_rows() as u64;
        (n_rows, configured(n_rows).prepare(&dataset)?, truth.map(|truth| (dataset.features(), truth)))
    };
    let metrics = judged.as_ref().map(|(features, truth)| {
        |model: &FittedLabelFlowRegressor| Ok(regression_metrics(&model.predict_distribution(features)?, truth)?)
    });
    train_flow(plan, &fit, n_rows, "are in no rule: only their features are used", metrics)
}
