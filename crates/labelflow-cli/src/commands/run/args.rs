//! Flags of `run`.

use std::path::PathBuf;

use clap::Args;

use crate::commands::device::DeviceName;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Experiment files, such as runs/table1/*.toml
    #[arg(value_name = "RUN.toml", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The folder with the datasets
    #[arg(long, value_name = "DIR", env = "LABELFLOW_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Only these systems of each file, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) systems: Option<Vec<String>>,
    /// These seeds instead of each file's, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) seeds: Option<Vec<u64>>,
    /// Fewer passes over the data than the files say
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
    /// End the training of each run after so many minutes, and judge what it has become
    #[arg(long, value_name = "MINUTES")]
    pub(crate) max_minutes: Option<f64>,
    /// Where to compute
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceName>,
    /// Independent runs at the same time
    #[arg(long, default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Keep every finished run here, and do not repeat those that are there
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Keep trained completers here: a run that was killed goes on, and one that has ended is not trained again
    #[arg(long, value_name = "DIR")]
    pub(crate) models: Option<PathBuf>,
    /// Draw the first test scans into this folder as each system completes them, side by side, of runs that are not taken from --keep
    #[arg(long, value_name = "DIR")]
    pub(crate) pictures: Option<PathBuf>,
    /// Also write all runs as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
