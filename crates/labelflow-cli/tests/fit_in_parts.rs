//! `labelflow fit` on rows in parts: what is learned, resuming, repeating, memory, wrong inputs.

#![allow(clippy::unwrap_used)]

mod common;

#[cfg(target_os = "linux")]
use common::parts::peak_kilobytes;
use common::parts::{feature_columns, vote_columns, write_parts};
use common::{Problem, Sandbox};
use labelflow_data::tables::{Column, ColumnValues, write_columns};

/// 80 MB, 4 MB for each of six columns, and little more: several windows for 600 rows.
const TIGHT: &str = "--memory 104120000B --batch-size 32";
const FIT: &str = "fit run.toml --features rows --signals votes --epochs 40";
const WEIGHTS: &str = "weights.safetensors";

/// 600 rows: `rows/` and `votes/` with other parts each, and `both/` with all columns and one that is neither.
fn sandbox() -> Sandbox {
    let problem = Problem::new(600);
    let sandbox = Sandbox::new()
        .file("rows.csv", problem.features(&["a", "b", "c"]))
        .file("votes.csv", problem.signals(&["0", "1"]))
        .file("truth.csv", problem.labels(&["0", "1"]))
        .file("run.toml", "bounds = 0.25\n[config]\nn_steps = 2\nd_hidden = 8\n");
    let (features, votes) = (feature_columns(&sandbox.path("rows.csv")), vote_columns(&sandbox.path("votes.csv")));
    write_parts(&sandbox.path("rows"), &features, 50);
    write_parts(&sandbox.path("votes"), &votes, 170);
    let both = [votes, features, vec![("id".to_owned(), (0..600).map(f64::from).collect())]];
    write_parts(&sandbox.path("both"), &both.concat(), 50);
    sandbox
}

fn weights(sandbox: &Sandbox, model: &str) -> Vec<u8> {
    sandbox.bytes(&format!("{model}/{WEIGHTS}"))
}

fn accuracy(sandbox: &Sandbox, model: &str) -> f64 {
    let eval = format!("eval {model} --features rows.csv --labels truth.csv --json metrics.json");
    sandbox.labelflow(&eval).succeeded();
    sandbox.json("metrics.json")["accuracy"].as_f64().unwrap()
}

#[test]
fn parts_teach_what_rows_in_memory_teach() {
    let sandbox = sandbox();
    let memory = "fit run.toml --features rows.csv --signals votes.csv --epochs 40 --batch-size 32";
    sandbox.labelflow(&format!("{memory} --out memory")).succeeded();
    let ran = sandbox.labelflow(&format!("{FIT} {TIGHT} --out windows")).succeeded();
    let said = ran.stderr.split("600 rows in ").nth(1).unwrap();
    let n_windows: usize = said.split(' ').next().unwrap().parse().unwrap();
    assert!(n_windows > 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("rows in random order take 1MB of disk"), "{}", ran.stderr);
    let best = accuracy(&sandbox, "memory");
    assert!(best > 0.9, "{best}");
    let found = accuracy(&sandbox, "windows");
    assert!(found > best - 0.03, "{found} and {best}");
    // Rows that fit are trained on as rows in memory.
    let ran = sandbox.labelflow(&format!("{FIT} --batch-size 32 --out window")).succeeded();
    assert!(ran.stderr.contains("600 rows in memory"), "{}", ran.stderr);
    assert_eq!(weights(&sandbox, "window"), weights(&sandbox, "memory"));
    // Nothing is left of the rows in random order.
    let names = |model: &str| -> Vec<_> {
        let files = std::fs::read_dir(sandbox.path(model)).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("windows"), names("memory"));
    // The same rows in the same files, wherever the columns are.
    let both = "fit run.toml --features both --signal-columns rule_* --feature-columns a,b,c";
    sandbox.labelflow(&format!("{both} --epochs 40 {TIGHT} --out both-model")).succeeded();
    assert_eq!(weights(&sandbox, "both-model"), weights(&sandbox, "windows"));
    // A fit can be repeated from what its model says.
    let ran = sandbox.labelflow("fit --from windows").succeeded();
    assert!(ran.stdout.contains("the same weights, to the last bit"), "{}", ran.stdout);
    let rows = feature_columns(&sandbox.path("rows.csv"));
    write_parts(&sandbox.path("rows"), &rows, 60);
    sandbox.labelflow("fit --from windows").refused(&["windows was trained on"]);
}

/// The rows of a table in the order of these numbers.
fn in_order(columns: &[(String, Vec<f64>)], order: &[usize]) -> Vec<(String, Vec<f64>)> {
    let column = |values: &Vec<f64>| order.iter().map(|&row| values[row]).collect();
    columns.iter().map(|(name, values)| (name.clone(), column(values))).collect()
}

