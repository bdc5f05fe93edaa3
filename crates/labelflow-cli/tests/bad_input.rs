//! Bad input gets an error that says what was expected, what was found and where; never a panic, and never a lost file.

#![allow(clippy::unwrap_used)]

mod common;

use common::{FIT, Problem, Sandbox};

const PREDICT: &str = "predict model --features features.csv --out out.csv";

/// The problem with other features.
fn features(text: &str) -> Sandbox {
    Sandbox::with_problem().file("features.csv", text)
}

/// The problem with other signals.
fn signals(text: &str) -> Sandbox {
    Sandbox::with_problem().file("signals.csv", text)
}

// Tables.

#[test]
fn ragged_rows() {
    let sandbox = features("a,b\n1,2\n3\n5,6\n");
    sandbox.refuses(FIT, &["features.csv, line 3", "expected 2 fields", "found 1"]);
    let sandbox = signals("rule_a,rule_b\n0,1\n1,0,1\n");
    sandbox.refuses(FIT, &["signals.csv, line 3", "expected 2 fields", "found 3"]);
    sandbox.refuses("analyze --signals signals.csv", &["signals.csv, line 3"]);
}

#[test]
fn text_among_numbers() {
    let sandbox = features("a,b\n1,2\n3,four\n");
    sandbox.refuses(FIT, &["features.csv, line 3", "column 'b'", "a number", "'four'"]);
    let sandbox = signals("rule_a,rule_b\n0,1\n1,yes\n");
    sandbox.refuses(FIT, &["signals.csv, line 3", "column 'rule_b'", "a number", "'yes'"]);
}

#[test]
fn numbers_that_are_not_finite() {
    for cell in ["NaN", "inf", "-Infinity", "1e309", ""] {
        let sandbox = features(&format!("a,b\n1,2\n3,{cell}\n"));
        let parts = ["features.csv, line 3", "column 'b'", "a finite number", "fill or drop"];
        sandbox.refuses(FIT, &parts);
    }
    let sandbox = signals("rule_a,rule_b\n0,1\n1,inf\n");
    sandbox.refuses(FIT, &["signals.csv, line 3", "column 'rule_b'", "inf"]);
}

#[test]
fn a_header_that_names_a_column_twice() {
    let sandbox = features("a,a\n1,2\n3,4\n");
    sandbox.refuses(FIT, &["features.csv, line 1", "names that differ", "'a' twice"]);
}

#[test]
fn a_missing_header() {
    let sandbox = features("1.5,2.5\n3.5,4.5\n");
    sandbox.refuses(FIT, &["features.csv, line 1", "a header line", "only numbers"]);
}

#[test]
fn votes_out_of_range() {
    let sandbox = signals("rule_a,rule_b\n0,1\n-2,1\n");
    sandbox.refuses(FIT, &["signals.csv, line 3", "column 'rule_a'", "a class from 0", "-2"]);
    sandbox.refuses("analyze --signals signals.csv", &["signals.csv, line 3", "-2"]);
    let sandbox = Sandbox::with_problem().file("signals.csv", "rule_a,rule_b\n0,1\n2,1\n");
    let fit = format!("{FIT} --classes ham,spam");
    sandbox.refuses(&fit, &["signals.csv, line 3", "column 'rule_a'", "from 0 to 1", "found 2"]);
    let sandbox = signals("rule_a,rule_b\n0.5,1\n1.5,1\n");
    sandbox.refuses(FIT, &["signals.csv, line 3", "a probability from 0 to 1", "1.5"]);
}

#[test]
fn labels_out_of_range() {
    let sandbox = Sandbox::with_model().file("labels.csv", "label\n0\n1\n7\n");
    let parts = ["labels.csv, line 4", "column 'label'", "a class from 0 to 1", "found 7"];
    sandbox.refuses("eval model --features features.csv --labels labels.csv", &parts);
    sandbox.refuses("analyze --signals signals.csv --labels labels.csv", &parts);
    sandbox.refuses(&format!("{FIT} --labels-for-eval labels.csv"), &parts);
}

