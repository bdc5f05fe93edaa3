//! The shell block of the README, run as a reader would run it.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

/// The comment that marks the block.
const MARK: &str = "# Run as a test by crates/labelflow-cli/tests/readme.rs.";

/// The ```` ```sh ```` block that starts with the mark.
fn marked_block(readme: &str) -> &str {
    let start = format!("```sh\n{MARK}\n");
    let (_, rest) = readme.split_once(&start).expect("the README has a marked sh block");
    let (block, _) = rest.split_once("\n```").expect("the block has an end");
    block
}

#[test]
fn the_shell_block_runs() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_labelflow"));
    let mut folders = vec![binary.parent().unwrap().to_owned()];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let place = tempfile::tempdir().unwrap();
    let output = Command::new("bash")
        .args(["-euxo", "pipefail", "-c", marked_block(&readme)])
        .current_dir(place.path())
        .env("PATH", std::env::join_paths(folders).unwrap())
        .output()
        .expect("bash can be started");
    assert!(
        output.status.success(),
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let labels = std::fs::read_to_string(place.path().join("demo/mine.csv")).unwrap();
    assert!(labels.starts_with("row,label,p_benign,p_malignant\n"), "{labels}");
    let metrics = std::fs::read_to_string(place.path().join("metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_str(&metrics).unwrap();
    assert!(metrics["accuracy"].as_f64().is_some_and(|share| share > 0.5), "{metrics}");
}
