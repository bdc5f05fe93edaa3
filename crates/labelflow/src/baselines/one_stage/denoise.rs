//! Denoising of votes: attention over labelers makes a soft label of each row, and learns together with the classifier.
//!
//! ```text
//! a_i = softmax over the labelers that vote on row i of attention(x_i, votes)          s_ic = Σ_j a_ij q_ijc
//! reliability r_j = mean of a_ij n_i over the rows on which j votes, n_i voters         y_ic ∝ Σ_j r_j q_ijc
//!
//! covered rows      c₁ CE(s_i, argmax y_i) + c₂ CE(p_i, y_i)                           p the classifier
//! other rows        (1 − c₁ − c₂) CE(p_i, z_i)                                         z_i ∝ α Z_i + (1 − α) p_i, epoch after epoch
//! ```
//!
//! Rows without a vote keep to the mean of what the classifier said of them earlier (temporal ensembling).
//!
//! W. Ren, Y. Li, H. Su, D. Kartchner, C. Mitchell and C. Zhang, *Denoising Multi-Source Weak Supervision for Neural Text Classification*,
//! Findings of EMNLP 2020, <https://arxiv.org/abs/2010.04582>.

// Deviation: the softmax is over the labelers that vote, not over all, so that s adds up to one. The classifier learns the soft y where
// WRENCH's version has its most probable class, and follows z by cross-entropy in place of a squared difference of scores.

use labelflow_weak::rows::Features;
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::labeler_attention::{Among, LabelerAttention};
use super::scaled;
use crate::baselines::multilayer_perceptron::Training;
use crate::baselines::{HiddenLayer, MultilayerPerceptron, ScaledPerceptron};
use crate::learners::Scaling;
use crate::training::stream;
use crate::{Error, Result};

/// The least share of a class whose logarithm is taken.
const SMALL: f32 = 1e-3;

/// Settings of denoising.
///
/// ```
/// use labelflow::baselines::Denoise;
/// use labelflow_data::synthetic::PlantedGaussian;
///
/// let planted = PlantedGaussian { n_rows: 50, ..PlantedGaussian::default() }.generate()?;
/// let fitted = Denoise::default().fit(&planted.features, &planted.signals)?;
/// assert_eq!(fitted.predict_proba(&planted.features)?.n_classes(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Denoise {
    /// What is done to the features first. Default: standardize.
    pub scaling: Scaling,
    /// c₁, the share of the attention's loss. Default: 0.2.
    pub attention_share: f64,
    /// c₂, the share of the classifier's loss on covered rows; rows without a vote have the rest. Default: 0.7.
    pub classifier_share: f64,
    /// α, how much of earlier predictions z keeps. Default: 0.6.
    pub memory: f64,
    /// The hidden layers of the attention. Default: one of width 64.
    pub attention: Vec<HiddenLayer>,
    /// The classifier; the attention has its seed, optimizer and batches. Default: the end model's.
    pub perceptron: MultilayerPerceptron,
}

impl Default for Denoise {
    fn default() -> Self {
        Self {
            scaling: Scaling::default(),
            attention_share: 0.2,
            classifier_share: 0.7,
            memory: 0.6,
            attention: vec![HiddenLayer { width: 64, dropout: 0.0 }],
            perceptron: MultilayerPerceptron::default(),
        }
    }
}

impl Denoise {
    /// Trains on features and votes.
    pub fn fit(&self, features: &Features, signals: &WeakSignals) -> Result<ScaledPerceptron> {
        self.check()?;
        let attention = MultilayerPerceptron { hidden: self.attention.clone(), ..self.perceptron.clone() };
        attention.check()?;
        let (scaler, scaled) = scaled(self.scaling, features, signals)?;
        let (n_rows, n_classes) = (signals.n_rows(), signals.n_classes());
        let mut attention = LabelerAttention::new(&attention, &scaled, signals, Among::Voters, "denoise weights");
        let mut training = Training::new(&self.perceptron, &scaled, n_classes);
        let is_covered: Vec<bool> = (0..n_rows).map(|row| signals.is_covered(row)).collect();
        let mut reliabilities = Reliabilities::new(signals.n_signals());
        let mut ensemble = Array2::<f32>::zeros((n_rows, n_classes));
        let [c_1, c_2] = [self.attention_share, self.classifier_share].map(|share| share as f32);
        let alpha = self.memory as f32;
        for epoch in 0..self.perceptron.n_epochs {
            let mut dropout = stream(self.perceptron.seed, "denoise dropout", epoch as u64);
            // Z is a mean once it is divided by the sum of its weights.
            let kept = 1.0 - alpha.powi(epoch as i32);
            training.epoch_of((0..n_rows).collect(), |rows, p| {
                let weighed = attention.weigh(rows, &mut dropout);
                reliabilities.add(weighed.weights.view(), attention.speaks().select(Axis(0), rows).view());
                let means = reliabilities.means();
                let mut labels = attention.scores(rows, |_, labeler| means[labeler]);
                let mut by_scores = Array2::zeros(labels.raw_dim());
                for (index, &row) in rows.iter().enumerate() {
                    let mut label = labels.row_mut(index);
                    if is_covered[row] {
                        label /= label.sum().max(f32::MIN_POSITIVE);
                        let class = argmax(label.as_slice().expect("rows lie side by side"));
                        let share = weighed.scores[[index, class]].max(SMALL);
                        by_scores[[index, class]] = -c_1 / share / rows.len() as f32;
                        label *= c_2;
                    } else {
                        if epoch > 0 {
                            label.assign(&(&ensemble.row(row) * ((1.0 - c_1 - c_2) / kept)));
                        }
                        let next = &ensemble.row(row) * alpha + &p.row(index) * (1.0 - alpha);
                        ensemble.row_mut(row).assign(&next);
                    }
                }
                attention.learn(weighed, by_scores.view());
                labels
            })?;
            if !attention.is_finite() {
                return Err(Error::NotFinite { term: "attention".to_owned(), value: f64::NAN, epoch });
            }
        }
        Ok(ScaledPerceptron { scaler, perceptron: training.finish() })
    }

