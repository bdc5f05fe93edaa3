//! SL: what a logistic regression would do with true labels. A reference, not a weakly supervised method.

use labelflow_weak::{Features, FittedLogisticRegression, LogisticRegression, SoftLabels, Truth};

use crate::Result;

/// A logistic regression on true labels.
#[derive(Debug, Clone)]
pub struct SupervisedClassifier(FittedLogisticRegression);

impl SupervisedClassifier {
    /// Fits the regression.
    pub fn fit(features: &Features, truth: &Truth) -> Result<Self> {
        let regression = LogisticRegression::default();
        Ok(Self(regression.fit(features.values(), truth.labels(), truth.n_classes())?))
    }

    /// Probabilities of new rows.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        Ok(self.0.predict_proba(features.values())?)
    }
}
