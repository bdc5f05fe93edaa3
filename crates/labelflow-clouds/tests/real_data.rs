//! Real chairs: `LABELFLOW_DATA=DIR cargo nextest run --profile real-data`. Without that profile they are skipped.

#![allow(missing_docs, clippy::print_stderr, clippy::unwrap_used)]

use std::path::PathBuf;

use labelflow_clouds::geometry::{NearestTree, PartialCut, PointSet, resample, shape_stream};
use labelflow_clouds::metrics::{Chamfer, CompletionScores, SamplingFloor};
use labelflow_clouds::shapes::{ArrayParts, PartNetArrays, PartNetShapes, read_partnet_arrays};

fn folder() -> PathBuf {
    let data = std::env::var_os("LABELFLOW_DATA").expect("LABELFLOW_DATA, the folder with the datasets");
    PathBuf::from(data).join("pointclouds/partnet-chair")
}

fn read(folder: &std::path::Path, split: &str) -> PartNetShapes {
    read_partnet_arrays(folder, split, &PartNetArrays::default()).unwrap()
}

#[test]
fn chairs_are_counted() {
    let folder = folder();
    for (split, n_all, n_dropped) in [("train", 3387, 27), ("val", 451, 5), ("test", 917, 6)] {
        let shapes = read(&folder, split);
        assert_eq!(shapes.shapes.len() + shapes.dropped.len(), n_all, "{split}");
        assert_eq!(shapes.dropped.len(), n_dropped, "{split}");
        assert!(shapes.shapes.iter().all(|shape| shape.points().len() == 2048));
        assert!(shapes.shapes.iter().all(|shape| shape.present_parts().len() <= 5));
    }
    let boxes = PartNetArrays { parts: ArrayParts::Boxes, ..PartNetArrays::default() };
    let shapes = read_partnet_arrays(&folder, "test", &boxes).unwrap();
    let mut n_parts: Vec<usize> = shapes.shapes.iter().map(|shape| shape.present_parts().len()).collect();
    n_parts.sort_unstable();
    assert!((7..=10).contains(&n_parts[n_parts.len() / 2]), "{}", n_parts[n_parts.len() / 2]);
}

/// The trivial methods score what they should: copying the input is faithful and looks like no chair, a retrieved chair the reverse.
#[test]
fn trivial_methods_on_a_few_chairs() {
    let folder = folder();
    let (train, test) = (read(&folder, "train"), read(&folder, "test"));
    let (train, test) = (&train.shapes[..60], &test.shapes[..20]);
    let tree = |points: &PointSet| NearestTree::new(points);
    let references: Vec<NearestTree> = test.iter().map(|shape| tree(shape.points())).collect();
    let candidates: Vec<NearestTree> = train.iter().map(|shape| tree(shape.points())).collect();
    let partials: Vec<PointSet> =
        test.iter().map(|shape| PartialCut::default().cut(shape, 0).unwrap().points).collect();
    let floors: Vec<SamplingFloor> = test
        .iter()
        .map(|shape| {
            let rng = &mut shape_stream(0, shape.id(), "floor");
            SamplingFloor::from_points(shape.points(), rng).unwrap()
        })
        .collect();
    let floor = SamplingFloor::mean(&floors).unwrap();
    let partial_trees: Vec<NearestTree> = partials.iter().map(tree).collect();
    let measure = |completions: &[Vec<NearestTree>]| {
        CompletionScores::measure(&references, &partial_trees, completions, floor).unwrap()
    };
    let copies: Vec<Vec<NearestTree>> = partials
        .iter()
        .map(|points| {
            let indices = resample(points.len(), 2048, &mut shape_stream(0, "copy", "copy"));
            vec![tree(&points.select(&indices.unwrap()))]
        })
        .collect();
    let retrieved: Vec<Vec<NearestTree>> = partial_trees
        .iter()
        .map(|partial| {
            let distances = candidates.iter().map(|other| Chamfer::between(partial, other).squared_there);
            let nearest = distances.zip(&candidates).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            vec![nearest.1.clone()]
        })
        .collect();
    let (copied, retrieved) = (measure(&copies), measure(&retrieved));
    eprintln!("copy of the input:      {copied}");
    eprintln!("nearest training shape: {retrieved}");
    assert_eq!(copied.hausdorff, 0.0);
    assert!(retrieved.hausdorff > copied.hausdorff_floor);
    for scores in [copied, retrieved] {
        assert!((0.5e-3..2e-2).contains(&scores.matching_distance), "{scores}");
    }
    assert!((0.3..2.0).contains(&floor.area()), "{}", floor.area());
}
