//! What must hold of the labels, and how violations are punished, written once for all constraints.
//!
//! ```text
//! violation = mean over rows of Σ_parts r²   or   Σ_statistics r²,   r = [residual]₊ for "at most", the residual for "equal"
//! penalty   = λ · violation
//! ```

use burn::tensor::Tensor;

use crate::training::Batch;
use crate::{Error, Result};

/// A condition on labels: a residual, and whether it may be negative.
///
/// A constraint says only what must hold. How a violation is punished is the business of [`Penalty`].
///
/// ```
/// use burn::tensor::Tensor;
/// use labelflow::constraints::{Constraint, Residual};
/// use labelflow::training::Batch;
///
/// /// Class 0 is never held more probable than one half.
/// struct AtMostHalf;
///
/// impl Constraint for AtMostHalf {
///     fn name(&self) -> String {
///         "at-most-half".to_owned()
///     }
///     fn residual(&self, labels: &Tensor<2>, _: &Batch<'_>) -> Residual {
///         Residual::PerRow(labels.clone().narrow(1, 0, 1) - 0.5)
///     }
/// }
/// ```
pub trait Constraint: Send + Sync {
    /// The name in logs, errors and saved models.
    fn name(&self) -> String;

    /// Whether the residual must be zero, or only not positive, as by default.
    fn relation(&self) -> Relation {
        Relation::AtMost
    }

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

/// A constraint with its weight λ.
pub struct Penalty {
    constraint: Box<dyn Constraint>,
    weight: f64,
}

impl Penalty {
    /// Checks the weight.
    pub fn new(constraint: impl Constraint + 'static, weight: f64) -> Result<Self> {
        if !(weight.is_finite() && weight >= 0.0) {
            let setting = format!("weight of {}", constraint.name());
            return Err(Error::config(setting, "a number that is not negative", weight));
        }
        Ok(Self { constraint: Box::new(constraint), weight })
    }

    /// The constraint's name.
    pub fn name(&self) -> String {
        self.constraint.name()
    }

    /// λ
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The squared violation without its weight, `[1]`.
    pub fn violation(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Tensor<1> {
        match self.constraint.residual(labels, batch) {
            Residual::PerRow(residual) => {
                let n_rows = residual.dims()[0] as f64;
                self.square(residual).sum() / n_rows
            }
            Residual::Overall(residual) => self.square(residual).sum(),
        }
    }

    fn square<const D: usize>(&self, residual: Tensor<D>) -> Tensor<D> {
        match self.constraint.relation() {
            Relation::AtMost => residual.clamp_min(0.0).square(),
            Relation::Equal => residual.square(),
        }
    }
}

impl std::fmt::Debug for Penalty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Penalty({} × {})", self.weight, self.name())
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::constraints::{Range, SumToOne};

    fn violation(constraint: impl Constraint + 'static, labels: [[f32; 2]; 1]) -> f32 {
        let labels = Tensor::from_floats(labels, &Device::flex());
        Penalty::new(constraint, 1.0).unwrap().violation(&labels, &Batch::full()).into_scalar()
    }

    /// Specification 2.2: one row, y = (1.2, −0.1): box terms 0.01 and 0.04, sum term 0.01.
    #[test]
    fn known_answers() {
        let labels = [[1.2, -0.1]];
        assert!((violation(Range::unit(), labels) - 0.05).abs() < 1e-6);
        assert!((violation(SumToOne, labels) - 0.01).abs() < 1e-6);
        let valid = [[0.25, 0.75]];
        assert_eq!(violation(Range::unit(), valid), 0.0);
        assert_eq!(violation(SumToOne, valid), 0.0);
    }

    #[test]
    fn a_negative_weight_is_refused() {
        for weight in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Penalty::new(SumToOne, weight).is_err());
        }
    }
}
