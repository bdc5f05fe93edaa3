//! A multilayer perceptron: the classifier of two-stage systems.
//!
//! ```text
//! a₀ = x,   a = dropout(max(0, a W + c)) once per hidden layer,   scores = a W + c,   p = softmax(scores)
//! loss = −mean over the batch of Σ_c y_c log p_c
//! ```
//!
//! Two classes have one score, that of class 1 against class 0, which makes p a logistic function and the loss a
//! Bernoulli likelihood. Labels y may be soft. Weights start as Glorot and Bengio's uniform ones, intercepts at zero.
//!
//! X. Glorot and Y. Bengio, *Understanding the difficulty of training deep feedforward neural networks*, 2010.

use std::borrow::Cow;

use labelflow_weak::checked_when_read;
use labelflow_weak::rows::{Features, SoftLabels};
use labelflow_weak::settings::{check_at_least_one, check_positive, check_rows};
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::network::{Network, NetworkTraining, loss_and_residuals, n_weights};
use crate::evaluation::{n_scores, write_probabilities};
use crate::learners::impl_classifier;
use crate::training::stream;
use crate::{Error, Result};

/// Settings of a multilayer perceptron. Features are taken as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultilayerPerceptron {
    /// Where first weights, order of rows and dropout come from. Default: 0.
    pub seed: u64,
    /// The hidden layers, first to last. Default: two of width 512, the second with dropout 0.2.
    pub hidden: Vec<HiddenLayer>,
    /// What follows the gradient. Default: adam.
    pub optimizer: Optimizer,
    /// Its step size. Default: 1e-3.
    pub learning_rate: f64,
    /// The rows of one step. Default: 32.
    pub batch_size: usize,
    /// Passes over the data, each in a new order. Default: 20.
    pub n_epochs: usize,
}

/// A layer of rectified linear units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HiddenLayer {
    /// Number of units. Default: 512.
    pub width: usize,
    /// The share of units that is silent in a training step; the others speak louder in turn. Default: 0.
    pub dropout: f64,
}

impl Default for HiddenLayer {
    fn default() -> Self {
        Self { width: 512, dropout: 0.0 }
    }
}

/// What follows the gradient.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// [Adam](crate::training::Adam) with its usual constants.
    #[default]
    Adam,
    /// Adagrad: w ← w − lr g / √(Σ g² + 1e-8).
    Adagrad,
}

impl Default for MultilayerPerceptron {
    fn default() -> Self {
        Self {
            seed: 0,
            hidden: vec![HiddenLayer::default(), HiddenLayer { width: 512, dropout: 0.2 }],
            optimizer: Optimizer::Adam,
            learning_rate: 1e-3,
            batch_size: 32,
            n_epochs: 20,
        }
    }
}

impl MultilayerPerceptron {
    /// One hidden layer of 512 units: the other reading of the paper's "two layer MLP".
    pub fn one_hidden_layer() -> Self {
        Self { hidden: vec![HiddenLayer::default()], ..Self::default() }
    }

    /// The network of the published code of constrained label learning: 512, 256 with dropout 0.2, 64, by Adagrad.
    ///
    /// Which version of its library it ran on, hence which step size was the default, is not known; this is 0.01.
    pub fn constrained_label_learning() -> Self {
        let layer = |width, dropout| HiddenLayer { width, dropout };
        Self {
            hidden: vec![layer(512, 0.0), layer(256, 0.2), layer(64, 0.0)],
            optimizer: Optimizer::Adagrad,
            learning_rate: 0.01,
            ..Self::default()
        }
    }

    /// Trains on features and the probabilities of their classes.
    pub fn fit(&self, features: &Features, labels: &SoftLabels) -> Result<FittedMultilayerPerceptron> {
        self.check()?;
        check_label_rows(features, labels)?;
        let mut training = Training::new(self, features, labels.n_classes());
        for _ in 0..self.n_epochs {
            training.epoch(labels.values())?;
        }
        Ok(training.finish())
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_at_least_one(&[("batch_size", self.batch_size), ("n_epochs", self.n_epochs)])?;
        check_positive(&[("learning_rate", self.learning_rate)])?;
        for layer in &self.hidden {
            check_at_least_one(&[("width", layer.width)])?;
            if !(0.0..1.0).contains(&layer.dropout) {
                return Err(Error::config("dropout", "a share from 0 to below 1", layer.dropout));
            }
        }
        Ok(())
    }
}

