//! Flags of `analyze`.

use std::path::PathBuf;

use clap::Args;

use crate::commands::label::args::DEFAULT_LABEL_MODEL;
use crate::flags::SignalsArgs;

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub(crate) signals: SignalsArgs,
    /// True labels, to measure the accuracy of each labeler
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Label model that estimates the accuracy of each labeler without true labels
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LABEL_MODEL)]
    pub(crate) model: String,
    /// Also describe each pair of labelers: common rows, agreement, correlation
    #[arg(long)]
    pub(crate) pairs: bool,
    /// Also write the table of labelers: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write the tables as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
