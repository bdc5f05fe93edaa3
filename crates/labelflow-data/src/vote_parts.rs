//! Votes in several Parquet files: which files, and that they belong together.

use std::fs;
use std::path::{Path, PathBuf};

use crate::parquet_file::ParquetFile;
use crate::{Error, Result};

/// The Parquet files that a path names, in the order of their names, all with the same columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoteParts {
    files: Vec<PathBuf>,
    labelers: Vec<String>,
    n_rows: u64,
}

impl VoteParts {
    /// Whether a path names files by a pattern or a folder, rather than one file.
    pub fn is_several(path: &Path) -> bool {
        path.is_dir() || (is_pattern(path) && !path.exists())
    }

    /// Finds the files: one Parquet file, all `*.parquet` of a folder, or those that a pattern such as `votes/*.parquet`
    /// names. Reads what each file says of itself, so that a part which is damaged or has other columns is refused
    /// before anything else is done.
    pub fn open(path: &Path) -> Result<Self> {
        let files = find(path)?;
        let mut labelers: Option<Vec<String>> = None;
        let mut n_rows = 0;
        for file in &files {
            if file.extension().is_none_or(|extension| extension != "parquet") {
                let found = file.extension().unwrap_or_default().display().to_string();
                return Err(Error::content(file, "a parquet file", format!("'{found}'"))
                    .with_hint("votes in parts are read from parquet only"));
            }
            let part = ParquetFile::open(file)?;
            n_rows += part.n_rows();
            match &labelers {
                None => labelers = Some(part.names().to_vec()),
                Some(expected) if expected == part.names() => {}
                Some(expected) => {
                    let expected = format!(
                        "the columns {}, as in {}",
                        expected.join(", "),
                        files[0].display()
                    );
                    return Err(Error::content(file, expected, part.names().join(", ")));
                }
            }
        }
        let labelers = labelers.unwrap_or_default();
        if n_rows == 0 || labelers.is_empty() {
            let found = format!("{n_rows} rows and {} columns", labelers.len());
            return Err(Error::content(path, "at least one row and one labeler", found));
        }
        Ok(Self { files, labelers, n_rows })
    }

    /// The files, in order.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Names of the columns, one a labeler.
    pub fn labelers(&self) -> &[String] {
        &self.labelers
    }

    /// Number of rows of all files, as they say themselves.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }
}

fn is_pattern(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains(['*', '?', '[']))
}

fn find(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() || !(path.is_dir() || is_pattern(path)) {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = if path.is_dir() { in_folder(path)? } else { by_pattern(path)? };
    if files.is_empty() {
        let found = if path.is_dir() { "none in this folder" } else { "none with such a name" };
        return Err(Error::content(path, "at least one parquet file", found));
    }
    files.sort_unstable();
    Ok(files)
}

/// Names that begin with a dot or an underscore are notes that other tools leave beside their parts.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Error::read(folder, error))? {
        let file = entry.map_err(|error| Error::read(folder, error))?.path();
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        let is_note = name.starts_with(b".") || name.starts_with(b"_");
        if file.extension().is_some_and(|e| e == "parquet") && file.is_file() && !is_note {
            files.push(file);
        }
    }
    Ok(files)
}

fn by_pattern(pattern: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_str().expect("patterns are text");
    let found = glob::glob(text)
        .map_err(|error| Error::content(pattern, "a pattern such as votes/*.parquet", error))?;
    let files = found.map(|file| {
        file.map_err(|error| {
            let path = error.path().to_owned();
            Error::read(&path, error.into())
        })
    });
    Ok(files.collect::<Result<Vec<_>>>()?.into_iter().filter(|file| file.is_file()).collect())
}
