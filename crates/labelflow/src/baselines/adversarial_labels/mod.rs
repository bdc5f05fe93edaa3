//! ALL, adversarial label learning: a classifier that does well on the worst labels that the bounds allow.
//!
//! ```text
//! min over the classifier p, max over labels y in [0, 1]:   mean of p (1 − y) + (1 − p) y
//! such that each labeler j's mean of q_j (1 − y) + (1 − q_j) y is at most its bound b_j
//! ```
//!
//! There are two forms. The [linear one](LinearAdversary) is for two classes and labelers that never abstain; the
//! [other one](NetworkAdversary) trains a network, and takes any number of classes, abstentions and constraints on the
//! precision of votes.

mod linear;
mod network;

use labelflow_weak::StopReason;
use labelflow_weak::rows::{Features, SoftLabels, WeakDataset};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use linear::{LinearAdversary, PenaltyGradient};
pub use network::{AdversaryLoss, NetworkAdversary};

use super::linear_classifier::LinearClassifier;
use crate::baselines::ScaledPerceptron;
use crate::learners::{Classifier, Scaling, impl_classifier, scale};
use crate::{Error, Result};

/// Settings of adversarial label learning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdversarialLabels {
    /// The form. Default: automatic.
    pub form: AdversarialForm,
    /// What is done to the features first. Default: standardize.
    pub scaling: Scaling,
    /// Settings of the linear form.
    pub linear: LinearAdversary,
    /// Settings of the form with a network.
    pub network: NetworkAdversary,
}

/// Which of the two forms is fitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdversarialForm {
    /// Linear for two classes without abstentions, the network otherwise.
    #[default]
    Automatic,
    /// A logistic classifier without intercept; two classes, no abstentions.
    Linear,
    /// A multilayer perceptron.
    Network,
}

impl AdversarialLabels {
    /// Trains on a dataset.
    pub fn fit(&self, dataset: &WeakDataset) -> Result<FittedAdversarialLabels> {
        if self.is_linear(dataset)? { self.fit_linear(dataset) } else { self.fit_network(dataset, None) }
    }

    /// Trains the form with a network on a dataset and on how precise votes are at least: of the probability that
    /// labeler j gives to class c, `precisions[[j, c]]` is on rows of that class. NaN where nothing is known.
    pub fn fit_with_precisions(
        &self,
        dataset: &WeakDataset,
        precisions: ArrayView2<'_, f64>,
    ) -> Result<FittedAdversarialLabels> {
        if self.form == AdversarialForm::Linear {
            return Err(Error::config("form", "network, for constraints on precision", "linear"));
        }
        let shape = (dataset.signals().n_signals(), dataset.n_classes());
        if precisions.dim() != shape {
            let shown = |(labelers, classes)| format!("{labelers} labelers and {classes} classes");
            return Err(Error::data("precisions", shown(shape), shown(precisions.dim())));
        }
        let invalid = |p: &f64| !p.is_nan() && !(0.0..=1.0).contains(p);
        if let Some(((signal, class), p)) = precisions.indexed_iter().find(|(_, p)| invalid(p)) {
            let place = format!("precisions, labeler {signal}, class {class}");
            return Err(Error::data(place, "a share from 0 to 1", p));
        }
        self.fit_network(dataset, Some(precisions))
    }

    fn is_linear(&self, dataset: &WeakDataset) -> Result<bool> {
        let two_classes = dataset.n_classes() == 2;
        match self.form {
            AdversarialForm::Network => Ok(false),
            AdversarialForm::Automatic => Ok(two_classes && first_abstention(dataset).is_none()),
            AdversarialForm::Linear => {
                let found = match first_abstention(dataset) {
                    _ if !two_classes => format!("{} classes", dataset.n_classes()),
                    Some((row, signal)) => {
                        format!("an abstention of labeler {signal} on row {row}")
                    }
                    None => return Ok(true),
                };
                let expected = "two classes and no abstentions, for the linear form";
                Err(Error::data("signals", expected, found))
            }
        }
    }

