//! `labelflow fit`: a model from features and weak supervision.

pub(crate) mod args;
mod classification;
mod completion;
mod evaluations;
mod origin;
mod parts;
mod plan;
mod regression;
mod training;

use labelflow::storage::ModelTask;

use crate::Outcome;
use crate::terminal::claimed_folder::ClaimedFolder;
use args::FitArgs;
use plan::FitPlan;

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<Outcome> {
    let plan = FitPlan::new(args)?;
    // Before anything is read: better to know at once that there is no place for the model.
    let _claim = ClaimedFolder::fill(&plan.out, &args.overwrite)?;
    match plan.task {
        ModelTask::Classification => classification::run(&plan),
        ModelTask::Regression => regression::run(&plan),
        _ => completion::run(&plan),
    }
}