#[test]
fn no_rows() {
    let sandbox = features("a,b\n");
    sandbox.refuses(FIT, &["features.csv", "at least one row", "0 rows"]);
    let sandbox = signals("rule_a,rule_b\n");
    sandbox.refuses(FIT, &["signals.csv", "at least one row", "none"]);
    sandbox.refuses("analyze --signals signals.csv", &["signals.csv", "at least one row"]);
    let sandbox = Sandbox::with_model().file("none.csv", "a,b,c\n").file("labels.csv", "label\n");
    let parts = ["none.csv", "at least one row", "0 rows"];
    sandbox.refuses("predict model --features none.csv --out out.csv", &parts);
    let parts = ["labels.csv", "at least one row"];
    sandbox.refuses("eval model --features features.csv --labels labels.csv", &parts);
}

#[test]
fn an_empty_file() {
    let sandbox = features("");
    sandbox.refuses(FIT, &["features.csv", "a header line", "an empty file"]);
    let sandbox = signals("");
    sandbox.refuses(FIT, &["signals.csv", "a header line", "an empty file"]);
    sandbox.refuses("analyze --signals signals.csv", &["signals.csv", "an empty file"]);
    for name in ["empty.parquet", "empty.npy", "empty.npz"] {
        let sandbox = Sandbox::with_problem().file(name, "");
        let fit = FIT.replace("features.csv", name);
        sandbox.refuses(&fit, &[name]);
    }
}

#[test]
fn bytes_that_are_no_table() {
    let noise: Vec<u8> = (0..2000_u32).map(|index| (index * 7919 % 251) as u8).collect();
    for name in ["noise.csv", "noise.tsv", "noise.parquet", "noise.npy", "noise.npz"] {
        let sandbox = Sandbox::with_problem().file(name, &noise);
        sandbox.refuses(&FIT.replace("features.csv", name), &[name]);
        sandbox.refuses(&FIT.replace("signals.csv", name), &[name]);
        sandbox.refuses(&format!("{FIT} --bounds {name}"), &[name]);
    }
}

#[test]
fn one_row() {
    let sandbox = features("a,b\n1,2\n").file("signals.csv", "rule_a,rule_b\n0,1\n");
    sandbox.refuses(FIT, &["features", "at least 2 rows", "found 1"]);
    sandbox.refuses(&format!("{FIT} --bounds auto"), &["at least 2 rows"]);
}

#[test]
fn one_class() {
    let sandbox = signals("rule_a,rule_b\n0,0\n0,-1\n");
    let parts = ["signals.csv", "at least two classes", "only votes for class 0", "name the classes"];
    sandbox.refuses(FIT, &parts);
    let sandbox = signals("rule_a,rule_b\nham,ham\nham,\n");
    sandbox.refuses(FIT, &["signals.csv", "at least two classes", "one"]);
    sandbox.refuses(&format!("{FIT} --classes ham"), &["classes", "at least two", "only 'ham'"]);
    let parts = ["class names", "names that differ", "'ham' twice"];
    sandbox.refuses(&format!("{FIT} --classes ham,ham"), &parts);
}

#[test]
fn only_abstentions() {
    let sandbox = signals("rule_a,rule_b\n-1,-1\n,-1\n");
    sandbox.refuses(FIT, &["signals.csv", "only abstentions"]);
}

#[test]
fn features_and_signals_of_different_length() {
    let sandbox = signals("rule_a,rule_b\n0,1\n1,0\n");
    sandbox.refuses(FIT, &["signals.csv: expected 60 rows, as many as features.csv has, found 2"]);
}

