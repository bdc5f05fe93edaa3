//! Label learning flows.

use std::sync::Arc;

use labelflow::SavedModel;
use labelflow::learners::{Certainty, FitOptions, FittedLabelFlowClassifier};
use labelflow::rows::Truth;
use labelflow::training::Preset;
use labelflow::{LabelFlowClassifier, WeakDataset};
use ndarray::Array2;
use pyo3::prelude::*;

use crate::arrays::{Cube, Matrix, Numbers, Numpy, on_rows, table};
use crate::error::{ConfigError, exception, named, settings};
use crate::observer::run_watched;
use crate::signals::{RawSignals, read_bounds};
use crate::trained_model::trained_model;

/// A trained flow.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug)]
pub(crate) struct FlowClassifier(Arc<FittedLabelFlowClassifier>);

/// The devices that this package was built for; whether the machine has them is another question.
#[pyfunction]
pub(crate) fn built_devices() -> Vec<&'static str> {
    let all = [("cpu", true), ("cuda", cfg!(feature = "cuda")), ("wgpu", cfg!(feature = "wgpu"))];
    all.iter().filter(|(_, is_built)| *is_built).map(|(name, _)| *name).collect()
}

/// How training proceeds by a preset, for a dataset of so many rows, as JSON.
#[pyfunction]
pub(crate) fn preset_training(preset: &str, n_rows: usize) -> PyResult<String> {
    let preset: Preset = named("preset", preset)?;
    if preset == Preset::Ensemble {
        return Err(ConfigError::new_err(
            "preset: expected 'paper' or 'fast', found 'ensemble', which is for classification",
        ));
    }
    Ok(serde_json::to_string(&preset.training(n_rows)).expect("numbers and names"))
}

/// All settings of a classifier by a preset, for a dataset of so many rows and classes, as JSON; without bounds, those for votes alone.
#[pyfunction]
pub(crate) fn classifier_preset(preset: &str, n_rows: usize, n_classes: usize, has_bounds: bool) -> PyResult<String> {
    let preset: Preset = named("preset", preset)?;
    let config = LabelFlowClassifier::default().with_preset(preset, n_rows, n_classes);
    let config = if preset == Preset::Ensemble && !has_bounds { config.of_votes() } else { config };
    Ok(serde_json::to_string(&config).expect("numbers and names"))
}

/// Trains a flow; `observer` is called with a dict after every epoch.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_label_flow(
    config: &str,
    features: Numbers,
    feature_names: Option<Vec<String>>,
    signals: &RawSignals,
    bounds: Matrix<f64>,
    observer: Option<Py<PyAny>>,
    n_jobs: Option<usize>,
) -> PyResult<FlowClassifier> {
    let config: LabelFlowClassifier = settings("LabelFlowClassifier", config)?;
    let (features, bounds) = (table(features, feature_names)?, read_bounds(bounds)?);
    let signals = signals.0.clone();
    let fitted = run_watched(n_jobs, observer, move |observer| {
        let dataset = WeakDataset::new(features, (*signals).clone(), bounds)?;
        config.fit_with(&dataset, FitOptions { observer: Some(observer), ..FitOptions::default() })
    })?;
    Ok(FlowClassifier(Arc::new(fitted)))
}

trained_model! { FlowClassifier: FittedLabelFlowClassifier,
    /// Probabilities of the classes, and the rows so far from the training rows that nothing is known of them.
    fn predict_proba(&self, features: Numbers, n_jobs: Option<usize>) -> PyResult<(Matrix<f64>, Vec<usize>)> {
        let predict = FittedLabelFlowClassifier::predict_proba_with_lost;
        let (labels, lost) = on_rows(n_jobs, &self.0, features, predict)?;
        Ok((Numpy(labels.values().to_owned()), lost))
    }

    /// Labels drawn from p(y|x), `[n_samples, n_rows, n_classes]`.
    fn sample(&self, features: Numbers, n_samples: usize, n_jobs: Option<usize>) -> PyResult<Cube<f32>> {
        let samples = on_rows(n_jobs, &self.0, features, move |model, x| model.sample(x, n_samples));
        samples.map(Numpy)
    }

    /// The same model, calibrated on labelled rows: with a method, its probabilities; with a level, its prediction sets.
    fn calibrated(
        &self,
        features: Numbers,
        labels: Vec<usize>,
        method: Option<&str>,
        level: Option<f64>,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let method = method.map(|name| named("method", name)).transpose()?;
        let calibrated = on_rows(n_jobs, &self.0, features, move |model, features| {
            let truth = Truth::new(labels, model.classes().len())?;
            let mut model = model.clone().with_certainty(Certainty::default())?;
            if let Some(method) = method {
                model = model.calibrated(method, features, &truth)?;
            }
            match level {
                Some(level) => model.with_sets(level, features, &truth),
                None => Ok(model),
            }
        })?;
        Ok(Self(Arc::new(calibrated)))
    }

    /// Whether each row may have each class, `[n_rows, n_classes]`.
    fn predict_sets(&self, features: Numbers, n_jobs: Option<usize>) -> PyResult<Matrix<bool>> {
        let sets = on_rows(n_jobs, &self.0, features, FittedLabelFlowClassifier::predict_sets)?;
        let shape = (sets.len(), self.0.classes().len());
        let members = Array2::from_shape_fn(shape, |(row, class)| sets[row].contains(&class));
        Ok(Numpy(members))
    }

    /// The calibration, as JSON.
    #[getter]
    fn certainty(&self) -> String {
        serde_json::to_string(self.0.certainty()).expect("numbers and names")
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
