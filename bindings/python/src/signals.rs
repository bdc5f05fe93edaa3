//! Weak signals as Python sees them.

use std::sync::Arc;

use labelflow::votes::SignalValues;
use labelflow::{Bounds, Votes, WeakSignals};
use ndarray::Array2;
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Cube, Matrix, Numpy};
use crate::error::{DataError, exception};
use crate::shared_votes::SharedVotes;

/// Votes or probabilities of named labelers about named classes. A fit and a prediction share it, and nothing is copied.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug, Clone)]
pub(crate) struct RawSignals(pub(crate) Arc<WeakSignals>);

/// Bounds on the errors of each labeler about each class.
pub(crate) fn read_bounds(bounds: Matrix<f64>) -> PyResult<Bounds> {
    Bounds::new(bounds.0).map_err(exception)
}

impl RawSignals {
    fn new(signals: labelflow::weak::Result<WeakSignals>) -> PyResult<Self> {
        Ok(Self(Arc::new(signals.map_err(exception)?)))
    }
}

#[pymethods]
impl RawSignals {
    /// Votes in the memory of a C-contiguous int8 array, which is not copied; -1 abstains.
    #[staticmethod]
    fn from_int8(votes: &Bound<'_, PyArray2<i8>>, n_classes: Option<usize>) -> PyResult<Self> {
        let shared = SharedVotes::new(votes)?;
        let (n_rows, n_signals) = (votes.shape()[0], votes.shape()[1]);
        let invalid = |&&vote: &&u8| (0x80..0xff).contains(&vote);
        if let Some(vote) = shared.as_ref().iter().find(invalid) {
            let expected = "a class from 0 to 127, or -1 for an abstention";
            let found = vote.cast_signed();
            return Err(DataError::new_err(format!("signals: expected {expected}, found {found}")));
        }
        let votes = if n_rows == 0 || n_signals == 0 {
            Votes::from_bytes(Array2::zeros((n_rows, n_signals)), 2)
        } else {
            Votes::from_shared(Arc::new(shared), n_signals, n_classes)
        };
        Self::new(votes.and_then(WeakSignals::from_votes))
    }

    /// Votes of any integer type, as int64; -1 abstains. One byte a vote is kept.
    #[staticmethod]
    fn from_int64(votes: PyReadonlyArray2<'_, i64>, n_classes: Option<usize>) -> PyResult<Self> {
        let votes = Votes::from_indices(votes.as_array(), n_classes);
        Self::new(votes.and_then(WeakSignals::from_votes))
    }

    /// Probabilities of class 1, NaN abstains.
    #[staticmethod]
    fn from_class1(probabilities: Matrix<f32>) -> PyResult<Self> {
        Self::new(WeakSignals::from_class1_probabilities(probabilities.0))
    }

    /// Probabilities of each class, NaN abstains.
    #[staticmethod]
    fn from_probabilities(probabilities: Cube<f32>) -> PyResult<Self> {
        Self::new(WeakSignals::from_probabilities(probabilities.0))
    }

    /// The same signals with names for the labelers, the classes, or both.
    fn named(&self, labelers: Option<Vec<String>>, classes: Option<Vec<String>>) -> PyResult<Self> {
        let mut signals = (*self.0).clone();
        if let Some(labelers) = labelers {
            signals = signals.with_labelers(labelers).map_err(exception)?;
        }
        if let Some(classes) = classes {
            signals = signals.with_classes(classes).map_err(exception)?;
        }
        Ok(Self(Arc::new(signals)))
    }

    /// The rows with these indices, in this order.
    fn select_rows(&self, rows: Vec<usize>) -> PyResult<Self> {
        if let Some(row) = rows.iter().find(|&&row| row >= self.0.n_rows()) {
            let expected = format!("rows below {}", self.0.n_rows());
            return Err(DataError::new_err(format!("signals: expected {expected}, found {row}")));
        }
        if rows.is_empty() {
            return Err(DataError::new_err("signals: expected at least one row, found none"));
        }
        Ok(Self(Arc::new(self.0.select_rows(&rows))))
    }

    /// The class that each labeler holds most probable on each row, -1 where it abstains.
    fn votes(&self) -> Matrix<i64> {
        let votes = self.0.votes();
        let shape = (votes.n_rows(), votes.n_signals());
        Numpy(Array2::from_shape_fn(shape, |(row, signal)| votes.get(row, signal).map_or(-1, |class| class as i64)))
    }

    /// The probabilities, `[n_rows, n_labelers, n_classes]`, NaN where a labeler abstains; None of votes.
    fn probabilities(&self) -> Option<Cube<f32>> {
        Some(Numpy(self.0.probabilities()?.to_owned()))
    }

    /// The address of the votes in memory, or None of probabilities: to see that nothing was copied.
    #[getter]
    fn address(&self) -> Option<usize> {
        match self.0.values() {
            SignalValues::Votes(votes) => Some(votes.as_slice().as_ptr().addr()),
            SignalValues::Probabilities(_) => None,
        }
    }

    /// Fails if not a single vote is given.
    fn check_any_vote(&self) -> PyResult<()> {
        self.0.check_any_vote().map_err(exception)
    }

    /// The rows of which any labeler says anything.
    fn covered_rows(&self) -> Vec<usize> {
        self.0.covered_rows()
    }

    /// Number of rows.
    #[getter]
    fn n_rows(&self) -> usize {
        self.0.n_rows()
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
