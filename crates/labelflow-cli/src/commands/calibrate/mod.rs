//! `labelflow calibrate`: calibrates a trained classifier on rows with true labels.

pub(crate) mod args;

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::Features;
use labelflow::SavedModel;
use labelflow::calibration::CalibrationMethod;
use labelflow::evaluation::{ClassificationMetrics, classification_metrics};
use labelflow::learners::Certainty;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::rows::Truth;
use labelflow::storage::ModelRecord;
use labelflow_data::inputs::{read_features, read_labels};

use super::predict::Model;
use crate::Outcome;
use crate::flags::DeviceName;
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::output;
use crate::terminal::output::percent;
use args::{CalibrateArgs, CalibrationName};

pub(crate) fn run(args: &CalibrateArgs) -> anyhow::Result<Outcome> {
    let Model::Classifier(model) = Model::load(&args.model, DeviceName::Cpu)? else {
        bail!(
            "{}: expected a classifier, found a model for regression; `labelflow eval` shows how good its intervals are",
            args.model.display()
        );
    };
    let truth = read_labels(&args.labels, model.classes())?;
    let context = || format!("{}, {}", args.features.display(), args.labels.display());
    let features = read_features(&args.features)?;
    let features =
        model.arrange(features).with_context(|| format!("{}", args.features.display()))?;
    let before = model.clone().with_certainty(Certainty::default())?;
    let after = learned(before.clone(), args, &features, &truth).with_context(context)?;
    let [before, after_metrics] = [&before, &after].map(|model| judge(model, &features, &truth));
    save(&after, &args.model)?;
    show(&before?, &after_metrics?, &after)?;
    Ok(Outcome::Done)
}

/// Saves a model where it was, with what is known of its origin.
fn save(model: &FittedLabelFlowClassifier, folder: &Path) -> anyhow::Result<()> {
    let _claim = ClaimedFolder::open(folder)?;
    match ModelRecord::read(folder)?.origin::<toml::Table>(folder)? {
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
    let method = match args.method {
        CalibrationName::Auto => Some(CalibrationMethod::Auto),
        CalibrationName::Temperature => Some(CalibrationMethod::Temperature),
        CalibrationName::Isotonic => Some(CalibrationMethod::Isotonic),
        CalibrationName::None => None,
    };
    let model = match method {
        Some(method) => model.calibrated(method, features, truth)?,
        None => model,
    };
    Ok(match args.sets {
        Some(level) => model.with_sets(level, features, truth)?,
        None => model,
    })
}

fn judge(
    model: &FittedLabelFlowClassifier,
    features: &Features,
    truth: &Truth,
) -> anyhow::Result<ClassificationMetrics> {
    Ok(classification_metrics(&model.predict_proba(features)?, truth)?)
}

fn show(
    before: &ClassificationMetrics,
    after: &ClassificationMetrics,
    model: &FittedLabelFlowClassifier,
) -> anyhow::Result<()> {
    let row = |name: &str, show: &dyn Fn(&ClassificationMetrics) -> String| {
        [name.to_owned(), show(before), show(after)]
    };
    let rows = [
        row("accuracy %", &|metrics| percent(metrics.accuracy)),
        row("calibration error %", &|metrics| percent(metrics.ece)),
        row("Brier score", &|metrics| format!("{:.4}", metrics.brier)),
        row("log loss", &|metrics| format!("{:.4}", metrics.log_loss)),
    ];
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
