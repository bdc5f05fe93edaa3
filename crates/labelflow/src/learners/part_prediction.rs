//! Predictions of tables that are read part by part.
//!
//! A row's prediction depends on its features alone, so the predictions of the parts are those of the whole, bit for bit. What
//! speaks of the whole table is left to whoever has seen all parts: whether any row was in the range of the training rows.

use labelflow_flow::{Bijection, Flow};
use labelflow_weak::rows::{Features, SoftLabels};
use ndarray::Axis;

use super::row_samples::rows_at_once;
use crate::learners::{FittedLabelFlowClassifier, FittedLabelFlowRegressor, ValueDistribution};
use crate::{Error, Result};

/// What is predicted of the rows of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct PartPrediction {
    /// Probabilities of the classes.
    pub labels: SoftLabels,
    /// Rows on which the flow overflows: their classes are equally probable.
    pub lost: Vec<usize>,
    /// The classes that each row may have, if the model learned such sets.
    pub sets: Option<Vec<Vec<usize>>>,
}

/// Distributions of the labels of the rows of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDistribution {
    /// The distributions; those of lost rows mean nothing.
    pub labels: ValueDistribution,
    /// Rows on which the flow overflows.
    pub lost: Vec<usize>,
}

impl FittedLabelFlowClassifier {
    /// [`predict_proba_with_lost`](Self::predict_proba_with_lost) and, if sets were learned, [`predict_sets`](Self::predict_sets),
    /// from the same samples. Here all rows may be lost.
    pub fn predict_part(&self, features: &Features) -> Result<PartPrediction> {
        let samples = self.sample(features, self.config.n_samples)?;
        let sets = self.certainty.sets.as_ref().map(|sets| {
            let scores = Self::mean_scores(&samples);
            scores.axis_iter(Axis(0)).map(|scores| sets.set(scores)).collect()
        });
        let (labels, lost) = self.mean_labels(samples);
        Ok(PartPrediction { labels, lost, sets })
    }

    /// What the prediction of one more row takes, in bytes.
    pub fn bytes_per_row(&self) -> usize {
        let d_labels = self.classes.len();
        // Noise and samples as arrays and as tensors, then in double precision; labels, and what is written of them.
        let samples = self.config.n_samples * d_labels * (4 * 4 + 8) + d_labels * 64;
        bytes_per_row(&self.flow, self.feature_names.len()) + samples
    }

    /// As many rows as are predicted at once when there are enough: fewer take less memory, more take no less time.
    pub fn rows_at_once(&self) -> usize {
        rows_at_once(&self.flow)
    }

    /// The error of a table all of whose rows are lost.
    pub fn all_rows_lost() -> Error {
        labelflow_weak::Error::data(
            "features",
            "numbers in the range of the training rows",
            "numbers so far from it that the flow overflows, in every row",
        )
        .with_hint("check the units")
        .into()
    }
}

impl FittedLabelFlowRegressor {
    /// What the prediction of one more row takes, in bytes.
    pub fn bytes_per_row(&self) -> usize {
        bytes_per_row(&self.flow, self.feature_names.len()) + 256
    }

    /// As many rows as are predicted at once when there are enough: fewer take less memory, more take no less time.
    pub fn rows_at_once(&self) -> usize {
        rows_at_once(&self.flow)
    }

    /// The error of a row on which the flow overflows.
    pub fn row_lost(row: u64) -> Error {
        labelflow_weak::Error::data(
            format!("features, row {row}"),
            "numbers in the range of the training rows",
            "numbers so far from it that the flow overflows",
        )
        .with_hint("check the units")
        .into()
    }
}

/// The condition with an intermediate result, and the features as cells, as an array, scaled and as a tensor.
fn bytes_per_row<B: Bijection>(flow: &Flow<B>, d_features: usize) -> usize {
    let [n_networks, d_hidden, _] = flow.bank.second.weight.dims();
    2 * n_networks * d_hidden * size_of::<f32>() + d_features * (2 * 8 + 3 * 4)
}
