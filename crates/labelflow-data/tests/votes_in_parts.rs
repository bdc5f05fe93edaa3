//! Votes in Parquet parts are what the same votes in one file are, whatever their row groups, and bad parts are named.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int8Array, RecordBatch, StringArray};
use labelflow_data::inputs::{
    AbstainConvention, SignalsOptions, read_counts, read_predictions, read_signals, write_counts, write_labels,
};
use labelflow_data::inputs::{KeyColumn, KeyHead, Keyed, LabelRows, write_labels_as_they_come};
use labelflow_data::parts::{StreamedPatterns, VoteParts, VoteStream};
use labelflow_data::synthetic::PlantedVotes;
use labelflow_weak::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::labelers::LabelerErrors;
use labelflow_weak::votes::CountedVotes;
use labelflow_weak::votes::WeakSignals;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const MANY: usize = 1_000_000;

fn write_parquet(path: &Path, columns: Vec<(String, ArrayRef)>, rows_per_group: usize) {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(rows_per_group)).build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Votes as small integers, -1 or null for an abstention.
fn integers(signals: &WeakSignals, rows: &[usize]) -> Vec<(String, ArrayRef)> {
    let cell = |row: usize, signal: usize| match signals.vote(row, signal) {
        Some(class) => Some(class as i8),
        None if row.is_multiple_of(2) => Some(-1),
        None => None,
    };
    let column =
        |signal: usize| -> ArrayRef { Arc::new(Int8Array::from_iter(rows.iter().map(|&row| cell(row, signal)))) };
    let names = signals.labelers().iter().enumerate();
    names.map(|(signal, name)| (name.clone(), column(signal))).collect()
}

/// The rows in parts of random sizes with random row groups.
fn write_parts(folder: &Path, signals: &WeakSignals, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut start, mut part) = (0, 0);
    while start < signals.n_rows() {
        let end = (start + random.random_range(1..900)).min(signals.n_rows());
        let rows: Vec<usize> = (start..end).collect();
        let path = folder.join(format!("part-{part:03}.parquet"));
        write_parquet(&path, integers(signals, &rows), random.random_range(1..300));
        (start, part) = (end, part + 1);
    }
}

fn planted(n_classes: usize, seed: u64) -> WeakSignals {
    let planted = PlantedVotes { n_rows: 3000, n_signals: 5, n_classes, seed, ..Default::default() };
    planted.generate().unwrap().signals
}

fn read(
    path: &Path,
    options: &SignalsOptions,
    most: impl Fn(&VoteParts, usize) -> usize,
) -> labelflow_data::Result<VoteStream> {
    VoteStream::read(VoteParts::open(path, &KeyColumn::Row)?, options, most)
}

fn open(path: &Path) -> VoteStream {
    read(path, &SignalsOptions::default(), |_, _| MANY).unwrap()
}

fn counted(stream: &VoteStream) -> &CountedVotes {
    match stream.patterns() {
        StreamedPatterns::Counted(counted) => counted,
        StreamedPatterns::TooMany { .. } => panic!("too many patterns"),
    }
}

