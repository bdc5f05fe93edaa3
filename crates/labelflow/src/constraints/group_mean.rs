//! The mean label of a group of rows is known, or at least where it lies:
//!
//! ```text
//! lower − mean_{i ∈ group} y_i ≤ 0   and   mean_{i ∈ group} y_i − upper ≤ 0
//! ```
//!
//! Where both ends are the same number b, the two violations together are (mean − b)².

use burn::tensor::{Device, Tensor, TensorData};
use labelflow_weak::rows::{Features, LabelRange};
use labelflow_weak::rules::{Claim, RuleDataset, Statistic};

use crate::constraints::{Constraint, Residual};
use crate::training::Batch;
use crate::{Error, Result};

/// A group of rows and the mean of one of their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Which rows belong to it.
    pub members: Vec<bool>,
    /// The label that is meant: a class, or 0 in regression.
    pub label: usize,
    /// The mean of that label over the members is at least this,
    pub lower: f64,
    /// and at most this.
    pub upper: f64,
}

impl Group {
    /// All rows, once for each class: the mean of a class over them is its share.
    pub fn class_balance(n_rows: usize, n_classes: usize, shares: &[f64]) -> Result<Vec<Self>> {
        let sum: f64 = shares.iter().sum();
        if shares.len() != n_classes || sum.is_nan() || (sum - 1.0).abs() > 1e-6 {
            let expected = format!("{n_classes} shares that add up to 1");
            return Err(Error::config("shares", expected, format!("{shares:?}")));
        }
        let group = |(label, &mean)| Self { members: vec![true; n_rows], label, lower: mean, upper: mean };
        Ok(shares.iter().enumerate().map(group).collect())
    }

    /// The two groups that a threshold of a feature makes: rows at or above it, and rows below it.
    pub fn on_both_sides(
        features: &Features,
        feature: &str,
        threshold: f64,
        label: usize,
        above: f64,
        below: f64,
    ) -> Result<Vec<Self>> {
        let column = features.column(feature)?;
        let is_above: Vec<bool> = features.values().column(column).iter().map(|&value| value >= threshold).collect();
        let is_below = is_above.iter().map(|above| !above).collect();
        Ok(vec![
            Self { members: is_above, label, lower: above, upper: above },
            Self { members: is_below, label, lower: below, upper: below },
        ])
    }
}

/// The means of groups lie where they are known to lie. Groups without members are left out.
#[derive(Debug)]
pub struct GroupMean {
    name: &'static str,
    /// 1/N for members of each group, 0 for others, `[n_groups, n_rows]`.
    shares: Tensor<2>,
    /// 1 for the label of each group, `[n_groups, d_labels]`.
    labels: Tensor<2>,
    /// `[n_groups]`
    lower: Tensor<1>,
    /// `[n_groups]`
    upper: Tensor<1>,
}

impl GroupMean {
    /// Checks the groups, which all speak of the same rows.
    pub fn new(groups: &[Group], d_labels: usize, device: &Device) -> Result<Self> {
        let count = |group: &Group| group.members.iter().filter(|&&member| member).count() as u64;
        let n_members: Vec<u64> = groups.iter().map(count).collect();
        Self::of_part(groups, &n_members, d_labels, device)
    }

    /// Groups of which the members in some rows are known, and how many they have in all.
    pub(crate) fn of_part(groups: &[Group], n_members: &[u64], d_labels: usize, device: &Device) -> Result<Self> {
        let groups = groups.iter().zip(n_members).filter(|(_, n_members)| **n_members > 0);
        let (groups, n_members): (Vec<&Group>, Vec<&u64>) = groups.unzip();
        let Some(first) = groups.first() else {
            return Err(Error::data("group means", "a group with members", "none"));
        };
        let n_rows = first.members.len();
        let mut shares = Vec::with_capacity(groups.len() * n_rows);
        let mut labels = vec![0f32; groups.len() * d_labels];
        for (index, group) in groups.iter().enumerate() {
            let place = format!("group mean {index}");
            if group.label >= d_labels {
                return Err(Error::config(place, format!("a label below {d_labels}"), group.label));
            }
            if !(0.0 <= group.lower && group.lower <= group.upper && group.upper <= 1.0) {
                let found = format!("{} to {}", group.lower, group.upper);
                return Err(Error::config(place, "a mean from 0 to 1", found));
            }
            if group.members.len() != n_rows {
                return Err(Error::data(place, format!("{n_rows} rows"), group.members.len()));
            }
            let share = 1.0 / *n_members[index] as f32;
            shares.extend(group.members.iter().map(|&member| if member { share } else { 0.0 }));
            labels[index * d_labels + group.label] = 1.0;
        }
        let n_groups = groups.len();
        let ends = |end: fn(&Group) -> f64| {
            let ends: Vec<f32> = groups.iter().map(|group| end(group) as f32).collect();
            Tensor::from_data(TensorData::new(ends, [n_groups]), device)
        };
        Ok(Self {
            name: "group-mean",
            shares: Tensor::from_data(TensorData::new(shares, [n_groups, n_rows]), device),
            labels: Tensor::from_data(TensorData::new(labels, [n_groups, d_labels]), device),
            lower: ends(|group| group.lower),
            upper: ends(|group| group.upper),
        })
    }

    /// What the rules of a dataset say of means, on the scale where the label range is [0, 1]; none if they say nothing.
    pub fn of_rules(dataset: &RuleDataset, device: &Device) -> Result<Option<Self>> {
        Self::of_rule_parts(&RulePart::of_dataset(dataset), dataset.range(), device)
    }

