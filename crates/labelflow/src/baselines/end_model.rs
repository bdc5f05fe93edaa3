//! The second stage of two-stage systems: a classifier on features, trained on labels that somebody else made.

use labelflow_weak::linear::{FittedLogisticRegression, LogisticRegression};
use labelflow_weak::rows::{Features, SoftLabels};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::multilayer_perceptron::check_label_rows;
use crate::baselines::{FittedMultilayerPerceptron, MultilayerPerceptron};
use crate::learners::{Classifier, impl_classifier};
use crate::{Error, Result};

/// The choice of a classifier on features.
///
/// ```
/// use labelflow::baselines::EndModel;
/// use labelflow::Features;
/// use labelflow::rows::SoftLabels;
/// use ndarray::array;
///
/// let features = Features::new(array![[-2.0], [-1.0], [1.0], [2.0]])?;
/// let labels = SoftLabels::new(array![[1.0, 0.0], [0.8, 0.2], [0.3, 0.7], [0.0, 1.0]])?;
/// let fitted = EndModel::preset("logistic-regression")?.fit(&features, &labels)?;
/// assert_eq!(fitted.predict_proba(&features)?.argmax(), [0, 0, 1, 1]);
/// # Ok::<(), labelflow::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EndModel {
    /// A multilayer perceptron, on soft or hard labels.
    MultilayerPerceptron(MultilayerPerceptron),
    /// A logistic regression, on the most probable class of each row.
    LogisticRegression(LogisticRegression),
}

impl Default for EndModel {
    fn default() -> Self {
        Self::MultilayerPerceptron(MultilayerPerceptron::default())
    }
}

impl EndModel {
    /// The names that [`preset`](Self::preset) knows.
    pub const PRESETS: [&str; 4] = ["mlp", "mlp-cll-public", "mlp-llf-1hidden", "logistic-regression"];

    /// A choice by its name: `mlp` (the default), `mlp-cll-public`
    /// ([the code of constrained label learning](MultilayerPerceptron::constrained_label_learning)),
    /// `mlp-llf-1hidden` ([one hidden layer](MultilayerPerceptron::one_hidden_layer)) or `logistic-regression`.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "mlp" => Ok(Self::default()),
            "mlp-cll-public" => Ok(Self::MultilayerPerceptron(MultilayerPerceptron::constrained_label_learning())),
            "mlp-llf-1hidden" => Ok(Self::MultilayerPerceptron(MultilayerPerceptron::one_hidden_layer())),
            "logistic-regression" => Ok(Self::LogisticRegression(LogisticRegression::default())),
            _ => Err(Error::config("end_model", Self::PRESETS.join(", "), format!("'{name}'"))),
        }
    }

    /// The same choice with another seed. A logistic regression has none.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        if let Self::MultilayerPerceptron(perceptron) = &mut self {
            perceptron.seed = seed;
        }
        self
    }

    /// Trains on features and the probabilities of their classes.
    pub fn fit(&self, features: &Features, labels: &SoftLabels) -> Result<FittedEndModel> {
        check_label_rows(features, labels)?;
        Ok(match self {
            Self::MultilayerPerceptron(perceptron) => {
                FittedEndModel::MultilayerPerceptron(perceptron.fit(features, labels)?)
            }
            Self::LogisticRegression(regression) => {
                let (classes, n_classes) = (labels.argmax(), labels.n_classes());
                let fitted = regression.fit_features(features, &classes, n_classes)?;
                FittedEndModel::LogisticRegression(fitted)
            }
        })
    }
}

/// A trained classifier on features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FittedEndModel {
    /// A multilayer perceptron.
    MultilayerPerceptron(FittedMultilayerPerceptron),
    /// A logistic regression.
    LogisticRegression(FittedLogisticRegression),
}

impl FittedEndModel {
    /// The probability of each class for each row.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        self.classifier().predict_proba(features)
    }

    fn classifier(&self) -> &dyn Classifier {
        match self {
            Self::MultilayerPerceptron(fitted) => fitted,
            Self::LogisticRegression(fitted) => fitted,
        }
    }
}

