//! From features and weak signals to labels, and what holds of them.

#![allow(clippy::unwrap_used)]

mod common;

use common::{FIT, Problem, Ran, Sandbox};
use labelflow_data::inputs::read_labels;

/// A row of `labels.csv` without its number: the label, and the probabilities.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    label: String,
    p: Vec<f64>,
}

fn rows(csv: &str) -> Vec<Row> {
    let rows = csv.lines().skip(1).enumerate().map(|(index, line)| {
        let mut cells = line.split(',');
        assert_eq!(cells.next().unwrap(), index.to_string());
        let label = cells.next().unwrap().to_owned();
        Row { label, p: cells.map(|cell| cell.parse().unwrap()).collect() }
    });
    rows.collect()
}

fn predict(sandbox: &Sandbox, features: &str) -> Vec<Row> {
    sandbox.labelflow(&format!("predict model --features {features} --out out.csv")).succeeded();
    rows(&sandbox.read("out.csv"))
}

/// The lines of a csv in another order, the header first.
fn permuted(csv: &str) -> (String, Vec<usize>) {
    let (header, body) = csv.split_once('\n').unwrap();
    let lines: Vec<&str> = body.lines().collect();
    // 7 and the number of rows have no common factor.
    let order: Vec<usize> = (0..lines.len()).map(|index| index * 7 % lines.len()).collect();
    let moved: Vec<&str> = order.iter().map(|&index| lines[index]).collect();
    (format!("{header}\n{}\n", moved.join("\n")), order)
}

#[test]
fn spreading_first() {
    let sandbox = Sandbox::with_problem();
    sandbox.labelflow(&format!("{FIT} --spread-first --likelihood-weight 0.5")).succeeded();
    let model = sandbox.read("model/model.toml");
    for part in ["likelihood_weight = -0.1", "final_likelihood_weight = 0.5", "n_samples = 100"] {
        assert!(model.contains(part), "no {part}: {model}");
    }
}

#[test]
fn flags_alone_make_a_model() {
    let sandbox = Sandbox::with_problem();
    let ran = sandbox.labelflow(
        "fit --features features.csv --signals signals.csv --bounds 0.2 --epochs 3 --seed 7 --samples 4 \
         --labels-for-eval labels.csv --out models/first",
    );
    let Ran { stdout, stderr, .. } = ran.succeeded();
    assert!(stdout.contains("trained for 3 epochs (epoch limit reached)"), "{stdout}");
    assert!(stdout.contains("accuracy %"), "{stdout}");
    // Neither progress nor remarks.
    assert_eq!(stderr, "");
    let names: Vec<_> = sandbox.contents("models/first").into_keys().collect();
    let expected = ["metrics.jsonl", "model.toml", "weights.safetensors"];
    assert_eq!(names, expected.map(|name| sandbox.path("models/first").join(name)));
    assert_eq!(sandbox.read("models/first/metrics.jsonl").lines().count(), 3);
    let model = sandbox.read("models/first/model.toml");
    assert!(model.contains("seed = 7") && model.contains("n_samples = 4"), "{model}");
    assert!(model.contains("n_steps = 4") && model.contains("n_members = 8"), "the default: {model}");
}

#[test]
fn flags_win_over_the_file() {
    let run = "features = \"../features.csv\"\nsignals = \"../signals.csv\"\nbounds = \"auto\"\n\
               classes = [\"no\", \"yes\"]\nout = \"../model\"\n\
               [config]\nseed = 5\nn_steps = 1\nd_hidden = 8\n[config.training]\nmax_epochs = 4\n";
    // Paths in the file are relative to it.
    let sandbox = Sandbox::with_problem().file("settings/run.toml", run);
    sandbox.labelflow("fit settings/run.toml").succeeded();
    let model = sandbox.read("model/model.toml");
    assert!(model.contains("seed = 5") && model.contains("n_epochs = 4"), "{model}");
    assert!(model.contains("classes = [\"no\", \"yes\"]"), "{model}");
    let flags = "--epochs 2 --seed 6 --classes off,on --bounds 0.3 --likelihood-weight 0 --batch-size 20";
    let ran = sandbox.labelflow(&format!("fit settings/run.toml {flags} --out other"));
    ran.succeeded();
    let model = sandbox.read("other/model.toml");
    for part in ["seed = 6", "n_epochs = 2", "[\"off\", \"on\"]", "likelihood_weight = 0.0", "20"] {
        assert!(model.contains(part), "no {part} in {model}");
    }
    assert!(model.contains("n_steps = 1"), "{model}");
}

