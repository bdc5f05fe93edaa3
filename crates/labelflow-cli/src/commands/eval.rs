//! `labelflow eval`: how good a model is.

use std::path::Path;

use anyhow::Context;
use labelflow::{ClassificationMetrics, classification_metrics};
use labelflow_data::read_labels;

use crate::Outcome;
use crate::args::EvalArgs;
use crate::commands::predict::{label, load_model};
use crate::output::{self, percent};

pub(crate) fn run(args: &EvalArgs) -> anyhow::Result<Outcome> {
    let model = load_model(&args.model, args.device)?;
    let truth = read_labels(&args.labels, model.classes())?;
    let labels = label(&model, &args.features)?;
    let metrics = classification_metrics(&labels, &truth)
        .with_context(|| format!("{}, {}", args.features.display(), args.labels.display()))?;
    if let Some(path) = &args.json {
        output::write_json(path, &metrics)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        print_metrics(&metrics)?;
    }
    Ok(Outcome::Done)
}

pub(crate) fn print_metrics(metrics: &ClassificationMetrics) -> anyhow::Result<()> {
    let rows = [
        ["rows".to_owned(), metrics.n_rows.to_string()],
        ["accuracy %".to_owned(), percent(metrics.accuracy)],
        ["calibration error %".to_owned(), percent(metrics.ece)],
        ["Brier score".to_owned(), format!("{:.4}", metrics.brier)],
        ["log loss".to_owned(), format!("{:.4}", metrics.log_loss)],
    ];
    output::print(&output::table(["metric", "value"], rows))
}
