//! pcl2pcl, mm-pcl2pcl and mm-pcl2pcl-im on made-up chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clouds;

use clouds::{Keep, chairs, partial, scores};
use labelflow::weak::point_clouds::{AnnealedMatching, PointSet, directed_hausdorff, shape_stream};
use labelflow::{
    Checkpoint, CodeCompleter, CompletionDataset, CompletionOptions, FittedCodeCompleter,
    FittedPointCloudCompleter, ModelTask, StageTraining, StopReason,
};

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
fn runs_resumed_in_any_stage_and_between_stages_end_with_the_same_bits() {
    let dataset = CompletionDataset::from_parts(chairs("train", 8), 0).unwrap();
    for (config, n_epochs) in
        [(CodeCompleter::mm_pcl2pcl(), 6), (CodeCompleter::mm_pcl2pcl_im(), 4)]
    {
        let config = tiny(config, 2);
        let mut kept = Keep::default();
        let whole = config.fit_with(&dataset, None, &mut kept).unwrap();
        assert_eq!(whole.report().history.len(), n_epochs);
        assert_eq!(whole.report().stop, StopReason::MaxEpochs);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint.safetensors");
        for checkpoint in kept.0 {
            checkpoint.save(&path).unwrap();
            let checkpoint = Checkpoint::load(&path).unwrap();
            let resumed = config.fit_with(&dataset, Some(checkpoint), &mut ()).unwrap();
            assert!(resumed.to_bytes() == whole.to_bytes());
        }
        let checkpoint = Checkpoint::load(&path).unwrap();
        let other = CodeCompleter { seed: 1, ..config };
        assert!(other.fit_with(&dataset, Some(checkpoint), &mut ()).is_err());
    }
}

/// The networks whose weights an epoch of a run changes, from the checkpoint after one epoch to that after another.
fn changed(kept: &Keep, from: usize, to: usize) -> Vec<&'static str> {
    // Weights alone: statistics of an autoencoder settle when the next stage begins.
    let (from, to) = (&kept.0[from].state, &kept.0[to].state);
    let parts = ["autoencoder", "variational", "generator", "discriminator", "reader"];
    let is_changed = |part: &&str| {
        from.iter().any(|(name, data)| {
            name.starts_with(*part) && name.contains("weight") && to[name] != *data
        })
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

#[test]
fn a_saved_model_completes_as_before() {
    let shapes = chairs("train", 8);
    let scan = partial(&shapes[0], 50);
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let options = CompletionOptions { n_completions: 3, ..CompletionOptions::default() };
    for config in
        [CodeCompleter::pcl2pcl(), CodeCompleter::mm_pcl2pcl(), CodeCompleter::mm_pcl2pcl_im()]
    {
        let model = tiny(config, 2).fit(&dataset).unwrap();
        let folder = tempfile::tempdir().unwrap();
        model.save(folder.path()).unwrap();
        assert_eq!(ModelTask::of_folder(folder.path()).unwrap(), ModelTask::CodeCompletion);
        let loaded = FittedCodeCompleter::load(folder.path()).unwrap();
        let completions = model.complete(&scan, &options).unwrap();
        assert_eq!(loaded.complete(&scan, &options).unwrap(), completions);
        assert_eq!(loaded.config(), model.config());
        let again = FittedCodeCompleter::from_bytes(&model.to_bytes()).unwrap();
        assert!(again.to_bytes() == model.to_bytes());
        let error = FittedPointCloudCompleter::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("code-completion"), "{error}");
    }
}

#[test]
fn options_do_what_they_say() {
    let shapes = chairs("train", 8);
    let scan = partial(&shapes[0], 50);
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let two = CompletionOptions { n_completions: 2, ..CompletionOptions::default() };
    let one_way = tiny(CodeCompleter::pcl2pcl(), 2).fit(&dataset).unwrap();
    let only = one_way.complete(&scan, &two).unwrap();
    assert!(one_way.is_deterministic() && only.len() == 1 && only[0].len() == 32);
    let model = tiny(CodeCompleter::mm_pcl2pcl(), 2).fit(&dataset).unwrap();
    let complete = |options: CompletionOptions| model.complete(&scan, &options).unwrap();
    let base = complete(two.clone());
    assert!(!model.is_deterministic() && base[0] != base[1]);
    assert_eq!(base, complete(two.clone()));
    assert_ne!(base, complete(CompletionOptions { seed: 1, ..two.clone() }));
    let cold = complete(CompletionOptions { temperature: 0.0, ..two.clone() });
    assert_eq!(cold[0], cold[1]);
    let many = complete(CompletionOptions { n_points: Some(70), ..two.clone() });
    assert_eq!(many[1].len(), 70);
    let kept = complete(CompletionOptions { keep_input: true, ..two.clone() });
    assert!(kept[0].as_slice().iter().any(|point| scan.as_slice().contains(point)));
    assert!(model.complete(&scan, &CompletionOptions { n_completions: 0, ..two }).is_err());
    let far = PointSet::new(vec![[1e6; 3]]).unwrap();
    assert!(model.complete(&far, &CompletionOptions::default()).is_err());
}

/// The autoencoder comes as near to a shape that it knows by heart as another sample of that shape does.
#[test]
fn one_shape_is_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let sample = |role: &str| shape.complete(64, &mut shape_stream(0, shape.id(), role)).unwrap();
    let target = sample("target");
    let dataset = CompletionDataset::from_scans(
        vec![partial(&shape, 32); 4],
        vec![shape.points().clone(); 4],
    )
    .unwrap();
    let cost = |max_epochs: usize| {
        let base = tiny(CodeCompleter::pcl2pcl(), 1);
        let autoencoder = StageTraining { max_epochs, decay: 0.995, ..base.autoencoder.clone() };
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
    let dataset =
        CompletionDataset::from_scans(vec![scan.clone(); 4], vec![shape.points().clone(); 4])
            .unwrap();
    let base = tiny(CodeCompleter::mm_pcl2pcl(), 1);
    let long =
        |stage: &StageTraining| StageTraining { max_epochs: 300, decay: 0.995, ..stage.clone() };
    let config = CodeCompleter {
        n_points: 64,
        autoencoder: long(&base.autoencoder),
        variational: long(&base.variational),
        players: StageTraining { decay: 1.0, ..long(&base.players) },
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
        CodeCompleter {
            players: StageTraining { max_epochs: 0, ..base.players.clone() },
            ..base.clone()
        },
    ];
    for config in bad {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
}
