//! A model on disk: a folder with `model.toml`, `weights.safetensors` and `metrics.jsonl`.
//!
//! `model.toml` carries the digest of its weights. All files are first written beside their places, then the weights are moved, then
//! `model.toml`, then the metrics, which nothing but people depend on; whichever of the two `model.toml` fits the weights that are there is the valid one, so that a crash at any moment leaves
//! either the old or the new model.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use labelflow_flow::{State, load_state, state};
use labelflow_weak::StandardScaler;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checkpoint::{from_safetensors, to_safetensors};
use crate::{
    DeviceKind, EpochRecord, Error, FittedLabelFlowClassifier, LabelFlowClassifier, Report, Result,
    StopReason, atomic_file,
};

/// The version of the format; a model of a later one is refused.
const FORMAT: u32 = 1;
const MODEL: &str = "model.toml";
const MODEL_NEW: &str = "model.toml.new";
const WEIGHTS: &str = "weights.safetensors";
const WEIGHTS_NEW: &str = "weights.safetensors.new";
const METRICS: &str = "metrics.jsonl";
const METRICS_NEW: &str = "metrics.jsonl.new";
/// Stands for the name of the file where there is none.
const IN_MEMORY: &str = "model";

/// What `model.toml` holds.
#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    task: String,
    labelflow: String,
    weights_sha256: String,
    n_epochs: usize,
    stop: StopReason,
    classes: Vec<String>,
    features: Vec<String>,
    scaler: Option<StandardScaler>,
    config: LabelFlowClassifier,
}

impl Manifest {
    fn check(&self, place: &Path) -> Result<()> {
        if !self.features.is_empty() && self.classes.len() >= 2 {
            return Ok(());
        }
        let found = format!("{} features and {} classes", self.features.len(), self.classes.len());
        Err(Error::format(place, "at least one feature and two classes", found))
    }
}

/// What a model in memory holds beside its weights.
#[derive(Serialize, Deserialize)]
struct Packed {
    history: Vec<EpochRecord>,
    #[serde(flatten)]
    manifest: Manifest,
}

/// The part of `model.toml` that all versions share.
#[derive(Deserialize)]
struct Version {
    format: u32,
    labelflow: String,
}

impl FittedLabelFlowClassifier {
    /// Writes the model into a folder, replacing a model that is there.
    pub fn save(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(Error::io(folder, "creating the folder"))?;
        let weights = self.weights(None);
        let manifest = self.manifest(sha256(&weights));
        let manifest = toml::to_string(&manifest).expect("a manifest can be written as TOML");
        let metrics: String = self
            .report
            .history
            .iter()
            .map(|record| serde_json::to_string(record).expect("numbers and names") + "\n")
            .collect();
        settle(folder)?;
        let files = [
            (WEIGHTS_NEW, weights.as_slice()),
            (MODEL_NEW, manifest.as_bytes()),
            (METRICS_NEW, metrics.as_bytes()),
        ];
        for (name, contents) in files {
            if let Err(error) = atomic_file::write(&folder.join(name), contents) {
                // Nothing was replaced yet: the old model stays, and nothing of the new one.
                for (name, _) in files {
                    let _ = std::fs::remove_file(folder.join(name));
                }
                return Err(error);
            }
        }
        rename(folder, WEIGHTS_NEW, WEIGHTS)?;
        rename(folder, MODEL_NEW, MODEL)?;
        rename(folder, METRICS_NEW, METRICS)
    }

    /// Reads a model, onto the device cpu.
    pub fn load(folder: &Path) -> Result<Self> {
        let path = folder.join(WEIGHTS);
        let manifests = [MODEL, MODEL_NEW].map(|name| folder.join(name));
        if !manifests.iter().any(|path| path.exists()) {
            return Err(Error::format(
                folder,
                format!("a model folder with {MODEL}, as `fit` writes it"),
                if folder.is_dir() { "a folder without it" } else { "no folder" },
            ));
        }
        let weights = std::fs::read(&path).map_err(Error::io(&path, "reading"))?;
        let digest = sha256(&weights);
        let manifest = manifest_of(&manifests, &path, &digest)?;
        let (state, _) = from_safetensors(&path, &weights)?;
        Self::assemble(manifest, state, &path, read_metrics(&folder.join(METRICS))?)
    }

    /// The model as one file in memory: its weights as safetensors, with what else a model folder holds as metadata.
    pub fn to_bytes(&self) -> Vec<u8> {
        let digest = sha256(&self.weights(None));
        let packed =
            Packed { history: self.report.history.clone(), manifest: self.manifest(digest) };
        self.weights(Some(toml::to_string(&packed).expect("a manifest can be written as TOML")))
    }

