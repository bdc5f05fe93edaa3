//! pcl2pcl, mm-pcl2pcl and mm-pcl2pcl-im on synthetic chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clouds;

use clouds::{Keep, chairs, partial, scores, suite};
use labelflow::SavedModel;
use labelflow::storage::ModelTask;
use labelflow_clouds::completers::{
    CodeCompleter, Completer, CompletionDataset, CompletionLearner, CompletionOptions, FittedCodeCompleter,
    FittedPointCloudCompleter, StageTraining,
};
use labelflow_clouds::geometry::shape_stream;
use labelflow_clouds::metrics::{AnnealedMatching, directed_hausdorff};

/// The smallest networks that still have every part, for a few epochs of each stage.
fn tiny(config: CodeCompleter, max_epochs: usize) -> CodeCompleter {
    let config = config.small();
    let stage = |stage: StageTraining| StageTraining { max_epochs, batch_size: 4, ..stage };
    CodeCompleter {
        n_partial_points: 24,
        n_points: 32,
        encoder_widths: vec![8, 12],
        decoder_widths: vec![16],
        d_noise: config.d_noise.min(3),
        statistics_batches: 3,
        autoencoder: stage(config.autoencoder),
        variational: stage(config.variational),
        players: stage(config.players),
        ..config
    }
}

#[test]
fn they_do_what_every_learner_does() {
    for (config, n_epochs) in
        [(CodeCompleter::pcl2pcl(), 4), (CodeCompleter::mm_pcl2pcl(), 6), (CodeCompleter::mm_pcl2pcl_im(), 4)]
    {
        let config = tiny(config, 2);
        let other = CodeCompleter { seed: 1, ..config.clone() };
        suite::goes_on_after_any_epoch(&config, &other, n_epochs);
        let task = ModelTask::CodeCompletion;
        suite::is_saved_whole::<_, FittedPointCloudCompleter>(&config, task);
        let model = suite::heeds_options(&config, 32);
        assert_eq!(model.is_deterministic(), config.d_noise == 0);
        // Without noise all completions are one.
        let scan = partial(&chairs("train", 1)[0], 50);
        let options = CompletionOptions { n_completions: 2, ..CompletionOptions::default() };
        let cold = CompletionOptions { temperature: 0.0, ..options };
        let cold = model.complete(&scan, &cold).unwrap();
        assert_eq!(cold.first(), cold.last());
    }
}

/// The networks whose weights an epoch of a run changes, from the checkpoint after one epoch to that after another.
fn changed(kept: &Keep, from: usize, to: usize) -> Vec<&'static str> {
    // Weights alone: statistics of an autoencoder settle when the next stage begins.
    let (from, to) = (&kept.0[from].state, &kept.0[to].state);
    let parts = ["autoencoder", "variational", "generator", "discriminator", "reader"];
    let is_changed = |part: &&str| {
        from.iter().any(|(name, data)| name.starts_with(*part) && name.contains("weight") && to[name] != *data)
    };
    parts.into_iter().filter(is_changed).collect()
}

#[test]
fn every_stage_moves_its_own_networks_only() {
    let dataset = CompletionDataset::from_parts(chairs("train", 8), 0).unwrap();
    let mut kept = Keep::default();
    tiny(CodeCompleter::mm_pcl2pcl(), 2).fit_with(&dataset, None, &mut kept).unwrap();
    assert_eq!(changed(&kept, 0, 1), ["autoencoder"]);
    assert_eq!(changed(&kept, 2, 3), ["variational"]);
    assert_eq!(changed(&kept, 1, 3), ["variational"]);
    assert_eq!(changed(&kept, 3, 5), ["generator", "discriminator"]);
    let mut kept = Keep::default();
    tiny(CodeCompleter::mm_pcl2pcl_im(), 2).fit_with(&dataset, None, &mut kept).unwrap();
    assert_eq!(changed(&kept, 0, 1), ["autoencoder"]);
    assert_eq!(changed(&kept, 2, 3), ["generator", "discriminator", "reader"]);
}

/// The autoencoder comes as near to a shape that it knows by heart as another sample of that shape does.
#[test]
fn one_shape_is_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let sample = |role: &str| shape.complete(64, &mut shape_stream(0, shape.id(), role)).unwrap();
    let target = sample("target");
    let dataset = CompletionDataset::from_scans(vec![partial(&shape, 32); 4], vec![shape.points().clone(); 4]).unwrap();
    let cost = |max_epochs: usize| {
        let base = tiny(CodeCompleter::pcl2pcl(), 1);
        let autoencoder = StageTraining { max_epochs, learning_rate_decay: 0.995, ..base.autoencoder.clone() };
        let config = CodeCompleter { n_points: 64, autoencoder, ..base };
        let model = config.fit(&dataset).unwrap();
        let rebuilt = model.reconstruct(&target).unwrap();
        AnnealedMatching::between(&rebuilt, &target).unwrap().mean_cost()
    };
    let floor = AnnealedMatching::between(&sample("other"), &target).unwrap().mean_cost();
    let (start, end) = (cost(1), cost(400));
    eprintln!("cost a point {start}, then {end}; of another sample {floor}");
    assert!(end < floor, "{end} and {floor}");
    assert!(start > 5.0 * floor, "{start} and {floor}");
}

