//! Logistic regressions to compare with.
//!
//! AVG is trained on averaged weak signals: the signals of each training row are averaged over the labelers that speak; the most probable
//! class is its label. Rows that nobody speaks of are left out.
//!
//! SL is trained on true labels: a reference, not a weakly supervised method.

use labelflow_weak::label_models::{AverageSignals, FittedLabelModel, LabelModel};
use labelflow_weak::linear::{FittedLogisticRegression, LogisticRegression};
use labelflow_weak::rows::{Features, SoftLabels, Truth, WeakDataset};

use super::end_model::one_hot;
use crate::Result;
use crate::baselines::{EndModel, FittedEndModel};
use crate::learners::impl_classifier;

/// A logistic regression on the averaged signals.
#[derive(Debug, Clone)]
pub struct AverageClassifier(FittedLogisticRegression);

impl AverageClassifier {
    /// Averages the signals and fits the regression.
    pub fn fit(dataset: &WeakDataset) -> Result<Self> {
        let signals = dataset.signals();
        let covered = signals.covered_rows();
        let signals = signals.select_rows(&covered);
        let labels = AverageSignals.fit(&signals)?.predict_proba(&signals)?.argmax();
        let features = dataset.features().select_rows(&covered);
        let regression = LogisticRegression::default();
        Ok(Self(regression.fit_features(&features, &labels, signals.n_classes())?))
    }

    /// Probabilities of new rows.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        Ok(self.0.predict_features(features)?)
    }
}

impl_classifier!(AverageClassifier, |model| model.0.d_features(), model.0.n_classes());

/// A classifier on true labels.
#[derive(Debug, Clone)]
pub struct SupervisedClassifier(FittedEndModel);

impl SupervisedClassifier {
    /// Fits a logistic regression.
    pub fn fit(features: &Features, truth: &Truth) -> Result<Self> {
        let regression = EndModel::LogisticRegression(LogisticRegression::default());
        Self::fit_end_model(&regression, features, truth)
    }

    /// Fits the end model that two-stage systems are to be compared with.
    pub fn fit_end_model(end_model: &EndModel, features: &Features, truth: &Truth) -> Result<Self> {
        Ok(Self(end_model.fit(features, &one_hot(truth.labels(), truth.n_classes()))?))
    }

    /// Probabilities of new rows.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        self.0.predict_proba(features)
    }
}

impl_classifier!(SupervisedClassifier, |model| model.0.d_features(), model.0.n_classes());
