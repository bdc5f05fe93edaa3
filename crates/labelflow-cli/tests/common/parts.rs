//! Tables in Parquet parts, and how much memory a command takes.

use std::path::Path;
use std::process::Stdio;

use labelflow_data::inputs::{read_features, read_signals};
use labelflow_data::tables::{Column, ColumnValues, write_columns};

use super::Sandbox;

/// Writes columns into `folder/part-N.parquet`, with so many rows each but the last.
pub(crate) fn write_parts(folder: &Path, columns: &[(String, Vec<f64>)], rows_per_part: usize) {
    std::fs::create_dir_all(folder).unwrap();
    let n_rows = columns[0].1.len();
    for (part, start) in (0..n_rows).step_by(rows_per_part).enumerate() {
        let rows = start..n_rows.min(start + rows_per_part);
        let columns = columns.iter().map(|(name, values)| Column {
            name: name.clone(),
            values: ColumnValues::Reals(values[rows.clone()].to_vec()),
        });
        let path = folder.join(format!("part-{part:03}.parquet"));
        write_columns(&path, &columns.collect::<Vec<_>>()).unwrap();
    }
}

/// The columns of a table of features.
pub(crate) fn feature_columns(path: &Path) -> Vec<(String, Vec<f64>)> {
    let features = read_features(path, &Default::default()).unwrap().value;
    let values = features.values();
    let columns = values.columns().into_iter().map(|column| {
        // Through text, so that the numbers are those of the file.
        column.iter().map(|value| value.to_string().parse().unwrap()).collect()
    });
    features.names().iter().cloned().zip(columns.collect::<Vec<Vec<f64>>>()).collect()
}

/// The columns of a table of votes, empty where nobody votes.
pub(crate) fn vote_columns(path: &Path) -> Vec<(String, Vec<f64>)> {
    let signals = read_signals(path, &Default::default()).unwrap().value;
    let vote = |row: usize, signal: usize| signals.vote(row, signal).map_or(f64::NAN, |v| v as f64);
    let column = |signal: usize| (0..signals.n_rows()).map(|row| vote(row, signal)).collect();
    signals.labelers().iter().enumerate().map(|(signal, name)| (name.clone(), column(signal))).collect()
}

/// The largest memory of a command in kilobytes, and what it said.
#[cfg(target_os = "linux")]
pub(crate) fn peak_kilobytes(sandbox: &Sandbox, arguments: &str) -> (u64, String) {
    let mut command = sandbox.command(arguments);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    (peak, String::from_utf8(output.stderr).unwrap())
}