#[test]
fn rows_in_an_order_teach_what_rows_in_memory_teach() {
    let sandbox = sandbox();
    let memory = "fit run.toml --features rows.csv --signals votes.csv --epochs 40 --batch-size 32";
    sandbox.labelflow(&format!("{memory} --out memory")).succeeded();
    let (features, votes) = (feature_columns(&sandbox.path("rows.csv")), vote_columns(&sandbox.path("votes.csv")));
    let mut order: Vec<usize> = (0..600).collect();
    order.sort_by(|&one, &other| features[0].1[one].total_cmp(&features[0].1[other]));
    write_parts(&sandbox.path("rows"), &in_order(&features, &order), 50);
    write_parts(&sandbox.path("votes"), &in_order(&votes, &order), 170);
    sandbox.labelflow(&format!("{FIT} {TIGHT} --out windows")).succeeded();
    let (found, best) = (accuracy(&sandbox, "windows"), accuracy(&sandbox, "memory"));
    assert!(found > best - 0.03, "{found} and {best}");
}

#[test]
fn probabilities_teach_what_they_teach_in_memory() {
    let sandbox = sandbox();
    let votes = vote_columns(&sandbox.path("votes.csv"));
    let soft = |(signal, (name, votes)): (usize, &(String, Vec<f64>))| {
        let soft = |(row, vote): (usize, &f64)| vote * 0.8 + 0.1 + f64::from(((row + signal) % 7) as u8) * 0.01;
        (name.clone(), votes.iter().enumerate().map(soft).collect())
    };
    let soft: Vec<(String, Vec<f64>)> = votes.iter().enumerate().map(soft).collect();
    write_parts(&sandbox.path("soft"), &soft, 170);
    write_parts(&sandbox.path("whole"), &soft, 1000);
    let fit = "fit run.toml --epochs 40 --batch-size 32";
    let memory = format!("{fit} --features rows.csv --signals whole/part-000.parquet --out memory");
    sandbox.labelflow(&memory).succeeded();
    let parts = format!("{fit} --features rows --signals soft");
    sandbox.labelflow(&format!("{parts} --out window")).succeeded();
    assert_eq!(weights(&sandbox, "window"), weights(&sandbox, "memory"));
    let ran = sandbox.labelflow(&format!("{parts} --memory 104120000B --out windows")).succeeded();
    assert!(ran.stderr.contains(" windows,"), "{}", ran.stderr);
    let (found, best) = (accuracy(&sandbox, "windows"), accuracy(&sandbox, "memory"));
    assert!(found > best - 0.03 && best > 0.85, "{found} and {best}");
    sandbox.refuses(&format!("{parts} --bounds auto --out other"), &["bounds = auto is for votes"]);
    sandbox.refuses(
        &format!("{parts} --classes a,b,c --out other"),
        &["classes: expected two names, since a table has probabilities of two classes"],
    );
    let mut wrong = soft;
    wrong[1].1[200] = 1.25;
    write_parts(&sandbox.path("soft"), &wrong, 170);
    let place = "part-001.parquet, row 31, column 'rule_b': expected a probability from 0 to 1";
    sandbox.refuses(&format!("{parts} --out other"), &[place]);
}