#[test]
fn labels_are_the_most_probable_classes() {
    let sandbox = Sandbox::with_model();
    let labels = predict(&sandbox, "features.csv");
    assert!(sandbox.read("out.csv").starts_with("row,label,p_0,p_1\n"));
    assert_eq!(labels.len(), 60);
    for row in &labels {
        assert!(row.p.iter().all(|p| (0.0..=1.0).contains(p)), "{row:?}");
        assert!((row.p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{row:?}");
        let best = usize::from(row.p[1] > row.p[0]);
        assert_eq!(row.label, best.to_string());
    }
    // The same in every format.
    let classes = ["0".to_owned(), "1".to_owned()];
    let expected: Vec<usize> = labels.iter().map(|row| row.label.parse().unwrap()).collect();
    for name in ["out.csv", "out.tsv", "out.parquet", "out.npz"] {
        let predict = format!("predict model --features features.csv --out {name}");
        let ran = sandbox.labelflow(&predict).succeeded();
        assert_eq!(ran.stdout, "");
        assert_eq!(ran.stderr, format!("60 rows labelled in {name}\n"));
        let found = read_labels(&sandbox.path(name), &classes, &Default::default()).unwrap().value;
        assert_eq!(found.labels(), expected, "{name}");
    }
}

#[test]
fn a_row_does_not_depend_on_the_others() {
    let sandbox = Sandbox::with_model();
    let labels = predict(&sandbox, "features.csv");
    let (moved, order) = permuted(&sandbox.read("features.csv"));
    sandbox.write("moved.csv", moved);
    let expected: Vec<Row> = order.iter().map(|&row| labels[row].clone()).collect();
    assert_eq!(predict(&sandbox, "moved.csv"), expected);
    let text = sandbox.read("features.csv");
    let alone: Vec<&str> = text.lines().take(2).collect();
    sandbox.write("alone.csv", alone.join("\n"));
    assert_eq!(predict(&sandbox, "alone.csv"), labels[..1]);
}

#[test]
fn columns_are_matched_by_name() {
    let sandbox = Sandbox::with_model();
    let labels = predict(&sandbox, "features.csv");
    let moved: String = sandbox
        .read("features.csv")
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let [a, b, c] = cells[..] else { panic!("three columns") };
            let more = if a == "a" { "more" } else { "-7" };
            format!("{c},{more},{a},{b}\n")
        })
        .collect();
    sandbox.write("moved.csv", moved);
    assert_eq!(predict(&sandbox, "moved.csv"), labels);
}

#[test]
fn classes_with_names() {
    let problem = Problem::new(60);
    let classes = ["ham", "spam"];
    let sandbox = Sandbox::with_problem()
        .file("signals.csv", problem.signals(&classes))
        .file("labels.csv", problem.labels(&classes));
    sandbox.labelflow(FIT).succeeded();
    let labels = predict(&sandbox, "features.csv");
    assert!(sandbox.read("out.csv").starts_with("row,label,p_ham,p_spam\n"));
    assert!(labels.iter().all(|row| classes.contains(&row.label.as_str())));
    sandbox.labelflow("eval model --features features.csv --labels labels.csv").succeeded();
    // Indices and names are the same model.
    sandbox.write("signals.csv", problem.signals(&["0", "1"]));
    sandbox.labelflow(&format!("{} --classes ham,spam", FIT.replace("--out model", "--out other"))).succeeded();
    assert_eq!(sandbox.bytes("model/weights.safetensors"), sandbox.bytes("other/weights.safetensors"));
}

#[test]
fn metrics_for_people_and_machines() {
    let sandbox = Sandbox::with_problem();
    sandbox.labelflow(&FIT.replace("--epochs 30", "--epochs 300")).succeeded();
    let eval = "eval model --features features.csv --labels labels.csv";
    let ran = sandbox.labelflow(&format!("{eval} --json metrics.json")).succeeded();
    let metrics = sandbox.json("metrics.json");
    for name in ["accuracy", "brier", "ece", "log_loss"] {
        let value = metrics[name].as_f64().unwrap_or_else(|| panic!("no {name} in {metrics}"));
        assert!(value.is_finite() && value >= 0.0, "{name} = {value}");
    }
    // The votes are right on 80 of 100 rows, the first feature on all.
    assert!(metrics["accuracy"].as_f64().unwrap() > 0.8, "{metrics}");
    assert!(ran.stdout.contains("accuracy %") && ran.stdout.contains("log loss"), "{}", ran.stdout);
    let ran = sandbox.labelflow(&format!("{eval} --json -")).succeeded();
    let printed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(printed, metrics);
    assert_eq!(ran.stderr, "");
}

