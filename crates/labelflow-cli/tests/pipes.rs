//! Pipes, `-` and standard output: a command reads a pipe once, in any format, and writes tables to the next program.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod common;

use common::{FIT, Ran, Sandbox};

/// Runs a script that must not wait for ever.
fn shell(sandbox: &Sandbox, script: &str) -> Ran {
    sandbox.shell(&format!("exec timeout 60 sh -c '{script}'"))
}

#[test]
fn standard_input_is_read_in_every_format() {
    let sandbox = Sandbox::with_model();
    for extension in ["csv", "tsv", "parquet", "npz"] {
        let predict = format!("predict model --features features.csv --out labels.{extension}");
        sandbox.labelflow(&predict).succeeded();
        let eval = |labels: &str| format!("eval model --features features.csv --labels {labels} --json -");
        let expected = sandbox.labelflow(&eval(&format!("labels.{extension}"))).succeeded();
        let piped = shell(&sandbox, &format!("cat labels.{extension} | $LABELFLOW {}", eval("-"))).succeeded();
        assert_eq!(piped.stdout, expected.stdout, "{extension}");
        // A file without an extension is looked at too.
        std::fs::copy(sandbox.path(&format!("labels.{extension}")), sandbox.path("labels")).unwrap();
        assert_eq!(sandbox.labelflow(&eval("labels")).succeeded().stdout, expected.stdout, "{extension}");
    }
    let signals = sandbox.read("signals.csv").replace(',', "\t");
    sandbox.write("tabs", signals);
    let expected = sandbox.labelflow("label --signals signals.csv --out expected.csv --json -").succeeded();
    let piped = shell(&sandbox, "$LABELFLOW label --signals - --out piped.csv --json - < tabs").succeeded();
    assert_eq!((piped.stdout, sandbox.read("piped.csv")), (expected.stdout, sandbox.read("expected.csv")));
}

#[test]
fn pipes_with_and_without_names_are_read_once() {
    let sandbox = Sandbox::with_model();
    let expected = sandbox.bytes("model/weights.safetensors");
    let fit = FIT
        .replace("run.toml", "run")
        .replace("features.csv", "piped.csv")
        .replace("signals.csv", "signals")
        .replace("model", "piped");
    let feed = |file: &str, pipe: &str| format!("mkfifo {pipe}; timeout 60 sh -c \"cat {file} > {pipe}\" &");
    let script = [
        feed("run.toml", "run"),
        feed("features.csv", "piped.csv"),
        feed("signals.csv", "signals"),
        feed("labels.csv", "labels"),
        format!("$LABELFLOW {fit} --labels-for-eval labels"),
    ];
    let script = script.join("\n");
    let ran = shell(&sandbox, &script).succeeded();
    assert!(ran.stdout.contains("accuracy"), "{}", ran.stdout);
    assert_eq!(sandbox.bytes("piped/weights.safetensors"), expected);
    // The record says what was read, although it is gone.
    let record = |model: &str| sandbox.read(&format!("{model}/model.toml"));
    let hashes = |text: String| text.lines().filter(|line| line.starts_with("sha256")).count();
    assert_eq!(hashes(record("piped")), hashes(record("model")) + 1, "{}", record("piped"));
}

#[test]
fn rules_keywords_settings_and_models_are_read_from_pipes() {
    let sandbox = Sandbox::with_problem()
        .file("texts.csv", "text\ngood\nbad\n")
        .file("keywords.toml", "classes = [\"no\", \"yes\"]\n[[labelers]]\nclass = \"yes\"\nkeywords = [\"good\"]\n")
        .file("settings.toml", "model = \"dawid-skene\"\n")
        .file("rules.toml", "[[rule]]\nfeature = \"a\"\nthreshold = 1.5\nabove = 3\nbelow = 1\n");
    let votes = "$LABELFLOW votes --texts texts.csv --rules - --out votes.csv < keywords.toml";
    shell(&sandbox, votes).succeeded();
    assert_eq!(sandbox.read("votes.csv").lines().nth(1), Some("yes"));
    let label = "$LABELFLOW label --signals signals.csv --settings - --save model.json < settings.toml";
    assert!(shell(&sandbox, label).succeeded().stdout.contains("dawid-skene"));
    shell(&sandbox, "$LABELFLOW label --signals signals.csv --load - < model.json").succeeded();
    for rules in ["rules.toml", "rules.csv"] {
        sandbox.write("rules.csv", "feature,threshold,above,below\na,1.5,3,1\n");
        let fit = "fit --features features.csv --rules - --epochs 2 --out regressor --restart";
        shell(&sandbox, &format!("$LABELFLOW {fit} < {rules}")).succeeded();
    }
}

#[test]
fn errors_name_standard_input_and_the_line() {
    let sandbox = Sandbox::with_problem();
    let label = |text: &str| shell(&sandbox, &format!("printf \"{text}\" | $LABELFLOW label --signals -"));
    label("a,b\\n0,1\\n1\\n").refused(&["standard input, line 3: expected 2 fields"]);
    label("a,b\\n0,1\\n1,7.5\\n").refused(&["standard input, line 3, column", "7.5"]);
    label("").refused(&["standard input", "an empty file"]);
    label("PAR1 and no more").refused(&["standard input", "a whole parquet file"]);
    // A device has no end.
    shell(&sandbox, "$LABELFLOW label --signals - < /dev/zero").refused(&["standard input", "a file or a pipe"]);
    sandbox.refuses("label --signals /dev/zero", &["/dev/zero", "a file or a pipe", "found a device"]);
}

#[test]
fn standard_input_and_output_are_taken_once() {
    let sandbox = Sandbox::with_model();
    let eval = "eval model --features - --labels -";
    sandbox.refuses(eval, &["--features, --labels", "standard input, for one of them"]);
    let label = "label --signals signals.csv --out - --json -";
    sandbox.refuses(label, &["--out, --json", "standard output, for one of them"]);
    sandbox.refuses("predict - --features features.csv", &["MODEL_DIR", "expected a folder, found '-'"]);
    sandbox.refuses(&FIT.replace("--out model", "--out -"), &["--out", "expected a folder, found '-'"]);
}

#[test]
fn a_table_on_standard_output_is_alone_there() {
    let sandbox = Sandbox::with_model();
    for command in [
        "predict model --features features.csv",
        "label --signals signals.csv",
        "label --signals signals.csv --out labels.csv --write-counts",
        "analyze --signals signals.csv --csv",
    ] {
        let (to_file, to_output) = match command.ends_with("--write-counts") || command.ends_with("--csv") {
            true => (format!("{command} expected.csv"), format!("{command} -")),
            false => (format!("{command} --out expected.csv"), format!("{command} --out -")),
        };
        let ran = sandbox.labelflow(&to_file).succeeded();
        let piped = sandbox.labelflow(&to_output).succeeded();
        assert_eq!(piped.stdout, sandbox.read("expected.csv"), "{command}");
        // What is printed for people is not lost.
        assert!(ran.stdout.lines().all(|line| piped.stderr.contains(line)), "{command}: {}", piped.stderr);
    }
    let both = "$LABELFLOW predict model --features - --out - < features.csv | $LABELFLOW eval model \
                --features features.csv --labels -";
    shell(&sandbox, both).succeeded();
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let sandbox = Sandbox::new();
    sandbox.labelflow("data synth votes --rows 50000 --out .").succeeded();
    let label = "{ $LABELFLOW label --signals signals.csv --out -; echo \"code $?\" >&2; } | head -n 1";
    let ran = shell(&sandbox, label).succeeded();
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(ran.stderr.contains("code 0"), "{}", ran.stderr);
}
