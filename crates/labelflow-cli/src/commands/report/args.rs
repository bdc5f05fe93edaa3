//! Flags of `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::commands::label::args::DEFAULT_LABEL_MODEL;
use crate::flags::{OverwriteArgs, SignalsArgs};

#[derive(Debug, Args)]
// Signals are one of several inputs here.
#[command(mut_group("SourceArgs", |group| group.required(false)))]
pub(crate) struct ReportArgs {
    /// Files of `run --json`, folders of `run --keep`, and experiment files for the paper's figures; for a page also model folders
    #[arg(value_name = "RESULTS", required_unless_present_any = ["signals", "wrench", "task_votes", "predictions"])]
    pub(crate) results: Vec<PathBuf>,
    /// Show only these systems, in this order, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) systems: Option<Vec<String>>,
    /// The output format [default: html if --out ends in .html, else markdown]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) signals: SignalsArgs,
    /// The label model that estimates the accuracy of each labeler
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LABEL_MODEL)]
    pub(crate) model: String,
    /// Labels written by `predict` or `label`
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,
    /// True labels for the rows of --predictions or, without --predictions, of --signals
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// True labels for the rows of --signals, when --predictions is given too
    #[arg(long, value_name = "FILE")]
    pub(crate) signals_labels: Option<PathBuf>,
    /// Also write every chart of the page to this folder, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Markdown tables, the best system in bold
    Markdown,
    /// One line per dataset and system
    Csv,
    /// LaTeX tabulars; they need the package booktabs
    Latex,
    /// All numbers, for programs
    Json,
    /// One page with charts, in a file that needs no network
    Html,
}