/// The variational autoencoder too, though its codes are noisy; and the completion of the shape's scan has the scan in it: the largest distance is
/// below twice that of another sample.
#[test]
fn one_shape_and_its_scan_are_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let sample = |role: &str| shape.complete(64, &mut shape_stream(0, shape.id(), role)).unwrap();
    let (other, scan) = (sample("other"), partial(&shape, 32));
    let dataset = CompletionDataset::from_scans(vec![scan.clone(); 4], vec![shape.points().clone(); 4]).unwrap();
    let base = tiny(CodeCompleter::mm_pcl2pcl(), 1);
    let long = |stage: &StageTraining| StageTraining { max_epochs: 300, learning_rate_decay: 0.995, ..stage.clone() };
    let config = CodeCompleter {
        n_points: 64,
        autoencoder: long(&base.autoencoder),
        variational: long(&base.variational),
        players: StageTraining { learning_rate_decay: 1.0, ..long(&base.players) },
        ..base
    };
    let model = config.fit(&dataset).unwrap();
    let history = &model.report().history;
    let rebuilt = history[599].terms["reconstruction"] / 64.0;
    let floor = AnnealedMatching::between(&other, &sample("target")).unwrap().mean_cost();
    let completion = model.complete(&scan, &CompletionOptions::default()).unwrap().remove(0);
    let distance = directed_hausdorff(&scan, &completion).distance;
    let nearest = directed_hausdorff(&scan, &other).distance;
    let start = history[300].terms["reconstruction"] / 64.0;
    eprintln!("cost a point {start}, then {rebuilt}, of another sample {floor}");
    eprintln!("{distance} away, another sample {nearest}");
    assert!(rebuilt < floor && start > floor);
    assert!(distance < 2.0 * nearest);
}

/// Before anything is learned all scores are about 0, so that least squares give 1 to the generator and ½ to the discriminator; and noise is no
/// nearer to what is read than to other noise, 2/√π.
#[test]
fn losses_at_the_start() {
    let dataset = CompletionDataset::from_parts(chairs("train", 8), 0).unwrap();
    for config in [CodeCompleter::mm_pcl2pcl(), CodeCompleter::mm_pcl2pcl_im()] {
        let mut config = tiny(config, 1);
        for stage in [&mut config.autoencoder, &mut config.variational, &mut config.players] {
            stage.learning_rate = 1e-12;
        }
        let model = config.fit(&dataset).unwrap();
        let terms = &model.report().history.last().unwrap().terms;
        assert!((terms["adversarial"] - 1.0).abs() < 0.02, "{terms:?}");
        assert!((terms["discriminator"] - 0.5).abs() < 0.02, "{terms:?}");
        assert!(terms["recovery"] > std::f64::consts::FRAC_2_SQRT_PI, "{terms:?}");
    }
}

/// Trained completions come nearer to test shapes than what was scanned of them; without training they do not.
#[test]
fn completions_beat_copies_of_the_scans() {
    let dataset = CompletionDataset::from_parts(chairs("train", 64), 0).unwrap();
    let config = CodeCompleter::pcl2pcl().small();
    let trained = scores(&config.fit(&dataset).unwrap(), config.n_points);
    assert!(trained.matching < 0.85 * trained.copied);
    assert_eq!(trained.difference, 0.0);
    let nothing = |stage: &StageTraining| StageTraining { learning_rate: 1e-12, ..stage.clone() };
    let untrained = CodeCompleter {
        autoencoder: StageTraining { max_epochs: 1, ..nothing(&config.autoencoder) },
        players: StageTraining { max_epochs: 1, ..nothing(&config.players) },
        ..config
    };
    let untrained = scores(&untrained.fit(&dataset).unwrap(), untrained.n_points);
    assert!(untrained.matching > untrained.copied);
}

#[test]
fn noise_makes_completions_differ() {
    let dataset = CompletionDataset::from_parts(chairs("train", 64), 0).unwrap();
    for config in [CodeCompleter::mm_pcl2pcl(), CodeCompleter::mm_pcl2pcl_im()] {
        let mut config = config.small();
        config.players.max_epochs = 70;
        noise_is_heeded(&config.fit(&dataset).unwrap());
    }
}

fn noise_is_heeded(model: &FittedCodeCompleter) {
    let recovery = model.report().history.last().unwrap().terms["recovery"];
    eprintln!("recovery {recovery}");
    // Noise that nothing reads back is 2/√π from what is read, when that is as good as drawn anew.
    assert!(recovery < 0.9 * std::f64::consts::FRAC_2_SQRT_PI);
    let trained = scores(model, model.config().n_points);
    assert!(trained.matching < trained.copied);
    assert!(trained.difference > 1e-3);
}

#[test]
fn bad_settings_are_errors() {
    let dataset = CompletionDataset::from_parts(chairs("train", 2), 0).unwrap();
    let base = tiny(CodeCompleter::pcl2pcl(), 1);
    let bad = [
        CodeCompleter { n_points: 0, ..base.clone() },
        CodeCompleter { encoder_widths: vec![], ..base.clone() },
        CodeCompleter { generator_widths: vec![0], ..base.clone() },
        CodeCompleter { hausdorff_weight: f64::NAN, ..base.clone() },
        CodeCompleter { player_deviation: Some(0.0), ..base.clone() },
        CodeCompleter { statistics_batches: 0, ..base.clone() },
        CodeCompleter { joint_reader: true, ..base.clone() },
        CodeCompleter { players: StageTraining { max_epochs: 0, ..base.players.clone() }, ..base.clone() },
    ];
    for config in bad {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
}
