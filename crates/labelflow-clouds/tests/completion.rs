//! Completion of synthetic chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clouds;

use std::ops::ControlFlow;

use clouds::{chairs, partial, scores, suite};
use labelflow::SavedModel;
use labelflow::storage::ModelTask;
use labelflow::training::{EpochEvent, Observer, StopReason};
use labelflow_clouds::completers::{
    Completer, CompletionDataset, CompletionLearner, CompletionOptions, CompletionTraining, FittedCodeCompleter,
    FrameSearch, LatentSource, PointCloudCompleter, ScanFrame,
};
use labelflow_clouds::geometry::Normalization;
use labelflow_clouds::metrics::directed_hausdorff;

/// The smallest networks that still have every part.
fn tiny(max_epochs: usize) -> PointCloudCompleter {
    PointCloudCompleter {
        n_partial_points: 32,
        n_points: 64,
        n_steps: 2,
        d_hidden: 8,
        d_latent: 4,
        feature_widths: vec![8, 16],
        discriminator_widths: vec![8, 16],
        discriminator_head: vec![16],
        training: CompletionTraining {
            max_epochs,
            batch_size: 4,
            learning_rate: 5e-3,
            warmup_steps: 5,
            statistics_batches: 10,
            ..CompletionTraining::default()
        },
        ..PointCloudCompleter::default()
    }
}

#[test]
fn it_does_what_every_learner_does() {
    let config = tiny(3);
    suite::goes_on_after_any_epoch(&config, &PointCloudCompleter { seed: 1, ..tiny(3) }, 3);
    suite::is_saved_whole::<_, FittedCodeCompleter>(&config, ModelTask::Completion);
    let model = suite::heeds_options(&config, 64);
    let scan = partial(&chairs("train", 1)[0], 50);
    let complete = |options: CompletionOptions| model.complete(&scan, &options).unwrap();
    let two = CompletionOptions { n_completions: 2, ..CompletionOptions::default() };
    let prior = CompletionOptions { latent: LatentSource::Prior, ..two.clone() };
    assert_ne!(complete(two.clone()), complete(prior));
    // Without noise all completions are one, and all its points.
    let cold = complete(CompletionOptions { temperature: 0.0, ..two.clone() });
    assert_eq!(cold[0], cold[1]);
    let kept = complete(CompletionOptions { keep_input: true, ..two });
    let is_scanned = |point: &&[f32; 3]| scan.as_slice().contains(point);
    assert!(kept[0].as_slice().iter().filter(is_scanned).count() > 10);
}

#[test]
fn what_was_trained_before_an_end_is_kept() {
    struct EndAfter(usize);
    impl Observer for EndAfter {
        fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
            Ok(match event.record.epoch + 1 < self.0 {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(StopReason::Interrupted),
            })
        }
    }
    let dataset = CompletionDataset::from_parts(chairs("train", 8), 0).unwrap();
    let half = tiny(4).fit_with(&dataset, None, &mut EndAfter(2)).unwrap();
    assert_eq!(half.report().stop, StopReason::Interrupted);
    assert_eq!(half.report().history.len(), 2);
}

#[test]
fn one_scan_is_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let scan = partial(&shape, 32);
    let dataset = CompletionDataset::from_scans(vec![scan.clone(); 4], vec![shape.points().clone(); 4]).unwrap();
    let distance = |epochs: usize| {
        let model = tiny(epochs).fit(&dataset).unwrap();
        let options = CompletionOptions { n_points: Some(512), ..CompletionOptions::default() };
        let completions = model.complete(&scan, &options).unwrap();
        let distances = completions.iter().map(|cloud| directed_hausdorff(&scan, cloud).distance);
        distances.sum::<f64>() / completions.len() as f64
    };
    let (start, end) = (distance(1), distance(400));
    assert!(end < 0.6 * start, "{start} and {end}");
}

