//! KT-Net on made-up chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clouds;

use clouds::{Keep, chairs, partial, scores};
use labelflow::weak::point_clouds::{AnnealedMatching, PointSet, directed_hausdorff, shape_stream};
use labelflow::{
    Checkpoint, CompletionDataset, CompletionOptions, FittedKnowledgeTransfer,
    FittedShapeInversion, KnowledgeTransfer, ModelTask, StageTraining,
};

/// The smallest networks that still have every part, for a few epochs.
fn tiny(max_epochs: usize) -> KnowledgeTransfer {
    let small = KnowledgeTransfer::default().small();
    KnowledgeTransfer {
        n_partial_points: 24,
        n_points: 32,
        encoder_widths: [8, 10, 12],
        d_code: 16,
        d_fine: 8,
        discriminator_widths: vec![8],
        training: StageTraining { max_epochs, batch_size: 4, ..small.training.clone() },
        ..small
    }
}

#[test]
fn resumed_runs_end_with_the_same_bits() {
    let dataset = CompletionDataset::from_parts(chairs("train", 8), 0).unwrap();
    let config = tiny(3);
    let mut kept = Keep::default();
    let whole = config.fit_with(&dataset, None, &mut kept).unwrap();
    assert_eq!(whole.report().history.len(), 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    for checkpoint in kept.0 {
        checkpoint.save(&path).unwrap();
        let checkpoint = Checkpoint::load(&path).unwrap();
        let resumed = config.fit_with(&dataset, Some(checkpoint), &mut ()).unwrap();
        assert!(resumed.to_bytes() == whole.to_bytes());
    }
    let checkpoint = Checkpoint::load(&path).unwrap();
    let other = KnowledgeTransfer { seed: 1, ..config };
    assert!(other.fit_with(&dataset, Some(checkpoint), &mut ()).is_err());
}

#[test]
fn a_saved_model_completes_as_before() {
    let shapes = chairs("train", 8);
    let scan = partial(&shapes[0], 50);
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let model = tiny(2).fit(&dataset).unwrap();
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path()).unwrap();
    assert_eq!(ModelTask::of_folder(folder.path()).unwrap(), ModelTask::TransferCompletion);
    let options = CompletionOptions::default();
    let loaded = FittedKnowledgeTransfer::load(folder.path()).unwrap();
    let completions = model.complete(&scan, &options).unwrap();
    assert_eq!(loaded.complete(&scan, &options).unwrap(), completions);
    let again = FittedKnowledgeTransfer::from_bytes(&model.to_bytes()).unwrap();
    assert!(again.to_bytes() == model.to_bytes());
    assert!(FittedShapeInversion::load(folder.path()).is_err());
}

#[test]
fn options_do_what_they_say() {
    let shapes = chairs("train", 8);
    let scan = partial(&shapes[0], 50);
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let model = tiny(2).fit(&dataset).unwrap();
    let complete = |options: CompletionOptions| model.complete(&scan, &options).unwrap();
    let three = CompletionOptions { n_completions: 3, ..CompletionOptions::default() };
    let base = complete(three.clone());
    assert!(model.is_deterministic() && base.len() == 1 && base[0].len() == 32);
    // Together as apart.
    let both = model.complete_all(&[scan.clone(), scan.clone()], &three).unwrap();
    assert!(both.len() == 2 && both[1] == base);
    let many = complete(CompletionOptions { n_points: Some(70), ..three.clone() });
    assert_eq!(many[0].len(), 70);
    let kept = complete(CompletionOptions { keep_input: true, ..three.clone() });
    assert!(kept[0].as_slice().iter().any(|point| scan.as_slice().contains(point)));
    assert!(model.complete(&scan, &CompletionOptions { n_completions: 0, ..three }).is_err());
    let far = PointSet::new(vec![[1e6; 3]]).unwrap();
    assert!(model.complete(&far, &CompletionOptions::default()).is_err());
    assert!(model.scores(&base).unwrap().iter().all(|score| score.is_finite()));
}

/// Of one shape the network comes as near to a sample as another sample does, and the completion of its scan has the scan in it: the largest
/// distance is below twice that of another sample.
#[test]
fn one_shape_is_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let sample = |role: &str| shape.complete(64, &mut shape_stream(0, shape.id(), role)).unwrap();
    let (target, other, scan) = (sample("target"), sample("other"), partial(&shape, 32));
    let dataset =
        CompletionDataset::from_scans(vec![scan.clone(); 4], vec![shape.points().clone(); 4])
            .unwrap();
    let ends = |max_epochs: usize| {
        let base = tiny(max_epochs);
        let training = StageTraining { decay: 0.995, ..base.training.clone() };
        let config = KnowledgeTransfer { n_points: 64, training, ..base };
        let model = config.fit(&dataset).unwrap();
        let rebuilt = model.reconstruct(&target).unwrap();
        let completion = model.complete(&scan, &CompletionOptions::default()).unwrap().remove(0);
        (
            AnnealedMatching::between(&rebuilt, &target).unwrap().mean_cost(),
            directed_hausdorff(&scan, &completion).distance,
        )
    };
    let floor = AnnealedMatching::between(&other, &target).unwrap().mean_cost();
    let hausdorff_floor = directed_hausdorff(&scan, &other).distance;
    let (start, end) = (ends(1), ends(400));
    eprintln!("{start:?}, then {end:?}; of another sample {floor} and {hausdorff_floor}");
    assert!(end.0 < floor && end.1 < 2.0 * hausdorff_floor);
    assert!(start.0 > 1.5 * floor && start.1 > 1.5 * end.1);
}

/// Trained completions come nearer to test shapes than what was scanned of them; without training they do not.
#[test]
fn completions_beat_copies_of_the_scans() {
    let dataset = CompletionDataset::from_parts(chairs("train", 64), 0).unwrap();
    let config = KnowledgeTransfer::default().small();
    let model = config.fit(&dataset).unwrap();
    let trained = scores(&model, config.n_points);
    assert!(trained.matching < 0.9 * trained.copied);
    assert_eq!(trained.difference, 0.0);
    let training = StageTraining { max_epochs: 1, learning_rate: 1e-12, ..config.training.clone() };
    let untrained = KnowledgeTransfer { training, ..config };
    let untrained = scores(&untrained.fit(&dataset).unwrap(), untrained.n_points);
    assert!(untrained.matching > untrained.copied);
}

#[test]
fn bad_settings_are_errors() {
    let dataset = CompletionDataset::from_parts(chairs("train", 2), 0).unwrap();
    let base = tiny(1);
    let bad = [
        KnowledgeTransfer { n_points: 0, ..base.clone() },
        KnowledgeTransfer { encoder_widths: [1, 0, 1], ..base.clone() },
        KnowledgeTransfer { discriminator_widths: vec![0], ..base.clone() },
        KnowledgeTransfer { adversarial_weight: f64::NAN, ..base.clone() },
        KnowledgeTransfer { discriminator_rate: 0.0, ..base.clone() },
        KnowledgeTransfer {
            training: StageTraining { batch_size: 0, ..base.training.clone() },
            ..base.clone()
        },
    ];
    for config in bad {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
}
