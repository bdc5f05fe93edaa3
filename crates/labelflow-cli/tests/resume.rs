//! A run that was killed or interrupted ends as if nothing had happened.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

use common::{Ran, Sandbox};

const FIT: &str = "fit run.toml --features features.csv --signals signals.csv --epochs 300 --checkpoint-every 2";

/// A fit that is running.
struct Running {
    child: Child,
    checkpoint: PathBuf,
}

impl Running {
    fn start(sandbox: &Sandbox, arguments: &str, out: &str) -> Self {
        let child = sandbox.command(&format!("{arguments} --out {out}")).spawn().unwrap();
        Self { child, checkpoint: sandbox.path(out).join("checkpoint.safetensors") }
    }

    /// Waits until this many checkpoints were seen to be written.
    fn wait_for_checkpoints(&mut self, n_checkpoints: usize) {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut last = self.written();
        let mut n_seen = 0;
        while n_seen < n_checkpoints {
            assert!(Instant::now() < deadline, "no checkpoint in time");
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("it ended before it could be stopped: {status}");
            }
            let now = self.written();
            if now.is_some() && now != last {
                n_seen += 1;
                last = now;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn written(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.checkpoint).ok()?.modified().ok()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it ended before it was killed");
    }

    fn interrupt(self) -> Ran {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.child.wait_with_output().unwrap().into()
    }
}

/// Names below the model folder, and contents.
fn model(sandbox: &Sandbox, out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = sandbox.path(out);
    let contents = sandbox.contents(out).into_iter();
    contents.map(|(path, bytes)| (path.strip_prefix(&folder).unwrap().to_owned(), bytes)).collect()
}

#[track_caller]
fn assert_same_model(sandbox: &Sandbox, found: &str, expected: &str) {
    let (found, expected) = (model(sandbox, found), model(sandbox, expected));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, contents) in &expected {
        assert!(found[name] == *contents, "{} differs", name.display());
    }
}

