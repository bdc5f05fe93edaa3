//! `labelflow predict` on rows in parts, within a given memory, and on bad rows.

#![allow(clippy::unwrap_used)]

mod common;

#[cfg(target_os = "linux")]
use common::parts::peak_kilobytes;
use common::parts::{feature_columns, vote_columns, write_parts};
use common::{Problem, Sandbox};
use labelflow_data::inputs::read_predictions;
use labelflow_data::tables::{ColumnValues, write_columns};

/// A model, 3000 rows to label in `rows.csv` and `rows/`, and votes on them in `votes.csv` and `votes/`.
fn sandbox() -> Sandbox {
    let problem = Problem::new(3000);
    let sandbox = Sandbox::with_model()
        .file("rows.csv", problem.features(&["a", "b", "c"]))
        .file("votes.csv", problem.signals(&["0", "1"]))
        .file("truth.csv", problem.labels(&["0", "1"]));
    write_parts(&sandbox.path("rows"), &feature_columns(&sandbox.path("rows.csv")), 700);
    write_parts(&sandbox.path("votes"), &vote_columns(&sandbox.path("votes.csv")), 1100);
    sandbox
}

#[test]
fn parts_are_labelled_as_one_file_is() {
    let sandbox = sandbox();
    // Other columns among them, and another order.
    let mut columns = feature_columns(&sandbox.path("rows.csv"));
    columns.reverse();
    columns.insert(1, ("other".to_owned(), vec![f64::NAN; 3000]));
    write_parts(&sandbox.path("others"), &columns, 5000);
    let compare = || {
        for more in ["", "--samples 3"] {
            let predict = |features: &str, votes: &str, out: &str| {
                let command = format!("predict model --features {features} {votes} --out {out} {more}");
                sandbox.labelflow(&command).succeeded().stderr
            };
            predict("rows.csv", "", "whole.csv");
            for features in ["rows", "rows/part-*.parquet --memory 150MB", "others --bad-rows skip"] {
                predict(features, "", "parts.csv");
                assert_eq!(sandbox.read("parts.csv"), sandbox.read("whole.csv"), "{features}");
            }
            predict("rows", "", "parts.parquet");
            let read = |name: &str| read_predictions(&sandbox.path(name), &Default::default()).unwrap();
            assert_eq!(read("parts.parquet"), read("whole.csv"));
            let said = predict("rows.csv", "--signals votes.csv", "whole.csv");
            let of_parts = predict("rows", "--signals votes", "parts.csv").replace("parts.csv", "whole.csv");
            let (warning, rest) = of_parts.split_once('\n').unwrap();
            assert!(warning.contains("as many rows in all, but not in each of their parts"), "{warning}");
            assert_eq!(rest, said);
            assert_eq!(sandbox.read("parts.csv"), sandbox.read("whole.csv"));
        }
    };
    compare();
    let calibrate = "calibrate model --features rows.csv --labels truth.csv --sets 0.9";
    sandbox.labelflow(calibrate).succeeded();
    compare();
    assert!(sandbox.read("parts.csv").starts_with("row,label,p_0,p_1,set,agreement\n"));
}

#[test]
fn values_in_parts_are_those_of_one_file() {
    let sandbox = Sandbox::new();
    sandbox.labelflow("data synth regression --rows 900 --out made").succeeded();
    sandbox.write("run.toml", "[config]\nn_steps = 2\nd_hidden = 8\n");
    let fit = "fit run.toml --features made/features.csv --rules made/rules.toml --epochs 20 --out model";
    sandbox.labelflow(fit).succeeded();
    let mut columns = feature_columns(&sandbox.path("made/features.csv"));
    write_parts(&sandbox.path("rows"), &columns, 400);
    let predict = |features: &str, out: &str| {
        let command = format!("predict model --features {features} --out {out}");
        sandbox.labelflow(&command)
    };
    predict("made/features.csv", "whole.csv").succeeded();
    predict("rows --memory 200MB", "parts.csv").succeeded();
    let whole = sandbox.read("whole.csv");
    assert_eq!(sandbox.read("parts.csv"), whole);
    columns[0].1[1] = f64::NAN;
    columns[1].1[500] = f64::INFINITY;
    write_parts(&sandbox.path("rows"), &columns, 400);
    predict("rows", "none.csv").refused(&["part-000.parquet, row 2, column 'x0'", "found none"]);
    predict("rows --bad-rows skip", "skipped.csv").succeeded();
    predict("rows --bad-rows abstain", "abstained.csv").succeeded();
    assert!(!sandbox.path("none.csv").exists());
    let is_bad = |line: &&str| ["1,", "500,"].iter().any(|row| line.starts_with(row));
    let lines: Vec<&str> = whole.lines().filter(|line| !is_bad(line)).collect();
    assert!(sandbox.read("skipped.csv").lines().eq(lines.iter().copied()));
    let abstained = sandbox.read("abstained.csv");
    assert_eq!(abstained.lines().nth(2), Some("1,,,,,"));
    assert_eq!(abstained.lines().nth(501), Some("500,,,,,"));
    assert!(abstained.lines().filter(|line| !is_bad(line)).eq(lines));
}

