//! What can be typed.

mod analyze;
mod calibrate;
mod complete;
mod data;
mod demo;
mod device;
mod eval;
mod fit;
mod label;
mod manual;
mod metrics;
mod predict;
mod report;
mod run;
mod signals;
mod votes;

use clap::{Parser, Subcommand};

pub(crate) use analyze::AnalyzeArgs;
pub(crate) use calibrate::{CalibrateArgs, CalibrationName};
pub(crate) use complete::CompleteArgs;
pub(crate) use data::{DataArgs, DataCommand, SynthKind};
pub(crate) use demo::DemoArgs;
pub(crate) use device::DeviceName;
pub(crate) use eval::EvalArgs;
pub(crate) use fit::{FitArgs, ModelArgs, PresetName, TaskName};
pub(crate) use label::{DEFAULT_LABEL_MODEL, LabelArgs};
pub(crate) use manual::{CompletionsArgs, ManArgs};
pub(crate) use metrics::MetricsArgs;
pub(crate) use predict::PredictArgs;
pub(crate) use report::{ReportArgs, ReportFormat};
pub(crate) use run::RunArgs;
pub(crate) use signals::{AbstainName, SignalsArgs, WrenchPart};
pub(crate) use votes::VotesArgs;

/// Turns unlabelled data and weak signals into labels that know how sure they are.
#[derive(Debug, Parser)]
#[command(name = "labelflow", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train on embedded data, compare with simpler methods, leave a model and labels to look at
    Demo(DemoArgs),
    /// Train a model from features and weak signals, or rules about means
    Fit(FitArgs),
    /// Label new rows with a trained model
    Predict(PredictArgs),
    /// Judge a trained model by true labels
    Eval(EvalArgs),
    /// Teach a trained classifier how sure it may be, on rows with true labels
    Calibrate(CalibrateArgs),
    /// Describe labelers: coverage, overlaps, conflicts, accuracy
    Analyze(AnalyzeArgs),
    /// Label rows from their votes alone, with a label model
    Label(LabelArgs),
    /// Let keywords vote on texts
    Votes(VotesArgs),
    /// Repeat experiments, such as the paper's tables, and compare with what is expected
    Run(RunArgs),
    /// Print the tables of runs that were kept, or write a page about runs, training, signals and predictions
    Report(ReportArgs),
    /// Complete partial point clouds with a trained model
    Complete(CompleteArgs),
    /// Compare generated point clouds with reference clouds
    Metrics(MetricsArgs),
    /// List, download, check and make datasets
    Data(DataArgs),
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write man pages
    #[command(hide = true)]
    Man(ManArgs),
}
