//! What a command reads it does not write over; nothing is written twice; and files of others stay.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::writers::sandbox_of_writers;
use common::{FIT, Sandbox};

/// A command, what it reads, and its arguments that are written to.
struct Command {
    line: &'static str,
    inputs: &'static [&'static str],
    outputs: &'static [&'static str],
}

const FILES: &[Command] = &[
    Command {
        line: "predict model --features features.csv --signals signals.csv",
        inputs: &[
            "features.csv",
            "signals.csv",
            "model/model.toml",
            "model/weights.safetensors",
            "model/metrics.jsonl",
        ],
        outputs: &["--out"],
    },
    Command {
        line: "predict parts-model --features parts/features --signals parts/signals/part-*.parquet",
        inputs: &[
            "parts/features/part-00000.parquet",
            "parts/features/new.parquet",
            "parts/signals/part-00000.parquet",
            "parts/signals/part-new.parquet",
        ],
        outputs: &["--out"],
    },
    Command {
        line: "eval model --features features.csv --labels labels.csv",
        inputs: &["features.csv", "labels.csv", "model/model.toml"],
        outputs: &["--json"],
    },
    Command {
        line: "analyze --signals signals.csv --labels labels.csv",
        inputs: &["signals.csv", "labels.csv"],
        outputs: &["--csv", "--json"],
    },
    Command { line: "analyze --counts a.csv", inputs: &["a.csv"], outputs: &["--csv", "--json"] },
    Command {
        line: "label --signals signals.csv --settings run.toml --bounds a.csv --errors b.csv --labelled-signals c.csv \
               --labelled-truth d.csv --labels-for-eval truth.csv",
        inputs: &["signals.csv", "run.toml", "a.csv", "b.csv", "c.csv", "d.csv", "truth.csv"],
        outputs: &["--out", "--save", "--write-counts", "--json"],
    },
    Command {
        line: "label --signals signals.csv --load model.json",
        inputs: &["signals.csv", "model.json"],
        outputs: &["--out", "--write-counts", "--json"],
    },
    Command { line: "label --task-votes a.csv", inputs: &["a.csv"], outputs: &["--out", "--save", "--json"] },
    Command {
        line: "label --wrench wrench",
        inputs: &["wrench/train.json", "wrench/new.json"],
        outputs: &["--out", "--save", "--write-counts", "--json"],
    },
    Command {
        line: "votes --texts texts.csv --rules keywords.toml",
        inputs: &["texts.csv", "keywords.toml"],
        outputs: &["--out"],
    },
    Command {
        line: "report results.json model kept --signals signals.csv --predictions a.csv --labels labels.csv \
               --signals-labels b.csv --format html",
        inputs: &["results.json", "model/model.toml", "kept/a.json", "signals.csv", "a.csv", "labels.csv", "b.csv"],
        outputs: &["--out"],
    },
    Command {
        line: "run experiment.toml --data sets",
        inputs: &["experiment.toml", "sets/uci/a.csv"],
        outputs: &["--json"],
    },
    Command {
        line: "metrics clouds others --partials partials",
        inputs: &["clouds/a.xyz", "others/a.xyz", "partials/a.xyz"],
        outputs: &["--json"],
    },
];

/// Commands that fill a folder, here one with what they read.
const FOLDERS: &[(&str, &[&str])] = &[
    ("complete work work/a.xyz", &["--out"]),
    ("complete completer work", &["--out"]),
    ("fit work/run.toml --features features.csv --signals signals.csv", &["--out"]),
    ("fit --features work/features.csv --signals signals.csv", &["--out"]),
    ("fit --features features.csv --signals work/*.csv", &["--out"]),
    ("fit --features features.csv --signals signals.csv --bounds work/a.csv", &["--out"]),
    ("fit in-file.toml", &["--out"]),
    ("fit --from work", &["--out"]),
    ("fit --shapes work", &["--out"]),
    ("data export digits-planted --data work", &["--out"]),
    ("report work/results.json --format html", &["--charts"]),
    ("run work/run.toml", &["--keep", "--models", "--pictures"]),
];

