//! A regression from rules about means and features in Parquet files that need not fit in memory.

use anyhow::Context;
use labelflow::LabelFlowRegressor;
use labelflow::SavedModel;
use labelflow::learners::FittedLabelFlowRegressor;
use labelflow::sources::RowSource;
use labelflow_data::inputs::read_rules;

use super::args::FitArgs;
use super::origin::Repetition;
use super::parts::{PartsSetting, note_windows, refuse_what_needs_memory};
use super::regression::{Inputs, refuse_flags_of_classification, with_model_flags};
use crate::Outcome;
use crate::commands::fit::{FitFile, Training};

pub(super) fn run(
    file: FitFile,
    args: &FitArgs,
    repeated: Option<&Repetition>,
) -> anyhow::Result<Outcome> {
    refuse_what_needs_memory(&file, args)?;
    refuse_flags_of_classification(&file, args)?;
    let config: LabelFlowRegressor = file.config(args)?;
    let folder = file.out(args)?;
    let setting = PartsSetting::gather(&file, args)?;
    let inputs = Inputs::gather(&file, args)?;
    let rules = read_rules(&inputs.rules)?;
    let (source, memory) = setting.open_features()?;
    let n_rows = source.n_rows();
    let config = with_model_flags(config, args, usize::try_from(n_rows)?);
    let range = inputs.range.or(rules.range);
    let (prepared, warnings) = config
        .prepare_streamed(&source, rules.rules, range, memory)
        .with_context(|| format!("{}, {}", setting.features.display(), inputs.rules.display()))?;
    inputs.note(&warnings);
    note_windows(&prepared, n_rows, "are in no rule");
    let digest = prepared.digest().to_owned();
    let training = Training {
        origin: inputs.origin(&digest)?.parts(&setting),
        repeated,
        digest,
        fit: &|start, observer| prepared.fit(&folder, start, observer),
        report: FittedLabelFlowRegressor::report,
        save: |model, folder, origin| model.save_with_origin(folder, origin),
        judge: None,
        eval_every: None,
    };
    let (_, outcome) = training.run(&folder, args)?;
    Ok(outcome)
}
