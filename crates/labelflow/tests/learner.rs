//! What holds of the learner, whatever the data.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use burn::tensor::{Tensor, TensorData};
use labelflow::SavedModel;
use labelflow::constraints::{Constraint, ConstraintConfig, Penalty, Relation, Residual};
use labelflow::flow::state;
use labelflow::label_models::{FittedLabelModel, LabelModel, MajorityVote};
use labelflow::learners::{FitOptions, FittedLabelFlowClassifier, Scaling};
use labelflow::linear::Scaler;
use labelflow::rows::{SoftLabels, Truth};
use labelflow::storage::Checkpoint;
use labelflow::training::{Batch, BatchSize, EpochEvent, Observer, Preset, StopReason};
use labelflow::{Bounds, Features, LabelFlowClassifier, TrainConfig, Votes, WeakDataset, WeakSignals};
use labelflow_data::synthetic::{PlantedGaussian, PlantedGaussianProblem};
use ndarray::{Array2, Axis, s};

fn problem(n_rows: usize, n_classes: usize) -> PlantedGaussianProblem {
    PlantedGaussian { n_rows, n_classes, n_signals: 5, seed: 3, ..PlantedGaussian::default() }.generate().unwrap()
}

fn dataset(problem: &PlantedGaussianProblem) -> WeakDataset {
    let bounds = Bounds::measured(&problem.signals, &problem.truth).unwrap();
    WeakDataset::new(problem.features.clone(), problem.signals.clone(), bounds).unwrap()
}

fn small(max_epochs: usize) -> LabelFlowClassifier {
    LabelFlowClassifier {
        n_steps: 2,
        d_hidden: 16,
        // A small flow on an easy problem: larger steps save time.
        training: TrainConfig { max_epochs, learning_rate: 5e-3, ..TrainConfig::default() },
        ..LabelFlowClassifier::default()
    }
}

fn in_batches(config: LabelFlowClassifier, rows: usize) -> LabelFlowClassifier {
    let training = TrainConfig { batch_size: BatchSize::Rows(rows), ..config.training };
    LabelFlowClassifier { training, ..config }
}

fn accuracy(model: &FittedLabelFlowClassifier, features: &Features, truth: &Truth) -> f64 {
    truth.accuracy(&model.predict(features).unwrap())
}

fn majority(signals: &WeakSignals, truth: &Truth) -> f64 {
    let fitted = MajorityVote::default().fit(signals).unwrap();
    truth.accuracy(&fitted.predict_proba(signals).unwrap().argmax())
}

#[test]
fn features_carry_it_past_the_votes() {
    for n_classes in [2, 3] {
        let problem = problem(400, n_classes);
        let model = small(200).fit(&dataset(&problem)).unwrap();
        let ours = accuracy(&model, &problem.features, &problem.truth);
        let votes = majority(&problem.signals, &problem.truth);
        assert!(ours > votes + 0.05, "k = {n_classes}: {ours}, majority vote {votes}");
        assert!(ours > problem.best_accuracy - 0.15, "{ours}, best {}", problem.best_accuracy);
    }
}

#[test]
fn mini_batches_end_at_the_same_accuracy() {
    let problem = problem(600, 2);
    let dataset = dataset(&problem);
    let full = small(200).fit(&dataset).unwrap();
    let batched = in_batches(small(60), 150).fit(&dataset).unwrap();
    let [full, batched] = [full, batched].map(|model| accuracy(&model, &problem.features, &problem.truth));
    assert!((full - batched).abs() < 0.02, "full batch {full}, mini-batches {batched}");
}

#[test]
fn the_fast_preset_learns_too() {
    let problem = problem(600, 2);
    let training = Preset::Fast.training(600);
    let model = LabelFlowClassifier { training, ..small(0) }.fit(&dataset(&problem)).unwrap();
    let ours = accuracy(&model, &problem.features, &problem.truth);
    let votes = majority(&problem.signals, &problem.truth);
    assert!(ours > votes + 0.05, "{ours}, majority vote {votes}");
}

