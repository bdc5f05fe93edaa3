//! Damaged files are refused or read, by every reader: no panic, no endless loop, no memory that the file does not have.
//!
//! The test runs itself under a limit on memory, so that an allocation which trusts a header ends it.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::panic;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use labelflow_data::inputs::KeyColumn;
use labelflow_testing::{READERS, Reader, damaged};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Damaged files of each reader, unless the variable LABELFLOW_HOSTILE_CASES says otherwise.
const N_CASES: usize = 400;
/// What a file of some kilobytes may take, with the program itself: kilobytes of virtual memory.
const MEMORY_LIMIT: usize = 600_000;
/// A file of some kilobytes takes milliseconds; this is for a machine that has much else to do.
const TIME_LIMIT: Duration = Duration::from_secs(20);

fn n_cases() -> usize {
    std::env::var("LABELFLOW_HOSTILE_CASES").map_or(N_CASES, |text| text.parse().unwrap())
}

#[test]
fn valid_files_are_read() {
    // What is mutated must be worth mutating: each has at least one reader that takes it.
    let folder = tempfile::tempdir().unwrap();
    for reader in READERS {
        for bytes in (reader.valid)() {
            reader.read(folder.path(), &bytes);
        }
    }
    let book = folder.path().join("book.xls");
    let sheet = labelflow_data::catalog::formats::XlsSheet::read(&book, "Data").unwrap();
    assert_eq!((sheet.text(0, 0), sheet.number(1, 1)), (Some("abc"), Some(1e300)));
    assert!(labelflow_data::inputs::read_rules(&folder.path().join("rules.toml"), None).is_ok());
    assert!(labelflow_data::inputs::read_wrench(folder.path()).is_ok());
    for bytes in (Reader::named("label_model").valid)() {
        assert!(labelflow_data::inputs::SavedLabelModel::from_json(str::from_utf8(&bytes).unwrap()).is_ok());
    }
    let parts =
        labelflow_data::parts::TableParts::open(&folder.path().join("parts/part-1.parquet"), &Default::default());
    assert_eq!(parts.unwrap().n_rows(), 2);
    let keyed = ["keyed", "whole.parquet"].map(|table| {
        labelflow_data::parts::TableParts::open(&folder.path().join(table), &KeyColumn::of(Some("id"))).unwrap()
    });
    assert!(keyed[0].check_same_rows(&keyed[1]).is_ok());
    assert!(labelflow_data::texts::KeywordLabelers::read(&folder.path().join("keywords.toml")).is_ok());
}

#[cfg(unix)]
#[test]
fn damaged_files_within_limits() {
    let script = format!("ulimit -v {MEMORY_LIMIT}; exec \"$0\" --ignored --exact --nocapture damaged_files");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env("LABELFLOW_HOSTILE_FOLDER", folder.path())
        // Memory is counted as addresses: each thread and arena would reserve a lot of them.
        .env("RAYON_NUM_THREADS", "2")
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    eprintln!("{}", stderr.trim());
}

/// Run by [`damaged_files_within_limits`].
#[test]
#[ignore = "run by damaged_files_within_limits, under a limit on memory"]
fn damaged_files() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = match std::env::var_os("LABELFLOW_HOSTILE_FOLDER") {
        Some(folder) => folder.into(),
        None => temporary.path().to_owned(),
    };
    let mut n_all = 0;
    for (index, reader) in READERS.iter().enumerate() {
        eprint!("{}: ", reader.name);
        n_all += try_damaged(reader, index as u64, &folder);
        eprintln!("{}", n_cases());
    }
    eprintln!("{n_all} damaged files of {} readers: each was read or refused", READERS.len());
}

/// The Parquet decoder panics on some files with one wrong byte. They are refused, and the panic hook stays that of the program.
#[test]
fn decoders_that_panic_leave_the_panic_hook_alone() {
    static GUARDED: AtomicUsize = AtomicUsize::new(0);
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| match labelflow_files::is_guarded() {
        true => drop(GUARDED.fetch_add(1, Ordering::Relaxed)),
        false => usual(info),
    }));
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::named("parquet");
    let mut bytes = (reader.valid)().swap_remove(0);
    for place in 0..bytes.len() {
        let right = std::mem::replace(&mut bytes[place], 0x7f);
        reader.read(folder.path(), &bytes);
        bytes[place] = right;
    }
    let n_guarded = GUARDED.load(Ordering::Relaxed);
    eprintln!("{n_guarded} panics became errors, and the hook of this test saw each");
    assert!(n_guarded > 0);
}

fn try_damaged(reader: &Reader, seed: u64, folder: &std::path::Path) -> usize {
    let valid = (reader.valid)();
    let folder = folder.join(reader.name);
    for case in 0..n_cases() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed << 32 | case as u64);
        let bytes = damaged(&valid[rng.random_range(0..valid.len())], &valid, &mut rng);
        let start = Instant::now();
        reader.read(&folder, &bytes);
        let time = start.elapsed();
        assert!(time < TIME_LIMIT, "{} case {case} took {time:?}", reader.name);
    }
    n_cases()
}
