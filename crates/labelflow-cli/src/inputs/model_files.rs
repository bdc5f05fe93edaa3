//! The files of a model folder.

use std::path::Path;

use super::completer::CHECKPOINT;
use super::evaluation_file::EVALUATION;

/// The manifests that a folder may have; the second after a crash while saving.
pub(crate) const MANIFESTS: [&str; 2] = ["model.toml", "model.toml.new"];
const OTHERS: [&str; 6] =
    ["weights.safetensors", "weights.safetensors.new", "metrics.jsonl", "metrics.jsonl.new", EVALUATION, CHECKPOINT];

/// Whether a file of this name belongs to the model in its folder, if there is one. A name alone says little: other programs have a
/// `model.toml` too.
pub(crate) fn is_model_file(path: &Path) -> bool {
    let names = MANIFESTS.iter().chain(&OTHERS);
    let has_name = names.into_iter().any(|name| path.ends_with(name));
    has_name && path.parent().is_some_and(is_model)
}

/// Whether a folder holds a model, or what is there of one while it is trained.
pub(crate) fn is_model(folder: &Path) -> bool {
    MANIFESTS.iter().any(|name| is_manifest(&folder.join(name))) || folder.join(CHECKPOINT).is_file()
}

/// Whether a file says what the weights beside it are, be they damaged or not.
fn is_manifest(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("weights_sha256"))
}
