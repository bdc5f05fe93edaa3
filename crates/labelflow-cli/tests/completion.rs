//! From shapes to completed scans, from the command line.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

/// The smallest networks that still have every part.
const RUN: &str = "
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
max_epochs = 2
batch_size = 4
statistics_batches = 4
";

/// Two legs of a table in millimetres, far away on a map.
fn scan() -> String {
    let mut text = String::new();
    for leg in [0.0, 600.0] {
        for step in 0..40 {
            let height = f64::from(step) * 18.0;
            text += &format!("{} 5000000123.0 {height}\n", 400_000_456.0 + leg);
        }
    }
    text
}

fn with_model() -> Sandbox {
    let sandbox = Sandbox::new().file("run.toml", RUN).file("scan.xyz", scan());
    sandbox.labelflow("data synth tables --rows 8 --out tables").succeeded();
    sandbox.labelflow("fit run.toml --shapes tables --out model").succeeded();
    sandbox
}

#[test]
fn a_scan_is_completed_where_it_was() {
    let sandbox = with_model();
    sandbox.labelflow("complete model scan.xyz -n 3 --points 100 --out out").succeeded();
    for name in ["sheet.png", "viewer.html", "report.json"] {
        assert!(sandbox.path(&format!("out/{name}")).exists(), "{name}");
    }
    let report = &sandbox.json("out/report.json")[0];
    assert_eq!(report["scan"], "scan");
    assert_eq!(report["files"].as_array().unwrap().len(), 3);
    // The middle of the whole is within a metre or so of the scan, in its units.
    let centre: Vec<f64> = report["center"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert!((centre[0] - 400_000_756.0).abs() < 2000.0, "{centre:?}");
    assert!((centre[1] - 5_000_000_123.0).abs() < 2000.0, "{centre:?}");
    // Completions lie there too.
    sandbox.write("scans/scan.xyz", scan());
    sandbox.labelflow("metrics out/scan scans --json metrics.json").succeeded();
    let mmd = sandbox.json("metrics.json")["mmd"].as_f64().unwrap();
    assert!(mmd < 2.0 * 2000f64.powi(2), "{mmd}");
    // Again: the same files to the last byte.
    sandbox.labelflow("complete model scan.xyz -n 3 --points 100 --out again").succeeded();
    for name in ["scan/completion-00.ply", "scan/completion-02.ply", "sheet.png"] {
        let read = |folder: &str| std::fs::read(sandbox.path(&format!("{folder}/{name}"))).unwrap();
        assert_eq!(read("out"), read("again"), "{name}");
    }
}

#[test]
fn folders_and_options_are_taken() {
    let sandbox = with_model();
    sandbox.write("scans/a.xyz", scan());
    sandbox.write("scans/b.xyz", scan());
    sandbox
        .labelflow(
            "complete model scans -n 1 --frame 400000756,5000000123,360,700 --latent prior --temperature 0.5 --keep-input \
             --format npy --seed 3 --out out",
        )
        .succeeded();
    for name in ["a", "b"] {
        assert!(sandbox.path(&format!("out/{name}/completion-00.npy")).exists());
    }
    assert_eq!(sandbox.json("out/report.json")[1]["scale"].as_f64(), Some(0.5 / 700.0));
}

#[test]
fn scans_can_be_trained_on() {
    let sandbox = with_model();
    sandbox.write("scans/a.xyz", scan());
    sandbox.write("scans/b.xyz", scan());
    sandbox.write("shapes/whole.xyz", scan());
    sandbox.labelflow("fit run.toml --shapes shapes --scans scans --out other").succeeded();
    // Without scans, a shape must have parts that can be taken away.
    sandbox.refuses("fit run.toml --shapes shapes --out third", &["whole.xyz", "--scans"]);
}

#[test]
fn wrong_inputs_are_errors() {
    let sandbox = with_model();
    sandbox.write("empty.xyz", "");
    sandbox.write("nan.xyz", "1 2 nan\n");
    sandbox.write("sub/scan.xyz", scan());
    sandbox.refuses("complete model empty.xyz --out out", &["empty.xyz"]);
    sandbox.refuses("complete model nan.xyz --out out", &["nan.xyz", "line 1"]);
    sandbox.refuses("complete model nowhere.ply --out out", &["nowhere.ply"]);
    sandbox.refuses("complete tables scan.xyz --out out", &["model.toml"]);
    sandbox.refuses("complete model scan.xyz --frame big --out out", &["--frame", "'big'"]);
    sandbox.refuses("complete model scan.xyz --frame 0,0,0,-1 --out out", &["--frame"]);
    sandbox.refuses("complete model scan.xyz --frame same --out out", &["frame"]);
    sandbox.refuses("complete model scan.xyz -n 0 --out out", &["n_completions"]);
    sandbox.refuses("complete model scan.xyz sub/scan.xyz --out out", &["'scan' twice"]);
    sandbox.refuses("predict model --features scan.xyz", &["labelflow complete"]);
    sandbox.refuses("fit run.toml --shapes tables --signals s.csv --out o", &["--signals"]);
    // One point is a scan too.
    sandbox.write("point.xyz", "1 2 3\n");
    sandbox.labelflow("complete model point.xyz -n 1 --out out").succeeded();
}

/// The smallest networks of systems with codes that still have every part.
const CODES: &str = "
n_partial_points = 32
n_points = 64
encoder_widths = [8, 12]
decoder_widths = [16]
statistics_batches = 2
";

/// Those of shape-inversion and of kt-net.
const INVERSION: &str = "
n_partial_points = 32
d_noise = 4
generator_widths = [8]
degrees = [4, 16]
discriminator_widths = [8, 12]
discriminator_head = [6]
inversion.n_candidates = 8
inversion.n_nearest = 4
inversion.n_iterations = 2
";
const TRANSFER: &str = "
n_partial_points = 32
n_points = 64
encoder_widths = [8, 10, 12]
d_code = 16
d_fine = 8
discriminator_widths = [8]
";

#[test]
fn every_system_is_trained_by_name_and_completes() {
    let sandbox = Sandbox::new().file("scan.xyz", scan());
    for (name, settings) in [("codes", CODES), ("inversion", INVERSION), ("transfer", TRANSFER)] {
        sandbox.write(&format!("{name}.toml"), format!("[config]{settings}"));
    }
    sandbox.labelflow("data synth tables --rows 6 --out tables").succeeded();
    for (system, file, n) in [
        ("pcl2pcl", "codes", 1),
        ("mm-pcl2pcl", "codes", 3),
        ("mm-pcl2pcl-im", "codes", 3),
        ("shape-inversion", "inversion", 3),
        ("kt-net", "transfer", 1),
    ] {
        let flags = "--shapes tables --epochs 2 --batch-size 3 --seed 1";
        let fit = format!("fit {file}.toml --system {system} {flags} --out {system}");
        sandbox.labelflow(&fit).succeeded();
        let complete = format!("complete {system} scan.xyz -n 3 --points 50 --out out-{system}");
        let run = sandbox.labelflow(&complete).succeeded();
        assert_eq!(run.stderr.contains("one completion"), n == 1, "{}", run.stderr);
        let report = &sandbox.json(&format!("out-{system}/report.json"))[0];
        assert_eq!(report["files"].as_array().unwrap().len(), n);
        assert_eq!(report["scores"].as_array().unwrap().len(), n);
        // The frame was searched: the middle of the whole is near the scan.
        let center = report["center"][0].as_f64().unwrap();
        assert!((center - 400_000_756.0).abs() < 2000.0, "{center}");
        // Of the settings in the folder the same weights come again.
        sandbox.labelflow(&format!("fit --from {system}")).succeeded();
        let weights = |folder: &str| std::fs::read(sandbox.path(&format!("{folder}/weights.safetensors"))).unwrap();
        assert!(weights(system) == weights(&format!("{system}-again")));
        sandbox.labelflow(&format!("report {system} --out {system}.html")).succeeded();
        sandbox.refuses(&format!("predict {system} --features scan.xyz"), &["labelflow complete"]);
    }
    // Shapes without parts are enough where no partial cloud is learned from.
    sandbox.write("wholes/a.xyz", scan());
    sandbox.write("wholes/b.xyz", scan());
    let fit = "--shapes wholes --epochs 1 --out wholes-model";
    sandbox.labelflow(&format!("fit inversion.toml --system shape-inversion {fit}")).succeeded();
    sandbox.refuses(&format!("fit transfer.toml --system kt-net {fit}"), &["--scans"]);
    let fit = "fit codes.toml --shapes tables --out o";
    sandbox.refuses(&format!("{fit} --system pcl"), &["mm-pcl2pcl-im", "'pcl'"]);
    sandbox.refuses(&format!("{fit} --system pcl2pcl --likelihood-weight 1"), &["likelihood"]);
    sandbox.refuses("fit --system pcl2pcl --task regression --out o", &["--system"]);
    sandbox.refuses(fit, &["decoder_widths"]);
}

/// Time that is up ends training in any stage, and the same command goes on from there.
#[test]
fn training_in_stages_goes_on_after_its_time_is_up() {
    let run = format!("[config]{CODES}");
    let sandbox = Sandbox::new().file("codes.toml", run).file("scan.xyz", scan());
    sandbox.labelflow("data synth tables --rows 6 --out tables").succeeded();
    let fit = "fit codes.toml --system mm-pcl2pcl --shapes tables --epochs 3";
    sandbox.labelflow(&format!("{fit} --out whole")).succeeded();
    let mut n_runs = 0;
    // No time at all is one epoch a run.
    while n_runs < 9 {
        let run = sandbox.labelflow(&format!("{fit} --max-minutes 0 --out parts")).succeeded();
        n_runs += 1;
        if n_runs == 4 {
            sandbox.labelflow("complete parts scan.xyz -n 2 --frame scan --out early").succeeded();
        }
        if !run.stderr.contains("checkpoint stays") {
            break;
        }
    }
    sandbox.labelflow(&format!("{fit} --out parts")).succeeded();
    let weights = |folder: &str| std::fs::read(sandbox.path(&format!("{folder}/weights.safetensors"))).unwrap();
    assert!(n_runs > 5, "{n_runs}");
    assert!(weights("whole") == weights("parts"));
}

/// The systems that LLF is compared with stand in tables beside it; their models are kept, and `complete` takes them.
#[test]
fn other_systems_are_compared_by_name() {
    let run = "
table = \"t\"
set = \"tables\"
seeds = [0]
[systems.pcl2pcl]
[systems.mm-pcl2pcl]
[systems.mm-pcl2pcl-im]
[systems.shape-inversion]
[systems.kt-net]
[systems.copy-input]
[data]
n_train_shapes = 6
n_test_shapes = 3
[codes]
encoder_widths = [8, 12]
decoder_widths = [16]
statistics_batches = 2
[inversion]
d_noise = 4
generator_widths = [8]
degrees = [4, 16]
discriminator_widths = [8]
inversion = { n_candidates = 12, n_iterations = 1 }
[transfer]
encoder_widths = [8, 10, 12]
d_code = 16
d_fine = 8
[config]
n_partial_points = 32
n_points = 64
";
    let sandbox = Sandbox::new().file("run.toml", run).file("scan.xyz", scan());
    let command = "run run.toml --epochs 2 --models models --pictures sheets --json out.json";
    let printed = sandbox.labelflow(command).succeeded().stdout;
    // Three scans; the input, six systems and the truth.
    let sheet = std::fs::read(sandbox.path("sheets/tables-0.png")).unwrap();
    let size = |at: usize| u32::from_be_bytes(sheet[at..at + 4].try_into().unwrap());
    assert!(size(16) > 8 * 240 && size(16) < 9 * 280, "{}", size(16));
    assert!(size(20) > 3 * 240 && size(20) < 4 * 300, "{}", size(20));
    assert!(printed.contains("ms per completion"), "{printed}");
    let results = sandbox.json("out.json");
    let value = |system: &str, metric: &str| {
        let of = |one: &&serde_json::Value| one["system"] == system && one["metric"] == metric;
        results.as_array().unwrap().iter().find(of).unwrap()["value"].as_f64().unwrap()
    };
    assert!(value("pcl2pcl", "tmd") == 0.0 && value("kt-net", "tmd") == 0.0);
    assert!(value("shape-inversion", "tmd") > 0.0);
    assert!(value("mm-pcl2pcl", "tmd") > 0.0 && value("mm-pcl2pcl-im", "tmd") > 0.0);
    assert!(value("pcl2pcl", "mmd").is_finite() && value("copy-input", "uhd") == 0.0);
    let folders: Vec<String> = std::fs::read_dir(sandbox.path("models"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("mm-pcl2pcl-0"))
        .collect();
    let [folder] = folders.as_slice() else { panic!("{folders:?}") };
    sandbox.labelflow(&format!("complete models/{folder} scan.xyz -n 2 --out out")).succeeded();
    // The kept models give the same again.
    sandbox.labelflow("run run.toml --epochs 2 --models models --json again.json").succeeded();
    let again = sandbox.json("again.json");
    for (one, other) in results.as_array().unwrap().iter().zip(again.as_array().unwrap()) {
        assert_eq!(one["value"], other["value"]);
    }
    let short = "run run.toml --systems kt-net --epochs 3 --max-minutes 0 --models models";
    sandbox.labelflow(&format!("{short} --json short.json")).succeeded();
    let short = &sandbox.json("short.json")[0];
    assert!(short["n_epochs"] == 1 && short["stop"] == "time-limit", "{short}");
    sandbox
        .file("bad.toml", run.replace("statistics_batches", "no_such"))
        .refuses("run bad.toml", &["codes", "no_such"]);
}
