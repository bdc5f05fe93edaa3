//! Small valid models and checkpoints.

use labelflow::learners::FitOptions;
use labelflow::training::CheckpointFile;
use labelflow::{LabelFlowClassifier, LabelFlowRegressor, SavedModel, TrainConfig};
use labelflow_data::synthetic::{PlantedGaussian, PlantedRegression};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::rows::WeakDataset;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The files of each target.
pub fn all() -> Result<[(&'static str, Vec<Vec<u8>>); 2]> {
    Ok([
        ("model", vec![unhashed(classifier().fit(&dataset()?)?.to_bytes()), unhashed(regressor()?)]),
        ("checkpoint", vec![checkpoint()?]),
    ])
}

/// A model as format 1 has it: without a hash of its values, which no fuzzer would guess.
fn unhashed(mut bytes: Vec<u8>) -> Vec<u8> {
    let format = b"format = 2";
    let place = bytes.windows(format.len()).position(|part| part == format).expect("a model of format 2");
    bytes[place + format.len() - 1] = b'1';
    bytes
}

fn dataset() -> Result<WeakDataset> {
    let planted = PlantedGaussian { n_rows: 20, n_signals: 3, d_features: 3, ..Default::default() };
    let problem = planted.generate()?;
    let bounds = Bounds::constant(0.2, &problem.signals)?;
    Ok(WeakDataset::new(problem.features, problem.signals, bounds)?)
}

fn training() -> TrainConfig {
    TrainConfig { max_epochs: 1, ..TrainConfig::default() }
}

fn classifier() -> LabelFlowClassifier {
    LabelFlowClassifier { n_steps: 1, d_hidden: 2, training: training(), ..Default::default() }
}

fn regressor() -> Result<Vec<u8>> {
    let planted = PlantedRegression { n_rows: 20, ..Default::default() }.generate()?;
    let config = LabelFlowRegressor { n_steps: 1, d_hidden: 2, training: training(), ..Default::default() };
    Ok(config.fit(&planted.problem.train)?.to_bytes())
}

fn checkpoint() -> Result<Vec<u8>> {
    let path = labelflow_fuzz::folder().join("seed.safetensors");
    let mut watcher = CheckpointFile { path: path.clone(), every: 1 };
    let options = FitOptions { observer: Some(&mut watcher), ..FitOptions::default() };
    classifier().fit_with(&dataset()?, options)?;
    Ok(std::fs::read(path)?)
}