    fn fit_linear(&self, dataset: &WeakDataset) -> Result<FittedAdversarialLabels> {
        let scaler = self.scaling.fit(dataset.features())?;
        let scaled = scale(scaler.as_ref(), dataset.features())?;
        let (weights, stop) = self.linear.fit(scaled, dataset)?;
        let classifier = LinearClassifier::new(dataset.features(), 2, scaler, weights);
        Ok(FittedAdversarialLabels(Form::Linear { classifier, stop }))
    }

    fn fit_network(
        &self,
        dataset: &WeakDataset,
        precisions: Option<ArrayView2<'_, f64>>,
    ) -> Result<FittedAdversarialLabels> {
        let scaler = self.scaling.fit(dataset.features())?;
        let scaled = dataset.features().with_values(scale(scaler.as_ref(), dataset.features())?)?;
        let perceptron = self.network.fit(&scaled, dataset, precisions)?;
        Ok(FittedAdversarialLabels(Form::Network(ScaledPerceptron { scaler, perceptron })))
    }
}

/// The first row and labeler without an opinion.
fn first_abstention(dataset: &WeakDataset) -> Option<(usize, usize)> {
    let signals = dataset.signals();
    let is_silent = |&(row, signal): &(usize, usize)| match signals.n_classes() {
        2 => signals.class1_probability(row, signal).is_none(),
        _ => signals.vote(row, signal).is_none(),
    };
    let n_signals = signals.n_signals();
    (0..signals.n_rows()).flat_map(|row| (0..n_signals).map(move |signal| (row, signal))).find(is_silent)
}

/// A classifier on features that was trained against an adversary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedAdversarialLabels(Form);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Linear { classifier: LinearClassifier, stop: StopReason },
    Network(ScaledPerceptron),
}

impl FittedAdversarialLabels {
    /// The probability of each class for each row.
    pub fn predict_proba(&self, features: &Features) -> Result<SoftLabels> {
        match &self.0 {
            Form::Linear { classifier, .. } => classifier.predict_proba(features),
            Form::Network(network) => network.predict_proba(features),
        }
    }

    /// The weights of the linear form, or nothing.
    pub fn weights(&self) -> Option<Vec<f64>> {
        let Form::Linear { classifier, .. } = &self.0 else { return None };
        Some(classifier.weights().row(0).to_vec())
    }

    /// Why the linear form ended, or nothing: the other one always runs for all its epochs.
    pub fn stop(&self) -> Option<StopReason> {
        let Form::Linear { stop, .. } = &self.0 else { return None };
        Some(*stop)
    }

    fn classifier(&self) -> &dyn Classifier {
        match &self.0 {
            Form::Linear { classifier, .. } => classifier,
            Form::Network(network) => network,
        }
    }
}

impl_classifier!(FittedAdversarialLabels, |model| model.classifier().d_features(), model.classifier().n_classes());

#[cfg(test)]
mod tests {
    use labelflow_data::catalog::{BoundsFrom, embedded, simulate};
    use labelflow_data::synthetic::PlantedGaussian;
    use labelflow_weak::labelers::Bounds;
    use labelflow_weak::rows::Truth;
    use labelflow_weak::votes::{Votes, WeakSignals};
    use ndarray::{Array2, array};

    use super::*;
    use crate::baselines::{HiddenLayer, MultilayerPerceptron};

    /// Settings whose network is small.
    fn quick() -> AdversarialLabels {
        let perceptron = MultilayerPerceptron {
            hidden: vec![HiddenLayer { width: 16, dropout: 0.2 }],
            learning_rate: 1e-2,
            ..MultilayerPerceptron::default()
        };
        AdversarialLabels {
            linear: LinearAdversary { max_iterations: 300, ..LinearAdversary::default() },
            network: NetworkAdversary { perceptron, ..NetworkAdversary::default() },
            ..AdversarialLabels::default()
        }
    }

    fn planted(n_classes: usize, coverage: f64) -> (WeakDataset, Truth, f64) {
        let planted = PlantedGaussian {
            n_rows: 900,
            n_classes,
            coverage: (coverage, coverage),
            accuracy: (0.7, 0.8),
            ..PlantedGaussian::default()
        };
        let planted = planted.generate().unwrap();
        let bounds = Bounds::measured(&planted.signals, &planted.truth).unwrap();
        let dataset = WeakDataset::new(planted.features, planted.signals, bounds).unwrap();
        (dataset, planted.truth, planted.best_accuracy)
    }

