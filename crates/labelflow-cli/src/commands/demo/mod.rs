//! `labelflow demo`: the whole of it on embedded data.

mod classification;
mod completion;
mod regression;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;
use labelflow::training::{Observer, Report, StopReason};
use labelflow::{Features, SavedModel};
use labelflow_data::inputs::write_features;

use super::fit::args::TaskName;
use crate::flags::OverwriteArgs;
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::progress::Progress;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The task to show
    #[arg(value_enum, default_value = "classification")]
    task: TaskName,
    /// The folder for the demo's files, its model and its labels
    #[arg(long, value_name = "DIR", default_value = "labelflow-demo")]
    out: PathBuf,
    #[command(flatten)]
    overwrite: OverwriteArgs,
    /// The seed of the split and of training
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The most epochs [default: 500; for regression 1000]
    #[arg(long)]
    epochs: Option<usize>,
}

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let _claim = ClaimedFolder::fill(&args.out, &args.overwrite)?;
    match args.task {
        TaskName::Classification => classification::run(args),
        TaskName::Regression => regression::run(args),
        TaskName::Completion => completion::run(args),
    }
}

impl DemoArgs {
    /// Leaves the features of the demo as files, so that the other commands can be tried on them; returns the folder of the test rows.
    fn leave_features(&self, train: &Features, test: &Features) -> anyhow::Result<PathBuf> {
        let folder = self.out.join("test");
        std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        write_features(&self.out.join("features.csv"), train)?;
        write_features(&folder.join("features.csv"), test)?;
        Ok(folder)
    }
}

/// Trains with a bar over the epochs; there is no model if that was interrupted.
fn train<M: SavedModel>(fit: impl FnOnce(&mut dyn Observer) -> labelflow::Result<M>) -> anyhow::Result<M> {
    let model = fit(&mut Progress::new())?;
    let Report { stop, history, .. } = model.report();
    ensure!(*stop != StopReason::Interrupted, "interrupted after {} epochs; there is no model", history.len());
    Ok(model)
}
