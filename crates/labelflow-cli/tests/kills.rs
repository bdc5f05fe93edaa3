//! Kills at random moments, in training and in every command that writes.
//!
//! Training goes on to the same weights, to the last bit; every file is the old or the new one, whole; and a command that was killed
//! leaves nothing behind that the next one does not tidy up. The variable LABELFLOW_KILLS says how many kills there are of each of the
//! two kinds; `make kill-test` sets it to 150.

#![allow(clippy::unwrap_used, clippy::print_stderr)]
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::Sandbox;
use common::writers::{COMPLETE, WRITERS, Writer, sandbox, sandbox_of_writers};

/// Kills of each kind, unless LABELFLOW_KILLS says otherwise.
const N_KILLS: usize = 40;

fn n_kills() -> usize {
    std::env::var("LABELFLOW_KILLS").map_or(N_KILLS, |text| text.parse().unwrap())
}

/// Names and contents of files and folders.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The constants of MMIX; its high bits are random enough for this.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// When to kill.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// After a time.
    After(Duration),
    /// Some time after a folder has changed for the n-th time: in the midst of writing.
    AfterChange(usize, Duration),
}

impl Moment {
    /// Half of them anywhere within a time, half of them around writing.
    fn draw(random: &mut Random, time: Duration) -> Self {
        match random.unit() < 0.5 {
            true => Self::After(time.mul_f64(1.1 * random.unit())),
            false => {
                let n_changes = 1 + (4.0 * random.unit() * random.unit()) as usize;
                Self::AfterChange(n_changes, Duration::from_micros((3000.0 * random.unit()) as u64))
            }
        }
    }
}

/// Names, lengths and times of what is in a folder.
fn glance(folder: &Path) -> Vec<(std::ffi::OsString, u64, std::time::SystemTime)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut seen: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((entry.file_name(), metadata.len(), metadata.modified().ok()?))
        })
        .collect();
    seen.sort();
    seen
}

/// Starts a command and kills it at a moment; whether it was still running.
fn kill(sandbox: &Sandbox, arguments: &str, watched: &str, moment: Moment) -> bool {
    let watched = sandbox.path(watched);
    let mut last = glance(&watched);
    let mut child = sandbox.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    match moment {
        Moment::After(time) => std::thread::sleep(time),
        Moment::AfterChange(n_changes, time) => {
            let deadline = Instant::now() + Duration::from_secs(20);
            let mut n_seen = 0;
            while n_seen < n_changes && child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < deadline, "{arguments}: nothing happens");
                let now = glance(&watched);
                n_seen += usize::from(now != last);
                last = now;
                std::thread::sleep(Duration::from_micros(100));
            }
            std::thread::sleep(time);
        }
    }
    let _ = child.kill();
    let status = child.wait().unwrap();
    match status.signal() {
        Some(9) => true,
        // Code 1 is a missed expectation of a run, which is no failure.
        None if matches!(status.code(), Some(0 | 1)) => false,
        _ => panic!("{arguments}: {status}"),
    }
}

/// What is below a folder, by names relative to it.
fn files(sandbox: &Sandbox, folder: &str) -> Files {
    if !sandbox.path(folder).exists() {
        return Files::new();
    }
    let root = sandbox.path(folder);
    let contents = sandbox.contents(folder).into_iter();
    contents.map(|(path, bytes)| (path.strip_prefix(&root).unwrap().to_owned(), bytes)).collect()
}

/// Makes a folder be what it was.
fn restore(sandbox: &Sandbox, folder: &str, files: &Files) {
    let _ = std::fs::remove_dir_all(sandbox.path(folder));
    std::fs::create_dir_all(sandbox.path(folder)).unwrap();
    for (path, bytes) in files {
        let path = sandbox.path(folder).join(path);
        match bytes.is_empty() {
            true => std::fs::create_dir_all(path).unwrap(),
            false => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
        }
    }
}

/// Whether a killed process may leave a file of this name: none that anybody would read.
fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    (name.starts_with(".labelflow-") && name.ends_with(".partial")) || name == ".lock" || name == ".save.lock"
}

// Training.

const CLASSIFY: &str = "fit run.toml --features features.csv --signals signals.csv --epochs 120 --checkpoint-every 2";
/// 104 MB are for reading six columns: the rest is too little for all rows.
const CLASSIFY_PARTS: &str = "fit run.toml --features parts/features --signals parts/signals --bounds 0.3 --epochs 120 \
    --checkpoint-every 2 --batch-size 16 --memory 104035000B";
const REGRESS: &str = "fit rules-run.toml --features features.csv --rules rules.csv --epochs 120 --checkpoint-every 2";

/// A run that is killed again and again, until it ends; the number of kills.
fn train_through_kills(sandbox: &Sandbox, fit: &str, expected: &Files, random: &mut Random, time: Duration) -> usize {
    let command = format!("{fit} --out killed");
    let _ = std::fs::remove_dir_all(sandbox.path("killed"));
    let mut n_kills = 0;
    loop {
        // Short steps: several kills on the way to the end, some of them while it is saved.
        let moment = match n_kills % 3 {
            0 => Moment::draw(random, time),
            1 => Moment::After(time.mul_f64(0.2 + 0.5 * random.unit())),
            _ => {
                let n_changes = 2 + (40.0 * random.unit() * random.unit()) as usize;
                Moment::AfterChange(n_changes, Duration::from_micros((2000.0 * random.unit()) as u64))
            }
        };
        if !kill(sandbox, &command, "killed", moment) {
            break;
        }
        n_kills += 1;
        // What is there can be read, or is not there.
        if sandbox.path("killed/model.toml").exists() {
            let found = files(sandbox, "killed");
            for name in ["weights.safetensors", "model.toml", "metrics.jsonl"] {
                if let Some(bytes) = found.get(Path::new(name)) {
                    assert!(*bytes == expected[Path::new(name)], "{fit}: {name} is neither old nor new");
                }
            }
        }
    }
    let found = files(sandbox, "killed");
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{fit}");
    for (name, bytes) in expected {
        assert!(found[name] == *bytes, "{fit}: {} differs after {n_kills} kills", name.display());
    }
    n_kills
}