#[test]
fn rules_teach_what_they_teach_in_memory() {
    let sandbox = sandbox();
    let features = feature_columns(&sandbox.path("rows.csv"));
    let truth: String = features[0].1.iter().map(|a| format!("{}\n", 5.0 + a)).collect();
    sandbox.write("values.csv", format!("label\n{truth}"));
    sandbox.write("run.toml", "range = [0, 10]\n[config]\nn_steps = 2\nd_hidden = 8\n");
    sandbox.write("rules.csv", "feature,threshold,above,below\na,1.5,7.5,5.5\nb,50,6.5 +- 0.5,6.5 +- 0.5\n");
    let fit = "fit run.toml --rules rules.csv --epochs 60 --batch-size 32";
    sandbox.labelflow(&format!("{fit} --features rows.csv --out memory")).succeeded();
    let parts = format!("{fit} --features rows");
    sandbox.labelflow(&format!("{parts} --out window")).succeeded();
    assert_eq!(weights(&sandbox, "window"), weights(&sandbox, "memory"));
    // 92 MB are for reading three columns.
    let tight = format!("{parts} --memory 92060000B");
    let ran = sandbox.labelflow(&format!("{tight} --out windows")).succeeded();
    assert!(ran.stderr.contains(" windows,"), "{}", ran.stderr);
    let rmse = |model: &str| {
        let eval = format!("eval {model} --features rows.csv --labels values.csv --json metrics.json");
        sandbox.labelflow(&eval).succeeded();
        sandbox.json("metrics.json")["rmse"].as_f64().unwrap()
    };
    let (found, best) = (rmse("windows"), rmse("memory"));
    assert!((found - best).abs() < 0.2 && best < 1.5, "{found} and {best}");
    // It goes on after an end, and can be repeated.
    sandbox.labelflow(&format!("{tight} --max-minutes 0.000001 --out parts")).succeeded();
    sandbox.labelflow(&format!("{tight} --out parts")).succeeded();
    assert_eq!(weights(&sandbox, "parts"), weights(&sandbox, "windows"));
    let ran = sandbox.labelflow("fit --from windows").succeeded();
    assert!(ran.stdout.contains("the same weights, to the last bit"), "{}", ran.stdout);
    sandbox.write("rules.csv", "feature,threshold,above,below\nd,0,5.8,4.2\n");
    sandbox.refuses(&format!("{parts} --out other"), &["expected a column 'd', found a, b, c"]);
    sandbox.write("rules.csv", "feature,threshold,above,below\na,1.5,1,2\na,1.5,3,2\n");
    sandbox.refuses(&format!("{parts} --out other"), &["satisfy together"]);
    sandbox.write("mask.csv", "member\n".to_owned() + &"1\n0\n".repeat(300));
    sandbox.write("mask.toml", "[[rule]]\nrows = 'mask.csv'\nmean = 3\n");
    let masked = format!("{parts} --out other").replace("rules.csv", "mask.toml");
    sandbox.refuses(&masked, &["a region of features", "300 given rows"]);
}

#[test]
fn votes_in_parts_by_another_convention_are_doubted() {
    let sandbox = sandbox();
    let votes: Vec<_> = vote_columns(&sandbox.path("votes.csv"))
        .into_iter()
        .map(|(name, votes)| (name, votes.iter().map(|vote| vote + 1.0).collect()))
        .collect();
    write_parts(&sandbox.path("votes"), &votes, 170);
    write_parts(&sandbox.path("whole"), &votes, 1000);
    let fit = "fit run.toml --epochs 1 --out model --features";
    let doubt = "no number is 0: 1 to 2 are taken for the classes, and nobody abstains";
    for rows in ["rows.csv --signals whole/part-000.parquet", "rows --signals votes"] {
        let ran = sandbox.labelflow(&format!("{fit} {rows} --restart")).succeeded();
        assert!(ran.stderr.contains(doubt), "{}", ran.stderr);
    }
}

