//! The learner for real-valued labels, from rules to labels.

#![allow(clippy::unwrap_used)]

use labelflow::SavedModel;
use labelflow::evaluation::{point_metrics, regression_metrics};
use labelflow::flow::Activation;
use labelflow::learners::Scaling;
use labelflow::learners::{FitOptions, FittedLabelFlowRegressor};
use labelflow::rows::{LabelRange, TrueValues};
use labelflow::rules::{AverageRules, Claim, Region, Rule, RuleDataset};
use labelflow::storage::{ModelRecord, ModelTask};
use labelflow::training::{BatchSize, EpochEvent, Observer, StopReason};
use labelflow::{Features, LabelFlowRegressor, TrainConfig};
use ndarray::{Array2, array};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Rows whose label is 50 + 10 (x0 + x1 / 2), with rules about the means above and below the middle of x0 and x1.
fn problem(n_rows: usize, seed: u64) -> (RuleDataset, TrueValues) {
    let values: Vec<f32> = StandardNormal.sample_iter(ChaCha8Rng::seed_from_u64(seed)).take(3 * n_rows).collect();
    let features = Array2::from_shape_vec((n_rows, 3), values).unwrap();
    let label = |row: ndarray::ArrayView1<'_, f32>| 50.0 + 10.0 * f64::from(row[0] + 0.5 * row[1]);
    let truth: Vec<f64> = features.rows().into_iter().map(label).collect();
    let mut rules = Vec::new();
    for (column, name) in ["x0", "x1"].into_iter().enumerate() {
        let mean = |above: bool| {
            let side = features.column(column).iter().map(|&x| (x >= 0.0) == above).collect::<Vec<_>>();
            let chosen = truth.iter().zip(&side).filter(|(_, side)| **side).map(|(label, _)| *label);
            chosen.clone().sum::<f64>() / chosen.count() as f64
        };
        rules.extend(Rule::on_both_sides(name, 0.0, Claim::mean(mean(true)), Claim::mean(mean(false))));
    }
    let range = LabelRange::new(0.0, 100.0).unwrap();
    let dataset = RuleDataset::new(Features::new(features).unwrap(), rules, Some(range)).unwrap();
    (dataset, TrueValues::new(truth).unwrap())
}

fn small(max_epochs: usize) -> LabelFlowRegressor {
    LabelFlowRegressor {
        n_steps: 3,
        d_hidden: 16,
        // Larger steps shrink weights more.
        weight_decay: 1.0,
        training: TrainConfig { max_epochs, learning_rate: 5e-3, ..TrainConfig::default() },
        ..LabelFlowRegressor::default()
    }
}

fn rmse(model: &FittedLabelFlowRegressor, dataset: &RuleDataset, truth: &TrueValues) -> f64 {
    point_metrics(&model.predict(dataset.features()).unwrap(), truth).unwrap().rmse
}

#[test]
fn rules_about_means_become_a_regression() {
    let (dataset, truth) = problem(400, 1);
    let average = AverageRules.fit(&dataset).unwrap().predict(dataset.features()).unwrap();
    let average = point_metrics(&average, &truth).unwrap().rmse;
    for (activation, scaling) in [
        (Activation::Tanh, Scaling::Standardize),
        (Activation::Relu, Scaling::Range),
        (Activation::NormalizedSilu, Scaling::None),
    ] {
        let model = LabelFlowRegressor { activation, scaling, ..small(300) }.fit(&dataset).unwrap();
        let found = rmse(&model, &dataset, &truth);
        assert!(found < 0.85 * average, "{activation:?}: {found}, averaged rules {average}");
        let labels = model.predict_distribution(dataset.features()).unwrap();
        let metrics = regression_metrics(&labels, &truth).unwrap();
        assert!((metrics.rmse - found).abs() < 1e-12);
        assert!(labels.std().iter().all(|std| *std > 0.0 && *std < 40.0));
        // The mean of the samples is that of the distribution.
        let samples = model.sample(dataset.features(), 400).unwrap();
        let mean: f64 = samples.column(7).mean().unwrap();
        assert!((mean - labels.mean()[7]).abs() < 5.0 * labels.std()[7] / 20.0);
    }
}

#[test]
fn ranges_masks_and_quantiles_are_obeyed() {
    let (dataset, _) = problem(300, 2);
    let range = dataset.range();
    let mask: Vec<bool> = (0..300).map(|row| row % 3 == 0).collect();
    let rules = vec![
        Rule::new(Region::Rows(mask.clone()), Claim::mean_between(20.0, 30.0)),
        Rule::new(Region::All, Claim::quantile(0.9, 60.0)),
    ];
    let dataset = RuleDataset::new(dataset.features().clone(), rules, Some(range)).unwrap();
    let config = LabelFlowRegressor { rules_weight: 100.0, ..small(600) };
    let model = config.fit(&dataset).unwrap();
    let means = model.predict(dataset.features()).unwrap();
    let masked: Vec<f64> = means.iter().zip(&mask).filter(|(_, m)| **m).map(|(y, _)| *y).collect();
    let mean = masked.iter().sum::<f64>() / masked.len() as f64;
    assert!((18.0..32.0).contains(&mean), "{mean}");
    let samples = model.sample(dataset.features(), 20).unwrap();
    let below = samples.iter().filter(|label| **label < 60.0).count() as f64 / samples.len() as f64;
    assert!((below - 0.9).abs() < 0.05, "{below}");
}

