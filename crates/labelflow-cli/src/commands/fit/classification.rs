//! A classifier from features and weak signals, in memory or in parts.

use anyhow::Context;
use labelflow::evaluation::{ClassificationMetrics, classification_metrics};
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::rows::Truth;
use labelflow::sources::RowSource;
use labelflow::{Bounds, Features, LabelFlowClassifier, WeakDataset};
use labelflow_data::inputs::{
    SignalsOptions, convention_doubt, read_features, read_labels, read_signals,
};

use super::parts::PartsSource;
use super::plan::{FitPlan, SharedSettings, required};
use super::training::{Score, train_flow};
use crate::Outcome;
use crate::commands::eval::print_metrics;
use crate::inputs::evaluation_file::Scores;
use crate::inputs::row_counts::check_n_rows;
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
            let judged = read_truth(plan, dataset)?.map(|truth| (dataset.features(), truth));
            (config.prepare(dataset)?, judged)
        }
        Rows::Parts(source, bounds, memory) => {
            (config.prepare_source(source, bounds.clone(), *memory)?, None)
        }
    };
    let score = judged.as_ref().map(|judged| -> Box<Score<'_, _>> {
        Box::new(move |model| {
            let metrics = evaluate(model, judged)?;
            Ok(Scores::Classification { accuracy: metrics.accuracy, ece: metrics.ece })
        })
    });
    let (model, outcome) = train_flow(plan, &fit, n_rows, "have no vote", score.as_deref())?;
    if let Some(judged) = &judged {
        print_metrics(&evaluate(&model, judged)?)?;
    }
    Ok(outcome)
}

fn evaluate(
    model: &FittedLabelFlowClassifier,
    (features, truth): &(&Features, Truth),
) -> labelflow::Result<ClassificationMetrics> {
    Ok(classification_metrics(&model.predict_proba(features)?, truth)?)
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
        output::note(&format!("{}: {doubt}", signals_path.display()));
    }
    let bounds = settings.bounds().resolve(&signals)?;
    let dataset = WeakDataset::new(features, signals, bounds)
        .with_context(|| format!("{}, {}", path.display(), signals_path.display()))?;
    Ok(Rows::Memory(dataset))
}

fn read_truth(plan: &FitPlan<'_>, dataset: &WeakDataset) -> anyhow::Result<Option<Truth>> {
    let Some(path) = &plan.settings.labels_for_eval else { return Ok(None) };
    let truth = read_labels(path, dataset.signals().classes())?;
    let features = required(&plan.settings.features, "features")?;
    check_n_rows(path, truth.n_rows() as u64, features, dataset.n_rows() as u64)?;
    Ok(Some(truth))
}
