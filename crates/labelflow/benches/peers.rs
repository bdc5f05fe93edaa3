//! What tools/plain_llf.py and, with `--task regression`, tools/plain_llf_regression.py measure of plain PyTorch, measured of labelflow:
//! an epoch, a prediction, peak memory.
//!
//! Takes the same arguments and prints the same line of JSON. tools/bench_peers.py runs both and compares them. Linux only
//! (`/proc/self/status`).

// The line of JSON is the result. An error has nobody to go to but whoever reads standard error.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;

use labelflow::learners::FitOptions;
use labelflow::rows::LabelRange;
use labelflow::rules::{Claim, Rule, RuleDataset};
use labelflow::training::{BatchSize, DeviceKind, EpochEvent, Observer, Report, StopReason};
use labelflow::{Bounds, Features, LabelFlowClassifier, LabelFlowRegressor, TrainConfig, WeakDataset, WeakSignals};
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const N_SIGNALS: usize = 3;
const BOUND: f64 = 0.3;
const STEEPNESS: f32 = 2.0;
const N_RULES: usize = 5;
const N_PREDICTIONS: usize = 5;

fn main() {
    let memory_at_start = megabytes("VmRSS");
    let arguments = Arguments::parse();
    rayon::ThreadPoolBuilder::new().num_threads(arguments.threads).build_global().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(arguments.seed);

    let measure = if arguments.is_regression { regression } else { classification };
    let Measured { mut times, predict_ms, report } = measure(&arguments, &mut rng);

    let peak = megabytes("VmHWM");
    let history = &report.history;
    let line = serde_json::json!({
        "program": "labelflow",
        "rows": arguments.rows,
        "features": arguments.features,
        "epoch_ms": median(times.split_off(arguments.warmup)),
        "predict_ms": predict_ms,
        "peak_mb": peak - memory_at_start,
        "peak_raw_mb": peak,
        "first_loss": history[0].loss,
        "last_loss": history[history.len() - 1].loss,
        "device": arguments.device,
        "threads": rayon::current_num_threads(),
        "labelflow": env!("CARGO_PKG_VERSION"),
    });
    println!("{line}");
}

/// What a task came to.
struct Measured {
    /// The milliseconds of every epoch.
    times: Vec<f64>,
    predict_ms: Option<f64>,
    report: Report,
}

fn classification(arguments: &Arguments, rng: &mut ChaCha8Rng) -> Measured {
    let dataset = random_dataset(arguments.rows, arguments.features, rng);
    let config = LabelFlowClassifier {
        seed: arguments.seed,
        n_samples: arguments.samples,
        device: arguments.device,
        training: arguments.training(),
        ..LabelFlowClassifier::default()
    };
    let mut clock = Clock { last: Instant::now(), times: Vec::new() };
    let fitted = config.fit_with(&dataset, FitOptions { observer: Some(&mut clock), ..FitOptions::default() }).unwrap();
    let predict_ms = arguments.time_predictions(rng, |rows| {
        fitted.predict_proba(rows).unwrap();
    });
    Measured { times: clock.times, predict_ms, report: fitted.report().clone() }
}

fn regression(arguments: &Arguments, rng: &mut ChaCha8Rng) -> Measured {
    let features = random_features(arguments.rows, arguments.features, rng);
    let rules = (0..N_RULES.min(arguments.features)).flat_map(|feature| {
        let (above, below) = (Claim::mean(0.6), Claim::mean(0.4));
        Rule::on_both_sides(format!("x{feature}"), 0.0, above, below)
    });
    let range = LabelRange::new(0.0, 1.0).unwrap();
    let dataset = RuleDataset::new(features, rules.collect(), Some(range)).unwrap();
    let config = LabelFlowRegressor {
        seed: arguments.seed,
        device: arguments.device,
        training: arguments.training(),
        ..LabelFlowRegressor::default()
    };
    let mut clock = Clock { last: Instant::now(), times: Vec::new() };
    let fitted = config.fit_with(&dataset, FitOptions { observer: Some(&mut clock), ..FitOptions::default() }).unwrap();
    let predict_ms = arguments.time_predictions(rng, |rows| {
        fitted.predict(rows).unwrap();
    });
    Measured { times: clock.times, predict_ms, report: fitted.report().clone() }
}

