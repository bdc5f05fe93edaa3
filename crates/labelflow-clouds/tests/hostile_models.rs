//! Damaged models, checkpoints and label models are refused or read: no panic, and no memory that a file only claims.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::Path;
use std::process::Command;

use burn::tensor::TensorData;
use labelflow::SavedModel;
use labelflow::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
use labelflow::labelers::LabelerErrors;
use labelflow::learners::{FitOptions, FittedLabelFlowClassifier, FittedLabelFlowRegressor};
use labelflow::storage::{Checkpoint, ModelRecord};
use labelflow::training::BatchSize;
use labelflow::{
    Bounds, Features, LabelFlowClassifier, LabelFlowRegressor, TrainConfig, Votes, WeakDataset, WeakSignals,
};
use labelflow_clouds::completers::{
    AnyCompleter, CodeCompleter, CompletionDataset, CompletionLearner, FittedCodeCompleter, FittedKnowledgeTransfer,
    FittedPointCloudCompleter, FittedShapeInversion, KnowledgeTransfer, PointCloudCompleter, ShapeInversion,
};
use labelflow_data::inputs::SavedLabelModel;
use labelflow_data::synthetic::{PlantedGaussian, PlantedRegression};
use labelflow_testing::damaged;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// Damaged files of each kind, unless the variable LABELFLOW_HOSTILE_CASES says otherwise.
const N_CASES: usize = 200;
/// Kilobytes of virtual memory, with the program itself.
const MEMORY_LIMIT: usize = 1_500_000;

fn n_cases() -> usize {
    std::env::var("LABELFLOW_HOSTILE_CASES").map_or(N_CASES, |text| text.parse().unwrap())
}

fn classification() -> WeakDataset {
    let problem = PlantedGaussian { n_rows: 20, n_signals: 3, d_features: 3, ..Default::default() };
    let problem = problem.generate().unwrap();
    let bounds = Bounds::constant(0.2, &problem.signals).unwrap();
    WeakDataset::new(problem.features, problem.signals, bounds).unwrap()
}

fn training() -> TrainConfig {
    TrainConfig { max_epochs: 3, ..TrainConfig::default() }
}

fn classifier() -> LabelFlowClassifier {
    LabelFlowClassifier { n_steps: 1, d_hidden: 4, training: training(), ..Default::default() }
}

fn regressor() -> (FittedLabelFlowRegressor, Features) {
    let problem = PlantedRegression { n_rows: 20, ..Default::default() }.generate().unwrap();
    let dataset = problem.problem.train;
    let config = LabelFlowRegressor { n_steps: 1, d_hidden: 4, training: training(), ..Default::default() };
    (config.fit(&dataset).unwrap(), dataset.features().clone())
}

fn shapes() -> CompletionDataset {
    let furniture =
        labelflow_clouds::shapes::Furniture { category: labelflow_clouds::shapes::FurnitureCategory::Table, seed: 0 };
    let shapes = (0..3).map(|index| furniture.model("train", index).unwrap().shape(2).unwrap());
    CompletionDataset::from_parts(shapes.collect(), 0).unwrap()
}

fn completer() -> FittedPointCloudCompleter {
    let mut config = PointCloudCompleter {
        n_partial_points: 8,
        n_points: 16,
        n_steps: 1,
        d_hidden: 4,
        d_latent: 2,
        feature_widths: vec![4, 4],
        discriminator_widths: vec![4, 4],
        discriminator_head: vec![4],
        ..PointCloudCompleter::small()
    };
    config.training.max_epochs = 1;
    config.training.batch_size = 2;
    config.fit(&shapes()).unwrap()
}

fn code_completer() -> FittedCodeCompleter {
    let mut config = CodeCompleter {
        n_partial_points: 8,
        n_points: 16,
        encoder_widths: vec![4, 4],
        decoder_widths: vec![4],
        d_noise: 2,
        generator_widths: vec![4],
        discriminator_widths: vec![4],
        ..CodeCompleter::mm_pcl2pcl().small()
    };
    for stage in [&mut config.autoencoder, &mut config.variational, &mut config.players] {
        stage.max_epochs = 1;
    }
    config.fit(&shapes()).unwrap()
}

fn inversion() -> FittedShapeInversion {
    let mut config = ShapeInversion {
        n_partial_points: 8,
        d_noise: 2,
        generator_widths: vec![3],
        degrees: vec![2, 8],
        discriminator_widths: vec![4],
        discriminator_head: vec![3],
        ..ShapeInversion::default().small()
    };
    config.training.max_epochs = 1;
    config.fit(&shapes()).unwrap()
}

