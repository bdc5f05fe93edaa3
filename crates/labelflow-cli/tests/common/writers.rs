//! Every command that writes, with two outcomes.

use super::{FIT, Sandbox};

pub(crate) const COMPLETE: &str = "fit completion.toml --shapes tables --checkpoint-every 1";

const COMPLETION: &str = "
[config]
n_partial_points = 32
n_points = 64
n_steps = 2
d_hidden = 8
d_latent = 4
feature_widths = [8, 16]
discriminator_widths = [8, 16]
discriminator_head = [16]
[config.training]
max_epochs = 8
batch_size = 4
statistics_batches = 4
";

/// Small problems of all three tasks.
pub(crate) fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_problem()
        .file("rules-run.toml", "range = [0, 100]\n[config]\nn_steps = 2\nd_hidden = 8\n")
        .file("rules.csv", "feature,threshold,above,below\na,1.5,60 to 70,35\nb,50,40 +- 9,55\n")
        .file("completion.toml", COMPLETION);
    sandbox.labelflow("data synth tables --rows 6 --out tables").succeeded();
    sandbox
}

/// A command that writes into the folder `out`, with two outcomes.
pub(crate) struct Writer {
    pub(crate) name: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
}

pub(crate) const WRITERS: &[Writer] = &[
    Writer {
        name: "predict csv",
        old: "predict model --features features.csv --out out/labels.csv",
        new: "predict model --features features.csv --samples 3 --out out/labels.csv",
    },
    Writer {
        name: "predict parquet",
        old: "predict model --features features.csv --out out/labels.parquet",
        new: "predict model --features features.csv --samples 3 --out out/labels.parquet",
    },
    Writer {
        name: "predict npz",
        old: "predict model --features features.csv --out out/labels.npz",
        new: "predict model --features features.csv --samples 3 --out out/labels.npz",
    },
    Writer {
        name: "predict in parts",
        old: "predict parts-model --features parts/features --out out/labels.parquet",
        new: "predict parts-model --features parts/features --samples 3 --out out/labels.parquet",
    },
    Writer {
        name: "label in parts",
        old: "label --signals parts/signals --out out/labels.csv --write-counts out/counts.csv",
        new: "label --signals parts/signals --model dawid-skene --out out/labels.csv --write-counts out/counts.csv",
    },
    Writer {
        name: "data export",
        old: "data export digits-planted --out out/exported",
        new: "data export digits-planted --rows-per-part 200 --out out/exported",
    },
    Writer {
        name: "eval",
        old: "eval model --features features.csv --labels labels.csv --json out/metrics.json",
        new: "eval model --features features.csv --labels others.csv --json out/metrics.json",
    },
    Writer {
        name: "label",
        old: "label --signals signals.csv --out out/labels.csv --save out/model.json --json out/report.json",
        new: "label --signals signals.csv --model dawid-skene --out out/labels.csv --save out/model.json --json out/report.json",
    },
    Writer {
        name: "analyze",
        old: "analyze --signals signals.csv --csv out/labelers.csv --json out/labelers.json",
        new: "analyze --signals signals.csv --labels labels.csv --pairs --csv out/labelers.csv --json out/labelers.json",
    },
    Writer {
        name: "votes",
        old: "votes --texts texts.csv --rules keywords.toml --out out/votes.csv",
        new: "votes --texts texts.csv --column title --rules keywords.toml --out out/votes.csv",
    },
    Writer {
        name: "run",
        old: "run experiment.toml --seeds 0 --keep out/kept --json out/runs.json",
        new: "run experiment.toml --seeds 0,1,2 --keep out/kept --json out/runs.json",
    },
    Writer {
        name: "report",
        old: "report results.json --out out/table.md",
        new: "report results.json --format json --out out/table.md",
    },
    Writer {
        name: "complete",
        old: "complete completer scan.xyz -n 2 --frame scan --out out/completed",
        new: "complete completer scan.xyz -n 2 --frame scan --seed 1 --out out/completed",
    },
    Writer {
        name: "metrics",
        old: "metrics scan.xyz scan.xyz --json out/metrics.json",
        new: "metrics scan.xyz other.xyz --json out/metrics.json",
    },
    Writer {
        name: "data synth votes",
        old: "data synth votes --rows 300 --out out/made",
        new: "data synth votes --rows 300 --seed 1 --out out/made",
    },
    Writer {
        name: "data synth gaussian",
        old: "data synth gaussian --rows 300 --out out/made",
        new: "data synth gaussian --rows 300 --seed 1 --out out/made",
    },
    Writer {
        name: "data synth regression",
        old: "data synth regression --rows 300 --out out/made",
        new: "data synth regression --rows 300 --seed 1 --out out/made",
    },
    Writer {
        name: "data synth chairs",
        old: "data synth chairs --rows 2 --out out/made",
        new: "data synth chairs --rows 2 --seed 1 --out out/made",
    },
    Writer { name: "data list", old: "data list --json out/sets.json", new: "data list --json out/sets.json" },
    Writer { name: "man", old: "man --out out/man", new: "man --out out/man" },
    Writer {
        name: "fit over an old model",
        old: "fit run.toml --features features.csv --signals signals.csv --epochs 5 --out out/model",
        new: "fit run.toml --features features.csv --signals signals.csv --epochs 5 --seed 1 --restart --out out/model",
    },
    Writer {
        name: "run of completers",
        old: "run shapes.toml --epochs 2 --models out/models --json out/runs.json",
        new: "run shapes.toml --epochs 12 --models out/models --json out/runs.json",
    },
    Writer { name: "demo", old: "demo --epochs 3 --out out/demo", new: "demo --epochs 3 --seed 1 --out out/demo" },
];

/// What the writers read.
pub(crate) fn sandbox_of_writers() -> Sandbox {
    let sandbox = sandbox()
        .file("texts.csv", "text,title\na good film,never again\nbad,a great day\n")
        .file("keywords.toml", "classes = [\"no\", \"yes\"]\n[[labelers]]\nclass = \"yes\"\nkeywords = [\"good\", \"great\"]\n\
            [[labelers]]\nclass = \"no\"\nkeywords = [\"bad\", \"never\"]\n")
        .file("experiment.toml", "table = \"t\"\nset = \"digits-planted\"\nseeds = [0]\n[systems.mv]\n")
        .file("shapes.toml", format!("table = \"t\"\nset = \"chairs\"\nseeds = [0]\n[systems.llf]\n[data]\nn_train_shapes = 4\nn_test_shapes = 1\n{COMPLETION}"))
        .file("scan.xyz", "0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n")
        .file("other.xyz", "0 0 0\n1 0 0\n0 1 0\n0 0 2\n1 1 1\n")
        .file("others.csv", "label\n".to_owned() + &"0\n1\n1\n".repeat(20));
    sandbox.labelflow(FIT).succeeded();
    let completer = COMPLETE.replace("--checkpoint-every 1", "--epochs 1 --out completer");
    sandbox.labelflow(&completer).succeeded();
    sandbox.labelflow("run experiment.toml --json results.json").succeeded();
    let parts = "data synth gaussian --rows 90 --features 3 --labelers 3 --rows-per-part 30 --out parts";
    sandbox.labelflow(parts).succeeded();
    let fit =
        "fit run.toml --features parts/features --signals parts/signals --bounds 0.3 --epochs 2 --out parts-model";
    sandbox.labelflow(fit).succeeded();
    sandbox
}