/// Checks that there is one row of labels for each row of features.
pub(crate) fn check_label_rows(features: &Features, labels: &SoftLabels) -> Result<()> {
    if labels.n_classes() < 2 {
        return Err(Error::data("labels", "at least two classes", labels.n_classes()));
    }
    Ok(check_rows("labels", labels.n_rows(), features.n_rows(), "the features have")?)
}

/// A trained multilayer perceptron.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct FittedMultilayerPerceptron {
    n_classes: usize,
    network: Network<f32>,
    /// Names of the features, if they had names of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature_names: Vec<String>,
    /// The mean loss of each epoch.
    pub losses: Vec<f64>,
}

checked_when_read!(FittedMultilayerPerceptron);

impl FittedMultilayerPerceptron {
    /// Checks what was read.
    fn check(&self) -> Result<()> {
        let Self { n_classes, ref network, .. } = *self;
        let widths = &network.widths;
        let fits = widths.len() >= 2
            && widths.iter().all(|&width| width > 0)
            && n_classes >= 2
            && widths.last() == Some(&n_scores(n_classes))
            && network.weights.len() == n_weights(widths)
            && network.weights.iter().all(|weight| weight.is_finite());
        if fits {
            return Ok(());
        }
        let expected = format!("finite weights of layers that end in {n_classes} classes");
        let found = format!("{} weights of layers {widths:?}", network.weights.len());
        Err(Error::data("stored multilayer perceptron", expected, found))
    }

    /// The probability of each class for each row. A row on which the scores overflow has equally probable classes.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        let features = self.arranged(features)?;
        Ok(SoftLabels::normalized(self.network.predict(features.rounded().view(), self.n_classes)))
    }

    /// The columns that it was trained on, in its order.
    pub(crate) fn arranged<'f>(&self, features: &'f Features) -> Result<Cow<'f, Features>> {
        Ok(features.arranged(&self.feature_names, self.network.widths[0])?)
    }
}

/// Training in progress, one epoch at a time.
pub(crate) struct Training<'a> {
    config: &'a MultilayerPerceptron,
    features: Array2<f32>,
    feature_names: &'a [String],
    n_classes: usize,
    training: NetworkTraining<'a>,
    losses: Vec<f64>,
}

impl<'a> Training<'a> {
    /// The network before its first epoch. The settings must have been checked.
    pub(crate) fn new(config: &'a MultilayerPerceptron, features: &'a Features, n_classes: usize) -> Self {
        Self {
            config,
            features: features.rounded(),
            feature_names: features.own_names(),
            n_classes,
            training: NetworkTraining::new(config, features.d_features(), n_scores(n_classes), "perceptron weights"),
            losses: Vec::new(),
        }
    }

    /// One pass over all rows in a new order, towards `targets`, `[n_rows, n_classes]`, which need not add up to one.
    pub(crate) fn epoch(&mut self, targets: ArrayView2<'_, f64>) -> Result<()> {
        let rows: Vec<usize> = (0..self.features.nrows()).collect();
        self.epoch_of(rows, |rows, _| targets.select(Axis(0), rows).mapv(|target| target as f32))
    }

