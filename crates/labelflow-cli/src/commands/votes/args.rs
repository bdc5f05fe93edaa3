//! Flags of `votes`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct VotesArgs {
    /// Table with a column of texts: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) texts: PathBuf,
    /// Column with the texts
    #[arg(long, value_name = "NAME", default_value = "text")]
    pub(crate) column: String,
    /// TOML file with the classes, and the labelers with their keywords
    #[arg(long, value_name = "RULES.toml")]
    pub(crate) rules: PathBuf,
    /// Where to write the votes, one column per labeler: csv, tsv, parquet or npz
    #[arg(long, value_name = "FILE", default_value = "votes.csv")]
    pub(crate) out: PathBuf,
}
