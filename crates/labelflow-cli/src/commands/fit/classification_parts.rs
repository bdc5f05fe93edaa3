//! A classifier from features and signals in Parquet files that need not fit in memory.

use labelflow::LabelFlowClassifier;
use labelflow::SavedModel;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::sources::RowSource;
use labelflow_data::inputs::{AbstainConvention, SignalsOptions};

use super::args::FitArgs;
use super::classification::with_model_flags;
use super::origin::{Origin, Repetition};
use super::parts::{PartsSetting, note_windows, refuse_what_needs_memory};
use crate::Outcome;
use crate::commands::fit::{FitFile, Training};
use crate::inputs::bounds_setting::BoundsSetting;

pub(super) fn run(
    file: FitFile,
    args: &FitArgs,
    repeated: Option<&Repetition>,
) -> anyhow::Result<Outcome> {
    refuse_what_needs_memory(&file, args)?;
    let config: LabelFlowClassifier = file.config(args)?;
    let folder = file.out(args)?;
    let setting = PartsSetting::gather(&file, args)?;
    let bounds = args.bounds.as_deref().map(BoundsSetting::parse).or(file.bounds);
    let bounds = bounds.unwrap_or(BoundsSetting::Named("auto".to_owned()));
    let classes = args.classes.clone().or(file.classes).unwrap_or_default();
    let abstain: AbstainConvention =
        args.abstain.map(Into::into).or(file.abstain).unwrap_or_default();
    let options = SignalsOptions { classes: classes.clone(), abstain, ..Default::default() };
    let (source, found, memory) = setting.open(&options, &bounds)?;
    let n_rows = source.n_rows();
    let config = with_model_flags(config, args, usize::try_from(n_rows)?);
    let prepared = config.prepare_streamed(&source, found, memory)?;
    note_windows(&prepared, n_rows, "have no vote");
    let digest = prepared.digest().to_owned();
    let training = Training {
        origin: Origin::new(&digest)?
            .input("features", Some(&setting.features))?
            .input("signals", setting.signals.as_deref())?
            .signals(&bounds, &classes, abstain)?
            .parts(&setting),
        repeated,
        digest,
        fit: &|start, observer| prepared.fit(&folder, start, observer),
        report: FittedLabelFlowClassifier::report,
        save: |model, folder, origin| model.save_with_origin(folder, origin),
        judge: None,
        eval_every: None,
    };
    let (_, outcome) = training.run(&folder, args)?;
    Ok(outcome)
}