/// The number after a phrase.
fn number_after(text: &str, phrase: &str) -> usize {
    let (_, rest) = text.split_once(phrase).unwrap_or_else(|| panic!("no '{phrase}' in {text}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn killed_runs_end_the_same(flags: &str) {
    let sandbox = Sandbox::with_problem();
    let fit = format!("{FIT} {flags}");
    sandbox.labelflow(&format!("{fit} --out whole")).succeeded();
    // Killed three times, each time a little further on.
    for n_checkpoints in [1, 3, 10] {
        let mut running = Running::start(&sandbox, &fit, "killed");
        running.wait_for_checkpoints(n_checkpoints);
        running.kill();
        assert!(sandbox.path("killed/checkpoint.safetensors").exists());
        assert!(!sandbox.path("killed/model.toml").exists());
    }
    let ran = sandbox.labelflow(&format!("{fit} --out killed")).succeeded();
    assert!(number_after(&ran.stderr, "going on after epoch") >= 2, "{}", ran.stderr);
    assert_same_model(&sandbox, "killed", "whole");
}

#[test]
fn killed_with_the_full_batch() {
    killed_runs_end_the_same("");
}

#[test]
fn killed_with_mini_batches() {
    killed_runs_end_the_same("--batch-size 16");
}

/// No line of `evaluation.jsonl` is lost or repeated either.
#[test]
fn killed_with_evaluations() {
    killed_runs_end_the_same("--labels-for-eval labels.csv --eval-every 3");
}

#[test]
fn killed_before_the_first_checkpoint() {
    let sandbox = Sandbox::with_problem();
    let never = FIT.replace("--checkpoint-every 2", "--checkpoint-every 100000");
    let mut running = Running::start(&sandbox, &never, "killed");
    while !sandbox.path("killed").exists() {
        assert!(running.child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    running.kill();
    sandbox.labelflow(&format!("{never} --out killed")).succeeded();
    sandbox.labelflow(&format!("{FIT} --out whole")).succeeded();
    assert_same_model(&sandbox, "killed", "whole");
}

#[test]
fn interrupted() {
    let sandbox = Sandbox::with_problem();
    // Checkpoints are so rare that the one of the interrupt itself matters.
    let fit = FIT.replace("--checkpoint-every 2", "--checkpoint-every 7");
    sandbox.labelflow(&format!("{fit} --out whole")).succeeded();
    let mut running = Running::start(&sandbox, &fit, "stopped");
    running.wait_for_checkpoints(2);
    let ran = running.interrupt().refused(&["the same command goes on", "checkpoint in stopped"]);
    let n_epochs = number_after(&ran.stderr, "interrupted after");
    assert!(n_epochs >= 14, "{}", ran.stderr);
    let ran = sandbox.labelflow(&format!("{fit} --out stopped")).succeeded();
    assert_eq!(number_after(&ran.stderr, "going on after epoch"), n_epochs);
    assert_same_model(&sandbox, "stopped", "whole");
}

#[test]
fn out_of_time() {
    let sandbox = Sandbox::with_problem();
    sandbox.labelflow(&format!("{FIT} --out whole")).succeeded();
    let ran = sandbox.labelflow(&format!("{FIT} --out short --max-minutes 0")).succeeded();
    assert!(ran.stdout.contains("trained for 1 epochs (time limit reached)"), "{}", ran.stdout);
    sandbox.labelflow("predict short --features features.csv").succeeded();
    let ran = sandbox.labelflow(&format!("{FIT} --out short")).succeeded();
    assert_eq!(number_after(&ran.stderr, "going on after epoch"), 1);
    assert_same_model(&sandbox, "short", "whole");
    sandbox.refuses(
        &format!("{FIT} --out short --max-minutes=-1"),
        &["--max-minutes: expected 0 to 1000000 minutes, found -1.0"],
    );
}

#[test]
fn evaluations_change_nothing_else_and_belong_to_one_model() {
    let sandbox = Sandbox::with_problem();
    let fit = FIT.replace("--epochs 300", "--epochs 20");
    sandbox.labelflow(&format!("{fit} --labels-for-eval labels.csv --out plain")).succeeded();
    let evaluated = format!("{fit} --labels-for-eval labels.csv --eval-every 8 --out evaluated");
    sandbox.labelflow(&evaluated).succeeded();
    for name in ["weights.safetensors", "metrics.jsonl", "model.toml"] {
        let [plain, evaluated] = ["plain", "evaluated"].map(|out| sandbox.bytes(&format!("{out}/{name}")));
        assert!(plain == evaluated, "{name} differs");
    }
    let lines = sandbox.read("evaluated/evaluation.jsonl");
    let epochs: Vec<usize> = lines.lines().map(|line| number_after(line, "\"epoch\":")).collect();
    // Every eighth epoch, and the last.
    assert_eq!(epochs, [7, 15, 19]);
    // The last line is what `eval` says of the model.
    sandbox.labelflow("eval evaluated --features features.csv --labels labels.csv --json metrics.json").succeeded();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let metrics = sandbox.json("metrics.json");
    assert_eq!((&last["accuracy"], &last["ece"]), (&metrics["accuracy"], &metrics["ece"]));
    // A run that ended early and goes on has the lines of a whole one.
    let short = evaluated.replace("--out evaluated", "--out short");
    sandbox.labelflow(&format!("{short} --max-minutes 0")).succeeded();
    assert_eq!(sandbox.read("short/evaluation.jsonl").lines().count(), 1);
    sandbox.labelflow(&short).succeeded();
    assert_same_model(&sandbox, "short", "evaluated");
    // Another model in the same folder has none of them.
    sandbox.labelflow(&format!("{fit} --seed 1 --out evaluated")).succeeded();
    assert!(!sandbox.path("evaluated/evaluation.jsonl").exists());
    sandbox.refuses(&format!("{fit} --eval-every 5 --out new"), &["--eval-every", "--labels-for-eval"]);
    let none = format!("{fit} --labels-for-eval labels.csv --eval-every 0 --out new");
    sandbox.refuses(&none, &["--eval-every", "at least 1"]);
}

#[test]
fn the_old_model_serves_until_the_new_one_is_done() {
    let sandbox = Sandbox::with_model();
    let old = model(&sandbox, "model");
    let mut running = Running::start(&sandbox, FIT, "model");
    running.wait_for_checkpoints(2);
    running.kill();
    for (name, contents) in &old {
        assert!(model(&sandbox, "model")[name] == *contents, "{} differs", name.display());
    }
    sandbox.labelflow("predict model --features features.csv").succeeded();
}

#[test]
fn the_checkpoint_of_another_run() {
    let sandbox = Sandbox::with_problem();
    let mut running = Running::start(&sandbox, FIT, "model");
    running.wait_for_checkpoints(1);
    running.kill();
    // The kill may have left a half-written next one.
    let _ = std::fs::remove_file(sandbox.path("model/checkpoint.safetensors.partial"));
    let _ = std::fs::remove_file(sandbox.path("model/.lock"));
    let other = format!("{FIT} --seed 1");
    let parts = ["model/checkpoint.safetensors", "other settings or data", "--restart"];
    sandbox.refuses(&format!("{other} --out model"), &parts);
    sandbox.labelflow(&format!("{other} --restart --out model")).succeeded();
    sandbox.labelflow(&format!("{other} --out whole")).succeeded();
    assert_same_model(&sandbox, "model", "whole");
}

#[test]
fn a_seed_gives_the_same_weights_with_any_number_of_threads() {
    let sandbox = Sandbox::with_problem();
    let weights = |n_threads: &str, seed: &str, flags: &str| {
        let fit = format!("{FIT} --seed {seed} {flags} --out model");
        let mut command = sandbox.command(&fit.replace("--epochs 300", "--epochs 60"));
        let ran: Ran = command.env("RAYON_NUM_THREADS", n_threads).output().unwrap().into();
        ran.succeeded();
        sandbox.bytes("model/weights.safetensors")
    };
    for flags in ["", "--batch-size 16"] {
        let one = weights("1", "0", flags);
        assert!(one == weights("2", "0", flags), "two threads differ {flags}");
        assert!(one == weights("1", "0", flags), "a repetition differs {flags}");
        assert!(one != weights("1", "1", flags), "another seed is the same {flags}");
    }
}

#[test]
fn a_save_that_was_killed_between_its_moves() {
    let sandbox = Sandbox::with_model();
    let newer = common::FIT.replace("--out model", "--out newer --seed 1");
    sandbox.labelflow(&newer).succeeded();
    let labels = |model: &str| {
        let predict = format!("predict {model} --features features.csv --out out.csv");
        sandbox.labelflow(&predict).succeeded();
        sandbox.read("out.csv")
    };
    let expected = labels("newer");
    // The new weights are in their place; their description is still beside that of the old ones.
    sandbox.write("model/weights.safetensors", sandbox.bytes("newer/weights.safetensors"));
    sandbox.write("model/model.toml.new", sandbox.bytes("newer/model.toml"));
    assert_eq!(labels("model"), expected);
    // Another save that fails does not lose it.
    let full = format!("trap '' XFSZ; ulimit -f 1; exec \"$LABELFLOW\" {} --seed 2", common::FIT);
    sandbox.shell(&full).refused(&["File too large"]);
    assert_eq!(labels("model"), expected);
    // One that succeeds tidies up.
    sandbox.labelflow(&format!("{} --seed 1", common::FIT)).succeeded();
    assert_same_model(&sandbox, "model", "newer");
}
