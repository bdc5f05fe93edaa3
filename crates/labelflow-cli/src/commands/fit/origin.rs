//! Where a model came from: what `model.toml` keeps of a fit, and how it is repeated.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use labelflow::storage::{ModelRecord, ModelTask};
use labelflow_data::parts::TableParts;
use labelflow_files::{InputFile, Sha256, is_standard, sha256_hex};
use serde::{Deserialize, Serialize};

use super::args::FitSettings;
use super::plan::FitPlan;
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::cloud_files::entries;
use crate::terminal::output;
use crate::terminal::places::resolved;

/// The versions of all dependencies that this program was built with.
const LOCK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/Cargo.lock"));

/// What a fit was given, beside the settings of the model, which `model.toml` has anyway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The SHA-256 of `Cargo.lock`.
    lock_sha256: String,
    /// Settings and data as they were understood; a checkpoint has the same.
    run_digest: String,
    /// Where the paths start, of models of earlier versions; otherwise at the model folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    /// What was said of the data beside their places.
    #[serde(flatten)]
    settings: FitSettings,
    inputs: Vec<Input>,
}

/// A file or a folder that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Input {
    /// The flag that names it.
    flag: String,
    path: PathBuf,
    /// None of a set by its name, whose content is in the digest of the run, and of what was read from a pipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Origin {
    /// Of a fit that has read its files.
    pub(super) fn of(plan: &FitPlan<'_>, run_digest: &str) -> anyhow::Result<Self> {
        let settings = &plan.settings;
        let is_classification = plan.task == ModelTask::Classification;
        let kept = FitSettings {
            bounds: settings.bounds.clone().filter(|bounds| matches!(bounds, BoundsSetting::Number(_))),
            abstain: is_classification.then(|| settings.abstain.unwrap_or_default()),
            memory: settings.is_in_parts().then(|| settings.memory()),
            ..settings.of_data()
        };
        let input = |(flag, path): (&str, PathBuf)| {
            let (sha256, path) = match is_there(&path) {
                true => (Some(sha256_of(&path)?), relative_to(&plan.out, &path)),
                // Of a pipe nothing else is left.
                false => (sha256_of_pipe(&path)?, path),
            };
            // TOML is text.
            let path = PathBuf::from(path.to_string_lossy().into_owned());
            anyhow::Ok(Input { flag: flag.to_owned(), path, sha256 })
        };
        let inputs = settings.inputs().into_iter().map(input).collect::<anyhow::Result<_>>()?;
        Ok(Self {
            lock_sha256: sha256_hex(LOCK),
            run_digest: run_digest.to_owned(),
            folder: None,
            settings: kept,
            inputs,
        })
    }

    /// Whether the same settings and data were understood.
    pub(super) fn is_same_run(&self, digest: &str) -> bool {
        self.run_digest == digest
    }

    /// Makes the paths of a model's inputs start at the root, and checks that every input is there and is what it was.
    ///
    /// Who wrote `model.toml` chose the paths. So nothing but files and folders is opened, and of another file not even the hash is told.
    fn find_inputs(&mut self, model: &Path) -> anyhow::Result<()> {
        let start = self.folder.take().unwrap_or_else(|| model.to_owned());
        for Input { flag, path, sha256 } in &mut self.inputs {
            let place = format!("--{flag}, which {} was trained on", model.display());
            let Some(expected) = sha256 else {
                ensure!(
                    flag == "shapes" && !path.exists(),
                    "{}: expected a file with its hash, found none: {place}; what was read from a pipe cannot be read again",
                    path.display()
                );
                continue;
            };
            *path = from_folder(&start, path);
            ensure!(
                is_there(path),
                "{}: no such file: {place} (move a model together with its data; what was read from a pipe is gone)",
                path.display()
            );
            ensure!(
                sha256_of(path)? == *expected,
                "{}: expected sha256 {expected}, found another file: {place}",
                path.display()
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
        let Some(mut origin) = origin else {
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
        origin.find_inputs(model)?;
        Ok(Self { origin, record })
    }

    /// As if a RUN.toml had said it all.
    pub(super) fn settings(&self) -> FitSettings {
        let Origin { settings, inputs, .. } = &self.origin;
        let path = |flag: &str| Some(inputs.iter().find(|input| input.flag == flag)?.path.clone());
        // Of who wrote `model.toml` no other paths are taken than those that were checked.
        let mut settings = FitSettings { task: Some(self.record.task), ..settings.of_data() };
        settings.places().into_iter().for_each(|(flag, place)| *place = path(flag));
        if self.record.task == ModelTask::Classification {
            let file = || path("bounds").map(|path| BoundsSetting::Named(path.display().to_string()));
            let number = settings.bounds.filter(|bounds| matches!(bounds, BoundsSetting::Number(_)));
            settings.bounds = Some(number.or_else(file).unwrap_or_default());
        }
        settings
    }
}

/// A path as seen from a folder, in whatever folder both lie; one that shares nothing with it but the root stays as it is.
fn relative_to(folder: &Path, path: &Path) -> PathBuf {
    let (from, to) = (folder.canonicalize().unwrap_or_else(|_| resolved(folder)), resolved(path));
    let common = from.components().zip(to.components()).take_while(|(one, other)| one == other);
    let common: PathBuf = common.map(|(one, _)| one).collect();
    match (from.strip_prefix(&common), to.strip_prefix(&common)) {
        (Ok(up), Ok(down)) if common.file_name().is_some() => up.iter().map(|_| "..").collect::<PathBuf>().join(down),
        _ => to,
    }
}

/// The path that is so seen from a folder.
fn from_folder(folder: &Path, path: &Path) -> PathBuf {
    let mut found = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    for part in path.components() {
        match part {
            Component::ParentDir => drop(found.pop()),
            part => found.push(part),
        }
    }
    found
}

/// Whether there is such a file or folder, or a pattern names any file. Pipes and devices are not there: whoever opens them may wait for ever.
fn is_there(path: &Path) -> bool {
    path.is_file()
        || path.is_dir()
        || (TableParts::is_several(path) && TableParts::find(path).is_ok_and(|files| !files.is_empty()))
}

/// The hash of what was read from a pipe, if the path is that of one.
fn sha256_of_pipe(path: &Path) -> anyhow::Result<Option<String>> {
    if !path.exists() && !is_standard(path) {
        return Ok(None);
    }
    sha256_of_bytes(path).map(Some)
}

fn sha256_of_bytes(path: &Path) -> anyhow::Result<String> {
    let mut hasher = Sha256::default();
    let mut read = || std::io::copy(&mut InputFile::open(path)?, &mut hasher);
    read().with_context(|| format!("reading {}", path.display()))?;
    Ok(hasher.hex())
}

/// The hash of a file, or of the names and hashes of all files below a folder or of a pattern.
fn sha256_of(path: &Path) -> anyhow::Result<String> {
    let mut files = match path.exists() {
        true if path.is_dir() => entries(path)?,
        false if TableParts::is_several(path) => TableParts::find(path)?,
        _ => {
            ensure!(path.is_file(), "{}: expected a file, found a pipe or a device", path.display());
            return sha256_of_bytes(path);
        }
    };
    files.sort_unstable();
    let mut hasher = Sha256::default();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        hasher.update(format!("{name}\0{}\n", sha256_of(&file)?));
    }
    Ok(hasher.hex())
}
