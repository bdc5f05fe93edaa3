//! Completion of made-up chairs, end to end, with networks small enough for a test.

#![allow(clippy::unwrap_used)]

use labelflow::weak::point_clouds::{PartialCut, PointSet, Shape, directed_hausdorff};
use labelflow::{
    CompletionDataset, CompletionOptions, CompletionTraining, LatentSource, PointCloudCompleter,
};
use labelflow_data::furniture::{Furniture, FurnitureCategory};

fn chairs(split: &str, n: usize) -> Vec<Shape> {
    let furniture = Furniture { category: FurnitureCategory::Chair, seed: 0 };
    (0..n).map(|index| furniture.model(split, index).unwrap().shape(1).unwrap()).collect()
}

#[test]
fn smoke() {
    let dataset = CompletionDataset::from_parts(chairs("train", 128), 0).unwrap();
    let config = PointCloudCompleter::small();
    let start = std::time::Instant::now();
    let fitted = config.fit(&dataset).unwrap();
    eprintln!("{:?}", start.elapsed());
    for record in fitted.report().history.iter().step_by(5) {
        eprintln!("{record:?}");
    }
    let test = chairs("test", 4);
    for shape in &test {
        let partial = PartialCut { n_points: 128, seed: 1 }.cut(shape, 0).unwrap().points;
        let start = std::time::Instant::now();
        let completions = fitted.complete(&partial, &CompletionOptions::default()).unwrap();
        eprintln!(
            "{:?} {}",
            start.elapsed(),
            directed_hausdorff(&partial, &completions[0]).distance
        );
    }
}
