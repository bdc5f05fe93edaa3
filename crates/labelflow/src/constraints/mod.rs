//! The built-in constraints, one file each, and their names in configuration files.

mod constraint;
mod error_bound;
mod group_mean;
mod group_quantile;
mod label_model_bound;
mod row_by_row;

use burn::tensor::Device;
use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::{Features, WeakDataset};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use constraint::{Constraint, Penalty, Relation, Residual};
pub use error_bound::ErrorBound;
pub(crate) use error_bound::SignalTotals;
pub(crate) use group_mean::RulePart;
pub use group_mean::{Group, GroupMean};
pub use group_quantile::GroupQuantile;
pub use label_model_bound::{LabelModelBound, SureGroup, sure_groups};
pub use row_by_row::{Range, SumToOne};

use crate::sources::RowSignals;
use crate::{Error, Result};

/// What a constraint on some rows must know of all rows.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) n_rows: u64,
    pub(crate) signals: SignalTotals,
    pub(crate) bounds: Bounds,
    /// Of each constraint, if it is about both sides of a threshold.
    pub(crate) groups: Vec<Option<SideCounts>>,
}

/// How many rows are above and below a threshold.
#[derive(Debug)]
pub(crate) struct SideCounts {
    column: usize,
    threshold: f64,
    above: u64,
    below: u64,
}

impl SideCounts {
    /// Adds rows, `[n_rows, d_features]`.
    pub(crate) fn add(&mut self, features: ArrayView2<'_, f64>) {
        let column = features.column(self.column);
        let above = column.iter().filter(|&&value| value >= self.threshold).count();
        self.above += above as u64;
        self.below += (column.len() - above) as u64;
    }
}

impl Whole {
    /// The thresholds of constraints, of which no row was counted yet.
    pub(crate) fn groups_of(constraints: &[ConstraintConfig], names: &[String]) -> Result<Vec<Option<SideCounts>>> {
        let group = |config: &ConstraintConfig| {
            let &ConstraintConfig::GroupMean { ref feature, threshold, .. } = config else { return Ok(None) };
            let unknown = || Error::data("features", format!("a column '{feature}'"), names.join(", "));
            let column = names.iter().position(|name| name == feature).ok_or_else(unknown)?;
            Ok(Some(SideCounts { column, threshold, above: 0, below: 0 }))
        };
        constraints.iter().map(group).collect()
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
    /// Rows that the label model of the votes is about equally sure of have another class than its at most as often as it expects.
    LabelModel {
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
        let n_classes = dataset.n_classes();
        let error_bound = || Ok(ErrorBound::new(dataset, device));
        let mean_of = |groups: &[Group]| GroupMean::new(groups, n_classes, device);
        let label_model = || {
            let groups = sure_groups(dataset.signals())?;
            Ok(LabelModelBound::new(&groups, dataset.n_rows(), n_classes, device))
        };
        self.build_of(dataset.features(), n_classes, error_bound, label_model, mean_of)
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
        let error_bound = || {
            let none = || Error::data("signals", "those of labelers", "none");
            let signals = signals.view(n_classes).ok_or_else(none)?;
            Ok(ErrorBound::of_part(signals, &whole.signals, &whole.bounds, device))
        };
        let mean_of = |groups: &[Group]| {
            let n_members = match &whole.groups[index] {
                Some(counts) => vec![counts.above, counts.below],
                None => vec![whole.n_rows; groups.len()],
            };
            GroupMean::of_part(groups, &n_members, n_classes, device)
        };
        let label_model = || {
            let expected = "error bounds, for rows that are read in parts";
            Err(Error::config("constraints", expected, "'label-model', which must see the votes of all rows"))
        };
        self.build_of(features, n_classes, error_bound, label_model, mean_of)
    }

    fn build_of(
        &self,
        features: &Features,
        n_classes: usize,
        error_bound: impl FnOnce() -> Result<ErrorBound>,
        label_model: impl FnOnce() -> Result<LabelModelBound>,
        mean_of: impl FnOnce(&[Group]) -> Result<GroupMean>,
    ) -> Result<Penalty> {
        match self {
            Self::Range { weight } => Penalty::new(Range::unit(), *weight),
            Self::SumToOne { weight } => Penalty::new(SumToOne, *weight),
            Self::ErrorBound { weight } => Penalty::new(error_bound()?, *weight),
            Self::LabelModel { weight } => Penalty::new(label_model()?, *weight),
            Self::ClassBalance { weight, shares } => {
                let groups = Group::class_balance(features.n_rows(), n_classes, shares)?;
                Penalty::new(mean_of(&groups)?.named("class-balance"), *weight)
            }
            Self::GroupMean { weight, feature, threshold, class, above, below } => {
                let groups = Group::on_both_sides(features, feature, *threshold, *class, *above, *below)?;
                Penalty::new(mean_of(&groups)?, *weight)
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
        assert_eq!(parse("kind = 'sum-to-one'\nweight = 2.0").unwrap(), ConstraintConfig::SumToOne { weight: 2.0 });
        assert!(parse("kind = 'sum-to-one'\nweigth = 2.0").is_err());
        assert!(parse("kind = 'sum-to-two'\nweight = 2.0").is_err());
    }
}