#[test]
fn labels_of_different_length() {
    let sandbox = Sandbox::with_model().file("labels.csv", "label\n0\n1\n");
    let parts = ["labels.csv", "60 rows", "found 2"];
    sandbox.refuses(&format!("{FIT} --labels-for-eval labels.csv"), &parts);
    sandbox.refuses("eval model --features features.csv --labels labels.csv", &parts);
    sandbox.refuses("analyze --signals signals.csv --labels labels.csv", &parts);
}

#[test]
fn numbers_too_far_from_the_training_rows() {
    let sandbox = Sandbox::with_problem();
    // A column that was constant in training is not scaled down.
    let constant = Problem::new(60).features(&["a", "b", "c"]);
    let constant: String =
        constant.lines().map(|line| if line == "a,b,c" { "a,b,c\n" } else { "1e-30,1,2\n" }).collect();
    sandbox.write("features.csv", constant);
    sandbox.labelflow(FIT).succeeded();
    sandbox.write("features.csv", "a,b,c\n3e38,-3e38,3e38\n-3e38,-3e38,3e38\n");
    let parts = ["features.csv", "the range of the training rows", "check the units"];
    sandbox.refuses(PREDICT, &parts);
    // One such row among others costs the others nothing.
    sandbox.write("features.csv", "a,b,c\n1,2,3\n3e38,-3e38,3e38\n");
    let ran = sandbox.labelflow(PREDICT).succeeded();
    assert!(ran.stderr.contains("1 of 2 rows, the first of them row 1"), "{}", ran.stderr);
}

// Settings.

#[test]
fn bounds_out_of_range() {
    let sandbox = Sandbox::with_problem();
    for bound in ["-0.1", "1.5", "nan", "inf"] {
        let found = format!("found {}", bound.replace("nan", "NaN"));
        let parts = ["bounds", "an error rate from 0 to 1", &found];
        sandbox.refuses(&format!("{FIT} --bounds {bound}"), &parts);
    }
    sandbox.write("bounds.csv", "labeler,bound\nrule_a,0.1\nrule_b,1.1\nrule_c,0.1\n");
    let fit = format!("{FIT} --bounds bounds.csv");
    sandbox.refuses(&fit, &["bounds.csv, line 3", "column 'bound'", "from 0 to 1", "found 1.1"]);
    sandbox.write("bounds.csv", "labeler,bound\nrule_a,0.1\nrule_b,0.1\n");
    sandbox.refuses(&fit, &["bounds.csv", "each of 3 labelers", "none for 'rule_c'"]);
    sandbox.write("bounds.csv", "labeler,bound\nrule_a,0.1\nrule_x,0.1\n");
    sandbox.refuses(&fit, &["bounds.csv, line 3", "rule_a, rule_b, rule_c", "'rule_x'"]);
    sandbox.refuses(&format!("{FIT} --bounds nope"), &["nope", "extensions"]);
}

#[test]
fn settings_out_of_range() {
    let sandbox = Sandbox::with_problem();
    for (flag, parts) in [
        ("--epochs 0", ["max_epochs", "at least 1", "found 0"]),
        ("--batch-size 1", ["batch_size", "at least 2 rows", "found 1"]),
        ("--samples 0", ["n_samples", "at least 1", "found 0"]),
        ("--likelihood-weight nan", ["likelihood_weight", "a finite number", "NaN"]),
    ] {
        sandbox.refuses(&format!("{} {flag}", FIT.replace("--epochs 30", "")), &parts);
    }
    for setting in ["n_steps", "d_hidden"] {
        sandbox.write("run.toml", format!("[config]\n{setting} = 0\n"));
        sandbox.refuses(FIT, &[setting, "at least 1", "found 0"]);
    }
}

