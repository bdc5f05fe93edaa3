//! Measures of point clouds, from the command line.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

/// Points of a square sheet, as many on each side, at a height.
fn sheet(side: usize, height: f64) -> String {
    let mut text = String::new();
    for row in 0..side {
        for column in 0..side {
            text += &format!("{} {} {height}\n", row as f64 / 10.0, column as f64 / 10.0);
        }
    }
    text
}

#[test]
fn completions_are_compared_with_references_and_scans() {
    let sandbox = Sandbox::new()
        .file("reference/a.xyz", sheet(10, 0.0))
        .file("reference/b.xyz", sheet(10, 5.0))
        .file("generated/a/0.xyz", sheet(10, 0.1))
        .file("generated/a/1.xyz", sheet(10, 0.3))
        .file("generated/b.xyz", sheet(10, 5.0))
        .file("scans/a.xyz", sheet(5, 0.0))
        .file("scans/b.xyz", sheet(5, 5.0));
    sandbox.labelflow("metrics generated reference --partials scans --json metrics.json").succeeded();
    let metrics = sandbox.json("metrics.json");
    let number = |name: &str| metrics[name].as_f64().unwrap();
    // The nearest to a is 0.1 away in every point, and b is there exactly: (0.01 + 0.01 + 0) / 2.
    assert!((number("mmd") - 0.01).abs() < 1e-6, "{metrics}");
    // Two completions, 0.2 apart: 2 · (0.04 + 0.04).
    assert!((number("tmd") - 0.16).abs() < 1e-5, "{metrics}");
    // Scans stray by 0.1 and 0.3 from the completions of a, and not at all from that of b.
    assert!((number("uhd") - 0.1).abs() < 1e-5, "{metrics}");
    assert_eq!(metrics["pairs"]["n_pairs"], 3);
}

#[test]
fn coordinates_of_a_map_keep_their_millimetres() {
    let at = |x: f64| format!("{} 5000000.0 100.0\n{} 5000001.0 100.0\n", x, x + 0.5);
    let sandbox = Sandbox::new().file("reference/a.xyz", at(400_000.0)).file("generated/a.xyz", at(400_000.001));
    sandbox.labelflow("metrics generated reference --json metrics.json").succeeded();
    let mmd = sandbox.json("metrics.json")["mmd"].as_f64().unwrap();
    assert!((mmd - 2e-6).abs() < 1e-7, "{mmd}");
}

#[test]
fn folders_without_clouds_and_broken_files_are_errors() {
    let sandbox = Sandbox::new().file("good/a.xyz", sheet(2, 0.0)).file("bad/a.ply", "ply\nformat");
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.refuses("metrics empty good", &["empty", "found none"]);
    sandbox.refuses("metrics good missing", &["missing"]);
    sandbox.refuses("metrics bad good", &["a.ply"]);
    sandbox.refuses("metrics good good --partials empty", &["empty"]);
}

#[test]
fn furniture_is_written_as_partnet_has_it() {
    let sandbox = Sandbox::new();
    sandbox.labelflow("data synth chairs --rows 4 --out chairs").succeeded();
    let lists = "chairs/stats/train_val_test_split";
    assert_eq!(std::fs::read_dir(sandbox.path(lists)).unwrap().count(), 3);
    assert_eq!(std::fs::read_dir(sandbox.path("chairs/data")).unwrap().count(), 6);
}