/// Summed over all points, the likelihood outweighs everything else: scales fall to their bounds, and what was scanned is lost. That is
/// why it is counted in bits per dimension.
#[test]
fn a_summed_likelihood_would_outweigh_the_scan() {
    let dataset = CompletionDataset::from_parts(chairs("train", 8), 0).unwrap();
    let terms = |likelihood_weight: f64| {
        let config = PointCloudCompleter { likelihood_weight, ..tiny(100) };
        let model = config.fit(&dataset).unwrap();
        let last = model.report().history.last().unwrap().clone();
        (last.terms["likelihood"], last.terms["fidelity"])
    };
    // What the sum over 2048 points is, in bits per dimension.
    let points = 3.0 * 2048.0 * std::f64::consts::LN_2;
    let ((bits, distance), (summed_bits, summed_distance)) = (terms(1.0), terms(points));
    // Nine scale factors a point, each at least exp(−½), over three dimensions.
    let bound = 2.0471 + 0.2f64.log2() - 1.5 / std::f64::consts::LN_2;
    assert!(summed_bits < bound + 0.1, "{summed_bits} and {bound}");
    assert!(bits > summed_bits + 0.3, "{bits} and {summed_bits}");
    assert!(summed_distance > distance, "{summed_distance} and {distance}");
}

/// Trained completions come nearer to test shapes than what was scanned of them.
#[test]
fn completions_beat_copies_of_the_scans() {
    let dataset = CompletionDataset::from_parts(chairs("train", 128), 0).unwrap();
    let config = PointCloudCompleter::small();
    let trained = scores(&config.fit(&dataset).unwrap(), config.n_points);
    assert!(trained.matching < trained.copied);
    assert!(trained.difference > 0.0);
}

#[test]
fn the_frame_of_a_scan_is_found_again() {
    let shapes = chairs("train", 16);
    let dataset = CompletionDataset::from_parts(shapes.clone(), 0).unwrap();
    let model = tiny(30).fit(&dataset).unwrap();
    let moved = Normalization::new([7.0, -3.0, 100.0], 0.01).unwrap();
    let scan = moved.undo(&partial(&shapes[0], 200)).unwrap();
    let given = model.frame_of(&scan, &ScanFrame::Given(moved)).unwrap();
    assert_eq!(given, moved);
    let found = model.frame_of(&scan, &ScanFrame::Auto(FrameSearch::default())).unwrap();
    assert_eq!(found, model.frame_of(&scan, &ScanFrame::Auto(FrameSearch::default())).unwrap());
    // The scan is between 0.4 and 1 times as large as the whole, and inside of it.
    let own = model.frame_of(&scan, &ScanFrame::Scan).unwrap();
    let share = found.scale() / own.scale();
    assert!((0.39..=1.01).contains(&share), "{share}");
    let bad = ScanFrame::Auto(FrameSearch { n_rounds: 0, ..FrameSearch::default() });
    assert!(model.frame_of(&scan, &bad).is_err());
}

#[test]
fn bad_settings_and_data_are_errors() {
    let shapes = chairs("train", 2);
    let dataset = CompletionDataset::from_parts(shapes.clone(), 0).unwrap();
    let base = tiny(1);
    let bad = [
        PointCloudCompleter { n_points: 0, ..base.clone() },
        PointCloudCompleter { d_latent: 0, ..base.clone() },
        PointCloudCompleter { feature_widths: vec![], ..base.clone() },
        PointCloudCompleter { discriminator_head: vec![0], ..base.clone() },
        PointCloudCompleter { base_deviation: 0.0, ..base.clone() },
        PointCloudCompleter { hausdorff_weight: -1.0, ..base.clone() },
        PointCloudCompleter { jitter: 1.0, ..base.clone() },
        PointCloudCompleter { training: CompletionTraining { batch_size: 1, ..base.training.clone() }, ..base.clone() },
    ];
    for config in bad {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
    assert!(CompletionDataset::from_parts(vec![], 0).is_err());
    assert!(CompletionDataset::from_scans(vec![shapes[0].points().clone()], vec![]).is_err());
    let one = CompletionDataset::from_parts(shapes[..1].to_vec(), 0).unwrap();
    assert!(base.fit(&one).is_err());
}
