//! A model on disk: a folder with `model.toml`, `weights.safetensors` and `metrics.jsonl`.
//!
//! `model.toml` carries the hashes of the weights, of the metrics and of its own values. All files are first written beside their places,
//! then the weights are moved, then `model.toml`, then the metrics, which nothing but people depend on; whichever of the two `model.toml`
//! fits the weights that are there is the valid one, so that a crash at any moment leaves either the old or the new model.
//!
//! A reader opens each file once and keeps what it read: a model that is replaced meanwhile is the old or the new one, never a mixture.

use std::path::{Path, PathBuf};
use std::time::Duration;

use labelflow_files::{FolderLock, sha256_hex};
use labelflow_flow::State;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::checkpoint::{from_safetensors, to_safetensors};
use super::model_record::ModelRecord;
use super::saved_model::{SavedModel, put_together};
use crate::training::EpochRecord;
use crate::{Error, Result};

pub(super) const MODEL: &str = "model.toml";
const MODEL_NEW: &str = "model.toml.new";
const WEIGHTS: &str = "weights.safetensors";
const WEIGHTS_NEW: &str = "weights.safetensors.new";
const METRICS: &str = "metrics.jsonl";
const METRICS_NEW: &str = "metrics.jsonl.new";
/// Files that do not fit are being replaced, and read again, until they are found with the same fault so many times in a row.
const READS_OF_A_FAULT: usize = 3;
const MOST_READS: usize = 100;
const BETWEEN_READS: Duration = Duration::from_millis(10);
/// The place that errors about a model in memory name.
const IN_MEMORY: &str = "model";

/// What is stored of a model, read once and found to belong together.
///
/// What kind of model it is can be asked before it is put together:
///
/// ```
/// # use labelflow::learners::FittedLabelFlowClassifier;
/// # use labelflow::storage::{ModelFiles, ModelTask};
/// # fn run(folder: &std::path::Path) -> labelflow::Result<()> {
/// let files = ModelFiles::read(folder)?;
/// if files.record().task == ModelTask::Classification {
///     let model: FittedLabelFlowClassifier = files.into_model()?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ModelFiles {
    record: ModelRecord,
    /// The text of `model.toml`, and where it was.
    manifest: String,
    manifest_place: PathBuf,
    weights: State,
    weights_place: PathBuf,
    history: Result<Vec<EpochRecord>>,
}

impl ModelFiles {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let (mut last_fault, mut n_same) = (String::new(), 0);
        for _ in 0..MOST_READS {
            let files = Self::read_once(folder);
            let fault = match &files {
                Ok(Self { history: Ok(_), .. }) => return files,
                Ok(Self { history: Err(fault), .. }) | Err(fault) => fault.to_string(),
            };
            n_same = if fault == last_fault { n_same + 1 } else { 1 };
            if n_same == READS_OF_A_FAULT {
                return files;
            }
            last_fault = fault;
            std::thread::sleep(BETWEEN_READS);
        }
        Self::read_once(folder)
    }

    fn read_once(folder: &Path) -> Result<Self> {
        let manifests = manifest_paths(folder)?;
        let weights_place = folder.join(WEIGHTS);
        let weights = std::fs::read(&weights_place).map_err(Error::io(&weights_place, "reading"))?;
        let (manifest_place, manifest, record) = manifest_of(&manifests, &weights_place, &sha256_hex(&weights))?;
        let (weights, _) = from_safetensors(&weights_place, &weights)?;
        let history = read_history(folder, &record);
        Ok(Self { record, manifest, manifest_place, weights, weights_place, history })
    }

    /// What [`SavedModel::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct History {
            history: Vec<EpochRecord>,
        }
        let place = Path::new(IN_MEMORY);
        let foreign = |found| Error::format(place, "a model of labelflow", found);
        let (weights, metadata) = from_safetensors(place, bytes)?;
        let manifest = metadata.ok_or_else(|| foreign("tensors without metadata"))?;
        let record = ModelRecord::of_text(place, &manifest)?;
        if sha256_hex(to_safetensors(&weights, None)) != record.weights_sha256 {
            return Err(foreign("weights of another one"));
        }
        let History { history } = parse(place, &manifest)?;
        let [manifest_place, weights_place] = [(); 2].map(|()| place.to_owned());
        Ok(Self { record, manifest, manifest_place, weights, weights_place, history: Ok(history) })
    }

    /// What the model was trained for, and how.
    pub fn record(&self) -> &ModelRecord {
        &self.record
    }

    pub(super) fn into_record(self) -> ModelRecord {
        self.record
    }

    /// What `model.toml` says, as far as a type asks for it.
    pub fn manifest<T: DeserializeOwned>(&self) -> Result<T> {
        parse(&self.manifest_place, &self.manifest)
    }

    /// The course of training. No prediction depends on it: a folder may have lost its `metrics.jsonl`, or have another model's.
    pub fn history(&self) -> Result<&[EpochRecord], &Error> {
        self.history.as_deref()
    }

    /// The model, on the device cpu.
    pub fn into_model<M: SavedModel>(self) -> Result<M> {
        let places = [self.manifest_place.as_path(), self.weights_place.as_path()];
        let (expected, found) = (M::TASK, self.record.task);
        if found != expected {
            let expected = format!("a model for {expected}");
            return Err(Error::format(&self.manifest_place, expected, format!("one for {found}")));
        }
        let history = self.history.unwrap_or_default();
        put_together(parse(&self.manifest_place, &self.manifest)?, self.weights, history, places)
    }
}

