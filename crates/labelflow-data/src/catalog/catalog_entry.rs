//! The datasets this project knows: where they come from, what they hold, how they are loaded.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::read::MultiGzDecoder;
use labelflow_files::Sha256;
use serde::{Deserialize, Serialize};

use crate::catalog::sets::{Loader, loader};
use crate::catalog::{BoundsFrom, RuleProblem, VoteProblem, WeakProblem, simulate, simulate_rules};
use crate::{Error, Result, ensure};

/// The datasets, and what they are made of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    /// Files of several datasets.
    #[serde(borrow)]
    shared_files: HashMap<&'static str, Vec<CatalogFile>>,
    datasets: Vec<CatalogEntry>,
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let text = include_str!("../../data/catalog.toml");
    let mut catalog: Catalog = toml::from_str(text).expect("the embedded catalog is whole");
    for entry in &mut catalog.datasets {
        entry.files.extend(entry.shared.iter().flat_map(|name| catalog.shared_files[name].clone()));
    }
    catalog
});

/// The word vectors of the sets of texts.
fn word_vectors() -> &'static [CatalogFile] {
    &CATALOG.shared_files["word-vectors"]
}

/// A dataset of the catalog.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CatalogEntry {
    /// The name users type.
    pub name: &'static str,
    /// The name people read.
    pub title: &'static str,
    /// The files it is made of.
    #[serde(default)]
    pub files: Vec<CatalogFile>,
    /// Under which terms the publisher gives it.
    pub licence: &'static str,
    /// What to cite.
    pub citation: &'static str,
    /// How large it is.
    #[serde(flatten)]
    pub counts: Counts,
    /// Which shared files are the last ones of `files`, or nothing.
    #[serde(default, borrow, skip_serializing)]
    pub(crate) shared: Option<&'static str>,
}

/// What a problem is made from.
pub(crate) struct Source<'a> {
    /// The data folder.
    pub(crate) dir: &'a Path,
    /// The files of the dataset there.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) seed: u64,
    pub(crate) options: &'a LoadOptions,
}

/// A file of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogFile {
    /// Its place in the data folder.
    pub path: &'static str,
    /// Where its publisher offers it; what follows a `#` is the name of the file in a zip archive. Empty when it was put together from what publishers offer, so that nobody has it
    /// in this form.
    #[serde(default)]
    pub url: &'static str,
    /// The SHA-256 of the bytes that `checksum` names, in hexadecimal.
    pub sha256: &'static str,
    /// The number of those bytes.
    pub bytes: u64,
    /// Which bytes are hashed.
    #[serde(default)]
    pub checksum: Checksum,
    /// Hashes of other forms of the file that are loaded as well.
    #[serde(default, borrow)]
    pub other_sha256: Vec<&'static str>,
}

impl CatalogFile {
    /// Whether this is the hash of a form of the file that can be loaded.
    pub(crate) fn accepts(&self, sha256: &str) -> bool {
        self.sha256 == sha256 || self.other_sha256.contains(&sha256)
    }
}

/// Which bytes of a file are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksum {
    /// The file as it is.
    #[default]
    File,
    /// What the gzip file holds. Copies of the same content differ in gzip headers, which may carry a file name.
    Unpacked,
}

/// The SHA-256 in hexadecimal. A gzip file that cannot be unpacked has the hash of what could be.
pub(crate) fn sha256_hex(checksum: Checksum, bytes: &[u8]) -> String {
    match checksum {
        Checksum::File => labelflow_files::sha256_hex(bytes),
        Checksum::Unpacked => {
            let mut hash = Sha256::default();
            // A damaged stream ends early, and its hash cannot be the right one: that is the answer needed.
            let _ = io::copy(&mut MultiGzDecoder::new(bytes), &mut hash);
            hash.hex()
        }
    }
}

/// Choices in loading a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadOptions {
    /// The labelled rows on which the labelers' errors are measured.
    pub bounds: BoundsFrom,
    /// Keep the 300 rows of credit-card that the source of its weak signals drops. Other sets ignore it.
    pub keep_all_rows: bool,
    /// Word vectors for sets of texts, a file in GloVe's text format, gzipped or not. Default: the vectors with 100
    /// dimensions in the data folder. Other sets ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word_vectors: Option<PathBuf>,
    /// Compute the vectors of imdb from cleaned reviews. Default: from the reviews as they are, as the paper's source
    /// does, so that tokens with capitals or punctuation are unknown. Other sets ignore it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub imdb_clean_features: bool,
    /// Of sets of shapes, only the first so many to train on. Default: all. Other sets ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_train_shapes: Option<usize>,
    /// Of sets of shapes, only the first so many to test on. Default: all. Other sets ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_test_shapes: Option<usize>,
}

