//! What `model.toml` says of a model, without its network.

use std::collections::BTreeMap;
use std::path::Path;

use labelflow_files::Sha256;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::model_files::{ModelFiles, parse};
use crate::storage::ModelTask;
use crate::training::StopReason;
use crate::{Error, Result};

/// The version of the format; a model of a later one is refused. Format 1 had no hash of the values.
pub(super) const FORMAT: u32 = 2;
/// What predictions do not depend on, and the hash itself.
const NOT_HASHED: [&str; 2] = ["origin", "sha256"];

/// How a stored model was trained: enough to train it again.
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
    pub(super) format: u32,
    /// The hash of all values but the origin. Format 1 had none.
    sha256: Option<String>,
    /// The hash of its history, where that is a file of its own.
    pub(super) metrics_sha256: Option<String>,
    /// The settings, all of them.
    config: Table,
    origin: Option<Table>,
}

/// The part of `model.toml` that all versions share.
#[derive(Deserialize)]
struct Version {
    format: u32,
    labelflow: String,
}

impl ModelRecord {
    /// The record of the model in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        Ok(ModelFiles::read(folder)?.into_record())
    }

    /// The record in the text of a `model.toml`, whose values must have their hash.
    pub(super) fn of_text(place: &Path, text: &str) -> Result<Self> {
        // First the version alone: a later format may have other fields.
        let Version { format, labelflow } = parse(place, text)?;
        if format > FORMAT {
            let found = format!("format {format}, written by labelflow {labelflow}");
            return Err(Error::format(place, format!("format {FORMAT} or earlier"), found));
        }
        let record: Self = parse(place, text)?;
        let found = hash_of_values(place, text)?;
        if format > 1 && record.sha256.as_ref() != Some(&found) {
            let expected = record.sha256.as_deref().unwrap_or("of the values that were saved");
            let found = format!(
                "{found}: a value was changed, added or removed (put the file back as it was, or train the model again)"
            );
            return Err(Error::format(place, format!("values with sha256 {expected}"), found));
        }
        Ok(record)
    }

    /// The settings as TOML: a table `config`.
    pub fn config_toml(&self) -> String {
        let file = Table::from_iter([("config".to_owned(), self.config.clone().into())]);
        toml::to_string(&file).expect("what was read as TOML can be written")
    }

    /// Where the model came from, if whoever saved it said so.
    pub fn origin<T: DeserializeOwned>(&self, folder: &Path) -> Result<Option<T>> {
        let read = |table: &Table| {
            table.clone().try_into().map_err(|error: toml::de::Error| {
                Error::format(folder, "a model whose origin can be read", error.message())
            })
        };
        self.origin.as_ref().map(read).transpose()
    }
}

/// The hash of all values in the text of a `model.toml` that say how to predict. Comments, spaces and the order of the keys of a table
/// are free.
pub(super) fn hash_of_values(place: &Path, text: &str) -> Result<String> {
    let mut values: Table = parse(place, text)?;
    values.retain(|key, _| !NOT_HASHED.contains(&key));
    let mut hash = Sha256::default();
    hash_value(&mut hash, &Value::Table(values));
    Ok(hash.hex())
}

/// Adds a value: its kind, its length, and the bits of numbers, so that no two values look alike and no way to write one matters.
fn hash_value(hash: &mut Sha256, value: &Value) {
    let mut add = |kind: &str, bytes: &[u8]| {
        hash.update(format!("{kind} {}\n", bytes.len()));
        hash.update(bytes);
    };
    match value {
        Value::String(text) => add("string", text.as_bytes()),
        Value::Integer(number) => add("integer", &number.to_le_bytes()),
        Value::Float(number) => add("float", &number.to_le_bytes()),
        Value::Boolean(truth) => add("boolean", &[u8::from(*truth)]),
        Value::Datetime(date) => add("date", date.to_string().as_bytes()),
        Value::Array(values) => {
            hash.update(format!("array {}\n", values.len()));
            values.iter().for_each(|value| hash_value(hash, value));
        }
        Value::Table(table) => {
            hash.update(format!("table {}\n", table.len()));
            for (key, value) in table.iter().collect::<BTreeMap<_, _>>() {
                hash.update(format!("key {}\n{key}", key.len()));
                hash_value(hash, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> String {
        hash_of_values(Path::new("model.toml"), text).unwrap()
    }

    const VALUES: &str =
        "sha256 = 'x'\nclasses = ['ham', 'spam']\nrate = 0.5\n[scaler]\nmean = [1.0]\n[origin]\nof = 'me'\n";

    #[test]
    fn what_is_written_otherwise_has_the_same_hash() {
        // Pinned: models that were saved must be read by later versions.
        assert_eq!(hash(VALUES), "d19cbf9d756fc15f3d6fd581552de5907fa1ee81f78175034a2bbdc79752fb34");
        for (from, to) in [
            ("sha256 = 'x'", "sha256 = 'y' # not hashed"),
            ("of = 'me'", "of = 'you'"),
            ("[origin]\nof = 'me'\n", ""),
            ("classes = ['ham', 'spam']\nrate = 0.5", "\n\n  rate = 5.0e-1\nclasses = [\n \"ham\",\n \"spam\",\n]"),
            ("[scaler]\nmean = [1.0]", "[scaler]\r\nmean = [+1.0]"),
        ] {
            assert!(VALUES.contains(from));
            assert_eq!(hash(&VALUES.replace(from, to)), hash(VALUES), "{to}");
        }
    }

    #[test]
    fn another_value_has_another_hash() {
        for (from, to) in [
            ("'ham', 'spam'", "'spam', 'ham'"),
            ("'ham', 'spam'", "'hamspam'"),
            ("'ham', 'spam'", "'ham', 'spam', 'eggs'"),
            ("rate = 0.5", "rate = 0.5000000000000001"),
            ("rate", "Rate"),
            ("rate = 0.5\n", ""),
            ("[scaler]\nmean = [1.0]", "[scaler]\nmean = [1]"),
            ("[scaler]\nmean = [1.0]", "[scaler]\nmean = ['1.0']"),
            ("[scaler]\nmean = [1.0]\n", ""),
            ("[scaler]\n", "[scaler]\nstd = [1.0]\n"),
        ] {
            assert!(VALUES.contains(from));
            assert_ne!(hash(&VALUES.replace(from, to)), hash(VALUES), "{to}");
        }
    }
}
