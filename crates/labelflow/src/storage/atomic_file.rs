//! Files that are either the old or the new one, whatever happens.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::folder_lock::open_locked;
use crate::{Error, Result};

/// Replaces a file by one with these contents: written beside it, flushed to the disk, then renamed.
///
/// The file beside it has always the same name, so that what a killed run leaves is overwritten by the next; it is locked, so that two
/// processes that write the same file do so one after the other.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<()> {
    let partial = partial(path);
    let mut file = open_locked(&partial).map_err(|error| match error {
        // The file to name is the one that was asked for.
        Error::Io { source, .. } => Error::io(path, "writing")(source),
        other => other,
    })?;
    let mut write = || -> std::io::Result<()> {
        file.set_len(0)?;
        file.write_all(contents)?;
        file.sync_all()?;
        std::fs::rename(&partial, path)
    };
    write().map_err(|error| {
        // The error to report is the first one.
        let _ = std::fs::remove_file(&partial);
        Error::io(path, "writing")(error)
    })?;
    sync_folder(path.parent().unwrap_or(Path::new(".")));
    Ok(())
}

/// Removes a file, if it is there, and what a killed run left beside it.
pub(crate) fn remove(path: &Path) -> Result<()> {
    for path in [path, &partial(path)] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(path, "removing")(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes new names durable. Not every system can, and what the files hold is safe already: failures are no error.
pub(crate) fn sync_folder(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn partial(path: &Path) -> PathBuf {
    path.with_added_extension("partial")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_writers_leave_one_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        std::thread::scope(|scope| {
            for writer in 0..6_u8 {
                let path = &path;
                scope.spawn(move || {
                    // The longer, the later its end is written.
                    let contents = vec![writer; 10_000 * usize::from(writer + 1)];
                    (0..10).for_each(|_| write(path, &contents).unwrap());
                });
            }
        });
        let contents = std::fs::read(&path).unwrap();
        assert_eq!(contents.len(), 10_000 * usize::from(contents[0] + 1));
        assert!(contents.iter().all(|byte| *byte == contents[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_run_left_is_overwritten_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        std::fs::write(partial(&path), "a long half of something").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(!partial(&path).exists());
        std::fs::write(partial(&path), "half").unwrap();
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
