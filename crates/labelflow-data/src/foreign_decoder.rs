//! Decoders of complicated formats are other people's code, and damaged files make some of them panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::{Error, Result};

/// Runs a decoder; should it panic, the file is refused instead.
///
/// What the decoder was building is dropped with the panic, so no half-made value survives it.
pub(crate) fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(Error::content(path, "a whole file", "a damaged one")))
}