#[test]
fn training() {
    let sandbox = sandbox();
    let kinds = [
        CLASSIFY.to_owned(),
        format!("{CLASSIFY} --batch-size 16"),
        REGRESS.to_owned(),
        COMPLETE.to_owned(),
        CLASSIFY_PARTS.to_owned(),
    ];
    let made = "data synth gaussian --rows 90 --features 3 --labelers 3 --rows-per-part 30 --out parts";
    sandbox.labelflow(made).succeeded();
    let mut whole = Vec::new();
    for fit in &kinds {
        let start = Instant::now();
        let ran = sandbox.labelflow(&format!("{fit} --out whole")).succeeded();
        assert_eq!(ran.stderr.contains(" windows,"), fit.contains("--memory"), "{}", ran.stderr);
        whole.push((files(&sandbox, "whole"), start.elapsed()));
        std::fs::remove_dir_all(sandbox.path("whole")).unwrap();
    }
    let (mut n_done, mut n_runs) = (0, 0);
    let mut random = Random(1);
    while n_done < n_kills() {
        let kind = n_runs % kinds.len();
        let (expected, time) = &whole[kind];
        n_done += train_through_kills(&sandbox, &kinds[kind], expected, &mut random, *time);
        n_runs += 1;
    }
    eprintln!("training: {n_done} kills in {n_runs} runs, each of which went on to the same weights, to the last bit");
}

// Writers.

/// Without what a clock says.
fn untimed(path: &Path, bytes: &[u8]) -> Vec<u8> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return bytes.to_vec();
    }
    let mut value: serde_json::Value =
        serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{} is not whole: {error}", path.display()));
    let results: Vec<&mut serde_json::Value> = match &mut value {
        serde_json::Value::Array(items) => items.iter_mut().collect(),
        one => vec![one],
    };
    for object in results.into_iter().filter_map(serde_json::Value::as_object_mut) {
        object.remove("seconds");
        object.remove("epoch_ms");
        object.remove("completion_ms");
    }
    serde_json::to_vec(&value).unwrap()
}

fn without_time(files: Files) -> Files {
    files.into_iter().map(|(path, bytes)| (path.clone(), untimed(&path, &bytes))).collect()
}

#[track_caller]
fn assert_old_or_new(writer: &Writer, found: &Files, old: &Files, new: &Files) {
    // Beside its place for as long as it is written, empty at first: nobody reads it there.
    let is_partial = |path: &Path| path.extension().is_some_and(|end| end == "partial");
    let kept = found.iter().filter(|(path, _)| !is_leftover(path) && !is_partial(path));
    for (path, bytes) in kept {
        let bytes = match bytes.is_empty() {
            true => Vec::new(),
            false => untimed(path, bytes),
        };
        let place = match path.extension() {
            Some(end) if end == "new" => path.with_extension(""),
            _ => path.clone(),
        };
        // A checkpoint belongs to a run that goes on; whether it is whole is tested above.
        if path.ends_with("checkpoint.safetensors") {
            continue;
        }
        let is_one = [old, new].iter().any(|files| files.get(&place) == Some(&bytes));
        assert!(is_one, "{}: {} is neither the old nor the new one", writer.name, path.display());
    }
    for path in old.keys() {
        assert!(found.contains_key(path), "{}: {} is lost", writer.name, path.display());
    }
}

#[test]
fn writers() {
    let sandbox = sandbox_of_writers();
    let mut random = Random(2);
    let mut n_done = 0;
    let each = n_kills().div_ceil(WRITERS.len());
    for writer in WRITERS {
        let run = |arguments: &str| {
            let ran = sandbox.labelflow(arguments);
            assert!(matches!(ran.code, Some(0 | 1)), "{arguments}: {}", ran.stderr);
        };
        restore(&sandbox, "out", &Files::new());
        run(writer.old);
        let old_raw = files(&sandbox, "out");
        let old = without_time(old_raw.clone());
        let start = Instant::now();
        run(writer.new);
        let time = start.elapsed();
        let new = without_time(files(&sandbox, "out"));
        assert!(!new.is_empty() && (old != new || writer.old == writer.new), "{}", writer.name);
        let mut n_killed = 0;
        for attempt in 0.. {
            assert!(attempt < 20 * each, "{}: too quick to be killed", writer.name);
            if n_killed == each {
                break;
            }
            // Every other time on top of what the last kill left.
            if attempt % 2 == 0 {
                restore(&sandbox, "out", &old_raw);
            }
            let watched = new.keys().find(|path| sandbox.path("out").join(path).is_dir());
            let watched = watched.map_or("out".to_owned(), |path| format!("out/{}", path.display()));
            n_killed += usize::from(kill(&sandbox, writer.new, &watched, Moment::draw(&mut random, time)));
            assert_old_or_new(writer, &files(&sandbox, "out"), &old, &new);
        }
        // The next one that is not killed leaves the new files and nothing else.
        run(writer.new);
        let found = without_time(files(&sandbox, "out"));
        let names: Vec<_> = found.keys().collect();
        assert_eq!(names, new.keys().collect::<Vec<_>>(), "{}: something is left", writer.name);
        assert!(found == new, "{}: the files differ after {n_killed} kills", writer.name);
        n_done += n_killed;
    }
    eprintln!(
        "writers: {n_done} kills of {} commands, and every file was the old or the new one, whole",
        WRITERS.len()
    );
}