#[test]
fn every_label_model_labels_parts_as_it_labels_one_file() {
    let folder = tempfile::tempdir().unwrap();
    for (n_classes, seed) in [(2, 1), (3, 2)] {
        let signals = planted(n_classes, seed);
        let parts = folder.path().join(format!("votes{n_classes}"));
        fs::create_dir(&parts).unwrap();
        write_parts(&parts, &signals, seed);
        let stream = open(&parts);
        assert!(stream.parts().files().len() > 2);
        assert_eq!(stream.parts().n_rows(), 3000);
        assert_eq!(counted(&stream), &CountedVotes::of(&signals));
        let known = KnownOfLabelers {
            errors: Some(LabelerErrors::per_labeler(&[0.2; 5], n_classes).unwrap()),
            bounds: Some(Bounds::constant(0.2, &signals).unwrap()),
            labels: None,
        };
        for &name in AnyLabelModel::NAMES {
            let model = AnyLabelModel::from_name(name).unwrap();
            let fitted = model.fit_counts(counted(&stream), &known).unwrap();
            let in_memory = model.fit(&signals, &known).unwrap();
            assert_eq!(fitted, in_memory, "{name}");
            // Once is enough for the slow ones: rows with the same votes have the same labels.
            if ["minimax-entropy", "constrained-labels"].contains(&name) {
                continue;
            }
            let labels = in_memory.predict_proba(&signals).unwrap();
            for extension in ["parquet", "csv"] {
                let path = |what: &str| folder.path().join(format!("{what}.{extension}"));
                let rows = LabelRows::of(&labels);
                write_labels(&path("memory"), &KeyHead::default(), rows, signals.classes()).unwrap();
                let mut n_rows = 0;
                let written =
                    write_labels_as_they_come(&path("parts"), signals.classes(), &Default::default(), |push| {
                        stream.visit(|part| {
                            n_rows += part.n_rows();
                            push(LabelRows::of(&fitted.predict_proba(part)?))
                        })
                    });
                written.unwrap();
                assert_eq!(n_rows, 3000);
                let read = |what| read_predictions(&path(what), &KeyColumn::Row).unwrap();
                assert_eq!(read("parts"), read("memory"), "{name}");
                if extension == "csv" {
                    let text = |what| fs::read(path(what)).unwrap();
                    assert_eq!(text("parts"), text("memory"));
                }
            }
        }
    }
}

