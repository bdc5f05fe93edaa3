//! A model on disk: a folder with `model.toml`, `weights.safetensors` and `metrics.jsonl`.
//!
//! `model.toml` carries the digest of its weights. All files are first written beside their places, then the weights are moved, then
//! `model.toml`, then the metrics, which nothing but people depend on; whichever of the two `model.toml` fits the weights that are there is the valid one, so that a crash at any moment leaves
//! either the old or the new model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::Module;
use labelflow_files::{FolderLock, sha256_hex};
use labelflow_flow::{State, load_state, state};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::checkpoint::{from_safetensors, to_safetensors};
use crate::learners::Scaler;
use crate::training::{EpochRecord, Report, StopReason};
use crate::{Error, Result};

/// The version of the format; a model of a later one is refused.
const FORMAT: u32 = 1;
pub(super) const MODEL: &str = "model.toml";
const MODEL_NEW: &str = "model.toml.new";
pub(crate) const WEIGHTS: &str = "weights.safetensors";
const WEIGHTS_NEW: &str = "weights.safetensors.new";
const METRICS: &str = "metrics.jsonl";
const METRICS_NEW: &str = "metrics.jsonl.new";
/// How often a model is read again that seems to be damaged, and how long it is left alone in between.
const READS: usize = 2;
const BETWEEN_READS: std::time::Duration = std::time::Duration::from_millis(10);
/// The place that errors about a model in memory name.
const IN_MEMORY: &str = "model";

/// What a model was trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelTask {
    /// Classes from weak signals.
    Classification,
    /// Real values from rules.
    Regression,
    /// Complete point clouds from partial ones.
    Completion,
    /// The same, by the codes of an autoencoder.
    CodeCompletion,
    /// The same, by a generator that is bent to each scan.
    InversionCompletion,
    /// The same, by what complete clouds taught a decoder of both.
    TransferCompletion,
}

impl ModelTask {
    /// The task of the model in a folder.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let path = manifest_paths(folder)?.into_iter().find(|path| path.exists());
        Ok(read_head(&path.expect("one of them exists"))?.task)
    }

    /// The task of a model in memory, as `to_bytes` of every saved model wrote it.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let place = Path::new(IN_MEMORY);
        Ok(head_of(place, &metadata_of(place, bytes)?.1)?.task)
    }

    /// Whether models of this task complete point clouds.
    pub fn is_completion(self) -> bool {
        !matches!(self, Self::Classification | Self::Regression)
    }
}

impl std::fmt::Display for ModelTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Classification => "classification",
            Self::Regression => "regression",
            Self::Completion => "completion",
            Self::CodeCompletion => "code-completion",
            Self::InversionCompletion => "inversion-completion",
            Self::TransferCompletion => "transfer-completion",
        })
    }
}

/// What `model.toml` holds: `D` is what the labels are, `C` the settings.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest<D, C> {
    format: u32,
    task: ModelTask,
    labelflow: String,
    weights_sha256: String,
    n_epochs: usize,
    stop: StopReason,
    /// The names of the features.
    pub features: Vec<String>,
    /// What the labels are.
    #[serde(flatten)]
    pub labels: D,
    /// Where the model came from, as whoever trained it tells. Before the settings, so that a file that is cut lacks those and is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<toml::Table>,
    /// How features are scaled.
    pub scaler: Option<Scaler>,
    /// The settings.
    pub config: C,
}

/// What a model in memory holds beside its weights.
#[derive(Serialize, Deserialize)]
struct Packed<D, C> {
    history: Vec<EpochRecord>,
    #[serde(flatten)]
    manifest: Manifest<D, C>,
}

/// A fitted model that can be saved: how it is taken apart and put together.
pub trait SavedModel: Sized {
    /// What it was trained for.
    const TASK: ModelTask;
    /// What the labels are.
    type Labels: Serialize + DeserializeOwned;
    /// The settings.
    type Config: Serialize + DeserializeOwned + Clone;
    /// What is trained.
    type Network: Module;

