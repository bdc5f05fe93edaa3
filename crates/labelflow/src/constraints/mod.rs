//! The built-in constraints, one file each, and their names in configuration files.

mod constraint;
mod error_bound;
mod group_mean;
mod group_quantile;
mod penalty;
mod range;
mod rule_part;
mod sum_to_one;

use burn::tensor::Device;
use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::{Features, WeakDataset};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use constraint::{Constraint, Relation, Residual};
pub use error_bound::ErrorBound;
pub use group_mean::{Group, GroupMean};
pub use group_quantile::GroupQuantile;
pub use penalty::Penalty;
pub use range::Range;
pub(crate) use rule_part::RulePart;
pub use sum_to_one::SumToOne;

use crate::sources::RowSignals;
use crate::sources::signal_totals::SignalTotals;
use crate::{Error, Result};

/// What a constraint on some rows must know of all rows.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) n_rows: u64,
    pub(crate) signals: SignalTotals,
    pub(crate) bounds: Bounds,
    /// Of the constraints on both sides of a threshold.
    pub(crate) groups: Vec<SideCounts>,
}

/// How many rows are above and below a threshold.
#[derive(Debug)]
pub(crate) struct SideCounts {
    /// The place of the constraint among all.
    constraint: usize,
    column: usize,
    threshold: f64,
    above: u64,
    below: u64,
}

impl SideCounts {
    /// Adds rows, `[n_rows, d_features]`.
    pub(crate) fn add(&mut self, features: ArrayView2<'_, f32>) {
        let column = features.column(self.column);
        let above = column.iter().filter(|&&value| f64::from(value) >= self.threshold).count();
        self.above += above as u64;
        self.below += (column.len() - above) as u64;
    }
}

impl Whole {
    /// The thresholds of constraints, of which no row was counted yet.
    pub(crate) fn groups_of(
        constraints: &[ConstraintConfig],
        names: &[String],
    ) -> Result<Vec<SideCounts>> {
        let mut groups = Vec::new();
        for (constraint, config) in constraints.iter().enumerate() {
            if let ConstraintConfig::GroupMean { feature, threshold, .. } = config {
                let Some(column) = names.iter().position(|name| name == feature) else {
                    let expected = format!("a column '{feature}'");
                    return Err(Error::data("features", expected, names.join(", ")));
                };
                let threshold = *threshold;
                groups.push(SideCounts { constraint, column, threshold, above: 0, below: 0 });
            }
        }
        Ok(groups)
    }

    fn n_on_both_sides(&self, constraint: usize) -> [u64; 2] {
        let counts = self.groups.iter().find(|counts| counts.constraint == constraint);
        counts.map_or([0, 0], |counts| [counts.above, counts.below])
    }
}

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
            Self::Range { .. } | Self::SumToOne { .. } => self.build_of_rows(),
            Self::ErrorBound { weight } => Penalty::new(ErrorBound::new(dataset, device), *weight),
            Self::ClassBalance { .. } | Self::GroupMean { .. } => {
                let (name, weight, groups) =
                    self.groups(dataset.features(), dataset.n_classes())?;
                let constraint = GroupMean::new(&groups, dataset.n_classes(), device)?;
                Penalty::new(constraint.named(name), weight)
            }
        }
    }

    /// The constraint for some rows of a dataset: their features and signals, and what is known of all rows. It is the `index`-th
    /// constraint.
    pub(crate) fn build_part(
        &self,
        index: usize,
        features: &Features,
        signals: &RowSignals,
        whole: &Whole,
        device: &Device,
    ) -> Result<Penalty> {
        let n_classes = whole.bounds.values().ncols();
        match self {
            Self::Range { .. } | Self::SumToOne { .. } => self.build_of_rows(),
            Self::ErrorBound { weight } => {
                let (totals, bounds) = (&whole.signals, &whole.bounds);
                Penalty::new(ErrorBound::of_part(signals, totals, bounds, device)?, *weight)
            }
            Self::ClassBalance { .. } | Self::GroupMean { .. } => {
                let (name, weight, groups) = self.groups(features, n_classes)?;
                let n_members = match self {
                    Self::GroupMean { .. } => whole.n_on_both_sides(index).to_vec(),
                    _ => vec![whole.n_rows; groups.len()],
                };
                let constraint = GroupMean::of_part(&groups, &n_members, n_classes, device)?;
                Penalty::new(constraint.named(name), weight)
            }
        }
    }

    /// A constraint that looks at each row alone.
    fn build_of_rows(&self) -> Result<Penalty> {
        match self {
            Self::SumToOne { weight } => Penalty::new(SumToOne, *weight),
            other => Penalty::new(Range::unit(), other.weight()),
        }
    }

    /// The name, the weight and the groups of a constraint on means of groups; no groups of others.
    fn groups(
        &self,
        features: &Features,
        n_classes: usize,
    ) -> Result<(&'static str, f64, Vec<Group>)> {
        Ok(match self {
            Self::ClassBalance { weight, shares } => {
                let groups = Group::class_balance(features.n_rows(), n_classes, shares)?;
                ("class-balance", *weight, groups)
            }
            Self::GroupMean { weight, feature, threshold, class, above, below } => {
                let groups =
                    Group::on_both_sides(features, feature, *threshold, *class, *above, *below)?;
                ("group-mean", *weight, groups)
            }
            other => ("group-mean", other.weight(), Vec::new()),
        })
    }

    /// λ
    fn weight(&self) -> f64 {
        match self {
            Self::Range { weight }
            | Self::SumToOne { weight }
            | Self::ErrorBound { weight }
            | Self::ClassBalance { weight, .. }
            | Self::GroupMean { weight, .. } => *weight,
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
