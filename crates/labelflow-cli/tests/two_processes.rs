//! Two processes that want the same folder: the second is told of the first, and nothing of either is lost.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::Sandbox;
use common::writers::sandbox_of_writers;
use labelflow::storage::FolderLock;

const FIT: &str = "fit run.toml --features features.csv --signals signals.csv --checkpoint-every 1";

fn wait_for(sandbox: &Sandbox, name: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !sandbox.path(name).exists() {
        assert!(Instant::now() < deadline, "{name} does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_second_fit_is_told_of_the_first() {
    let sandbox = Sandbox::with_problem();
    let mut first = sandbox.command(&format!("{FIT} --epochs 1000000 --out model")).spawn().unwrap();
    wait_for(&sandbox, "model/checkpoint.safetensors");
    let process = format!("process {}", first.id());
    let parts = ["model: expected a folder that no other process works in", &process, "wait"];
    sandbox.labelflow(&format!("{FIT} --epochs 5 --out model")).refused(&parts);
    sandbox.labelflow(&format!("{FIT} --epochs 5 --restart --out model")).refused(&parts);
    // Another folder is nobody's business.
    sandbox.labelflow(&format!("{FIT} --epochs 5 --out other")).succeeded();
    first.kill().unwrap();
    first.wait().unwrap();
    // Its lock has gone with it, though the file is there.
    assert!(sandbox.path("model/.lock").exists());
    sandbox.labelflow(&format!("{FIT} --epochs 5 --restart --out model")).succeeded();
    assert!(!sandbox.path("model/.lock").exists());
}

#[test]
fn every_command_that_fills_a_folder() {
    let sandbox = sandbox_of_writers();
    std::fs::create_dir(sandbox.path("taken")).unwrap();
    let _lock = FolderLock::acquire(&sandbox.path("taken")).unwrap();
    let process = format!("process {}", std::process::id());
    for command in [
        "fit run.toml --features features.csv --signals signals.csv --epochs 2 --out taken",
        "run experiment.toml --keep taken",
        "run shapes.toml --models taken",
        "complete completer scan.xyz --out taken",
        "data synth votes --out taken",
        "demo --out taken",
    ] {
        sandbox.refuses(command, &["taken: expected a folder that no other process", &process]);
    }
    // Who only reads may go on.
    sandbox.labelflow("predict model --features features.csv --out taken/labels.csv").succeeded();
}

#[test]
fn a_model_is_read_while_it_is_replaced() {
    let sandbox = Sandbox::with_model();
    let script = "for seed in 1 2 3 4 5 6; do \"$LABELFLOW\" fit run.toml --features features.csv --signals signals.csv \
        --epochs 2 --seed $seed --out model || exit 1; done";
    let mut writer = Command::new("sh")
        .args(["-c", script])
        .current_dir(sandbox.path(""))
        .env("LABELFLOW", env!("CARGO_BIN_EXE_labelflow"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while writer.try_wait().unwrap().is_none() {
        sandbox.labelflow("predict model --features features.csv --out out.csv").succeeded();
    }
    assert!(writer.wait().unwrap().success());
}

#[test]
fn an_interrupted_completer_is_not_taken_for_a_whole_one() {
    let sandbox = sandbox_of_writers();
    let run = "run shapes.toml --epochs 60 --models models --json runs.json";
    let child = sandbox.command(run).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let has_checkpoint = || {
        let folders = std::fs::read_dir(sandbox.path("models")).ok();
        let mut folders = folders.into_iter().flatten().flatten();
        folders.any(|folder| folder.path().join("checkpoint.safetensors").exists())
    };
    while !has_checkpoint() {
        assert!(Instant::now() < deadline, "no checkpoint in time");
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran: common::Ran = child.wait_with_output().unwrap().into();
    ran.refused(&["interrupted after", "goes on from the checkpoint"]);
    let is_model = |contents: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| {
        contents.keys().any(|path| path.ends_with("model.toml"))
    };
    assert!(!is_model(&sandbox.contents("models")));
    let went_on = sandbox.labelflow(run);
    assert!(matches!(went_on.code, Some(0 | 1)), "{}", went_on.stderr);
    let weights = |folder: &str| {
        let contents = sandbox.contents(folder).into_iter();
        let mut weights = contents.filter(|(path, _)| path.ends_with("weights.safetensors"));
        weights.next().unwrap().1
    };
    let whole = sandbox.labelflow(&run.replace("--models models", "--models whole"));
    assert!(matches!(whole.code, Some(0 | 1)), "{}", whole.stderr);
    assert!(weights("models") == weights("whole"), "the weights differ");
}
