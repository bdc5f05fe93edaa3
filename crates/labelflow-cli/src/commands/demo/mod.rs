//! `labelflow demo`: the whole of it on embedded data.

mod classification;
mod completion;
mod regression;

use crate::Outcome;
use crate::args::{DemoArgs, TaskName};
use crate::claimed_folder::ClaimedFolder;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let _claim = ClaimedFolder::open(&args.out)?;
    match args.task {
        TaskName::Classification => classification::run(args),
        TaskName::Regression => regression::run(args),
        TaskName::Completion => completion::run(args),
    }
}
