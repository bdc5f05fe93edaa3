//! A model says what it was trained on, and `fit --from` trains it again, to the last bit.

#![allow(clippy::unwrap_used)]

mod common;

use common::writers::sandbox as sandbox_of_all_tasks;
use common::{Ran, Sandbox};
use labelflow_files::sha256_hex;

const TASKS: [(&str, &str, &[&str]); 3] = [
    (
        "classification",
        "fit run.toml --features features.csv --signals signals.csv --epochs 20 --seed 7 --batch-size 16 \
         --labels-for-eval labels.csv --out model",
        &["features", "signals", "labels-for-eval"],
    ),
    (
        "regression",
        "fit rules-run.toml --features features.csv --rules rules.csv --epochs 20 --seed 7 --out model",
        &["features", "rules"],
    ),
    ("completion", "fit completion.toml --shapes tables --epochs 3 --seed 7 --out model", &["shapes"]),
];

fn repeat(sandbox: &Sandbox, n_threads: &str, flags: &str) -> Ran {
    let mut command = sandbox.command(&format!("fit --from model {flags}"));
    command.env("RAYON_NUM_THREADS", n_threads).output().unwrap().into()
}

#[test]
fn the_same_weights_with_any_number_of_threads() {
    for (task, fit, inputs) in TASKS {
        let sandbox = sandbox_of_all_tasks();
        sandbox.labelflow(fit).succeeded();
        let model: toml::Table = sandbox.read("model/model.toml").parse().unwrap();
        let origin = model["origin"].as_table().unwrap();
        for (input, flag) in origin["inputs"].as_array().unwrap().iter().zip(inputs) {
            assert_eq!(input["flag"].as_str(), Some(*flag), "{task}");
            assert_eq!(input["sha256"].as_str().unwrap().len(), 64, "{task}");
        }
        assert_eq!(origin["lock_sha256"].as_str().unwrap().len(), 64);
        // What the first fit was told in a file is in the model: the file is no longer needed.
        for name in ["run.toml", "rules-run.toml", "completion.toml"] {
            std::fs::remove_file(sandbox.path(name)).unwrap();
        }
        for n_threads in ["1", "2", "8"] {
            let ran = repeat(&sandbox, n_threads, &format!("--out again-{n_threads}")).succeeded();
            assert!(ran.stdout.contains("the same weights, to the last bit"), "{}", ran.stdout);
            for name in ["weights.safetensors", "metrics.jsonl"] {
                let again = sandbox.bytes(&format!("again-{n_threads}/{name}"));
                assert!(again == sandbox.bytes(&format!("model/{name}")), "{task}: {name}");
            }
        }
        // A repetition can be repeated; unless it is told otherwise, it goes beside its model.
        sandbox.labelflow("fit --from again-8").succeeded();
        assert!(sandbox.bytes("again-8-again/model.toml") == sandbox.bytes("again-8/model.toml"));
    }
}

#[test]
fn from_another_folder() {
    let sandbox = Sandbox::with_model();
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    let mut command = sandbox.command("fit --from ../model --out again");
    let ran: Ran = command.current_dir(sandbox.path("elsewhere")).output().unwrap().into();
    ran.succeeded();
    let again = sandbox.bytes("elsewhere/again/weights.safetensors");
    assert!(again == sandbox.bytes("model/weights.safetensors"));
}

#[test]
fn training_that_ended_with_its_time() {
    let sandbox = Sandbox::with_problem();
    let fit = "fit run.toml --features features.csv --signals signals.csv --epochs 50 --out model";
    sandbox.labelflow(&format!("{fit} --max-minutes 0")).succeeded();
    let ran = sandbox.labelflow("fit --from model").succeeded();
    assert!(ran.stdout.contains("the same weights"), "{}", ran.stdout);
}

#[test]
fn other_inputs_are_refused() {
    let sandbox = Sandbox::with_model();
    let signals = sandbox.read("signals.csv");
    sandbox.write("signals.csv", signals.replacen("0,", "1,", 1));
    let parts = ["signals.csv", "expected sha256", "found", "--signals", "model was trained on"];
    sandbox.refuses("fit --from model", &parts);
    std::fs::remove_file(sandbox.path("signals.csv")).unwrap();
    sandbox.refuses("fit --from model", &["signals.csv", "no such file", "--signals"]);
    sandbox.write("signals.csv", signals);
    sandbox.labelflow("fit --from model").succeeded();
}

