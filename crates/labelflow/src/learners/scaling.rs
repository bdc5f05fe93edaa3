//! What is done to features before a learner sees them.

use labelflow_weak::linear::{ColumnMoments, Projection, Scaler};
use labelflow_weak::rows::Features;
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
    /// As `standardize`; but of columns that are mostly zeros, as counts of words are, the 256 directions in which rows differ most. That is
    /// for rows in memory; rows in parts are standardised.
    Auto,
}

/// Columns of whose cells at least this share is zero are like counts of words.
const MOSTLY_ZEROS: f64 = 0.9;
/// Columns that are made of counts of words, at most.
const N_DIRECTIONS: usize = 256;

/// What must be done to every row before the flow sees it.
#[derive(Debug, Clone)]
pub(crate) enum FeatureMap {
    Scaler(Option<Scaler>),
    /// A few directions instead of the columns.
    Projection(Projection),
}

impl Scaling {
    /// What must be done to every row, or nothing, where columns stay columns.
    pub(crate) fn fit(self, features: &Features) -> Result<Option<Scaler>> {
        match self {
            Self::None => Ok(None),
            _ => self.of(&ColumnMoments::of(features.values())?),
        }
    }

    /// The same of rows of which these are the moments.
    pub(crate) fn of(self, moments: &ColumnMoments) -> Result<Option<Scaler>> {
        Ok(match self {
            Self::Standardize | Self::Auto => Some(moments.standard_scaler()?),
            Self::Range => Some(moments.range_scaler()?),
            Self::None => None,
        })
    }

    /// What must be done to every row before a flow sees it; `seed` is for where the search for directions starts.
    pub(crate) fn map(self, features: &Features, seed: u64) -> Result<FeatureMap> {
        Ok(match self {
            Self::Auto if is_mostly_zeros(features.values()) => {
                FeatureMap::Projection(Projection::fit(features.rounded().view(), N_DIRECTIONS, seed)?)
            }
            _ => FeatureMap::Scaler(self.fit(features)?),
        })
    }
}

fn is_mostly_zeros(features: ArrayView2<'_, f64>) -> bool {
    let n_zeros = features.iter().filter(|&&value| value == 0.0).count();
    features.ncols() > N_DIRECTIONS / 4 && n_zeros as f64 >= MOSTLY_ZEROS * features.len() as f64
}

impl FeatureMap {
    /// Features as the flow sees them.
    pub(crate) fn apply(&self, features: &Features) -> Result<Array2<f32>> {
        match self {
            Self::Projection(projection) => Ok(projection.transform(features.rounded().view())?),
            Self::Scaler(scaler) => scale(scaler.as_ref(), features),
        }
    }

    /// How columns are scaled.
    pub(crate) fn scaler(&self) -> Option<&Scaler> {
        match self {
            Self::Scaler(scaler) => scaler.as_ref(),
            Self::Projection(_) => None,
        }
    }

    pub(crate) fn projection(&self) -> Option<&Projection> {
        match self {
            Self::Scaler(_) => None,
            Self::Projection(projection) => Some(projection),
        }
    }

    /// How many columns the flow sees of so many.
    pub(crate) fn width(&self, d_features: usize) -> usize {
        match self {
            Self::Projection(projection) => projection.n_components(),
            Self::Scaler(_) => d_features,
        }
    }
}

pub(crate) fn scale(scaler: Option<&Scaler>, features: &Features) -> Result<Array2<f32>> {
    Ok(match scaler {
        Some(scaler) => scaler.transform(features.values())?,
        None => features.rounded(),
    })
}
