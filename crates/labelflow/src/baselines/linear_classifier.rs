//! Classes by linear functions of features, without intercepts.
//!
//! ```text
//! two classes   p(1 | x) = 1 / (1 + exp(−w·x))
//! k classes     p(c | x) ∝ exp(W_c·x)
//! ```

use labelflow_weak::checked_when_read;
use labelflow_weak::numerics::dot_in_lanes;
use labelflow_weak::rows::{Features, SoftLabels};
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::evaluation::{n_scores, write_probabilities};
use crate::learners::{Scaler, impl_classifier, scale};
use crate::{Error, Result};

/// A fitted linear classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct LinearClassifier {
    n_classes: usize,
    d_features: usize,
    /// Names of the features, if they had names of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature_names: Vec<String>,
    /// What is done to the features first.
    scaler: Option<Scaler>,
    /// One row per score, `[n_scores, d_features]`; two classes have one score.
    weights: Vec<f64>,
}

checked_when_read!(LinearClassifier);

impl LinearClassifier {
    /// The classifier of these features.
    pub(crate) fn new(features: &Features, n_classes: usize, scaler: Option<Scaler>, weights: Vec<f64>) -> Self {
        let (d_features, feature_names) = (features.d_features(), features.own_names().to_vec());
        Self { n_classes, d_features, feature_names, scaler, weights }
    }

    /// Checks what was read.
    fn check(&self) -> Result<()> {
        let Self { n_classes, d_features, ref scaler, ref weights, .. } = *self;
        let expected = n_scores(n_classes) * d_features;
        let scaler_fits = scaler.as_ref().is_none_or(|scaler| scaler.d_features() == d_features);
        let finite = weights.iter().all(|weight| weight.is_finite());
        if n_classes >= 2 && d_features > 0 && weights.len() == expected && scaler_fits && finite {
            return Ok(());
        }
        let expected = format!("{expected} finite weights, and a scaler of {d_features} columns");
        Err(Error::data("stored linear classifier", expected, format!("{} weights", weights.len())))
    }

    /// The weights, `[n_scores, d_features]`.
    pub(crate) fn weights(&self) -> ArrayView2<'_, f64> {
        ArrayView2::from_shape((n_scores(self.n_classes), self.d_features), &self.weights)
            .expect("the number of weights is checked")
    }

    pub(crate) fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        let features = features.arranged(&self.feature_names, self.d_features)?;
        let scaled = scale(self.scaler.as_ref(), &features)?;
        let mut labels = Array2::zeros((features.n_rows(), self.n_classes));
        for (x, mut labels) in scaled.rows().into_iter().zip(labels.axis_iter_mut(Axis(0))) {
            let x = x.to_slice().expect("rows lie side by side");
            let labels = labels.as_slice_mut().expect("rows lie side by side");
            probabilities(x, &self.weights, labels);
        }
        Ok(SoftLabels::normalized(labels))
    }
}

impl_classifier!(LinearClassifier, |model| model.d_features, model.n_classes);

/// The probability of each class of one row.
pub(crate) fn probabilities(x: &[f32], weights: &[f64], labels: &mut [f64]) {
    write_probabilities(labels, weights.chunks_exact(x.len()).map(|weights| dot_in_lanes::<4, f32>(x, weights)));
}
