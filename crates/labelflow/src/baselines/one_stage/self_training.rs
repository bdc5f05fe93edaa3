//! Self-training: a classifier starts from a label model's labels, then learns its own sharpened predictions of all rows.
//!
//! ```text
//! start      CE(p_i, label model)                             covered rows
//! then       t_ic ∝ p_ic²                                     all rows, renewed every few epochs
//!            w_i = 1 − H(t_i) / log k                         0 where nothing is known, 1 where nothing is in doubt
//!            w_i CE(p_i, t_i) + λ w_i KL(u ‖ p_i)             u uniform: no row may become too sure
//! ```
//!
//! Rows without a vote come in by what the classifier says of them.
//!
//! Y. Yu, S. Zuo, H. Jiang, W. Ren, T. Zhao and C. Zhang, *Fine-Tuning Pre-trained Language Model with Weak Supervision: A
//! Contrastive-Regularized Self-Training Approach* (COSINE), NAACL 2021, <https://arxiv.org/abs/2010.07835>.

// Deviation: features are fixed, so that there is no contrastive loss between embeddings, and no threshold: a row's weight falls to zero
// with its confidence. Targets are divided by how common their classes are predicted only where `balanced` says so.

use labelflow_weak::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
use labelflow_weak::rows::Features;
use labelflow_weak::settings::{check_at_least_one, check_not_negative, check_positive};
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::scaled;
use crate::Result;
use crate::baselines::multilayer_perceptron::Training;
use crate::baselines::{MultilayerPerceptron, ScaledPerceptron};
use crate::learners::Scaling;

/// Settings of self-training.
///
/// ```
/// use labelflow::baselines::SelfTraining;
/// use labelflow_data::synthetic::PlantedGaussian;
///
/// let planted = PlantedGaussian { n_rows: 50, ..PlantedGaussian::default() }.generate()?;
/// let fitted = SelfTraining::default().fit(&planted.features, &planted.signals)?;
/// assert_eq!(fitted.predict_proba(&planted.features)?.n_classes(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelfTraining {
    /// What is done to the features first. Default: standardize.
    pub scaling: Scaling,
    /// The label model whose labels the classifier starts from; one that reads votes alone. Default: majority-vote.
    pub label_model: String,
    /// Epochs on the label model's labels. Default: 5.
    pub n_first_epochs: usize,
    /// Epochs between new targets. Default: 1.
    pub refresh_every: usize,
    /// The power that sharpens predictions. Default: 2.
    pub power: f64,
    /// Whether predictions of common classes are sharpened less, as COSINE does. Default: no.
    pub balanced: bool,
    /// λ, the weight of the distance from the uniform distribution. Default: 0.1.
    pub uniform_weight: f64,
    /// The classifier, and the number of all epochs. Default: the end model's.
    pub perceptron: MultilayerPerceptron,
}

impl Default for SelfTraining {
    fn default() -> Self {
        Self {
            scaling: Scaling::default(),
            label_model: "majority-vote".to_owned(),
            n_first_epochs: 5,
            refresh_every: 1,
            power: 2.0,
            balanced: false,
            uniform_weight: 0.1,
            perceptron: MultilayerPerceptron::default(),
        }
    }
}

impl SelfTraining {
    /// Trains on features and votes.
    pub fn fit(&self, features: &Features, signals: &WeakSignals) -> Result<ScaledPerceptron> {
        check_at_least_one(&[("n_first_epochs", self.n_first_epochs), ("refresh_every", self.refresh_every)])?;
        check_positive(&[("power", self.power)])?;
        check_not_negative(&[("uniform_weight", self.uniform_weight)])?;
        self.perceptron.check()?;
        let label_model = AnyLabelModel::from_name(&self.label_model)?;
        let (scaler, scaled) = scaled(self.scaling, features, signals)?;
        let fitted = label_model.fit(signals, &KnownOfLabelers::default())?;
        let first = fitted.predict_proba(signals)?.values().mapv(|p| p as f32);
        let mut training = Training::new(&self.perceptron, &scaled, signals.n_classes());
        let n_epochs = self.perceptron.n_epochs;
        for _ in 0..self.n_first_epochs.min(n_epochs) {
            training.epoch_of(signals.covered_rows(), |rows, _| first.select(Axis(0), rows))?;
        }
        let mut targets = Array2::zeros((0, 0));
        for epoch in 0..n_epochs.saturating_sub(self.n_first_epochs) {
            if epoch % self.refresh_every == 0 {
                targets = self.targets(training.predict().view());
            }
            training.epoch(targets.view())?;
        }
        Ok(ScaledPerceptron { scaler, perceptron: training.finish() })
    }