    /// The same of rules and some of the rows.
    pub(crate) fn of_rule_parts(rules: &[RulePart<'_>], range: LabelRange, device: &Device) -> Result<Option<Self>> {
        let about_means = || rules.iter().filter(|rule| rule.claim.statistic == Statistic::Mean);
        let group = |rule: &RulePart<'_>| Group {
            members: rule.members.to_vec(),
            label: 0,
            lower: range.to_unit(rule.claim.lower).clamp(0.0, 1.0),
            upper: range.to_unit(rule.claim.upper).clamp(0.0, 1.0),
        };
        let groups: Vec<Group> = about_means().map(group).collect();
        if groups.is_empty() {
            return Ok(None);
        }
        let n_members: Vec<u64> = about_means().map(|rule| rule.n_members).collect();
        Ok(Some(Self::of_part(&groups, &n_members, 1, device)?.named("rules")))
    }

    /// The same constraint under a more telling name.
    #[must_use]
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}

impl Constraint for GroupMean {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn residual(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Residual {
        let means = batch.total(labels, |labels, rows| {
            let of_all_labels = rows.select(&self.shares, 1).matmul(labels.clone());
            (of_all_labels * self.labels.clone()).sum_dim(1).squeeze_dim(1)
        });
        let below = self.lower.clone() - means.clone();
        Residual::Overall(Tensor::cat(vec![below, means - self.upper.clone()], 0))
    }
}

/// What a rule claims, and which of some rows it speaks of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RulePart<'a> {
    pub(crate) claim: Claim,
    /// Whether each of the rows is in its region.
    pub(crate) members: &'a [bool],
    /// How many of all rows are.
    pub(crate) n_members: u64,
}

impl<'a> RulePart<'a> {
    /// The rules of a dataset, with all of its rows.
    pub(crate) fn of_dataset(dataset: &'a RuleDataset) -> Vec<Self> {
        let groups = dataset.groups().iter();
        let part = groups.map(|group| Self {
            claim: group.rule.claim,
            members: &group.members,
            n_members: group.n_members as u64,
        });
        part.collect()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::constraints::Penalty;

    #[test]
    fn zero_when_the_means_hold_and_positive_otherwise() {
        let device = Device::flex();
        let features = Features::new(array![[1.0], [2.0], [3.0], [4.0]]).unwrap();
        let groups = Group::on_both_sides(&features, "x0", 3.0, 1, 0.75, 0.5).unwrap();
        let penalty = Penalty::new(GroupMean::new(&groups, 2, &device).unwrap(), 1.0).unwrap();
        let violation = |second: [f32; 4]| -> f32 {
            let labels = Tensor::<2>::from_floats(second.map(|p| [1.0 - p, p]), &device);
            penalty.violation(&labels, &Batch::full()).into_scalar()
        };
        assert!(violation([0.0, 1.0, 0.5, 1.0]) < 1e-12);
        // Below: mean 0 instead of 0.5; above: mean 1 instead of 0.75.
        assert!((violation([0.0, 0.0, 1.0, 1.0]) - (0.25 + 0.0625)).abs() < 1e-6);
    }

    #[test]
    fn a_mean_that_lies_between_its_ends_violates_nothing() {
        let device = Device::flex();
        let group = Group { members: vec![true, true, false], label: 0, lower: 0.2, upper: 0.4 };
        let penalty = Penalty::new(GroupMean::new(&[group], 1, &device).unwrap(), 1.0).unwrap();
        for (labels, expected) in [([0.1, 0.5, 9.0], 0.0), ([0.0, 0.2, 0.0], 0.01), ([0.5, 0.7, 0.0], 0.04)] {
            let labels = Tensor::<2>::from_floats(labels.map(|label| [label]), &device);
            let violation: f32 = penalty.violation(&labels, &Batch::full()).into_scalar();
            assert!((violation - expected).abs() < 1e-6, "{violation} instead of {expected}");
        }
    }

    #[test]
    fn shares_of_classes_are_means_over_all_rows() {
        let device = Device::flex();
        let groups = Group::class_balance(4, 2, &[0.75, 0.25]).unwrap();
        let penalty = Penalty::new(GroupMean::new(&groups, 2, &device).unwrap(), 1.0).unwrap();
        let labels = Tensor::<2>::from_floats([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], &device);
        assert!(penalty.violation(&labels, &Batch::full()).into_scalar::<f32>() < 1e-12);
        let even = Tensor::<2>::full([4, 2], 0.5, &device);
        let violation: f32 = penalty.violation(&even, &Batch::full()).into_scalar();
        assert!((violation - 0.125).abs() < 1e-6);
        for wrong in [vec![1.0], vec![0.5, 0.6], vec![f64::NAN, 0.5]] {
            assert!(Group::class_balance(4, 2, &wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn unknown_features_and_empty_groups_are_told() {
        let features = Features::new(array![[1.0], [2.0]]).unwrap();
        let error = Group::on_both_sides(&features, "size", 0.0, 0, 0.5, 0.5).unwrap_err();
        assert!(error.to_string().contains("a column 'size', found x0"), "{error}");
        let nobody = Group { members: vec![false, false], label: 0, lower: 0.5, upper: 0.5 };
        assert!(GroupMean::new(&[nobody], 2, &Device::flex()).is_err());
    }
}