    /// The trained network.
    fn network(&self) -> &Self::Network;
    /// The course of training.
    fn report(&self) -> &Report;
    /// The settings.
    fn config(&self) -> &Self::Config;
    /// The names of the features.
    fn features(&self) -> Vec<String>;
    /// What the labels are.
    fn labels(&self) -> Self::Labels;
    /// How features are scaled.
    fn scaler(&self) -> Option<Scaler> {
        None
    }
    /// How many numbers a network of the shape that the manifest describes has at the least; none if there is no such number.
    fn n_weights_at_least(manifest: &Manifest<Self::Labels, Self::Config>) -> Option<usize>;
    /// A network of the shape that the manifest describes, on the cpu.
    fn empty_network(manifest: &Manifest<Self::Labels, Self::Config>) -> Result<Self::Network>;
    /// The model, on the cpu.
    fn assemble(manifest: Manifest<Self::Labels, Self::Config>, network: Self::Network, report: Report) -> Self;

    /// Writes the model into a folder, replacing a model that is there.
    fn save(&self, folder: &Path) -> Result<()> {
        save(self, folder, None)
    }

    /// As [`save`](Self::save), with a table `origin` in `model.toml`: what is to be remembered of where the model came from.
    /// [`ModelRecord`](crate::storage::ModelRecord) reads it.
    fn save_with_origin(&self, folder: &Path, origin: &impl Serialize) -> Result<()> {
        let origin = toml::Table::try_from(origin).map_err(|error| Error::data("origin", "a table", error))?;
        save(self, folder, Some(origin))
    }

    /// Reads a model, onto the device cpu.
    fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(WEIGHTS);
        let (weights, manifest_path) = read_weights(folder, &path)?;
        let manifest = read_for(&manifest_path, &read_text(&manifest_path)?, Self::TASK)?;
        let (state, _): (State, _) = from_safetensors(&path, &weights)?;
        put_together(manifest, state, read_metrics(&folder.join(METRICS))?, &manifest_path, &path)
    }

    /// The model as one file in memory: its weights as safetensors, with what else a model folder holds as metadata.
    fn to_bytes(&self) -> Vec<u8> {
        let digest = sha256_hex(weights_of(self.network(), None));
        let history = self.report().history.clone();
        let packed = Packed { history, manifest: manifest_of_model(self, digest, None) };
        let metadata = toml::to_string(&packed).expect("a manifest can be written as TOML");
        weights_of(self.network(), Some(metadata))
    }

    /// The model that [`to_bytes`](Self::to_bytes) wrote, on the device cpu.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let place = Path::new(IN_MEMORY);
        let (state, metadata) = metadata_of(place, bytes)?;
        let packed: Packed<Self::Labels, Self::Config> = read_for(place, &metadata, Self::TASK)?;
        let digest = packed.manifest.weights_sha256.clone();
        let model: Self = put_together(packed.manifest, state, packed.history, place, place)?;
        if sha256_hex(weights_of(model.network(), None)) != digest {
            return Err(foreign(place, "weights of another one"));
        }
        Ok(model)
    }
}

fn manifest_of_model<M: SavedModel>(
    model: &M,
    weights_sha256: String,
    origin: Option<toml::Table>,
) -> Manifest<M::Labels, M::Config> {
    Manifest {
        format: FORMAT,
        task: M::TASK,
        labelflow: env!("CARGO_PKG_VERSION").to_owned(),
        weights_sha256,
        n_epochs: model.report().history.len(),
        stop: model.report().stop,
        features: model.features(),
        labels: model.labels(),
        origin,
        scaler: model.scaler(),
        config: model.config().clone(),
    }
}

/// The part of `model.toml` that all versions share.
#[derive(Deserialize)]
struct Version {
    format: u32,
    labelflow: String,
}

/// The part that models of all tasks share.
#[derive(Deserialize)]
pub(crate) struct Head {
    pub(crate) task: ModelTask,
    weights_sha256: String,
}

