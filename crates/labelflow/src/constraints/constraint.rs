//! What must hold of the labels.

use burn::tensor::Tensor;

use crate::training::Batch;

/// A condition on labels: a residual, and whether it may be negative.
///
/// A constraint says only what must hold. How a violation is punished is the business of [`Penalty`](crate::constraints::Penalty).
///
/// ```
/// use burn::tensor::Tensor;
/// use labelflow::constraints::{Constraint, Relation, Residual};
/// use labelflow::training::Batch;
///
/// /// Class 0 is never held more probable than one half.
/// struct AtMostHalf;
///
/// impl Constraint for AtMostHalf {
///     fn name(&self) -> String {
///         "at-most-half".to_owned()
///     }
///     fn relation(&self) -> Relation {
///         Relation::AtMost
///     }
///     fn residual(&self, labels: &Tensor<2>, _: &Batch<'_>) -> Residual {
///         Residual::PerRow(labels.clone().narrow(1, 0, 1) - 0.5)
///     }
/// }
/// ```
pub trait Constraint: Send + Sync {
    /// The name in logs, errors and saved models.
    fn name(&self) -> String;

    /// Whether the residual must be zero, or only not positive.
    fn relation(&self) -> Relation;

    /// How far the labels of a batch, `[n_rows, d_labels]`, are from satisfying the constraint.
    fn residual(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Residual;
}

/// How a residual relates to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// residual ≤ 0
    AtMost,
    /// residual = 0
    Equal,
}

/// The two kinds of residuals, by what they are taken over.
#[derive(Debug)]
pub enum Residual {
    /// Of each row, `[n_rows, n_parts]`: violations are summed over the parts and averaged over the rows.
    PerRow(Tensor<2>),
    /// Of statistics over all rows, `[n_statistics]`: violations are summed.
    Overall(Tensor<1>),
}
