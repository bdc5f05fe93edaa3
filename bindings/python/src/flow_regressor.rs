//! Label learning flows for regression.

use std::path::PathBuf;
use std::sync::Arc;

use labelflow::LabelFlowRegressor;
use labelflow::SavedModel;
use labelflow::learners::{FitOptions, FittedLabelFlowRegressor};
use labelflow::training::DeviceKind;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::background;
use crate::error::{exception, settings};
use crate::flow_classifier::{stop_name, table};
use crate::observer::run_watched;
use crate::rules::RawRules;

/// A trained flow for regression.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug)]
pub(crate) struct FlowRegressor(Arc<FittedLabelFlowRegressor>);

/// Trains a flow on rules; `observer` is called with a dict after every epoch.
#[pyfunction]
#[pyo3(signature = (config, rules, observer=None, n_jobs=None))]
pub(crate) fn fit_label_flow_regressor(
    py: Python<'_>,
    config: &str,
    rules: &RawRules,
    observer: Option<Py<PyAny>>,
    n_jobs: Option<usize>,
) -> PyResult<FlowRegressor> {
    let config: LabelFlowRegressor = settings("LabelFlowRegressor", config)?;
    let dataset = rules.0.clone();
    let fitted = run_watched(py, n_jobs, observer, move |observer| {
        config.fit_with(&dataset, FitOptions { observer: Some(observer), ..FitOptions::default() })
    })?;
    Ok(FlowRegressor(Arc::new(fitted)))
}

#[pymethods]
impl FlowRegressor {
    /// The mean and the standard deviation of each row's label.
    #[pyo3(signature = (features, n_jobs=None))]
    #[allow(clippy::type_complexity)]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        features: PyReadonlyArray2<'py, f32>,
        n_jobs: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (model, features) = (self.0.clone(), table(&features, None)?);
        let labels = background::run(py, n_jobs, move |_| model.predict_distribution(&features))?;
        Ok((labels.mean().into_pyarray(py), labels.std().into_pyarray(py)))
    }

    /// Quantiles of each row's label, `[n_rows, n_levels]`.
    #[pyo3(signature = (features, levels, n_jobs=None))]
    fn predict_quantiles<'py>(
        &self,
        py: Python<'py>,
        features: PyReadonlyArray2<'py, f32>,
        levels: Vec<f64>,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (model, features) = (self.0.clone(), table(&features, None)?);
        let quantiles = background::run(py, n_jobs, move |_| {
            let labels = model.predict_distribution(&features)?;
            let columns: Vec<Vec<f64>> =
                levels.iter().map(|&level| labels.quantile(level)).collect::<Result<_, _>>()?;
            let shape = (labels.n_rows(), columns.len());
            Ok(Array2::from_shape_fn(shape, |(row, level)| columns[level][row]))
        })?;
        Ok(quantiles.into_pyarray(py))
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows]`.
    #[pyo3(signature = (features, n_samples, n_jobs=None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        features: PyReadonlyArray2<'py, f32>,
        n_samples: usize,
        n_jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (model, features) = (self.0.clone(), table(&features, None)?);
        let samples = background::run(py, n_jobs, move |_| model.sample(&features, n_samples))?;
        Ok(samples.into_pyarray(py))
    }

    /// Writes the model folder of the command line.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        self.0.save(&folder).map_err(exception)
    }

    /// Reads the model folder of the command line.
    #[staticmethod]
    fn load(folder: PathBuf) -> PyResult<Self> {
        Ok(Self(Arc::new(FittedLabelFlowRegressor::load(&folder).map_err(exception)?)))
    }

    /// The model as one safetensors file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// The model that `to_bytes` wrote, on the device cpu.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self(Arc::new(FittedLabelFlowRegressor::from_bytes(bytes).map_err(exception)?)))
    }

    /// The same model on another device.
    fn to_device(&self, device: &str) -> PyResult<Self> {
        let device: DeviceKind = settings("device", &serde_json::Value::from(device).to_string())?;
        let model = (*self.0).clone().to_device(device).map_err(exception)?;
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

    /// Why training ended: "converged", "max-epochs" or "interrupted".
    #[getter]
    fn stop(&self) -> &'static str {
        stop_name(self.0.report().stop)
    }

    /// The lowest and the highest label.
    #[getter]
    fn label_range(&self) -> (f64, f64) {
        (self.0.range().lower(), self.0.range().upper())
    }

    /// Names of the features.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.feature_names().to_vec()
    }
}
