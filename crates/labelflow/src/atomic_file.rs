//! Files that are either the old or the new one, whatever happens.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::{Error, Result};

/// Replaces a file by one with these contents: written beside it, flushed to the disk, then renamed.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|failure| failure.error)?;
        // The rename itself must reach the disk too. Where a folder cannot be opened, the system orders it by itself.
        if let Ok(folder) = File::open(folder) {
            folder.sync_all()?;
        }
        Ok(())
    };
    write().map_err(Error::io(path, "writing"))
}
