//! Features from arrays, and predictions from them.

use std::sync::Arc;

use labelflow::{Features, Result};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::background;
use crate::error::exception;

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

/// What a model says of rows, in the background.
pub(crate) fn on_rows<M: Send + Sync + 'static, T: Send + 'static>(
    py: Python<'_>,
    n_jobs: Option<usize>,
    model: &Arc<M>,
    features: &PyReadonlyArray2<'_, f32>,
    predict: impl FnOnce(&M, &Features) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (model, features) = (model.clone(), table(features, None)?);
    background::run(py, n_jobs, move |_| predict(&model, &features))
}
