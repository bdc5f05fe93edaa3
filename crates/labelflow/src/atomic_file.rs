//! Files that are either the old or the new one, whatever happens.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::{Error, Result};

/// Replaces a file by one with these contents: written beside it, flushed to the disk, then renamed.
///
/// The file beside it has always the same name, so that what a killed run leaves is overwritten by the next.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let partial = path.with_added_extension("partial");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(contents)?;
        file.sync_all()?;
        drop(file);
        std::fs::rename(&partial, path)?;
        // The rename itself must reach the disk too. Where a folder cannot be opened, the system orders it by itself.
        if let Ok(folder) = File::open(folder) {
            folder.sync_all()?;
        }
        Ok(())
    };
    write().map_err(|error| {
        // The error to report is the first one.
        let _ = std::fs::remove_file(&partial);
        Error::io(path, "writing")(error)
    })
}