#[test]
fn estimated_bounds_are_those_of_rows_in_memory() {
    let sandbox = sandbox().file("run.toml", "[config]\nn_steps = 2\nd_hidden = 8\n");
    let memory = "fit run.toml --features rows.csv --signals votes.csv --epochs 2";
    let said = sandbox.labelflow(&format!("{memory} --out memory")).succeeded().stderr;
    let of_parts = sandbox.labelflow(&format!("{FIT} --epochs 2 --out parts").replace("--epochs 40 ", ""));
    let bounds =
        |said: &str| said.lines().filter(|line| line.contains("bounds:")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(bounds(&of_parts.succeeded().stderr), bounds(&said));
    let constraints = "[[config.constraints]]\nkind = \"range\"\nweight = 10.0\n\
        [[config.constraints]]\nkind = \"sum-to-one\"\nweight = 10.0\n[[config.constraints]]\nkind = \"class-balance\"\nweight = 3.0\nshares = [0.5, 0.5]\n\
        [[config.constraints]]\nkind = \"group-mean\"\nweight = 3.0\nfeature = \"a\"\nthreshold = 1.5\nclass = 1\nabove = 1.0\nbelow = 0.0\n";
    sandbox.write("run.toml", format!("[config]\nn_steps = 2\nd_hidden = 8\n{constraints}"));
    sandbox.labelflow(&format!("{FIT} {TIGHT} --out groups")).succeeded();
    sandbox
        .labelflow(&format!("{memory} --epochs 40 --batch-size 32 --out groups-memory").replace("--epochs 2 ", ""))
        .succeeded();
    let (found, best) = (accuracy(&sandbox, "groups"), accuracy(&sandbox, "groups-memory"));
    assert!(found > best - 0.03, "{found} and {best}");
}

#[test]
fn an_ended_run_goes_on_as_if_nothing_had_happened() {
    let sandbox = sandbox();
    let fit = format!("{FIT} {TIGHT}");
    sandbox.labelflow(&format!("{fit} --out whole")).succeeded();
    // Three times one epoch, then the rest.
    for _ in 0..3 {
        sandbox.labelflow(&format!("{fit} --max-minutes 0.000001 --out parts")).succeeded();
    }
    assert_ne!(weights(&sandbox, "parts"), weights(&sandbox, "whole"));
    let other = fit.replace("104120000B", "120MB");
    sandbox.labelflow(&format!("{other} --out parts")).refused(&["other settings or data"]);
    let ran = sandbox.labelflow(&format!("{fit} --out parts")).succeeded();
    assert!(ran.stderr.contains("going on after epoch 3"), "{}", ran.stderr);
    assert_eq!(weights(&sandbox, "parts"), weights(&sandbox, "whole"));
}

#[test]
fn wrong_parts_are_named_and_nothing_is_written() {
    let sandbox = sandbox();
    let fit = |more: &str| format!("fit run.toml --epochs 1 --out model {more}");
    let rows = "--features rows --signals votes";
    for (more, expected) in [
        (format!("{rows} --memory 50MB"), "memory: expected at least"),
        (format!("{rows} --memory 104010000B"), "memory: expected"),
        (format!("{rows} --labels-for-eval truth.csv"), "labels-for-eval: expected features"),
        ("--features rows".to_owned(), "expected --signals, or --signal-columns"),
        ("--features both --signal-columns lf_*".to_owned(), "expected a column 'lf_*'"),
        (
            "--features both --signal-columns rule_* --feature-columns *".to_owned(),
            "column 'rule_a': expected a feature or a signal, found both",
        ),
        ("--features rows.csv --signals votes".to_owned(), "a parquet file"),
        ("--features rows --signals none*.parquet".to_owned(), "none with such a name"),
        (
            "--features rows --shapes chairs".to_owned(),
            "--features is for classification and regression; this fit is for completion",
        ),
    ] {
        sandbox.refuses(&fit(&more), &[expected]);
    }
    let mut short = vote_columns(&sandbox.path("votes.csv"));
    short.iter_mut().for_each(|(_, votes)| votes.truncate(599));
    write_parts(&sandbox.path("short"), &short, 170);
    let differ = "short: expected 600 rows, as many as rows has, found 599";
    sandbox.refuses(&fit("--features rows --signals short"), &[differ]);
    let mut missing = feature_columns(&sandbox.path("rows.csv"));
    missing[1].1[77] = f64::NAN;
    write_parts(&sandbox.path("missing"), &missing, 50);
    let place = "part-001.parquet, row 28, column 'b': expected a finite number, found none";
    sandbox.refuses(&fit("--features missing --signals votes"), &[place]);

    let last = sandbox.path("rows/part-011.parquet");
    let bytes = std::fs::read(&last).unwrap();
    std::fs::write(&last, &bytes[..bytes.len() / 2]).unwrap();
    sandbox.refuses(&fit(rows), &["part-011.parquet", "a whole parquet file"]);
    let replace = |name: &str, values: ColumnValues| {
        let column = |name: &str, values| Column { name: name.to_owned(), values };
        let one = || ColumnValues::Reals(vec![1.0]);
        let columns = [column("a", one()), column(name, values), column("c", one())];
        write_columns(&last, &columns).unwrap();
    };
    replace("beta", ColumnValues::Reals(vec![1.0]));
    sandbox.refuses(&fit(rows), &["part-011.parquet: expected the columns a, b, c, as in"]);
    replace("b", ColumnValues::Names(vec!["text".to_owned()]));
    sandbox.refuses(&fit(rows), &["part-011.parquet, column 'b': expected numbers"]);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.refuses(&fit("--features empty --signals votes"), &["at least one parquet file"]);
    assert!(!sandbox.path("model").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_obeyed() {
    let sandbox = Sandbox::new();
    let synth = "data synth gaussian --features 16 --labelers 10 --rows 300000 --rows-per-part 40000";
    sandbox.labelflow(&format!("{synth} --out made")).succeeded();
    sandbox.write("run.toml", "bounds = 0.35\n[config]\nn_steps = 1\nd_hidden = 8\n");
    // 184 MB are for reading 26 columns; all rows would take another 150 MB.
    let fit = "fit run.toml --features made/features --signals made/signals --epochs 1 --batch-size 1024 --memory 210MB --out model";
    let (peak, said) = peak_kilobytes(&sandbox, fit);
    assert!(said.contains("300000 rows in") && said.contains(" windows,"), "{said}");
    assert!((1..210_000).contains(&peak), "{peak} kB");
    assert!(sandbox.path("model").join(WEIGHTS).exists(), "{said}");
}
