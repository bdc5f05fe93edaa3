//! Constraints that look at each row alone.
//!
//! ```text
//! range:       lower − y ≤ 0   and   y − upper ≤ 0
//! sum to one:  Σ_c y_c − 1 = 0
//! ```

// Deviation: the paper prints [y]₊² and [1 − y]₊², which would punish every valid label; its code has the signs used here.

use burn::tensor::Tensor;

use crate::constraints::{Constraint, Relation, Residual};
use crate::training::Batch;

/// Every label lies between two numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The smallest valid label.
    pub lower: f64,
    /// The largest valid label.
    pub upper: f64,
}

impl Range {
    /// From 0 to 1.
    pub fn unit() -> Self {
        Self { lower: 0.0, upper: 1.0 }
    }
}

impl Constraint for Range {
    fn name(&self) -> String {
        "range".to_owned()
    }

    fn residual(&self, labels: &Tensor<2>, _: &Batch<'_>) -> Residual {
        let below = labels.clone().neg() + self.lower;
        let above = labels.clone() - self.upper;
        Residual::PerRow(Tensor::cat(vec![below, above], 1))
    }
}

/// The labels of a row add up to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumToOne;

impl Constraint for SumToOne {
    fn name(&self) -> String {
        "sum-to-one".to_owned()
    }

    fn relation(&self) -> Relation {
        Relation::Equal
    }

    fn residual(&self, labels: &Tensor<2>, _: &Batch<'_>) -> Residual {
        Residual::PerRow(labels.clone().sum_dim(1) - 1.0)
    }
}
