//! One process at a time in a folder.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::identity;

/// The file that is locked while a process works in a folder.
const WORK: &str = ".lock";
/// The file that is locked while a model is saved, which may happen within other work.
const SAVE: &str = ".save.lock";

/// A folder that this process works in: others that ask for it get an error.
///
/// A file in the folder, `.lock`, is locked as long as this value lives. The system ends the lock with the process, so that one that
/// was killed leaves a file but no lock. Where the file system has no locks there is no protection, and no error either.
///
/// ```
/// use labelflow_files::FolderLock;
///
/// let folder = tempfile::tempdir()?;
/// let lock = FolderLock::acquire(folder.path())?;
/// assert!(FolderLock::acquire(folder.path()).is_err());
/// drop(lock);
/// assert!(FolderLock::acquire(folder.path()).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    /// Locked while it is open.
    file: File,
}

impl FolderLock {
    /// Locks a folder that is there, or says who else works in it.
    pub fn acquire(folder: &Path) -> io::Result<Self> {
        let mut lock = Self::lock(folder.join(WORK), |file| match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(taken(file)),
            Err(TryLockError::Error(error)) => Err(error),
        })?;
        // For others, which can do without it. At every moment the file holds a number, if it did before.
        let process = std::process::id().to_string();
        let _ = lock.file.write_all(process.as_bytes()).and_then(|()| lock.file.set_len(process.len() as u64));
        Ok(lock)
    }

    /// Whether a process works in a folder, or was killed there: the file holds its number. Other programs have a `.lock` too.
    pub fn is_in(folder: &Path) -> bool {
        std::fs::read_to_string(folder.join(WORK)).is_ok_and(|text| text.parse::<u32>().is_ok())
    }

    /// Waits until no other save is under way in a folder.
    pub fn wait_to_save(folder: &Path) -> io::Result<Self> {
        Self::lock(folder.join(SAVE), |file| file.lock())
    }

    fn lock(path: PathBuf, lock: impl Fn(&mut File) -> io::Result<()>) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        loop {
            let mut file = options.open(&path)?;
            match lock(&mut file) {
                // Some file systems have no locks.
                Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
                _ => {}
            }
            if is_at(&path, &file) {
                return Ok(Self { path, file });
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While it is locked: who opened it before will find that it is no longer there. A file that stays does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The error that names the process that has locked the file.
fn taken(file: &mut File) -> io::Error {
    let mut text = String::new();
    let process = match file.take(20).read_to_string(&mut text).map(|_| text.parse::<u32>()) {
        Ok(Ok(process)) => format!("process {process}"),
        _ => "another process".to_owned(),
    };
    let found = format!("{process} at work (wait for it, or name another folder)");
    let message = format!("expected a folder that no other process works in, found {found}");
    io::Error::new(ErrorKind::ResourceBusy, message)
}

/// Whether the open file still has this name: whoever held the lock before may have moved or removed it.
fn is_at(path: &Path, file: &File) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        // Where files have no identity, an open one cannot be replaced.
        (Ok(named), Ok(open)) => identity(&named) == identity(&open),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!FolderLock::is_in(folder.path()));
        let lock = FolderLock::acquire(folder.path()).unwrap();
        assert!(FolderLock::is_in(folder.path()));
        let error = FolderLock::acquire(folder.path()).unwrap_err().to_string();
        let process = std::process::id().to_string();
        assert!(error.contains("no other process works in"), "{error}");
        assert!(error.contains(&process), "{error}");
        drop(lock);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_not_locked_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(WORK), "another program").unwrap();
        assert!(!FolderLock::is_in(folder.path()));
        FolderLock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn one_at_a_time_among_many() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let (n_inside, n_acquired) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(_lock) = FolderLock::acquire(folder.path()) {
                            assert_eq!(n_inside.fetch_add(1, Ordering::SeqCst), 0);
                            n_acquired.fetch_add(1, Ordering::SeqCst);
                            n_inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(n_acquired.into_inner() > 0);
    }
}
