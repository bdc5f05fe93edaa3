//! A folder to write into: by one process at a time, and not among the files of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use labelflow::storage::FolderLock;

use crate::flags::OverwriteArgs;
use crate::inputs::cloud_files::entries;
use crate::inputs::model_files::is_model_file;

/// Says which files of a folder are the program's own, one a line, with its length: a file that has another was changed by somebody.
const OWN_FILES: &str = ".written-by-labelflow";

/// A folder that is there, and that no other process writes into as long as this value lives.
pub(crate) struct ClaimedFolder {
    path: PathBuf,
    /// Whether it was not there before.
    is_new: bool,
    /// The files of others, and when they were last changed; none are looked for in a folder that is changed in place.
    others: Option<BTreeMap<PathBuf, Option<SystemTime>>>,
    lock: Option<FolderLock>,
}

impl ClaimedFolder {
    /// A folder whose files are the command's to replace. Makes it if it is not there.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let is_new = !path.exists();
        std::fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))?;
        let mut claim = Self { path: path.to_owned(), is_new, others: None, lock: None };
        let lock = FolderLock::acquire(path).with_context(|| path.display().to_string())?;
        claim.lock = Some(lock);
        Ok(claim)
    }

    /// A folder that a command fills, and that holds nothing but what such commands left there, unless it is to overwrite.
    pub(crate) fn fill(path: &Path, OverwriteArgs { overwrite }: &OverwriteArgs) -> anyhow::Result<Self> {
        // Whoever was killed here could not say what was its own.
        let others: Vec<PathBuf> = match FolderLock::is_in(path) {
            true => Vec::new(),
            false => files_of_others(path).take(if *overwrite { usize::MAX } else { 1 }).collect(),
        };
        if let (false, Some(other)) = (overwrite, others.first()) {
            bail!(
                "{}: expected a folder with nothing but what labelflow left there, found {} (name another folder, or --overwrite, which \
                 replaces files of the same names)",
                path.display(),
                other.display()
            );
        }
        let mut claim = Self::open(path)?;
        claim.others = Some(others.into_iter().map(|file| (file.clone(), changed(&file))).collect());
        Ok(claim)
    }

    /// Says for the next time which files are the program's own: those that were not there before, or have been replaced.
    fn note_own_files(&self) -> std::io::Result<()> {
        let Some(others) = &self.others else { return Ok(()) };
        let is_own = |file: &PathBuf| others.get(file).is_none_or(|before| *before != changed(file));
        let own = files_below(&self.path).filter(|file| !has_own_name(file) && is_own(file));
        let lines: BTreeSet<String> = own.filter_map(|file| line(&self.path, &file)).collect();
        let list = self.path.join(OWN_FILES);
        match lines.is_empty() {
            // There is none in most folders: models need no list.
            true => std::fs::remove_file(&list).or(Ok(())),
            false => labelflow_files::replace(&list, lines.into_iter().collect::<String>().as_bytes()),
        }
    }
}

impl Drop for ClaimedFolder {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // Without the list the next command asks for --overwrite: nothing is lost.
            let _ = self.note_own_files();
        }
        self.lock = None;
        if self.is_new {
            // Only an empty folder can be removed: what was written stays.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The files in a folder that no command of this program is known to have left there.
fn files_of_others(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let list = std::fs::read_to_string(folder.join(OWN_FILES)).unwrap_or_default();
    let listed: BTreeSet<String> = list.lines().map(|line| format!("{line}\n")).collect();
    files_below(folder)
        .filter(move |file| !has_own_name(file) && line(folder, file).is_none_or(|line| !listed.contains(&line)))
}

/// What the list says of a file; nothing of one whose name is no text or more than a line.
fn line(folder: &Path, file: &Path) -> Option<String> {
    let length = file.symlink_metadata().ok()?.len();
    let name = file.strip_prefix(folder).ok()?.to_str().filter(|name| !name.contains('\n'))?;
    Some(format!("{length} {name}\n"))
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.symlink_metadata().and_then(|metadata| metadata.modified()).ok()
}

/// Whether the name tells whose file it is: that of a model, or of a run that was kept, whose name ends in a digest of its settings.
fn has_own_name(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let digest = name.strip_suffix(".json").and_then(|stem| stem.rsplit_once('-')).map_or("", |(_, digest)| digest);
    (digest.len() == 12 && digest.bytes().all(|digit| digit.is_ascii_hexdigit())) || is_model_file(file)
}

/// All files below a folder, but hidden ones and those of folders that have a list of their own. Links to folders are not followed.
pub(super) fn files_below(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let inside = |folder: &Path| entries(folder).unwrap_or_default().into_iter().rev();
    let mut ahead: Vec<PathBuf> = if folder.is_dir() { inside(folder).collect() } else { Vec::new() };
    std::iter::from_fn(move || {
        loop {
            let path = ahead.pop()?;
            if path.is_symlink() || !path.is_dir() {
                return Some(path);
            }
            if !path.join(OWN_FILES).exists() {
                ahead.extend(inside(&path));
            }
        }
    })
}
