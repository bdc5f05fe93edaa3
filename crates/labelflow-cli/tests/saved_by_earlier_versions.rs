//! What earlier versions saved is read: models, label models and checkpoints keep their meaning.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use common::Sandbox;

/// A sandbox with everything that version 0.1.0 left.
fn saved() -> Sandbox {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/saved_by_0.1");
    let sandbox = Sandbox::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(folder.join(&inner)).unwrap() {
            let path = inner.join(entry.unwrap().file_name());
            if folder.join(&path).is_dir() {
                folders.push(path);
            } else {
                sandbox.write(path.to_str().unwrap(), std::fs::read(folder.join(&path)).unwrap());
            }
        }
    }
    sandbox
}

/// Two tables are alike: the same text, but for numbers that differ by rounding, as processors do.
fn assert_alike(found: &str, expected: &str) {
    assert_eq!(found.lines().count(), expected.lines().count(), "{found}");
    for (found, expected) in found.lines().zip(expected.lines()) {
        let cells = |line: &str| line.split([',', ' ']).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(cells(found).len(), cells(expected).len(), "{found}");
        for (a, b) in cells(found).into_iter().zip(cells(expected)) {
            match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(x), Ok(y)) => assert!((x - y).abs() < 1e-4 * (1.0 + y.abs()), "{a} {b}"),
                _ => assert_eq!(a, b),
            }
        }
    }
}

#[test]
fn models_predict_what_they_did() {
    let sandbox = saved();
    for model in ["classifier", "regressor"] {
        sandbox.labelflow(&format!("predict {model} --features features.csv --out again.csv")).succeeded();
        assert_alike(&sandbox.read("again.csv"), &sandbox.read(&format!("{model}.csv")));
    }
}

#[test]
fn completers_complete_as_they_did() {
    let sandbox = saved();
    let command = "complete completer scan.xyz -n 1 --frame same --points 16 --out completions";
    sandbox.labelflow(command).succeeded();
    // Points as text: the header, then the numbers.
    let points = |name: &str| {
        let bytes = sandbox.bytes(name);
        let end = bytes.windows(11).position(|part| part == b"end_header\n").unwrap() + 11;
        let numbers = bytes[end..].chunks_exact(4);
        numbers.map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect::<Vec<_>>()
    };
    let (found, expected) = (points("completions/scan/completion-00.ply"), points("completion.ply"));
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-3 * (1.0 + b.abs()), "{a} {b}");
    }
}

/// Settings of training had other names: a run file, a model and a checkpoint with those mean what they did.
#[test]
fn older_names_of_settings_are_read() {
    let sandbox = saved();
    let ran = sandbox.labelflow("fit kt-net.toml --shapes boxes --out interrupted-kt-net").succeeded();
    assert!(ran.stderr.contains("epoch"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("other settings"), "{}", ran.stderr);
    sandbox.labelflow("fit --from kt-net --out again").succeeded();
    for model in ["interrupted-kt-net", "again"] {
        let text = sandbox.read(&format!("{model}/model.toml"));
        assert!(text.contains("learning_rate_decay = 0.9\nlearning_rate_floor = 0.3\nbetas = [0.4, 0.999]"), "{text}");
        let losses = |model: &str| {
            let history = sandbox.read(&format!("{model}/metrics.jsonl"));
            let loss = |line: &str| line.split([':', ',']).nth(3).unwrap().to_owned();
            history.lines().map(loss).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(losses(model).lines().count(), 60);
        assert_alike(&losses(model), &losses("kt-net"));
    }
    sandbox.labelflow("complete kt-net scan.xyz --frame same --out completions").succeeded();
}

#[test]
fn label_models_label_as_they_did() {
    let sandbox = saved();
    for model in ["dawid-skene", "snorkel"] {
        let command = format!("label --load {model}.json --signals signals.csv --out {model}-again.csv");
        sandbox.labelflow(&command).succeeded();
        // The last column, the number of votes, was not there then.
        let again = sandbox.read(&format!("{model}-again.csv"));
        let again: String = again.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
        assert_alike(&again, &sandbox.read(&format!("{model}.csv")));
    }
}

#[test]
fn a_killed_run_goes_on_from_its_checkpoint() {
    let sandbox = saved();
    let command = "fit small.toml --features features.csv --signals signals.csv --epochs 600 \
                   --checkpoint-every 20 --out interrupted";
    let ran = sandbox.labelflow(command).succeeded();
    assert!(ran.stderr.contains("epoch"), "{}", ran.stderr);
    let history = sandbox.read("interrupted/metrics.jsonl");
    assert_eq!(history.lines().count(), 600);
    sandbox.labelflow("predict interrupted --features features.csv --out again.csv").succeeded();
    assert_alike(&sandbox.read("again.csv"), &sandbox.read("resumed.csv"));
}
