//! What training minimises.
//!
//! ```text
//! loss = w · mean_i NLL_i + Σ_m λ_m violation_m,   NLL_i = −ln p(y_i|x_i) / (D ln 2)   in bits per dimension
//! ```
//!
//! The paper's "w/o-nll" is w = 0. Samples of a flow trained with w > 0 hardly differ: a density is highest where it is concentrated. With
//! w < 0 they spread over all that the constraints allow.

// Deviation: the paper prints the likelihood in nats; its code, whose weights λ are the ones given, uses bits per dimension.

use std::f64::consts::LN_2;

use burn::tensor::Tensor;

use crate::constraints::Penalty;
use crate::training::Batch;

/// The name of the likelihood term in logs and errors.
const LIKELIHOOD: &str = "likelihood";

/// The likelihood and the penalties.
#[derive(Debug)]
pub struct Objective {
    /// The weight w of the likelihood term at the first epoch; 0 leaves it out.
    pub likelihood_weight: f64,
    /// The weight at the last epoch; between them it moves in equal steps. `None` keeps it.
    pub final_likelihood_weight: Option<f64>,
    /// The constraints.
    pub penalties: Vec<Penalty>,
    /// Flows side by side, whose labels are blocks of columns: what is minimised is the mean over them.
    pub n_members: usize,
}

/// The objective of one batch, term by term.
#[derive(Debug)]
pub struct ObjectiveValue {
    /// What is minimised, `[1]`.
    pub loss: Tensor<1>,
    /// The terms without their weights, `[n_terms]`, in the order of [`Objective::terms`].
    pub terms: Tensor<1>,
}

impl Objective {
    /// The names of the terms: the likelihood, then the constraints. A second constraint of the same name gets the number 2.
    pub fn terms(&self) -> Vec<String> {
        let mut names = vec![LIKELIHOOD.to_owned()];
        for penalty in &self.penalties {
            let name = penalty.name();
            let numbered = (2..).map(|number| format!("{name}-{number}"));
            let mut candidates = std::iter::once(name.clone()).chain(numbered);
            let free = candidates.find(|candidate| !names.contains(candidate));
            names.push(free.expect("there is always another number"));
        }
        names
    }

    /// The weight of the likelihood term when this share of the epochs has passed.
    pub fn likelihood_weight_at(&self, progress: f64) -> f64 {
        let last = self.final_likelihood_weight.unwrap_or(self.likelihood_weight);
        self.likelihood_weight + (last - self.likelihood_weight) * progress
    }

    /// The objective for sampled labels and their log-probabilities, when this share of the epochs has passed.
    ///
    /// # Shapes
    ///
    /// - labels: `[n_rows, n_members · d_labels]`, log_prob: `[n_rows]`, the sum over members
    pub fn evaluate(
        &self,
        labels: &Tensor<2>,
        log_prob: Tensor<1>,
        batch: &Batch<'_>,
        progress: f64,
    ) -> ObjectiveValue {
        let weight = self.likelihood_weight_at(progress);
        // A term of weight 0 is left out, not multiplied by 0: its gradient would cost as much as any other.
        self.weighted(labels, log_prob, batch, |nll| (weight != 0.0).then(|| nll * weight))
    }

    /// [`evaluate`](Self::evaluate) with a weight that only the device knows, `[1]`, unless it is 0 from the first epoch to the last.
    pub(crate) fn evaluate_with(
        &self,
        weight: Tensor<1>,
        labels: &Tensor<2>,
        log_prob: Tensor<1>,
        batch: &Batch<'_>,
    ) -> ObjectiveValue {
        let is_used = [0.0, 1.0].map(|progress| self.likelihood_weight_at(progress)) != [0.0; 2];
        self.weighted(labels, log_prob, batch, |nll| is_used.then(|| nll * weight))
    }

    fn weighted(
        &self,
        labels: &Tensor<2>,
        log_prob: Tensor<1>,
        batch: &Batch<'_>,
        weigh: impl FnOnce(Tensor<1>) -> Option<Tensor<1>>,
    ) -> ObjectiveValue {
        let nll = log_prob.mean().neg() / (labels.dims()[1] as f64 * LN_2);
        let mut terms = vec![nll.clone().detach()];
        let mut weighted = Vec::with_capacity(self.penalties.len() + 1);
        weighted.extend(weigh(nll));
        for (penalty, violation) in self.penalties.iter().zip(self.violations(labels, batch)) {
            terms.push(violation.clone().detach());
            weighted.push(violation * penalty.weight());
        }
        let loss = weighted.into_iter().reduce(|sum, term| sum + term);
        ObjectiveValue { loss: loss.unwrap_or_else(|| terms[0].zeros_like()), terms: Tensor::cat(terms, 0) }
    }

    /// What each penalty finds, the mean over members.
    fn violations(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Vec<Tensor<1>> {
        let of = |labels: &Tensor<2>| self.penalties.iter().map(|penalty| penalty.violation(labels, batch)).collect();
        let n_members = self.n_members;
        if n_members == 1 {
            return of(labels);
        }
        let d_labels = labels.dims()[1] / n_members;
        let of_members = (0..n_members).map(|member| {
            let columns = [member * d_labels, d_labels];
            batch.look_at(columns);
            of(&labels.clone().narrow(1, columns[0], columns[1]))
        });
        let add =
            |sums: Vec<Tensor<1>>, more| sums.into_iter().zip::<Vec<_>>(more).map(|(sum, one)| sum + one).collect();
        let sums = of_members.reduce(add).unwrap_or_default();
        sums.into_iter().map(|sum| sum / n_members as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::SumToOne;

    #[test]
    fn constraints_of_the_same_name_are_told_apart() {
        let penalties = (0..3).map(|_| Penalty::new(SumToOne, 1.0).unwrap()).collect();
        let objective = Objective { likelihood_weight: 1.0, final_likelihood_weight: None, penalties, n_members: 1 };
        let expected = ["likelihood", "sum-to-one", "sum-to-one-2", "sum-to-one-3"];
        assert_eq!(objective.terms(), expected);
    }

    #[test]
    fn the_weight_of_the_likelihood_moves_in_equal_steps() {
        let mut objective = Objective {
            likelihood_weight: 1.0,
            final_likelihood_weight: Some(-0.5),
            penalties: Vec::new(),
            n_members: 1,
        };
        assert_eq!([0.0, 0.5, 1.0].map(|t| objective.likelihood_weight_at(t)), [1.0, 0.25, -0.5]);
        objective.final_likelihood_weight = None;
        assert_eq!([0.0, 1.0].map(|t| objective.likelihood_weight_at(t)), [1.0, 1.0]);
    }
}
