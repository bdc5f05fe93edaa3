//! Features in Parquet parts are what the same features in one file are, whatever run of rows is read.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use labelflow_data::inputs::{KeyColumn, read_features, read_signals};
use labelflow_data::parts::{BadRows, FeatureParts, TableParts, VoteParts, VoteStream};
use labelflow_data::synthetic::PlantedGaussian;
use ndarray::{Array2, Axis, concatenate, s};

fn made(folder: &Path) -> PlantedGaussian {
    let planted = PlantedGaussian { n_rows: 5000, n_classes: 3, ..Default::default() };
    assert_eq!(planted.write_parts(folder, 1300).unwrap(), 4);
    planted
}

fn whole(folder: &Path) -> Array2<f64> {
    let files = TableParts::open(folder, &KeyColumn::Row).unwrap().files().to_vec();
    let parts: Vec<_> = files.iter().map(|file| read_features(file, &KeyColumn::Row).unwrap().value).collect();
    let views: Vec<_> = parts.iter().map(|part| part.values()).collect();
    concatenate(Axis(0), &views).unwrap()
}

#[test]
fn any_run_of_rows_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let path = folder.path().join("features");
    let all = whole(&path);
    let table = TableParts::open(&path, &KeyColumn::Row).unwrap();
    let columns = (0..10).collect();
    let parts = FeatureParts::new(table, columns).unwrap();
    let votes = VoteParts::open(&folder.path().join("signals"), &KeyColumn::Row).unwrap();
    let votes = VoteStream::read(votes, &Default::default(), |_, _| 0).unwrap();
    for rows in [0..5000, 1299..1301, 7..8, 1300..2600, 100..4999] {
        for batch_rows in [1000, 77] {
            let mut reader = parts.reader(rows.clone(), batch_rows, BadRows::Fail);
            let mut vote_reader = votes.reader(rows.clone());
            let mut next = rows.start;
            while let Some(read) = reader.next_rows().unwrap() {
                assert_eq!((read.first_row, read.good.len()), (next, read.n_rows));
                let place = next as usize..next as usize + read.n_rows;
                assert_eq!(read.features.unwrap().values(), all.slice(s![place.clone(), ..]));
                let signals = vote_reader.next_signals(read.n_rows).unwrap();
                assert_eq!(signals.n_rows(), read.n_rows);
                next += read.n_rows as u64;
            }
            assert_eq!(next, rows.end);
        }
    }
    // The votes of a run that begins in the middle of a file.
    let second = folder.path().join("signals/part-00001.parquet");
    let second = read_signals(&second, &Default::default()).unwrap().value;
    let read = votes.reader(1400..1500).next_rows(100).unwrap();
    let expected = second.votes().as_slice()[100 * 5..200 * 5].to_vec();
    assert_eq!(read.into_iter().collect::<Vec<u8>>(), expected);
    assert!(votes.reader(4990..5000).next_rows(11).is_err());
}

#[test]
fn columns_are_chosen_by_name_or_pattern() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let table = TableParts::open(&folder.path().join("features"), &KeyColumn::Row).unwrap();
    let like = |names: &[&str]| table.columns_like(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(like(&["x3", "x1"]).unwrap(), [1, 3]);
    assert_eq!(like(&["x*"]).unwrap().len(), 10);
    let error = like(&["x1", "y*"]).unwrap_err().to_string();
    assert!(error.contains("expected a column 'y*', found x0, x1"), "{error}");
    let names: Vec<String> = (0..11).map(|column| format!("x{column}")).collect();
    let error = FeatureParts::arranged(table, &names).unwrap_err().to_string();
    assert!(error.contains("expected a column 'x10'"), "{error}");
}

#[test]
fn parts_hold_the_planted_problem() {
    let folder = tempfile::tempdir().unwrap();
    let planted = made(folder.path());
    let values = whole(&folder.path().join("features"));
    // Each feature has variance one around means that are together as long as the distance says.
    let generated = planted.generate().unwrap();
    for (of_parts, other) in values.columns().into_iter().zip(generated.features.values().columns()) {
        let (found, expected) = (of_parts.mean().unwrap(), other.mean().unwrap());
        assert!((found - expected).abs() < 0.12, "{found} and {expected}");
    }
}
