//! A classifier from features and weak signals, in memory or in parts.

use anyhow::Context;
use labelflow::evaluation::classification_metrics;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::sources::RowSource;
use labelflow::{Bounds, LabelFlowClassifier, WeakDataset};
use labelflow_data::inputs::{
    Keyed, RowKeys, SignalsOptions, convention_doubt, read_features, read_labels, read_signals,
};

use super::parts::PartsSource;
use super::plan::{FitPlan, SharedSettings, required};
use super::training::train_flow;
use crate::Outcome;
use crate::terminal::output;

/// What is trained on.
enum Rows {
    Memory(WeakDataset, RowKeys),
    /// Bounds, and the bytes that are left for training.
    Parts(PartsSource, Bounds, u64),
}

pub(super) fn run(plan: &FitPlan<'_>) -> anyhow::Result<Outcome> {
    let mut config: LabelFlowClassifier = plan.config()?;
    let rows = read(plan)?;
    let n_rows = match &rows {
        Rows::Memory(dataset, _) => dataset.n_rows() as u64,
        Rows::Parts(source, ..) => source.n_rows(),
    };
    let LabelFlowClassifier { seed, training, likelihood_weight, device, .. } = &mut config;
    plan.override_shared(n_rows, SharedSettings { seed, training, likelihood_weight, device });
    if plan.args.model.spread_first {
        config = config.spread_first();
    }
    config.n_samples = plan.args.model.samples.unwrap_or(config.n_samples);
    let (fit, judged) = match &rows {
        Rows::Memory(dataset, keys) => {
            let classes = dataset.signals().classes();
            let judged = plan.truth(keys, |path, key| read_labels(path, classes, key))?;
            let judged = judged.map(|truth| (dataset.features(), truth));
            (config.prepare(dataset)?, judged)
        }
        Rows::Parts(source, bounds, memory) => (config.prepare_source(source, bounds.clone(), *memory)?, None),
    };
    let metrics = judged.as_ref().map(|(features, truth)| {
        |model: &FittedLabelFlowClassifier| Ok(classification_metrics(&model.predict_proba(features)?, truth)?)
    });
    train_flow(plan, &fit, n_rows, "have no vote", metrics)
}

fn read(plan: &FitPlan<'_>) -> anyhow::Result<Rows> {
    let settings = &plan.settings;
    let path = required(&settings.features, "features")?;
    let options = SignalsOptions {
        classes: settings.classes.clone().unwrap_or_default(),
        abstain: settings.abstain.unwrap_or_default(),
        key: settings.key_column(),
        ..Default::default()
    };
    if settings.is_in_parts() {
        let (source, bounds, memory) = PartsSource::open(plan, &options)?;
        return Ok(Rows::Parts(source, bounds, memory));
    }
    let signals_path = required(&settings.signals, "signals")?;
    let Keyed { value: features, keys } = read_features(path, &options.key)?;
    let signals = read_signals(signals_path, &options)?.in_order_of(&keys)?;
    if let Some(doubt) = convention_doubt(&signals) {
        output::warn_text(signals_path.display(), "abstain-convention", &doubt);
    }
    let bounds = settings.bounds().resolve(&signals)?;
    let dataset = WeakDataset::new(features, signals, bounds)
        .with_context(|| format!("{}, {}", path.display(), signals_path.display()))?;
    Ok(Rows::Memory(dataset, keys))
}
