//! The labels of a row are a distribution: Σ_c y_c − 1 = 0.

use burn::tensor::Tensor;

use crate::constraints::{Constraint, Relation, Residual};
use crate::training::Batch;

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
