//! Experiments with many systems, and the tables of what they left.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

const RESULTS: &str = r#"[
  {"table": "t", "set": "a", "system": "llf", "seed": 0, "metric": "accuracy", "value": 90.0, "ece": 1.0,
   "seconds": 2.0, "n_epochs": 5, "stop": "max-epochs", "expectation": {"paper": 92.5, "paper_std": 0.3}},
  {"table": "t", "set": "a", "system": "llf", "seed": 1, "metric": "accuracy", "value": 92.0, "ece": 1.0, "seconds": 2.0},
  {"table": "t", "set": "a", "system": "mv+mlp", "seed": 0, "metric": "accuracy", "value": 80.0, "ece": 3.0, "seconds": 1.0}
]"#;

fn sandbox() -> Sandbox {
    Sandbox::new().file("results.json", RESULTS)
}

/// Lines with single blanks.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn results_become_a_table() {
    let ran = sandbox().labelflow("report results.json").succeeded();
    let lines = lines(&ran.stdout);
    // Two systems and one set: a row is a system.
    assert_eq!(lines[2], "| system | a |");
    assert_eq!(
        lines[4..],
        ["| llf | **91.0 ± 1.0** |", "| paper (difference) | 92.5 ± 0.3 (−1.5) |", "| mv+mlp | 80.0 |"]
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn formats() {
    let sandbox = sandbox();
    let report = |flags: &str| sandbox.labelflow(&format!("report results.json {flags}")).succeeded().stdout;
    assert!(report("--format csv").contains("\nt,a,llf,2,91,1,92.5,0.3,-1.5,,1,2,true\n"));
    assert!(report("--format latex").contains("llf & $\\mathbf{91.0_{1.0}}$ \\\\\n"));
    let json: serde_json::Value = serde_json::from_str(&report("--format json")).unwrap();
    assert_eq!(json[0]["cells"][1]["system"], "mv+mlp");
    assert_eq!(json[0]["cells"][0]["difference"], -1.5);
    let whole = report("--format csv");
    assert_eq!(report("--format csv --out table.csv"), "");
    assert_eq!(sandbox.read("table.csv"), whole);
    assert!(!report("--systems mv+mlp").contains("llf"));
}

#[test]
fn experiment_files_say_what_the_paper_has() {
    let run =
        "table = \"t\"\nset = \"a\"\nseeds = [0]\n[systems.llf]\npaper = 70.0\n[systems.\"mv+mlp\"]\npaper = 81.0\n";
    let sandbox = sandbox().file("run.toml", run);
    let ran = sandbox.labelflow("report results.json run.toml").succeeded();
    for part in ["70.0 (+21.0)", "81.0 (−1.0)"] {
        assert!(ran.stdout.contains(part), "no {part} in {}", ran.stdout);
    }
}

#[test]
fn what_cannot_be_reported() {
    let sandbox = sandbox().file("empty.json", "[]").file("no.json", "{}").file("other/a.txt", "");
    sandbox.refuses("report", &["RESULTS"]);
    sandbox.refuses("report none.json", &["none.json"]);
    sandbox.refuses("report no.json", &["no.json", "missing field"]);
    sandbox.refuses("report empty.json", &["nothing to report", "--json"]);
    sandbox.refuses("report other", &["nothing to report", "--keep"]);
    sandbox.refuses("report results.json --systems sl", &["nothing to report", "systems"]);
    sandbox.refuses("report results.json --format pdf", &["pdf", "markdown"]);
    sandbox.write("again.json", RESULTS.replace("80.0", "81.0"));
    let parts = ["mv+mlp on a, seed 0", "80.0 and 81.0", "other settings"];
    sandbox.refuses("report results.json again.json", &parts);
    // The same results twice are no contradiction.
    sandbox.labelflow("report results.json results.json").succeeded();
}

#[test]
fn a_folder_of_kept_runs_has_the_table_of_its_file() {
    let run = "table = \"small\"\nset = \"digits-planted\"\nseeds = [0, 1]\n[systems.mv]\npaper = 75.0\n[systems.ds]\n\
               [systems.\"mv+lr\"]\n[systems.metal]\n[systems.cll]\n[systems.avg]\n";
    let sandbox = Sandbox::new().file("run.toml", run);
    sandbox.labelflow("run run.toml --keep kept --json one.json").succeeded();
    let one = sandbox.labelflow("report one.json").succeeded().stdout;
    assert!(one.contains("75.0 (+"), "{one}");
    assert_eq!(sandbox.labelflow("report kept one.json").succeeded().stdout, one);
    // Systems that use several threads themselves give the same when several of them run at a time.
    sandbox.labelflow("run run.toml --jobs 3 --json three.json").succeeded();
    assert_eq!(sandbox.labelflow("report three.json").succeeded().stdout, one);
}

#[test]
fn texts_have_no_rows_to_measure_labelers_on() {
    let train = "label,sentence\n1,good film\n0,dull film\n1,good good\n0,dull dull film\n";
    let run = "table = \"t\"\nset = \"sst-2\"\nseeds = [0]\n[data]\nword_vectors = \"vectors.txt\"\n\
               [systems.pgmv]\n[systems.acml]\n[systems.ge]\n[systems.\"mv+lr\"]\n[systems.\"cll+lr\"]\n";
    let sandbox = Sandbox::new()
        .file("text/sst2-cll/sst2-train.csv", train)
        .file("text/sst2-cll/sst2-test.csv", "label,sentence\n1,good film\n0,dull\n")
        .file("vectors.txt", "good 1 0\ndull 0 1\nfilm 1 1\n")
        .file("run.toml", run);
    for system in ["pgmv", "acml", "ge"] {
        let parts = [&format!("{system} on sst-2"), "labelled simulation rows", "texts"];
        sandbox.refuses(&format!("run run.toml --data . --systems {system}"), &parts);
    }
    let ran = sandbox.labelflow("run run.toml --data . --systems mv+lr,cll+lr").succeeded();
    assert_eq!(ran.stdout.matches("| 100.0 ± 0.0 ").count(), 2, "{}", ran.stdout);
}
