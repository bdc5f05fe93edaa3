//! Time and peak memory of a training epoch as the rows grow: 1k, 10k and 100k rows of 32 features.
//!
//! Every size runs in a process of its own, so that its peak memory is its own. Linux only (`/proc/self/status`).

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use labelflow::learners::FitOptions;
use labelflow::training::{EpochEvent, Observer, StopReason};
use labelflow::{Bounds, LabelFlowClassifier, TrainConfig, WeakDataset};
use labelflow_data::synthetic::PlantedGaussian;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const N_EPOCHS: usize = 3;

fn main() {
    // A child is called with a number of rows; cargo itself adds `--bench`.
    match std::env::args().find_map(|argument| argument.parse::<usize>().ok()) {
        Some(n_rows) => measure(n_rows),
        None => compare(),
    }
}

fn compare() {
    println!("| rows | seconds an epoch | ms a thousand rows | peak memory, MB |");
    println!("|---|---|---|---|");
    for n_rows in SIZES {
        let child = std::env::current_exe().unwrap();
        let status = Command::new(child).arg(n_rows.to_string()).status().unwrap();
        assert!(status.success());
    }
}

fn measure(n_rows: usize) {
    let planted = PlantedGaussian { n_rows, d_features: 32, n_signals: 3, ..Default::default() };
    let planted = planted.generate().unwrap();
    let bounds = Bounds::measured(&planted.signals, &planted.truth).unwrap();
    let dataset = WeakDataset::new(planted.features, planted.signals, bounds).unwrap();
    let training = TrainConfig { max_epochs: N_EPOCHS, ..TrainConfig::default() };
    let config = LabelFlowClassifier { training, ..LabelFlowClassifier::default() };
    let mut clock = Clock { last: Instant::now(), shortest: f64::INFINITY };
    config.fit_with(&dataset, FitOptions { observer: Some(&mut clock), ..FitOptions::default() }).unwrap();
    let seconds = clock.shortest;
    let per_thousand = seconds * 1e6 / n_rows as f64;
    println!("| {n_rows} | {seconds:.2} | {per_thousand:.0} | {} |", peak_megabytes());
}

/// Keeps the shortest epoch.
struct Clock {
    last: Instant,
    shortest: f64,
}

impl Observer for Clock {
    fn observe(&mut self, _: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        self.shortest = self.shortest.min(self.last.elapsed().as_secs_f64());
        self.last = Instant::now();
        Ok(ControlFlow::Continue(()))
    }
}

fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1024
}
