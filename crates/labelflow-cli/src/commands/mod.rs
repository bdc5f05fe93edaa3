//! The commands, one file or folder each: what can be typed, and what it does.

pub(crate) mod analyze;
pub(crate) mod calibrate;
pub(crate) mod class_metrics;
pub(crate) mod complete;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod eval;
pub(crate) mod fit;
pub(crate) mod label;
pub(crate) mod manual;
pub(crate) mod metrics;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod votes;

use clap::{Parser, Subcommand};

use crate::Outcome;

/// Turns unlabelled data and weak signals into labels with probabilities
#[derive(Debug, Parser)]
#[command(name = "labelflow", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Make warnings errors, before anything is trained or written
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands in the order of `labelflow help`: what each does, its arguments, and the function that runs it.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($args:ty) => $run:path,)+) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])* $name($args),)+
        }

        impl Command {
            pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
                match self {
                    $(Self::$name(args) => Ok($run(args)?.into()),)+
                }
            }
        }
    };
}

commands! {
    /// Train on embedded data, compare with simpler methods, and save a model and labels
    Demo(demo::DemoArgs) => demo::run,
    /// Train a model from features and weak signals, rules about means, or shapes
    Fit(fit::args::FitArgs) => fit::run,
    /// Label new rows with a trained model
    Predict(predict::args::PredictArgs) => predict::run,
    /// Evaluate a trained model on rows with true labels
    Eval(eval::EvalArgs) => eval::run,
    /// Calibrate a trained classifier on rows with true labels
    Calibrate(calibrate::CalibrateArgs) => calibrate::run,
    /// Describe labelers: coverage, overlaps, conflicts, accuracy
    Analyze(analyze::AnalyzeArgs) => analyze::run,
    /// Label rows from their votes alone, with a label model
    Label(label::args::LabelArgs) => label::run,
    /// Turn keyword rules into votes on texts
    Votes(votes::VotesArgs) => votes::run,
    /// Repeat experiments, such as the paper's tables, and compare with what is expected
    Run(run::args::RunArgs) => run::run,
    /// Print the tables of finished runs, or write a page about runs, training, signals and predictions
    Report(report::args::ReportArgs) => report::run,
    /// Complete partial point clouds with a trained model
    Complete(complete::args::CompleteArgs) => complete::run,
    /// Compare generated point clouds with reference clouds
    Metrics(metrics::MetricsArgs) => metrics::run,
    /// List, download, check and make datasets
    Data(data::args::DataArgs) => data::run,
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions(manual::CompletionsArgs) => manual::print_completions,
    /// Write man pages
    #[command(hide = true)]
    Man(manual::ManArgs) => manual::write_man_pages,
}
