//! What tools/bench_label_models.py measures of other packages, measured of labelflow: a fit, the labels, peak memory.
//!
//! Reads votes from an npy file and prints a line of JSON. Linux only (`/proc/self/status`).

// The line of JSON is the result. An error has nobody to go to but whoever reads standard error.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use labelflow::WeakSignals;
use labelflow::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
use labelflow_data::inputs::{SignalsOptions, read_signals};

fn main() {
    // Cargo adds `--bench`, which has no value.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let given: HashMap<&str, &str> = arguments.chunks_exact(2).map(|pair| (&*pair[0], &*pair[1])).collect();
    let (Some(votes), Some(model)) = (given.get("--votes"), given.get("--model")) else {
        panic!("expected --votes FILE.npy --model NAME, found {arguments:?}");
    };
    let signals = read_signals(Path::new(votes), &SignalsOptions::default()).unwrap().value;
    let (fit_s, predict_s) = time(&AnyLabelModel::from_name(model).unwrap(), &signals);
    let line = serde_json::json!({
        "program": format!("labelflow {model}"),
        "fit_s": fit_s,
        "predict_s": predict_s,
        "peak_mb": peak_megabytes(),
    });
    println!("{line}");
}

/// Seconds of a fit and of the labels of all rows.
fn time(model: &AnyLabelModel, signals: &WeakSignals) -> (f64, f64) {
    let start = Instant::now();
    let fitted = model.fit(signals, &KnownOfLabelers::default()).unwrap();
    let fit_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let classes = fitted.predict(signals).unwrap();
    let predict_s = start.elapsed().as_secs_f64();
    assert_eq!(classes.len(), signals.n_rows());
    (fit_s, predict_s)
}

fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
