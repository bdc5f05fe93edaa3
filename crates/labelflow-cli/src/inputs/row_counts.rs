//! Files whose rows belong together.

use std::path::Path;

/// Refuses a file with another number of rows than the one whose rows it speaks of.
pub(crate) fn check_n_rows(path: &Path, found: u64, of: &Path, n_rows: u64) -> anyhow::Result<()> {
    anyhow::ensure!(
        found == n_rows,
        "{}: expected {n_rows} rows, as many as {} has, found {found}",
        path.display(),
        of.display()
    );
    Ok(())
}
