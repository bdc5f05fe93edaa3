//! The progression of diabetes from rules about means.

use labelflow::evaluation::{RegressionMetrics, point_metrics, regression_metrics};
use labelflow::learners::FitOptions;
use labelflow::linear::LinearRegression;
use labelflow::rows::LabelRange;
use labelflow::rules::{AverageRules, Claim, Region, Rule, RuleDataset};
use labelflow::{LabelFlowRegressor, SavedModel, TrainConfig};
use labelflow_data::catalog::{RuleProblem, Split, embedded, measure_rules};
use labelflow_data::inputs::{KeyHead, RowNames, write_value_labels};

use super::{DemoArgs, train};
use crate::commands::data::{write_rules_of, write_true_values};
use crate::commands::predict::value_labels;
use crate::experiments::metric::Metric;
use crate::terminal::output::{self, percent};

/// What an expert would look at: body mass index, blood pressure, and the logarithm of triglycerides.
const FEATURES: [&str; 3] = ["bmi", "bp", "s5"];
/// Passes over the data.
const EPOCHS: usize = 1000;

pub(super) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let problem = problem(args.seed)?;
    let (out, folder, test) = (&args.out, args.out.display(), &problem.test);
    let test_folder = args.leave_features(problem.train.features(), &test.features)?;
    write_rules_of(&out.join("rules.toml"), &problem.train)?;
    write_true_values(&test_folder.join("labels.csv"), &test.truth)?;
    output::print(&format!(
        "Progression of diabetes within a year: {} rules about means, as if an expert knew them, measured on half of the patients; \
         {} other rows to train on, without a single label; {} rows to test.\n",
        problem.train.groups().len(),
        problem.train.n_rows(),
        test.n_rows()
    ))?;
    for group in problem.train.groups() {
        output::print(&format!("  {}: {}", group.rule.name, group.rule.claim))?;
    }
    let training = TrainConfig { max_epochs: args.epochs.unwrap_or(EPOCHS), ..TrainConfig::default() };
    let config = LabelFlowRegressor { seed: args.seed, training, ..LabelFlowRegressor::default() };
    let model = train(|observer| {
        config.fit_with(&problem.train, FitOptions { observer: Some(observer), ..Default::default() })
    })?;
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
    model.save(&out.join("model"))?;
    let rows = RowNames::Place(0..test.n_rows() as u64);
    write_value_labels(&out.join("labels.csv"), &KeyHead::default(), &rows, &value_labels(&flow)?)?;
    output::print(&format!(
        "\n{folder}/labels.csv holds the test rows' labels with deviations and quantiles, {folder}/model the model. Try:\n\n  \
         labelflow eval {folder}/model --features {folder}/test/features.csv --labels {folder}/test/labels.csv\n  \
         labelflow fit --features {folder}/features.csv --rules {folder}/rules.toml --out {folder}/mine"
    ))
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
    let mut region = rule.region;
    if let Region::AtLeast { threshold, .. } | Region::Below { threshold, .. } = &mut region {
        *threshold = three_digits(*threshold);
    }
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
