//! A folder to write into, by one process at a time.

use std::path::{Path, PathBuf};

use anyhow::Context;
use labelflow::storage::FolderLock;

/// A folder that is there, and that no other process writes into as long as this value lives.
pub(crate) struct ClaimedFolder {
    path: PathBuf,
    /// Whether it was not there before.
    is_new: bool,
    lock: Option<FolderLock>,
}

impl ClaimedFolder {
    /// Makes the folder if it is not there.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let is_new = !path.exists();
        std::fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))?;
        let mut claim = Self { path: path.to_owned(), is_new, lock: None };
        let lock = FolderLock::acquire(path).with_context(|| path.display().to_string())?;
        claim.lock = Some(lock);
        Ok(claim)
    }
}

impl Drop for ClaimedFolder {
    fn drop(&mut self) {
        self.lock = None;
        if self.is_new {
            // Only an empty folder can be removed: what was written stays.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}