fn sandbox_of_inputs() -> Sandbox {
    let mut sandbox =
        sandbox_of_writers().file("in-file.toml", "features = 'features.csv'\nsignals = 'work/signals.csv'\n");
    let files = [
        "a.csv",
        "b.csv",
        "c.csv",
        "d.csv",
        "truth.csv",
        "model.json",
        "wrench/train.json",
        "kept/a.json",
        "sets/uci/a.csv",
    ];
    let clouds = ["clouds/a.xyz", "others/a.xyz", "partials/a.xyz", "work/a.xyz"];
    let work = ["work/run.toml", "work/features.csv", "work/signals.csv", "work/a.csv", "work/results.json"];
    for name in [&files[..], &clouds, &work].concat() {
        sandbox = sandbox.file(name, "1 2 3\n");
    }
    for name in ["model.toml", "weights.safetensors", "metrics.jsonl"] {
        sandbox.write(&format!("work/{name}"), sandbox.bytes(&format!("model/{name}")));
    }
    sandbox
}

#[test]
fn no_output_is_an_input() {
    let sandbox = sandbox_of_inputs();
    for Command { line, inputs, outputs } in FILES {
        for input in *inputs {
            for output in *outputs {
                let parts = [output, *input, "expected a place that is not read"];
                sandbox.refuses(&format!("{line} {output} {input}"), &parts);
            }
        }
    }
    for (line, outputs) in FOLDERS {
        for output in *outputs {
            for overwrite in ["", "--overwrite"] {
                sandbox.refuses(
                    &format!("{line} {output} work {overwrite}"),
                    &[output, "work", "expected a place that is not read"],
                );
            }
        }
    }
}