fn transfer() -> FittedKnowledgeTransfer {
    let mut config = KnowledgeTransfer {
        n_partial_points: 8,
        n_points: 16,
        encoder_widths: [3, 4, 5],
        d_code: 4,
        d_fine: 3,
        discriminator_widths: vec![4],
        ..KnowledgeTransfer::default().small()
    };
    config.training.max_epochs = 1;
    config.fit(&shapes()).unwrap()
}

fn each_case(name: &str, valid: &[Vec<u8>], mut read: impl FnMut(&[u8])) -> usize {
    eprint!("{name}: ");
    for case in 0..n_cases() {
        let mut rng = ChaCha8Rng::seed_from_u64(case as u64);
        read(&damaged(&valid[rng.random_range(0..valid.len())], valid, &mut rng));
    }
    eprintln!("{}", n_cases());
    n_cases()
}

/// A model in memory as format 1 has it, which has no hash of its values, so that they are looked at.
fn unhashed(mut bytes: Vec<u8>) -> Vec<u8> {
    let format = b"format = 2";
    let place = bytes.windows(format.len()).position(|part| part == format).expect("a model of format 2");
    bytes[place + format.len() - 1] = b'1';
    bytes
}

/// A model folder: weights, which `model.toml` gets the hash of, so that they are looked at, and it as well.
fn write_folder(folder: &Path, model: &[u8], weights: &[u8], metrics: &[u8]) {
    let digest: String = Sha256::digest(weights).iter().map(|byte| format!("{byte:02x}")).collect();
    let model = String::from_utf8_lossy(model).replace("format = 2", "format = 1");
    let model = match model.split_once("weights_sha256 = \"") {
        Some((before, after)) => match after.split_once('"') {
            Some((_, after)) => format!("{before}weights_sha256 = \"{digest}\"{after}"),
            None => model.clone(),
        },
        None => model.clone(),
    };
    std::fs::write(folder.join("model.toml"), model).unwrap();
    std::fs::write(folder.join("weights.safetensors"), weights).unwrap();
    std::fs::write(folder.join("metrics.jsonl"), metrics).unwrap();
}

/// Run by [`damaged_models_within_limits`].
#[test]
#[ignore = "run by damaged_models_within_limits, under a limit on memory"]
fn damaged_models() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = classification();
    let features = dataset.features();
    let model = classifier().fit(&dataset).unwrap();
    let mut n_all = 0;

    let try_classifier = |model: labelflow::Result<FittedLabelFlowClassifier>| {
        if let Ok(model) = model {
            let _ = model.predict_proba(features);
        }
    };
    n_all += each_case("classifier in memory", &[unhashed(model.to_bytes())], |bytes| {
        try_classifier(FittedLabelFlowClassifier::from_bytes(bytes));
    });
    model.save(folder.path()).unwrap();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let files = ["model.toml", "weights.safetensors", "metrics.jsonl"].map(read);
    for (place, name) in ["model.toml", "weights", "metrics"].into_iter().enumerate() {
        n_all += each_case(name, &files[place..=place], |bytes| {
            let mut files = files.clone();
            files[place] = bytes.to_vec();
            write_folder(folder.path(), &files[0], &files[1], &files[2]);
            let _ = ModelRecord::read(folder.path());
            try_classifier(FittedLabelFlowClassifier::load(folder.path()));
        });
    }

    let (model, features) = regressor();
    n_all += each_case("regressor in memory", &[unhashed(model.to_bytes())], |bytes| {
        if let Ok(model) = FittedLabelFlowRegressor::from_bytes(bytes) {
            let _ = model.predict_distribution(&features);
        }
    });
    n_all += each_case("completer in memory", &[unhashed(completer().to_bytes())], |bytes| {
        let _ = FittedPointCloudCompleter::from_bytes(bytes);
    });
    n_all += each_case("code completer in memory", &[unhashed(code_completer().to_bytes())], |bytes| {
        let _ = FittedCodeCompleter::from_bytes(bytes);
    });
    n_all += each_case("shape inversion in memory", &[unhashed(inversion().to_bytes())], |bytes| {
        let _ = FittedShapeInversion::from_bytes(bytes);
    });
    n_all += each_case("knowledge transfer in memory", &[unhashed(transfer().to_bytes())], |bytes| {
        let _ = AnyCompleter::from_bytes(bytes);
    });
    n_all += damaged_checkpoints(folder.path(), &dataset);
    n_all += damaged_label_models();
    eprintln!("{n_all} damaged models and checkpoints: each was read or refused");
}