/// Fewer and smaller flows for an easy problem.
fn ensemble(n_rows: usize) -> LabelFlowClassifier {
    LabelFlowClassifier { n_members: 2, d_hidden: 8, ..LabelFlowClassifier::ensemble(n_rows, 2) }
}

#[test]
fn an_ensemble_learns_from_bounds_and_from_what_a_label_model_expects() {
    let problem = problem(300, 2);
    let votes = majority(&problem.signals, &problem.truth);
    for config in [ensemble(300), in_batches(ensemble(300), 100), ensemble(300).of_votes()] {
        let model = config.fit(&dataset(&problem)).unwrap();
        let ours = accuracy(&model, &problem.features, &problem.truth);
        assert!(ours > votes + 0.05, "{ours}, majority vote {votes}, {:?}", config.constraints);
        // Ten samples of each member, of which a prediction is the mean.
        let samples = model.sample(&problem.features, 2 * config.n_samples).unwrap();
        assert_eq!(samples.dim(), (20, 300, 2));
        // Members in turn: any first part of the samples is of all of them.
        assert_eq!(model.sample(&problem.features, 3).unwrap(), samples.slice(s![..3, .., ..]));
        let mean = samples.mapv(|label| f64::from(label.clamp(0.0, 1.0))).mean_axis(Axis(0)).unwrap();
        let mean = SoftLabels::normalized(mean);
        let found = model.predict_proba(&problem.features).unwrap();
        assert!(found.values().iter().zip(mean.values()).all(|(one, other)| (one - other).abs() < 1e-9));
        let again = FittedLabelFlowClassifier::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(again.predict_proba(&problem.features).unwrap(), found);
        assert_eq!(again.config(), &config);
    }
}

/// Counts of words: the first of 300 says the class, the others are rare.
#[test]
fn columns_that_are_mostly_zeros_are_projected() {
    let problem = problem(400, 2);
    let counts = Array2::from_shape_fn((400, 300), |(row, column)| match column {
        0 | 1 => f64::from(u8::from(problem.truth.labels()[row] == column)),
        _ => f64::from(u8::from((row * row + 31 * row * column + 17 * column) % 61 == 0)),
    });
    let features = Features::new(counts).unwrap();
    let bounds = Bounds::constant(0.2, &problem.signals).unwrap();
    let dataset = WeakDataset::new(features.clone(), problem.signals.clone(), bounds).unwrap();
    let model = ensemble(400).of_votes().fit(&dataset).unwrap();
    assert!(model.flow().bank.first.weight.dims()[1] < 257);
    assert_eq!(model.feature_names().len(), 300);
    let (ours, votes) = (accuracy(&model, &features, &problem.truth), majority(&problem.signals, &problem.truth));
    assert!(ours > votes + 0.05, "{ours}, majority vote {votes}");
    let standardised = LabelFlowClassifier { scaling: Scaling::Standardize, ..ensemble(400).of_votes() };
    let other = standardised.fit(&dataset).unwrap();
    assert_ne!(other.predict_proba(&features).unwrap(), model.predict_proba(&features).unwrap());
    let again = FittedLabelFlowClassifier::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(again.predict_proba(&features).unwrap(), model.predict_proba(&features).unwrap());
}

/// What a label model expects says nothing of rows that nobody voted on.
#[test]
fn rows_without_votes_do_not_change_what_is_learned_of_a_label_model() {
    let problem = problem(200, 2);
    let votes = |n_voted: usize| {
        let vote = |(row, labeler): (usize, usize)| match row < n_voted {
            true => problem.signals.vote(row, labeler).map_or(-1, |class| class as i64),
            false => -1,
        };
        Array2::from_shape_fn((200, problem.signals.n_signals()), vote)
    };
    let fit = |n_rows: usize, n_voted: usize| {
        let votes = Votes::from_indices(votes(n_voted).slice(s![..n_rows, ..]), Some(2)).unwrap();
        let signals = WeakSignals::from_votes(votes).unwrap();
        let bounds = Bounds::constant(0.3, &signals).unwrap();
        let features = problem.features.select_rows(&(0..n_rows).collect::<Vec<_>>());
        let mut config = ensemble(150).of_votes();
        config.training.max_epochs = 3;
        state(config.fit(&WeakDataset::new(features, signals, bounds).unwrap()).unwrap().flow())
    };
    assert_eq!(fit(200, 150), fit(150, 150));
    assert_ne!(fit(200, 150), fit(200, 200));
}

