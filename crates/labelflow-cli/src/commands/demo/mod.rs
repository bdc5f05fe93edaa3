//! `labelflow demo`: the whole of it on embedded data.

pub(crate) mod args;
mod classification;
mod completion;
mod regression;

use super::fit::args::TaskName;
use crate::Outcome;
use crate::terminal::claimed_folder::ClaimedFolder;
use args::DemoArgs;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let _claim = ClaimedFolder::open(&args.out)?;
    match args.task {
        TaskName::Classification => classification::run(args),
        TaskName::Regression => regression::run(args),
        TaskName::Completion => completion::run(args),
    }
}
