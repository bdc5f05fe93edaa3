//! Completion of made-up chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use labelflow::weak::point_clouds::{
    NearestTree, Normalization, PartialCut, PointSet, Shape, directed_hausdorff,
    minimum_matching_distance, shape_stream,
};
use labelflow::{
    Checkpoint, CompletionDataset, CompletionOptions, CompletionTraining, EpochEvent,
    FittedPointCloudCompleter, FrameSearch, LatentSource, Observer, PointCloudCompleter, ScanFrame,
    StopReason,
};
use labelflow_data::furniture::{Furniture, FurnitureCategory};

fn chairs(split: &str, n: usize) -> Vec<Shape> {
    let furniture = Furniture { category: FurnitureCategory::Chair, seed: 0 };
    (0..n).map(|index| furniture.model(split, index).unwrap().shape(1).unwrap()).collect()
}

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

fn partial(shape: &Shape, n_points: usize) -> PointSet {
    PartialCut { n_points, seed: 1 }.cut(shape, 0).unwrap().points
}

/// Ends training after an epoch, and keeps the checkpoint of that moment.
struct EndAfter(usize, Option<Checkpoint>);

impl Observer for EndAfter {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        if event.record.epoch + 1 < self.0 {
            return Ok(ControlFlow::Continue(()));
        }
        self.1 = Some((event.snapshot)());
        Ok(ControlFlow::Break(StopReason::Interrupted))
    }
}

#[test]
fn a_resumed_run_ends_with_the_same_bits() {
    let dataset = CompletionDataset::from_parts(chairs("train", 12), 0).unwrap();
    let config = tiny(4);
    let whole = config.fit(&dataset).unwrap();
    let mut observer = EndAfter(2, None);
    let half = config.fit_with(&dataset, None, &mut observer).unwrap();
    assert_eq!(half.report().stop, StopReason::Interrupted);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    observer.1.unwrap().save(&path).unwrap();
    let checkpoint = Checkpoint::load(&path).unwrap();
    let resumed = config.fit_with(&dataset, Some(checkpoint.clone()), &mut ()).unwrap();
    assert_eq!(resumed.to_bytes(), whole.to_bytes());
    let other = PointCloudCompleter { seed: 1, ..config };
    assert!(other.fit_with(&dataset, Some(checkpoint), &mut ()).is_err());
}

#[test]
fn a_saved_completer_completes_as_before() {
    let shapes = chairs("train", 8);
    let scan = partial(&shapes[0], 50);
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let model = tiny(2).fit(&dataset).unwrap();
    let folder = tempfile::tempdir().unwrap();
    model.save(folder.path()).unwrap();
    let loaded = FittedPointCloudCompleter::load(folder.path()).unwrap();
    let options = CompletionOptions { n_completions: 3, ..CompletionOptions::default() };
    let completions = model.complete(&scan, &options).unwrap();
    assert_eq!(loaded.complete(&scan, &options).unwrap(), completions);
    assert_eq!(
        FittedPointCloudCompleter::from_bytes(&model.to_bytes()).unwrap().to_bytes(),
        model.to_bytes()
    );
    assert!(labelflow::FittedLabelFlowClassifier::load(folder.path()).is_err());
}

#[test]
fn options_do_what_they_say() {
    let shapes = chairs("train", 8);
    let scan = partial(&shapes[0], 50);
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let model = tiny(2).fit(&dataset).unwrap();
    let complete = |options: CompletionOptions| model.complete(&scan, &options).unwrap();
    let two = CompletionOptions { n_completions: 2, ..CompletionOptions::default() };
    let base = complete(two.clone());
    assert_eq!(base.len(), 2);
    assert_ne!(base[0], base[1]);
    assert_eq!(base, complete(two.clone()));
    assert_ne!(base, complete(CompletionOptions { seed: 1, ..two.clone() }));
    assert_ne!(base, complete(CompletionOptions { latent: LatentSource::Prior, ..two.clone() }));
    // Without noise all completions are one, and all its points.
    let cold = complete(CompletionOptions { temperature: 0.0, ..two.clone() });
    assert_eq!(cold[0], cold[1]);
    let many = complete(CompletionOptions { n_points: Some(700), ..two.clone() });
    assert_eq!(many[1].len(), 700);
    let kept = complete(CompletionOptions { keep_input: true, ..two.clone() });
    let is_scanned = |point: &[f32; 3]| scan.as_slice().contains(point);
    assert!(kept[0].as_slice().iter().filter(|point| is_scanned(point)).count() > 10);
    for bad in [
        CompletionOptions { n_completions: 0, ..two.clone() },
        CompletionOptions { n_points: Some(0), ..two.clone() },
        CompletionOptions { temperature: f64::NAN, ..two },
    ] {
        assert!(model.complete(&scan, &bad).is_err());
    }
    // Extreme scans still give finite clouds, and those that are nowhere near the frame an error.
    for scan in [vec![[0.0; 3]], vec![[5.0; 3], [-5.0; 3]]] {
        let scan = PointSet::new(scan).unwrap();
        model.complete(&scan, &CompletionOptions::default()).unwrap();
    }
    let far = PointSet::new(vec![[1e6; 3]]).unwrap();
    let error = model.complete(&far, &CompletionOptions::default()).unwrap_err().to_string();
    assert!(error.contains("frame"), "{error}");
}

#[test]
fn one_scan_is_learned_by_heart() {
    let shape = chairs("train", 1).remove(0);
    let scan = partial(&shape, 32);
    let dataset =
        CompletionDataset::from_scans(vec![scan.clone(); 4], vec![shape.points().clone(); 4])
            .unwrap();
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
    let model = config.fit(&dataset).unwrap();
    let test = chairs("test", 24);
    let scans: Vec<PointSet> =
        test.iter().map(|shape| partial(shape, config.n_partial_points)).collect();
    let references: Vec<NearestTree> = test
        .iter()
        .map(|shape| {
            let rng = &mut shape_stream(0, shape.id(), "reference");
            NearestTree::new(&shape.complete(config.n_points, rng).unwrap())
        })
        .collect();
    let copies: Vec<NearestTree> = scans.iter().map(NearestTree::new).collect();
    let options = CompletionOptions { n_completions: 1, ..CompletionOptions::default() };
    let completions: Vec<NearestTree> = scans
        .iter()
        .map(|scan| NearestTree::new(&model.complete(scan, &options).unwrap()[0]))
        .collect();
    let distance =
        |clouds: &[NearestTree]| minimum_matching_distance(&references, clouds).unwrap().mean;
    let (ours, copied) = (distance(&completions), distance(&copies));
    eprintln!("MMD {ours}, of copies {copied}");
    assert!(ours < copied, "{ours} and {copied}");
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
        PointCloudCompleter {
            training: CompletionTraining { batch_size: 1, ..base.training.clone() },
            ..base.clone()
        },
    ];
    for config in bad {
        assert!(config.fit(&dataset).is_err(), "{config:?}");
    }
    assert!(CompletionDataset::from_parts(vec![], 0).is_err());
    assert!(CompletionDataset::from_scans(vec![shapes[0].points().clone()], vec![]).is_err());
    let one = CompletionDataset::from_parts(shapes[..1].to_vec(), 0).unwrap();
    assert!(base.fit(&one).is_err());
}