#[test]
fn bounds_that_nobody_reads_are_not_warned_of() {
    let problem = problem(40, 2);
    let bounds = Bounds::constant(0.5, &problem.signals).unwrap();
    let dataset = WeakDataset::new(problem.features, problem.signals, bounds).unwrap();
    assert_eq!(ensemble(40).prepare(&dataset).unwrap().warnings().len(), 1);
    assert_eq!(ensemble(40).of_votes().prepare(&dataset).unwrap().warnings(), []);
}

#[test]
fn settings_of_an_ensemble_that_mean_nothing_are_refused() {
    let dataset = dataset(&problem(20, 2));
    let refused = |config: LabelFlowClassifier| config.fit(&dataset).unwrap_err().to_string();
    let config = ensemble(20);
    assert!(refused(LabelFlowClassifier { n_members: 0, ..config.clone() }).contains("n_members"));
    assert!(refused(LabelFlowClassifier { n_members: 257, ..config.clone() }).contains("at most 256"));
    for max_log_scale in [0.0, f64::NAN, 11.0] {
        assert!(refused(LabelFlowClassifier { max_log_scale, ..config.clone() }).contains("max_log_scale"));
    }
}

/// Predictions use the statistics of all rows under the final weights, not those of the last batches.
#[test]
fn mini_batches_leave_the_statistics_of_all_rows() {
    let problem = problem(300, 2);
    let model = in_batches(small(3), 30).fit(&dataset(&problem)).unwrap();
    let scaler = Scaler::standard(problem.features.values()).unwrap();
    let scaled = scaler.transform(problem.features.values()).unwrap();
    let (n_rows, d_features) = scaled.dim();
    let rows = TensorData::new(scaled.iter().copied().collect(), [n_rows, d_features]);
    let bank = &model.flow().bank;
    let rows = Tensor::<2>::from_data(rows, &bank.first.weight.val().device());
    let mean = bank.first.forward(rows.unsqueeze_dim(0)).mean_dim(1);
    let worst: f32 = (mean - bank.norm.as_ref().expect("a normalisation").running_mean.val()).abs().max().into_scalar();
    assert!(worst < 1e-5, "{worst}");
}

/// Keeps the checkpoint after an epoch.
struct Keep {
    epoch: usize,
    kept: Option<Checkpoint>,
}