#[test]
fn what_cannot_be_repeated_is_refused() {
    let sandbox = Sandbox::with_model();
    sandbox.refuses("fit --from model --seed 3", &["--from", "--seed"]);
    sandbox.refuses("fit --from model --features features.csv", &["--from", "--features"]);
    sandbox.refuses("fit --from nowhere", &["nowhere", "no folder"]);
    // As a model that was saved by another program, such as the Python package.
    let text = sandbox.read("model/model.toml");
    let mut without: toml::Table = text.parse().unwrap();
    without.remove("origin").unwrap();
    sandbox.write("model/model.toml", toml::to_string(&without).unwrap());
    sandbox.refuses("fit --from model", &["model", "says what it was trained on"]);
    sandbox.labelflow("predict model --features features.csv --out out.csv").succeeded();
    sandbox.write("model/model.toml", text.replace("run_digest = \"", "run_digest = \"0"));
    sandbox.refuses("fit --from model", &["no longer those of the model"]);
}

/// A project: data, and a model of it beside them.
fn project() -> Sandbox {
    let sandbox = Sandbox::with_problem();
    for name in ["features.csv", "signals.csv", "run.toml"] {
        sandbox.write(&format!("project/data/{name}"), sandbox.bytes(name));
        std::fs::remove_file(sandbox.path(name)).unwrap();
    }
    sandbox
}

#[test]
fn a_model_that_moves_with_its_data() {
    let sandbox = project();
    let absolute = sandbox.path("project/data").canonicalize().unwrap().display().to_string();
    for (data, model) in [("project/data", "models/first"), (&absolute, "second")] {
        let inputs = format!("{data}/run.toml --features {data}/features.csv --signals {data}/signals.csv");
        sandbox.labelflow(&format!("fit {inputs} --epochs 5 --out project/{model}")).succeeded();
        let model: toml::Table = sandbox.read(&format!("project/{model}/model.toml")).parse().unwrap();
        let origin = model["origin"].to_string();
        assert!(origin.contains("../data/features.csv") && !origin.contains(&absolute), "{origin}");
    }
    std::fs::rename(sandbox.path("project"), sandbox.path("moved")).unwrap();
    for model in ["models/first", "second"] {
        let ran = sandbox.labelflow(&format!("fit --from moved/{model}")).succeeded();
        assert!(ran.stdout.contains("the same weights"), "{}", ran.stdout);
    }
    // Without the data it does not find them, and says where it looked.
    std::fs::rename(sandbox.path("moved/second"), sandbox.path("second")).unwrap();
    sandbox.refuses("fit --from second", &["data/features.csv", "no such file", "together with its data"]);
}

/// Earlier versions wrote paths as they were typed, and the folder in which they were.
#[test]
fn a_model_of_an_earlier_version() {
    let sandbox = Sandbox::with_model();
    let mut model: toml::Table = sandbox.read("model/model.toml").parse().unwrap();
    let origin = model["origin"].as_table_mut().unwrap();
    origin.insert("folder".to_owned(), sandbox.path("").display().to_string().into());
    for input in origin["inputs"].as_array_mut().unwrap() {
        let path = input["path"].as_str().unwrap().replace("../", "");
        input.as_table_mut().unwrap().insert("path".to_owned(), path.into());
    }
    sandbox.write("moved/model/model.toml", toml::to_string(&model).unwrap());
    for name in ["weights.safetensors", "metrics.jsonl"] {
        sandbox.write(&format!("moved/model/{name}"), sandbox.bytes(&format!("model/{name}")));
    }
    sandbox.labelflow("fit --from moved/model").succeeded();
}

/// Who gives a model away chooses the paths in it.
#[cfg(unix)]
#[test]
fn nothing_but_the_files_of_the_fit_is_opened_or_told() {
    let sandbox = Sandbox::with_model().file("secret", "a short secret");
    let text = sandbox.read("model/model.toml");
    assert!(sandbox.shell("mkfifo pipe").code == Some(0));
    for place in ["../pipe", "/dev/zero", "../secret"] {
        sandbox.write("model/model.toml", text.replace("../features.csv", place));
        let ran = sandbox.shell("timeout 20 \"$LABELFLOW\" fit --from model");
        let ran = ran.refused(&["--features, which model was trained on"]);
        assert!(!ran.stderr.contains(&sha256_hex("a short secret")), "{}", ran.stderr);
    }
    // Without a hash nothing is opened at all.
    let mut model: toml::Table = text.parse().unwrap();
    let input = &mut model["origin"].as_table_mut().unwrap()["inputs"].as_array_mut().unwrap()[0];
    input.as_table_mut().unwrap().remove("sha256").unwrap();
    sandbox.write("model/model.toml", toml::to_string(&model).unwrap());
    sandbox.shell("timeout 20 \"$LABELFLOW\" fit --from model").refused(&["expected a file with its hash"]);
}
