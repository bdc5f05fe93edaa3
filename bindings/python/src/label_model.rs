//! Label models.

use std::path::PathBuf;
use std::sync::Arc;

use labelflow::label_models::{AnyLabelModel, FittedLabelModel, KnownLabels, KnownOfLabelers, Needs};
use labelflow::labelers::LabelerErrors;
use labelflow::rows::SoftLabels;
use labelflow::votes::CountedVotes;
use labelflow_data::inputs::SavedLabelModel;
use pyo3::prelude::*;
use serde::Serialize;

use crate::arrays::{Matrix, Numpy, Vector};
use crate::background;
use crate::error::{bad_settings, data_exception, exception, settings};
use crate::signals::{RawSignals, read_bounds};

/// A fitted label model with the names of its labelers and classes.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug)]
pub(crate) struct LabelModel(Arc<SavedLabelModel>);

/// What Python makes a class of.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    class: &'static str,
    needs: Needs,
    /// With their defaults, in their order.
    settings: AnyLabelModel,
}

/// The registry of label models as JSON.
#[pyfunction]
pub(crate) fn label_models() -> PyResult<String> {
    let entry = |name: &&str| {
        let settings = AnyLabelModel::from_name(name).map_err(exception)?;
        let (name, class, needs) = (settings.name(), settings.type_name(), settings.needs());
        Ok(Entry { name, class, needs, settings })
    };
    let entries = AnyLabelModel::NAMES.iter().map(entry).collect::<PyResult<Vec<_>>>()?;
    serde_json::to_string(&entries).map_err(|error| bad_settings("label models", &error))
}

/// Soft labels from an array.
pub(crate) fn soft_labels(labels: Matrix<f64>) -> PyResult<SoftLabels> {
    SoftLabels::new(labels.0).map_err(exception)
}

/// Fits the label model that `config` names, to signals and to what else is known of the labelers: the share of wrong
/// votes of each, bounds on the errors of each about each class, and labels from which the shares are estimated. With
/// counts, each row of the signals stands for so many rows. `known_labels` are the classes of the rows, below zero where they are not known.
#[pyfunction]
#[pyo3(signature = (config, signals, errors=None, expected_under=None, bounds=None, n_jobs=None, counts=None, known_labels=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_label_model(
    config: &str,
    signals: &RawSignals,
    errors: Option<Vector<f64>>,
    expected_under: Option<Matrix<f64>>,
    bounds: Option<Matrix<f64>>,
    n_jobs: Option<usize>,
    counts: Option<Vector<u64>>,
    known_labels: Option<Vector<i64>>,
) -> PyResult<LabelModel> {
    let model: AnyLabelModel = settings("label model", config)?;
    let signals = signals.0.clone();
    let errors = match (errors, expected_under) {
        (Some(rates), _) => {
            Some(LabelerErrors::per_labeler(&rates.0.to_vec(), signals.n_classes()).map_err(exception)?)
        }
        (None, Some(labels)) => Some(LabelerErrors::expected(&signals, &soft_labels(labels)?)),
        (None, None) => None,
    };
    let labels = match known_labels {
        Some(_) if !model.uses_known_labels() => {
            let expected = "a label model that learns from labels too, AutoLabelModel or HyperLabelModel";
            return Err(exception(labelflow::weak::Error::config("known_labels", expected, model.type_name())));
        }
        Some(labels) => {
            let labels: Vec<Option<usize>> = labels.0.iter().map(|&class| usize::try_from(class).ok()).collect();
            Some(KnownLabels::new(&signals, &labels).map_err(exception)?)
        }
        None => None,
    };
    let known = KnownOfLabelers { errors, bounds: bounds.map(read_bounds).transpose()?, labels };
    let counts = counts.map(|counts| counts.0.to_vec());
    let fitted = background::run(n_jobs, move |_| {
        signals.check_any_vote()?;
        let fitted = match counts {
            Some(counts) => model.fit_counts(&CountedVotes::new(&signals, &counts)?, &known)?,
            None => model.fit(&signals, &known)?,
        };
        Ok(SavedLabelModel::new(fitted, &signals))
    })?;
    Ok(LabelModel(Arc::new(fitted)))
}

#[pymethods]
impl LabelModel {
    /// The probability of each class for each row.
    #[pyo3(signature = (signals, n_jobs=None))]
    fn predict_proba(&self, signals: &RawSignals, n_jobs: Option<usize>) -> PyResult<Matrix<f64>> {
        let (model, signals) = (self.0.clone(), signals.0.clone());
        let labels = background::run(n_jobs, move |_| Ok(model.predict_proba(&signals)?))?;
        Ok(Numpy(labels.values().to_owned()))
    }

    /// The index of the most probable class of each row.
    #[pyo3(signature = (signals, n_jobs=None))]
    fn predict(&self, signals: &RawSignals, n_jobs: Option<usize>) -> PyResult<Vec<usize>> {
        let (model, signals) = (self.0.clone(), signals.0.clone());
        background::run(n_jobs, move |_| Ok(model.predict(&signals)?))
    }

    /// What a user should know of the fit, if anything.
    fn remark(&self) -> Option<&str> {
        self.0.remark()
    }

    /// Writes the file that `labelflow label --save` writes.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.0.save(&path).map_err(data_exception)
    }

    /// Reads a file that `labelflow label --save` wrote.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self(Arc::new(SavedLabelModel::load(&path).map_err(data_exception)?)))
    }

    /// What that file holds.
    fn to_json(&self) -> PyResult<String> {
        self.0.to_json().map_err(data_exception)
    }

    /// The label model that `to_json` wrote.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(Arc::new(SavedLabelModel::from_json(text).map_err(data_exception)?)))
    }

    /// The name of the label model, as on the command line.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.fitted().name()
    }

    /// Names of the labelers.
    #[getter]
    fn labelers(&self) -> Vec<String> {
        self.0.labelers().to_vec()
    }

    /// Names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }
}
