//! Sizes that no machine has room for, and numbers that are none, in every flag and setting: errors at once, not aborts.

#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::{FIT, Sandbox};
use labelflow_data::inputs::{SignalsOptions, read_features, read_signals, write_features, write_signals};

const AT_ONCE: Duration = Duration::from_secs(20);

/// A command that must be an error for each of these values at its end.
const REFUSED: &[(&str, &[&str])] = &[
    (FIT_WITH, &["--epochs", "0", "-1", "1e3", "100000000000000", "99999999999999999999"]),
    (FIT_WITH, &["--batch-size", "0", "1", "-1", "x"]),
    (FIT_WITH, &["--samples", "0", "-1", "100000000000000"]),
    (FIT_WITH, &["--checkpoint-every", "0", "-1"]),
    (FIT_WITH, &["--labels-for-eval labels.csv --eval-every", "0", "-1"]),
    (FIT_WITH, &["--max-minutes", "-1", "nan", "inf", "1e308", "1e17"]),
    (FIT_WITH, &["--likelihood-weight", "nan", "inf", "-inf", "x"]),
    (FIT_WITH, &["--bounds", "-1", "2", "nan", "inf"]),
    (FIT_WITH, &["--seed", "-1", "0.5", "99999999999999999999"]),
    (FIT_WITH, &["--memory", "0", "1", "1B", "-1MB", "nanMB", "1e30GB"]),
    ("fit run.toml --features features.csv --rules rules.toml --range", &["1 0", "nan 1", "0 inf", "1 1"]),
    ("predict model --features features.csv --samples", &["0", "-1", "100000000000000"]),
    ("predict model --features features.parquet --memory", &["0MB", "1", "1B", "1KB", "-1MB", "1e30GB"]),
    ("calibrate model --features features.csv --labels labels.csv --sets", &["0", "1", "-1", "2", "nan", "inf"]),
    ("label --signals signals.parquet --memory", &["0MB", "1", "1B", "1KB"]),
    ("label --signals signals.csv --model constrained-labels --bounds", &["-1", "2", "nan", "inf"]),
    ("label --signals signals.csv --model dawid-skene --class-balance", &["0,0", "-1,2", "nan,1", "1e308,1e308"]),
    (
        "complete completer scan.xyz --out out --points",
        &["0", "-1", "1000000000", "100000000000", "18446744073709551615"],
    ),
    ("complete completer scan.xyz --out out -n", &["0", "-1", "1000000000", "100000000000", "18446744073709551615"]),
    ("complete completer scan.xyz --out out --temperature", &["-1", "nan", "inf"]),
    ("complete completer scan.xyz --out out --frame", &["0,0,0,0", "0,0,0,-1", "nan,0,0,1", "0,0,0,inf"]),
    ("metrics scan.xyz scan.xyz --surface-points", &["0", "-1", "100000000000", "18446744073709551615"]),
    ("data synth votes --out out --rows", &["0", "-1", "100000000000000", "18446744073709551615"]),
    ("data synth gaussian --out out --rows", &["0", "-1", "1000000000", "100000000000000", "18446744073709551615"]),
    ("data synth regression --out out --rows", &["0", "1000000000", "18446744073709551615"]),
    ("data synth chairs --out out --rows", &["0", "1000000000", "18446744073709551615"]),
    ("data synth votes --out out --classes", &["0", "1", "256", "100000000000"]),
    ("data synth votes --out out --labelers", &["0", "1000000000", "18446744073709551615"]),
    ("data synth gaussian --out out --labelers", &["0", "1000000000", "18446744073709551615"]),
    ("data synth gaussian --out out --features", &["0", "1", "1000000000", "18446744073709551615"]),
    ("data synth votes --out out --rows-per-part", &["0", "-1"]),
    ("data synth gaussian --out out --rows 100000000000 --rows-per-part", &["1000", "100000000000"]),
    ("data synth votes --out out --rows 18446744073709551615 --rows-per-part", &["1", "18446744073709551615"]),
    ("data export breast-cancer --out out --rows-per-part", &["0", "-1"]),
    ("demo --out out --epochs", &["0", "-1", "100000000000000"]),
    ("run sets.toml --jobs", &["0", "-1", "100000"]),
    ("run sets.toml --epochs", &["-1", "x"]),
    ("run sets.toml --max-minutes", &["nan", "-1", "1e300"]),
    ("run sets.toml --seeds", &["-1", "1,x", "99999999999999999999"]),
];