impl Observer for Keep {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        if event.record.epoch == self.epoch {
            self.kept = Some((event.snapshot)());
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn a_resumed_run_ends_with_the_same_weights() {
    let problem = problem(60, 3);
    let dataset = dataset(&problem);
    let mut forgetful = small(25);
    forgetful.training.betas = [0.5, 0.9];
    let mut members = LabelFlowClassifier { n_members: 2, ..in_batches(small(25), 25) };
    members = members.of_votes();
    for config in [small(25), in_batches(small(25), 25), forgetful, members] {
        let mut keep = Keep { epoch: 11, kept: None };
        let whole =
            config.fit_with(&dataset, FitOptions { observer: Some(&mut keep), ..FitOptions::default() }).unwrap();
        // Through a file, as a killed run would find it.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint.safetensors");
        keep.kept.unwrap().save(&path).unwrap();
        let checkpoint = Checkpoint::load(&path).unwrap();
        let resumed =
            config.fit_with(&dataset, FitOptions { checkpoint: Some(checkpoint), ..FitOptions::default() }).unwrap();
        assert_eq!(state(whole.flow()), state(resumed.flow()));
        assert_eq!(whole.report(), resumed.report());
    }
}

#[test]
fn what_adam_remembers_changes_where_training_ends() {
    let problem = problem(60, 3);
    let dataset = dataset(&problem);
    let ended = |betas| {
        let mut config = small(5);
        config.training.betas = betas;
        state(config.fit(&dataset).unwrap().flow())
    };
    let usual = ended(TrainConfig::default().betas);
    assert_ne!(usual, ended([0.5, 0.999]));
    assert_ne!(usual, ended([0.9, 0.9]));
}

#[test]
fn the_model_of_a_checkpoint_is_that_of_a_run_which_ended_there() {
    let problem = problem(60, 3);
    let dataset = dataset(&problem);
    for config in [small(25), in_batches(small(25), 25)] {
        let mut keep = Keep { epoch: 11, kept: None };
        config.fit_with(&dataset, FitOptions { observer: Some(&mut keep), ..FitOptions::default() }).unwrap();
        let then = config.prepare(&dataset).unwrap().at_checkpoint(keep.kept.clone().unwrap()).unwrap();
        let training = TrainConfig { max_epochs: 12, ..config.training.clone() };
        let ended = LabelFlowClassifier { training, ..config.clone() }.fit(&dataset).unwrap();
        assert_eq!(state(then.flow()), state(ended.flow()));
        assert_eq!(then.report().history.len(), 12);
        let other = LabelFlowClassifier { seed: 1, ..config };
        assert!(other.prepare(&dataset).unwrap().at_checkpoint(keep.kept.unwrap()).is_err());
    }
}

#[test]
fn the_checkpoint_of_another_run_is_refused() {
    let problem = problem(40, 2);
    let dataset = dataset(&problem);
    let mut keep = Keep { epoch: 0, kept: None };
    small(1).fit_with(&dataset, FitOptions { observer: Some(&mut keep), ..FitOptions::default() }).unwrap();
    let other = LabelFlowClassifier { seed: 1, ..small(1) };
    assert!(other.fit_with(&dataset, FitOptions { checkpoint: keep.kept, ..FitOptions::default() }).is_err());
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let problem = problem(300, 2);
    let dataset = dataset(&problem);
    let config = LabelFlowClassifier { d_hidden: 64, ..small(4) };
    let fit = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| config.fit(&dataset).unwrap())
    };
    let one = fit(1);
    for threads in [2, 5] {
        let many = fit(threads);
        assert_eq!(state(one.flow()), state(many.flow()), "{threads} threads");
        let [a, b] = [&one, &many].map(|model| model.sample(&problem.features, 2).unwrap());
        assert_eq!(a, b);
    }
    let other = LabelFlowClassifier { seed: 1, ..config.clone() }.fit(&dataset).unwrap();
    assert_ne!(state(one.flow()), state(other.flow()));
}

#[test]
fn a_saved_model_predicts_the_same() {
    let problem = problem(60, 3);
    let model = small(5).fit(&dataset(&problem)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path()).unwrap();
    let loaded = FittedLabelFlowClassifier::load(folder.path()).unwrap();
    assert_eq!(model.predict_proba(&problem.features).unwrap(), loaded.predict_proba(&problem.features).unwrap());
    assert_eq!((model.report(), model.classes()), (loaded.report(), loaded.classes()));
    // Saving over it leaves the new one.
    let other = LabelFlowClassifier { seed: 9, ..small(5) }.fit(&dataset(&problem)).unwrap();
    other.save(folder.path()).unwrap();
    let loaded = FittedLabelFlowClassifier::load(folder.path()).unwrap();
    assert_eq!(state(loaded.flow()), state(other.flow()));
}

