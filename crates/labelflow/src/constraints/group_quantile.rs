//! Where a quantile of a group's labels lies is known.
//!
//! ```text
//! share below `lower` ≤ level ≤ share below `upper`,   share below v = mean_{i ∈ group} sigmoid((v − y_i) / 0.02)
//! ```
//!
//! The share itself is a staircase with no slope to learn from, so each step of it is smoothed over a few hundredths of the label range.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use labelflow_weak::rows::LabelRange;
use labelflow_weak::rules::{RuleDataset, Statistic};

use crate::constraints::{Constraint, Residual, RulePart};
use crate::training::Batch;

/// How far a step of the staircase is spread, as a share of the label range.
const SMOOTHING: f64 = 0.02;

/// Quantiles of groups lie where rules say.
#[derive(Debug)]
pub struct GroupQuantile {
    /// 1/N for members of each group, 0 for others, `[n_groups, n_rows]`.
    shares: Tensor<2>,
    /// `[n_groups]`, here and below.
    levels: Tensor<1>,
    lower: Tensor<1>,
    upper: Tensor<1>,
}

impl GroupQuantile {
    /// What the rules of a dataset say of quantiles, on the scale where the label range is [0, 1]; none if they say nothing.
    pub fn of_rules(dataset: &RuleDataset, device: &Device) -> Option<Self> {
        Self::of_rule_parts(&RulePart::of_dataset(dataset), dataset.range(), device)
    }

    /// The same of rules and some of the rows.
    pub(crate) fn of_rule_parts(rules: &[RulePart<'_>], range: LabelRange, device: &Device) -> Option<Self> {
        let n_rows = rules.first()?.members.len();
        let (mut shares, mut levels) = (Vec::new(), Vec::new());
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for rule in rules {
            let Statistic::Quantile(level) = rule.claim.statistic else {
                continue;
            };
            let share = 1.0 / rule.n_members as f32;
            shares.extend(rule.members.iter().map(|&member| if member { share } else { 0.0 }));
            levels.push(level as f32);
            lower.push(range.to_unit(rule.claim.lower) as f32);
            upper.push(range.to_unit(rule.claim.upper) as f32);
        }
        let n_groups = levels.len();
        let vector = |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [n_groups]), device);
        (n_groups > 0).then(|| Self {
            shares: Tensor::from_data(TensorData::new(shares, [n_groups, n_rows]), device),
            levels: vector(levels),
            lower: vector(lower),
            upper: vector(upper),
        })
    }

    /// The share of each group's labels below one value a group.
    fn shares_below(&self, values: &Tensor<1>, labels: &Tensor<2>, batch: &Batch<'_>) -> Tensor<1> {
        batch.total(labels, |labels, rows| {
            let values = values.clone().unsqueeze_dim::<2>(1);
            let below = sigmoid((values - labels.clone().transpose()) / SMOOTHING);
            (rows.select(&self.shares, 1) * below).sum_dim(1).squeeze_dim(1)
        })
    }
}

impl Constraint for GroupQuantile {
    fn name(&self) -> String {
        "rule-quantiles".to_owned()
    }

    fn residual(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Residual {
        let below_lower = self.shares_below(&self.lower, labels, batch) - self.levels.clone();
        let below_upper = self.levels.clone() - self.shares_below(&self.upper, labels, batch);
        Residual::Overall(Tensor::cat(vec![below_lower, below_upper], 0))
    }
}

#[cfg(test)]
mod tests {
    use labelflow_weak::rows::{Features, LabelRange};
    use labelflow_weak::rules::{Claim, Region, Rule};
    use ndarray::Array2;

    use super::*;
    use crate::constraints::Penalty;

    #[test]
    fn zero_where_the_quantile_lies_between_its_ends() {
        let features = Features::new(Array2::<f64>::zeros((5, 1))).unwrap();
        let range = LabelRange::new(0.0, 10.0).unwrap();
        let dataset = |claim: Claim| {
            let rules = vec![Rule::new(Region::All, claim)];
            RuleDataset::new(features.clone(), rules, Some(range)).unwrap()
        };
        let device = Device::flex();
        let labels = Tensor::<2>::from_floats([[0.1], [0.3], [0.5], [0.7], [0.9]], &device);
        let violation = |claim: Claim| -> f32 {
            let constraint = GroupQuantile::of_rules(&dataset(claim), &device).unwrap();
            Penalty::new(constraint, 1.0).unwrap().violation(&labels, &Batch::full()).into_scalar()
        };
        assert!(violation(Claim::quantile_between(0.5, 4.0, 6.0)) < 1e-6);
        // Half of the labels are said to be below 0.2, where there is one in five; below 0.8 there are four in five.
        assert!((violation(Claim::quantile(0.5, 2.0)) - 0.09).abs() < 1e-3);
        assert!((violation(Claim::quantile(0.5, 8.0)) - 0.09).abs() < 1e-3);
        assert!(GroupQuantile::of_rules(&dataset(Claim::mean(5.0)), &device).is_none());
    }
}
