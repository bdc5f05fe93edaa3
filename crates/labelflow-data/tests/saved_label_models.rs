//! Label models that version 0.1.0 saved: they load, and give the labels that it gave.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use labelflow_data::inputs::{SavedLabelModel, SignalsOptions, read_signals};
use labelflow_weak::label_models::FittedLabelModel;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/label_models_0.1.0").join(name)
}

#[test]
fn label_models_of_the_first_version_load() {
    for name in ["dawid-skene", "constrained-labels"] {
        let saved = SavedLabelModel::load(&file(&format!("{name}.json"))).unwrap();
        assert_eq!(saved.fitted().name(), name);
        assert_eq!(saved.labelers(), ["rule_a", "rule_b", "crowd", "keyword"]);
        let options = SignalsOptions { classes: saved.classes().to_vec(), ..Default::default() };
        let signals = read_signals(&file("votes.csv"), &options).unwrap().value;
        let labels = saved.predict_proba(&signals).unwrap();
        let expected = std::fs::read_to_string(file(&format!("{name}.csv"))).unwrap();
        let expected = expected.lines().skip(1).flat_map(|line| line.split(',').skip(2));
        let expected: Vec<f64> = expected.map(|p| p.parse().unwrap()).collect();
        assert_eq!(labels.values().len(), expected.len());
        for (found, expected) in labels.values().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{name}: {found}, expected {expected}");
        }
    }
}
