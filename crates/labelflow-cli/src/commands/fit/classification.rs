//! A classifier from features and weak signals, in memory or in parts.

use std::ops::Not;

use anyhow::Context;
use labelflow::constraints::sure_groups;
use labelflow::evaluation::classification_metrics;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::sources::RowSource;
use labelflow::training::Preset;
use labelflow::{Bounds, LabelFlowClassifier, WeakDataset, WeakSignals};
use labelflow_data::inputs::{SignalsOptions, convention_doubt, read_features, read_labels, read_signals};

use super::parts::PartsSource;
use super::plan::{FitPlan, required};
use super::training::train_flow;
use crate::Outcome;
use crate::commands::class_metrics::ClassMetrics;
use crate::terminal::output;

pub(super) fn run(plan: &FitPlan<'_>) -> anyhow::Result<Outcome> {
    let settings = &plan.settings;
    let mut config: LabelFlowClassifier = plan.config()?;
    let mut configured = |n_rows: u64, n_classes: usize| {
        let default = plan.has_own_config().not().then_some(Preset::Ensemble);
        if plan.args.model.preset.map(Preset::from).or(default) == Some(Preset::Ensemble) {
            let n_rows = usize::try_from(n_rows).unwrap_or(usize::MAX);
            config = config.clone().with_preset(Preset::Ensemble, n_rows, n_classes);
            if settings.bounds().is_auto() && !settings.is_in_parts() {
                config = config.clone().of_votes();
            }
        }
        let LabelFlowClassifier { seed, training, likelihood_weight, device, .. } = &mut config;
        plan.override_shared(n_rows, (seed, training, likelihood_weight, device));
        let config = if plan.args.model.spread_first { config.clone().spread_first() } else { config.clone() };
        LabelFlowClassifier { n_samples: plan.args.model.samples.unwrap_or(config.n_samples), ..config }
    };
    let path = required(&settings.features, "features")?;
    let options = SignalsOptions {
        classes: settings.classes.clone().unwrap_or_default(),
        abstain: settings.abstain.unwrap_or_default(),
        key: settings.key_column(),
        ..Default::default()
    };
    let (source, dataset);
    let mut uncovered = "have no vote: only their features are used";
    let (n_rows, fit, judged) = if settings.is_in_parts() {
        let (opened, bounds, memory) = PartsSource::open(plan, &options)?;
        source = opened;
        let n_rows = source.n_rows();
        (n_rows, configured(n_rows, source.classes().len()).prepare_source(&source, bounds, memory)?, None)
    } else {
        let signals_path = required(&settings.signals, "signals")?;
        let features = read_features(path, &options.key)?;
        let signals = read_signals(signals_path, &options)?.in_order_of(&features.keys)?;
        output::warn_if_any(signals_path, "abstain-convention", convention_doubt(&signals, &options));
        let config = configured(features.value.n_rows() as u64, signals.n_classes());
        let bounds = match config.needs_bounds() {
            true => settings.bounds().resolve(&signals)?,
            false => Bounds::constant(0.5, &signals)?,
        };
        dataset = WeakDataset::new(features.value, signals, bounds)
            .with_context(|| format!("{}, {}", path.display(), signals_path.display()))?;
        let classes = dataset.signals().classes();
        let truth = plan.truth(&features.keys, |path, key| read_labels(path, classes, key))?;
        let n_rows = dataset.n_rows() as u64;
        if config.leaves_out_unvoted() {
            uncovered = "have no vote: they are left out";
            output::note(&expected_errors(dataset.signals())?);
        }
        (n_rows, config.prepare(&dataset)?, truth.map(|truth| (dataset.features(), truth)))
    };
    let metrics = judged.as_ref().map(|(features, truth)| {
        |model: &FittedLabelFlowClassifier| {
            let metrics = classification_metrics(&model.predict_proba(features)?, truth)?;
            Ok(ClassMetrics::new(metrics, model.classes()))
        }
    });
    train_flow(plan, &fit, n_rows, uncovered, metrics)
}

/// What the label model of the votes expects, which stands in the place of bounds.
fn expected_errors(signals: &WeakSignals) -> anyhow::Result<String> {
    let groups = sure_groups(signals)?;
    let of_class = |(class, name): (usize, &String)| {
        let groups = groups.iter().filter(|group| group.class == class);
        let (n_rows, errors) = groups.fold((0, 0.0), |(n_rows, errors), group| {
            (n_rows + group.rows.len(), errors + group.bound * group.rows.len() as f64)
        });
        [name.clone(), n_rows.to_string(), output::percent(errors / n_rows.max(1) as f64)]
    };
    let header = ["the label model says", "rows", "with another class, at most %"];
    Ok(output::table(header, signals.classes().iter().enumerate().map(of_class)))
}
