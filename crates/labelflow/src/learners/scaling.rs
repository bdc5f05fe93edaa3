//! What is done to features before a learner sees them.

use labelflow_weak::linear::{ColumnLimits, ColumnMoments, RangeScaler, StandardScaler};
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
        let mut moments = ColumnMoments::default();
        if self != Self::None {
            moments.push(features.values())?;
        }
        self.of(&moments)
    }

    /// The same of rows of which these are the moments.
    pub(crate) fn of(self, moments: &ColumnMoments) -> Result<Option<Scaler>> {
        Ok(match self {
            Self::Standardize => Some(Scaler::Standard(moments.standard_scaler()?)),
            Self::Range => Some(Scaler::Range(moments.range_scaler()?)),
            Self::None => None,
        })
    }
}

/// A scaling that has seen the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Stored")]
pub enum Scaler {
    /// Mean 0, standard deviation 1.
    Standard(StandardScaler),
    /// Into a range.
    Range(RangeScaler),
}

/// What a file holds, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    mean: Option<Vec<f64>>,
    std: Option<Vec<f64>>,
    lower: Option<Vec<f64>>,
    width: Option<Vec<f64>>,
    #[serde(default)]
    limits: Vec<ColumnLimits>,
}

impl TryFrom<Stored> for Scaler {
    type Error = labelflow_weak::Error;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        match stored {
            Stored { mean: Some(mean), std: Some(std), lower: None, width: None, limits } => {
                Ok(Self::Standard(StandardScaler::new(mean, std)?.with_limits(limits)?))
            }
            Stored { mean: None, std: None, lower: Some(lower), width: Some(width), limits } => {
                Ok(Self::Range(RangeScaler::new(lower, width)?.with_limits(limits)?))
            }
            _ => Err(Self::Error::data(
                "stored scaler",
                "mean and std, or lower and width",
                "others, or one without the other",
            )),
        }
    }
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

pub(crate) fn scale(scaler: Option<&Scaler>, features: &Features) -> Result<Array2<f32>> {
    Ok(match scaler {
        Some(Scaler::Standard(scaler)) => scaler.transform(features.values())?,
        Some(Scaler::Range(scaler)) => scaler.transform(features.values())?,
        None => features.rounded(),
    })
}
