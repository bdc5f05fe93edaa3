//! Files that are written whole or not at all.

use std::io;
use std::path::Path;

use labelflow_files::AtomicWriter;

use crate::{Error, Result};

/// Writes a file as [`labelflow_files::write_atomically`] does; an error names it and says what to do.
pub fn write_atomically<T>(path: &Path, write: impl FnOnce(&mut AtomicWriter<'_>) -> io::Result<T>) -> Result<T> {
    labelflow_files::write_atomically(path, write).map_err(|source| Error::write(path, source))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported_with_the_path() {
        let error = write_atomically(Path::new("/dev/full"), |writer| writer.write_all(&[0; 100_000]));
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("cannot write /dev/full"), "{message}");
        assert!(message.contains("free some space"), "{message}");
    }
}
