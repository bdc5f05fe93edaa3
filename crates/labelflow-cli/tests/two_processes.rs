//! Two processes that want the same folder: the second is told of the first, and nothing of either is lost.

#![allow(clippy::unwrap_used, clippy::print_stderr)]
#![cfg(unix)]

mod common;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::Sandbox;
use common::writers::sandbox_of_writers;
use labelflow::SavedModel;
use labelflow::learners::FittedLabelFlowClassifier;
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

/// How often a model is replaced while it is read, unless LABELFLOW_SWAPS says otherwise.
const N_SWAPS: usize = 200;

fn n_swaps() -> usize {
    std::env::var("LABELFLOW_SWAPS").map_or(N_SWAPS, |text| text.parse().unwrap())
}

/// Three models take turns in one folder: two of other data, and one of them calibrated, so of the same weights and other values. What is
/// predicted meanwhile, and what is loaded, is always one of the three.
#[test]
fn a_model_that_is_swapped_while_it_is_read_is_never_a_mixture() {
    let sandbox = Sandbox::with_model();
    let scaled = |line: &str| line.split(',').map(|cell| format!("{cell}e1")).collect::<Vec<_>>().join(",") + "\n";
    let features = sandbox.read("features.csv");
    let (header, rows) = features.split_once('\n').unwrap();
    sandbox.write("scaled.csv", format!("{header}\n{}", rows.lines().map(scaled).collect::<String>()));
    let fit = common::FIT
        .replace("features.csv", "scaled.csv")
        .replace("--epochs 30 --out model", "--epochs 20 --out scaled");
    sandbox.labelflow(&fit).succeeded();
    sandbox.labelflow(&common::FIT.replace("--out model", "--out calibrated")).succeeded();
    sandbox.labelflow("calibrate calibrated --features features.csv --labels labels.csv --sets 0.8").succeeded();
    let predict = |model: &str, out: &str| {
        sandbox.labelflow(&format!("predict {model} --features features.csv --out {out}")).succeeded();
        sandbox.read(out)
    };
    let load = |name: &str| FittedLabelFlowClassifier::load(&sandbox.path(name)).unwrap();
    let names = ["model", "scaled", "calibrated"];
    let models = names.map(load);
    let (whole, predicted) = (models.each_ref().map(SavedModel::to_bytes), names.map(|name| predict(name, "out.csv")));
    for pair in [[0, 1], [1, 2], [2, 0]] {
        assert!(whole[pair[0]] != whole[pair[1]] && predicted[pair[0]] != predicted[pair[1]]);
    }
    let (n_swaps, is_done) = (n_swaps(), AtomicBool::new(false));
    let count = |is_one_of_them: &dyn Fn() -> bool| {
        let mut n = 0;
        while !is_done.load(Ordering::Relaxed) {
            assert!(is_one_of_them(), "a mixture of two models");
            n += 1;
        }
        n
    };
    let (n_predicted, n_loaded) = std::thread::scope(|scope| {
        let predictions = scope.spawn(|| count(&|| predicted.contains(&predict("model", "swapped.csv"))));
        let loads = scope.spawn(|| count(&|| whole.contains(&load("model").to_bytes())));
        for swap in 0..n_swaps {
            models[swap % models.len()].save(&sandbox.path("model")).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        (predictions.join().unwrap(), loads.join().unwrap())
    });
    assert!(n_predicted > 0 && n_loaded > 0);
    eprintln!(
        "a model was replaced {n_swaps} times during {n_predicted} runs of predict and {n_loaded} loads: 0 mixtures, 0 failures"
    );
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
