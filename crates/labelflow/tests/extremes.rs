//! Inputs that hardly ever occur: constraints and learners give finite numbers, or a clear error.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use burn::tensor::{Device, Tensor, TensorData};
use labelflow::constraints::{ConstraintConfig, GroupMean, GroupQuantile, Penalty, Range};
use labelflow::learners::Scaling;
use labelflow::rows::LabelRange;
use labelflow::rules::{Claim, Rule, RuleDataset};
use labelflow::training::Batch;
use labelflow::{
    Bounds, Features, LabelFlowClassifier, LabelFlowRegressor, TrainConfig, Votes, WeakDataset, WeakSignals,
};
use ndarray::{Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Features that are constant, huge, tiny, or of both kinds in one column.
fn extreme_features(n_rows: usize, rng: &mut ChaCha8Rng) -> Features {
    let values = Array2::from_shape_fn((n_rows, 3), |_| 0.0_f32);
    let mut values = values;
    for mut column in values.axis_iter_mut(Axis(1)) {
        let kind = rng.random_range(0..7);
        let constant = [0.0, 1e30, 1e-30, -1.0, f32::MAX][rng.random_range(0..5)];
        for value in &mut column {
            let unit = rng.random_range(-1.0..1.0_f32);
            *value = match kind {
                0 | 1 => constant,
                2 => 1e30 * unit,
                3 => 1e-30 * unit,
                4 => [1e30, 1e-30, -1e30, 0.0][rng.random_range(0..4)],
                5 => f32::MAX * unit.signum(),
                _ => unit,
            };
        }
    }
    Features::new(values).unwrap()
}

/// Votes that are all the same, contradict each other, or are missing but for one.
fn extreme_votes(n_rows: usize, n_classes: usize, rng: &mut ChaCha8Rng) -> WeakSignals {
    let n_signals = [1, 2, 20][rng.random_range(0..3)];
    let kind = rng.random_range(0..4);
    let mut votes = Array2::from_shape_fn((n_rows, n_signals), |(row, signal)| match kind {
        0 => 1,
        1 => ((row + signal) % n_classes) as i64,
        2 => -1,
        _ => rng.random_range(-1..n_classes as i64),
    });
    votes[[0, 0]] = 0;
    WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(n_classes)).unwrap()).unwrap()
}

fn classification(case: u64, n_rows: usize) -> WeakDataset {
    let mut rng = ChaCha8Rng::seed_from_u64(case);
    let n_classes = [2, 3, 12][rng.random_range(0..3)];
    let signals = extreme_votes(n_rows, n_classes, &mut rng);
    let bound = [0.0, 1.0, 0.3, 1e-30][rng.random_range(0..4)];
    let bounds = Bounds::constant(bound, &signals).unwrap();
    WeakDataset::new(extreme_features(n_rows, &mut rng), signals, bounds).unwrap()
}

fn regression(case: u64, n_rows: usize) -> labelflow::weak::Result<RuleDataset> {
    let mut rng = ChaCha8Rng::seed_from_u64(case);
    let features = extreme_features(n_rows, &mut rng);
    let (lower, upper) = [(0.0, 1.0), (-1e30, 1e30), (0.0, 1e-30)][rng.random_range(0..3)];
    let range = LabelRange::new(lower, upper)?;
    let at = |unit: f64| lower + unit * (upper - lower);
    let mut rules = Rule::on_both_sides("x0", 0.0, Claim::mean(at(0.75)), Claim::mean(at(0.25))).to_vec();
    rules.extend(Rule::on_both_sides("x1", 0.0, Claim::quantile(0.5, at(0.6)), Claim::quantile(0.1, at(0.1))));
    RuleDataset::new(features, rules, Some(range))
}

/// Labels as they may get in the first steps of training, and further out.
fn extreme_labels(n_rows: usize, d_labels: usize, largest: f32, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let values = [0.0, 1.0, 0.5, 1e-30, -1e-30, largest, -largest, 1.0 + f32::EPSILON];
    (0..n_rows * d_labels).map(|_| values[rng.random_range(0..values.len())]).collect()
}

/// The violation and the largest entry of its gradient.
fn violation(penalty: &Penalty, labels: &[f32], d_labels: usize, device: &Device) -> (f32, f32) {
    let shape = [labels.len() / d_labels, d_labels];
    let labels = Tensor::<2>::from_data(TensorData::new(labels.to_vec(), shape), device).require_grad();
    let violation = penalty.violation(&labels, &Batch::full());
    let gradients = violation.backward();
    let slopes = match labels.grad(&gradients) {
        Some(gradient) => gradient.into_data().try_to_vec::<f32>().unwrap(),
        None => vec![0.0],
    };
    let largest =
        slopes.iter().fold(0.0, |most: f32, slope| if slope.is_nan() { f32::NAN } else { most.max(slope.abs()) });
    (violation.into_scalar(), largest)
}

