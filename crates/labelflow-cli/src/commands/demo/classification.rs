//! Breast cancer from three weak signals.

use labelflow::baselines::{AverageClassifier, SupervisedClassifier};
use labelflow::evaluation::classification_metrics;
use labelflow::label_models::{FittedLabelModel, LabelModel, MajorityVote};
use labelflow::learners::FitOptions;
use labelflow::rows::SoftLabels;
use labelflow::{LabelFlowClassifier, SavedModel, TrainConfig};
use labelflow_data::catalog::{BoundsFrom, embedded, simulate};
use labelflow_data::inputs::{KeyHead, LabelRows, write_labels, write_signals};

use super::{DemoArgs, train};
use crate::commands::data::write_truth;
use crate::terminal::output::{self, percent};

/// The columns that the three labelers look at: mean, error and worst of the radius.
const COLUMNS: [usize; 3] = [0, 10, 20];

/// Passes over the data.
const EPOCHS: usize = 500;

pub(super) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let table = embedded::breast_cancer();
    let problem = simulate(&table, &COLUMNS, args.seed, BoundsFrom::Simulation)?;
    let (out, folder, test) = (&args.out, args.out.display(), &problem.test);
    let test_folder = args.leave_features(problem.train.features(), &test.features)?;
    write_signals(&out.join("signals.csv"), problem.train.signals())?;
    // For evaluation alone: nothing is trained on them.
    let classes = test.signals.classes();
    write_truth(&out.join("true-labels.csv"), &problem.train_truth, classes)?;
    write_truth(&test_folder.join("labels.csv"), &test.truth, classes)?;
    output::print(&format!(
        "Wisconsin breast cancer: {} rows to train on, without a single label; 3 weak signals, each a guess from one \
         measurement; {} rows to test.\n",
        problem.train.n_rows(),
        test.truth.n_rows()
    ))?;
    let config = LabelFlowClassifier {
        seed: args.seed,
        training: TrainConfig { max_epochs: args.epochs.unwrap_or(EPOCHS), ..TrainConfig::default() },
        ..LabelFlowClassifier::default()
    };
    let model = train(|observer| {
        config.fit_with(&problem.train, FitOptions { observer: Some(observer), ..Default::default() })
    })?;
    let flow = model.predict_proba(&test.features)?;
    let majority = MajorityVote::default().fit(problem.train.signals())?;
    let average = AverageClassifier::fit(&problem.train)?;
    let supervised = SupervisedClassifier::fit(problem.train.features(), &problem.train_truth)?;
    let row = |name: &str, labels: &SoftLabels| {
        let metrics = classification_metrics(labels, &test.truth)?;
        let brier = format!("{:.4}", metrics.brier);
        anyhow::Ok([name.to_owned(), percent(metrics.accuracy), percent(metrics.ece), brier])
    };
    let rows = [
        row("label learning flow", &flow)?,
        row("majority vote", &majority.predict_proba(&test.signals)?)?,
        row("averaged signals", &average.predict_proba(&test.features)?)?,
        row("supervised learning (true labels)", &supervised.predict_proba(&test.features)?)?,
    ];
    let header = ["on test rows", "accuracy %", "calibration error %", "Brier score"];
    output::print(&output::table(header, rows))?;
    model.save(&out.join("model"))?;
    write_labels(&out.join("labels.csv"), &KeyHead::default(), LabelRows::of(&flow), model.classes())?;
    output::print(&format!(
        "\n{folder}/labels.csv holds the test rows' labels with probabilities, {folder}/model the model. Try:\n\n  \
         labelflow analyze --signals {folder}/signals.csv --classes benign,malignant\n  \
         labelflow eval {folder}/model --features {folder}/test/features.csv --labels {folder}/test/labels.csv\n  \
         labelflow fit --features {folder}/features.csv --signals {folder}/signals.csv \
         --classes benign,malignant --out {folder}/mine"
    ))
}
