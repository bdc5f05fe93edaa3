//! shape-inversion on synthetic chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clouds;

use clouds::{chairs, partial, scores, suite};
use labelflow::SavedModel;
use labelflow::storage::ModelTask;
use labelflow_clouds::completers::{
    Completer, CompletionDataset, CompletionLearner, CompletionOptions, FittedCodeCompleter, Inversion, ShapeInversion,
    StageTraining,
};
use labelflow_clouds::geometry::{NearestTree, PointSet, shape_stream};
use labelflow_clouds::metrics::Chamfer;

/// The smallest networks that still have every part, for a few epochs.
fn tiny(max_epochs: usize) -> ShapeInversion {
    let small = ShapeInversion::default().small();
    ShapeInversion {
        n_partial_points: 24,
        d_noise: 4,
        generator_widths: vec![8, 6],
        degrees: vec![2, 2, 8],
        discriminator_widths: vec![8, 12],
        discriminator_head: vec![6],
        training: StageTraining { max_epochs, batch_size: 4, ..small.training.clone() },
        inversion: Inversion { n_candidates: 12, n_nearest: 6, n_iterations: 3, ..small.inversion.clone() },
        ..small
    }
}

#[test]
fn it_does_what_every_learner_does() {
    let config = tiny(3);
    suite::goes_on_after_any_epoch(&config, &ShapeInversion { seed: 1, ..tiny(3) }, 3);
    suite::is_saved_whole::<_, FittedCodeCompleter>(&config, ModelTask::InversionCompletion);
    let model = suite::heeds_options(&config, 32);
    assert!(!model.is_deterministic());
    // One begins elsewhere than the first of several; more than there are candidates are no more than asked for.
    let scan = partial(&chairs("train", 1)[0], 50);
    for n_completions in [1, 15] {
        let options = CompletionOptions { n_completions, ..CompletionOptions::default() };
        assert_eq!(model.complete(&scan, &options).unwrap().len(), n_completions);
    }
    let grown = model.grow(5, 0).unwrap();
    assert_eq!(grown.len(), 5);
    assert!(model.scores(&grown).unwrap().iter().all(|score| (0.0..=1.0).contains(score)));
}

/// Completions do not depend on how many are searched for at a time.
#[test]
fn scans_are_completed_together_as_apart() {
    let shapes = chairs("train", 8);
    let scans: Vec<PointSet> = shapes[..3].iter().map(|shape| partial(shape, 50)).collect();
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let mut model = tiny(2).fit(&dataset).unwrap();
    let options = CompletionOptions { n_completions: 2, ..CompletionOptions::default() };
    let together = model.complete_all(&scans, &options).unwrap();
    let mut changed = model.config().clone();
    changed.inversion.n_at_once = 1;
    model = changed.fit(&dataset).unwrap();
    for (scan, together) in scans.iter().zip(together) {
        let apart = model.complete(scan, &options).unwrap();
        assert_eq!(apart.len(), 2);
        let (one, other) = (apart.iter().flat_map(PointSet::as_flat), together.iter());
        for (one, other) in one.zip(other.flat_map(PointSet::as_flat)) {
            assert!((one - other).abs() < 1e-4, "{one} and {other}");
        }
    }
}

/// The Chamfer distance.
fn away(one: &PointSet, other: &PointSet) -> f64 {
    Chamfer::between(&NearestTree::new(one), &NearestTree::new(other)).squared_sum()
}

/// Bent for long, the generator comes as near to one shape as another sample of that shape does.
#[test]
fn one_shape_is_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let sample = |role: &str| shape.complete(64, &mut shape_stream(0, shape.id(), role)).unwrap();
    let target = sample("target");
    let dataset = CompletionDataset::from_scans(vec![partial(&shape, 32); 4], vec![shape.points().clone(); 4]).unwrap();
    let distance = |n_iterations: usize| {
        let base = tiny(1);
        let inversion = Inversion { n_iterations, n_mask_neighbors: 64, ..base.inversion.clone() };
        let config = ShapeInversion { n_partial_points: 64, degrees: vec![2, 2, 16], inversion, ..base };
        let model = config.fit(&dataset).unwrap();
        let options = CompletionOptions { n_completions: 1, ..CompletionOptions::default() };
        let bent = model.complete(&target, &options).unwrap().remove(0);
        away(&bent, &target)
    };
    let floor = away(&sample("other"), &target);
    let (start, end) = (distance(1), distance(250));
    eprintln!("distance {start}, then {end}; of another sample {floor}");
    assert!(end < floor, "{end} and {floor}");
    assert!(start > 3.0 * floor, "{start} and {floor}");
}

/// Trained completions come nearer to test shapes than what was scanned of them, and differ; without training they do not come nearer.
#[test]
fn completions_beat_copies_of_the_scans() {
    let dataset = CompletionDataset::from_parts(chairs("train", 64), 0).unwrap();
    let config = ShapeInversion::default().small();
    let trained = scores(&config.fit(&dataset).unwrap(), config.n_points());
    assert!(trained.matching < 0.97 * trained.copied);
    assert!(trained.difference > 1e-3);
    let training = StageTraining { max_epochs: 1, learning_rate: 1e-12, ..config.training.clone() };
    let untrained = ShapeInversion { training, ..config };
    let untrained = scores(&untrained.fit(&dataset).unwrap(), untrained.n_points());
    assert!(untrained.matching > untrained.copied);
}

#[test]
fn bad_settings_are_errors() {
    let dataset = CompletionDataset::from_parts(chairs("train", 2), 0).unwrap();
    let base = tiny(1);
    let bad = [
        ShapeInversion { n_partial_points: 0, ..base.clone() },
        ShapeInversion { degrees: vec![2, 8], ..base.clone() },
        ShapeInversion { degrees: vec![1, 1, 1], ..base.clone() },
        ShapeInversion { degrees: vec![1 << 30, 1 << 30, 1 << 30], ..base.clone() },
        ShapeInversion { generator_widths: vec![0, 3], ..base.clone() },
        ShapeInversion { discriminator_widths: vec![], ..base.clone() },
        ShapeInversion { penalty_weight: -1.0, ..base.clone() },
        ShapeInversion { training: StageTraining { betas: [0.0, 1.0], ..base.training.clone() }, ..base.clone() },
        ShapeInversion { inversion: Inversion { noise_rates: vec![1.0], ..base.inversion.clone() }, ..base.clone() },
        ShapeInversion { inversion: Inversion { n_at_once: 0, ..base.inversion.clone() }, ..base.clone() },
    ];
    for config in bad {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
    assert_eq!(base.clone().with_n_points(40).unwrap().n_points(), 40);
    assert!(base.with_n_points(41).is_err());
}
