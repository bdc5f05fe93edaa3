//! WeaSEL, end-to-end weak supervision: an encoder weighs the votes on each row, and learns together with the classifier.
//!
//! ```text
//! a = softmax over labelers of encoder(x, votes) / τ
//! p_e(c) ∝ exp(κ √m · k · Σ_j a_j q_jc)                  m labelers, k classes, q_jc = 1 where labeler j votes for c
//! loss = CE(p_e, p_f) + CE(p_f, p_e)                      p_f the classifier; each learns from the other as it is now
//! ```
//!
//! Whatever weight falls on labelers that abstain is lost, so the encoder can doubt a row.
//!
//! S. Rühling Cachay, B. Boecking and A. Dubrawski, *End-to-End Weak Supervision*, NeurIPS 2021, <https://arxiv.org/abs/2107.02233>.

// Deviation: κ √m · k scales accuracies, as WRENCH's version has it; the paper has √m, with which one vote among many silent rules hardly
// moves p_e. The prior of the classes is uniform. There is no early stopping on labelled rows: the number of epochs is given, and in the
// first ones the encoder stays as it is, so that the classifier knows the votes before the encoder believes it.

use labelflow_weak::rows::Features;
use labelflow_weak::settings::check_positive;
use labelflow_weak::votes::WeakSignals;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::labeler_attention::{Among, LabelerAttention, softmax};
use super::scaled;
use crate::baselines::multilayer_perceptron::Training;
use crate::baselines::{HiddenLayer, MultilayerPerceptron, ScaledPerceptron};
use crate::learners::Scaling;
use crate::training::stream;
use crate::{Error, Result};

/// Settings of WeaSEL.
///
/// ```
/// use labelflow::baselines::Weasel;
/// use labelflow_data::synthetic::PlantedGaussian;
///
/// let planted = PlantedGaussian { n_rows: 50, ..PlantedGaussian::default() }.generate()?;
/// let fitted = Weasel::default().fit(&planted.features, &planted.signals)?;
/// assert_eq!(fitted.predict_proba(&planted.features)?.n_classes(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weasel {
    /// What is done to the features first. Default: standardize.
    pub scaling: Scaling,
    /// τ: the smaller, the more weight goes to few labelers. Default: 1.
    pub temperature: f64,
    /// κ: how sure votes of full weight are. Default: 3.
    pub sharpness: f64,
    /// Epochs in which the encoder does not learn yet. Default: 5.
    pub n_first_epochs: usize,
    /// The hidden layers of the encoder. Default: one of width 64 with dropout 0.3.
    pub encoder: Vec<HiddenLayer>,
    /// The classifier; the encoder has its seed, optimizer and batches. Default: the end model's.
    pub perceptron: MultilayerPerceptron,
}

impl Default for Weasel {
    fn default() -> Self {
        Self {
            scaling: Scaling::default(),
            temperature: 1.0,
            sharpness: 3.0,
            n_first_epochs: 5,
            encoder: vec![HiddenLayer { width: 64, dropout: 0.3 }],
            perceptron: MultilayerPerceptron::default(),
        }
    }
}

impl Weasel {
    /// Trains on features and votes. Rows without a vote are left out: of them the encoder knows nothing.
    pub fn fit(&self, features: &Features, signals: &WeakSignals) -> Result<ScaledPerceptron> {
        check_positive(&[("temperature", self.temperature), ("sharpness", self.sharpness)])?;
        self.perceptron.check()?;
        let encoder = MultilayerPerceptron { hidden: self.encoder.clone(), ..self.perceptron.clone() };
        encoder.check()?;
        let (scaler, scaled) = scaled(self.scaling, features, signals)?;
        let (n_labelers, n_classes) = (signals.n_signals() as f64, signals.n_classes());
        let scale = (self.sharpness * n_labelers.sqrt() * n_classes as f64) as f32;
        let mut encoder = LabelerAttention::new(&encoder, &scaled, signals, Among::All, "weasel weights");
        encoder.temperature = self.temperature as f32;
        let mut training = Training::new(&self.perceptron, &scaled, n_classes);
        let covered = signals.covered_rows();
        for epoch in 0..self.perceptron.n_epochs {
            let mut dropout = stream(self.perceptron.seed, "weasel dropout", epoch as u64);
            training.epoch_of(covered.clone(), |rows, p_f| {
                let weighed = encoder.weigh(rows, &mut dropout);
                let p_e = posterior(&weighed.scores, scale);
                if epoch >= self.n_first_epochs {
                    let by_scores = (&p_e - &p_f) * (scale / rows.len() as f32);
                    encoder.learn(weighed, by_scores.view());
                }
                p_e
            })?;
            if !encoder.is_finite() {
                return Err(Error::NotFinite { term: "encoder".to_owned(), value: f64::NAN, epoch });
            }
        }
        Ok(ScaledPerceptron { scaler, perceptron: training.finish() })
    }
}

/// p_e of scores Σ_j a_j q_jc.
fn posterior(scores: &Array2<f32>, scale: f32) -> Array2<f32> {
    let mut p = scores * scale;
    p.rows_mut().into_iter().for_each(|mut p| softmax(p.as_slice_mut().expect("rows lie side by side")));
    p
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::baselines::one_stage::testing::{Halves, check_votes_are_needed, quick};

    fn small() -> Weasel {
        let encoder = vec![HiddenLayer { width: 16, dropout: 0.0 }];
        Weasel { encoder, n_first_epochs: 3, perceptron: quick(), ..Weasel::default() }
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
    fn a_row_whose_voters_have_no_weight_is_in_doubt() {
        let p = posterior(&array![[0.0, 0.0, 0.0], [0.25, 0.0, 0.25]], 4.0);
        assert!((p[[0, 1]] - 1.0 / 3.0).abs() < 1e-6);
        let expected = 1f32.exp() / (2.0 * 1f32.exp() + 1.0);
        assert!((p[[1, 0]] - expected).abs() < 1e-6 && (p[[1, 2]] - expected).abs() < 1e-6);
    }

    #[test]
    fn bad_settings_and_missing_votes_are_errors() {
        let halves = Halves::new(2);
        let bad = |change: fn(&mut Weasel)| {
            let mut settings = small();
            change(&mut settings);
            settings.fit(&halves.features, &halves.signals).unwrap_err().to_string()
        };
        assert!(bad(|weasel| weasel.temperature = 0.0).starts_with("temperature"));
        assert!(bad(|weasel| weasel.sharpness = f64::NAN).starts_with("sharpness"));
        assert!(bad(|weasel| weasel.encoder[0].width = 0).starts_with("width"));
        assert!(bad(|weasel| weasel.perceptron.n_epochs = 0).starts_with("n_epochs"));
        check_votes_are_needed(|features, signals| small().fit(features, signals));
    }
}
