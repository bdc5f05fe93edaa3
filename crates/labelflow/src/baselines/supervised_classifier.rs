//! SL: what a classifier on features would do with true labels. A reference, not a weakly supervised method.

use labelflow_weak::linear::LogisticRegression;
use labelflow_weak::rows::{Features, SoftLabels, Truth};

use super::end_model::one_hot;
use crate::Result;
use crate::baselines::{EndModel, FittedEndModel};
use crate::learners::impl_classifier;

/// A classifier on true labels.
#[derive(Debug, Clone)]
pub struct SupervisedClassifier(FittedEndModel);

impl SupervisedClassifier {
    /// Fits a logistic regression.
    pub fn fit(features: &Features, truth: &Truth) -> Result<Self> {
        Self::fit_end_model(
            &EndModel::LogisticRegression(LogisticRegression::default()),
            features,
            truth,
        )
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