/// All datasets.
pub fn catalog() -> &'static [CatalogEntry] {
    &CATALOG.datasets
}

/// The dataset with this name.
///
/// ```
/// assert_eq!(labelflow_data::catalog::find("wine-quality")?.counts.n_rows, 4974);
/// let error = labelflow_data::catalog::find("wine").unwrap_err();
/// assert!(error.to_string().contains("did you mean wine-quality?"));
/// # Ok::<(), labelflow_data::Error>(())
/// ```
pub fn find(name: &str) -> Result<&'static CatalogEntry> {
    if let Some(entry) = catalog().iter().find(|entry| entry.name == name) {
        return Ok(entry);
    }
    let names = catalog().iter().map(|entry| entry.name).collect::<Vec<_>>();
    let expected = format!("one of {}", names.join(", "));
    let error = Error::config("dataset", expected, format!("'{name}'"));
    let near = names.into_iter().filter(|known| is_near(known, name)).collect::<Vec<_>>();
    Err(match near[..] {
        [] => error,
        _ => error.with_hint(format!("did you mean {}?", near.join(" or "))),
    })
}

/// Loads the dataset with this name from the files in `dir`, whose layout is that of [`CatalogFile::path`]. Its labels are
/// classes; [`load_rules`] loads the others.
pub fn load(name: &str, dir: &Path, seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
    find(name)?.load_classes(dir, seed, options)
}

/// Loads the dataset with this name, whose labels are real values, from the files in `dir`. [`load`] loads those whose
/// labels are classes.
///
/// ```
/// let problem = labelflow_data::catalog::load_rules("diabetes", ".".as_ref(), 0)?;
/// assert_eq!(problem.train.groups().len(), 10);
/// # Ok::<(), labelflow_data::Error>(())
/// ```
pub fn load_rules(name: &str, dir: &Path, seed: u64) -> Result<RuleProblem> {
    find(name)?.load_values(dir, seed)
}

/// Loads the set of votes with this name from the files in `dir`. Of planted votes every seed is another problem.
///
/// ```
/// let problem = labelflow_data::catalog::load_votes("planted-dense-crowd", ".".as_ref(), 0)?;
/// assert_eq!(problem.signals.n_rows(), problem.truth.n_rows());
/// # Ok::<(), labelflow_data::Error>(())
/// ```
pub fn load_votes(name: &str, dir: &Path, seed: u64) -> Result<VoteProblem> {
    find(name)?.load_votes(dir, seed)
}

/// What a dataset is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Features and votes, and classes to judge by.
    Classes,
    /// Features and rules about real values.
    Values,
    /// Votes alone, and classes to judge by.
    Votes,
}

impl SetKind {
    /// What its labels are.
    fn labels(self) -> &'static str {
        match self {
            Self::Classes => "classes",
            Self::Values => "real values",
            Self::Votes => "classes of rows without features",
        }
    }
}

impl CatalogEntry {
    /// What it is made for.
    pub fn kind(&self) -> SetKind {
        match loader(self.name) {
            Loader::Classes(_) | Loader::ClassTable(..) => SetKind::Classes,
            Loader::ValueTable(..) => SetKind::Values,
            Loader::Votes(_) | Loader::PlantedVotes(_) => SetKind::Votes,
        }
    }

    /// Its files in a folder, which must be there if they are needed.
    pub(crate) fn paths(&self, dir: &Path, options: &LoadOptions) -> Result<Vec<PathBuf>> {
        let is_needed = |file: &&CatalogFile| options.word_vectors.is_none() || !word_vectors().contains(file);
        for file in self.files.iter().filter(is_needed) {
            let (folder, expected) = (format!("data folder {}", dir.display()), format!("the file {}", file.path));
            let missing = || Error::config(folder, expected, "no such file").with_hint(self.where_files_come_from());
            ensure(dir.join(file.path).is_file(), missing)?;
        }
        Ok(self.files.iter().map(|file| dir.join(file.path)).collect())
    }

    fn load_classes(&self, dir: &Path, seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
        let paths = || self.paths(dir, options);
        match loader(self.name) {
            Loader::Classes(load) => load(&Source { dir, paths: paths()?, seed, options }),
            Loader::ClassTable(read, columns) => simulate(&read(&paths()?)?, columns, seed, options.bounds),
            _ => Err(self.other_kind(SetKind::Classes)),
        }
    }

    fn load_values(&self, dir: &Path, seed: u64) -> Result<RuleProblem> {
        match loader(self.name) {
            Loader::ValueTable(read, features) => {
                simulate_rules(&read(&self.paths(dir, &LoadOptions::default())?)?, features, seed)
            }
            _ => Err(self.other_kind(SetKind::Values)),
        }
    }