impl_classifier!(FittedEndModel, |model| model.classifier().d_features(), model.classifier().n_classes());

/// Labels without doubt.
///
/// # Panics
///
/// If a class is not below `n_classes`.
pub(crate) fn one_hot(classes: &[usize], n_classes: usize) -> SoftLabels {
    let mut labels = Array2::zeros((classes.len(), n_classes));
    classes.iter().enumerate().for_each(|(row, &class)| labels[[row, class]] = 1.0);
    SoftLabels::normalized(labels)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::baselines::{HiddenLayer, Optimizer};

    fn problem() -> (Features, SoftLabels) {
        let features = Features::new(array![[-2.0], [-1.0], [1.0], [2.0]]).unwrap();
        (features, one_hot(&[0, 0, 1, 1], 2))
    }

    #[test]
    fn presets_have_the_layers_of_their_sources() {
        let layers = |name: &str| match EndModel::preset(name).unwrap() {
            EndModel::MultilayerPerceptron(model) => {
                let layers = model.hidden.iter().map(|layer| (layer.width, layer.dropout));
                (layers.collect::<Vec<_>>(), model.optimizer)
            }
            EndModel::LogisticRegression(_) => (Vec::new(), Optimizer::Adam),
        };
        assert_eq!(layers("mlp"), (vec![(512, 0.0), (512, 0.2)], Optimizer::Adam));
        let public = vec![(512, 0.0), (256, 0.2), (64, 0.0)];
        assert_eq!(layers("mlp-cll-public"), (public, Optimizer::Adagrad));
        assert_eq!(layers("mlp-llf-1hidden"), (vec![(512, 0.0)], Optimizer::Adam));
        assert!(EndModel::PRESETS.iter().all(|name| EndModel::preset(name).is_ok()));
        let error = EndModel::preset("forest").unwrap_err().to_string();
        assert!(error.starts_with("end_model: expected mlp, mlp-cll-public"), "{error}");
    }

    #[test]
    fn settings_are_read_from_toml_and_unknown_ones_are_refused() {
        let text = "kind = \"multilayer-perceptron\"\nn_epochs = 3\nhidden = [{ width = 8 }]\n";
        let EndModel::MultilayerPerceptron(model) = toml::from_str(text).unwrap() else {
            panic!("the kind is named");
        };
        let hidden = vec![HiddenLayer { width: 8, dropout: 0.0 }];
        assert_eq!(model, MultilayerPerceptron { n_epochs: 3, hidden, ..MultilayerPerceptron::default() });
        for preset in EndModel::PRESETS {
            let model = EndModel::preset(preset).unwrap();
            let text = toml::to_string(&model).unwrap();
            assert_eq!(toml::from_str::<EndModel>(&text).unwrap(), model);
        }
        assert!(toml::from_str::<EndModel>("kind = \"multilayer-perceptron\"\nepochs = 3").is_err());
    }

    #[test]
    fn both_kinds_learn_and_are_stored() {
        let (features, labels) = problem();
        let perceptron = MultilayerPerceptron {
            hidden: vec![HiddenLayer { width: 8, dropout: 0.0 }],
            learning_rate: 0.05,
            ..MultilayerPerceptron::default()
        };
        let models = [EndModel::MultilayerPerceptron(perceptron), EndModel::preset("logistic-regression").unwrap()];
        for model in models {
            let fitted = model.fit(&features, &labels).unwrap();
            let p = fitted.predict_proba(&features).unwrap();
            assert_eq!(p.argmax(), [0, 0, 1, 1]);
            let text = serde_json::to_string(&fitted).unwrap();
            let read: FittedEndModel = serde_json::from_str(&text).unwrap();
            assert_eq!(read.predict_proba(&features).unwrap(), p);
            assert!(model.fit(&features.select_rows(&[0]), &labels).is_err());
        }
    }
}
