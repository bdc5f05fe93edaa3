//! `labelflow label` and `labelflow analyze` on votes in parts, on counts, and within a given memory.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
#[cfg(target_os = "linux")]
use common::parts::peak_kilobytes;
use labelflow_data::inputs::{Predictions, read_predictions, read_signals, write_signals};

/// `votes/part-*.parquet` and the same rows in `votes.csv`.
fn sandbox(options: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.labelflow(&format!("data synth votes --out votes {options}")).succeeded();
    let mut text = String::new();
    for part in labelflow_data::parts::VoteParts::open(&sandbox.path("votes"), &Default::default()).unwrap().files() {
        let signals = read_signals(part, &Default::default()).unwrap().value;
        let csv = sandbox.path("part.csv");
        write_signals(&csv, &signals).unwrap();
        let rows = std::fs::read_to_string(csv).unwrap();
        let header = if text.is_empty() { 0 } else { rows.find('\n').unwrap() + 1 };
        text += &rows[header..];
    }
    sandbox.file("votes.csv", text)
}

fn labels(sandbox: &Sandbox, name: &str) -> Predictions {
    read_predictions(&sandbox.path(name), &Default::default()).unwrap()
}

#[test]
fn parts_counts_and_one_file_give_the_same_labels() {
    let sandbox = sandbox("--rows 3000 --labelers 6 --classes 3 --rows-per-part 700");
    for model in ["majority-vote", "dawid-skene", "snorkel", "adversarial-multiclass --errors 0.2"] {
        let label = |signals: &str, out: &str| {
            let command = format!("label {signals} --model {model} --out {out}");
            sandbox.labelflow(&command).succeeded()
        };
        let whole = label("--signals votes.csv", "whole.csv");
        label("--signals votes --write-counts counts.csv", "parts.csv");
        assert_eq!(sandbox.read("parts.csv"), sandbox.read("whole.csv"), "{model}");
        let streamed = label("--signals votes/part-*.parquet --memory 200MB", "parts.parquet");
        assert_eq!(labels(&sandbox, "parts.parquet"), labels(&sandbox, "whole.csv"), "{model}");
        assert_eq!(streamed.stdout, whole.stdout, "{model}");
        // Fitted to counts, then used on the rows.
        label("--counts counts.csv --save model.json", "patterns.csv");
        for signals in ["votes.csv", "votes", "votes/part-*.parquet --memory 300MB"] {
            let load = format!("label --load model.json --signals {signals} --out loaded.csv");
            sandbox.labelflow(&load).succeeded();
            assert_eq!(sandbox.read("loaded.csv"), sandbox.read("whole.csv"), "{model}");
        }
    }
    let analyze = |signals: &str, more: &str| {
        let command = format!("analyze {signals} --model dawid-skene {more}");
        sandbox.labelflow(&command).succeeded().stdout
    };
    for more in ["", "--pairs"] {
        let whole = analyze("--signals votes.csv", more);
        assert_eq!(analyze("--signals votes", more), whole);
        assert_eq!(analyze("--counts counts.csv", more), whole);
    }
}

#[test]
fn a_doubt_about_the_abstain_convention_is_said_of_every_form() {
    let sandbox = Sandbox::new();
    // Nobody votes for class 0, which makes -1 look like a class.
    let votes = [[1, -1], [-1, 1], [1, 1]];
    let votes = labelflow::Votes::from_indices(ndarray::arr2(&votes).view(), Some(2)).unwrap();
    let signals = labelflow::WeakSignals::from_votes(votes).unwrap();
    std::fs::create_dir(sandbox.path("votes")).unwrap();
    write_signals(&sandbox.path("votes/part.parquet"), &signals).unwrap();
    write_signals(&sandbox.path("votes.csv"), &signals).unwrap();
    let forms = ["--signals votes.csv --write-counts counts.csv", "--counts counts.csv", "--signals votes"];
    for form in forms {
        let ran = sandbox.labelflow(&format!("label {form} --classes a,b --out out.csv"));
        let stderr = ran.succeeded().stderr;
        assert!(stderr.contains("no labeler ever votes for class 'a'; if -1"), "{form}: {stderr}");
    }
}

#[test]
fn what_cannot_be_done_in_parts_says_so_and_writes_nothing() {
    let sandbox = sandbox("--rows 400 --labelers 4 --rows-per-part 200").file("truth.csv", "label\n0\n");
    let label = "label --signals votes --out out.csv";
    for (more, expected) in [
        ("--labels-for-eval truth.csv", "labels-for-eval: expected one file of votes"),
        ("--model constrained-labels --bounds auto", "bounds: 'auto'"),
        ("--memory 10MB", "memory: expected at least"),
        ("--memory lots", "expected a size such as 512MB"),
    ] {
        sandbox.refuses(&format!("{label} {more}"), &[expected]);
    }
    sandbox.refuses("label --signals votes.csv --memory 1GB --out out.csv", &["a parquet file"]);
    sandbox.refuses("label --counts votes.csv --out out.csv", &["expected a column 'count'"]);
    sandbox.write("votes/part-00001.parquet", "PAR1");
    sandbox.refuses(label, &["part-00001.parquet", "a whole parquet file"]);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.refuses("label --signals empty --out out.csv", &["empty: expected at least one parquet"]);
    assert!(!sandbox.path("out.csv").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_obeyed() {
    // Rows that hardly repeat: as many patterns as fit, and too many.
    let sandbox = Sandbox::new();
    let synth = |rows: usize| {
        let options = "--labelers 18 --rows-per-part 100000";
        sandbox.labelflow(&format!("data synth votes --rows {rows} --out rows{rows} {options}")).succeeded();
    };
    synth(150_000);
    synth(600_000);
    let label = |rows: usize, model: &str| {
        let command = format!("label --signals rows{rows} --model {model} --memory 200MB --out {model}.parquet");
        peak_kilobytes(&sandbox, &command)
    };
    for model in ["dawid-skene", "flying-squid", "majority-vote"] {
        let (peak, said) = label(150_000, model);
        assert!(said.contains("150000 rows labelled"), "{said}");
        assert!((1..200_000).contains(&peak), "{model}: {peak} kB");
    }
    let (peak, said) = label(600_000, "dawid-skene");
    assert!(
        said.contains("dawid-skene needs all distinct rows") && said.contains("majority-vote, average would fit"),
        "{said}"
    );
    assert!((1..200_000).contains(&peak), "{peak} kB");
    // What the error says to be enough is enough.
    let enough = said.split("--memory ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let again = format!("label --signals rows600000 --model dawid-skene --memory {enough} --out again.csv");
    sandbox.labelflow(&again).succeeded();
    let (peak, said) = label(600_000, "majority-vote");
    assert!(said.contains("600000 rows labelled"), "{said}");
    assert!((1..200_000).contains(&peak), "{peak} kB");
}
