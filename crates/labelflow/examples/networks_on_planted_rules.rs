//! Which network learns best from rules about means? Planted problems, whose labels nobody needs to look up, decide.
//!
//! Run with `cargo run --release --example networks_on_planted_rules`. Each cell is the root mean squared error on test rows, as a
//! share of the deviation of the true values: 1 is what the overall mean would give.

// The table is the result, and an error has nobody to go to but whoever reads standard error.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use labelflow::evaluation::point_metrics;
use labelflow::flow::Activation;
use labelflow::learners::Scaling;
use labelflow::rules::AverageRules;
use labelflow::{LabelFlowRegressor, TrainConfig};
use labelflow_data::synthetic::{PlantedFunction, PlantedRegression, PlantedRegressionProblem};

const SEEDS: u64 = 3;
const FUNCTIONS: [PlantedFunction; 3] =
    [PlantedFunction::Linear, PlantedFunction::Saturating, PlantedFunction::Interaction];

fn main() {
    println!("| network | linear | saturating | interaction | mean |\n|---|---|---|---|---|");
    print_row("best possible", |planted| planted.best_predictions.clone());
    print_row("averaged rules", |planted| {
        let problem = &planted.problem;
        AverageRules.fit(&problem.train).unwrap().predict(&problem.test.features).unwrap()
    });
    for (activation, name) in
        [(Activation::Tanh, "tanh"), (Activation::Relu, "relu"), (Activation::NormalizedSilu, "norm")]
    {
        for (scaling, scaling_name) in [(Scaling::Standardize, "standardize"), (Scaling::Range, "range")] {
            for weight_decay in [0.0, 10.0, 30.0] {
                let name = format!("{name}, {scaling_name}, weight decay {weight_decay}");
                print_row(&name, |planted| {
                    let training = TrainConfig { max_epochs: 800, ..TrainConfig::default() };
                    let config = LabelFlowRegressor {
                        activation,
                        scaling,
                        weight_decay,
                        training,
                        ..LabelFlowRegressor::default()
                    };
                    let model = config.fit(&planted.problem.train).unwrap();
                    model.predict(&planted.problem.test.features).unwrap()
                });
            }
        }
    }
}

/// A line with the errors of one predictor on every kind of function.
fn print_row(name: &str, predict: impl Fn(&PlantedRegressionProblem) -> Vec<f64>) {
    let errors = FUNCTIONS.map(|function| {
        let error = |seed| {
            let config = PlantedRegression { function, seed, ..PlantedRegression::default() };
            let planted = config.generate().unwrap();
            let truth = &planted.problem.test.truth;
            // 1 − R² is the squared error as a share of the variance.
            (1.0 - point_metrics(&predict(&planted), truth).unwrap().r2).sqrt()
        };
        (0..SEEDS).map(error).sum::<f64>() / SEEDS as f64
    });
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let cells = errors.map(|error| format!("{error:.3}")).join(" | ");
    println!("| {name} | {cells} | {mean:.3} |");
}
