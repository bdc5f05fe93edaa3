//! Rows, columns, labelers and parts are matched by name wherever they have names.

#![allow(clippy::unwrap_used)]

mod common;

use common::parts::{feature_columns, vote_columns, write_parts};
use common::{FIT, Sandbox};

/// The lines of a table in another order, the header first.
fn shuffled(table: &str) -> String {
    let (header, body) = table.split_once('\n').unwrap();
    let lines = body.lines().collect::<Vec<_>>();
    // 7 and the number of rows have no common factor.
    let moved = (0..lines.len()).map(|row| lines[row * 7 % lines.len()]).collect::<Vec<_>>();
    format!("{header}\n{}\n", moved.join("\n"))
}

/// The table with a first column that names its rows.
fn keyed(table: &str, key: &str, name: impl Fn(usize) -> String) -> String {
    let (header, body) = table.split_once('\n').unwrap();
    let lines = body.lines().enumerate().map(|(row, line)| format!("{},{line}\n", name(row)));
    format!("{key},{header}\n{}", lines.collect::<String>())
}

fn numbered(table: &str) -> String {
    keyed(table, "row", |row| row.to_string())
}

fn named(table: &str) -> String {
    keyed(table, "id", |row| format!("q{row}"))
}

/// The columns of a table in reverse.
fn reversed(table: &str) -> String {
    let line = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n";
    table.lines().map(line).collect()
}

/// The small problem, a model of it, and its tables with row numbers and with names of rows.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_model();
    for name in ["features", "signals", "labels"] {
        let table = sandbox.read(&format!("{name}.csv"));
        for (folder, table) in [("rows", numbered(&table)), ("ids", named(&table))] {
            sandbox.write(&format!("{folder}/{name}.csv"), &table);
            sandbox.write(&format!("{folder}/shuffled-{name}.csv"), shuffled(&table));
        }
    }
    sandbox
}

#[test]
fn columns_of_features_are_found_by_name_even_if_they_are_called_x0() {
    let sandbox = Sandbox::with_problem();
    let features = sandbox.read("features.csv").replacen("a,b,c", "x1,x0,x2", 1);
    sandbox.write("features.csv", &features);
    sandbox.write("moved.csv", reversed(&features));
    sandbox.labelflow(FIT).succeeded();
    for features in ["features", "moved"] {
        sandbox.labelflow(&format!("predict model --features {features}.csv --out {features}-labels.csv")).succeeded();
        let eval = format!("eval model --features {features}.csv --labels labels.csv --json {features}.json");
        sandbox.labelflow(&eval).succeeded();
    }
    assert_eq!(sandbox.read("moved-labels.csv"), sandbox.read("features-labels.csv"));
    assert_eq!(sandbox.json("moved.json"), sandbox.json("features.json"));
    sandbox.write("others.csv", features.replacen("x1,x0,x2", "x0,x2,x3", 1));
    sandbox
        .refuses("predict model --features others.csv --out none.csv", &["expected a column 'x1', found x0, x2, x3"]);
}

#[test]
fn true_labels_are_matched_by_row() {
    let sandbox = sandbox();
    let eval = |features: &str, labels: &str| {
        let command = format!("eval model --features {features}.csv --labels {labels}.csv --json metrics.json");
        sandbox.labelflow(&command).succeeded();
        // Other metrics are sums over the rows in their order: the last digits may differ.
        sandbox.json("metrics.json")["accuracy"].clone()
    };
    let expected = eval("features", "labels");
    // The program's own numbers count the rows of a table without keys.
    for (features, labels) in [
        ("features", "rows/shuffled-labels"),
        ("rows/features", "rows/shuffled-labels"),
        ("rows/shuffled-features", "rows/labels"),
        ("rows/features", "labels"),
    ] {
        assert_eq!(eval(features, labels), expected, "{features}, {labels}");
    }
    let by_id = "eval model --features ids/shuffled-features.csv --labels ids/labels.csv --key id --json metrics.json";
    sandbox.labelflow(by_id).succeeded();
    assert_eq!(sandbox.json("metrics.json")["accuracy"], expected);
    // Places say nothing of rows that are numbered in another order.
    let command = "eval model --features rows/shuffled-features.csv --labels labels.csv --json none.json";
    sandbox.refuses(command, &["labels.csv", "expected a column 'row'", "is in another order"]);
}

