//! Pages about training, signals and predictions.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::Sandbox;

const RESULTS: &str = r#"[
  {"table": "<t>", "set": "a & b", "system": "llf", "seed": 0, "metric": "accuracy", "value": 90.0, "ece": 1.0,
   "seconds": 2.0, "expectation": {"paper": 92.5, "paper_std": 0.3}},
  {"table": "<t>", "set": "a & b", "system": "mv+mlp", "seed": 0, "metric": "accuracy", "value": 80.0, "seconds": 1.0}
]"#;

/// Two models with evaluations, predictions, and names that a careless page would run.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_problem().file("results.json", RESULTS);
    let fit = common::FIT.replace("--out model", "--labels-for-eval labels.csv --eval-every 5");
    sandbox.labelflow(&format!("{fit} --out with")).succeeded();
    sandbox.labelflow(&format!("{fit} --likelihood-weight 0 --out <img>without")).succeeded();
    sandbox.labelflow("predict with --features features.csv --out predicted.csv").succeeded();
    sandbox.write("signals.csv", sandbox.read("signals.csv").replace("rule_a", "<b>rule</b>"));
    sandbox
}

/// Everything that a page can have.
const ALL: &str = "report results.json with <img>without --signals signals.csv --signals-labels labels.csv \
                   --predictions predicted.csv --labels labels.csv";