#[test]
fn a_misspelt_key() {
    let sandbox = Sandbox::with_problem().file("run.toml", "signal = \"signals.csv\"\n");
    sandbox.refuses(FIT, &["run.toml", "line 1", "unknown field `signal`", "`signals`"]);
    sandbox.write("run.toml", "[config]\nn_step = 2\n");
    sandbox.refuses(FIT, &["run.toml", "line 2", "unknown field `n_step`", "`n_steps`"]);
    sandbox.write("run.toml", "[config.training]\nepochs = 2\n");
    sandbox.refuses(FIT, &["run.toml", "line 2", "unknown field `epochs`", "`max_epochs`"]);
    sandbox.write("run.toml", "bounds = ");
    sandbox.refuses(FIT, &["run.toml", "line 1"]);
}

#[test]
fn missing_arguments() {
    let sandbox = Sandbox::with_problem();
    sandbox.refuses("fit --signals signals.csv --out model", &["--features is missing"]);
    sandbox.refuses("fit --features features.csv --out model", &["--signals is missing"]);
    sandbox.refuses("fit --features features.csv --signals signals.csv", &["--out is missing", "model folder"]);
    sandbox.refuses("predict model", &["--features"]);
    sandbox.refuses("eval model --features features.csv", &["--labels"]);
    sandbox.refuses("analyze", &["--signals"]);
    sandbox.refuses("fit --feature features.csv", &["--feature", "--features"]);
}

