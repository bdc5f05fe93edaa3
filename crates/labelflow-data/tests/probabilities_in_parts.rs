//! Probabilities in Parquet parts are what the same probabilities in one file are.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use labelflow_data::inputs::{AbstainConvention, KeyColumn, SignalsKind, SignalsOptions, read_signals};
use labelflow_data::parts::{ProbabilityStream, VoteParts};
use labelflow_data::tables::{Column, ColumnValues, write_columns};

const N_ROWS: usize = 100;

/// Three labelers: halves and quarters, whole numbers, and one that mostly abstains.
fn value(row: usize, signal: usize) -> f64 {
    match signal {
        0 => [0.25, 0.5, 1.0, f64::NAN][row % 4],
        1 => (row % 2) as f64,
        _ => [-1.0, f64::NAN, 0.125][row % 3],
    }
}

fn write(path: &Path, rows: std::ops::Range<usize>, value: impl Fn(usize, usize) -> f64) {
    let column = |signal: usize| Column {
        name: format!("s{signal}"),
        values: ColumnValues::Reals(rows.clone().map(|row| value(row, signal)).collect()),
    };
    write_columns(path, &(0..3).map(column).collect::<Vec<_>>()).unwrap();
}

fn parts(folder: &Path, value: impl Fn(usize, usize) -> f64 + Copy) -> VoteParts {
    let parts = folder.join("parts");
    std::fs::create_dir_all(&parts).unwrap();
    for (part, start) in (0..N_ROWS).step_by(30).enumerate() {
        let path = parts.join(format!("part-{part}.parquet"));
        write(&path, start..N_ROWS.min(start + 30), value);
    }
    VoteParts::open(&parts, &KeyColumn::Row).unwrap()
}

#[test]
fn parts_are_read_as_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path(), value);
    let path = folder.path().join("whole.parquet");
    write(&path, 0..N_ROWS, value);
    let whole = read_signals(&path, &SignalsOptions::default()).unwrap().value;
    let stream = ProbabilityStream::find(&parts, &SignalsOptions::default()).unwrap().unwrap();
    assert_eq!(stream.classes(), whole.classes());
    assert_eq!(stream.silent_row().unwrap().labelers(), whole.labelers());
    for (rows, step) in [(0..100, 100), (0..100, 7), (28..61, 5)] {
        let mut reader = stream.reader(rows.clone());
        let mut row = rows.start as usize;
        while row < rows.end as usize {
            let n_rows = step.min(rows.end as usize - row);
            let read = reader.next_rows(n_rows).unwrap();
            for ((index, signal, class), &p) in read.indexed_iter() {
                let expected = whole.probability(row + index, signal, class);
                assert_eq!((!p.is_nan()).then_some(p), expected, "row {}", row + index);
            }
            row += n_rows;
        }
        assert!(reader.next_rows(1).is_err());
    }
}

#[test]
fn votes_are_no_probabilities_and_other_numbers_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let whole = parts(folder.path(), |row, _| (row % 3) as f64 - 1.0);
    let find = |parts: &VoteParts, options: &SignalsOptions| ProbabilityStream::find(parts, options);
    let options = SignalsOptions::default();
    assert!(find(&whole, &options).unwrap().is_none());
    let meant = SignalsOptions { kind: SignalsKind::Probabilities, ..options.clone() };
    assert!(find(&whole, &meant).unwrap().is_some());

    let wrong = parts(folder.path(), |row, signal| match (row, signal) {
        (64, 1) => 1.5,
        _ => value(row, signal),
    });
    let stream = find(&wrong, &options).unwrap().unwrap();
    let error = stream.reader(0..100).next_rows(100).unwrap_err().to_string();
    let place = "part-2.parquet, row 5, column 's1': expected a probability from 0 to 1, or -1";
    assert!(error.contains(place), "{error}");
    let missing = SignalsOptions { abstain: AbstainConvention::Missing, ..options.clone() };
    let stream = find(&wrong, &missing).unwrap().unwrap();
    let error = stream.reader(0..9).next_rows(9).unwrap_err().to_string();
    assert!(error.contains("row 1, column 's2'") && error.contains("or nothing"), "{error}");
    for (options, expected) in [
        (SignalsOptions { abstain: AbstainConvention::Zero, ..options.clone() }, "abstain"),
        (SignalsOptions { classes: ["a", "b", "c"].map(str::to_owned).to_vec(), ..options }, "two names"),
    ] {
        let error = find(&wrong, &options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