    fn check(&self) -> Result<()> {
        self.perceptron.check()?;
        let shares = [("attention_share", self.attention_share), ("classifier_share", self.classifier_share)];
        for (name, share) in shares.into_iter().chain([("memory", self.memory)]) {
            if !(0.0..1.0).contains(&share) {
                return Err(Error::config(name, "a share from 0 to below 1", share));
            }
        }
        let sum = self.attention_share + self.classifier_share;
        if sum > 1.0 {
            return Err(Error::config("classifier_share", "a share that is at most 1 with attention_share", sum));
        }
        Ok(())
    }
}

/// r: how much weight each labeler has on the rows on which it votes, as a mean that follows the attention.
struct Reliabilities {
    means: Vec<f32>,
}

impl Reliabilities {
    /// What a batch counts.
    const RATE: f32 = 0.1;

    /// All labelers alike, which makes y the shares of votes.
    fn new(n_labelers: usize) -> Self {
        Self { means: vec![1.0; n_labelers] }
    }

    /// Moves the means towards those of a batch; `[n_batch, n_labelers]` both.
    fn add(&mut self, weights: ArrayView2<'_, f32>, speaks: ArrayView2<'_, f32>) {
        let n_voters = speaks.sum_axis(Axis(1));
        for (labeler, mean) in self.means.iter_mut().enumerate() {
            let votes = speaks.column(labeler);
            let n_votes = votes.sum();
            if n_votes > 0.0 {
                // In units of an equal share, so that a labeler does not lose by voting beside many others.
                let sum = (&weights.column(labeler) * &n_voters * votes).sum();
                *mean += Self::RATE * (sum / n_votes - *mean);
            }
        }
    }

    fn means(&self) -> &[f32] {
        &self.means
    }
}

fn argmax(values: &[f32]) -> usize {
    (0..values.len()).rev().max_by(|&one, &other| values[one].total_cmp(&values[other])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::baselines::one_stage::testing::{Halves, check_votes_are_needed, quick};

    fn small() -> Denoise {
        let attention = vec![HiddenLayer { width: 16, dropout: 0.0 }];
        Denoise { attention, perceptron: quick(), ..Denoise::default() }
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
    fn reliabilities_are_means_over_votes_in_units_of_equal_shares() {
        let mut reliabilities = Reliabilities::new(3);
        reliabilities
            .add(array![[0.8, 0.2, 0.0], [0.6, 0.4, 0.0]].view(), array![[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]].view());
        for (found, expected) in reliabilities.means().iter().zip([1.0 + 0.1 * 0.4, 1.0 - 0.1 * 0.4, 1.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} and {expected}");
        }
        assert_eq!(argmax(&[0.2, 0.4, 0.4]), 1);
    }

    #[test]
    fn bad_settings_and_missing_votes_are_errors() {
        let halves = Halves::new(2);
        let bad = |change: fn(&mut Denoise)| {
            let mut settings = small();
            change(&mut settings);
            settings.fit(&halves.features, &halves.signals).unwrap_err().to_string()
        };
        assert!(bad(|settings| settings.memory = 1.0).starts_with("memory"));
        assert!(bad(|settings| settings.attention_share = -0.1).starts_with("attention_share"));
        assert!(bad(|settings| settings.classifier_share = 0.9).starts_with("classifier_share"));
        assert!(bad(|settings| settings.attention[0].width = 0).starts_with("width"));
        check_votes_are_needed(|features, signals| small().fit(features, signals));
    }
}
