//! The demo, experiments, datasets, and the small commands.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

const EXPERIMENT: &str = "table = \"small\"\nset = \"digits-planted\"\nseeds = [0, 1]\n\
                          [config]\nn_steps = 1\nd_hidden = 8\n[config.training]\nmax_epochs = 2\n\
                          [systems.llf]\n[systems.mv]\npaper = 80.0\nat_least = 20.0\n";

#[test]
fn the_demo_leaves_a_model_and_labels() {
    let sandbox = Sandbox::new();
    let ran = sandbox.labelflow("demo --epochs 5 --out demo").succeeded();
    for method in ["label learning flow", "majority vote", "averaged signals", "supervised learning"] {
        assert!(ran.stdout.contains(method), "no {method} in {}", ran.stdout);
    }
    assert_eq!(ran.stderr, "");
    for labels in ["demo/labels.csv", "demo/true-labels.csv", "demo/test/labels.csv"] {
        assert!(sandbox.read(labels).starts_with("row,label,p_benign,p_malignant\n"), "{labels}");
    }
    // The commands that it suggests work.
    let (_, suggestions) = ran.stdout.split_once("Try:").unwrap();
    let suggestions: Vec<&str> =
        suggestions.lines().filter_map(|line| line.trim().strip_prefix("labelflow ")).collect();
    assert_eq!(suggestions.len(), 3, "{}", ran.stdout);
    for arguments in suggestions {
        let epochs = if arguments.starts_with("fit") { " --epochs 2" } else { "" };
        sandbox.labelflow(&format!("{arguments}{epochs}")).succeeded();
    }
}

#[test]
fn an_experiment() {
    let sandbox = Sandbox::new().file("run.toml", EXPERIMENT);
    let run = "run run.toml --keep kept --json first.json";
    let ran = sandbox.labelflow(run).succeeded();
    assert_eq!(ran.stderr, "");
    for part in ["digits-planted", "llf", "mv", "accuracy %", "80.0", "≥ 20.0"] {
        assert!(ran.stdout.contains(part), "no {part} in {}", ran.stdout);
    }
    let results = sandbox.json("first.json");
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        let mut fields: Vec<_> = result.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(
            fields,
            [
                "ece",
                "epoch_ms",
                "expectation",
                "metric",
                "n_epochs",
                "seconds",
                "seed",
                "set",
                "stop",
                "system",
                "table",
                "value"
            ]
        );
        assert_eq!(result["table"], "small");
        assert_eq!(result["set"], "digits-planted");
        assert_eq!(result["metric"], "accuracy");
        assert!((0.0..=100.0).contains(&result["value"].as_f64().unwrap()), "{result}");
    }

    // What was kept is not repeated: even the seconds are those of the first time.
    let before = sandbox.contents("kept");
    assert_eq!(before.len(), 4);
    sandbox.labelflow(&run.replace("first", "second")).succeeded();
    assert_eq!(sandbox.read("first.json"), sandbox.read("second.json"));
    assert_eq!(sandbox.contents("kept"), before);
    // Other settings are another run.
    sandbox.labelflow("run run.toml --keep kept --epochs 1 --systems llf --seeds 1").succeeded();
    assert_eq!(sandbox.contents("kept").len(), 5);
}

#[test]
fn a_missed_expectation() {
    let missed = EXPERIMENT.replace("at_least = 20.0", "at_least = 99.9");
    let sandbox = Sandbox::new().file("run.toml", missed);
    let ran = sandbox.labelflow("run run.toml --systems mv --seeds 0");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("missed: ≥ 99.9"), "{}", ran.stdout);
    // Machines get the code too, and nothing but JSON.
    let ran = sandbox.labelflow("run run.toml --systems mv --seeds 0 --json -");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(serde_json::from_str::<serde_json::Value>(&ran.stdout).is_ok(), "{}", ran.stdout);
}