    /// One pass over some rows in a new order. What the rows of a batch are to have, `[n_batch, n_classes]`, is asked for when it is
    /// their turn, and the answer may depend on the probabilities that they have now.
    pub(crate) fn epoch_of(
        &mut self,
        mut order: Vec<usize>,
        mut targets: impl FnMut(&[usize], ArrayView2<'_, f32>) -> Array2<f32>,
    ) -> Result<()> {
        let epoch = self.losses.len();
        order.shuffle(&mut stream(self.config.seed, "perceptron rows", epoch as u64));
        let mut dropout = stream(self.config.seed, "perceptron dropout", epoch as u64);
        let mut loss = 0.0;
        for rows in order.chunks(self.config.batch_size) {
            let input = self.features.select(Axis(0), rows);
            let (pass, mut scores) = self.training.forward(input, &mut dropout);
            let targets = targets(rows, probabilities(scores.view(), self.n_classes).view());
            let batch_loss = loss_and_residuals(scores.view_mut(), targets.view());
            loss += f64::from(batch_loss) * rows.len() as f64 / order.len() as f64;
            self.training.step(&pass, scores);
        }
        let finite = self.training.is_finite();
        if !(loss.is_finite() && finite) {
            let value = if finite { loss } else { f64::NAN };
            return Err(Error::NotFinite { term: "cross-entropy".to_owned(), value, epoch });
        }
        self.losses.push(loss);
        Ok(())
    }

    /// The probabilities that the network gives to the training rows now.
    pub(crate) fn predict(&self) -> Array2<f64> {
        self.training.network.predict(self.features.view(), self.n_classes)
    }

    /// The network as it is now.
    pub(crate) fn finish(self) -> FittedMultilayerPerceptron {
        let Self { n_classes, training, losses, feature_names, .. } = self;
        let feature_names = feature_names.to_vec();
        FittedMultilayerPerceptron { n_classes, network: training.network, feature_names, losses }
    }
}

/// The probabilities of scores, `[n_rows, n_classes]`.
fn probabilities(scores: ArrayView2<'_, f32>, n_classes: usize) -> Array2<f32> {
    let mut p = Array2::zeros((scores.nrows(), n_classes));
    let mut of_row = vec![0.0; n_classes];
    for (scores, mut p) in scores.rows().into_iter().zip(p.rows_mut()) {
        write_probabilities(&mut of_row, scores.iter().map(|&score| f64::from(score)));
        p.iter_mut().zip(&of_row).for_each(|(p, &of_row)| *p = of_row as f32);
    }
    p
}

impl_classifier!(FittedMultilayerPerceptron, |model| model.network.widths[0], model.n_classes);

#[cfg(test)]
mod tests {
    use ndarray::array;
    use rand::RngExt;

    use super::*;

    fn small() -> MultilayerPerceptron {
        let hidden = vec![HiddenLayer { width: 16, dropout: 0.0 }, HiddenLayer { width: 16, dropout: 0.2 }];
        MultilayerPerceptron { hidden, learning_rate: 1e-2, ..MultilayerPerceptron::default() }
    }

    /// Numbers from −1 to 1 without pattern.
    fn numbers(shape: (usize, usize), seed: u64) -> Array2<f32> {
        let mut rng = stream(seed, "test", 0);
        Array2::from_shape_simple_fn(shape, || 2.0 * rng.random::<f32>() - 1.0)
    }

    /// Two classes that no linear function tells apart: the sign of the product of two features.
    fn product_problem(n_rows: usize) -> (Features, SoftLabels, Vec<usize>) {
        let x = numbers((n_rows, 2), 1);
        let classes: Vec<usize> = x.rows().into_iter().map(|row| usize::from(row[0] * row[1] > 0.0)).collect();
        (Features::new(x).unwrap(), crate::baselines::end_model::one_hot(&classes, 2), classes)
    }

    fn accuracy(found: &[usize], expected: &[usize]) -> f64 {
        let n_right = found.iter().zip(expected).filter(|(found, expected)| found == expected);
        n_right.count() as f64 / expected.len() as f64
    }

    #[test]
    fn what_no_linear_function_can_tell_apart_is_learned() {
        let (features, labels, classes) = product_problem(400);
        for (optimizer, learning_rate) in [(Optimizer::Adam, 1e-2), (Optimizer::Adagrad, 0.1)] {
            let model = MultilayerPerceptron { optimizer, learning_rate, ..small() };
            let fitted = model.fit(&features, &labels).unwrap();
            let found = fitted.predict_proba(&features).unwrap().argmax();
            assert!(accuracy(&found, &classes) > 0.9, "{optimizer:?}");
            let losses = fitted.losses;
            assert!(losses.len() == 20 && losses[19] < 0.6 * losses[0], "{losses:?}");
        }
    }

    #[test]
    fn soft_labels_are_matched() {
        // All rows are alike: the best answer is the mean of their labels.
        let features = Features::new(Array2::<f64>::ones((200, 1))).unwrap();
        for p in [vec![0.3, 0.7], vec![0.5, 0.2, 0.3]] {
            let labels = Array2::from_shape_fn((200, p.len()), |(_, class)| p[class]);
            let fitted = small().fit(&features, &SoftLabels::new(labels).unwrap()).unwrap();
            let found = fitted.predict_proba(&features).unwrap();
            for (found, expected) in found.values().row(0).iter().zip(&p) {
                assert!((found - expected).abs() < 0.03, "{found} and {expected}");
            }
        }
    }