    fn load_votes(&self, dir: &Path, seed: u64) -> Result<VoteProblem> {
        let options = &LoadOptions::default();
        match loader(self.name) {
            Loader::Votes(load) => load(&Source { dir, paths: self.paths(dir, options)?, seed, options }),
            Loader::PlantedVotes(kind) => kind.generate(seed),
            _ => Err(self.other_kind(SetKind::Votes)),
        }
    }

    fn other_kind(&self, expected: SetKind) -> Error {
        let expected = format!("a set whose labels are {}", expected.labels());
        Error::config("dataset", expected, format!("'{}', whose labels are {}", self.name, self.kind().labels()))
    }

    /// Advice for someone whose copy is missing.
    pub(crate) fn where_files_come_from(&self) -> String {
        let paths = self.files.iter().map(|file| file.path).collect::<Vec<_>>().join(", ");
        let folder = format!("point --data or LABELFLOW_DATA to a folder with {paths}");
        if self.files.iter().any(|file| word_vectors().contains(file)) {
            return format!("{folder}; word_vectors may name other word vectors");
        }
        format!("`labelflow data fetch {}` downloads it; or {folder}", self.name)
    }
}

/// What [`check`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The dataset.
    pub name: &'static str,
    /// The state of each file.
    pub files: Vec<FileCheck>,
    /// Rows, features and classes as loaded, or nothing when a file is missing or differs so much that it cannot be.
    pub counts: Option<Counts>,
    /// Rows, features and classes as the catalog says.
    pub expected: Counts,
}

impl CheckReport {
    /// Whether all files are there with the right hashes and the counts are those of the catalog.
    pub fn is_good(&self) -> bool {
        let files_are_good = self.files.iter().all(|file| file.state == FileState::Good);
        files_are_good && self.counts == Some(self.expected)
    }
}

/// One file of a [`CheckReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCheck {
    /// Where it was looked for.
    pub path: PathBuf,
    /// What was found.
    pub state: FileState,
}

/// The state of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// There, with the right content.
    Good,
    /// Not there.
    Missing,
    /// There, with another content, whose SHA-256 this is.
    Differs(String),
}

/// The size of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of rows of all parts together.
    pub n_rows: usize,
    /// Number of feature columns.
    pub d_features: usize,
    /// Number of classes; 0 where labels are real values.
    pub n_classes: usize,
}

/// Compares the files of a dataset, and what they hold, with the catalog.
///
/// A file that is missing or differs is reported, not an error; an error is a file that cannot be read.
pub fn check(entry: &CatalogEntry, dir: &Path) -> Result<CheckReport> {
    let state = |file: &CatalogFile| {
        let path = dir.join(file.path);
        Ok(FileCheck { state: file_state(file, &path)?, path })
    };
    let files = entry.files.iter().map(state).collect::<Result<Vec<_>>>()?;
    let counts = || -> Result<Counts> {
        let (n_rows, d_features, n_classes) = match entry.kind() {
            SetKind::Values => {
                let problem = entry.load_values(dir, 0)?;
                (problem.n_rows(), problem.train.features().d_features(), 0)
            }
            SetKind::Classes => {
                let problem = entry.load_classes(dir, 0, &LoadOptions::default())?;
                let train = &problem.train;
                (problem.n_rows(), train.features().d_features(), train.n_classes())
            }
            SetKind::Votes => {
                let VoteProblem { signals, .. } = entry.load_votes(dir, 0)?;
                (signals.n_rows(), 0, signals.n_classes())
            }
        };
        Ok(Counts { n_rows, d_features, n_classes })
    };
    let is = |state: fn(&FileState) -> bool| files.iter().any(|file| state(&file.state));
    let counts = if is(|state| *state == FileState::Missing) {
        None
    } else if is(|state| matches!(state, FileState::Differs(_))) {
        // Who knows what such a file holds: that it cannot be loaded is no news.
        counts().ok()
    } else {
        Some(counts()?)
    };
    Ok(CheckReport { name: entry.name, files, counts, expected: entry.counts })
}

pub(crate) fn file_state(file: &CatalogFile, path: &Path) -> Result<FileState> {
    if !path.is_file() {
        return Ok(FileState::Missing);
    }
    let bytes = std::fs::read(path).map_err(|source| Error::read(path, source))?;
    let found = sha256_hex(file.checksum, &bytes);
    Ok(if file.accepts(&found) { FileState::Good } else { FileState::Differs(found) })
}

