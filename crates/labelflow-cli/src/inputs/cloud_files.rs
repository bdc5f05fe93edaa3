//! Files of point clouds in folders.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// What is in a folder, in the order of names; a file is itself. Hidden files are no data: a killed command may leave one.
pub(crate) fn entries(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let reading = || format!("reading {}", path.display());
    let mut entries = std::fs::read_dir(path)
        .with_context(reading)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .with_context(reading)?;
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    entries.retain(|path| !is_hidden(path));
    entries.sort();
    Ok(entries)
}

/// The files of a folder, of which there is at least one; a file is itself.
pub(crate) fn cloud_files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_folder = path.is_dir();
    let files: Vec<PathBuf> = entries(path)?.into_iter().filter(|file| !is_folder || file.is_file()).collect();
    if files.is_empty() {
        anyhow::bail!("{}: expected files with point clouds, found none", path.display());
    }
    Ok(files)
}
