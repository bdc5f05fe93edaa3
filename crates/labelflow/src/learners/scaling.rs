//! What is done to features before a learner sees them.

use labelflow_weak::linear::{ColumnMoments, Scaler};
use labelflow_weak::rows::Features;
use ndarray::Array2;
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
        match self {
            Self::None => Ok(None),
            _ => self.of(&ColumnMoments::of(features.values())?),
        }
    }

    /// The same of rows of which these are the moments.
    pub(crate) fn of(self, moments: &ColumnMoments) -> Result<Option<Scaler>> {
        Ok(match self {
            Self::Standardize => Some(moments.standard_scaler()?),
            Self::Range => Some(moments.range_scaler()?),
            Self::None => None,
        })
    }
}

pub(crate) fn scale(scaler: Option<&Scaler>, features: &Features) -> Result<Array2<f32>> {
    Ok(match scaler {
        Some(scaler) => scaler.transform(features.values())?,
        None => features.rounded(),
    })
}
