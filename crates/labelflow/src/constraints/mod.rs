//! The built-in constraints, one file each, and their names in configuration files.

mod error_bound;
mod group_mean;
mod group_quantile;
mod range;
mod sum_to_one;

use burn::tensor::Device;
use labelflow_weak::WeakDataset;
use serde::{Deserialize, Serialize};

pub use error_bound::ErrorBound;
pub use group_mean::{Group, GroupMean};
pub use group_quantile::GroupQuantile;
pub use range::Range;
pub use sum_to_one::SumToOne;

use crate::{Penalty, Result};

/// A built-in constraint by name, with its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ConstraintConfig {
    /// Every label lies in [0, 1].
    Range {
        /// λ
        weight: f64,
    },
    /// The labels of a row add up to one.
    SumToOne {
        /// λ
        weight: f64,
    },
    /// Every labeler errs at most as often as its bound says.
    ErrorBound {
        /// λ
        weight: f64,
    },
    /// The shares of the classes among all rows are known.
    ClassBalance {
        /// λ
        weight: f64,
        /// The share of each class; they add up to one.
        shares: Vec<f64>,
    },
    /// The mean of a class is known above and below a threshold of a feature.
    GroupMean {
        /// λ
        weight: f64,
        /// The name of the feature.
        feature: String,
        /// Rows with at least this value are above.
        threshold: f64,
        /// The class whose probability is meant.
        class: usize,
        /// Its mean over the rows above.
        above: f64,
        /// Its mean over the rows below.
        below: f64,
    },
}

impl ConstraintConfig {
    /// What the paper asks of classification: range, sum to one and error bounds, all with weight 10.
    pub fn classification() -> Vec<Self> {
        let weight = 10.0;
        vec![Self::Range { weight }, Self::SumToOne { weight }, Self::ErrorBound { weight }]
    }

    /// The constraint for this dataset, on this device.
    pub fn build(&self, dataset: &WeakDataset, device: &Device) -> Result<Penalty> {
        match self {
            Self::Range { weight } => Penalty::new(Range::unit(), *weight),
            Self::SumToOne { weight } => Penalty::new(SumToOne, *weight),
            Self::ErrorBound { weight } => Penalty::new(ErrorBound::new(dataset, device), *weight),
            Self::ClassBalance { weight, shares } => {
                let groups = Group::class_balance(dataset.n_rows(), dataset.n_classes(), shares)?;
                let constraint = GroupMean::new(&groups, dataset.n_classes(), device)?;
                Penalty::new(constraint.named("class-balance"), *weight)
            }
            Self::GroupMean { weight, feature, threshold, class, above, below } => {
                let features = dataset.features();
                let groups =
                    Group::on_both_sides(features, feature, *threshold, *class, *above, *below)?;
                let constraint = GroupMean::new(&groups, dataset.n_classes(), device)?;
                Penalty::new(constraint, *weight)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_refused() {
        let parse = |text: &str| toml::from_str::<ConstraintConfig>(text);
        assert_eq!(
            parse("kind = 'sum-to-one'\nweight = 2.0").unwrap(),
            ConstraintConfig::SumToOne { weight: 2.0 }
        );
        assert!(parse("kind = 'sum-to-one'\nweigth = 2.0").is_err());
        assert!(parse("kind = 'sum-to-two'\nweight = 2.0").is_err());
    }
}
