//! Majority vote, Dawid-Skene and the analysis of labelers, at two sizes.

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use labelflow::label_models::{DawidSkene, FittedLabelModel, LabelModel, MajorityVote};
use labelflow::labelers::analyze;
use labelflow_data::synthetic::PlantedVotes;

const SIZES: [usize; 2] = [10_000, 1_000_000];

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("label statistics");
    group.sample_size(10);
    for n_rows in SIZES {
        let votes = PlantedVotes { n_rows, ..PlantedVotes::default() }.generate().unwrap();
        let (signals, truth) = (&votes.signals, &votes.truth);
        let size = format!("{n_rows}x{}", signals.n_signals());
        group.throughput(Throughput::Elements(n_rows as u64));
        group.bench_function(BenchmarkId::new("majority vote", &size), |bencher| {
            let model = MajorityVote::default().fit(signals).unwrap();
            bencher.iter(|| model.predict_proba(signals).unwrap());
        });
        group.bench_function(BenchmarkId::new("Dawid-Skene, fit", &size), |bencher| {
            bencher.iter(|| DawidSkene::default().fit(signals).unwrap());
        });
        group.bench_function(BenchmarkId::new("analysis", &size), |bencher| {
            bencher.iter(|| analyze(signals, Some(truth)).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
