//! Flags of `data`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::flags::{OverwriteArgs, count};

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    pub(crate) command: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Show all datasets that are known
    List {
        /// Also write the list as JSON ('-' for standard output)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Download a dataset from its publisher and check its hash
    Fetch {
        /// Its name, as `data list` shows it
        name: String,
        /// The folder with the datasets
        #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
        data: Option<PathBuf>,
    },
    /// Compare files, row counts and hashes with the catalog
    Check {
        /// Names, as `data list` shows them; none for all
        names: Vec<String>,
        /// The folder with the datasets
        #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
        data: Option<PathBuf>,
    },
    /// Write a dataset as parquet files: features and votes to train on, bounds, and rows to test on
    Export {
        /// Its name, as `data list` shows it
        name: String,
        /// The folder with the datasets
        #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
        data: Option<PathBuf>,
        /// The seed of the split
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Rows of each file of features and signals
        #[arg(long, value_name = "ROWS", default_value_t = 1000, value_parser = count())]
        rows_per_part: usize,
        /// The folder to write into
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        #[command(flatten)]
        overwrite: OverwriteArgs,
    },
    /// Make a problem whose best answer is known: features.csv, signals.csv, labels.csv
    Synth(SynthArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    /// Which kind
    #[arg(value_enum)]
    pub(crate) kind: SynthKind,
    /// Number of rows
    #[arg(long, default_value_t = 1000)]
    pub(crate) rows: usize,
    /// Number of classes
    #[arg(long, default_value_t = 2)]
    pub(crate) classes: usize,
    /// Number of labelers
    #[arg(long, default_value_t = 10)]
    pub(crate) labelers: usize,
    /// Number of features, of gaussian classes [default: 10, or as many as classes]
    #[arg(long)]
    pub(crate) features: Option<usize>,
    /// The seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Votes, and the features of gaussian classes, in parquet files of so many rows each: for more than fit in memory
    #[arg(long, value_name = "ROWS")]
    pub(crate) rows_per_part: Option<usize>,
    /// The folder to write into
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthKind {
    /// Votes of independent labelers, no features
    Votes,
    /// Gaussian classes with votes: features tell more than votes
    Gaussian,
    /// A function of correlated features, with rules about means: rules.toml instead of signals.csv
    Regression,
    /// Made-up chairs with semantic parts, in PartNet's folder layout; --rows is the number of training shapes
    Chairs,
    /// Made-up tables, likewise
    Tables,
    /// Made-up lamps, likewise
    Lamps,
}
