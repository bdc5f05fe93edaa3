//! `labelflow calibrate`: calibrates a trained classifier on rows with true labels.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use labelflow::calibration::CalibrationMethod;
use labelflow::evaluation::{ClassificationMetrics, classification_metrics};
use labelflow::learners::{Certainty, FittedLabelFlowClassifier};
use labelflow::rows::Truth;
use labelflow::storage::ModelRecord;
use labelflow::{Features, SavedModel};
use labelflow_data::inputs::read_labels;

use super::eval::shown;
use super::predict::Model;
use crate::flags::{DeviceName, LabelledRowsArgs};
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::output::{self, percent};

#[derive(Debug, Args)]
#[command(mut_arg("features", |arg| arg.help("The features of labelled rows that the model was not trained on")))]
pub(crate) struct CalibrateArgs {
    /// The folder of a classifier that `fit` wrote; it is changed in place
    #[arg(value_name = "MODEL_DIR")]
    model: PathBuf,
    #[command(flatten)]
    rows: LabelledRowsArgs,
    /// How to calibrate probabilities
    #[arg(long, value_enum, default_value = "auto")]
    method: CalibrationName,
    /// Also calibrate prediction sets with this coverage, such as 0.9: `predict` then writes a set of classes per row, and this share of
    /// the sets holds the true class [default: none]
    #[arg(long, value_name = "SHARE")]
    sets: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CalibrationName {
    /// Isotonic with 100 rows or more, else temperature
    Auto,
    /// Temperature scaling: one number, which leaves the predicted classes as they are
    Temperature,
    /// Isotonic regression: one curve per class; needs about 100 rows
    Isotonic,
    /// Remove an earlier calibration: probabilities as the model gives them
    None,
}

pub(crate) fn run(args: &CalibrateArgs) -> anyhow::Result<()> {
    let (model, record) = Model::load(&args.model, DeviceName::Cpu)?;
    let Model::Classifier(model) = model else {
        bail!(
            "{}: expected a classifier, found a model for regression; `labelflow eval` shows how good its intervals are",
            args.model.display()
        );
    };
    let read = |path: &Path, key: &_| read_labels(path, model.classes(), key);
    let (features, truth) = args.rows.read(model.feature_names(), read, Ok)?;
    output::refuse_warnings()?;
    let before = model.clone().with_certainty(Certainty::default())?;
    let after = learned(before.clone(), args, &features, &truth).with_context(|| args.rows.place())?;
    let judge = |model: &FittedLabelFlowClassifier| {
        anyhow::Ok(classification_metrics(&model.predict_proba(&features)?, &truth)?)
    };
    let [before, after_metrics] = [&before, &after].map(judge);
    save(&after, &args.model, &record)?;
    show(&before?, &after_metrics?, &after)
}

/// Saves a model where it was, with what is known of its origin, if it is still there.
fn save(model: &FittedLabelFlowClassifier, folder: &Path, record: &ModelRecord) -> anyhow::Result<()> {
    let _claim = ClaimedFolder::open(folder)?;
    ensure!(
        ModelRecord::read(folder)? == *record,
        "{}: expected the model that was calibrated, found another one, which has replaced it meanwhile; calibrate that one",
        folder.display()
    );
    match record.origin::<toml::Table>(folder)? {
        Some(origin) => model.save_with_origin(folder, &origin)?,
        None => model.save(folder)?,
    }
    Ok(())
}

fn learned(
    model: FittedLabelFlowClassifier,
    args: &CalibrateArgs,
    features: &Features,
    truth: &Truth,
) -> anyhow::Result<FittedLabelFlowClassifier> {
    let model = match args.method {
        CalibrationName::Auto => model.calibrated(CalibrationMethod::Auto, features, truth)?,
        CalibrationName::Temperature => model.calibrated(CalibrationMethod::Temperature, features, truth)?,
        CalibrationName::Isotonic => model.calibrated(CalibrationMethod::Isotonic, features, truth)?,
        CalibrationName::None => model,
    };
    Ok(match args.sets {
        Some(level) => model.with_sets(level, features, truth)?,
        None => model,
    })
}

fn show(
    before: &ClassificationMetrics,
    after: &ClassificationMetrics,
    model: &FittedLabelFlowClassifier,
) -> anyhow::Result<()> {
    let rows = shown(before).into_iter().zip(shown(after)).map(|([name, before], [_, after])| [name, before, after]);
    let header = ["on the calibration rows", "before", "after"];
    output::print(&output::table(header, rows))?;
    if let Some(sets) = &model.certainty().sets {
        let promise = match sets.threshold {
            Some(_) => {
                format!("prediction sets hold the true class of {} % of rows", percent(sets.level))
            }
            None => format!(
                "{} rows are too few for prediction sets with a coverage of {} %: all classes are in every set",
                before.n_rows,
                percent(sets.level)
            ),
        };
        output::print(&promise)?;
    }
    Ok(())
}