    /// w_i (t_i + λ u): both losses are cross-entropies, up to a constant.
    fn targets(&self, p: ArrayView2<'_, f64>) -> Array2<f64> {
        let n_classes = p.ncols() as f64;
        let shares = p.mean_axis(Axis(0)).expect("there are rows");
        let mut targets = p.mapv(|p| p.powf(self.power));
        if self.balanced {
            targets /= &shares.mapv(|share| share.max(f64::MIN_POSITIVE));
        }
        for mut target in targets.rows_mut() {
            target /= target.sum().max(f64::MIN_POSITIVE);
            let entropy: f64 = target.iter().filter(|&&t| t > 0.0).map(|t| -t * t.ln()).sum();
            let weight = (1.0 - entropy / n_classes.ln()).clamp(0.0, 1.0);
            target.mapv_inplace(|t| weight * (t + self.uniform_weight / n_classes));
        }
        targets
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::baselines::one_stage::testing::{Halves, check_votes_are_needed, quick};

    fn small() -> SelfTraining {
        SelfTraining { perceptron: quick(), ..SelfTraining::default() }
    }

    #[test]
    fn held_back_rows_are_classified_better_than_by_votes() {
        for (n_classes, label_model) in [(2, "auto"), (3, "majority-vote")] {
            let halves = Halves::new(n_classes);
            let settings = SelfTraining { label_model: label_model.to_owned(), ..small() };
            let fitted = settings.fit(&halves.features, &halves.signals).unwrap();
            halves.check(&fitted);
            assert_eq!(fitted, settings.fit(&halves.features, &halves.signals).unwrap());
        }
    }

    #[test]
    fn targets_are_sharper_and_weighted_by_confidence() {
        let settings = SelfTraining { uniform_weight: 0.0, ..small() };
        let targets = settings.targets(array![[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]].view());
        assert!(targets.row(0).sum().abs() < 1e-12, "nothing is known of the first row");
        assert_eq!(targets.row(1), array![1.0, 0.0]);
        let weight = 1.0 + (0.1 * 0.1_f64.ln() + 0.9 * 0.9_f64.ln()) / 2_f64.ln();
        assert!((targets[[2, 1]] - 0.9 * weight).abs() < 1e-12);
        let uniform = SelfTraining { uniform_weight: 0.2, ..small() }.targets(array![[1.0, 0.0]].view());
        assert!((uniform[[0, 1]] - 0.1).abs() < 1e-12);
    }

    #[test]
    fn bad_settings_and_missing_votes_are_errors() {
        let halves = Halves::new(2);
        let bad = |change: fn(&mut SelfTraining)| {
            let mut settings = small();
            change(&mut settings);
            settings.fit(&halves.features, &halves.signals).unwrap_err().to_string()
        };
        assert!(bad(|settings| settings.n_first_epochs = 0).starts_with("n_first_epochs"));
        assert!(bad(|settings| settings.refresh_every = 0).starts_with("refresh_every"));
        assert!(bad(|settings| settings.power = 0.0).starts_with("power"));
        assert!(bad(|settings| settings.uniform_weight = f64::NAN).starts_with("uniform_weight"));
        assert!(bad(|settings| settings.label_model = "oracle".to_owned()).contains("oracle"));
        assert!(bad(|settings| settings.label_model = "constrained-labels".to_owned()).contains("bounds"));
        check_votes_are_needed(|features, signals| small().fit(features, signals));
    }
}