/// Each command that `help` lists is above, or writes to no place that is named beside what it reads.
#[test]
fn no_command_is_forgotten() {
    let help = Sandbox::new().labelflow("help").succeeded().stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let lines = FILES.iter().map(|command| command.line).chain(FOLDERS.iter().map(|(line, _)| *line));
    let known: Vec<&str> =
        lines.map(|line| line.split(' ').next().unwrap()).chain(["demo", "calibrate", "help"]).collect();
    // Long descriptions go on in further lines.
    for name in
        commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()))
    {
        assert!(known.contains(&name), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_is_known_by_other_names() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::with_model();
    sandbox.write("work/features.csv", sandbox.bytes("features.csv"));
    symlink(sandbox.path("work/features.csv"), sandbox.path("link.csv")).unwrap();
    std::fs::hard_link(sandbox.path("work/features.csv"), sandbox.path("hard.csv")).unwrap();
    symlink(sandbox.path("work"), sandbox.path("here")).unwrap();
    symlink(sandbox.path("model"), sandbox.path("linked")).unwrap();
    let predict = "predict model --features work/features.csv --out";
    let parts = ["expected a place that is not read", "--features work/features.csv"];
    for name in ["link.csv", "hard.csv", "./work/features.csv", "here/features.csv", "model/../work/features.csv"] {
        sandbox.refuses(&format!("{predict} {name}"), &parts);
    }
    sandbox
        .refuses("predict model --features link.csv --out here/features.csv", &["expected a place that is not read"]);
    let eval = "eval model --features features.csv --labels labels.csv --json linked/model.toml";
    sandbox.refuses(eval, &["--json", "MODEL_DIR model"]);
    // Two that are not there yet.
    for (one, other) in
        [("o.csv", "o.csv"), ("o.csv", "./o.csv"), ("work/o.csv", "here/o.csv"), ("work/../o.csv", "o.csv")]
    {
        let label = format!("label --signals signals.csv --save {one} --out {other}");
        sandbox.refuses(&label, &["expected a place of its own", "--save", "--out"]);
    }
    let run = "run run.toml --keep work/kept --models here/kept";
    sandbox.refuses(run, &["expected a place of its own", "--keep", "--models"]);
    // What takes everything may be named twice.
    sandbox.labelflow("label --signals signals.csv --save /dev/null --json /dev/null --out out.csv").succeeded();
}

/// Labels may lie beside a model, parts of features, or what else is not read.
#[test]
fn labels_beside_what_is_read() {
    let sandbox = sandbox_of_writers();
    for out in ["model/labels.csv", "parts/features/labels.csv", "labels.csv.csv"] {
        for _ in 0..2 {
            sandbox.labelflow(&format!("predict parts-model --features parts/features --out {out}")).succeeded();
            sandbox.labelflow(&format!("predict model --features features.csv --out {out}")).succeeded();
        }
    }
    sandbox.labelflow("eval model --features features.csv --labels labels.csv --json model/eval.json").succeeded();
    sandbox.labelflow("report results.json model --out model/page.html --charts model/charts").succeeded();
}

// Folders.

const FILLERS: &[&str] = &[
    FIT_INTO,
    "data synth gaussian --rows 20 --out folder",
    "data synth chairs --rows 1 --out folder",
    "data export digits-planted --out folder",
    "complete completer scan.xyz -n 1 --frame scan --out folder",
    "demo --epochs 2 --out folder",
    "run experiment.toml --keep folder",
    "run shapes.toml --epochs 1 --models folder",
    "run shapes.toml --epochs 1 --pictures folder",
    "report results.json --format html --charts folder",
];
const FIT_INTO: &str = "fit run.toml --features features.csv --signals signals.csv --epochs 2 --out folder";

fn runs(sandbox: &Sandbox, line: &str) {
    let ran = sandbox.labelflow(line);
    assert!(matches!(ran.code, Some(0 | 1)), "{line}: {}", ran.stderr);
}

#[test]
fn files_of_others_stay() {
    let sandbox = sandbox_of_writers();
    for line in FILLERS {
        // Names that these commands, or many others, give their files.
        for name in [
            "notes.txt",
            "features.csv",
            "labels.csv",
            "model.toml",
            "scan/completion-00.ply",
            "loss.svg",
            "report.json",
        ] {
            let _ = std::fs::remove_dir_all(sandbox.path("folder"));
            sandbox.write(&format!("folder/{name}"), "mine");
            sandbox.refuses(line, &[name, "nothing but what labelflow left there", "--overwrite"]);
        }
        let _ = std::fs::remove_dir_all(sandbox.path("folder"));
        sandbox.write("folder/notes.txt", "mine");
        sandbox.write("folder/.DS_Store", "the system's");
        runs(&sandbox, &format!("{line} --overwrite"));
        assert_eq!(sandbox.read("folder/notes.txt"), "mine");
        sandbox.refuses(line, &["folder/notes.txt"]);
        // Again, and over what was there.
        std::fs::remove_file(sandbox.path("folder/notes.txt")).unwrap();
        runs(&sandbox, line);
        runs(&sandbox, line);
    }
}

#[test]
fn what_was_changed_since_is_somebodys_own() {
    let sandbox = Sandbox::new();
    let synth = "data synth gaussian --rows 20 --out folder";
    sandbox.labelflow(synth).succeeded();
    sandbox.write("folder/labels.csv", "label\n0\n");
    sandbox.refuses(synth, &["folder/labels.csv"]);
    sandbox.labelflow(&format!("{synth} --overwrite")).succeeded();
    sandbox.labelflow(synth).succeeded();
}

/// A folder in which the suggestions of the demo were tried.
#[test]
fn folders_within_a_folder() {
    let sandbox = Sandbox::new();
    let demo = "demo --epochs 2 --out folder";
    sandbox.labelflow(demo).succeeded();
    sandbox
        .labelflow("fit --features folder/features.csv --signals folder/signals.csv --epochs 2 --out folder/mine")
        .succeeded();
    sandbox.labelflow("data synth votes --out folder/made").succeeded();
    sandbox.labelflow(demo).succeeded();
}

#[test]
fn a_model_is_trained_again_in_its_folder() {
    let sandbox = Sandbox::with_model();
    sandbox.labelflow(&FIT.replace("30", "5")).succeeded();
    // Interrupted: a checkpoint and no model.
    std::fs::create_dir(sandbox.path("other")).unwrap();
    sandbox.labelflow(&FIT.replace("--out model", "--max-minutes 0 --out stopped")).succeeded();
    std::fs::rename(sandbox.path("stopped/checkpoint.safetensors"), sandbox.path("other/checkpoint.safetensors"))
        .unwrap();
    sandbox.labelflow(&FIT.replace("--out model", "--restart --out other")).succeeded();
    // Labels beside the model are in nobody's way, until it is to be trained anew.
    sandbox.labelflow("predict model --features features.csv --out model/mine.csv").succeeded();
    sandbox.labelflow("calibrate model --features features.csv --labels labels.csv").succeeded();
    sandbox.refuses(FIT, &["model/mine.csv", "--overwrite"]);
    sandbox.labelflow(&format!("{FIT} --overwrite")).succeeded();
    assert!(Path::new(&sandbox.path("model/mine.csv")).exists());
}

// Names that a terminal would obey.

const NAME: &str = "\u{1b}]0;owned\u{7}\u{202e}\u{9b}31m|a";

#[track_caller]
fn assert_shown(text: &str) {
    let obeyed = |sign: char| (sign.is_control() && !"\n\t".contains(sign)) || sign == '\u{202e}';
    assert!(!text.contains(obeyed), "{text:?}");
}

#[test]
fn escapes_in_names_are_seen() {
    let sandbox = Sandbox::with_problem()
        .file("named.csv", format!("{NAME},b\n0,1\n1,0\n1,1\n"))
        .file("cells.csv", format!("a,b\n{NAME},ham\nham,ham\n"))
        .file("bad.csv", format!("{NAME},b\n0,x{NAME}\n"))
        .file("run.toml", format!("'{NAME}' = 3\n"));
    for line in [
        "analyze --signals named.csv --pairs",
        "analyze --signals cells.csv",
        "analyze --signals named.csv --json -",
        "label --signals cells.csv --out out.csv",
        "label --signals named.csv --model triplet --out out.csv",
    ] {
        let ran = sandbox.labelflow(line);
        assert_shown(&ran.stdout);
        assert_shown(&ran.stderr);
    }
    let table = sandbox.labelflow("analyze --signals named.csv").succeeded().stdout;
    assert!(table.contains("\\u{1b}]0;owned\\u{7}\\u{202e}\\u{9b}31m\\|a"), "{table}");
    let json = sandbox.labelflow("analyze --signals named.csv --json -").succeeded().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["name"], NAME);
    for line in ["label --signals bad.csv --out out.csv", "fit run.toml --out model"] {
        let ran = sandbox.labelflow(line).refused(&["\\u{1b}", "owned"]);
        assert_shown(&ran.stderr);
    }
    // For programs it is what it was.
    sandbox.labelflow("label --signals cells.csv --out out.csv").succeeded();
    assert!(sandbox.read("out.csv").contains(NAME));
}

#[test]
fn tables_of_reports_hold_names_of_anybody() {
    let run = |system: &str| serde_json::json!({"table": "=1+1", "set": "a|b", "system": system, "seed": 0, "metric": "accuracy", "value": -1.5, "seconds": 1.0});
    let sandbox =
        Sandbox::new().file("runs.json", serde_json::json!([run(NAME), run("[2pt]"), run("-mv")]).to_string());
    let markdown = sandbox.labelflow("report runs.json").succeeded().stdout;
    assert_shown(&markdown);
    assert!(markdown.contains("a\\|b"), "{markdown}");
    let csv = sandbox.labelflow("report runs.json --format csv").succeeded().stdout;
    assert_shown(&csv);
    assert!(csv.contains("'=1+1,a|b,'-mv,1,-1.5,"), "{csv}");
    let latex = sandbox.labelflow("report runs.json --format latex").succeeded().stdout;
    assert_shown(&latex);
    assert!(latex.contains("a\\textbar{}b") && latex.contains("{[}2pt]"), "{latex}");
    assert_shown(&sandbox.labelflow("report runs.json --format json").succeeded().stdout);
}
