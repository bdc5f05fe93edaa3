//! A training epoch and a prediction, at two sizes.

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use labelflow::{Bounds, LabelFlowClassifier, TrainConfig, WeakDataset};
use labelflow_data::synthetic::{PlantedGaussian, PlantedGaussianProblem};

/// Rows and features: a small table, and a larger one.
const SIZES: [(usize, usize); 2] = [(228, 30), (2_000, 128)];

fn problem(n_rows: usize, d_features: usize) -> (PlantedGaussianProblem, WeakDataset) {
    let planted = PlantedGaussian { n_rows, d_features, n_signals: 3, ..Default::default() };
    let planted = planted.generate().unwrap();
    let bounds = Bounds::measured(&planted.signals, &planted.truth).unwrap();
    let dataset = WeakDataset::new(planted.features.clone(), planted.signals.clone(), bounds);
    (planted, dataset.unwrap())
}

fn epochs(max_epochs: usize) -> LabelFlowClassifier {
    let training = TrainConfig { max_epochs, ..TrainConfig::default() };
    LabelFlowClassifier { training, ..LabelFlowClassifier::default() }
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("learner");
    group.sample_size(10);
    for (n_rows, d_features) in SIZES {
        let size = format!("{n_rows}x{d_features}");
        let (planted, dataset) = problem(n_rows, d_features);
        // Five epochs, so that the start weighs little.
        group.bench_function(BenchmarkId::new("fit, 5 epochs", &size), |bencher| {
            bencher.iter(|| epochs(5).fit(&dataset).unwrap());
        });
        let model = epochs(1).fit(&dataset).unwrap();
        group.bench_function(BenchmarkId::new("predict, 10 samples", &size), |bencher| {
            bencher.iter(|| model.predict_proba(&planted.features).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