#[test]
fn what_belongs_to_another_task() {
    let sandbox = Sandbox::with_problem();
    for (flag, expected) in [
        ("--range 0 1", "--range is for regression; this fit is for classification"),
        ("--scans scans", "--scans is for completion; this fit is for classification"),
    ] {
        sandbox.refuses(&format!("{FIT} {flag}"), &[expected]);
    }
    sandbox.write("run.toml", "range = [0, 1]\n");
    sandbox.refuses(FIT, &["run.toml, key 'range' is for regression", "classification"]);
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_device_that_this_build_lacks() {
    let sandbox = Sandbox::with_model();
    let parts = ["device cuda", "built without it", "--features cuda", "device cpu"];
    sandbox.refuses(&format!("{FIT} --device cuda"), &parts);
    let elsewhere = FIT.replace("--out model", "--out elsewhere");
    sandbox.refuses(&format!("{elsewhere} --device cuda"), &parts);
    sandbox.refuses(&format!("{PREDICT} --device cuda"), &parts);
    sandbox.refuses("eval model --features features.csv --labels labels.csv --device cuda", &parts);
    sandbox.refuses(&format!("{FIT} --device tpu"), &["tpu", "cpu, cuda, wgpu"]);
}

// Files that are not there, or are something else.

#[test]
fn missing_files() {
    let sandbox = Sandbox::with_model();
    for name in ["features.csv", "signals.csv", "run.toml"] {
        sandbox.refuses(&FIT.replace(name, "nope.csv"), &["nope.csv", "No such file"]);
    }
    for flag in ["--bounds", "--labels-for-eval"] {
        sandbox.refuses(&format!("{FIT} {flag} nope.csv"), &["nope.csv", "No such file"]);
    }
    sandbox.refuses("predict model --features nope.csv", &["nope.csv", "No such file"]);
    let eval = "eval model --features features.csv --labels nope.csv";
    sandbox.refuses(eval, &["nope.csv", "No such file"]);
    sandbox.refuses("analyze --signals nope.csv", &["nope.csv", "No such file"]);
    sandbox.refuses("run nope.toml", &["nope.toml", "No such file"]);
}

#[test]
fn a_folder_instead_of_a_file() {
    let sandbox = Sandbox::with_model().file("folder.csv/inside", "");
    // Folders hold parts of features.
    let parts = ["folder.csv", "at least one parquet file", "none in this folder"];
    sandbox.refuses(&FIT.replace("features.csv", "folder.csv"), &parts);
    let predict = "predict model --features features.csv --out folder.csv";
    sandbox.refuses(predict, &["folder.csv", "directory"]);
}

#[test]
fn unknown_extensions() {
    let sandbox = Sandbox::with_model().file("features.txt", "a,b,c\n1,2,3\n");
    let parts = ["features.txt", "csv, tsv, parquet, npy, npz", "'txt'"];
    sandbox.refuses(&FIT.replace("features.csv", "features.txt"), &parts);
    sandbox.refuses(&FIT.replace("signals.csv", "features.txt"), &parts);
    sandbox.refuses("predict model --features features.txt", &parts);
    sandbox.refuses("predict model --features features.csv --out out.txt", &["out.txt", "'txt'"]);
    sandbox.refuses("predict model --features features.csv --out out", &["out", "found none"]);
    let parts = ["out.npy", "csv, tsv, parquet or npz", "npy"];
    sandbox.refuses("predict model --features features.csv --out out.npy", &parts);
}

#[test]
fn other_columns_than_in_training() {
    let sandbox = Sandbox::with_model();
    sandbox.write("features.csv", "a,b\n1,2\n3,4\n");
    let parts = ["features.csv", "a column 'c'", "a, b"];
    sandbox.refuses(PREDICT, &parts);
    sandbox.refuses("eval model --features features.csv --labels labels.csv", &parts);
    sandbox.write("features.csv", "a,b,d\n1,2,3\n");
    sandbox.refuses(PREDICT, &["features.csv", "a column 'c'", "a, b, d"]);
    sandbox.write("features.csv", "x0,x1,x2\n1,2,3\n");
    sandbox.refuses(PREDICT, &["features.csv", "a column 'a', found x0, x1, x2"]);
    sandbox.refuses(&format!("{PREDICT} --samples 0"), &["samples", "at least 1"]);
}

// Models.

#[test]
fn weights_that_are_cut_off() {
    let sandbox = Sandbox::with_model();
    let weights = sandbox.bytes("model/weights.safetensors");
    for length in [0, 4, 100, weights.len() / 2, weights.len() - 1] {
        sandbox.write("model/weights.safetensors", &weights[..length]);
        let parts = ["model/weights.safetensors", "expected the weights that", "sha256"];
        sandbox.refuses(PREDICT, &parts);
    }
    let mut changed = weights.clone();
    *changed.last_mut().unwrap() ^= 1;
    sandbox.write("model/weights.safetensors", changed);
    sandbox.refuses(PREDICT, &["model/weights.safetensors", "sha256"]);
    std::fs::remove_file(sandbox.path("model/weights.safetensors")).unwrap();
    sandbox.refuses(PREDICT, &["model/weights.safetensors", "No such file"]);
}

#[test]
fn a_description_that_is_cut_off_or_edited() {
    let sandbox = Sandbox::with_model();
    let text = sandbox.read("model/model.toml");
    for length in [0, 20, text.len() / 4, text.len() / 2] {
        sandbox.write("model/model.toml", &text[..length]);
        sandbox.refuses(PREDICT, &["model/model.toml", "expected a model of labelflow"]);
    }
    sandbox.write("model/model.toml", [0xff, 0xfe, 0x00]);
    sandbox.refuses(PREDICT, &["model/model.toml", "UTF-8"]);
    let edits = [
        ("d_hidden = 8", "d_hidden = 0", "d_hidden"),
        ("n_steps = 2", "n_steps = 0", "n_steps"),
        ("n_samples = 10", "n_samples = 0", "n_samples"),
        ("n_steps = 2", "n_steps = 3", "weights"),
        ("d_hidden = 8", "d_hidden = 9", "weights"),
        ("classes = [\"0\", \"1\"]", "classes = []", "two classes"),
        ("classes = [\"0\", \"1\"]", "classes = [\"0\", \"1\", \"2\"]", "weights"),
        ("features = [\"a\", \"b\", \"c\"]", "features = []", "one feature"),
        ("std = [", "std = [0.0, ", "scaler"),
    ];
    // As format 1, which had no hash of the values, so that they are looked at.
    let text = text.replace("format = 2", "format = 1");
    for (from, to, part) in edits {
        assert!(text.contains(from), "{from} is not in {text}");
        sandbox.write("model/model.toml", text.replace(from, to));
        sandbox.refuses(PREDICT, &["model", "expected", part]);
    }
}

/// Each of these would change predictions, and nothing else would tell.
#[test]
fn a_value_of_a_model_that_was_changed() {
    let sandbox = Sandbox::with_model();
    let calibrate = "calibrate model --features features.csv --labels labels.csv --sets 0.8";
    sandbox.labelflow(calibrate).succeeded();
    let text = sandbox.read("model/model.toml");
    let model: toml::Table = text.parse().unwrap();
    let edited = |edit: &dyn Fn(&mut toml::Table)| {
        let mut model = model.clone();
        edit(&mut model);
        toml::to_string(&model).unwrap()
    };
    let without = |key: &'static str| edited(&move |model| assert!(model.remove(key).is_some(), "{key}"));
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in {text}");
        text.replace(from, to)
    };
    let changed = [
        without("scaler"),
        without("certainty"),
        edited(&|model| model["certainty"].as_table_mut().unwrap().retain(|key, _| key != "sets")),
        edited(&|model| model["scaler"]["mean"][0] = toml::Value::Float(0.0)),
        edited(&|model| model["scaler"]["mean"].as_array_mut().unwrap().swap(0, 1)),
        replaced("classes = [\"0\", \"1\"]", "classes = [\"1\", \"0\"]"),
        replaced("features = [\"a\", \"b\"", "features = [\"b\", \"a\""),
        replaced("n_samples = 10", "n_samples = 1"),
        replaced("\n[config]", "\nunheard_of = 1\n[config]"),
    ];
    for changed in changed {
        sandbox.write("model/model.toml", changed);
        let parts = ["model/model.toml", "expected values with sha256", "a value was changed, added or removed"];
        sandbox.refuses(PREDICT, &parts);
        sandbox.refuses("eval model --features features.csv --labels labels.csv", &parts);
        sandbox.refuses(calibrate, &parts);
    }
    sandbox.write("model/model.toml", without("sha256"));
    sandbox.refuses(PREDICT, &["model/model.toml", "expected values with sha256", "that were saved"]);
    // How it is written is nobody's business, nor is where it came from.
    sandbox.write("model/model.toml", text.clone());
    sandbox.labelflow(PREDICT).succeeded();
    let expected = sandbox.read("out.csv");
    let comment = replaced("[config]", "# the settings\n[config]").replace('\n', "\r\n");
    for free in [without("origin"), edited(&|_| ()), comment] {
        sandbox.write("model/model.toml", free);
        sandbox.labelflow(PREDICT).succeeded();
        assert_eq!(sandbox.read("out.csv"), expected);
    }
}

