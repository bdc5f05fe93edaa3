//! Flags of `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::commands::label::args::DEFAULT_LABEL_MODEL;
use crate::commands::signals::SignalsArgs;

#[derive(Debug, Args)]
// Signals are one of several inputs here.
#[command(mut_group("SourceArgs", |group| group.required(false)))]
pub(crate) struct ReportArgs {
    /// What `run --json` wrote or folders of `run --keep`; experiment files among them say what the paper has. For a page also
    /// folders of models
    #[arg(value_name = "RESULTS", required_unless_present_any = ["signals", "wrench", "task_votes", "predictions"])]
    pub(crate) results: Vec<PathBuf>,
    /// Only these systems and in this order, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) systems: Option<Vec<String>>,
    /// What to write [default: html if --out ends in .html, else markdown]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// Where to write it [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) signals: SignalsArgs,
    /// The label model that says how accurate each labeler seems to be
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LABEL_MODEL)]
    pub(crate) model: String,
    /// Labels that `predict` or `label` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,
    /// True labels of the rows of --predictions or, without these, of --signals
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// True labels of the rows of --signals, where there are --predictions too
    #[arg(long, value_name = "FILE")]
    pub(crate) signals_labels: Option<PathBuf>,
    /// Also write every chart of the page into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A table for people; the best system in bold
    Markdown,
    /// A line for each dataset and system
    Csv,
    /// A tabular, with the package booktabs
    Latex,
    /// All numbers for machines
    Json,
    /// One page with charts, which needs no network
    Html,
}
