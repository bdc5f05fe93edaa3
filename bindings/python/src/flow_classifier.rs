//! Label learning flows.

use std::path::PathBuf;
use std::sync::Arc;

use labelflow::SavedModel;
use labelflow::calibration::CalibrationMethod;
use labelflow::learners::FittedLabelFlowClassifier;
use labelflow::learners::{Certainty, FitOptions};
use labelflow::rows::Truth;
use labelflow::training::{DeviceKind, Preset, StopReason};
use labelflow::{Bounds, Features, LabelFlowClassifier, WeakDataset};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::background;
use crate::error::{exception, settings};
use crate::observer::run_watched;
use crate::signals::RawSignals;

/// A trained flow.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug)]
pub(crate) struct FlowClassifier(Arc<FittedLabelFlowClassifier>);

/// A table from an array, with the names of its columns if it has any.
pub(crate) fn table(
    features: &PyReadonlyArray2<'_, f32>,
    names: Option<Vec<String>>,
) -> PyResult<Features> {
    let values = features.as_array().to_owned();
    match names {
        Some(names) => Features::with_names(values, names),
        None => Features::new(values),
    }
    .map_err(exception)
}

/// The devices that this package was built for; whether the machine has them is another question.
#[pyfunction]
pub(crate) fn built_devices() -> Vec<&'static str> {
    let all = [("cpu", true), ("cuda", cfg!(feature = "cuda")), ("wgpu", cfg!(feature = "wgpu"))];
    all.iter().filter(|(_, is_built)| *is_built).map(|(name, _)| *name).collect()
}

/// How training proceeds by a preset, for a dataset of so many rows, as JSON.
#[pyfunction]
pub(crate) fn preset_training(preset: &str, n_rows: usize) -> PyResult<String> {
    let preset: Preset = settings("preset", &serde_json::Value::from(preset).to_string())?;
    Ok(serde_json::to_string(&preset.training(n_rows)).expect("numbers and names"))
}

/// Trains a flow; `observer` is called with a dict after every epoch.
#[pyfunction]
#[pyo3(signature = (config, features, feature_names, signals, bounds, observer=None, n_jobs=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_label_flow(
    py: Python<'_>,
    config: &str,
    features: PyReadonlyArray2<'_, f32>,
    feature_names: Option<Vec<String>>,
    signals: &RawSignals,
    bounds: PyReadonlyArray2<'_, f64>,
    observer: Option<Py<PyAny>>,
    n_jobs: Option<usize>,
) -> PyResult<FlowClassifier> {
    let config: LabelFlowClassifier = settings("LabelFlowClassifier", config)?;
    let features = table(&features, feature_names)?;
    let bounds = Bounds::new(bounds.as_array().to_owned()).map_err(exception)?;
    let signals = signals.0.clone();
    let fitted = run_watched(py, n_jobs, observer, move |observer| {
        let dataset = WeakDataset::new(features, (*signals).clone(), bounds)?;
        config.fit_with(&dataset, FitOptions { observer: Some(observer), ..FitOptions::default() })
    })?;
    Ok(FlowClassifier(Arc::new(fitted)))
}

/// The name of a reason to stop.
pub(crate) fn stop_name(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Converged => "converged",
        StopReason::MaxEpochs => "max-epochs",
        StopReason::TimeLimit => "time-limit",
        StopReason::Interrupted => "interrupted",
    }
}

