//! Decoders of complicated formats are other people's code, and damaged files make some of them panic.

use std::path::Path;

use crate::{Error, Result};

/// Runs a decoder; should it panic, the file is refused instead.
pub fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    labelflow_files::guarded(decode).unwrap_or_else(|| Err(Error::content(path, "a whole file", "a damaged one")))
}