#[test]
fn a_page_has_a_section_for_each_input() {
    let sandbox = sandbox();
    let ran = sandbox.labelflow(&format!("{ALL} --out page.html --charts charts")).succeeded();
    assert_eq!(ran.stdout, "");
    let page = sandbox.read("page.html");
    for part in [
        "<section id=\"tables\"",
        "<strong>90.0</strong><small>paper 92.5 ± 0.3 (−2.5)</small><small>calibration error 1.0 %</small>",
        "<section id=\"training\"",
        "Negative log-likelihood",
        "Violation of error-bound",
        "epoch limit reached",
        "training.max_epochs",
        "id=\"training-accuracy-title\"",
        "id=\"training-calibration-error-title\"",
        "<section id=\"signals\"",
        "Conflicts: rows on which two vote differently",
        "Rows with the strongest conflict",
        "<section id=\"predictions\"",
        "id=\"predictions-reliability-title\"",
        "Least certain rows",
        "&lt;img&gt;without",
        "&lt;b&gt;rule&lt;/b&gt;",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    for part in ["<img>", "<b>", "NaN", "https://"] {
        assert!(!page.contains(part), "{part}");
    }
    let n_charts = page.matches("<svg ").count();
    assert_eq!(page.matches("<summary>Data as table</summary>").count(), n_charts);
    // And the list of them.
    let files = sandbox.contents("charts");
    assert_eq!(files.len(), 2 * n_charts + 1, "{:?}", files.keys());
    assert!(sandbox.bytes("charts/training-loss.png").starts_with(b"\x89PNG"));
    assert!(sandbox.read("charts/signals-overlaps.svg").starts_with("<svg "));
    // The same inputs give the same page, also on standard output.
    let ran = sandbox.labelflow(&format!("{ALL} --format html")).succeeded();
    assert_eq!(ran.stdout, page);
}

#[test]
fn inputs_one_by_one() {
    let sandbox = sandbox();
    for (input, section) in [
        ("results.json", "tables"),
        ("with", "training"),
        ("--signals signals.csv", "signals"),
        ("--signals signals.csv --labels labels.csv --model dawid-skene", "signals"),
        ("--predictions predicted.csv", "predictions"),
    ] {
        sandbox.labelflow(&format!("report {input} --out page.html")).succeeded();
        let page = sandbox.read("page.html");
        assert_eq!(page.matches("<section ").count(), 1, "{input}");
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{input}");
        assert_eq!(page.contains("by true labels<"), input.contains("--labels"), "{input}");
    }
    assert!(!sandbox.read("page.html").contains("Reliability"), "there were no labels");
}

#[test]
fn pages_of_regression() {
    let values = "row,mean,std,q05,q50,q95\n0,1,0.5,0.2,1,1.8\n1,2,0.5,1.2,2,2.8\n2,3,0.5,2.2,3,3.8\n";
    let rules = "feature,threshold,above,below\na,1.5,0.8,0.2\n";
    let sandbox = Sandbox::with_problem()
        .file("values.csv", values)
        .file("one.csv", "mean,std,q05,q50,q95\n1,0,1,1,1\n")
        .file("truth.csv", "label\n1.1\n2.9\n2.9\n")
        .file("rules.csv", rules)
        .file("numbers.toml", "range = [0, 1]\n[config]\nn_steps = 2\nd_hidden = 8\n");
    let fit = "fit numbers.toml --features features.csv --rules rules.csv --epochs 12 --labels-for-eval labels.csv \
               --eval-every 4 --out model";
    sandbox.labelflow(fit).succeeded();
    let evaluations = sandbox.read("model/evaluation.jsonl");
    assert_eq!(evaluations.matches("\"rmse\":").count(), 3, "{evaluations}");
    sandbox.labelflow("report model --predictions values.csv --labels truth.csv --out page.html").succeeded();
    let page = sandbox.read("page.html");
    for part in ["id=\"training-rmse-title\"", "Calibration of quantiles", "66.7 %", "real values"] {
        assert!(page.contains(part), "no {part}");
    }
    sandbox.labelflow("report --predictions one.csv --out page.html").succeeded();
    assert!(sandbox.read("page.html").contains("How uncertain values are"));
}

/// A completer has no classes and other terms.
#[test]
fn pages_of_completion() {
    let weights = b"\x02\0\0\0\0\0\0\0{}";
    let manifest = format!(
        "format = 1\ntask = 'completion'\nlabelflow = '0.1.0'\nweights_sha256 = '{}'\nn_epochs = 1\nstop = 'time-limit'\n\
         features = ['x', 'y', 'z']\n[config]\nseed = 3\n",
        labelflow_files::sha256_hex(weights)
    );
    let record = r#"{"epoch":0,"loss":1.5,"terms":{"likelihood":2.0,"adversarial":0.5},"learning_rate":0.1,"gradient_norm":null}"#;
    let sandbox = Sandbox::new()
        .file("m/weights.safetensors", weights)
        .file("m/model.toml", manifest)
        .file("m/metrics.jsonl", record);
    sandbox.labelflow("report m --out page.html").succeeded();
    let page = sandbox.read("page.html");
    for part in ["Term: adversarial", "time limit reached", "completion"] {
        assert!(page.contains(part), "no {part}");
    }
    // A folder without an epoch has empty charts.
    sandbox.write("m/metrics.jsonl", "");
    sandbox.labelflow("report m --out page.html").succeeded();
    assert!(sandbox.read("page.html").contains("nothing to show"));
}

/// Tasks of a crowd are found by their names.
#[test]
fn pages_of_crowds() {
    let votes = "task,worker,label\nq1,w1,cat\nq1,w2,dog\nq2,w1,dog\nq2,w2,dog\nq3,w3,cat\n";
    let sandbox = Sandbox::new().file("votes.csv", votes).file("truth.csv", "task,label\nq3,cat\nq1,cat\nq2,dog\n");
    sandbox.labelflow("label --task-votes votes.csv --model majority-vote --out out.csv").succeeded();
    let report = "report --task-votes votes.csv --signals-labels truth.csv --predictions out.csv --labels truth.csv";
    sandbox.labelflow(&format!("{report} --out page.html")).succeeded();
    let page = sandbox.read("page.html");
    for part in [">q1</th>", "<dt>accuracy</dt><dd>100.0 %</dd>", "votes for dog"] {
        assert!(page.contains(part), "no {part}");
    }
}

#[test]
fn small_and_odd_inputs() {
    let sandbox = Sandbox::with_problem()
        .file("one.csv", "label,p_a,p_b\na,0.7,0.3\n")
        .file("one-label.csv", "label\nb\n")
        .file("alike.csv", "p_a,p_b\n0.5,0.5\n0.5,0.5\n0.5,0.5\n")
        .file("alone.csv", "only\n0\n1\n1\n")
        .file("silent.csv", "first,second\n0,-1\n1,-1\n-1,-1\n");
    sandbox.labelflow("report --predictions one.csv --labels one-label.csv --out a.html").succeeded();
    sandbox.labelflow("report --predictions alike.csv --out a.html").succeeded();
    sandbox.labelflow("report --signals alone.csv --out a.html").succeeded();
    assert!(sandbox.read("a.html").contains("No two labelers vote differently"));
    sandbox.labelflow("report --signals silent.csv --out a.html --charts c").succeeded();
}

#[test]
fn what_no_page_can_be_made_of() {
    let sandbox = Sandbox::with_model()
        .file("short.csv", "label\n0\n")
        .file("other.csv", "x,y\n1,2\n")
        .file("broken/model.toml", "format = 1\nlabelflow = '0.1.0'\ntask = 'nothing'\n")
        .file("broken/weights.safetensors", "")
        .file("halfway/model.toml", "")
        .file("halfway/weights.safetensors", "")
        .file("unfinished/checkpoint.safetensors", "");
    let model = sandbox.read("model/model.toml");
    sandbox.write("empty/model.toml", &model);
    sandbox.labelflow("predict model --features features.csv --out predicted.csv").succeeded();
    for (arguments, parts) in [
        ("model", &["a model folder", "--out FILE.html"][..]),
        ("--predictions predicted.csv", &["--predictions", "--format html"]),
        ("model --out a.md", &["a model folder"]),
        ("model --labels labels.csv --out a.html", &["--labels needs --predictions"]),
        ("model --signals-labels labels.csv --out a.html", &["--signals-labels needs --signals"]),
        ("broken --out a.html", &["broken/model.toml", "nothing"]),
        ("halfway --out a.html", &["halfway/model.toml", "missing field"]),
        ("empty --out a.html", &["empty/weights.safetensors"]),
        ("unfinished --out a.html", &["unfinished", "has not ended"]),
        ("model none --out a.html", &["none"]),
        ("--predictions other.csv --out a.html", &["other.csv", "p_<class>"]),
        ("--predictions predicted.csv --labels short.csv --out a.html", &["short.csv", "60 rows"]),
        ("--signals signals.csv --labels short.csv --out a.html", &["short.csv", "60 rows"]),
        ("--signals none.csv --out a.html", &["none.csv"]),
        ("model --counts signals.csv --out a.html", &["--counts", "--signals"]),
        ("model --signals signals.csv --model nobody --out a.html", &["nobody"]),
        ("model --out none/a.html --charts c", &["none/a.html"]),
        ("model --out model --format html --charts c", &["--out model: expected a place that is not read"]),
        ("model --out a.html --charts features.csv", &["features.csv"]),
    ] {
        sandbox.refuses(&format!("report {arguments}"), parts);
    }
}

/// Writes the page that the tests in `tools/browser_tests` open.
#[test]
fn report_page_for_the_browser() {
    let sandbox = sandbox();
    sandbox.labelflow(&format!("{ALL} --out page.html --charts charts")).succeeded();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("report_page.html"), sandbox.bytes("page.html")).unwrap();
    let chart = sandbox.bytes("charts/training-loss.svg");
    std::fs::write(folder.join("report_chart.svg"), chart).unwrap();
}