#[test]
fn every_command_matches_rows() {
    let sandbox = sandbox();
    for (key, folder) in [("", "rows"), ("--key id", "ids")] {
        let both = |command: &str, result: &str| {
            let [first, second] = ["", "shuffled-"].map(|shuffled| {
                let command = command.replace("LABELS", &format!("{folder}/{shuffled}labels.csv"));
                let command = command.replace("SIGNALS", &format!("{folder}/{shuffled}signals.csv"));
                sandbox.labelflow(&format!("{command} {key}")).succeeded();
                sandbox.read(result)
            });
            assert_eq!(first, second, "{command}");
        };
        let (features, signals) = (format!("{folder}/features.csv"), format!("{folder}/signals.csv"));
        both(&format!("analyze --signals {signals} --labels LABELS --json out.json"), "out.json");
        let label = format!("label --signals {signals} --labels-for-eval LABELS --json out.json --out labels-out.csv");
        both(&label, "out.json");
        both(&format!("predict model --features {features} --signals SIGNALS --out agreement.csv"), "agreement.csv");
        sandbox.labelflow(&format!("predict model --features {features} --out found.csv {key}")).succeeded();
        both("report --predictions found.csv --labels LABELS --out page.html", "page.html");
        let fit = format!("fit --features {features} --bounds 0.2 --epochs 2 --restart --out fitted");
        both(&format!("{fit} --signals SIGNALS"), "fitted/metrics.jsonl");
        both(&format!("{fit} --signals {signals} --labels-for-eval LABELS --eval-every 2"), "fitted/evaluation.jsonl");
        both(&format!("calibrate model --features {features} --labels LABELS --sets 0.9"), "model/model.toml");
    }
}

#[test]
fn keys_that_are_missing_doubled_or_too_many_are_named() {
    let sandbox = sandbox();
    let labels = sandbox.read("ids/labels.csv");
    let lines = labels.lines().collect::<Vec<_>>();
    let eval = "eval model --features ids/features.csv --labels bad.csv --key id --json none.json";
    for (bad, expected) in [
        (
            lines[..50].join("\n"),
            "bad.csv, column 'id': expected the rows of ids/features.csv, found none for 'q49', 'q50', 'q51' and",
        ),
        (format!("{labels}q60,1\n"), "found 'q60' too, which it does not have"),
        (format!("{labels}q7,1\n"), "line 62, column 'id': expected every key once, found 'q7' again, first line 9"),
        (labels.replace("q7,", ","), "line 9, column 'id': expected a key for every row, found none"),
        (sandbox.read("labels.csv"), "bad.csv: expected a column 'id', which names the rows"),
    ] {
        sandbox.write("bad.csv", bad);
        sandbox.refuses(eval, &[expected]);
    }
}

#[test]
fn labels_keep_the_keys_of_their_rows() {
    let sandbox = sandbox();
    let by_key = |table: &str| {
        let mut lines = table.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        lines.sort();
        lines
    };
    for (command, table) in
        [("predict model --features", "features"), ("label --model majority-vote --signals", "signals")]
    {
        for (key, column, folder) in [("", "row", "rows"), ("--key id", "id", "ids")] {
            let label = |shuffled: &str, out: &str| {
                let command = format!("{command} {folder}/{shuffled}{table}.csv --out {out} {key}");
                sandbox.labelflow(&command).succeeded();
                sandbox.read("out.csv")
            };
            let plain = label("", "out.csv");
            assert!(plain.starts_with(&format!("{column},label,")), "{plain}");
            let moved = label("shuffled-", "out.csv");
            assert_ne!(moved, plain);
            assert_eq!(by_key(&moved), by_key(&plain), "{command} {key}");
        }
    }
}

