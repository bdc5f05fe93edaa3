//! Classifiers on features that are no flows.

use std::sync::Arc;

use labelflow::baselines::{
    AdversarialLabels, EndModel, FittedAdversarialLabels, FittedEndModel, FittedGeneralizedExpectation,
    GeneralizedExpectation, ReferenceProportions, TwoStage,
};
use labelflow::rows::SoftLabels;
use labelflow::{Features, Result, WeakDataset};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::arrays::{Cube, Matrix, Numbers, Numpy, on_rows, table};
use crate::background;
use crate::error::{FormatError, exception, settings};
use crate::label_model::soft_labels;
use crate::signals::{RawSignals, read_bounds};

/// A fitted classifier on features.
#[pyclass(frozen, module = "labelflow._labelflow")]
#[derive(Debug)]
pub(crate) struct FeatureClassifier(Arc<Fitted>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fitted {
    AdversarialLabels(FittedAdversarialLabels),
    GeneralizedExpectation(FittedGeneralizedExpectation),
    EndModel(FittedEndModel),
}

impl Fitted {
    fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        match self {
            Self::AdversarialLabels(fitted) => fitted.predict_proba(features),
            Self::GeneralizedExpectation(fitted) => fitted.predict_proba(features),
            Self::EndModel(fitted) => fitted.predict_proba(features),
        }
    }
}

/// Trains a classifier against an adversary.
#[pyfunction]
pub(crate) fn fit_adversarial_labels(
    config: &str,
    features: Numbers,
    signals: &RawSignals,
    bounds: Matrix<f64>,
    n_jobs: Option<usize>,
) -> PyResult<FeatureClassifier> {
    let config: AdversarialLabels = settings("AdversarialLabels", config)?;
    let (features, signals) = (table(features, None)?, signals.0.clone());
    let bounds = read_bounds(bounds)?;
    trained(n_jobs, move || {
        let dataset = WeakDataset::new(features, (*signals).clone(), bounds)?;
        Ok(Fitted::AdversarialLabels(config.fit(&dataset)?))
    })
}

/// Trains a classifier whose mean predictions match the reference proportions, `[n_labelers, n_sides, n_classes]`.
#[pyfunction]
pub(crate) fn fit_generalized_expectation(
    config: &str,
    features: Numbers,
    signals: &RawSignals,
    reference: Cube<f64>,
    n_jobs: Option<usize>,
) -> PyResult<FeatureClassifier> {
    let config: GeneralizedExpectation = settings("GeneralizedExpectation", config)?;
    let (features, signals) = (table(features, None)?, signals.0.clone());
    let reference = ReferenceProportions::new(reference.0).map_err(exception)?;
    trained(n_jobs, move || Ok(Fitted::GeneralizedExpectation(config.fit(&features, &signals, &reference)?)))
}

/// Trains the second stage of two on the labels of the first.
#[pyfunction]
pub(crate) fn fit_end_model(
    config: &str,
    features: Numbers,
    labels: Matrix<f64>,
    n_jobs: Option<usize>,
) -> PyResult<FeatureClassifier> {
    let config: TwoStage = settings("TwoStageClassifier", config)?;
    let (features, labels) = (table(features, None)?, soft_labels(labels)?);
    trained(n_jobs, move || Ok(Fitted::EndModel(config.fit(&features, &labels)?)))
}

/// The settings of an end model by its name, as JSON.
#[pyfunction]
pub(crate) fn end_model_preset(name: &str) -> PyResult<String> {
    let end_model = EndModel::preset(name).map_err(exception)?;
    Ok(serde_json::to_string(&end_model).expect("numbers and names"))
}

fn trained(
    n_jobs: Option<usize>,
    train: impl FnOnce() -> Result<Fitted> + Send + 'static,
) -> PyResult<FeatureClassifier> {
    Ok(FeatureClassifier(Arc::new(background::run(n_jobs, |_| train())?)))
}

#[pymethods]
impl FeatureClassifier {
    /// The probability of each class for each row.
    fn predict_proba(&self, features: Numbers, n_jobs: Option<usize>) -> PyResult<Matrix<f64>> {
        let labels = on_rows(n_jobs, &self.0, features, Fitted::predict_proba)?;
        Ok(Numpy(labels.values().to_owned()))
    }

    /// The fitted numbers.
    fn to_json(&self) -> String {
        serde_json::to_string(&*self.0).expect("numbers and names")
    }

    /// The classifier that `to_json` wrote.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let fitted = serde_json::from_str(text).map_err(|error| {
            FormatError::new_err(format!("expected a fitted classifier of labelflow, found {error}"))
        })?;
        Ok(Self(Arc::new(fitted)))
    }
}