#[test]
fn a_saved_model_predicts_the_same_and_is_not_taken_for_another() {
    let (dataset, _) = problem(60, 3);
    let model = small(5).fit(&dataset).unwrap();
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path()).unwrap();
    assert_eq!(ModelRecord::read(folder.path()).unwrap().task, ModelTask::Regression);
    let loaded = FittedLabelFlowRegressor::load(folder.path()).unwrap();
    assert_eq!(
        loaded.predict_distribution(dataset.features()).unwrap(),
        model.predict_distribution(dataset.features()).unwrap()
    );
    assert_eq!(loaded.range(), model.range());
    assert_eq!(loaded.report().history, model.report().history);
    let error = labelflow::learners::FittedLabelFlowClassifier::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("a model for classification, found one for regression"), "{error}");
}

#[test]
fn a_row_is_predicted_the_same_whatever_stands_beside_it() {
    let (dataset, _) = problem(50, 4);
    let model = small(5).fit(&dataset).unwrap();
    let all = model.predict(dataset.features()).unwrap();
    for row in [0, 17, 49] {
        let alone = model.predict(&dataset.features().select_rows(&[row])).unwrap();
        // Up to rounding: products of one row add up in another order.
        assert!((alone[0] - all[row]).abs() < 1e-4);
    }
}

/// Keeps the last checkpoint and ends training after some epochs.
struct EndAfter(usize, std::path::PathBuf);

impl Observer for EndAfter {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<std::ops::ControlFlow<StopReason>> {
        (event.snapshot)().save(&self.1)?;
        Ok(match event.record.epoch + 1 == self.0 {
            true => std::ops::ControlFlow::Break(StopReason::Interrupted),
            false => std::ops::ControlFlow::Continue(()),
        })
    }
}

#[test]
fn a_run_that_was_ended_goes_on_as_if_it_had_not_been() {
    let (dataset, _) = problem(80, 5);
    for batch_size in [BatchSize::Full, BatchSize::Rows(32)] {
        let mut config = small(12);
        config.training.batch_size = batch_size;
        let whole = config.fit(&dataset).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint.safetensors");
        config
            .fit_with(&dataset, FitOptions { observer: Some(&mut EndAfter(5, path.clone())), ..FitOptions::default() })
            .unwrap();
        let checkpoint = labelflow::storage::Checkpoint::load(&path).unwrap();
        let resumed =
            config.fit_with(&dataset, FitOptions { checkpoint: Some(checkpoint), ..FitOptions::default() }).unwrap();
        assert_eq!(
            resumed.predict_distribution(dataset.features()).unwrap(),
            whole.predict_distribution(dataset.features()).unwrap()
        );
    }
}

#[test]
fn without_its_weight_the_likelihood_does_not_enter_the_gradient() {
    // The scale of the samples is free then, but for the range: its mean stays near where it started.
    let (dataset, truth) = problem(200, 6);
    let config = LabelFlowRegressor { n_steps: 8, ..small(300) };
    let with = config.fit(&dataset).unwrap();
    let without = LabelFlowRegressor { likelihood_weight: 0.0, ..config }.fit(&dataset).unwrap();
    let std = |model: &FittedLabelFlowRegressor| {
        let std = model.predict_distribution(dataset.features()).unwrap().std();
        std.iter().sum::<f64>() / std.len() as f64
    };
    assert!(std(&with) < 0.5 * std(&without), "{} and {}", std(&with), std(&without));
    assert!(rmse(&without, &dataset, &truth) < 12.0);
}

/// The expected likelihood term of eight bounded maps cannot fall below (1.4189 − 4) / ln 2.
#[test]
fn the_likelihood_term_stays_above_its_bound() {
    let (dataset, _) = problem(100, 7);
    let config = LabelFlowRegressor { n_steps: 8, ..small(400) };
    let model = config.fit(&dataset).unwrap();
    let last = model.report().history.last().unwrap().terms["likelihood"];
    assert!(last > -3.7237 - 0.3 && last < -2.5, "{last}");
}

#[test]
fn bad_input_is_an_error() {
    let (dataset, _) = problem(30, 8);
    let model = small(2).fit(&dataset).unwrap();
    let error = model.predict(&Features::new(array![[1.0, 2.0]]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("3 columns"), "{error}");
    let far = Features::new(array![[3e38, -3e38, 3e38]]).unwrap();
    match model.predict(&far) {
        Ok(labels) => assert!(labels.iter().all(|label| (0.0..=100.0).contains(label))),
        Err(error) => assert!(error.to_string().contains("row 0"), "{error}"),
    }
    for config in [
        LabelFlowRegressor { n_steps: 0, ..small(2) },
        LabelFlowRegressor { likelihood_weight: f64::NAN, ..small(2) },
        LabelFlowRegressor { range_weight: -1.0, ..small(2) },
        LabelFlowRegressor { weight_decay: 1e4, ..small(2) },
        LabelFlowRegressor { weight_decay: f64::NAN, ..small(2) },
    ] {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
    let one = RuleDataset::new(
        Features::new(array![[1.0]]).unwrap(),
        vec![Rule::new(Region::All, Claim::mean(1.0))],
        Some(LabelRange::new(0.0, 2.0).unwrap()),
    )
    .unwrap();
    assert!(small(2).fit(&one).is_err());
}