/// No prediction depends on the metrics.
#[test]
fn metrics_that_are_damaged_missing_or_of_another_model() {
    let sandbox = Sandbox::with_model();
    sandbox.labelflow(PREDICT).succeeded();
    let expected = sandbox.read("out.csv");
    sandbox
        .labelflow("fit run.toml --features features.csv --signals signals.csv --epochs 30 --seed 1 --out other")
        .succeeded();
    let whole = sandbox.read("model/metrics.jsonl");
    let report = "report model --out page.html";
    assert!(!sandbox.labelflow(report).succeeded().stderr.contains("metrics"));
    for (damaged, part) in [
        (Some(whole[..whole.len() / 2].to_owned()), "metrics.jsonl: expected the numbers of an epoch in line 1"),
        (Some(sandbox.read("other/metrics.jsonl")), "metrics.jsonl: expected the 30 epochs of the model beside it"),
        (Some("not json".to_owned()), "metrics.jsonl: expected the numbers of an epoch in line 1"),
        (None, "metrics.jsonl: reading: No such file"),
    ] {
        match &damaged {
            Some(damaged) => sandbox.write("model/metrics.jsonl", damaged),
            None => std::fs::remove_file(sandbox.path("model/metrics.jsonl")).unwrap(),
        }
        let ran = sandbox.labelflow(PREDICT).succeeded();
        assert!(!ran.stderr.contains("metrics"), "{}", ran.stderr);
        assert_eq!(sandbox.read("out.csv"), expected);
        let ran = sandbox.labelflow(report).succeeded();
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
        // A calibration keeps the number of epochs, and what is left of the metrics.
        sandbox.labelflow("calibrate model --features features.csv --labels labels.csv --method none").succeeded();
        assert!(sandbox.read("model/model.toml").contains("n_epochs = 30"));
        if let Some(damaged) = damaged {
            assert_eq!(sandbox.read("model/metrics.jsonl"), damaged);
        }
        sandbox.labelflow("fit --from model --out again").succeeded();
        assert_eq!(sandbox.read("again/metrics.jsonl"), whole);
    }
}

