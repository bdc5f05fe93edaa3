//! Losses over labels: a loss for each labeler, on the rows on which it votes, in place of a label for each row.
//!
//! ```text
//! loss = Σ_j w_j Σ_i 1[j votes on i] / m_i · −log p(vote of j on i | x_i)        m_i votes on row i
//! ```
//!
//! The losses are added up for the classifier itself. With weights w_j that fall with how often a labeler votes, a rule that rarely
//! matches is not drowned by one that always does.
//!
//! D. Sam and J. Z. Kolter, *Losses over Labels: Weakly Supervised Learning via Direct Loss Construction*, AAAI 2023,
//! <https://arxiv.org/abs/2212.06921>.

// Deviation: this is the form without gradient matching. The other one must be told which features each labeler reads, and no file of
// votes says that.

use labelflow_weak::rows::Features;
use labelflow_weak::settings::check_not_negative;
use labelflow_weak::votes::WeakSignals;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::scaled;
use crate::Result;
use crate::baselines::multilayer_perceptron::Training;
use crate::baselines::{MultilayerPerceptron, ScaledPerceptron};
use crate::learners::Scaling;

/// Settings of losses over labels.
///
/// ```
/// use labelflow::baselines::LossesOverLabels;
/// use labelflow_data::synthetic::PlantedGaussian;
///
/// let planted = PlantedGaussian { n_rows: 50, ..PlantedGaussian::default() }.generate()?;
/// let fitted = LossesOverLabels::default().fit(&planted.features, &planted.signals)?;
/// assert_eq!(fitted.predict_proba(&planted.features)?.n_classes(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossesOverLabels {
    /// What is done to the features first. Default: standardize.
    pub scaling: Scaling,
    /// How fast a labeler's weight falls with its number of votes n: w ∝ n^−power. 0 gives every vote on a row the same weight, 1 every
    /// labeler. Default: 0.5.
    pub coverage_power: f64,
    /// The classifier. Default: the end model's.
    pub perceptron: MultilayerPerceptron,
}

impl Default for LossesOverLabels {
    fn default() -> Self {
        Self { scaling: Scaling::default(), coverage_power: 0.5, perceptron: MultilayerPerceptron::default() }
    }
}

impl LossesOverLabels {
    /// Trains on features and votes. Rows without a vote have no loss.
    pub fn fit(&self, features: &Features, signals: &WeakSignals) -> Result<ScaledPerceptron> {
        check_not_negative(&[("coverage_power", self.coverage_power)])?;
        self.perceptron.check()?;
        let (scaler, scaled) = scaled(self.scaling, features, signals)?;
        let targets = self.targets(signals);
        let mut training = Training::new(&self.perceptron, &scaled, signals.n_classes());
        for _ in 0..self.perceptron.n_epochs {
            training.epoch_of(signals.covered_rows(), |rows, _| targets.select(ndarray::Axis(0), rows))?;
        }
        Ok(ScaledPerceptron { scaler, perceptron: training.finish() })
    }

    /// The weight of −log p of each class in the loss of each row, `[n_rows, n_classes]`: a cross-entropy is linear in the votes, so
    /// that the losses of all labelers add up. The mean weight of covered rows is 1.
    fn targets(&self, signals: &WeakSignals) -> Array2<f32> {
        let n_classes = signals.n_classes();
        let mut votes_of = vec![0.0_f64; signals.n_signals()];
        for row in 0..signals.n_rows() {
            (0..signals.n_signals())
                .filter(|&signal| signals.vote(row, signal).is_some())
                .for_each(|signal| votes_of[signal] += 1.0);
        }
        let n_votes = signals.n_votes_of_rows();
        let mut targets = Array2::<f64>::zeros((signals.n_rows(), n_classes));
        for (row, mut targets) in targets.rows_mut().into_iter().enumerate() {
            signals.view().for_each_given(row, |cell, class, q| {
                let weight = votes_of[cell / n_classes].powf(-self.coverage_power);
                targets[class] += f64::from(q) * weight / n_votes[row] as f64;
            });
        }
        let n_covered = n_votes.iter().filter(|&&n_votes| n_votes > 0).count() as f64;
        let sum = targets.sum();
        let scale = if sum > 0.0 { n_covered / sum } else { 0.0 };
        targets.mapv(|target| (target * scale) as f32)
    }
}

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::{ABSTAIN, Votes};
    use ndarray::array;

    use super::*;
    use crate::baselines::one_stage::testing::{Halves, check_votes_are_needed, quick};

    fn small() -> LossesOverLabels {
        LossesOverLabels { perceptron: quick(), ..LossesOverLabels::default() }
    }

    #[test]
    fn held_back_rows_are_classified_better_than_by_votes() {
        for n_classes in [2, 3] {
            let halves = Halves::new(n_classes);
            let fitted = small().fit(&halves.features, &halves.signals).unwrap();
            halves.check(&fitted);
            assert_eq!(fitted, small().fit(&halves.features, &halves.signals).unwrap());
        }
    }

    #[test]
    fn rare_labelers_count_more_by_the_power_of_their_votes() {
        let votes = array![[0, ABSTAIN], [0, ABSTAIN], [0, 1], [0, ABSTAIN], [ABSTAIN, ABSTAIN]];
        let signals = WeakSignals::from_votes(Votes::from_bytes(votes, 2).unwrap()).unwrap();
        let targets = |coverage_power| LossesOverLabels { coverage_power, ..small() }.targets(&signals);
        assert_eq!(targets(0.0), array![[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]);
        // 1/4 a vote of the first labeler and 1 of the second: 3/4 + 1/8 + 1/2 are to be 4.
        let scale = 4.0 / 1.375;
        assert!((targets(1.0)[[2, 1]] - 0.5 * scale).abs() < 1e-6);
        assert!((targets(1.0)[[0, 0]] - 0.25 * scale).abs() < 1e-6);
    }

    #[test]
    fn bad_settings_and_missing_votes_are_errors() {
        let halves = Halves::new(2);
        let bad = LossesOverLabels { coverage_power: -1.0, ..small() };
        assert!(bad.fit(&halves.features, &halves.signals).unwrap_err().to_string().starts_with("coverage_power"));
        let mut bad = small();
        bad.perceptron.batch_size = 0;
        assert!(bad.fit(&halves.features, &halves.signals).unwrap_err().to_string().starts_with("batch_size"));
        check_votes_are_needed(|features, signals| small().fit(features, signals));
    }
}
