//! Files that are written whole or not at all.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::is_standard;

/// How the names of temporary files begin and end.
const PREFIX: &str = ".labelflow-";
const SUFFIX: &str = ".partial";

/// What [`write_atomically`] lends its closure: a buffered, seekable file.
pub type AtomicWriter<'file> = BufWriter<&'file mut File>;

/// Writes a file so that a crash or a full disk at any moment leaves the old content or the new one, never a part.
///
/// The bytes go to a temporary file in the same folder, reach the disk, and only then take the name `path`.
/// A link is followed; a path that is not a regular file, such as `/dev/stdout`, is written directly, and so is standard output for `-`.
///
/// ```
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("note.txt");
/// labelflow_files::write_atomically(&path, |writer| writeln!(writer, "done"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "done\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically<T>(path: &Path, write: impl FnOnce(&mut AtomicWriter<'_>) -> io::Result<T>) -> io::Result<T> {
    if is_standard(path) {
        return write_through(&mut standard_output()?, write);
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => write_through(&mut File::options().write(true).open(path)?, write),
        Ok(_) => write_and_rename(&fs::canonicalize(path)?, write),
        Err(_) => write_and_rename(path, write),
    }
}

/// Replaces a file by one with these contents, as [`write_atomically`] does.
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_atomically(path, |writer| writer.write_all(contents))
}

/// Removes a file, if it is there, and what killed processes left in its folder.
pub fn remove(path: &Path) -> io::Result<()> {
    remove_abandoned(folder_of(path));
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the names in a folder durable. Not every system can, and the content is already safe: failures are no error.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn standard_output() -> io::Result<File> {
    // What was printed before comes first.
    io::stdout().flush()?;
    #[cfg(unix)]
    let handle = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let handle = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(handle.into())
}

fn write_and_rename<T>(path: &Path, write: impl FnOnce(&mut AtomicWriter<'_>) -> io::Result<T>) -> io::Result<T> {
    let folder = folder_of(path);
    let mut temporary = create_temporary(path, folder)?;
    let value = write_through(temporary.as_file_mut(), write)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    sync_folder(folder);
    Ok(value)
}

fn write_through<T>(file: &mut File, write: impl FnOnce(&mut AtomicWriter<'_>) -> io::Result<T>) -> io::Result<T> {
    let mut writer = BufWriter::new(file);
    let value = write(&mut writer)?;
    writer.flush()?;
    Ok(value)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file with the permissions that an ordinary new file, or the one being replaced, would have.
///
/// It is locked as long as it is written, so that those of killed processes can be told from those of living ones.
fn create_temporary(path: &Path, folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    remove_abandoned(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = loop {
        let temporary = builder.tempfile_in(folder)?;
        match temporary.as_file().try_lock() {
            // Between its creation and its lock, another process may have taken it for abandoned.
            Ok(()) if temporary.path().exists() => break temporary,
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            // A file system without locks; nothing is taken for abandoned there.
            Err(TryLockError::Error(_)) => break temporary,
        }
    };
    if let Ok(metadata) = fs::metadata(path) {
        fs::set_permissions(temporary.path(), metadata.permissions())?;
    }
    Ok(temporary)
}

/// Removes the temporary files that killed processes left in a folder: those that nobody has locked.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.starts_with(PREFIX.as_bytes()) || !name.ends_with(SUFFIX.as_bytes()) {
            continue;
        }
        // What cannot be removed does no harm.
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        fs::write(&path, "old").unwrap();
        let error = write_atomically(&path, |writer| {
            writer.write_all(b"half of the new")?;
            Err::<(), _>(io::ErrorKind::StorageFull.into())
        })
        .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names_in(folder.path()), ["labels.csv"]);
        write_atomically(&path, |writer| writer.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names_in(folder.path()), ["labels.csv"]);
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_what_others_write_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        fs::write(folder.path().join(".labelflow-abc.partial"), "half").unwrap();
        write_atomically(&path, |writer| {
            writer.write_all(b"outer")?;
            // Another write in the same folder, before this one has ended.
            replace(&folder.path().join("other.csv"), b"inner")
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "outer");
        let mut names = names_in(folder.path());
        names.sort();
        assert_eq!(names, ["labels.csv", "other.csv"]);
    }

    #[test]
    fn many_writers_leave_whole_files_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        std::thread::scope(|scope| {
            for writer in 0..6_u8 {
                let path = &path;
                scope.spawn(move || {
                    let contents = vec![writer; 10_000 * usize::from(writer + 1)];
                    for _ in 0..10 {
                        replace(path, &contents).unwrap();
                    }
                });
            }
        });
        let contents = fs::read(&path).unwrap();
        assert_eq!(contents, vec![contents[0]; 10_000 * usize::from(contents[0] + 1)]);
        assert_eq!(names_in(folder.path()), ["labels.csv"]);
    }

    #[test]
    fn a_missing_folder_and_a_folder_as_target_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_atomically(&folder.path().join("no/where"), |_| Ok(())).is_err());
        assert!(write_atomically(folder.path(), |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_are_not_replaced() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        symlink(&target, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        replace(Path::new("/dev/null"), b"gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn what_a_killed_run_left_is_removed_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        replace(&path, b"whole").unwrap();
        fs::write(folder.path().join(".labelflow-abc.partial"), "half").unwrap();
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(names_in(folder.path()).is_empty());
    }

    /// Earlier versions wrote to `NAME.partial`, and a kill left it there.
    #[test]
    fn what_an_earlier_version_left_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        fs::write(folder.path().join("checkpoint.partial"), "a long half of something").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        remove(&path).unwrap();
        assert_eq!(names_in(folder.path()), ["checkpoint.partial"]);
    }
}