#[test]
fn constraints() {
    let device = Device::flex().autodiff();
    let mut n_cases = 0;
    for case in 0..120 {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + case);
        let n_rows = [2, 3, 20][rng.random_range(0..3)];
        let dataset = classification(case, n_rows);
        let n_classes = dataset.n_classes();
        let mut shares = vec![0.0; n_classes];
        shares[rng.random_range(0..n_classes)] = 1.0;
        let mut configs = ConstraintConfig::classification();
        configs.push(ConstraintConfig::ClassBalance { weight: 1.0, shares });
        let feature = "x0".to_owned();
        configs.push(ConstraintConfig::GroupMean {
            weight: 1.0,
            feature,
            threshold: 0.0,
            class: 1,
            above: 1.0,
            below: 0.0,
        });
        let mut penalties: Vec<(Penalty, usize)> =
            configs.iter().map(|config| (config.build(&dataset, &device).unwrap(), n_classes)).collect();
        if let Ok(rules) = regression(case, n_rows) {
            penalties.push((Penalty::new(Range::unit(), 1.0).unwrap(), 1));
            if let Some(means) = GroupMean::of_rules(&rules, &device).unwrap() {
                penalties.push((Penalty::new(means, 1.0).unwrap(), 1));
            }
            if let Some(quantiles) = GroupQuantile::of_rules(&rules, &device) {
                penalties.push((Penalty::new(quantiles, 1.0).unwrap(), 1));
            }
        }
        for (penalty, d_labels) in &penalties {
            // Squares of larger numbers are no longer numbers of this kind: then the violation is infinite, and never NaN.
            for largest in [1.0, 1e9, 1e15, 1e30, f32::MAX] {
                let labels = extreme_labels(n_rows, *d_labels, largest, &mut rng);
                let (violation, slope) = violation(penalty, &labels, *d_labels, &device);
                let name = penalty.name();
                assert!(violation >= 0.0, "{name}: {violation} at {largest}");
                if largest <= 1e15 {
                    assert!(violation.is_finite() && slope.is_finite(), "{name}: {violation}, {slope} at {largest}");
                }
                n_cases += 1;
            }
        }
    }
    eprintln!("constraints: {n_cases} cases: finite, with finite gradients, for labels up to 1e15; never NaN beyond");
}

#[test]
fn classifiers() {
    let (mut n_fitted, mut n_refused) = (0, 0);
    for case in 0..90 {
        let n_rows = [2, 3, 25][case as usize % 3];
        let dataset = classification(case, n_rows);
        let config = LabelFlowClassifier {
            n_steps: 2,
            d_hidden: 8,
            scaling: [Scaling::Standardize, Scaling::Range, Scaling::None][case as usize / 3 % 3],
            training: TrainConfig { max_epochs: 4, ..TrainConfig::default() },
            ..LabelFlowClassifier::default()
        };
        let labels = config.fit(&dataset).and_then(|model| model.predict_proba(dataset.features()));
        match labels {
            Ok(labels) => {
                n_fitted += 1;
                for p in labels.values().axis_iter(Axis(0)) {
                    assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "case {case}: {p}");
                    assert!((p.sum() - 1.0).abs() < 1e-6, "case {case}: {p}");
                }
            }
            Err(error) => {
                n_refused += 1;
                assert_clear(&error, case);
            }
        }
    }
    eprintln!("classifiers: {n_fitted} cases with distributions, {n_refused} refused");
    assert!(n_fitted > n_refused);
}

#[test]
fn regressors() {
    let (mut n_fitted, mut n_refused) = (0, 0);
    for case in 0..90 {
        let n_rows = [2, 3, 25][case as usize % 3];
        let Ok(dataset) = regression(case, n_rows) else {
            n_refused += 1;
            continue;
        };
        let config = LabelFlowRegressor {
            n_steps: 2,
            d_hidden: 8,
            scaling: [Scaling::Standardize, Scaling::Range, Scaling::None][case as usize / 3 % 3],
            training: TrainConfig { max_epochs: 4, ..TrainConfig::default() },
            ..LabelFlowRegressor::default()
        };
        let labels = config.fit(&dataset).and_then(|model| model.predict_distribution(dataset.features()));
        match labels {
            Ok(labels) => {
                n_fitted += 1;
                let (means, deviations) = (labels.mean(), labels.std());
                let numbers = means.iter().chain(&deviations);
                assert!(numbers.clone().all(|number| number.is_finite()), "case {case}: {means:?} {deviations:?}");
                let range = dataset.range();
                let slack = 1e-6 * range.width();
                let is_inside = |mean: &f64| *mean >= range.lower() - slack && *mean <= range.upper() + slack;
                assert!(means.iter().all(is_inside), "case {case}: {means:?} outside {range:?}");
            }
            Err(error) => {
                n_refused += 1;
                assert_clear(&error, case);
            }
        }
    }
    eprintln!("regressors: {n_fitted} cases with finite distributions, {n_refused} refused");
    assert!(n_fitted > 0);
}

/// An error says what was expected, or which term went wrong.
fn assert_clear(error: &labelflow::Error, case: u64) {
    let text = error.to_string();
    assert!(text.contains("expected") || text.contains("term is"), "case {case}: {text}");
}
