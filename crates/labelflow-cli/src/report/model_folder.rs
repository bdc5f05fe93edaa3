//! What a model folder tells of its training, whatever the task.

use std::path::Path;

use labelflow::storage::{ModelFiles, ModelTask};
use labelflow::training::{EpochRecord, StopReason};
use serde::Deserialize;

use crate::inputs::evaluation_file::{EVALUATION, Evaluation, read_evaluations};
use crate::inputs::model_files::MANIFESTS;
use crate::terminal::output;

/// A model folder, without its weights.
#[derive(Debug, Clone)]
pub(crate) struct ModelFolder {
    /// As it was named.
    pub(crate) name: String,
    pub(crate) manifest: ModelManifest,
    pub(crate) history: Vec<EpochRecord>,
    pub(crate) evaluations: Vec<Evaluation>,
}

/// The part of `model.toml` that is reported.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ModelManifest {
    pub(crate) task: ModelTask,
    pub(crate) labelflow: String,
    pub(crate) n_epochs: usize,
    pub(crate) stop: StopReason,
    pub(crate) features: Vec<String>,
    #[serde(default)]
    pub(crate) classes: Vec<String>,
    pub(crate) range: Option<toml::Value>,
    #[serde(default)]
    pub(crate) config: toml::Table,
}

impl ModelFolder {
    /// Whether a path is a folder with a model.
    pub(crate) fn is_at(path: &Path) -> bool {
        MANIFESTS.iter().any(|name| path.join(name).is_file())
    }

    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let files = ModelFiles::read(path)?;
        let history = files.history().unwrap_or_else(|error| {
            output::note(&format!("{error}; the course of training is not shown"));
            &[]
        });
        Ok(Self {
            name: path.display().to_string(),
            manifest: files.manifest()?,
            history: history.to_vec(),
            evaluations: read_evaluations(&path.join(EVALUATION))?,
        })
    }

    /// All settings by their names, such as `training.max_epochs`.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        flatten("", &toml::Value::Table(self.manifest.config.clone()), &mut settings);
        settings
    }
}

/// Tables become names with dots; lists of tables are numbered.
fn flatten(name: &str, value: &toml::Value, settings: &mut Vec<(String, String)>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| flatten(&below(key), value, settings));
        }
        toml::Value::Array(values) if values.iter().any(toml::Value::is_table) => {
            for (index, value) in values.iter().enumerate() {
                flatten(&below(&(index + 1).to_string()), value, settings);
            }
        }
        toml::Value::String(text) => settings.push((name.to_owned(), text.clone())),
        other => settings.push((name.to_owned(), other.to_string())),
    }
}

/// The shortest names that tell folders apart: their last parts, or the whole paths.
pub(crate) fn shorten_names(folders: &mut [ModelFolder]) {
    let last = |folder: &ModelFolder| {
        let path = Path::new(&folder.name);
        path.file_name().map_or(folder.name.clone(), |name| name.to_string_lossy().into_owned())
    };
    let short: Vec<String> = folders.iter().map(last).collect();
    let is_unique = |name: &String| short.iter().filter(|other| *other == name).count() == 1;
    if short.iter().all(is_unique) {
        folders.iter_mut().zip(short).for_each(|(folder, name)| folder.name = name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_names_with_dots() {
        let table: toml::Table = toml::from_str(
            "seed = 1\nscaling = 'none'\n[training]\nmax_epochs = 5\n[[constraints]]\nkind = 'range'\nweight = 10.0",
        )
        .unwrap();
        let mut settings = Vec::new();
        flatten("", &toml::Value::Table(table), &mut settings);
        settings.sort();
        let expected = [
            ("constraints.1.kind", "range"),
            ("constraints.1.weight", "10.0"),
            ("scaling", "none"),
            ("seed", "1"),
            ("training.max_epochs", "5"),
        ];
        assert_eq!(settings, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