#[test]
fn labelers_of_a_saved_label_model_are_found_by_name() {
    let sandbox = Sandbox::with_problem();
    let signals = sandbox.read("signals.csv");
    sandbox.labelflow("label --signals signals.csv --model dawid-skene --save m.json --out labels-1.csv").succeeded();
    sandbox.write("moved.csv", reversed(&signals));
    sandbox.labelflow("label --load m.json --signals moved.csv --out labels-2.csv").succeeded();
    assert_eq!(sandbox.read("labels-2.csv"), sandbox.read("labels-1.csv"));
    let (header, body) = signals.split_once('\n').unwrap();
    let others = header.split(',').map(|name| format!("other_{name}")).collect::<Vec<_>>();
    sandbox.write("others.csv", format!("{}\n{body}", others.join(",")));
    let listed = [header, &*others.join(",")].map(|names| names.replace(',', ", "));
    sandbox.refuses("label --load m.json --signals others.csv --out none.csv", &[&listed[0], &listed[1]]);
}

#[test]
fn parts_are_in_the_order_of_their_numbers() {
    let sandbox = Sandbox::with_model();
    let (features, votes) =
        (feature_columns(&sandbox.path("features.csv")), vote_columns(&sandbox.path("signals.csv")));
    // Five rows a part: part-10 and part-11 come after part-9.
    write_parts(&sandbox.path("padded"), &features, 5);
    write_parts(&sandbox.path("votes-padded"), &votes, 5);
    for folder in ["padded", "votes-padded"] {
        let bare = sandbox.path(folder.trim_end_matches("padded")).join("bare");
        std::fs::create_dir_all(&bare).unwrap();
        for part in 0..12 {
            let padded = sandbox.path(folder).join(format!("part-{part:03}.parquet"));
            std::fs::copy(padded, bare.join(format!("part-{part}.parquet"))).unwrap();
        }
    }
    let predict = |features: &str, votes: &str, out: &str| {
        let command = format!("predict model --features {features} --signals {votes} --out {out}");
        let ran = sandbox.labelflow(&command).succeeded();
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        sandbox.read(out)
    };
    let expected = predict("features.csv", "signals.csv", "whole.csv");
    assert_eq!(predict("bare", "votes-/bare", "parts.csv"), expected);
    assert_eq!(predict("padded", "votes-/bare", "parts.csv"), expected);
    // As many rows in all, but not in each part.
    write_parts(&sandbox.path("others"), &votes, 6);
    let command = "predict model --features padded --signals others --out parts.csv";
    let ran = sandbox.labelflow(command).succeeded();
    assert!(ran.stderr.contains("as many rows in all, but not in each of their parts"), "{}", ran.stderr);
    std::fs::rename(sandbox.path("votes-/bare/part-0.parquet"), sandbox.path("votes-/bare/part-12.parquet")).unwrap();
    let ran = sandbox.labelflow("predict model --features padded --signals votes-/bare --out parts.csv").succeeded();
    assert!(ran.stderr.contains("have other numbers, but the same place"), "{}", ran.stderr);
}

#[test]
fn parts_with_keys_must_be_in_the_same_order() {
    let sandbox = Sandbox::with_model();
    let keys = |order: fn(usize) -> usize| ("row".to_owned(), (0..60).map(|row| order(row) as f64).collect::<Vec<_>>());
    let (features, votes) =
        (feature_columns(&sandbox.path("features.csv")), vote_columns(&sandbox.path("signals.csv")));
    let with = |key: (String, Vec<f64>), columns: &[(String, Vec<f64>)]| [vec![key], columns.to_vec()].concat();
    write_parts(&sandbox.path("x"), &with(keys(|row| row), &features), 25);
    write_parts(&sandbox.path("q"), &with(keys(|row| row), &votes), 17);
    write_parts(&sandbox.path("moved"), &with(keys(|row| if row < 40 { row } else { 99 - row }), &votes), 17);
    let fit =
        |votes: &str| format!("fit --features x --signals {votes} --classes 0,1 --bounds 0.2 --epochs 2 --out parts");
    sandbox.labelflow(&fit("q")).succeeded();
    let expected =
        ["moved/part-002.parquet, row 7, column 'row': expected 40, as in x/part-001.parquet, row 16, found 59"];
    sandbox.refuses(&fit("moved").replace("--out parts", "--out none"), &expected);
    let model = sandbox.read("parts/model.toml");
    assert!(model.contains(r#"features = ["a", "b", "c"]"#), "the key is no feature: {model}");
}
