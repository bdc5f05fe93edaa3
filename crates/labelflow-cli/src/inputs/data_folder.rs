//! Where datasets are kept.

use std::path::PathBuf;

/// The folder named by `--data` or LABELFLOW_DATA, or else the user's own.
pub(crate) fn data_folder(named: Option<&PathBuf>) -> PathBuf {
    if let Some(folder) = named {
        return folder.clone();
    }
    let home = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"))?;
        Some(PathBuf::from(home).join(".local").join("share"))
    });
    home.unwrap_or_else(|| PathBuf::from(".")).join("labelflow")
}
