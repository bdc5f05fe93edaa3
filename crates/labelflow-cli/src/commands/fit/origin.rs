//! Where a model came from: what `model.toml` keeps of a fit, and how it is repeated.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use labelflow::storage::{ModelRecord, ModelTask};
use labelflow_data::inputs::{AbstainConvention, KeyColumn};
use labelflow_data::parts::TableParts;
use labelflow_files::{InputFile, Sha256, is_standard, sha256_hex};
use serde::{Deserialize, Serialize};

use super::args::FitSettings;
use super::plan::FitPlan;
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::cloud_files::entries;
use crate::inputs::memory_size::MemorySize;
use crate::terminal::output;

/// The versions of all dependencies that this program was built with.
const LOCK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/Cargo.lock"));

/// What a fit was given, beside the settings of the model, which `model.toml` has anyway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The SHA-256 of `Cargo.lock`.
    lock_sha256: String,
    /// Settings and data as they were understood; a checkpoint has the same.
    run_digest: String,
    /// Where the paths start.
    folder: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    classes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    abstain: Option<AbstainConvention>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Vec<f64>>,
    /// How rows in parts were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemorySize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_columns: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal_columns: Option<Vec<String>>,
    inputs: Vec<Input>,
}

/// A file or a folder that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Input {
    /// The flag that names it.
    flag: String,
    path: PathBuf,
    /// None of a set by its name, whose content is in the digest of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Origin {
    /// Of a fit that has read its files.
    pub(super) fn of(plan: &FitPlan<'_>, run_digest: &str) -> anyhow::Result<Self> {
        let settings = &plan.settings;
        let is_classification = plan.task == ModelTask::Classification;
        let (bounds, bounds_file) = match settings.bounds.clone().unwrap_or_default() {
            BoundsSetting::Number(number) => (Some(number), None),
            bounds if bounds.is_auto() => (None, None),
            BoundsSetting::Named(path) => (None, Some(PathBuf::from(path))),
        };
        let mut inputs = Vec::new();
        for (flag, path) in [
            ("features", &settings.features),
            ("signals", &settings.signals),
            ("rules", &settings.rules),
            ("shapes", &settings.shapes),
            ("scans", &settings.scans),
            ("labels-for-eval", &settings.labels_for_eval),
            ("bounds", &bounds_file),
        ] {
            if let Some(path) = path.clone() {
                let sha256 = is_there(&path).then(|| sha256_of(&path)).transpose()?;
                inputs.push(Input { flag: flag.to_owned(), path, sha256 });
            }
        }
        Ok(Self {
            lock_sha256: sha256_hex(LOCK),
            run_digest: run_digest.to_owned(),
            folder: std::env::current_dir().context("the current folder")?,
            bounds,
            classes: settings.classes.clone().unwrap_or_default(),
            abstain: is_classification.then(|| settings.abstain.unwrap_or_default()),
            range: settings.range.clone(),
            memory: settings.is_in_parts().then(|| settings.memory()),
            feature_columns: settings.feature_columns.clone(),
            signal_columns: settings.signal_columns.clone(),
            inputs,
        })
    }

    /// Whether the same settings and data were understood.
    pub(super) fn is_same_run(&self, digest: &str) -> bool {
        self.run_digest == digest
    }

    fn path(&self, flag: &str) -> Option<PathBuf> {
        let input = self.inputs.iter().find(|input| input.flag == flag)?;
        Some(match input.sha256 {
            Some(_) => self.folder.join(&input.path),
            None => input.path.clone(),
        })
    }

    /// Every input is there and is what it was.
    fn check(&self, model: &Path) -> anyhow::Result<()> {
        for input in &self.inputs {
            let Some(expected) = &input.sha256 else { continue };
            let path = self.folder.join(&input.path);
            let place = || format!("--{}, which {} was trained on", input.flag, model.display());
            ensure!(is_there(&path), "{}: no such file: {}", path.display(), place());
            let found = sha256_of(&path)?;
            ensure!(
                found == *expected,
                "{}: expected sha256 {expected}, found {found}: another {}",
                path.display(),
                place()
            );
        }
        Ok(())
    }
}

/// A fit to be repeated.
pub(super) struct Repetition {
    pub(super) origin: Origin,
    pub(super) record: ModelRecord,
}

impl Repetition {
    /// What a model folder says of its own fit.
    pub(super) fn read(model: &Path) -> anyhow::Result<Self> {
        let record = ModelRecord::read(model)?;
        let origin: Option<Origin> = record.origin(model)?;
        let Some(origin) = origin else {
            bail!(
                "{}: expected a model that `labelflow fit` wrote and that says what it was trained on, found one that does not",
                model.display()
            );
        };
        let (name, version) = (model.display(), env!("CARGO_PKG_VERSION"));
        if record.labelflow != version {
            output::note(&format!(
                "{name} was trained by labelflow {}, this is {version}: its weights may come out different",
                record.labelflow
            ));
        } else if origin.lock_sha256 != sha256_hex(LOCK) {
            output::note(&format!(
                "{name} was trained with other versions of dependencies: its weights may come out different"
            ));
        }
        origin.check(model)?;
        Ok(Self { origin, record })
    }

    /// As if a RUN.toml had said it all.
    pub(super) fn settings(&self) -> FitSettings {
        let origin = &self.origin;
        let is_classification = self.record.task == ModelTask::Classification;
        let bounds = match (origin.bounds, origin.path("bounds")) {
            (Some(bound), _) => BoundsSetting::Number(bound),
            (None, Some(path)) => BoundsSetting::Named(path.display().to_string()),
            (None, None) => BoundsSetting::default(),
        };
        FitSettings {
            task: Some(self.record.task),
            features: origin.path("features"),
            signals: origin.path("signals"),
            rules: origin.path("rules"),
            range: origin.range.clone(),
            shapes: origin.path("shapes"),
            scans: origin.path("scans"),
            bounds: is_classification.then_some(bounds),
            classes: (!origin.classes.is_empty()).then(|| origin.classes.clone()),
            abstain: origin.abstain,
            labels_for_eval: origin.path("labels-for-eval"),
            memory: origin.memory,
            feature_columns: origin.feature_columns.clone(),
            signal_columns: origin.signal_columns.clone(),
            ..FitSettings::default()
        }
    }
}

/// Whether there is such a file or folder, or a pattern names any file.
fn is_there(path: &Path) -> bool {
    path.exists()
        || is_standard(path)
        || (TableParts::is_several(path) && TableParts::open(path, &KeyColumn::Place).is_ok())
}

/// The hash of a file, or of the names and hashes of all files below a folder or of a pattern.
fn sha256_of(path: &Path) -> anyhow::Result<String> {
    let mut hasher = Sha256::default();
    let files = match path.exists() {
        true if path.is_dir() => Some(entries(path)?),
        false if TableParts::is_several(path) => Some(TableParts::open(path, &KeyColumn::Place)?.files().to_vec()),
        _ => None,
    };
    if let Some(files) = files {
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            hasher.update(format!("{name}\0{}\n", sha256_of(&file)?));
        }
        return Ok(hasher.hex());
    }
    let reading = || format!("reading {}", path.display());
    let mut file = InputFile::open(path).with_context(reading)?;
    std::io::copy(&mut file, &mut hasher).with_context(reading)?;
    Ok(hasher.hex())
}