fn save<M: SavedModel>(model: &M, folder: &Path, origin: Option<toml::Table>) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder, "creating the folder"))?;
    let _lock = FolderLock::wait_to_save(folder).map_err(Error::io(folder, "locking"))?;
    let weights = weights_of(model.network(), None);
    let manifest = manifest_of_model(model, sha256_hex(&weights), origin);
    let manifest = toml::to_string(&manifest).expect("a manifest can be written as TOML");
    let metrics: String = model
        .report()
        .history
        .iter()
        .map(|record| serde_json::to_string(record).expect("numbers and names") + "\n")
        .collect();
    settle(folder)?;
    let files =
        [(WEIGHTS_NEW, weights.as_slice()), (MODEL_NEW, manifest.as_bytes()), (METRICS_NEW, metrics.as_bytes())];
    for (name, contents) in files {
        if let Err(error) = labelflow_files::replace(&folder.join(name), contents) {
            // Nothing was replaced yet: the old model stays, and nothing of the new one.
            for (name, _) in files {
                let _ = std::fs::remove_file(folder.join(name));
            }
            return Err(Error::io(&folder.join(name), "writing")(error));
        }
    }
    rename(folder, WEIGHTS_NEW, WEIGHTS)?;
    rename(folder, MODEL_NEW, MODEL)?;
    rename(folder, METRICS_NEW, METRICS)?;
    labelflow_files::sync_folder(folder);
    Ok(())
}

/// The weights, and the path of the `model.toml` that describes them.
///
/// A save may move both between two reads: then it is tried again.
pub(crate) fn read_weights(folder: &Path, path: &Path) -> Result<(Vec<u8>, PathBuf)> {
    let read = || -> Result<_> {
        let manifests = manifest_paths(folder)?;
        let weights = std::fs::read(path).map_err(Error::io(path, "reading"))?;
        let manifest = manifest_of(&manifests, path, &sha256_hex(&weights))?;
        Ok((weights, manifest))
    };
    for _ in 0..READS {
        if let Ok(found) = read() {
            return Ok(found);
        }
        std::thread::sleep(BETWEEN_READS);
    }
    read()
}

/// A model from its parts; errors name the places that they came from.
fn put_together<M: SavedModel>(
    manifest: Manifest<M::Labels, M::Config>,
    state: State,
    history: Vec<EpochRecord>,
    manifest_place: &Path,
    weights_place: &Path,
) -> Result<M> {
    let broken = |error: Error| Error::format(manifest_place, "a usable model", error);
    // Before a network is made: what a setting claims must not decide how much memory it takes.
    let n_weights: usize = state.values().map(|data| data.num_elements()).sum();
    if M::n_weights_at_least(&manifest).is_none_or(|least| least > n_weights) {
        let expected = format!("the weights that {MODEL} describes");
        let found = format!("{n_weights} numbers, which are too few");
        return Err(Error::format(weights_place, expected, found));
    }
    let network = M::empty_network(&manifest).map_err(broken)?;
    let network = load_state(network, state)
        .map_err(|error| Error::format(weights_place, format!("the weights that {MODEL} describes"), error))?;
    let report = Report { history, stop: manifest.stop };
    Ok(M::assemble(manifest, network, report))
}

/// The numbers of the two layers of feature-side networks, of which every step has at least one.
pub fn n_hidden_weights(n_steps: usize, d_hidden: usize, d_seen: usize) -> Option<usize> {
    n_steps.checked_mul(d_hidden)?.checked_mul(d_hidden.checked_add(d_seen)?)
}

/// The weights of layers from each of these widths to the next, without biases.
pub fn n_products(widths: &[usize]) -> Option<usize> {
    widths.windows(2).try_fold(0, |n: usize, pair| n.checked_add(pair[0].checked_mul(pair[1])?))
}

