//! Flags of `run`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::{DeviceName, OverwriteArgs, count};
use crate::terminal::threads::MOST_THREADS;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Experiment files, such as runs/table1/*.toml
    #[arg(value_name = "RUN.toml", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The folder with the datasets
    #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Run only these systems, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) systems: Option<Vec<String>>,
    /// Seeds, separated by commas, instead of those in the files
    #[arg(long, value_delimiter = ',')]
    pub(crate) seeds: Option<Vec<u64>>,
    /// Train for at most this many epochs, instead of what the files say
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
    /// Stop training after this many minutes and evaluate the model as it is then, in each run
    #[arg(long, value_name = "MINUTES")]
    pub(crate) max_minutes: Option<f64>,
    /// Where to compute
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceName>,
    /// The number of runs at the same time
    #[arg(long, default_value_t = 1, value_parser = count().range(1..=MOST_THREADS as u64))]
    pub(crate) jobs: usize,
    /// Save finished runs in this folder and skip those that are already there
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Save trained completers in this folder: an interrupted run resumes, and a finished one is not trained again
    #[arg(long, value_name = "DIR")]
    pub(crate) models: Option<PathBuf>,
    /// Write pictures into this folder: the first test scans with the completions of each system, except for runs that --keep skips
    #[arg(long, value_name = "DIR")]
    pub(crate) pictures: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArgs,
    /// Also write all runs as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
