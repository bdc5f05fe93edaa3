//! KT-Net on synthetic chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clouds;

use clouds::{chairs, partial, scores, suite};
use labelflow::storage::ModelTask;
use labelflow_clouds::completers::{
    Completer, CompletionDataset, CompletionLearner, CompletionOptions, FittedShapeInversion, KnowledgeTransfer,
    StageTraining,
};
use labelflow_clouds::geometry::shape_stream;
use labelflow_clouds::metrics::{AnnealedMatching, directed_hausdorff};

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
fn it_does_what_every_learner_does() {
    let config = tiny(3);
    suite::goes_on_after_any_epoch(&config, &KnowledgeTransfer { seed: 1, ..tiny(3) }, 3);
    suite::is_saved_whole::<_, FittedShapeInversion>(&config, ModelTask::TransferCompletion);
    assert!(suite::heeds_options(&config, 32).is_deterministic());
}

/// Of one shape the network comes as near to a sample as another sample does, and the completion of its scan has the scan in it: the largest
/// distance is below twice that of another sample.
#[test]
fn one_shape_is_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let sample = |role: &str| shape.complete(64, &mut shape_stream(0, shape.id(), role)).unwrap();
    let (target, other, scan) = (sample("target"), sample("other"), partial(&shape, 32));
    let dataset = CompletionDataset::from_scans(vec![scan.clone(); 4], vec![shape.points().clone(); 4]).unwrap();
    let ends = |max_epochs: usize| {
        let base = tiny(max_epochs);
        let training = StageTraining { learning_rate_decay: 0.995, ..base.training.clone() };
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
        KnowledgeTransfer { training: StageTraining { batch_size: 0, ..base.training.clone() }, ..base.clone() },
    ];
    for config in bad {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
}