/// What to measure; see tools/plain_llf.py.
struct Arguments {
    is_regression: bool,
    rows: usize,
    features: usize,
    epochs: usize,
    warmup: usize,
    predict_rows: usize,
    samples: usize,
    threads: usize,
    device: DeviceKind,
    seed: u64,
}

impl Arguments {
    /// Reads `--name value` pairs.
    fn parse() -> Self {
        let mut given = HashMap::new();
        // Cargo adds `--bench`, which has no value.
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
            given.insert(name, value);
        }
        let is_regression = match given.remove("--task").as_deref() {
            None | Some("classification") => false,
            Some("regression") => true,
            Some(other) => panic!("--task {other}: expected classification or regression"),
        };
        let mut number = |name: &str, default| match given.remove(name) {
            Some(value) => value.parse().unwrap_or_else(|_| panic!("{name} {value}: not a number")),
            None => default,
        };
        let parsed = Self {
            is_regression,
            rows: number("--rows", 228),
            features: number("--features", 30),
            epochs: number("--epochs", 20),
            warmup: number("--warmup", 2),
            predict_rows: number("--predict-rows", 0),
            samples: number("--samples", 10),
            threads: number("--threads", 0),
            seed: number("--seed", 0) as u64,
            device: match given.remove("--device").as_deref() {
                None | Some("cpu") => DeviceKind::Cpu,
                Some("cuda") => DeviceKind::Cuda,
                Some("wgpu") => DeviceKind::Wgpu,
                Some(other) => panic!("--device {other}: expected cpu, cuda or wgpu"),
            },
        };
        assert!(given.is_empty(), "unknown arguments: {:?}", given.keys());
        parsed
    }

    fn training(&self) -> TrainConfig {
        let max_epochs = self.warmup + self.epochs;
        TrainConfig {
            max_epochs,
            // All epochs are wanted: no stopping before the last one.
            min_epochs: max_epochs,
            batch_size: BatchSize::Full,
            ..TrainConfig::default()
        }
    }

    /// The median time of a prediction, after one that does not count; none when there are no rows to predict.
    fn time_predictions(&self, rng: &mut ChaCha8Rng, predict: impl Fn(&Features)) -> Option<f64> {
        if self.predict_rows == 0 {
            return None;
        }
        let rows = random_features(self.predict_rows, self.features, rng);
        predict(&rows);
        let time = |_| {
            let start = Instant::now();
            predict(&rows);
            milliseconds(start)
        };
        Some(median((0..N_PREDICTIONS).map(time).collect()))
    }
}

fn random_features(n_rows: usize, d_features: usize, rng: &mut ChaCha8Rng) -> Features {
    let values = Array2::<f32>::from_shape_simple_fn((n_rows, d_features), || StandardNormal.sample(rng));
    Features::new(values).unwrap()
}

/// Random features, and labelers that see one column each: the first, the middle and the last.
fn random_dataset(n_rows: usize, d_features: usize, rng: &mut ChaCha8Rng) -> WeakDataset {
    let features = random_features(n_rows, d_features, rng);
    let class1 = Array2::from_shape_fn((n_rows, N_SIGNALS), |(row, signal)| {
        let column = (d_features - 1) * signal / (N_SIGNALS - 1);
        1.0 / (1.0 + (-STEEPNESS * features.values()[[row, column]] as f32).exp())
    });
    let signals = WeakSignals::from_class1_probabilities(class1).unwrap();
    let bounds = Bounds::constant(BOUND, &signals).unwrap();
    WeakDataset::new(features, signals, bounds).unwrap()
}

/// The milliseconds of every epoch.
struct Clock {
    last: Instant,
    times: Vec<f64>,
}

impl Observer for Clock {
    fn observe(&mut self, _: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        self.times.push(milliseconds(self.last));
        self.last = Instant::now();
        Ok(ControlFlow::Continue(()))
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "at least one epoch must count");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// A line of `/proc/self/status`: VmRSS, what is resident now, or VmHWM, the most that ever was.
fn megabytes(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    let kilobytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1024.0
}
