//! Arrays of numpy as arguments and results, and features that come as such.

use std::convert::Infallible;
use std::sync::Arc;

use labelflow::{Features, Result};
use ndarray::{Array, Array2, Dimension, Ix1, Ix2, Ix3};
use numpy::{Element, IntoPyArray, PyArray, PyReadonlyArray};
use pyo3::prelude::*;

use crate::background;
use crate::error::exception;

/// An array of numpy: copied when it comes, handed over when it goes.
pub(crate) struct Numpy<T, D>(pub(crate) Array<T, D>);

pub(crate) type Vector<T> = Numpy<T, Ix1>;
pub(crate) type Matrix<T> = Numpy<T, Ix2>;
pub(crate) type Cube<T> = Numpy<T, Ix3>;

impl<'py, T: Element + Clone, D: Dimension> FromPyObject<'_, 'py> for Numpy<T, D> {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(PyReadonlyArray::<T, D>::extract(array)?.as_array().to_owned()))
    }
}

impl<'py, T: Element, D: Dimension> IntoPyObject<'py> for Numpy<T, D> {
    type Target = PyArray<T, D>;
    type Output = Bound<'py, Self::Target>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> std::result::Result<Self::Output, Infallible> {
        Ok(self.0.into_pyarray(py))
    }
}

impl<T> From<Vec<T>> for Vector<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values.into())
    }
}

/// A table of numbers in single or double precision.
pub(crate) struct Numbers(pub(crate) Array2<f64>);

impl<'py> FromPyObject<'_, 'py> for Numbers {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(match PyReadonlyArray::<f32, Ix2>::extract(array) {
            Ok(single) => single.as_array().mapv(f64::from),
            Err(_) => PyReadonlyArray::<f64, Ix2>::extract(array)?.as_array().to_owned(),
        }))
    }
}

/// Features, with the names of the columns if they have any.
pub(crate) fn table(features: Numbers, names: Option<Vec<String>>) -> PyResult<Features> {
    match names {
        Some(names) => Features::with_names(features.0, names),
        None => Features::new(features.0),
    }
    .map_err(exception)
}

/// What a model says of rows, in the background.
pub(crate) fn on_rows<M: Send + Sync + 'static, T: Send + 'static>(
    n_jobs: Option<usize>,
    model: &Arc<M>,
    features: Numbers,
    predict: impl FnOnce(&M, &Features) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (model, features) = (model.clone(), table(features, None)?);
    background::run(n_jobs, move |_| predict(&model, &features))
}
