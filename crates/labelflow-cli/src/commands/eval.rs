//! `labelflow eval`: how good a model is.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use labelflow::evaluation::{ClassificationMetrics, RegressionMetrics, classification_metrics, regression_metrics};
use labelflow_data::inputs::{read_labels, read_values};
use serde::Serialize;

use super::predict::{Model, classes, values};
use crate::experiments::metric::Metric;
use crate::flags::{DeviceName, KeyArgs};
use crate::inputs::evaluation_file::Scores;
use crate::terminal::output::{self, percent};

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The folder of a model that `fit` wrote
    #[arg(value_name = "MODEL_DIR")]
    model: PathBuf,
    /// The features of labelled rows
    #[arg(long, value_name = "FILE")]
    features: PathBuf,
    /// Their true labels
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
    /// The device to compute on
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceName,
    /// Also write the metrics as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let context = || format!("{}, {}", args.features.display(), args.labels.display());
    let json = args.json.as_deref();
    match Model::load(&args.model, args.device)? {
        Model::Classifier(model) => {
            let truth = read_labels(&args.labels, model.classes(), &args.key.column())?;
            let labels = classes(&model, &args.features, &args.key)?;
            let truth = truth.in_order_of(&labels.keys)?;
            let metrics = classification_metrics(&labels.value, &truth).with_context(context)?;
            show(json, metrics)
        }
        Model::Regressor(model) => {
            let truth = read_values(&args.labels, &args.key.column())?;
            let labels = values(&model, &args.features, &args.key)?;
            let truth = truth.in_order_of(&labels.keys)?;
            let metrics = regression_metrics(&labels.value, &truth).with_context(context)?;
            show(json, metrics)
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

impl Metrics for ClassificationMetrics {
    fn scores(&self) -> Scores {
        Scores::Classification { accuracy: self.accuracy, ece: self.ece }
    }

    fn print(&self) -> anyhow::Result<()> {
        let mut rows = vec![
            ["rows".to_owned(), self.n_rows.to_string()],
            ["accuracy %".to_owned(), percent(self.accuracy)],
            ["calibration error %".to_owned(), percent(self.ece)],
            ["Brier score".to_owned(), format!("{:.4}", self.brier)],
            ["log loss".to_owned(), format!("{:.4}", self.log_loss)],
        ];
        for surest in self.surest {
            let name = format!("accuracy % of the surest {:.0} % of rows", surest.share * 100.0);
            rows.push([name, percent(surest.accuracy)]);
        }
        output::print(&output::table(["metric", "value"], rows))
    }
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