    /// The model that [`to_bytes`](Self::to_bytes) wrote, on the device cpu.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let place = Path::new(IN_MEMORY);
        let (state, metadata) = from_safetensors(place, bytes)?;
        let foreign = |found: &dyn Display| Error::format(place, "a model of labelflow", found);
        let metadata = metadata.ok_or_else(|| foreign(&"tensors without metadata"))?;
        check_version(place, &metadata)?;
        let Packed { history, manifest } =
            toml::from_str(&metadata).map_err(|error| foreign(&error.message()))?;
        manifest.check(place)?;
        let digest = manifest.weights_sha256.clone();
        let model = Self::assemble(manifest, state, place, history)?;
        if sha256(&model.weights(None)) != digest {
            return Err(foreign(&"weights of another one"));
        }
        Ok(model)
    }

    /// The weights as safetensors.
    fn weights(&self, metadata: Option<String>) -> Vec<u8> {
        let state = state(&self.flow);
        let tensors: BTreeMap<String, _> =
            state.iter().map(|(name, data)| (name.clone(), data)).collect();
        to_safetensors(&tensors, metadata)
    }

    fn manifest(&self, weights_sha256: String) -> Manifest {
        Manifest {
            format: FORMAT,
            task: "classification".to_owned(),
            labelflow: env!("CARGO_PKG_VERSION").to_owned(),
            weights_sha256,
            n_epochs: self.report.history.len(),
            stop: self.report.stop,
            classes: self.classes.clone(),
            features: self.feature_names.clone(),
            scaler: self.scaler.clone(),
            config: self.config.clone(),
        }
    }

    fn assemble(
        manifest: Manifest,
        state: State,
        path: &Path,
        history: Vec<EpochRecord>,
    ) -> Result<Self> {
        let config = LabelFlowClassifier { device: DeviceKind::Cpu, ..manifest.config };
        config.check_settings()?;
        let shape = config.flow_config(manifest.features.len(), manifest.classes.len());
        let flow = shape.init(config.seed, &config.device.open()?);
        let flow = load_state(flow, state).map_err(|error| {
            Error::format(path, format!("the weights that {MODEL} describes"), error)
        })?;
        Ok(Self {
            config,
            flow,
            scaler: manifest.scaler,
            feature_names: manifest.features,
            classes: manifest.classes,
            report: Report { history, stop: manifest.stop },
        })
    }
}

/// Ends what a save that was killed between its two moves left: its `model.toml` is still beside its place, though the weights are its own.
fn settle(folder: &Path) -> Result<()> {
    let Ok(weights) = std::fs::read(folder.join(WEIGHTS)) else {
        return Ok(());
    };
    match read_manifest(&folder.join(MODEL_NEW)) {
        Ok(manifest) if manifest.weights_sha256 == sha256(&weights) => {
            rename(folder, MODEL_NEW, MODEL)
        }
        _ => Ok(()),
    }
}

/// The manifest that belongs to these weights.
fn manifest_of(paths: &[PathBuf], weights: &Path, digest: &str) -> Result<Manifest> {
    let mut failure = None;
    for path in paths.iter().filter(|path| path.exists()) {
        match read_manifest(path) {
            Ok(manifest) if manifest.weights_sha256 == digest => return Ok(manifest),
            Ok(manifest) => {
                let expected = format!(
                    "the weights that {} names, with sha256 {}",
                    path.display(),
                    manifest.weights_sha256
                );
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

fn read_manifest(path: &Path) -> Result<Manifest> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path, "reading"))?;
    check_version(path, &text)?;
    let manifest: Manifest = toml::from_str(&text)
        .map_err(|error| Error::format(path, "a model of labelflow", error.message()))?;
    manifest.check(path)?;
    Ok(manifest)
}

/// Looks at the version alone: a later format may have other fields.
fn check_version(place: &Path, text: &str) -> Result<()> {
    let Version { format, labelflow } = toml::from_str(text)
        .map_err(|error| Error::format(place, "a model of labelflow", error.message()))?;
    if format > FORMAT {
        let found = format!("format {format}, written by labelflow {labelflow}");
        return Err(Error::format(place, format!("format {FORMAT} or earlier"), found));
    }
    Ok(())
}

fn read_metrics(path: &Path) -> Result<Vec<EpochRecord>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).map_err(Error::io(path, "reading"))?;
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

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
