//! A folder to try commands in.

// Every test file uses its own part of this.
#![allow(dead_code)]

pub(crate) mod parts;
pub(crate) mod writers;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A temporary folder with files, in which commands are run.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A small problem: `features.csv`, `signals.csv`, `labels.csv`, and a `run.toml` with a small model.
    pub(crate) fn with_problem() -> Self {
        let problem = Problem::new(60);
        Self::new()
            .file("features.csv", problem.features(&["a", "b", "c"]))
            .file("signals.csv", problem.signals(&["0", "1"]))
            .file("labels.csv", problem.labels(&["0", "1"]))
            .file("run.toml", "bounds = 0.2\n[config]\nn_steps = 2\nd_hidden = 8\n")
    }

    /// The small problem and a model of it in `model`.
    pub(crate) fn with_model() -> Self {
        let sandbox = Self::with_problem();
        sandbox.labelflow(FIT).succeeded();
        sandbox
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn file(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        self.write(name, contents);
        self
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Names and contents of all files, and names of all folders, below a folder.
    pub(crate) fn contents(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut contents = BTreeMap::new();
        collect(&self.path(name), &mut contents);
        contents
    }

    /// Runs `labelflow` with these arguments, separated by blanks.
    pub(crate) fn labelflow(&self, arguments: &str) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs a shell script, in which `$LABELFLOW` is the program.
    pub(crate) fn shell(&self, script: &str) -> Ran {
        self.prepare("sh").args(["-c", script]).output().unwrap().into()
    }

    /// `labelflow` with these arguments, not yet started.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = self.prepare(env!("CARGO_BIN_EXE_labelflow"));
        command.args(arguments.split_whitespace());
        command
    }

    fn prepare(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("LABELFLOW", env!("CARGO_BIN_EXE_labelflow"))
            .env("HOME", self.folder.path())
            // No address can be reached.
            .env("HTTP_PROXY", "http://127.0.0.1:9")
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("RUST_BACKTRACE", "0")
            .env_remove("LABELFLOW_DATA")
            .env_remove("XDG_DATA_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command that must fail as an error should: exit code 2, a message with all these parts, and no file
    /// changed, added or lost.
    pub(crate) fn refuses(&self, arguments: &str, parts: &[&str]) {
        let before = self.contents("");
        let ran = self.labelflow(arguments);
        ran.refused(parts);
        self.assert_contents(&before);
    }

    pub(crate) fn assert_contents(&self, expected: &BTreeMap<PathBuf, Vec<u8>>) {
        let found = self.contents("");
        let names: Vec<_> = found.keys().collect();
        assert_eq!(names, expected.keys().collect::<Vec<_>>(), "files were added or lost");
        for (name, contents) in &found {
            assert_eq!(contents, &expected[name], "{} was changed", name.display());
        }
    }
}

/// The usual fit: quick, and with no remarks.
pub(crate) const FIT: &str = "fit run.toml --features features.csv --signals signals.csv --epochs 30 --out model";

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    /// Exit code 2, and a message with all these parts.
    #[track_caller]
    pub(crate) fn refused(self, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(2), "{}{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "no '{part}' in: {}", self.stderr);
        }
        self
    }
}

fn collect(path: &Path, contents: &mut BTreeMap<PathBuf, Vec<u8>>) {
    if path.is_file() {
        contents.insert(path.to_owned(), std::fs::read(path).unwrap());
        return;
    }
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            contents.insert(path.clone(), Vec::new());
        }
        collect(&path, contents);
    }
}

/// Two classes, three features of which the first tells the class, and three labelers that err on every fifth row or so.
pub(crate) struct Problem {
    classes: Vec<usize>,
    features: Vec<[f32; 3]>,
    votes: Vec<[usize; 3]>,
}

impl Problem {
    pub(crate) fn new(n_rows: usize) -> Self {
        let mut state = 1;
        let mut next = || {
            // The constants of MMIX; its high bits are random enough for this.
            state = 6_364_136_223_846_793_005_u64.wrapping_mul(state).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u32 << 24) as f32
        };
        let mut problem = Self { classes: Vec::new(), features: Vec::new(), votes: Vec::new() };
        for row in 0..n_rows {
            let class = row % 2;
            problem.classes.push(class);
            problem.features.push([class as f32 * 2.0 + next(), next() * 100.0, next() - 0.5]);
            problem.votes.push([0; 3].map(|_| if next() < 0.2 { 1 - class } else { class }));
        }
        problem
    }

    pub(crate) fn features(&self, names: &[&str; 3]) -> String {
        csv(names, self.features.iter().map(|row| row.map(|value| value.to_string())))
    }

    pub(crate) fn signals(&self, classes: &[&str; 2]) -> String {
        let rows = self.votes.iter().map(|row| row.map(|vote| classes[vote].to_owned()));
        csv(&["rule_a", "rule_b", "rule_c"], rows)
    }

    pub(crate) fn labels(&self, classes: &[&str; 2]) -> String {
        csv(&["label"], self.classes.iter().map(|&class| [classes[class].to_owned()]))
    }
}

fn csv<const N: usize>(names: &[&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut text = names.join(",") + "\n";
    for row in rows {
        writeln!(text, "{}", row.join(",")).unwrap();
    }
    text
}
