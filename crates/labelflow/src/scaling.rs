//! What is done to features before a learner sees them.

use labelflow_weak::{Features, RangeScaler, StandardScaler};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::Result;

/// What is done to features first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// Mean 0 and deviation 1 on the training rows.
    #[default]
    Standardize,
    /// From 0 to 1 on the training rows.
    Range,
    /// Nothing.
    None,
}

impl Scaling {
    /// What must be done to every row, or nothing.
    pub(crate) fn fit(self, features: &Features) -> Result<Option<Scaler>> {
        Ok(match self {
            Self::Standardize => Some(Scaler::Standard(StandardScaler::fit(features.values())?)),
            Self::Range => Some(Scaler::Range(RangeScaler::fit(features.values())?)),
            Self::None => None,
        })
    }
}

/// A scaling that has seen the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Scaler {
    Standard(StandardScaler),
    Range(RangeScaler),
}

impl Scaler {
    /// The number of columns it was fitted on.
    pub(crate) fn d_features(&self) -> usize {
        match self {
            Self::Standard(scaler) => scaler.mean().len(),
            Self::Range(scaler) => scaler.d_features(),
        }
    }
}

pub(crate) fn scale(scaler: Option<&Scaler>, features: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
    Ok(match scaler {
        Some(Scaler::Standard(scaler)) => scaler.transform(features)?,
        Some(Scaler::Range(scaler)) => scaler.transform(features)?,
        None => features.to_owned(),
    })
}
