//! The progression of diabetes from rules about means.

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::SavedModel;
use labelflow::evaluation::{RegressionMetrics, point_metrics, regression_metrics};
use labelflow::learners::FitOptions;
use labelflow::linear::LinearRegression;
use labelflow::rows::LabelRange;
use labelflow::rules::{AverageRules, Claim, Region, Rule, RuleDataset};
use labelflow::training::StopReason;
use labelflow::{LabelFlowRegressor, TrainConfig};
use labelflow_data::catalog::{RuleProblem, Split, embedded, measure_rules};
use labelflow_data::inputs::{write_features, write_value_labels};

use super::args::DemoArgs;
use crate::Outcome;
use crate::commands::data::{write_rules_of, write_true_values};
use crate::commands::predict::value_labels;
use crate::experiments::metric::Metric;
use crate::terminal::output;
use crate::terminal::output::percent;
use crate::terminal::progress::Progress;

/// What an expert would look at: body mass index, blood pressure, and the logarithm of triglycerides.
const FEATURES: [&str; 3] = ["bmi", "bp", "s5"];
/// Passes over the data.
const EPOCHS: usize = 1000;

pub(super) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let problem = problem(args.seed)?;
    leave_files(&args.out, &problem)?;
    output::print(&format!(
        "Progression of diabetes within a year: {} rules about means, as if an expert knew them, measured on half of the patients; \
         {} other rows to train on, without a single label; {} rows to test.\n",
        problem.train.groups().len(),
        problem.train.n_rows(),
        problem.test.n_rows()
    ))?;
    for group in problem.train.groups() {
        output::print(&format!("  {}: {}", group.rule.name, group.rule.claim))?;
    }
    let training =
        TrainConfig { max_epochs: args.epochs.unwrap_or(EPOCHS), ..TrainConfig::default() };
    let config = LabelFlowRegressor { seed: args.seed, training, ..LabelFlowRegressor::default() };
    let mut progress = Progress::new();
    let model = config.fit_with(
        &problem.train,
        FitOptions { observer: Some(&mut progress), ..FitOptions::default() },
    )?;
    drop(progress);
    if model.report().stop == StopReason::Interrupted {
        bail!("interrupted after {} epochs; there is no model", model.report().history.len());
    }
    let test = &problem.test;
    let flow = model.predict_distribution(&test.features)?;
    let average = AverageRules.fit(&problem.train)?.predict(&test.features)?;
    let supervised = LinearRegression
        .fit(problem.train.features().values(), problem.train_truth.values())?
        .predict(test.features.values())?;
    let rows = [
        row("label learning flow", &regression_metrics(&flow, &test.truth)?),
        row("averaged rules", &point_metrics(&average, &test.truth)?),
        row("least squares (true labels)", &point_metrics(&supervised, &test.truth)?),
    ];
    let header = ["on test rows", "root mean squared error", "R²", "labels in 80 % intervals"];
    output::print(&format!("\n{}", output::table(header, rows)))?;
    model.save(&args.out.join("model"))?;
    write_value_labels(&args.out.join("labels.csv"), &value_labels(&flow)?)?;
    explain(&args.out)?;
    Ok(Outcome::Done)
}

/// Rules from half of the patients, who are not seen otherwise; of the others, most to train on and the rest to test.
fn problem(seed: u64) -> anyhow::Result<RuleProblem> {
    let table = embedded::diabetes();
    let split = Split::random(table.n_rows(), seed);
    let rows = [split.simulation, split.test, split.train].concat();
    let (known, others) = rows.split_at(table.n_rows() / 2);
    let (test, train) = others.split_at(others.len() * 2 / 5);
    let simulation = table.select_rows(known);
    let rules = measure_rules(&simulation, &FEATURES)?.into_iter().map(rounded).collect();
    let (lowest, highest) = table.truth.extremes();
    let train = table.select_rows(train);
    Ok(RuleProblem {
        train: RuleDataset::new(train.features, rules, Some(LabelRange::new(lowest, highest)?))?,
        train_truth: train.truth,
        simulation: Some(simulation),
        test: table.select_rows(test),
    })
}

/// A rule as an expert would state it, with about three digits.
fn rounded(rule: Rule) -> Rule {
    let region = match rule.region {
        Region::AtLeast { feature, threshold } => {
            Region::AtLeast { feature, threshold: three_digits(threshold) }
        }
        Region::Below { feature, threshold } => {
            Region::Below { feature, threshold: three_digits(threshold) }
        }
        other => other,
    };
    Rule::new(region, Claim::mean(three_digits(rule.claim.middle())))
}

fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().expect("a number that was just written")
}

fn row(name: &str, metrics: &RegressionMetrics) -> [String; 4] {
    let held = metrics.intervals.iter().find(|interval| interval.level == 0.8);
    [
        name.to_owned(),
        Metric::Rmse.show(metrics.rmse, metrics.rmse),
        format!("{:.3}", metrics.r2),
        held.map_or_else(String::new, |interval| percent(interval.coverage) + " %"),
    ]
}

/// The demo's own data as files, so that the other commands can be tried on them.
fn leave_files(folder: &Path, problem: &RuleProblem) -> anyhow::Result<()> {
    let test = folder.join("test");
    std::fs::create_dir_all(&test).with_context(|| format!("creating {}", test.display()))?;
    write_features(&folder.join("features.csv"), problem.train.features())?;
    write_rules_of(&folder.join("rules.toml"), &problem.train)?;
    write_features(&test.join("features.csv"), &problem.test.features)?;
    write_true_values(&test.join("labels.csv"), &problem.test.truth)
}

fn explain(folder: &Path) -> anyhow::Result<()> {
    let folder = folder.display();
    output::print(&format!(
        "\n{folder}/labels.csv holds the test rows' labels with deviations and quantiles, {folder}/model the model. Try:\n\n  \
         labelflow eval {folder}/model --features {folder}/test/features.csv --labels {folder}/test/labels.csv\n  \
         labelflow fit --features {folder}/features.csv --rules {folder}/rules.toml --out {folder}/mine"
    ))
}