#[test]
fn bad_rows_fail_abstain_or_are_skipped() {
    let sandbox = sandbox();
    sandbox.labelflow("predict model --features rows --out good.csv").succeeded();
    let mut columns = feature_columns(&sandbox.path("rows.csv"));
    columns[1].1[1500] = f64::NAN;
    columns[2].1[1501] = f64::INFINITY;
    write_parts(&sandbox.path("rows"), &columns, 700);
    let predict = "predict model --features rows --out labels.csv";
    let place = "part-002.parquet, row 101, column 'b': expected a finite number, found none";
    sandbox.refuses(predict, &[place]);
    sandbox.refuses(&format!("{predict} --bad-rows fail"), &[place]);
    let good = sandbox.read("good.csv");
    let is_bad = |line: &&str| ["1500,", "1501,"].iter().any(|row| line.starts_with(row));
    let lines: Vec<&str> = good.lines().filter(|line| !is_bad(line)).collect();

    let ran = sandbox.labelflow(&format!("{predict} --bad-rows skip")).succeeded();
    assert!(ran.stderr.contains("2 of 3000 rows are left out; the first: "), "{}", ran.stderr);
    assert!(ran.stderr.contains(place) && ran.stderr.contains("2998 rows labelled"));
    assert!(sandbox.read("labels.csv").lines().eq(lines));

    let votes = "--signals votes --bad-rows abstain";
    let ran = sandbox.labelflow(&format!("{predict} {votes}")).succeeded();
    assert!(ran.stderr.contains("2 of 3000 rows have no label"), "{}", ran.stderr);
    let labels = sandbox.read("labels.csv");
    assert_eq!(labels.lines().nth(1501), Some("1500,,0.5,0.5,"));
    assert_eq!(labels.lines().count(), 3001);
    sandbox.labelflow("predict model --features rows --bad-rows abstain --out labels.parquet").succeeded();
    read_predictions(&sandbox.path("labels.parquet"), &Default::default()).unwrap();
}

#[test]
fn wrong_parts_are_named_and_nothing_is_written() {
    let sandbox = sandbox();
    let predict = "predict model --features rows --out labels.csv";
    sandbox.refuses(&format!("{predict} --memory 20MB"), &["memory: expected at least"]);
    sandbox.refuses("predict model --features rows.csv --memory 1GB", &["a parquet file"]);
    let npz = "predict model --features rows --out labels.npz";
    sandbox.refuses(npz, &["expected csv, tsv or parquet"]);
    let short = vote_columns(&sandbox.path("votes.csv")).into_iter().map(|(name, mut votes)| {
        votes.truncate(2999);
        (name, votes)
    });
    write_parts(&sandbox.path("short"), &short.collect::<Vec<_>>(), 1000);
    let short = format!("{predict} --signals short");
    sandbox.refuses(&short, &["short: expected 3000 rows, as many as rows has, found 2999"]);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.refuses("predict model --features empty", &["empty: expected at least one parquet"]);
    sandbox.refuses("predict model --features no*.parquet", &["none with such a name"]);

    let last = sandbox.path("rows/part-004.parquet");
    let bytes = std::fs::read(&last).unwrap();
    // Its end is whole, so that the damage is seen only when all other parts have been labelled.
    let mut damaged = bytes.clone();
    damaged[4..200].fill(0xff);
    for damaged in [&bytes[..bytes.len() / 2], &damaged] {
        std::fs::write(&last, damaged).unwrap();
        sandbox.refuses(predict, &["part-004.parquet", "expected a whole"]);
    }
    let rename = |name: &str, values: ColumnValues| {
        let mut columns: Vec<_> = ["a", "b", "c"]
            .map(|name| labelflow_data::tables::Column {
                name: name.to_owned(),
                values: ColumnValues::Reals(vec![1.0]),
            })
            .into();
        columns[1] = labelflow_data::tables::Column { name: name.to_owned(), values };
        write_columns(&last, &columns).unwrap();
    };
    rename("beta", ColumnValues::Reals(vec![1.0]));
    sandbox.refuses(predict, &["part-004.parquet: expected the columns a, b, c, as in", "found a, beta, c"]);
    rename("b", ColumnValues::Names(vec!["many".to_owned()]));
    sandbox.refuses(predict, &["part-004.parquet, column 'b': expected numbers, found values of type Utf8"]);
    let unknown: Vec<_> = feature_columns(&sandbox.path("rows.csv"))
        .into_iter()
        .map(|(name, values)| (format!("z{name}"), values))
        .collect();
    write_parts(&sandbox.path("unknown"), &unknown, 5000);
    sandbox.refuses("predict model --features unknown", &["expected a column 'a', found za, zb, zc"]);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_obeyed() {
    let sandbox = Sandbox::new();
    let synth = "data synth gaussian --classes 2 --features 16 --rows-per-part 50000";
    sandbox.labelflow(&format!("{synth} --rows 400 --out few")).succeeded();
    sandbox.labelflow(&format!("{synth} --rows 100000 --out many")).succeeded();
    sandbox.write("run.toml", "bounds = 0.3\n[config]\nn_steps = 2\nd_hidden = 32\n");
    let part = |table: &str| format!("few/{table}/part-00000.parquet");
    let (features, signals) = (part("features"), part("signals"));
    let fit = format!("fit run.toml --features {features} --signals {signals} --epochs 1 --out model");
    sandbox.labelflow(&fit).succeeded();
    let predict = "predict model --features many/features --memory 200MB --out labels.parquet";
    let (peak, said) = peak_kilobytes(&sandbox, predict);
    assert!(said.contains("100000 rows labelled"), "{said}");
    assert!((1..200_000).contains(&peak), "{peak} kB");
}