#[test]
fn a_model_in_memory_is_the_same_and_what_is_none_is_told() {
    let problem = problem(60, 2);
    let model = small(3).fit(&dataset(&problem)).unwrap();
    let bytes = model.to_bytes();
    let same = FittedLabelFlowClassifier::from_bytes(&bytes).unwrap();
    assert_eq!(state(same.flow()), state(model.flow()));
    assert_eq!((same.report(), same.config()), (model.report(), model.config()));
    assert_eq!(same.feature_names(), model.feature_names());
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 1;
    for wrong in [&bytes[..0], &bytes[..bytes.len() / 2], b"not a model", &changed] {
        let error = FittedLabelFlowClassifier::from_bytes(wrong).unwrap_err().to_string();
        assert!(error.starts_with("model: expected a"), "{error}");
    }
}

#[test]
fn a_model_in_memory_whose_values_were_changed_is_refused() {
    let problem = problem(60, 2);
    let model = small(3).fit(&dataset(&problem)).unwrap();
    // In the metadata of the file, as JSON: of the same length, so that it is whole.
    let changed = |from: &str, to: &str| {
        let mut bytes = model.to_bytes();
        let place = bytes.windows(from.len()).position(|part| part == from.as_bytes()).expect(from);
        bytes[place..][..to.len()].copy_from_slice(to.as_bytes());
        FittedLabelFlowClassifier::from_bytes(&bytes)
    };
    for (from, to) in [
        (r#"classes = [\"0\", \"1\"]"#, r#"classes = [\"1\", \"0\"]"#),
        ("[scaler]", "[Scaler]"),
        ("n_samples = 10", "n_samples = 90"),
    ] {
        assert_eq!(from.len(), to.len());
        let error = changed(from, to).unwrap_err().to_string();
        assert!(error.contains("a value was changed, added or removed"), "{error}");
    }
    changed("n_samples = 10", "n_samples = 10").unwrap();
}

/// A reader that opened `model.toml` twice would find another model's the second time.
#[cfg(unix)]
#[test]
fn each_file_of_a_model_is_opened_once() {
    let problem = problem(40, 2);
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = [1.0, 2.0].map(|factor| {
        let features = Features::new(problem.features.values().mapv(|value| factor * value)).unwrap();
        let bounds = Bounds::measured(&problem.signals, &problem.truth).unwrap();
        small(2).fit(&WeakDataset::new(features, problem.signals.clone(), bounds).unwrap()).unwrap()
    });
    let path = folder.path().join("model.toml");
    let [new_manifest, old_manifest] = [&new, &old].map(|model| {
        model.save(folder.path()).unwrap();
        std::fs::read(&path).unwrap()
    });
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    std::thread::spawn(move || {
        for manifest in [old_manifest, new_manifest] {
            // It waits for somebody who reads, who sees the end of the file before the next one begins.
            std::fs::write(&path, manifest).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    let loaded = FittedLabelFlowClassifier::load(folder.path()).unwrap();
    assert!(loaded.to_bytes() == old.to_bytes(), "a mixture of two models");
}

#[test]
fn a_crash_between_the_two_renames_leaves_a_whole_model() {
    let problem = problem(40, 2);
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = [1, 2].map(|seed| LabelFlowClassifier { seed, ..small(2) }.fit(&dataset(&problem)).unwrap());
    let at = |name: &str| folder.path().join(name);
    new.save(folder.path()).unwrap();
    let [new_model, new_weights] = ["model.toml", "weights.safetensors"].map(|name| std::fs::read(at(name)).unwrap());
    old.save(folder.path()).unwrap();
    // Both new files are written, none is moved: the old model.
    std::fs::write(at("model.toml.new"), new_model).unwrap();
    std::fs::write(at("weights.safetensors.new"), &new_weights).unwrap();
    let loaded = FittedLabelFlowClassifier::load(folder.path()).unwrap();
    assert_eq!(state(loaded.flow()), state(old.flow()));
    // The weights are moved, the manifest is not: the new model.
    std::fs::rename(at("weights.safetensors.new"), at("weights.safetensors")).unwrap();
    let loaded = FittedLabelFlowClassifier::load(folder.path()).unwrap();
    assert_eq!(state(loaded.flow()), state(new.flow()));
}

#[test]
fn a_row_is_predicted_the_same_whatever_stands_beside_it() {
    let problem = problem(50, 3);
    let model = small(5).fit(&dataset(&problem)).unwrap();
    let all = model.predict_proba(&problem.features).unwrap();
    let some = [41, 3, 17];
    let alone = model.predict_proba(&problem.features.select_rows(&some)).unwrap();
    for (index, &row) in some.iter().enumerate() {
        assert_eq!(alone.values().row(index), all.values().row(row));
    }
}

/// Rows that nobody votes on change the normalisation and the likelihood, not the statistics of the labelers.
#[test]
fn rows_without_votes_are_used_for_their_features() {
    let votes = |last| {
        let mut votes = ndarray::Array2::from_shape_fn((20, 2), |(row, _)| i64::from(row % 2 == 0));
        votes.row_mut(19).fill(last);
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap()
    };
    let features = Features::new(ndarray::Array2::from_shape_fn((20, 2), |(row, column)| {
        (row % 2) as f32 + (row * column) as f32 * 0.1
    }))
    .unwrap();
    let fit = |signals: WeakSignals| {
        let bounds = Bounds::constant(0.1, &signals).unwrap();
        small(100).fit(&WeakDataset::new(features.clone(), signals, bounds).unwrap()).unwrap()
    };
    let model = fit(votes(-1));
    let expected: Vec<usize> = (0..20).map(|row| usize::from(row % 2 == 0)).collect();
    let predicted = model.predict(&features).unwrap();
    assert_eq!(predicted[..19], expected[..19]);
}

/// Class 1 is at most a tenth of all labels.
struct Rare;

impl Constraint for Rare {
    fn name(&self) -> String {
        "rare".to_owned()
    }
    fn relation(&self) -> Relation {
        Relation::AtMost
    }
    fn residual(&self, labels: &Tensor<2>, batch: &Batch<'_>) -> Residual {
        let n_rows = labels.dims()[0] as f64;
        let total = batch.total(labels, |labels, _| labels.clone().narrow(1, 1, 1).sum());
        Residual::Overall(total / n_rows - 0.1)
    }
}

#[test]
fn a_constraint_of_ones_own_is_heard() {
    let problem = problem(100, 2);
    let dataset = dataset(&problem);
    let config = LabelFlowClassifier {
        constraints: vec![ConstraintConfig::Range { weight: 10.0 }, ConstraintConfig::SumToOne { weight: 10.0 }],
        ..small(300)
    };
    let share = |penalties: Vec<Penalty>| {
        let model = config.fit_with(&dataset, FitOptions { constraints: penalties, ..FitOptions::default() }).unwrap();
        model.predict_proba(&problem.features).unwrap().values().column(1).mean().unwrap()
    };
    let (without, with) = (share(Vec::new()), share(vec![Penalty::new(Rare, 100.0).unwrap()]));
    assert!(with < 0.3 && with < without - 0.1, "{with} with the constraint, {without} without");
}

#[test]
fn group_means_in_a_configuration_are_heard() {
    let problem = problem(100, 2);
    let features = problem.features.values();
    let rule = ConstraintConfig::GroupMean {
        weight: 100.0,
        feature: "x0".to_owned(),
        threshold: 0.0,
        class: 1,
        above: 0.9,
        below: 0.1,
    };
    let config = LabelFlowClassifier {
        constraints: vec![ConstraintConfig::Range { weight: 10.0 }, ConstraintConfig::SumToOne { weight: 10.0 }, rule],
        ..small(400)
    };
    let model = config.fit(&dataset(&problem)).unwrap();
    let labels = model.predict_proba(&problem.features).unwrap();
    let mean = |above: bool| {
        let members: Vec<f64> =
            (0..100).filter(|&row| (features[[row, 0]] >= 0.0) == above).map(|row| labels.values()[[row, 1]]).collect();
        members.iter().sum::<f64>() / members.len() as f64
    };
    assert!((mean(true) - 0.9).abs() < 0.2, "{}", mean(true));
    assert!((mean(false) - 0.1).abs() < 0.2, "{}", mean(false));
}

struct NotANumber;

impl Constraint for NotANumber {
    fn name(&self) -> String {
        "not-a-number".to_owned()
    }
    fn relation(&self) -> Relation {
        Relation::Equal
    }
    fn residual(&self, labels: &Tensor<2>, _: &Batch<'_>) -> Residual {
        Residual::Overall((labels.clone().sum() * 0.0 - 1.0).log())
    }
}

#[test]
fn a_loss_that_is_no_number_names_its_constraint() {
    let problem = problem(20, 2);
    let penalty = Penalty::new(NotANumber, 1.0).unwrap();
    let error = small(3)
        .fit_with(&dataset(&problem), FitOptions { constraints: vec![penalty], ..FitOptions::default() })
        .unwrap_err();
    assert!(error.to_string().contains("not-a-number term is NaN at epoch 0"), "{error}");
}

/// Ends training after an epoch.
struct Stop(usize);

impl Observer for Stop {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        let done = event.record.epoch == self.0;
        Ok(if done { ControlFlow::Break(StopReason::Interrupted) } else { ControlFlow::Continue(()) })
    }
}

#[test]
fn the_reason_to_stop_is_told() {
    let problem = problem(40, 2);
    let dataset = dataset(&problem);
    let stopped =
        small(10).fit_with(&dataset, FitOptions { observer: Some(&mut Stop(2)), ..FitOptions::default() }).unwrap();
    assert_eq!(stopped.report().stop, StopReason::Interrupted);
    assert_eq!(stopped.report().history.len(), 3);
    assert_eq!(small(3).fit(&dataset).unwrap().report().stop, StopReason::MaxEpochs);
    let mut config = small(10);
    (config.training.min_epochs, config.training.tolerance) = (4, 10.0);
    let report = config.fit(&dataset).unwrap().report().clone();
    assert_eq!((report.stop, report.history.len()), (StopReason::Converged, 5));
}

#[test]
fn without_the_likelihood_its_weight_changes_nothing_else() {
    let problem = problem(60, 2);
    let dataset = dataset(&problem);
    let config = LabelFlowClassifier { likelihood_weight: 0.0, ..small(30) };
    let model = config.fit(&dataset).unwrap();
    let with = small(30).fit(&dataset).unwrap();
    let likelihood = |model: &FittedLabelFlowClassifier| model.report().history[29].terms["likelihood"];
    assert!(likelihood(&with) < likelihood(&model), "the likelihood term pulls when it has a weight");
}

#[test]
fn settings_outside_their_range_are_refused() {
    let problem = problem(20, 2);
    let dataset = dataset(&problem);
    let with = |change: &dyn Fn(&mut LabelFlowClassifier)| {
        let mut config = small(1);
        change(&mut config);
        config.fit(&dataset).map(|_| ()).unwrap_err().to_string()
    };
    assert!(with(&|c| c.n_steps = 0).contains("n_steps"));
    assert!(with(&|c| c.d_hidden = 0).contains("d_hidden"));
    assert!(with(&|c| c.likelihood_weight = f64::NAN).contains("likelihood_weight"));
    assert!(with(&|c| c.training.max_epochs = 0).contains("max_epochs"));
    assert!(with(&|c| c.training.learning_rate = -1.0).contains("learning_rate"));
    assert!(with(&|c| c.training.learning_rate_decay = 1.5).contains("learning_rate_decay"));
    assert!(with(&|c| c.training.betas = [0.9, 1.0]).contains("betas"));
    assert!(with(&|c| c.training.betas = [f64::NAN, 0.9]).contains("betas"));
    assert!(with(&|c| c.training.batch_size = BatchSize::Rows(1)).contains("batch_size"));
    assert!(with(&|c| c.constraints[0] = ConstraintConfig::Range { weight: -1.0 }).contains("range"));
}
