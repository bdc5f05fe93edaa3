//! `labelflow eval`: how good a model is.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use labelflow::Features;
use labelflow::evaluation::{ClassificationMetrics, RegressionMetrics, classification_metrics, regression_metrics};
use labelflow_data::inputs::{read_labels, read_values};
use serde::Serialize;

use super::class_metrics::ClassMetrics;
use super::predict::{Model, warn_of_lost};
use crate::experiments::metric::Metric;
use crate::flags::{DeviceName, LabelledRowsArgs};
use crate::inputs::evaluation_file::Scores;
use crate::terminal::output::{self, percent};

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The folder of a model that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    model: PathBuf,
    #[command(flatten)]
    rows: LabelledRowsArgs,
    /// The device to compute on
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceName,
    /// Also write the metrics as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let (json, path) = (args.json.as_deref(), &args.rows.features);
    let (context, place) = (|| args.rows.place(), || path.display().to_string());
    match Model::load(&args.model, args.device)?.0 {
        Model::Classifier(model) => {
            let read = |path: &Path, key: &_| read_labels(path, model.classes(), key);
            let predict = |features: Features| model.predict_proba_with_lost(&features).with_context(place);
            let ((labels, lost), truth) = args.rows.read(model.feature_names(), read, predict)?;
            let first = lost.first().map(|&row| row as u64);
            warn_of_lost(path, lost.len() as u64, first, labels.n_rows() as u64);
            let metrics = classification_metrics(&labels, &truth).with_context(context)?;
            show(json, ClassMetrics::new(metrics, model.classes()))
        }
        Model::Regressor(model) => {
            let predict = |features: Features| model.predict_distribution(&features).with_context(place);
            let (labels, truth) = args.rows.read(model.feature_names(), read_values, predict)?;
            show(json, regression_metrics(&labels, &truth).with_context(context)?)
        }
    }
}

/// What machines read.
#[derive(Serialize)]
struct Report<M> {
    #[serde(flatten)]
    metrics: M,
    warnings: Vec<output::Warning>,
}

fn show(json: Option<&Path>, metrics: impl Metrics + Serialize) -> anyhow::Result<()> {
    output::refuse_warnings()?;
    let report = Report { metrics, warnings: output::warnings() };
    output::show(json, &report, || report.metrics.print())
}

/// How good a model is, by true labels.
pub(crate) trait Metrics {
    /// The most telling numbers.
    fn scores(&self) -> Scores;

    /// Prints them for people.
    fn print(&self) -> anyhow::Result<()>;
}

/// The metrics of all rows, by their names.
pub(crate) fn shown(metrics: &ClassificationMetrics) -> [[String; 2]; 4] {
    [
        ["accuracy %".to_owned(), percent(metrics.accuracy)],
        ["calibration error %".to_owned(), percent(metrics.ece)],
        ["Brier score".to_owned(), format!("{:.4}", metrics.brier)],
        ["log loss".to_owned(), format!("{:.4}", metrics.log_loss)],
    ]
}

impl Metrics for RegressionMetrics {
    fn scores(&self) -> Scores {
        Scores::Regression { rmse: self.rmse }
    }

    fn print(&self) -> anyhow::Result<()> {
        let show = |number: f64| Metric::Rmse.show(number, number);
        let mut rows = vec![
            ["rows".to_owned(), self.n_rows.to_string()],
            ["root mean squared error".to_owned(), show(self.rmse)],
            ["mean absolute error".to_owned(), show(self.mae)],
            ["R²".to_owned(), format!("{:.3}", self.r2)],
        ];
        for interval in &self.intervals {
            rows.push([
                format!("{:.0} % intervals: labels held %", interval.level * 100.0),
                percent(interval.coverage),
            ]);
            rows.push([format!("{:.0} % intervals: mean width", interval.level * 100.0), show(interval.width)]);
        }
        output::print(&output::table(["metric", "value"], rows))
    }
}