#[test]
fn cells_mean_what_they_mean_in_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("votes.parquet");
    let reals = |cells: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(cells.to_vec())) };
    let names = |cells: &[Option<&str>]| -> ArrayRef { Arc::new(StringArray::from(cells.to_vec())) };
    let whole = |cells: &[i8]| -> ArrayRef { Arc::new(Int8Array::from(cells.to_vec())) };
    let options = |abstain, classes: &[&str]| SignalsOptions {
        abstain,
        classes: classes.iter().map(|&class| class.to_owned()).collect(),
        ..Default::default()
    };
    use AbstainConvention::{Detect, MinusOne, Missing, Signed, Zero};
    for (a, b, options) in [
        (reals(&[0.0, 1.0, f64::NAN]), whole(&[1, -1, 2]), options(MinusOne, &[])),
        (names(&[Some("spam"), None, Some("-1")]), names(&[Some("ham"); 3]), options(MinusOne, &[])),
        (names(&[Some("b"), Some(" a "), Some("")]), names(&[Some("a"); 3]), options(MinusOne, &["b", "a", "c"])),
        (whole(&[3, 7, -1]), whole(&[7, 3, 3]), options(MinusOne, &["7", "3"])),
        (whole(&[1, 0, 2]), whole(&[2, 0, 1]), options(Zero, &[])),
        (whole(&[-1, 0, 1]), whole(&[1, 0, 1]), options(Signed, &[])),
        (reals(&[0.0, 1.0, f64::NAN]), reals(&[1.0, 1.0, 0.0]), options(Missing, &["x", "y"])),
        (whole(&[0, 1, 1]), whole(&[2, -1, 0]), options(Detect, &["x", "y", "z"])),
        (reals(&[0.0, 1.0, 1.0]), reals(&[1.0, 1.0, 0.0]), options(MinusOne, &["1", "0"])),
        (whole(&[0, 1, 9]), whole(&[1, 0, 0]), options(MinusOne, &["x", "y"])),
        (whole(&[0, 0, -1]), whole(&[0, 0, 0]), options(MinusOne, &[])),
        (whole(&[0, 1, -1]), whole(&[0, 1, 1]), options(Detect, &["x", "y"])),
        (names(&[Some("x"), Some("7"), None]), names(&[Some("y"); 3]), options(MinusOne, &[])),
        (whole(&[0, 1, 1]), names(&[Some("y"); 3]), options(Signed, &[])),
        (whole(&[-1, 0, 1]), whole(&[1, 0, 1]), options(MinusOne, &["-1", "1"])),
        (whole(&[1, 0, 1]), whole(&[1, 0, 1]), options(MinusOne, &["-1", "1"])),
    ] {
        write_parquet(&path, vec![("a".to_owned(), a), ("b".to_owned(), b)], 2);
        let in_memory = read_signals(&path, &options);
        let stream = read(&path, &options, |_, _| MANY);
        match in_memory {
            Ok(Keyed { value: signals, .. }) => {
                let stream = stream.unwrap();
                assert_eq!(counted(&stream), &CountedVotes::of(&signals));
                let mut n_batches = 0;
                stream
                    .visit(|part| -> labelflow_data::Result<()> {
                        assert_eq!(part, &signals);
                        n_batches += 1;
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(n_batches, 1);
            }
            Err(error) => {
                let found = stream.unwrap_err().to_string();
                let expected = error.to_string();
                // The place may be another one: values are judged once, where they came first.
                let told = |text: &str| {
                    let told = text[text.find(": ").unwrap()..].to_owned();
                    // Of text among numbers one says the type of the column, the other the first such cell.
                    told.replace("numbers, found values of type Utf8", "a number, found 'x'")
                        .replace("found 'y'", "found 'x'")
                };
                assert_eq!(told(&found), told(&expected), "{found}, {expected}");
            }
        }
    }
    let p = vec![("a".to_owned(), reals(&[0.25, 1.0])), ("b".to_owned(), reals(&[0.5, 1.0]))];
    write_parquet(&path, p, 10);
    let error = read(&path, &SignalsOptions::default(), |_, _| MANY).unwrap_err();
    assert!(error.to_string().contains("row 1, column 'a': expected whole numbers"), "{error}");
    let many: Vec<f64> = (0..400).map(f64::from).collect();
    write_parquet(&path, vec![("a".to_owned(), reals(&many))], 10);
    let error = read(&path, &SignalsOptions::default(), |_, _| MANY).unwrap_err();
    assert!(error.to_string().contains("row 257, column 'a'"), "{error}");
}

#[test]
fn folders_files_and_patterns_name_parts() {
    let folder = tempfile::tempdir().unwrap();
    let votes = folder.path().join("votes");
    fs::create_dir(&votes).unwrap();
    let error = |path: &Path| VoteParts::open(path, &KeyColumn::Row).unwrap_err().to_string();
    assert!(error(&votes).contains("at least one parquet file, found none in this folder"));
    let signals = planted(2, 5);
    write_parts(&votes, &signals, 5);
    fs::write(votes.join("_SUCCESS"), "").unwrap();
    fs::write(votes.join("notes.txt"), "").unwrap();
    let in_folder = VoteParts::open(&votes, &KeyColumn::Row).unwrap();
    assert_eq!(VoteParts::open(&votes.join("part-*.parquet"), &KeyColumn::Row).unwrap(), in_folder);
    let one = VoteParts::open(&votes.join("part-000.parquet"), &KeyColumn::Row).unwrap();
    assert_eq!(one.files(), &in_folder.files()[..1]);
    assert!(error(&votes.join("other-*.parquet")).contains("none with such a name"));
    assert!(error(&votes.join("notes.txt")).contains("notes.txt: expected a parquet file"));
    assert!(error(&votes.join("gone.parquet")).contains("cannot read"));
}

#[test]
fn bad_parts_are_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let signals = planted(2, 6);
    let bad = folder.path().join("part-001.parquet");
    write_parts(folder.path(), &signals, 6);
    let whole = fs::read(&bad).unwrap();
    let refused = |expected: &str| {
        let error = read(folder.path(), &SignalsOptions::default(), |_, _| MANY);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("part-001.parquet") && error.contains(expected), "{error}");
    };
    fs::write(&bad, &whole[..whole.len() / 2]).unwrap();
    refused("expected a whole parquet file");
    fs::write(&bad, "").unwrap();
    refused("expected a whole parquet file");
    let mut columns = integers(&signals, &[0, 1]);
    columns.swap(0, 1);
    write_parquet(&bad, columns, 10);
    refused("expected the columns labeler0, labeler1");
    // A damaged page is found while rows are read, after labels of other parts were made.
    fs::write(&bad, &whole).unwrap();
    let stream = open(folder.path());
    let mut damaged = whole.clone();
    damaged[4..60].fill(0xff);
    fs::write(&bad, &damaged).unwrap();
    let out = folder.path().join("labels.csv");
    let fitted = AnyLabelModel::from_name("majority-vote").unwrap();
    let fitted = fitted.fit(&signals, &KnownOfLabelers::default()).unwrap();
    let written = write_labels_as_they_come(&out, signals.classes(), &Default::default(), |push| {
        stream.visit(|part| push(LabelRows::of(&fitted.predict_proba(part)?)))
    });
    let error = written.unwrap_err().to_string();
    assert!(error.contains("part-001.parquet"), "{error}");
    assert!(!out.exists());
    let left = fs::read_dir(folder.path()).unwrap();
    let left = left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("partial"));
    assert_eq!(left.count(), 0);
    let to = Path::new("labels.npz");
    let nothing: labelflow_data::Result<()> = Ok(());
    let error = write_labels_as_they_come(to, signals.classes(), &Default::default(), |_| nothing);
    assert!(error.unwrap_err().to_string().contains("csv, tsv or parquet"));
}