    fn rows(dataset: &WeakDataset, rows: &[usize], signals: &[usize]) -> WeakDataset {
        let of = dataset.signals().votes();
        let bytes = Array2::from_shape_fn((rows.len(), signals.len()), |(row, signal)| {
            of.bytes()[[rows[row], signals[signal]]]
        });
        let votes = Votes::from_bytes(bytes, dataset.n_classes()).unwrap();
        let bounds = dataset.bounds().values().select(ndarray::Axis(0), signals);
        WeakDataset::new(
            dataset.features().select_rows(rows),
            WeakSignals::from_votes(votes).unwrap(),
            Bounds::new(bounds).unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn planted_classes_are_found_in_every_form() {
        for (n_classes, coverage) in [(2, 1.0), (2, 0.6), (3, 0.6)] {
            let (dataset, truth, best) = planted(n_classes, coverage);
            let fitted = quick().fit(&dataset).unwrap();
            let is_linear = (n_classes, coverage) == (2, 1.0);
            assert_eq!(fitted.weights().is_some(), is_linear);
            assert_eq!(fitted.stop(), is_linear.then_some(StopReason::MaxIterations));
            let found = fitted.predict_proba(dataset.features()).unwrap().argmax();
            let accuracy = truth.accuracy(&found);
            assert!(accuracy > best - 0.06, "{n_classes} classes, {coverage}: {accuracy}");
        }
    }

    #[test]
    fn the_order_of_rows_and_labelers_does_not_matter_to_the_linear_form() {
        let (dataset, _, _) = planted(2, 1.0);
        let reversed: Vec<usize> = (0..900).rev().collect();
        let permuted = rows(&dataset, &reversed, &[4, 2, 0, 1, 3]);
        let weights = |dataset| quick().fit(dataset).unwrap().weights().unwrap();
        for (one, other) in weights(&dataset).iter().zip(weights(&permuted)) {
            assert!((one - other).abs() < 1e-5 * one.abs().max(1e-3), "{one} and {other}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_result_whatever_the_number_of_threads() {
        for coverage in [1.0, 0.6] {
            let (dataset, _, _) = planted(2, coverage);
            let with_threads = |n_threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                let mut settings = quick();
                settings.network.perceptron.n_epochs = 3;
                pool.install(|| settings.fit(&dataset).unwrap())
            };
            assert_eq!(with_threads(1), with_threads(3));
        }
    }

    #[test]
    fn the_linear_form_refuses_abstentions_and_more_classes() {
        let linear = AdversarialLabels { form: AdversarialForm::Linear, ..quick() };
        let error = linear.fit(&planted(2, 0.5).0).unwrap_err().to_string();
        assert!(error.contains("no abstentions") && error.contains("labeler"), "{error}");
        let error = linear.fit(&planted(3, 1.0).0).unwrap_err().to_string();
        assert!(error.contains("found 3 classes"), "{error}");
        let (dataset, _, _) = planted(2, 1.0);
        let precisions = Array2::from_elem((5, 2), 0.7);
        assert!(linear.fit_with_precisions(&dataset, precisions.view()).is_err());
        assert!(linear.fit(&dataset).is_ok());
    }

    #[test]
    fn precisions_are_checked_and_used() {
        let (dataset, truth, best) = planted(3, 0.6);
        let wrong = Array2::from_elem((5, 2), 0.7);
        assert!(quick().fit_with_precisions(&dataset, wrong.view()).is_err());
        let mut precisions = Array2::from_elem((5, 3), 0.7);
        precisions[[2, 1]] = 1.5;
        let error = quick().fit_with_precisions(&dataset, precisions.view()).unwrap_err();
        assert!(error.to_string().starts_with("precisions, labeler 2, class 1"), "{error}");
        precisions[[2, 1]] = f64::NAN;
        let fitted = quick().fit_with_precisions(&dataset, precisions.view()).unwrap();
        let found = fitted.predict_proba(dataset.features()).unwrap().argmax();
        assert!(truth.accuracy(&found) > best - 0.06);
    }

    #[test]
    fn bad_settings_are_errors() {
        let (dataset, _, _) = planted(2, 1.0);
        let bad = |change: fn(&mut AdversarialLabels)| {
            let mut settings = quick();
            change(&mut settings);
            settings.fit(&dataset).unwrap_err().to_string()
        };
        assert!(bad(|s| s.linear.max_iterations = 0).starts_with("max_iterations"));
        assert!(bad(|s| s.linear.learning_rate = 0.0).starts_with("learning_rate"));
        assert!(bad(|s| s.linear.penalty = f64::INFINITY).starts_with("penalty"));
        assert!(bad(|s| s.linear.tolerance = f64::NAN).starts_with("tolerance"));
        let mut settings = AdversarialLabels { form: AdversarialForm::Network, ..quick() };
        settings.network.penalty = -1.0;
        assert!(settings.fit(&dataset).unwrap_err().to_string().starts_with("penalty"));
        let fitted = quick().fit(&dataset).unwrap();
        let narrow = Features::new(array![[1.0]]).unwrap();
        assert!(fitted.predict_proba(&narrow).is_err());
    }

    #[test]
    fn one_row_equal_votes_and_near_silence_give_probabilities() {
        for votes in [array![[1, 1]], array![[1, 1], [1, 1], [1, 1]], array![[-1, -1], [1, -1]]] {
            let signals = Votes::from_indices(votes.view(), Some(2)).unwrap();
            let signals = WeakSignals::from_votes(signals).unwrap();
            let bounds = Bounds::constant(0.1, &signals).unwrap();
            let x = Array2::from_shape_fn((votes.nrows(), 2), |(i, j)| (i + j) as f32);
            let dataset = WeakDataset::new(Features::new(x).unwrap(), signals, bounds).unwrap();
            for form in [AdversarialForm::Automatic, AdversarialForm::Network] {
                let fitted = AdversarialLabels { form, ..quick() }.fit(&dataset).unwrap();
                let p = fitted.predict_proba(dataset.features()).unwrap();
                assert!(p.values().iter().all(|p| (0.0..=1.0).contains(p)));
            }
        }
    }

    #[test]
    fn settings_are_read_from_toml() {
        let settings = quick();
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<AdversarialLabels>(&text).unwrap(), settings);
        assert_eq!(toml::from_str::<AdversarialLabels>("").unwrap(), AdversarialLabels::default());
        assert!(toml::from_str::<AdversarialLabels>("[linear]\nrho = 2.5").is_err());
    }

    #[test]
    fn both_forms_are_stored() {
        for coverage in [1.0, 0.6] {
            let (dataset, _, _) = planted(2, coverage);
            let fitted = quick().fit(&dataset).unwrap();
            let text = serde_json::to_string(&fitted).unwrap();
            let read: FittedAdversarialLabels = serde_json::from_str(&text).unwrap();
            let features = dataset.features();
            assert_eq!(read.predict_proba(features).unwrap(), fitted.predict_proba(features).unwrap());
        }
    }

    /// An independent program, with other splits, finds 94.2 ± 0.7 % with bounds from the training labels.
    #[test]
    fn breast_cancer_is_classified_as_an_independent_program_does() {
        let settings = AdversarialLabels { scaling: Scaling::None, ..AdversarialLabels::default() };
        let mut sum = 0.0;
        for seed in [0, 10, 100] {
            let table = embedded::breast_cancer();
            let problem = simulate(&table, &[0, 10, 20], seed, BoundsFrom::TrainOracle).unwrap();
            let fitted = settings.fit(&problem.train).unwrap();
            let found = fitted.predict_proba(&problem.test.features).unwrap().argmax();
            sum += problem.test.truth.accuracy(&found);
        }
        let accuracy = 100.0 * sum / 3.0;
        assert!((accuracy - 94.2).abs() < 1.8, "{accuracy}");
    }
}
