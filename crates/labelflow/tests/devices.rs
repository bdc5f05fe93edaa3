//! Training on a GPU ends where training on the CPU ends.
//!
//! The build decides which GPUs there are to try (`make test-devices FEATURES=cuda`). Where the machine has none of them, that is said, and
//! nothing is tried.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use labelflow::training::DeviceKind;

const ALL: [(DeviceKind, bool); 2] =
    [(DeviceKind::Cuda, cfg!(feature = "cuda")), (DeviceKind::Wgpu, cfg!(feature = "wgpu"))];

#[test]
fn a_build_says_which_devices_it_does_not_know() {
    for (device, _) in ALL.into_iter().filter(|(_, is_known)| !is_known) {
        let error = device.open().unwrap_err().to_string();
        assert!(error.contains("built without it"), "{error}");
    }
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod gpus {
    use labelflow::rows::LabelRange;
    use labelflow::rules::{Claim, Rule, RuleDataset};
    use labelflow::training::{BatchSize, DeviceKind};
    use labelflow::{Bounds, Features, WeakDataset};
    use labelflow::{LabelFlowClassifier, LabelFlowRegressor, TrainConfig};
    use labelflow_data::synthetic::{PlantedGaussian, PlantedGaussianProblem};

    /// Ways to train on the GPUs that this build knows and this machine has.
    fn ways() -> Vec<(DeviceKind, TrainConfig)> {
        let known = super::ALL.into_iter().filter_map(|(gpu, is_known)| is_known.then_some(gpu));
        let mut ways = Vec::new();
        for gpu in known {
            if let Err(error) = gpu.open() {
                eprintln!("SKIPPED: {error}");
                continue;
            }
            // Batches of 66 and of 67 rows.
            ways.extend([BatchSize::Full, BatchSize::Rows(70)].map(|batch_size| {
                let start = TrainConfig { max_epochs: 20, learning_rate: 5e-3, ..Default::default() };
                (gpu, TrainConfig { batch_size, ..start })
            }));
        }
        ways
    }

    fn problem() -> PlantedGaussianProblem {
        PlantedGaussian { n_rows: 200, n_classes: 3, seed: 3, ..PlantedGaussian::default() }.generate().unwrap()
    }

    fn worst_difference<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)>) -> f64 {
        pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_classifier_ends_where_that_of_the_cpu_ends() {
        let PlantedGaussianProblem { features, signals, truth, .. } = problem();
        let bounds = Bounds::measured(&signals, &truth).unwrap();
        let dataset = WeakDataset::new(features, signals, bounds).unwrap();
        for (gpu, training) in ways() {
            let [expected, found] = [DeviceKind::Cpu, gpu].map(|device| {
                let training = training.clone();
                let small = LabelFlowClassifier { n_steps: 2, d_hidden: 8, ..Default::default() };
                let model = LabelFlowClassifier { device, training, ..small }.fit(&dataset);
                model.unwrap().predict_proba(dataset.features()).unwrap()
            });
            let worst = worst_difference(expected.values().iter().zip(found.values().iter()));
            assert!(worst < 1e-2, "{gpu:?}, {training:?}: probabilities differ by {worst}");
        }
    }

    #[test]
    fn a_regressor_ends_where_that_of_the_cpu_ends() {
        let features: Features = problem().features;
        let name = features.names()[0].clone();
        let rules = Rule::on_both_sides(name, 0.0, Claim::mean(7.0), Claim::mean(3.0)).to_vec();
        let range = LabelRange::new(0.0, 10.0).unwrap();
        let dataset = RuleDataset::new(features, rules, Some(range)).unwrap();
        for (gpu, training) in ways() {
            let [expected, found] = [DeviceKind::Cpu, gpu].map(|device| {
                let training = training.clone();
                let small = LabelFlowRegressor { n_steps: 2, d_hidden: 8, ..Default::default() };
                let model = LabelFlowRegressor { device, training, ..small }.fit(&dataset);
                model.unwrap().predict(dataset.features()).unwrap()
            });
            let worst = worst_difference(expected.iter().zip(&found));
            assert!(worst < 0.1, "{gpu:?}, {training:?}: labels of 0 to 10 differ by {worst}");
        }
    }
}