#[test]
fn too_many_patterns_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let signals = planted(3, 7);
    write_parts(folder.path(), &signals, 7);
    let stream = read(folder.path(), &SignalsOptions::default(), |_, _| 100).unwrap();
    let StreamedPatterns::TooMany { most: 100, n_rows } = *stream.patterns() else { panic!() };
    assert!((100..3000).contains(&n_rows));
    let mut row = 0;
    stream
        .visit(|part| -> labelflow_data::Result<()> {
            let rows: Vec<usize> = (row..row + part.n_rows()).collect();
            assert_eq!(part.values(), signals.select_rows(&rows).values());
            row += part.n_rows();
            Ok(())
        })
        .unwrap();
    assert_eq!(row, 3000);
    assert_eq!(stream.silent_row().unwrap().n_uncovered(), 1);
}

#[test]
fn counts_are_read_back_and_merged() {
    let folder = tempfile::tempdir().unwrap();
    let signals = planted(3, 8);
    let named = signals.clone().with_classes(["x", "y", "z"].map(str::to_owned).to_vec()).unwrap();
    for extension in ["csv", "tsv", "parquet"] {
        let path = folder.path().join("counts").with_extension(extension);
        for signals in [&signals, &named] {
            let counted = CountedVotes::of(signals);
            write_counts(&path, &counted).unwrap();
            let read = read_counts(&path, &SignalsOptions::default()).unwrap().counted().unwrap();
            assert_eq!(read, counted);
            let twice = CountedVotes::merged([&read, &counted]).unwrap();
            assert_eq!(twice.n_rows(), 6000);
        }
    }
    let path = folder.path().join("counts.csv");
    for (text, expected) in [
        ("a,b\n0,1\n", "expected a column 'count'"),
        ("a,count\n0,1.5\n1,1\n", "line 2, column 'count'"),
        ("a,count\n0,-1\n1,1\n", "line 2, column 'count'"),
        ("a,count\n0,\n1,1\n", "line 2, column 'count'"),
        ("a,count\n0.5,1\n1,1\n", "probabilities"),
        ("count\n1\n", "at least one labeler"),
    ] {
        fs::write(&path, text).unwrap();
        let error = read_counts(&path, &SignalsOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let counted = CountedVotes::of(&signals).with_labelers(["a", "b", "c", "d", "count"].map(str::to_owned).to_vec());
    assert!(write_counts(&path, &counted.unwrap()).is_err());
}

#[test]
fn planted_parts_do_not_depend_on_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let planted = PlantedVotes { n_rows: 2500, n_signals: 4, seed: 3, ..Default::default() };
    let counts = |rows_per_part: usize| {
        let folder = folder.path().join(rows_per_part.to_string());
        fs::create_dir(&folder).unwrap();
        let files = planted.write_parts(&folder, rows_per_part).unwrap();
        assert_eq!(files.len(), 2500usize.div_ceil(rows_per_part));
        counted(&open(&folder)).clone()
    };
    assert_eq!(counts(700), counts(2500));
    assert!(planted.write_parts(folder.path(), 0).is_err());
}
