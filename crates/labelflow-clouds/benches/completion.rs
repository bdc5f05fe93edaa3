//! One completion at the paper's size, and a training step of the small networks.

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use labelflow_clouds::completers::{
    Completer, CompletionDataset, CompletionLearner, CompletionOptions, CompletionTraining, PointCloudCompleter,
};
use labelflow_clouds::geometry::{PartialCut, Shape};
use labelflow_clouds::shapes::{Furniture, FurnitureCategory};

fn chairs(n: usize) -> Vec<Shape> {
    let furniture = Furniture { category: FurnitureCategory::Chair, seed: 0 };
    (0..n).map(|index| furniture.model("train", index).unwrap().shape(1).unwrap()).collect()
}

fn one_epoch(config: PointCloudCompleter, batch_size: usize) -> PointCloudCompleter {
    let training =
        CompletionTraining { max_epochs: 1, batch_size, statistics_batches: 2, ..CompletionTraining::default() };
    PointCloudCompleter { training, ..config }
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("completion");
    group.sample_size(10);
    let shapes = chairs(16);
    let scan = PartialCut::default().cut(&shapes[0], 0).unwrap().points;
    let dataset = CompletionDataset::from_parts(shapes, 0).unwrap();
    let model = one_epoch(PointCloudCompleter::default(), 16).fit(&dataset).unwrap();
    let options = CompletionOptions { n_completions: 1, ..CompletionOptions::default() };
    group.bench_function("complete, 2048 points", |bencher| {
        bencher.iter(|| model.complete(&scan, &options).unwrap());
    });
    let small = one_epoch(PointCloudCompleter::small(), 16);
    group.bench_function("fit, one step of small networks", |bencher| {
        bencher.iter(|| small.fit(&dataset).unwrap());
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
