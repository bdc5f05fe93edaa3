//! A classifier from features and votes in Parquet files that need not fit in memory.

use anyhow::bail;
use labelflow::{FittedLabelFlowClassifier, LabelFlowClassifier, RowSource};
use labelflow_data::{AbstainConvention, SignalsOptions};

use super::classification::with_model_flags;
use super::origin::{Origin, Repetition};
use super::parts::{PartsSetting, note_windows};
use super::{FitFile, Training, required};
use crate::Outcome;
use crate::args::FitArgs;
use crate::bounds_setting::BoundsSetting;
use crate::memory_size::MemorySize;

pub(super) fn run(
    file: FitFile,
    args: &FitArgs,
    repeated: Option<&Repetition>,
) -> anyhow::Result<Outcome> {
    refuse(&file, args)?;
    let config: LabelFlowClassifier = file.config(args)?;
    let folder = file.out(args)?;
    let setting = PartsSetting {
        features: required(&args.features, &file.features, "features")?,
        signals: args.signals.clone().or(file.signals.clone()),
        feature_columns: args.feature_columns.clone().or(file.feature_columns.clone()),
        signal_columns: args.signal_columns.clone().or(file.signal_columns.clone()),
        memory: args.memory.or(file.memory).unwrap_or(MemorySize::DEFAULT),
    };
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
    note_windows(&prepared, n_rows);
    let digest = prepared.digest().to_owned();
    let training = Training {
        origin: Origin::new(&digest)?
            .input("features", Some(&setting.features))?
            .input("signals", setting.signals.as_deref())?
            .signals(&bounds, &classes, abstain)?
            .parts(&setting),
        repeated,
        digest,
        fit: &|start, observer| prepared.fit(start, observer),
        report: FittedLabelFlowClassifier::report,
        save: |model, folder, origin| model.save_with_origin(folder, origin),
        judge: None,
        eval_every: None,
    };
    let (_, outcome) = training.run(&folder, args)?;
    Ok(outcome)
}

/// What needs all rows in memory.
fn refuse(file: &FitFile, args: &FitArgs) -> anyhow::Result<()> {
    if args.labels_for_eval.is_some() || file.labels_for_eval.is_some() {
        bail!(
            "labels-for-eval: expected features that are read into memory, found rows in parts (`labelflow eval` judges the model)"
        );
    }
    if args.eval_every.is_some() || file.eval_every.is_some() {
        bail!("eval-every: expected features that are read into memory, found rows in parts");
    }
    Ok(())
}