/// The weights as safetensors.
fn weights_of<M: Module>(network: &M, metadata: Option<String>) -> Vec<u8> {
    let state = state(network);
    let tensors: BTreeMap<String, _> = state.iter().map(|(name, data)| (name.clone(), data)).collect();
    to_safetensors(&tensors, metadata)
}

/// The tensors of a model in memory, and what else it holds.
fn metadata_of(place: &Path, bytes: &[u8]) -> Result<(State, String)> {
    let (state, metadata) = from_safetensors(place, bytes)?;
    let metadata = metadata.ok_or_else(|| foreign(place, "tensors without metadata"))?;
    Ok((state, metadata))
}

fn foreign(place: &Path, found: &str) -> Error {
    Error::format(place, "a model of labelflow", found)
}

/// The places of `model.toml`, at least one of which exists.
fn manifest_paths(folder: &Path) -> Result<[PathBuf; 2]> {
    let paths = [MODEL, MODEL_NEW].map(|name| folder.join(name));
    if paths.iter().any(|path| path.exists()) {
        return Ok(paths);
    }
    let found = if folder.is_dir() { "a folder without it" } else { "no folder" };
    Err(Error::format(folder, format!("a model folder with {MODEL}, as `fit` writes it"), found))
}

/// Ends what a save that was killed between its two moves left: its `model.toml` is still beside its place, though the weights are its own.
fn settle(folder: &Path) -> Result<()> {
    let Ok(weights) = std::fs::read(folder.join(WEIGHTS)) else {
        return Ok(());
    };
    match read_head(&folder.join(MODEL_NEW)) {
        Ok(head) if head.weights_sha256 == sha256_hex(&weights) => rename(folder, MODEL_NEW, MODEL),
        _ => Ok(()),
    }
}

/// The `model.toml` that belongs to these weights.
fn manifest_of(paths: &[PathBuf], weights: &Path, digest: &str) -> Result<PathBuf> {
    let mut failure = None;
    for path in paths.iter().filter(|path| path.exists()) {
        match read_head(path) {
            Ok(head) if head.weights_sha256 == digest => return Ok(path.clone()),
            Ok(head) => {
                let expected =
                    format!("the weights that {} names, with sha256 {}", path.display(), head.weights_sha256);
                let found = format!("sha256 {digest}, as if cut off or of another model");
                failure.get_or_insert(Error::format(weights, expected, found));
            }
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    Err(failure.expect("one of the manifests exists, and it did not fit"))
}

fn read_head(path: &Path) -> Result<Head> {
    head_of(path, &read_text(path)?)
}

/// What all versions share is read first: a later format may have other fields.
pub(crate) fn head_of(place: &Path, text: &str) -> Result<Head> {
    let version: Version = parse(place, text)?;
    if version.format > FORMAT {
        let found = format!("format {}, written by labelflow {}", version.format, version.labelflow);
        return Err(Error::format(place, format!("format {FORMAT} or earlier"), found));
    }
    parse(place, text)
}

/// What `text` holds, which must be about a model for this task.
fn read_for<T: DeserializeOwned>(place: &Path, text: &str, task: ModelTask) -> Result<T> {
    let found = head_of(place, text)?.task;
    match found == task {
        true => parse(place, text),
        false => Err(Error::format(place, format!("a model for {task}"), format!("one for {found}"))),
    }
}

pub(crate) fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(Error::io(path, "reading"))
}

pub(crate) fn parse<T: DeserializeOwned>(place: &Path, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| Error::format(place, "a model of labelflow", error.message()))
}

fn read_metrics(path: &Path) -> Result<Vec<EpochRecord>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_text(path)?;
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let expected = format!("the numbers of an epoch in line {}", index + 1);
            Error::format(path, expected, error)
        })
    };
    text.lines().enumerate().map(parse).collect()
}

fn rename(folder: &Path, from: &str, to: &str) -> Result<()> {
    let path = folder.join(to);
    std::fs::rename(folder.join(from), &path).map_err(Error::io(&path, "writing"))
}
