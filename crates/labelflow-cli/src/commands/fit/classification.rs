//! A classifier from features and weak signals, in memory or in parts.

use anyhow::Context;
use labelflow::evaluation::classification_metrics;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::rows::Truth;
use labelflow::sources::RowSource;
use labelflow::{Bounds, LabelFlowClassifier, WeakDataset};
use labelflow_data::inputs::{SignalsOptions, convention_doubt, read_features, read_labels, read_signals};

use super::parts::PartsSource;
use super::plan::{FitPlan, SharedSettings, required};
use super::training::train_flow;
use crate::Outcome;
use crate::terminal::output;

/// What is trained on.
enum Rows {
    Memory(WeakDataset),
    /// Bounds, and the bytes that are left for training.
    Parts(PartsSource, Bounds, u64),
}

pub(super) fn run(plan: &FitPlan<'_>) -> anyhow::Result<Outcome> {
    let mut config: LabelFlowClassifier = plan.config()?;
    let rows = read(plan)?;
    let n_rows = match &rows {
        Rows::Memory(dataset) => dataset.n_rows() as u64,
        Rows::Parts(source, ..) => source.n_rows(),
    };
    let LabelFlowClassifier { seed, training, likelihood_weight, device, .. } = &mut config;
    plan.override_shared(n_rows, SharedSettings { seed, training, likelihood_weight, device });
    if plan.args.model.spread_first {
        config = config.spread_first();
    }
    config.n_samples = plan.args.model.samples.unwrap_or(config.n_samples);
    let (fit, judged) = match &rows {
        Rows::Memory(dataset) => {
            let classes = dataset.signals().classes();
            let judged = plan.truth(n_rows, |path| read_labels(path, classes), Truth::n_rows)?;
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
        ..Default::default()
    };
    if settings.is_in_parts() {
        let (source, bounds, memory) = PartsSource::open(plan, &options)?;
        return Ok(Rows::Parts(source, bounds, memory));
    }
    let signals_path = required(&settings.signals, "signals")?;
    let features = read_features(path)?;
    let signals = read_signals(signals_path, &options)?;
    if let Some(doubt) = convention_doubt(&signals) {
        output::warn_text(signals_path.display(), "abstain-convention", &doubt);
    }
    let bounds = settings.bounds().resolve(&signals)?;
    let dataset = WeakDataset::new(features, signals, bounds)
        .with_context(|| format!("{}, {}", path.display(), signals_path.display()))?;
    Ok(Rows::Memory(dataset))
}
