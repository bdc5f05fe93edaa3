//! A Python function that sees every epoch.

use std::ffi::CString;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use labelflow::Result;
use labelflow::training::{EpochEvent, Observer, StopReason};
use labelflow_files::visible;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::background;
use crate::background::Abandoned;

/// What the function raised, if it did.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Trains on a thread of its own. What `function` raises ends training and is raised to the caller.
pub(crate) fn run_watched<T: Send + 'static>(
    n_jobs: Option<usize>,
    function: Option<Py<PyAny>>,
    train: impl FnOnce(&mut dyn Observer) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let raised = Raised::default();
    let seen = raised.clone();
    let fitted = background::run(n_jobs, move |abandoned| {
        train(&mut PythonObserver { abandoned: abandoned.clone(), function, raised: seen })
    });
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => fitted,
    }
}

/// Calls a Python function after every epoch; training ends when it returns something true, when it raises, or when
/// the caller has gone away.
struct PythonObserver {
    abandoned: Abandoned,
    function: Option<Py<PyAny>>,
    raised: Raised,
}

impl PythonObserver {
    fn raise(&self, error: PyErr) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl Observer for PythonObserver {
    fn observe(&mut self, event: EpochEvent<'_>) -> Result<ControlFlow<StopReason>> {
        if self.abandoned.is_set() {
            return Ok(ControlFlow::Break(StopReason::Interrupted));
        }
        let Some(function) = &self.function else { return Ok(ControlFlow::Continue(())) };
        let ends = Python::attach(|py| function.bind(py).call1((record(py, event)?,))?.is_truthy());
        let ends = ends.map_err(|error| self.raise(error)).unwrap_or(true);
        Ok(if ends { ControlFlow::Break(StopReason::Interrupted) } else { ControlFlow::Continue(()) })
    }

    fn warn(&mut self, warning: &str) {
        let warned = Python::attach(|py| {
            let text = CString::new(&*visible(warning))?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
        });
        // Where warnings are errors.
        if let Err(error) = warned {
            self.raise(error);
        }
    }
}

/// The numbers of an epoch as a dict.
fn record<'py>(py: Python<'py>, event: EpochEvent<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let record = event.record;
    dict.set_item("epoch", record.epoch)?;
    dict.set_item("max_epochs", event.max_epochs)?;
    dict.set_item("loss", record.loss)?;
    dict.set_item("terms", &record.terms)?;
    dict.set_item("learning_rate", record.learning_rate)?;
    dict.set_item("gradient_norm", record.gradient_norm)?;
    Ok(dict)
}
