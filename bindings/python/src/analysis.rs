//! Statistics of signals and labels, and warnings about them.

use labelflow::Bounds;
use labelflow::WeakSignals;
use labelflow::label_models::AnyLabelModel;
use labelflow::rows::Truth;
use labelflow::weak::warnings::{FeatureTally, LabelerTally};
use pyo3::prelude::*;

use crate::arrays::{Matrix, Numbers, Numpy, table};
use crate::background;
use crate::error::{exception, settings};
use crate::label_model::soft_labels;
use crate::signals::{RawSignals, read_bounds};

/// Statistics of each labeler, as JSON; with the true class of each row, also its accuracy.
#[pyfunction]
pub(crate) fn analyze(signals: &RawSignals, labels: Option<Vec<usize>>) -> PyResult<String> {
    let truth = labels.map(|labels| Truth::new(labels, signals.0.n_classes())).transpose();
    let truth = truth.map_err(exception)?;
    let summaries = labelflow::labelers::analyze(&signals.0, truth.as_ref()).map_err(exception)?;
    Ok(serde_json::to_string(&summaries).expect("numbers and names"))
}

/// How far labelers agree beyond chance; nothing where it is not defined.
#[pyfunction]
pub(crate) fn krippendorff_alpha(signals: &RawSignals) -> Option<f64> {
    labelflow::labelers::krippendorff_alpha(&signals.0)
}

/// The places of the `n` rows that are most worth another vote, the best first, by their labels.
#[pyfunction]
pub(crate) fn rows_to_relabel(signals: &RawSignals, labels: Matrix<f64>, n: usize) -> PyResult<Vec<usize>> {
    let rows = labelflow::label_models::rows_to_relabel(&signals.0, &soft_labels(labels)?, n).map_err(exception)?;
    Ok(rows.iter().map(|row| row.row).collect())
}

/// Bounds estimated from agreement between labelers, `[n_labelers, n_classes]`, the labels under which they are
/// expected, `[n_rows, n_classes]`, and warnings about them.
#[pyfunction]
pub(crate) fn auto_bounds(
    signals: &RawSignals,
    n_jobs: Option<usize>,
) -> PyResult<(Matrix<f64>, Matrix<f64>, Vec<String>)> {
    let signals = signals.0.clone();
    let auto = background::run(n_jobs, move |_| Ok(Bounds::auto(&signals)?))?;
    let bounds = Numpy(auto.bounds.values().to_owned());
    let labels = Numpy(auto.labels.values().to_owned());
    Ok((bounds, labels, auto.warnings))
}

/// Warnings about labels of the rows of `signals`; `config` are the settings of the label model that gave them, if it was
/// fitted to these signals.
#[pyfunction]
pub(crate) fn label_warnings(signals: &RawSignals, labels: Matrix<f64>, config: Option<&str>) -> PyResult<Vec<String>> {
    let model: Option<AnyLabelModel> = config.map(|config| settings("label model", config)).transpose()?;
    let labels = soft_labels(labels)?;
    let warnings = labelflow::label_models::label_warnings(&signals.0, &labels, model.as_ref()).map_err(exception)?;
    Ok(warnings.iter().map(ToString::to_string).collect())
}

/// Warnings about features, and about the signals of their rows if there are any.
#[pyfunction]
pub(crate) fn data_warnings(
    features: Numbers,
    feature_names: Option<Vec<String>>,
    signals: Option<&RawSignals>,
    n_jobs: Option<usize>,
) -> PyResult<Vec<String>> {
    let features = table(features, feature_names)?;
    let signals = signals.map(|signals| signals.0.clone());
    background::run(n_jobs, move |_| {
        let signals = signals.as_deref();
        let mut tally = FeatureTally::new(features.names(), signals.map_or(&[], WeakSignals::labelers));
        tally.add(features.values(), signals.map(WeakSignals::view))?;
        let mut texts: Vec<String> = tally.warnings().iter().map(ToString::to_string).collect();
        if let Some(signals) = signals {
            texts.extend(labelers(signals).warnings(None).iter().map(ToString::to_string));
        }
        Ok(texts)
    })
}

/// Warnings about bounds on the errors of labelers.
#[pyfunction]
pub(crate) fn bounds_warnings(signals: &RawSignals, bounds: Matrix<f64>) -> PyResult<Vec<String>> {
    let bounds = read_bounds(bounds)?;
    let warnings = labelers(&signals.0).bounds_warnings(&bounds);
    Ok(warnings.iter().map(ToString::to_string).collect())
}

fn labelers(signals: &WeakSignals) -> LabelerTally {
    let mut tally = LabelerTally::new(signals.labelers(), signals.classes());
    tally.add(signals.view());
    tally
}
