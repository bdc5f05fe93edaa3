//! Breast cancer from three weak signals.

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::SavedModel;
use labelflow::baselines::{AverageClassifier, SupervisedClassifier};
use labelflow::evaluation::{ClassificationMetrics, classification_metrics};
use labelflow::label_models::{FittedLabelModel, LabelModel, MajorityVote};
use labelflow::learners::FitOptions;
use labelflow::training::StopReason;
use labelflow::{LabelFlowClassifier, TrainConfig};
use labelflow_data::catalog::{BoundsFrom, WeakProblem, embedded, simulate};
use labelflow_data::inputs::{write_features, write_labels, write_signals};

use super::args::DemoArgs;
use crate::Outcome;
use crate::commands::data::write_truth;
use crate::terminal::output;
use crate::terminal::output::percent;
use crate::terminal::progress::Progress;

/// The columns that the three labelers look at: mean, error and worst of the radius.
const COLUMNS: [usize; 3] = [0, 10, 20];

/// Passes over the data.
const EPOCHS: usize = 500;

pub(super) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let table = embedded::breast_cancer();
    let problem = simulate(&table, &COLUMNS, args.seed, BoundsFrom::Simulation)?;
    leave_files(&args.out, &problem)?;
    output::print(&format!(
        "Wisconsin breast cancer: {} rows to train on, without a single label; 3 weak signals, each a guess from one \
         measurement; {} rows to test.\n",
        problem.train.n_rows(),
        problem.test.truth.n_rows()
    ))?;
    let config = LabelFlowClassifier {
        seed: args.seed,
        training: TrainConfig {
            max_epochs: args.epochs.unwrap_or(EPOCHS),
            ..TrainConfig::default()
        },
        ..LabelFlowClassifier::default()
    };
    let mut progress = Progress::new();
    let model = config.fit_with(
        &problem.train,
        FitOptions { observer: Some(&mut progress), ..FitOptions::default() },
    )?;
    drop(progress);
    if model.report().stop == StopReason::Interrupted {
        bail!("interrupted after {} epochs; there is no model", model.report().history.len());
    }
    let flow = model.predict_proba(&problem.test.features)?;

    let test = &problem.test;
    let majority = MajorityVote::default().fit(problem.train.signals())?;
    let average = AverageClassifier::fit(&problem.train)?;
    let supervised = SupervisedClassifier::fit(problem.train.features(), &problem.train_truth)?;
    let rows = [
        row("label learning flow", classification_metrics(&flow, &test.truth)?),
        row(
            "majority vote",
            classification_metrics(&majority.predict_proba(&test.signals)?, &test.truth)?,
        ),
        row(
            "averaged signals",
            classification_metrics(&average.predict_proba(&test.features)?, &test.truth)?,
        ),
        row(
            "supervised learning (true labels)",
            classification_metrics(&supervised.predict_proba(&test.features)?, &test.truth)?,
        ),
    ];
    let header = ["on test rows", "accuracy %", "calibration error %", "Brier score"];
    output::print(&output::table(header, rows))?;
    model.save(&args.out.join("model"))?;
    write_labels(&args.out.join("labels.csv"), &flow, model.classes())?;
    explain(&args.out)?;
    Ok(Outcome::Done)
}

fn row(name: &str, metrics: ClassificationMetrics) -> [String; 4] {
    [
        name.to_owned(),
        percent(metrics.accuracy),
        percent(metrics.ece),
        format!("{:.4}", metrics.brier),
    ]
}

/// The demo's own data as files, so that the other commands can be tried on them.
fn leave_files(folder: &Path, problem: &WeakProblem) -> anyhow::Result<()> {
    let test = folder.join("test");
    std::fs::create_dir_all(&test).with_context(|| format!("creating {}", test.display()))?;
    write_features(&folder.join("features.csv"), problem.train.features())?;
    write_signals(&folder.join("signals.csv"), problem.train.signals())?;
    write_features(&test.join("features.csv"), &problem.test.features)?;
    let classes = problem.test.signals.classes();
    // For evaluation alone: nothing is trained on them.
    write_truth(&folder.join("true-labels.csv"), &problem.train_truth, classes)?;
    write_truth(&test.join("labels.csv"), &problem.test.truth, classes)
}

fn explain(folder: &Path) -> anyhow::Result<()> {
    let folder = folder.display();
    output::print(&format!(
        "\n{folder}/labels.csv holds the test rows' labels with probabilities, {folder}/model the model. Try:\n\n  \
         labelflow analyze --signals {folder}/signals.csv --classes benign,malignant\n  \
         labelflow eval {folder}/model --features {folder}/test/features.csv --labels {folder}/test/labels.csv\n  \
         labelflow fit --features {folder}/features.csv --signals {folder}/signals.csv \
         --classes benign,malignant --out {folder}/mine"
    ))
}