/// Writes a model into a folder, replacing a model that is there. Metrics that were lost are not written.
pub(super) fn write_model_files(folder: &Path, weights: &[u8], manifest: &str, metrics: Option<&str>) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder, "creating the folder"))?;
    let _lock = FolderLock::wait_to_save(folder).map_err(Error::io(folder, "locking"))?;
    settle(folder)?;
    let mut files = vec![(WEIGHTS_NEW, WEIGHTS, weights), (MODEL_NEW, MODEL, manifest.as_bytes())];
    files.extend(metrics.map(|metrics| (METRICS_NEW, METRICS, metrics.as_bytes())));
    for (new, _, contents) in &files {
        if let Err(error) = labelflow_files::replace(&folder.join(new), contents) {
            // Nothing was replaced yet: the old model stays, and nothing of the new one.
            for (new, ..) in &files {
                let _ = std::fs::remove_file(folder.join(new));
            }
            return Err(Error::io(&folder.join(new), "writing")(error));
        }
    }
    for (new, name, _) in files {
        rename(folder, new, name)?;
    }
    labelflow_files::sync_folder(folder);
    Ok(())
}

/// Ends what a save that was killed between its two moves left: its `model.toml` is still beside its place, though the weights are its own.
fn settle(folder: &Path) -> Result<()> {
    let Ok(weights) = std::fs::read(folder.join(WEIGHTS)) else {
        return Ok(());
    };
    match manifest_at(&folder.join(MODEL_NEW)) {
        Ok((_, record)) if record.weights_sha256 == sha256_hex(&weights) => rename(folder, MODEL_NEW, MODEL),
        _ => Ok(()),
    }
}

fn rename(folder: &Path, from: &str, to: &str) -> Result<()> {
    let path = folder.join(to);
    std::fs::rename(folder.join(from), &path).map_err(Error::io(&path, "writing"))
}

/// The places of `model.toml` at which there is one.
fn manifest_paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = [MODEL, MODEL_NEW].map(|name| folder.join(name)).into();
    paths.retain(|path| path.exists());
    if paths.is_empty() {
        let found = if folder.is_dir() { "a folder without it" } else { "no folder" };
        return Err(Error::format(folder, format!("a model folder with {MODEL}, as `fit` writes it"), found));
    }
    Ok(paths)
}

/// The `model.toml` that belongs to weights with this hash: its place, its text and what it says.
fn manifest_of(paths: &[PathBuf], weights: &Path, sha256: &str) -> Result<(PathBuf, String, ModelRecord)> {
    let mut failure = None;
    for path in paths {
        match manifest_at(path) {
            Ok((text, record)) if record.weights_sha256 == sha256 => return Ok((path.clone(), text, record)),
            Ok((_, record)) => {
                let expected =
                    format!("the weights that {} names, with sha256 {}", path.display(), record.weights_sha256);
                let found = format!("sha256 {sha256}, as if cut off or of another model");
                failure.get_or_insert(Error::format(weights, expected, found));
            }
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    Err(failure.expect("one of the manifests exists, and it did not fit"))
}

fn manifest_at(path: &Path) -> Result<(String, ModelRecord)> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path, "reading"))?;
    let record = ModelRecord::of_text(path, &text)?;
    Ok((text, record))
}

/// The metrics that belong to a model.
fn read_history(folder: &Path, record: &ModelRecord) -> Result<Vec<EpochRecord>> {
    let read = |name: &str| {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path, "reading"))?;
        let history = parse_history(&path, &text);
        let is_its_own = match &record.metrics_sha256 {
            Some(sha256) => sha256_hex(&text) == *sha256,
            // Format 1 has no hash of them.
            None => record.format == 1 && history.as_ref().is_ok_and(|history| history.len() == record.n_epochs),
        };
        match is_its_own {
            true => history,
            false => {
                let expected = format!("the {} epochs of the model beside it", record.n_epochs);
                history.and(Err(Error::format(&path, expected, "others")))
            }
        }
    };
    read(METRICS).or_else(|error| read(METRICS_NEW).map_err(|_| error))
}

fn parse_history(path: &Path, text: &str) -> Result<Vec<EpochRecord>> {
    let line = |(index, line): (usize, &str)| {
        let expected = format!("the numbers of an epoch in line {}", index + 1);
        serde_json::from_str(line).map_err(|error| Error::format(path, expected, error))
    };
    text.lines().enumerate().map(line).collect()
}

pub(super) fn parse<T: DeserializeOwned>(place: &Path, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| Error::format(place, "a model of labelflow", error.message()))
}
