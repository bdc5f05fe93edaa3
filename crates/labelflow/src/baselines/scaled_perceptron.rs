//! A multilayer perceptron with what is done to features first.

use labelflow_weak::linear::Scaler;
use labelflow_weak::rows::{Features, SoftLabels};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::baselines::FittedMultilayerPerceptron;
use crate::learners::{Classifier, impl_classifier, scale};

/// A trained multilayer perceptron that scales features itself, as they were scaled for its training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaledPerceptron {
    pub(crate) scaler: Option<Scaler>,
    pub(crate) perceptron: FittedMultilayerPerceptron,
}

impl ScaledPerceptron {
    /// The probability of each class for each row.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        let Some(scaler) = &self.scaler else { return self.perceptron.predict_proba(features) };
        let features = self.perceptron.arranged(features)?;
        self.perceptron.predict_proba(&features.with_values(scale(Some(scaler), &features)?)?)
    }

    /// The mean loss of each epoch.
    pub fn losses(&self) -> &[f64] {
        &self.perceptron.losses
    }
}

impl_classifier!(
    ScaledPerceptron,
    |model| Classifier::d_features(&model.perceptron),
    Classifier::n_classes(&model.perceptron)
);