#[pymethods]
impl FlowClassifier {
    /// Probabilities of the classes, and the rows so far from the training rows that nothing is known of them.
    #[pyo3(signature = (features, n_jobs=None))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        features: PyReadonlyArray2<'py, f32>,
        n_jobs: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<usize>)> {
        let (model, features) = (self.0.clone(), table(&features, None)?);
        let (labels, lost) =
            background::run(py, n_jobs, move |_| model.predict_proba_with_lost(&features))?;
        Ok((labels.values().to_owned().into_pyarray(py), lost))
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows, n_classes]`.
    #[pyo3(signature = (features, n_samples, n_jobs=None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        features: PyReadonlyArray2<'py, f32>,
        n_samples: usize,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let (model, features) = (self.0.clone(), table(&features, None)?);
        let samples = background::run(py, n_jobs, move |_| model.sample(&features, n_samples))?;
        Ok(samples.into_pyarray(py))
    }

    /// The same model after learning from labelled rows how sure it may be: with a method, calibrated probabilities; with a level, sets of
    /// classes.
    #[pyo3(signature = (features, labels, method=None, level=None, n_jobs=None))]
    fn calibrated(
        &self,
        py: Python<'_>,
        features: PyReadonlyArray2<'_, f32>,
        labels: Vec<usize>,
        method: Option<&str>,
        level: Option<f64>,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let method: Option<CalibrationMethod> = match method {
            Some(name) => Some(settings("method", &serde_json::Value::from(name).to_string())?),
            None => None,
        };
        let (model, features) = (self.0.clone(), table(&features, None)?);
        let learn = move |_: &_| {
            let truth = Truth::new(labels, model.classes().len())?;
            let mut model = (*model).clone().with_certainty(Certainty::default())?;
            if let Some(method) = method {
                model = model.calibrated(method, &features, &truth)?;
            }
            match level {
                Some(level) => model.with_sets(level, &features, &truth),
                None => Ok(model),
            }
        };
        Ok(Self(Arc::new(background::run(py, n_jobs, learn)?)))
    }

    /// Whether each row may have each class, `[n_rows, n_classes]`.
    #[pyo3(signature = (features, n_jobs=None))]
    fn predict_sets<'py>(
        &self,
        py: Python<'py>,
        features: PyReadonlyArray2<'py, f32>,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let (model, features) = (self.0.clone(), table(&features, None)?);
        let n_classes = model.classes().len();
        let sets = background::run(py, n_jobs, move |_| model.predict_sets(&features))?;
        let members = Array2::from_shape_fn((sets.len(), n_classes), |(row, class)| {
            sets[row].contains(&class)
        });
        Ok(members.into_pyarray(py))
    }

    /// What was learned of how sure it may be, as JSON.
    #[getter]
    fn certainty(&self) -> String {
        serde_json::to_string(self.0.certainty()).expect("numbers and names")
    }

    /// Writes the model folder of the command line.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        self.0.save(&folder).map_err(exception)
    }

    /// Reads the model folder of the command line.
    #[staticmethod]
    fn load(folder: PathBuf) -> PyResult<Self> {
        Ok(Self(Arc::new(FittedLabelFlowClassifier::load(&folder).map_err(exception)?)))
    }

    /// The model as one safetensors file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// The model that `to_bytes` wrote, on the device cpu.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self(Arc::new(FittedLabelFlowClassifier::from_bytes(bytes).map_err(exception)?)))
    }

    /// The same model on another device.
    fn to_device(&self, device: &str) -> PyResult<Self> {
        let device: DeviceKind = settings("device", &serde_json::Value::from(device).to_string())?;
        let model = (*self.0).clone().to_device(device).map_err(exception)?;
        Ok(Self(Arc::new(model)))
    }

    /// The same model with another number of samples that a prediction averages.
    fn with_samples(&self, n_samples: usize) -> PyResult<Self> {
        let model = (*self.0).clone().with_samples(n_samples).map_err(exception)?;
        Ok(Self(Arc::new(model)))
    }

    /// The settings, as JSON.
    #[getter]
    fn config(&self) -> String {
        serde_json::to_string(self.0.config()).expect("numbers and names")
    }

    /// The numbers of every epoch, as JSON.
    #[getter]
    fn history(&self) -> String {
        serde_json::to_string(&self.0.report().history).expect("numbers and names")
    }

    /// Why training ended: "converged", "max-epochs", "time-limit" or "interrupted".
    #[getter]
    fn stop(&self) -> &'static str {
        stop_name(self.0.report().stop)
    }

    /// Names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }

    /// Names of the features.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.feature_names().to_vec()
    }
}