#[test]
fn several_jobs_give_the_same_results() {
    let sandbox = Sandbox::new().file("run.toml", EXPERIMENT);
    let values = |jobs: &str| {
        sandbox.labelflow(&format!("run run.toml --jobs {jobs} --json runs.json")).succeeded();
        let results = sandbox.json("runs.json");
        let results = results.as_array().unwrap().iter();
        let value = |run: &serde_json::Value| (run["system"].clone(), run["value"].clone());
        results.map(value).collect::<Vec<_>>()
    };
    assert_eq!(values("1"), values("3"));
}

#[test]
fn an_experiment_without_its_data() {
    let other = EXPERIMENT.replace("digits-planted", "wine-quality");
    let sandbox = Sandbox::new().file("run.toml", other);
    let parts = ["nowhere", "no such file", "data fetch wine-quality", "--data", "LABELFLOW_DATA"];
    sandbox.refuses("run run.toml --data nowhere", &parts);
}

#[test]
fn the_list_of_datasets() {
    let sandbox = Sandbox::new();
    let ran = sandbox.labelflow("data list").succeeded();
    assert!(ran.stdout.contains("wine-quality") && ran.stdout.contains("digits-planted"));
    sandbox.labelflow("data list --json list.json").succeeded();
    let list = sandbox.json("list.json");
    assert!(list.as_array().unwrap().iter().any(|set| set["name"] == "wine-quality"));
}

#[test]
fn datasets_that_are_not_there() {
    let sandbox = Sandbox::new();
    let ran = sandbox.labelflow("data check --data nowhere wine-quality digits-planted");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("missing") && ran.stdout.contains("nowhere"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1797 x 64"), "{}", ran.stdout);
    sandbox.labelflow("data check digits-planted").succeeded();
    sandbox.refuses("data check wine", &["one of", "'wine'", "did you mean wine-quality?"]);
}

#[test]
fn datasets_that_differ() {
    let sandbox = Sandbox::new();
    sandbox.labelflow("data list --json list.json").succeeded();
    let list = sandbox.json("list.json");
    for set in list.as_array().unwrap() {
        for file in set["files"].as_array().unwrap() {
            let path = format!("data/{}", file["path"].as_str().unwrap());
            sandbox.write(&path, "an answer of some gateway");
        }
    }
    let ran = sandbox.labelflow("data check --data data");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(ran.stdout.contains("sha256 differs"), "{}", ran.stdout);
}

#[test]
fn fetching_without_a_network() {
    let sandbox = Sandbox::new();
    let parts = ["cannot fetch https://", "network?", "--data", "LABELFLOW_DATA"];
    sandbox.refuses("data fetch wine-quality --data data", &parts);
}

#[test]
fn synthetic_problems() {
    let sandbox = Sandbox::new();
    let synth = "data synth gaussian --rows 30 --classes 3 --labelers 4 --seed 1";
    let ran = sandbox.labelflow(&format!("{synth} --out one")).succeeded();
    assert!(ran.stdout.contains("best possible accuracy"), "{}", ran.stdout);
    sandbox.labelflow(&format!("{synth} --out two")).succeeded();
    for name in ["features.csv", "signals.csv", "labels.csv"] {
        assert_eq!(sandbox.read(&format!("one/{name}")), sandbox.read(&format!("two/{name}")));
    }
    sandbox.labelflow("data synth votes --rows 30 --out votes").succeeded();
    let analyze = "analyze --signals votes/signals.csv --labels votes/labels.csv";
    sandbox.labelflow(analyze).succeeded();
}

#[test]
fn completions_and_man_pages() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ran = sandbox.labelflow(&format!("completions {shell}")).succeeded();
        assert!(ran.stdout.contains("labelflow") && ran.stdout.contains("predict"), "{shell}");
    }
    sandbox.labelflow("man --out man").succeeded();
    assert!(sandbox.read("man/labelflow.1").contains("labelflow"));
    assert!(sandbox.read("man/labelflow-fit.1").contains("checkpoint"));
}

#[test]
fn a_reader_that_has_seen_enough() {
    let sandbox = Sandbox::new().file("run.toml", EXPERIMENT);
    for arguments in ["data list", "data list --json -", "completions bash", "run run.toml --systems mv"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.command(arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    }
}