#[test]
fn a_model_of_a_later_format() {
    let sandbox = Sandbox::with_model();
    let later = "format = 3\nlabelflow = \"9.9.9\"\nunheard_of = true\n";
    sandbox.write("model/model.toml", later);
    sandbox.refuses(PREDICT, &["model/model.toml", "format 2", "found format 3", "9.9.9"]);
}

#[test]
fn a_foreign_folder() {
    let sandbox = Sandbox::with_problem().file("model/README.md", "# Something else\n");
    let parts = ["model", "a model folder with model.toml", "a folder without it"];
    sandbox.refuses(PREDICT, &parts);
    sandbox.refuses("eval model --features features.csv --labels labels.csv", &parts);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.refuses("predict empty --features features.csv", &["empty", "a folder without it"]);
    sandbox.refuses("predict nope --features features.csv", &["nope", "no folder"]);
    sandbox.refuses("predict run.toml --features features.csv", &["run.toml", "no folder"]);
    // Random files with the right names.
    sandbox.write("model/model.toml", "name = \"a package\"\n");
    sandbox.write("model/weights.safetensors", [7; 100]);
    sandbox.refuses(PREDICT, &["model/model.toml", "a model of labelflow", "format"]);
}

#[test]
fn a_checkpoint_that_is_none() {
    let sandbox = Sandbox::with_problem().file("model/checkpoint.safetensors", "who knows");
    sandbox.refuses(FIT, &["model/checkpoint.safetensors", "a whole safetensors file", "--restart"]);
    sandbox.labelflow(&format!("{FIT} --restart")).succeeded();
}

// Places where nothing can be written.

#[test]
fn places_that_cannot_be_written() {
    let sandbox = Sandbox::with_model();
    for out in ["run.toml", "run.toml/model", "/proc/labelflow/model"] {
        sandbox.refuses(&FIT.replace("--out model", &format!("--out {out}")), &[out]);
    }
    for out in ["run.toml/out.csv", "/proc/out.csv", "nowhere/out.csv"] {
        let predict = format!("predict model --features features.csv --out {out}");
        sandbox.refuses(&predict, &["cannot write", out]);
        let analyze = format!("analyze --signals signals.csv --json {out}");
        sandbox.refuses(&analyze, &["cannot write", out]);
    }
    sandbox.refuses("demo --out run.toml/demo --epochs 2000", &["run.toml/demo"]);
    sandbox.refuses("man --out run.toml/man", &["run.toml/man"]);
    sandbox.refuses("data synth votes --out run.toml/votes", &["run.toml/votes"]);
}

/// Runs a command that may not write files of more than `blocks` times 512 bytes; the system then reports an error as it does for a full disk.
#[cfg(unix)]
fn refuses_when_full(sandbox: &Sandbox, blocks: usize, arguments: &str, parts: &[&str]) {
    let before = sandbox.contents("");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$LABELFLOW\" {arguments}");
    sandbox.shell(&script).refused(parts);
    sandbox.assert_contents(&before);
}