#[test]
fn labelers_described() {
    let sandbox = Sandbox::with_problem();
    sandbox.write("signals.csv", "rule_a,rule_b\n0,0\n1,0\n1,-1\n-1,-1\n");
    sandbox.write("labels.csv", "label\n0\n1\n0\n1\n");
    let ran = sandbox.labelflow("analyze --signals signals.csv --labels labels.csv").succeeded();
    assert!(ran.stdout.contains("rule_a") && ran.stdout.contains("rule_b"), "{}", ran.stdout);
    assert!(ran.stdout.contains("4 rows, 1 of them without a vote"), "{}", ran.stdout);
    let ran = sandbox.labelflow("analyze --signals signals.csv --labels labels.csv --json -");
    let labelers: serde_json::Value = serde_json::from_str(&ran.succeeded().stdout).unwrap();
    assert_eq!(labelers[0]["name"], "rule_a");
    assert_eq!(labelers[0]["coverage"], 0.75);
    assert_eq!(labelers[0]["overlaps"], 0.5);
    assert_eq!(labelers[0]["conflicts"], 0.25);
    assert_eq!(labelers[0]["accuracy"], 2.0 / 3.0);
    assert_eq!(labelers.as_array().unwrap().len(), 2);
    // Without true labels there is no accuracy.
    sandbox.labelflow("analyze --signals signals.csv --json labelers.json").succeeded();
    assert!(sandbox.json("labelers.json")[0]["accuracy"].is_null());
}

#[test]
fn bounds_as_a_number_a_file_or_auto() {
    let sandbox = Sandbox::with_problem();
    let table = "labeler,bound\nrule_c,0.2\nrule_a,0.2\nrule_b,0.2\n";
    sandbox.write("bounds.csv", table);
    sandbox.write("classes.csv", "labeler,0,1\nrule_a,0.2,0.2\nrule_b,0.2,0.2\nrule_c,0.2,0.2\n");
    let fit = |bounds: &str, out: &str| {
        let fit = FIT.replace("--out model", &format!("--out {out}"));
        sandbox.labelflow(&format!("{fit} --bounds {bounds}")).succeeded();
        sandbox.bytes(&format!("{out}/weights.safetensors"))
    };
    let number = fit("0.2", "number");
    assert_eq!(fit("bounds.csv", "file"), number);
    assert_eq!(fit("classes.csv", "classes"), number);
    assert_ne!(fit("auto", "auto"), number);
    assert_ne!(fit("0.3", "looser"), number);
}

#[test]
fn signals_may_be_probabilities_with_gaps() {
    let sandbox = Sandbox::with_problem();
    let probabilities = sandbox
        .read("signals.csv")
        .lines()
        .enumerate()
        .map(|(line, text)| match line {
            0 => format!("{text}\n"),
            _ if line % 5 == 0 => ",,-1\n".to_owned(),
            _ => text.replace('0', "0.25").replace('1', "0.875") + "\n",
        })
        .collect::<String>();
    sandbox.write("signals.csv", probabilities);
    let ran = sandbox.labelflow(FIT).succeeded();
    assert!(ran.stderr.contains("12 of 60 rows have no vote"), "{}", ran.stderr);
    assert_eq!(predict(&sandbox, "features.csv").len(), 60);
}

#[test]
fn a_new_fit_replaces_the_old_model() {
    let sandbox = Sandbox::with_model();
    let old = sandbox.contents("model");
    sandbox.labelflow(&format!("{FIT} --seed 1")).succeeded();
    let new = sandbox.contents("model");
    assert_eq!(old.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>());
    assert!(old.iter().all(|(name, contents)| new[name] != *contents));
    predict(&sandbox, "features.csv");
}

#[cfg(unix)]
#[test]
fn others_may_read_a_model() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with_problem();
    sandbox.shell(&format!("umask 022; exec \"$LABELFLOW\" {FIT}")).succeeded();
    for path in sandbox.contents("model").into_keys() {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{}", path.display());
    }
}

#[test]
fn progress_is_silent_in_a_pipe() {
    let sandbox = Sandbox::with_problem();
    // More than the two seconds after which a terminal would show a bar.
    sandbox.write(
        "run.toml",
        "bounds = 0.2\n[config]\nn_steps = 8\nd_hidden = 32\n[config.training]\nmin_epochs = 9999\n",
    );
    let ran = sandbox.labelflow(&FIT.replace("--epochs 30", "--epochs 150")).succeeded();
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
}
