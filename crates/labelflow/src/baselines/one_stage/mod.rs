//! One stage: a classifier that learns from features and votes together, without a label model before it.

mod denoise;
mod labeler_attention;
mod losses_over_labels;
mod principal_axes;
mod self_training;
mod weanf;
mod weasel;

use labelflow_weak::linear::Scaler;
use labelflow_weak::rows::Features;
use labelflow_weak::settings::check_rows;
use labelflow_weak::votes::WeakSignals;

pub use denoise::Denoise;
pub use losses_over_labels::LossesOverLabels;
pub use self_training::SelfTraining;
pub use weanf::{FittedWeanf, Weanf};
pub use weasel::Weasel;

use crate::Result;
use crate::learners::{Scaling, scale};

/// Features as a learner sees them, of rows that have votes, and what was done to them.
fn scaled(scaling: Scaling, features: &Features, signals: &WeakSignals) -> Result<(Option<Scaler>, Features)> {
    check_rows("signals", signals.n_rows(), features.n_rows(), "the features have")?;
    signals.check_any_vote()?;
    let scaler = scaling.fit(features)?;
    let scaled = features.with_values(scale(scaler.as_ref(), features)?)?;
    Ok((scaler, scaled))
}

#[cfg(test)]
mod testing {
    //! What the tests of all learners here share.

    use labelflow_data::synthetic::{PlantedGaussian, PlantedGaussianProblem};
    use labelflow_weak::rows::Truth;
    use labelflow_weak::votes::{ABSTAIN, Votes};
    use ndarray::Array2;

    use super::*;
    use crate::baselines::{HiddenLayer, MultilayerPerceptron};
    use crate::learners::Classifier;

    /// A planted problem in two halves.
    pub(super) struct Halves {
        pub(super) features: Features,
        pub(super) signals: WeakSignals,
        held_back: PlantedGaussianProblem,
    }

    impl Halves {
        pub(super) fn new(n_classes: usize) -> Self {
            let planted = PlantedGaussian { n_rows: 1200, n_classes, ..PlantedGaussian::default() }.generate().unwrap();
            let part = |rows: std::ops::Range<usize>| {
                let rows: Vec<usize> = rows.collect();
                (
                    planted.features.select_rows(&rows),
                    planted.signals.select_rows(&rows),
                    planted.truth.select_rows(&rows),
                )
            };
            let (features, signals, _) = part(0..600);
            let (others, votes, truth) = part(600..1200);
            let held_back = PlantedGaussianProblem { features: others, signals: votes, truth, ..planted };
            Self { features, signals, held_back }
        }

        /// Checks that held-back rows are classified better than by a majority vote on them, and nearly as well as possible.
        pub(super) fn check(&self, fitted: &dyn Classifier) {
            let Self { held_back, .. } = self;
            let truth: &Truth = &held_back.truth;
            let voted = truth.accuracy(&majority(&held_back.signals));
            let found = truth.accuracy(&fitted.predict(&held_back.features).unwrap());
            assert!(found > voted + 0.08, "{found} where votes have {voted}");
            assert!(found > held_back.best_accuracy - 0.08, "{found} of {}", held_back.best_accuracy);
        }
    }

    /// The class with most votes of each row, the lowest of several.
    pub(super) fn majority(signals: &WeakSignals) -> Vec<usize> {
        let row_majority = |row: usize| {
            let mut counts = vec![0; signals.n_classes()];
            (0..signals.n_signals()).filter_map(|signal| signals.vote(row, signal)).for_each(|vote| counts[vote] += 1);
            (0..counts.len()).rev().max_by_key(|&class| counts[class]).unwrap()
        };
        (0..signals.n_rows()).map(row_majority).collect()
    }

    /// A small perceptron for a few epochs.
    pub(super) fn quick() -> MultilayerPerceptron {
        MultilayerPerceptron {
            hidden: vec![HiddenLayer { width: 16, dropout: 0.2 }],
            learning_rate: 1e-2,
            n_epochs: 10,
            ..MultilayerPerceptron::default()
        }
    }

    /// Checks that a learner refuses rows without any vote and signals of other rows, and that one vote is enough.
    pub(super) fn check_votes_are_needed<F: Classifier>(fit: impl Fn(&Features, &WeakSignals) -> Result<F>) {
        let features = Features::new(Array2::from_shape_fn((6, 2), |(i, j)| (i * (j + 1)) as f32)).unwrap();
        let votes = |vote: u8| {
            let bytes = Array2::from_shape_fn((6, 2), |(i, j)| if (i, j) == (2, 1) { vote } else { ABSTAIN });
            WeakSignals::from_votes(Votes::from_bytes(bytes, 3).unwrap()).unwrap()
        };
        let error = fit(&features, &votes(ABSTAIN)).err().unwrap().to_string();
        assert!(error.contains("at least one vote"), "{error}");
        let error = fit(&features.select_rows(&[0, 1]), &votes(1)).err().unwrap().to_string();
        assert!(error.contains("2 rows"), "{error}");
        let p = fit(&features, &votes(1)).unwrap().predict_proba(&features).unwrap();
        assert!(p.values().iter().all(|p| (0.0..=1.0).contains(p)));
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::testing::{Halves, quick};
    use super::*;
    use crate::baselines::MultilayerPerceptron;
    use crate::learners::Classifier;

    #[test]
    fn the_same_seed_gives_the_same_result_whatever_the_number_of_threads() {
        let halves = Halves::new(3);
        let perceptron = || MultilayerPerceptron { n_epochs: 3, ..quick() };
        let fit = |method: usize| -> Box<dyn Classifier + Send> {
            let (features, signals) = (&halves.features, &halves.signals);
            match method {
                0 => Box::new(Weasel { perceptron: perceptron(), ..Weasel::default() }.fit(features, signals).unwrap()),
                1 => {
                    let losses = LossesOverLabels { perceptron: perceptron(), ..LossesOverLabels::default() };
                    Box::new(losses.fit(features, signals).unwrap())
                }
                2 => {
                    Box::new(Denoise { perceptron: perceptron(), ..Denoise::default() }.fit(features, signals).unwrap())
                }
                3 => {
                    let training =
                        SelfTraining { perceptron: perceptron(), n_first_epochs: 1, ..SelfTraining::default() };
                    Box::new(training.fit(features, signals).unwrap())
                }
                _ => Box::new(Weanf { n_axes: 4, n_epochs: 3, ..Weanf::default() }.fit(features, signals).unwrap()),
            }
        };
        for method in 0..5 {
            let with_threads = |n_threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                pool.install(|| fit(method).predict_proba(&halves.features).unwrap())
            };
            assert_eq!(with_threads(1), with_threads(3), "method {method}");
        }
    }

    #[test]
    fn settings_have_defaults_and_misspelt_ones_are_errors() {
        fn check<S: Serialize + DeserializeOwned + Default + PartialEq + std::fmt::Debug>() {
            assert_eq!(toml::from_str::<S>("").unwrap(), S::default());
            let text = toml::to_string(&S::default()).unwrap();
            assert_eq!(toml::from_str::<S>(&text).unwrap(), S::default());
            assert!(toml::from_str::<S>("no_such = 1").is_err());
        }
        check::<Weasel>();
        check::<LossesOverLabels>();
        check::<Denoise>();
        check::<SelfTraining>();
        check::<Weanf>();
    }
}