const FIT_WITH: &str = "fit run.toml --features features.csv --signals signals.csv --out other";

/// Lines of a table `config` that must be errors, of a classifier and of a completer.
const CLASSIFIER: &[&str] = &[
    "n_steps = 0",
    "n_steps = 1000000000",
    "n_steps = 9223372036854775807",
    "n_steps = -1",
    "d_hidden = 0",
    "d_hidden = 1000000",
    "d_hidden = 9223372036854775807",
    "n_samples = 1000000000",
    "training.max_epochs = 100000000000",
    "training.batch_size = { rows = 0 }",
    "training.learning_rate = -1.0",
    "training.learning_rate = inf",
    "training.max_gradient_norm = nan",
];
const COMPLETER: &[&str] = &[
    "n_points = 0",
    "n_points = 100000000000",
    "n_partial_points = 100000000000",
    "n_steps = 1000000",
    "d_hidden = 1000000",
    "d_latent = 1000000000",
    "feature_widths = [1000000, 1000000]",
    "feature_widths = [100000000000]",
    "discriminator_head = [0]",
    "training.batch_size = 0",
    "training.max_epochs = 100000000000",
    "training.statistics_batches = 100000000000",
];

/// An error within seconds, and nothing on disk but a folder that may have been made.
fn refuse(sandbox: &Sandbox, arguments: &str) {
    let start = Instant::now();
    let ran = sandbox.labelflow(arguments);
    assert_eq!(ran.code, Some(2), "{arguments}: {}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{arguments}: {}", ran.stderr);
    assert!(start.elapsed() < AT_ONCE, "{arguments}: {:?}", start.elapsed());
}

#[test]
fn sizes_in_flags_and_settings_are_refused_at_once() {
    let sandbox = Sandbox::with_model()
        .file("scan.xyz", "0 0 0\n1 0 0\n0 1 0\n0 0 1\n0.2 0.3 0.1\n")
        .file("rules.toml", "[[rule]]\nfeature = \"a\"\nthreshold = 1.5\nabove = 0.8\nbelow = 0.2\n")
        .file("sets.toml", "table = \"t\"\nset = \"digits-planted\"\nseeds = [0]\n[systems.mv]\n");
    let path = |name: &str| sandbox.path(name);
    write_features(
        &path("features.parquet"),
        &read_features(&path("features.csv"), &Default::default()).unwrap().value,
    )
    .unwrap();
    let signals = read_signals(&path("signals.csv"), &SignalsOptions::default()).unwrap().value;
    write_signals(&path("signals.parquet"), &signals).unwrap();
    sandbox.labelflow("data synth chairs --rows 4 --out chairs").succeeded();
    sandbox.labelflow("fit --shapes chairs --preset fast --epochs 1 --out completer").succeeded();
    for (command, flag_and_values) in REFUSED {
        let (flag, values) = match flag_and_values {
            [flag, values @ ..] if flag.starts_with("--") => (*flag, values),
            values => ("", *values),
        };
        for value in values {
            refuse(&sandbox, &format!("{command} {flag} {value}"));
        }
    }
    for (lines, fit) in [(CLASSIFIER, FIT), (COMPLETER, "fit run.toml --shapes chairs --out other")] {
        for line in lines {
            sandbox.write("run.toml", format!("[config]\n{line}\n"));
            refuse(&sandbox, &fit.replace("--epochs 30", ""));
        }
    }
}

#[test]
fn a_number_of_threads_that_makes_no_sense_is_an_error() {
    let sandbox = Sandbox::with_problem();
    let with_threads = |value: &str| {
        let mut command = sandbox.command("label --signals signals.csv");
        common::Ran::from(command.env("RAYON_NUM_THREADS", value).output().unwrap())
    };
    for value in ["100000", "18446744073709551616", "-1", "two", "1.5"] {
        with_threads(value).refused(&["RAYON_NUM_THREADS", "a number of threads from 1 to 512", value]);
    }
    for value in ["", "0", "1", "3"] {
        with_threads(value).succeeded();
    }
}