#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_old_labels() {
    let sandbox = Sandbox::with_model();
    for name in ["out.csv", "out.parquet", "out.npz"] {
        let predict = format!("predict model --features features.csv --out {name}");
        refuses_when_full(&sandbox, 1, &predict, &[name, "File too large"]);
        sandbox.labelflow(&predict).succeeded();
        refuses_when_full(&sandbox, 1, &predict, &[name, "File too large"]);
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_old_model() {
    let sandbox = Sandbox::with_model();
    let another = format!("{FIT} --seed 1");
    refuses_when_full(&sandbox, 1, &another, &["model/weights.safetensors", "File too large"]);
    // Room for the weights and the description, but not for the metrics of so many epochs.
    let blocks = sandbox.bytes("model/weights.safetensors").len() / 512 + 2;
    let longer = another.replace("--epochs 30", "--epochs 200 --checkpoint-every 1000");
    refuses_when_full(&sandbox, blocks, &longer, &["model/metrics.jsonl", "File too large"]);
    // A checkpoint is the first to be written.
    let parts = ["model/checkpoint.safetensors", "File too large"];
    refuses_when_full(&sandbox, 1, &format!("{another} --checkpoint-every 1"), &parts);
    let elsewhere = FIT.replace("--out model", "--out elsewhere");
    refuses_when_full(&sandbox, 1, &elsewhere, &["elsewhere", "File too large"]);
    sandbox.labelflow(PREDICT).succeeded();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device() {
    let sandbox = Sandbox::with_model();
    // By a link, since the format is that of the extension.
    std::os::unix::fs::symlink("/dev/full", sandbox.path("full.csv")).unwrap();
    let ran = sandbox.labelflow("predict model --features features.csv --out full.csv");
    ran.refused(&["full.csv", "No space left", "free some space"]);
    let ran = sandbox.shell("exec \"$LABELFLOW\" data list > /dev/full");
    ran.refused(&["standard output", "No space left"]);
    // Remarks that cannot be written are no failure.
    let ran = sandbox.shell("exec \"$LABELFLOW\" predict model --features features.csv 2> /dev/full");
    ran.succeeded();
}

// Experiments.

#[test]
fn bad_experiment_files() {
    let good = "table = \"t\"\nset = \"digits-planted\"\nseeds = [0]\n[systems.mv]\n";
    let sandbox = Sandbox::new().file("run.toml", good);
    for (from, to, parts) in [
        ("seeds", "seed", ["run.toml", "unknown field `seed`", "`seeds`"]),
        ("digits-planted", "digit", ["run.toml", "one of", "'digit'"]),
        ("mv", "vote", ["run.toml", "one of llf", "'vote'"]),
        ("[0]", "[]", ["nothing to run", "seed", "system"]),
        ("[systems.mv]", "[systems.mv]\nat_lest = 1", ["run.toml", "`at_lest`", "`at_least`"]),
    ] {
        sandbox.write("bad.toml", good.replace(from, to));
        let name = parts.map(|part| part.replace("run.toml", "bad.toml"));
        sandbox.refuses("run bad.toml", &name.each_ref().map(String::as_str));
    }
    sandbox.refuses("run run.toml --systems snorkle", &["one of llf", "snorkel", "'snorkle'"]);
    sandbox.refuses("run run.toml --systems mv+svm", &["+mlp or +lr", "'mv+svm'"]);
    sandbox.refuses("run run.toml --systems sl", &["nothing to run"]);
}

#[test]
fn impossible_synthetic_problems() {
    let sandbox = Sandbox::new();
    for (flags, parts) in [
        ("gaussian --rows 0", ["n_rows", "at least 1"]),
        ("votes --classes 1", ["n_classes", "2 to 255"]),
        ("votes --labelers 0", ["n_signals", "at least 1"]),
        ("gaussian --classes 300", ["n_classes", "2 to 255"]),
    ] {
        let ran = sandbox.labelflow(&format!("data synth {flags} --out made"));
        ran.refused(&parts);
    }
}