    #[test]
    fn a_seed_means_the_same_network_whatever_the_number_of_threads() {
        let (features, labels, _) = product_problem(300);
        let model = MultilayerPerceptron { n_epochs: 2, ..small() };
        let with_threads = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| {
                let fitted = model.fit(&features, &labels).unwrap();
                (fitted.predict_proba(&features).unwrap(), fitted)
            })
        };
        assert_eq!(with_threads(1), with_threads(3));
        let other = MultilayerPerceptron { seed: 1, ..model.clone() }.fit(&features, &labels);
        assert_ne!(other.unwrap(), with_threads(1).1);
    }

    #[test]
    fn a_row_is_predicted_by_itself() {
        let (features, labels, _) = product_problem(300);
        let fitted = MultilayerPerceptron { n_epochs: 1, ..small() }.fit(&features, &labels);
        let fitted = fitted.unwrap();
        let all = fitted.predict_proba(&features).unwrap();
        for row in [0, 17, 299] {
            let alone = fitted.predict_proba(&features.select_rows(&[row])).unwrap();
            assert_eq!(alone.values().row(0), all.values().row(row));
        }
    }

    #[test]
    fn one_row_and_one_class_are_enough() {
        let features = Features::new(array![[1.0, 2.0]]).unwrap();
        let labels = SoftLabels::new(array![[0.0, 1.0]]).unwrap();
        let fitted = small().fit(&features, &labels).unwrap();
        assert_eq!(fitted.predict_proba(&features).unwrap().argmax(), [1]);
        // No hidden layer at all is a logistic regression.
        let linear = MultilayerPerceptron { hidden: Vec::new(), ..small() };
        assert!(linear.fit(&features, &labels).is_ok());
    }

    #[test]
    fn numbers_that_overflow_are_an_error_in_training_and_no_opinion_in_prediction() {
        let (features, labels, _) = product_problem(40);
        let huge = Features::new(features.values().mapv(|x| 3e38 * x.signum())).unwrap();
        let error = small().fit(&huge, &labels).unwrap_err();
        assert!(error.to_string().contains("cross-entropy"), "{error}");
        let fitted = small().fit(&features, &labels).unwrap();
        let found = fitted.predict_proba(&huge).unwrap();
        assert!(found.values().iter().all(|p| (0.0..=1.0).contains(p)));
    }

    #[test]
    fn bad_settings_and_shapes_are_errors() {
        let (features, labels, _) = product_problem(10);
        let bad = |change: fn(&mut MultilayerPerceptron)| {
            let mut model = small();
            change(&mut model);
            model.fit(&features, &labels).unwrap_err().to_string()
        };
        assert!(bad(|model| model.n_epochs = 0).starts_with("n_epochs"));
        assert!(bad(|model| model.batch_size = 0).starts_with("batch_size"));
        assert!(bad(|model| model.learning_rate = f64::NAN).starts_with("learning_rate"));
        assert!(bad(|model| model.hidden[0].width = 0).starts_with("width"));
        assert!(bad(|model| model.hidden[1].dropout = 1.0).starts_with("dropout"));
        let fewer = features.select_rows(&[0, 1]);
        assert_eq!(
            small().fit(&fewer, &labels).unwrap_err().to_string(),
            "labels: expected 2 rows, as many as the features have, found 10"
        );
        let fitted = small().fit(&features, &labels).unwrap();
        let wide = Features::new(Array2::<f64>::zeros((1, 3))).unwrap();
        assert!(fitted.predict_proba(&wide).is_err());
    }

    #[test]
    fn a_stored_network_is_the_same_and_a_damaged_one_is_an_error() {
        let (features, labels, _) = product_problem(40);
        let fitted = small().fit(&features, &labels).unwrap();
        let text = serde_json::to_string(&fitted).unwrap();
        assert_eq!(serde_json::from_str::<FittedMultilayerPerceptron>(&text).unwrap(), fitted);
        for (from, to) in [("\"n_classes\":2", "\"n_classes\":3"), ("[2,16,16,1]", "[2,16,15,1]")] {
            assert!(text.contains(from), "{from}");
            let damaged = text.replace(from, to);
            assert!(serde_json::from_str::<FittedMultilayerPerceptron>(&damaged).is_err(), "{to}");
        }
    }
}