/// Checkpoints of the right run: training goes on from them or refuses them.
fn damaged_checkpoints(folder: &Path, dataset: &WeakDataset) -> usize {
    let path = folder.join("checkpoint.safetensors");
    let config = classifier();
    let mut watcher = labelflow::training::CheckpointFile { path: path.clone(), every: 1 };
    config.fit_with(dataset, FitOptions { observer: Some(&mut watcher), ..FitOptions::default() }).unwrap();
    let checkpoint = std::fs::read(&path).unwrap();
    each_case("checkpoint", &[checkpoint], |bytes| {
        std::fs::write(&path, bytes).unwrap();
        if let Ok(checkpoint) = Checkpoint::load(&path) {
            let _ = config.fit_with(dataset, FitOptions { checkpoint: Some(checkpoint), ..FitOptions::default() });
        }
    })
}

fn damaged_label_models() -> usize {
    let votes = ndarray::array![[0, 1, -1], [1, 1, 0], [0, 0, 0], [1, -1, 1]];
    let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None).unwrap()).unwrap();
    let known = KnownOfLabelers {
        errors: Some(LabelerErrors::per_labeler(&[0.2; 3], 2).unwrap()),
        bounds: Some(Bounds::constant(0.2, &signals).unwrap()),
        labels: None,
    };
    let valid: Vec<Vec<u8>> = AnyLabelModel::NAMES
        .iter()
        .map(|name| {
            let fitted = AnyLabelModel::from_name(name).unwrap().fit(&signals, &known).unwrap();
            SavedLabelModel::new(fitted, &signals).to_json().unwrap().into_bytes()
        })
        .collect();
    each_case("label models", &valid, |bytes| {
        if let Ok(model) = SavedLabelModel::from_json(&String::from_utf8_lossy(bytes)) {
            let _ = model.predict_proba(&signals);
        }
    })
}

#[cfg(unix)]
#[test]
fn damaged_models_within_limits() {
    let script = format!("ulimit -v {MEMORY_LIMIT}; exec \"$0\" --ignored --exact --nocapture damaged_models");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env("RAYON_NUM_THREADS", "2")
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    eprintln!("{}", stderr.trim());
}

#[test]
fn checkpoints_of_other_shapes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let dataset = classification();
    let training = TrainConfig { batch_size: BatchSize::Rows(8), ..training() };
    let config = LabelFlowClassifier { training, ..classifier() };
    let mut watcher = labelflow::training::CheckpointFile { path: path.clone(), every: 1 };
    config.fit_with(&dataset, FitOptions { observer: Some(&mut watcher), ..FitOptions::default() }).unwrap();
    let good = Checkpoint::load(&path).unwrap();
    let go_on = |checkpoint: &Checkpoint| {
        config
            .fit_with(&dataset, FitOptions { checkpoint: Some(checkpoint.clone()), ..FitOptions::default() })
            .map(|_| ())
    };
    go_on(&good).unwrap();
    let shorter = TensorData::new(vec![0_f32; 3], [3]);
    let mut wrong = vec![good.clone(); 6];
    wrong[0].optimizers[0].first_moment = shorter.clone();
    wrong[1].optimizers[0].second_moment = shorter.clone();
    wrong[2].optimizers.clear();
    wrong[3].memory.values_mut().for_each(|labels| *labels = shorter.clone());
    wrong[4].state.values_mut().for_each(|weights| *weights = shorter.clone());
    wrong[5].state.clear();
    for (index, checkpoint) in wrong.iter().enumerate() {
        let error = go_on(checkpoint).expect_err(&index.to_string()).to_string();
        assert!(error.contains("checkpoint: expected"), "{index}: {error}");
    }
    // A single bit of a file is noticed.
    let bytes = std::fs::read(&path).unwrap();
    for place in [bytes.len() - 1, bytes.len() / 2] {
        let mut bytes = bytes.clone();
        bytes[place] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = Checkpoint::load(&path).unwrap_err().to_string();
        assert!(error.contains("whole") || error.contains("checkpoint"), "{error}");
    }
}

#[test]
fn settings_that_claim_a_huge_network() {
    let folder = tempfile::tempdir().unwrap();
    classifier().fit(&classification()).unwrap().save(folder.path()).unwrap();
    let text = std::fs::read_to_string(folder.path().join("model.toml")).unwrap().replace("format = 2", "format = 1");
    for (from, to) in [
        ("d_hidden = 4", "d_hidden = 4000000000"),
        ("n_steps = 1", "n_steps = 4000000000"),
        ("n_steps = 1", "n_steps = 9223372036854775807"),
    ] {
        assert!(text.contains(from), "{text}");
        std::fs::write(folder.path().join("model.toml"), text.replace(from, to)).unwrap();
        let error = FittedLabelFlowClassifier::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("the weights that model.toml describes"), "{error}");
    }
    let many = text.replace("n_samples = 10", "n_samples = 4000000000");
    std::fs::write(folder.path().join("model.toml"), many).unwrap();
    let error = FittedLabelFlowClassifier::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("n_samples: expected at most 100000"), "{error}");
}
