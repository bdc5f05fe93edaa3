//! Classifiers that are calibrated.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

const CALIBRATE: &str = "calibrate model --features features.csv --labels labels.csv";
const PREDICT: &str = "predict model --features features.csv --out out.csv";

fn number(text: &str, row: &str, column: usize) -> f64 {
    let line = text.lines().find(|line| line.contains(row)).unwrap_or_else(|| panic!("{text}"));
    let cells = line.split(['│', '┆', '|']).map(str::trim).filter(|cell| !cell.is_empty());
    let words: Vec<&str> = cells.flat_map(str::split_whitespace).collect();
    let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    numbers[column]
}

fn column(csv: &str, name: &str) -> Vec<String> {
    let place = csv.lines().next().unwrap().split(',').position(|cell| cell == name);
    let place = place.unwrap_or_else(|| panic!("no column {name}: {csv}"));
    csv.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
}

#[test]
fn a_temperature_keeps_labels_and_lowers_the_loss() {
    let sandbox = Sandbox::with_model();
    sandbox.labelflow(PREDICT).succeeded();
    let raw = sandbox.read("out.csv");
    let ran = sandbox.labelflow(CALIBRATE).succeeded();
    let loss = |column| number(&ran.stdout, "log loss", column);
    assert!(loss(1) <= loss(0), "{}", ran.stdout);
    assert!(sandbox.read("model/model.toml").contains("method = \"temperature\""));
    sandbox.labelflow(PREDICT).succeeded();
    let calibrated = sandbox.read("out.csv");
    assert_ne!(calibrated, raw);
    assert_eq!(column(&calibrated, "label"), column(&raw, "label"));
    // Where it came from is not forgotten.
    assert!(sandbox.read("model/model.toml").contains("[origin]"));
    // A second time it learns anew, and can forget.
    let again = sandbox.labelflow(CALIBRATE).succeeded();
    assert_eq!(again.stdout, ran.stdout);
    sandbox.labelflow(&format!("{CALIBRATE} --method none")).succeeded();
    sandbox.labelflow(PREDICT).succeeded();
    assert_eq!(sandbox.read("out.csv"), raw);
    assert!(!sandbox.read("model/model.toml").contains("certainty"));
}

#[test]
fn sets_hold_what_they_promise() {
    let sandbox = Sandbox::with_model();
    let ran = sandbox.labelflow(&format!("{CALIBRATE} --method isotonic --sets 0.8")).succeeded();
    assert!(ran.stdout.contains("sets hold the true class of 80.0 % of rows"), "{}", ran.stdout);
    sandbox.labelflow(PREDICT).succeeded();
    let sets = column(&sandbox.read("out.csv"), "set");
    let labels = column(&sandbox.read("labels.csv"), "label");
    let held = sets.iter().zip(&labels).filter(|(set, label)| set.split('|').any(|c| c == *label));
    // The threshold is the ⌈61 · 0.8⌉-th of 60 scores.
    assert_eq!(held.count(), 49);
    sandbox.labelflow("predict model --features features.csv --out out.npz").succeeded();
    // Sixty rows cannot promise 99 %.
    let ran = sandbox.labelflow(&format!("{CALIBRATE} --sets 0.99")).succeeded();
    assert!(ran.stdout.contains("60 rows are too few"), "{}", ran.stdout);
    sandbox.labelflow(PREDICT).succeeded();
    assert!(column(&sandbox.read("out.csv"), "set").iter().all(|set| set == "0|1"));
}

#[test]
fn what_cannot_be_learned_from() {
    let sandbox = Sandbox::with_model().file("few.csv", "label\n0\n1\n");
    let few = CALIBRATE.replace("labels.csv", "few.csv");
    sandbox.refuses(&few, &["few.csv", "60 rows", "found 2"]);
    sandbox.refuses(&format!("{CALIBRATE} --sets 1.5"), &["level", "between 0 and 1", "1.5"]);
    sandbox.refuses(&CALIBRATE.replace("calibrate model", "calibrate nowhere"), &["nowhere"]);
    // As format 1, which had no hash of the values.
    let broken = sandbox
        .read("model/model.toml")
        .replace("format = 2", "format = 1")
        .replace("[config]", "[certainty.calibration]\nmethod = \"temperature\"\ntemperature = -1.0\n\n[config]");
    sandbox.write("model/model.toml", broken);
    sandbox.refuses(PREDICT, &["temperature", "a positive number", "-1"]);
}
