//! Flags of `demo`.

use std::path::PathBuf;

use clap::Args;

use crate::commands::fit::args::TaskName;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The task to show
    #[arg(value_enum, default_value = "classification")]
    pub(crate) task: TaskName,
    /// The folder for the demo's files, its model and its labels
    #[arg(long, value_name = "DIR", default_value = "labelflow-demo")]
    pub(crate) out: PathBuf,
    /// The seed of the split and of training
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The most epochs [default: 500; for regression 1000]
    #[arg(long)]
    pub(crate) epochs: Option<usize>,
}
