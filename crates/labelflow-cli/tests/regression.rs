//! Regression from rules, from the command line.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

const RULES: &str = "feature,threshold,above,below\nsize,0,60 to 70,35\nage,0,40 +- 5,60\n";

/// Rows whose label is 50 + 15 size − 10 age, and rules about the means.
fn sandbox() -> Sandbox {
    let (mut features, mut labels) = (String::from("size,age\n"), String::from("label\n"));
    for row in 0..80 {
        let size = f64::from(row * 37 % 80) / 40.0 - 1.0;
        let age = f64::from(row * 23 % 80) / 40.0 - 1.0;
        features += &format!("{size},{age}\n");
        labels += &format!("{}\n", 50.0 + 15.0 * size - 10.0 * age);
    }
    Sandbox::new()
        .file("features.csv", features)
        .file("labels.csv", labels)
        .file("rules.csv", RULES)
        .file("run.toml", "range = [0, 100]\n[config]\nn_steps = 3\nd_hidden = 8\n")
}

const FIT: &str = "fit run.toml --features features.csv --rules rules.csv --epochs 150 --out model";

#[test]
fn rules_become_labels_with_deviations_and_quantiles() {
    let sandbox = sandbox();
    let ran = sandbox.labelflow(&format!("{FIT} --labels-for-eval labels.csv")).succeeded();
    assert!(ran.stdout.contains("root mean squared error"), "{ran:?}");
    sandbox.labelflow("predict model --features features.csv --out out.csv").succeeded();
    let text = sandbox.read("out.csv");
    assert!(text.starts_with("row,mean,std,q05,q50,q95\n"), "{text}");
    for line in text.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert!(cells[3] <= cells[4] && cells[4] <= cells[5], "{line}");
        assert!((0.0..=100.0).contains(&cells[1]) && cells[2] > 0.0, "{line}");
    }
    sandbox.labelflow("eval model --features features.csv --labels labels.csv --json metrics.json").succeeded();
    let metrics = sandbox.json("metrics.json");
    assert!(metrics["rmse"].as_f64().unwrap() < 20.0, "{metrics}");
    assert_eq!(metrics["intervals"].as_array().unwrap().len(), 3);
}

#[test]
fn rules_that_cannot_be_used_are_named() {
    for (rules, expected) in [
        ("feature,threshold,above,below\nwidth,0,1,2\n", vec!["width", "size, age"]),
        ("feature,threshold,above,below\nsize,0,120,35\n", vec!["120", "0 to 100"]),
        ("feature,threshold,above,below\nsize,0,60,35\nsize,0,20,35\n", vec!["satisfy together", "size >= 0"]),
        ("feature,threshold,above,below\nsize,zero,60,35\n", vec!["rules.csv", "zero"]),
        ("", vec!["rules.csv"]),
    ] {
        let sandbox = sandbox();
        sandbox.write("rules.csv", rules);
        sandbox.labelflow(FIT).refused(&expected);
        assert!(!sandbox.path("model").exists());
    }
}

#[test]
fn a_rule_about_no_row_is_skipped_with_a_warning() {
    let sandbox = sandbox();
    sandbox.write("rules.csv", format!("{RULES}size,50,90,50\n"));
    let ran = sandbox.labelflow(FIT).succeeded();
    assert!(ran.stderr.contains("size >= 50"), "{ran:?}");
}

#[test]
fn inputs_of_the_other_task_are_refused() {
    let sandbox = sandbox().file("signals.csv", "a\n0\n");
    for (command, expected) in [
        (format!("{FIT} --signals signals.csv"), "found both"),
        (format!("{FIT} --task classification"), "--rules is for regression"),
        (format!("{FIT} --bounds 0.1"), "--bounds is for classification"),
        (format!("{FIT} --samples 3"), "--samples is for classification"),
        (format!("{FIT} --scans scans"), "--scans is for completion; this fit is for regression"),
        (format!("{FIT} --range 5 1"), "label range"),
    ] {
        sandbox.labelflow(&command).refused(&[expected]);
    }
    sandbox.labelflow(FIT).succeeded();
    for (command, expected) in [
        ("predict model --features features.csv --samples 5", "--samples is for classification"),
        ("predict model --features features.csv --signals signals.csv", "--signals is for"),
        ("eval model --features features.csv --labels signals.csv", "80 rows"),
    ] {
        sandbox.labelflow(command).refused(&[expected]);
    }
}

#[test]
fn the_demo_beats_averaged_rules() {
    let sandbox = Sandbox::new();
    let ran = sandbox.labelflow("demo regression --out out --epochs 400").succeeded();
    let rmse = |name: &str| -> f64 {
        let line = ran.stdout.lines().find(|line| line.contains(name)).unwrap();
        line.split('|').nth(2).unwrap().trim().parse().unwrap()
    };
    assert!(rmse("label learning flow") < rmse("averaged rules"), "{}", ran.stdout);
    sandbox.labelflow("eval out/model --features out/test/features.csv --labels out/test/labels.csv").succeeded();
    let again = "fit --features out/features.csv --rules out/rules.toml --out out/mine --epochs 3";
    sandbox.labelflow(again).succeeded();
}

#[test]
fn a_planted_problem_can_be_learned() {
    let sandbox = Sandbox::new();
    let ran = sandbox.labelflow("data synth regression --rows 300 --out planted").succeeded();
    assert!(ran.stdout.contains("best possible root mean squared error"), "{ran:?}");
    let fit = "fit --features planted/features.csv --rules planted/rules.toml --epochs 5 --out model \
               --labels-for-eval planted/labels.csv";
    sandbox.labelflow(fit).succeeded();
}
