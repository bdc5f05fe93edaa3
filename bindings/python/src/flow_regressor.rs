//! Label learning flows for regression.

use std::sync::Arc;

use labelflow::LabelFlowRegressor;
use labelflow::SavedModel;
use labelflow::learners::{FitOptions, FittedLabelFlowRegressor};
use ndarray::Array2;
use pyo3::prelude::*;

use crate::arrays::{Matrix, Numbers, Numpy, Vector, on_rows};
use crate::error::settings;
use crate::observer::run_watched;
use crate::rules::RawRules;
use crate::trained_model::trained_model;

/// A trained flow for regression.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug)]
pub(crate) struct FlowRegressor(Arc<FittedLabelFlowRegressor>);

/// Trains a flow on rules; `observer` is called with a dict after every epoch.
#[pyfunction]
pub(crate) fn fit_label_flow_regressor(
    config: &str,
    rules: &RawRules,
    observer: Option<Py<PyAny>>,
    n_jobs: Option<usize>,
) -> PyResult<FlowRegressor> {
    let config: LabelFlowRegressor = settings("LabelFlowRegressor", config)?;
    let dataset = rules.0.clone();
    let fitted = run_watched(n_jobs, observer, move |observer| {
        config.fit_with(&dataset, FitOptions { observer: Some(observer), ..FitOptions::default() })
    })?;
    Ok(FlowRegressor(Arc::new(fitted)))
}

trained_model! { FlowRegressor: FittedLabelFlowRegressor,
    /// The mean and the standard deviation of each row's label.
    fn predict(&self, features: Numbers, n_jobs: Option<usize>) -> PyResult<(Vector<f64>, Vector<f64>)> {
        let predict = FittedLabelFlowRegressor::predict_distribution;
        let labels = on_rows(n_jobs, &self.0, features, predict)?;
        Ok((labels.mean().into(), labels.std().into()))
    }

    /// Quantiles of each row's label, `[n_rows, n_levels]`.
    fn predict_quantiles(
        &self,
        features: Numbers,
        levels: Vec<f64>,
        n_jobs: Option<usize>,
    ) -> PyResult<Matrix<f64>> {
        let quantiles = on_rows(n_jobs, &self.0, features, move |model, features| {
            let labels = model.predict_distribution(features)?;
            let columns: Vec<Vec<f64>> =
                levels.iter().map(|&level| labels.quantile(level)).collect::<Result<_, _>>()?;
            let shape = (labels.n_rows(), columns.len());
            Ok(Array2::from_shape_fn(shape, |(row, level)| columns[level][row]))
        })?;
        Ok(Numpy(quantiles))
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows]`.
    fn sample(&self, features: Numbers, n_samples: usize, n_jobs: Option<usize>) -> PyResult<Matrix<f64>> {
        let samples = on_rows(n_jobs, &self.0, features, move |model, x| model.sample(x, n_samples));
        samples.map(Numpy)
    }

    /// The settings, as JSON.
    #[getter]
    fn config(&self) -> String {
        serde_json::to_string(self.0.config()).expect("numbers and names")
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