/// Whether someone who typed `typed` may have meant `known`: a part of it, or few letters away.
fn is_near(known: &str, typed: &str) -> bool {
    let typed = typed.to_lowercase().replace(['_', ' '], "-");
    let is_part = typed.len() >= 3 && (known.contains(&typed) || typed.contains(known));
    is_part || strsim::levenshtein(known, &typed) <= 3
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, GzBuilder};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_files_are_loaded_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            text in "(([0-9]{1,2}[ ,;\t]){0,40}[0-9]\n){0,5}",
        ) {
            for entry in catalog().iter().filter(|entry| !entry.files.is_empty()) {
                for content in [&bytes[..], text.as_bytes()] {
                    let folder = tempfile::tempdir().unwrap();
                    for file in &entry.files {
                        let path = folder.path().join(file.path);
                        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                        std::fs::write(path, content).unwrap();
                    }
                    let is_loaded = match entry.kind() {
                        SetKind::Values => entry.load_values(folder.path(), 0).is_ok(),
                        SetKind::Classes => {
                            entry.load_classes(folder.path(), 0, &LoadOptions::default()).is_ok()
                        }
                        SetKind::Votes => entry.load_votes(folder.path(), 0).is_ok(),
                    };
                    prop_assert!(!is_loaded, "{}", entry.name);
                }
            }
        }
    }

    #[test]
    fn names_are_found_and_near_names_suggested() {
        assert_eq!(find("sms-rules").unwrap().counts.n_classes, 2);
        for (typed, meant) in
            [("brest-cancer", "breast-cancer"), ("fashion", "fashion-mnist-dvk"), ("Wine_Quality", "wine-quality")]
        {
            let error = find(typed).unwrap_err().to_string();
            assert!(error.contains("did you mean"), "{error}");
            assert!(error.contains(meant), "{error}");
        }
        assert!(!find("zzzzzzzzzz").unwrap_err().to_string().contains("did you mean"));
    }

    #[test]
    fn entries_are_complete_and_names_differ() {
        for (index, entry) in catalog().iter().enumerate() {
            assert!(catalog()[..index].iter().all(|other| other.name != entry.name));
            for file in &entry.files {
                assert_eq!(file.sha256.len(), 64, "{}", file.path);
                assert!(file.url.starts_with("http") || file.url.is_empty(), "{}", file.url);
            }
        }
    }

    #[test]
    fn missing_files_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = load("breast-cancer", folder.path(), 0, &LoadOptions::default()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("uci/breast-cancer/wdbc.data"), "{message}");
        assert!(message.contains("LABELFLOW_DATA"), "{message}");
        let report = check(find("breast-cancer").unwrap(), folder.path()).unwrap();
        assert_eq!(report.files[0].state, FileState::Missing);
        assert!(!report.is_good());
    }

    #[test]
    fn each_kind_of_labels_has_its_own_loader() {
        let here = Path::new(".");
        let error = load("bike-sharing", here, 0, &LoadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("'bike-sharing', whose labels are real values"), "{error}");
        let error = load_rules("wine-quality", here, 0).unwrap_err().to_string();
        assert!(error.contains("'wine-quality', whose labels are classes"), "{error}");
        let error = load_rules("bike-sharing", here, 0).unwrap_err().to_string();
        assert!(error.contains("uci/bike-sharing/hour.csv"), "{error}");
        assert!(catalog().iter().all(|entry| (entry.kind() == SetKind::Values) == (entry.counts.n_classes == 0)));
    }

    #[test]
    fn options_read_as_written() {
        let options: LoadOptions = serde_json::from_str(r#"{"bounds": "train_oracle"}"#).unwrap();
        assert_eq!(options.bounds, BoundsFrom::TrainOracle);
        // Settings that were not touched do not show, so that runs kept before they existed are still found.
        let text = serde_json::to_string(&LoadOptions::default()).unwrap();
        assert_eq!(text, r#"{"bounds":"simulation","keep_all_rows":false}"#);
        assert!(serde_json::from_str::<LoadOptions>(r#"{"bound": "x"}"#).is_err());
    }

    #[test]
    fn the_hash_of_the_content_does_not_depend_on_the_gzip_header() {
        // printf abc | sha256sum
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(Checksum::File, b"abc"), abc);
        for name in ["short", "a much longer name"] {
            let mut encoder = GzBuilder::new().filename(name).write(vec![], Compression::fast());
            encoder.write_all(b"abc").unwrap();
            let bytes = encoder.finish().unwrap();
            assert_eq!(sha256_hex(Checksum::Unpacked, &bytes), abc);
            assert_ne!(sha256_hex(Checksum::File, &bytes), abc);
            assert_ne!(sha256_hex(Checksum::Unpacked, &bytes[..bytes.len() / 2]), abc);
        }
    }
}
