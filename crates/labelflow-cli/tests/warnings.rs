//! What looks wrong in data is said, listed in JSON, and refused by `--strict`; one cell and a far zero do no harm.

#![allow(clippy::unwrap_used)]

mod common;

use common::parts::{feature_columns, vote_columns, write_parts};
use common::{Problem, Sandbox};
use labelflow_data::tables::{Column, ColumnValues, write_columns};

const N_ROWS: usize = 200;
const FIT: &str = "fit run.toml --features features.csv --signals signals.csv --batch-size 20 --epochs 60 --out model";

fn sandbox() -> Sandbox {
    let problem = Problem::new(N_ROWS);
    Sandbox::new()
        .file("features.csv", problem.features(&["a", "b", "c"]))
        .file("signals.csv", problem.signals(&["0", "1"]))
        .file("labels.csv", problem.labels(&["0", "1"]))
        .file("run.toml", "bounds = 0.25\n[config]\nn_steps = 2\nd_hidden = 8\n")
}

/// The same with another table: `change` is told the row, the column and the cell.
fn with_changed(name: &str, change: impl Fn(usize, usize, &str) -> String) -> Sandbox {
    let sandbox = sandbox();
    let text = sandbox.read(name);
    let mut lines = text.lines();
    let mut changed = format!("{}\n", lines.next().unwrap());
    for (row, line) in lines.enumerate() {
        let cells = line.split(',').enumerate().map(|(column, cell)| change(row, column, cell));
        changed += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    sandbox.write(name, changed);
    sandbox
}

/// The tables as parts in `rows` and `votes`, in which they are trained on.
fn in_parts(sandbox: &Sandbox) -> String {
    write_parts(&sandbox.path("rows"), &feature_columns(&sandbox.path("features.csv")), 70);
    write_parts(&sandbox.path("votes"), &vote_columns(&sandbox.path("signals.csv")), 70);
    FIT.replace("features.csv", "rows").replace("signals.csv", "votes") + " --memory 200MB"
}

fn accuracy(sandbox: &Sandbox) -> f64 {
    let eval = "eval model --features features.csv --labels labels.csv --json metrics.json";
    sandbox.labelflow(eval).succeeded();
    sandbox.json("metrics.json")["accuracy"].as_f64().unwrap()
}

/// The accuracy where nothing is wrong.
fn ordinary_accuracy() -> f64 {
    let sandbox = sandbox();
    let ran = sandbox.labelflow(&format!("{FIT} --strict")).succeeded();
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let accuracy = accuracy(&sandbox);
    assert!(accuracy > 0.9, "{accuracy}");
    accuracy
}

/// Warned of with these words in memory and in parts, and an error before anything is written where warnings are errors.
fn is_warned_of(sandbox: &Sandbox, more: &str, words: &[&str]) {
    for fit in [FIT.to_owned(), in_parts(sandbox)] {
        let fit = format!("{fit} {more}");
        sandbox.refuses(&format!("--strict {fit}"), &["--strict: expected no warnings, found"]);
        let ran =
            sandbox.labelflow(&format!("{fit} --epochs 1 --json fit.json").replace("--epochs 60", "")).succeeded();
        std::fs::remove_dir_all(sandbox.path("model")).unwrap();
        let listed = sandbox.json("fit.json")["warnings"].to_string();
        std::fs::remove_file(sandbox.path("fit.json")).unwrap();
        for word in words {
            assert!(ran.stderr.contains(word), "no '{word}' in: {}", ran.stderr);
            assert!(listed.contains(word), "no '{word}' in: {listed}");
        }
    }
}

#[test]
fn one_cell_that_is_far_off_does_no_harm_and_is_named() {
    let far = |row: usize, column: usize, cell: &str| {
        if (row, column) == (7, 0) { "3e38".to_owned() } else { cell.to_owned() }
    };
    let sandbox = with_changed("features.csv", far);
    is_warned_of(&sandbox, "", &["the column 'a' is 3e38 in row 7, so far from all others"]);
    let expected = ordinary_accuracy();
    for fit in [FIT.to_owned(), in_parts(&sandbox)] {
        sandbox.labelflow(&fit).succeeded();
        let found = accuracy(&sandbox);
        assert!(found > expected - 0.03, "{found} and {expected}");
        std::fs::remove_dir_all(sandbox.path("model")).unwrap();
    }
}

#[test]
fn a_zero_that_is_far_away_does_no_harm() {
    let far = |_: usize, _: usize, cell: &str| (cell.parse::<f64>().unwrap() + 1e9).to_string();
    let sandbox = with_changed("features.csv", far);
    let expected = ordinary_accuracy();
    for fit in [FIT.to_owned(), in_parts(&sandbox)] {
        let ran = sandbox.labelflow(&fit).succeeded();
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        let found = accuracy(&sandbox);
        assert!(found > expected - 0.03, "{found} and {expected}");
        std::fs::remove_dir_all(sandbox.path("model")).unwrap();
    }
}

#[test]
fn features_that_cannot_help_are_named() {
    let constant = with_changed("features.csv", |_, _, _| "5".to_owned());
    is_warned_of(&constant, "", &["every column is constant"]);
    let odd = with_changed("features.csv", |row, column, cell| match column {
        1 => "5".to_owned(),
        2 => row.to_string(),
        _ => cell.to_owned(),
    });
    is_warned_of(&odd, "", &["the column 'b' is constant", "the column 'c' looks like an identifier"]);
}

#[test]
fn labelers_that_contradict_each_other_and_bounds_that_cannot_hold_are_named() {
    let sandbox = with_changed("signals.csv", |row, column, cell| match column {
        0 => cell.to_owned(),
        1 => (row % 2).to_string(),
        _ => (1 - row % 2).to_string(),
    });
    let contradiction = "the labelers 'rule_b' and 'rule_c' agree on 0.0 % of 200 common rows";
    let bounds = "bounds: 'rule_b' and 'rule_c' disagree about";
    is_warned_of(&sandbox, "--bounds 0", &[contradiction, bounds]);
    // As labels alone are made.
    let label = "label --signals signals.csv --out out.csv";
    sandbox.refuses(&format!("{label} --strict"), &[contradiction]);
    sandbox.refuses("analyze --signals signals.csv --csv out.csv --strict", &[contradiction]);
    let ran = sandbox.labelflow(&format!("{label} --json label.json")).succeeded();
    assert!(ran.stderr.contains(&format!("warning: signals.csv: {contradiction}")), "{}", ran.stderr);
    let report = sandbox.json("label.json");
    let warning = report["warnings"].as_array().unwrap().iter().find(|warning| warning["first"] == "rule_b").unwrap();
    assert_eq!((&warning["kind"], &warning["n_both"]), (&"contradictory-labelers".into(), &200.into()));
    assert_eq!(warning["place"], "signals.csv");
    let analyze = "analyze --signals signals.csv --pairs --json analyze.json";
    sandbox.labelflow(analyze).succeeded();
    assert!(sandbox.json("analyze.json")["warnings"].as_array().unwrap().contains(warning));
}

#[test]
fn the_list_of_labelers_has_the_warnings_of_each() {
    let sandbox = with_changed("signals.csv", |row, column, cell| match column {
        0 => cell.to_owned(),
        1 => (row % 2).to_string(),
        _ => (1 - row % 2).to_string(),
    });
    // A contradiction is about two of them, a class without votes about none.
    let analyze = "analyze --signals signals.csv --json analyze.json";
    sandbox.labelflow(&format!("{analyze} --classes a,b,c")).succeeded();
    let report = sandbox.json("analyze.json");
    let texts = |labeler: usize| {
        let warnings = report[labeler]["warnings"].as_array().unwrap();
        warnings.iter().map(|warning| warning["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
    };
    let contradiction = "the labelers 'rule_b' and 'rule_c' agree on 0.0 %";
    assert_eq!(report[1]["name"], "rule_b");
    assert_eq!(report[1]["n_votes"], 200);
    for labeler in 0..3 {
        assert_eq!(texts(labeler).contains(contradiction), labeler > 0, "{report}");
        assert!(texts(labeler).contains("hardly a vote is for 'c'"), "{report}");
    }
    sandbox.labelflow(analyze).succeeded();
    assert!(!sandbox.json("analyze.json").to_string().contains("rare-classes"));
}

/// `predict` in memory and in parts, `eval` and `calibrate` of the rows in a file.
fn asked_about(sandbox: &Sandbox, features: &str) -> [String; 4] {
    write_parts(&sandbox.path("asked"), &feature_columns(&sandbox.path(features)), 30);
    let predict = |features: &str| format!("predict model --features {features} --out out.csv");
    let labelled = |command: &str| format!("{command} model --features {features} --labels asked.csv");
    [predict(features), predict("asked") + " --memory 100MB", labelled("eval"), labelled("calibrate")]
}

#[test]
fn odd_features_of_new_rows_are_named_and_refused_before_anything_is_written() {
    let sandbox = sandbox();
    sandbox.labelflow(&format!("{FIT} --epochs 2").replace("--epochs 60", "")).succeeded();
    let text = sandbox.read("features.csv");
    let write = |n_rows: usize, change: &dyn Fn(usize, usize, &str) -> String| {
        let row = |(row, line): (usize, &str)| {
            let cells = line.split(',').enumerate().map(|(column, cell)| change(row, column, cell));
            cells.collect::<Vec<_>>().join(",") + "\n"
        };
        let rows: String = text.lines().skip(1).take(n_rows).enumerate().map(row).collect();
        sandbox.write("new.csv", "a,b,c\n".to_owned() + &rows);
        let labels = sandbox.read("labels.csv");
        sandbox.write("asked.csv", labels.lines().take(n_rows + 1).collect::<Vec<_>>().join("\n") + "\n");
        let _ = std::fs::remove_dir_all(sandbox.path("asked"));
    };
    let far = |row: usize, column: usize, cell: &str| match (row, column) {
        (7, 1) => "1e4".to_owned(),
        _ => cell.to_owned(),
    };
    let counted = |row: usize, column: usize, cell: &str| if column == 2 { row.to_string() } else { cell.to_owned() };
    let one = |_: usize, _: usize, _: &str| "1.5".to_owned();
    type Change<'a> = &'a dyn Fn(usize, usize, &str) -> String;
    let odd: [(usize, Change<'_>, &str); 3] = [
        (200, &far, "the column 'b' is 1e4 in row 7, so far from all others"),
        (60, &counted, "the column 'c' looks like an identifier"),
        (30, &one, "every column is constant in all 30 rows"),
    ];
    for (n_rows, change, word) in odd {
        write(n_rows, change);
        for command in asked_about(&sandbox, "new.csv") {
            sandbox.refuses(&format!("--strict {command}"), &[word, "--strict: expected no warnings, found 1"]);
            let ran = sandbox.labelflow(&command).succeeded();
            assert!(ran.stderr.contains("warning: ") && ran.stderr.contains(word), "{command}: {}", ran.stderr);
        }
        sandbox.labelflow(&format!("{} --json eval.json", asked_about(&sandbox, "new.csv")[2])).succeeded();
        assert!(sandbox.json("eval.json")["warnings"].to_string().contains(word));
    }
    // What may be so by chance is no finding: three rows alike, a column that is the same on one day.
    let day = |_: usize, column: usize, cell: &str| if column == 1 { "1.5".to_owned() } else { cell.to_owned() };
    for (n_rows, change) in [(3, &one as Change<'_>), (3, &counted), (200, &day), (50, &far)] {
        write(n_rows, change);
        for command in asked_about(&sandbox, "new.csv") {
            let ran = sandbox.labelflow(&format!("--strict {command}")).succeeded();
            assert!(!ran.stderr.contains("warning"), "{command}: {}", ran.stderr);
        }
    }
}

#[test]
fn bounds_that_say_nothing_are_named() {
    is_warned_of(&sandbox(), "--bounds 1", &["bounds: all are 0.500 or more, so that any labels keep them"]);
}

#[test]
fn an_identifier_among_the_labelers_is_named() {
    let sandbox =
        with_changed("signals.csv", |row, column, cell| if column == 2 { row.to_string() } else { cell.to_owned() });
    is_warned_of(&sandbox, "", &["the labeler 'rule_c' votes for 200 classes in 200 votes"]);
}

#[test]
fn an_abstain_convention_that_may_be_wrong_is_a_warning() {
    let sandbox = with_changed("signals.csv", |_, _, cell| if cell == "0" { "-1" } else { "1" }.to_owned());
    let doubt = "warning: signals.csv: no labeler ever votes for class 'a'";
    for command in [FIT, "label --signals signals.csv --out out.csv", "analyze --signals signals.csv"] {
        sandbox.refuses(&format!("{command} --classes a,b --strict"), &[doubt]);
    }
}

#[test]
fn rows_of_which_nothing_is_known_are_refused_before_labels_are_written() {
    let sandbox = sandbox();
    sandbox.labelflow(&format!("{FIT} --epochs 2").replace("--epochs 60", "")).succeeded();
    let text = sandbox.read("features.csv");
    sandbox.write("far.csv", text.lines().take(4).collect::<Vec<_>>().join("\n") + "\n1e300,1,1\n");
    for features in ["far.csv", "far"] {
        write_parts(&sandbox.path("far"), &feature_columns(&sandbox.path("far.csv")), 70);
        let predict = format!("predict model --features {features} --out out.csv");
        let word = "1 of 4 rows, the first of them row 3, are so far from the training rows";
        sandbox.refuses(&format!("{predict} --strict"), &[word]);
        sandbox.labelflow(&predict).succeeded();
        std::fs::remove_file(sandbox.path("out.csv")).unwrap();
    }
}

#[test]
fn json_on_standard_output_is_all_there_is() {
    let sandbox = sandbox();
    let fit = format!("{FIT} --epochs 2 --labels-for-eval labels.csv --json -").replace("--epochs 60", "");
    let ran = sandbox.labelflow(&fit).succeeded();
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["model"], &report["n_epochs"]), (&"model".into(), &2.into()));
    assert_eq!(report["warnings"], serde_json::json!([]));
}

#[test]
fn columns_of_one_name_are_refused_in_parts_as_in_memory() {
    let sandbox = sandbox();
    let column = |name: &str| Column { name: name.to_owned(), values: ColumnValues::Reals(vec![1.0, 2.0, 3.0]) };
    let columns = [column("a"), column("b"), column("a")];
    std::fs::create_dir(sandbox.path("rows")).unwrap();
    write_columns(&sandbox.path("twice.parquet"), &columns).unwrap();
    write_columns(&sandbox.path("rows/part-0.parquet"), &columns).unwrap();
    for (features, signals) in [("twice.parquet", "signals.csv"), ("rows", "rows")] {
        let fit = FIT.replace("features.csv", features).replace("signals.csv", signals);
        sandbox.refuses(&fit, &[features, "column names that differ", "'a' twice"]);
    }
    sandbox.refuses("label --signals rows --out out.csv", &["rows", "names that differ", "'a'"]);
}
