//! What `model.toml` says of a model, without its network.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::saved_model::{WEIGHTS, head_of, parse, read_text, read_weights};
use crate::storage::ModelTask;
use crate::training::StopReason;
use crate::{Error, Result};

/// How a model in a folder was trained: enough to train it again.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelRecord {
    /// What it was trained for.
    pub task: ModelTask,
    /// The version that trained it.
    pub labelflow: String,
    /// The hash of its weights.
    pub weights_sha256: String,
    /// The epochs it was trained for.
    pub n_epochs: usize,
    /// Why training ended.
    pub stop: StopReason,
    /// The settings, all of them.
    config: toml::Table,
    origin: Option<toml::Table>,
}

impl ModelRecord {
    /// Reads `model.toml`.
    pub fn read(folder: &Path) -> Result<Self> {
        let (_, path) = read_weights(folder, &folder.join(WEIGHTS))?;
        let text = read_text(&path)?;
        head_of(&path, &text)?;
        parse(&path, &text)
    }

    /// The settings as TOML: a table `config`.
    pub fn config_toml(&self) -> String {
        let file = toml::Table::from_iter([("config".to_owned(), self.config.clone().into())]);
        toml::to_string(&file).expect("what was read as TOML can be written")
    }

    /// Where the model came from, if whoever saved it said so.
    pub fn origin<T: DeserializeOwned>(&self, folder: &Path) -> Result<Option<T>> {
        let read = |table: &toml::Table| {
            table.clone().try_into().map_err(|error: toml::de::Error| {
                Error::format(folder, "a model whose origin can be read", error.message())
            })
        };
        self.origin.as_ref().map(read).transpose()
    }
}
