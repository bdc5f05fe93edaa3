//! A fit to counts is the fit to the rows that were counted, bit for bit.

#![allow(clippy::unwrap_used)]

use labelflow_weak::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
use labelflow_weak::labelers::Bounds;
use labelflow_weak::labelers::LabelerErrors;
use labelflow_weak::votes::{ABSTAIN, CountedVotes, VoteCounter};
use labelflow_weak::votes::{Votes, WeakSignals};
use ndarray::{Array2, s};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Votes of five labelers, some of which abstain; the last is a rule that votes for one class only.
fn signals(n_rows: usize, n_classes: usize, seed: u64) -> WeakSignals {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut votes = Array2::from_elem((n_rows, 5), ABSTAIN);
    for mut row in votes.rows_mut() {
        let truth = random.random_range(0..n_classes) as u8;
        for (signal, vote) in row.iter_mut().enumerate() {
            if random.random_bool(0.3) {
                continue;
            }
            let right = random.random_bool(0.6 + 0.08 * signal as f64);
            let said = if right { truth } else { random.random_range(0..n_classes) as u8 };
            *vote = if signal == 4 && said != 0 { ABSTAIN } else { said };
        }
    }
    WeakSignals::from_votes(Votes::from_bytes(votes, n_classes).unwrap()).unwrap()
}

fn known(signals: &WeakSignals) -> KnownOfLabelers {
    KnownOfLabelers {
        errors: Some(LabelerErrors::per_labeler(&[0.2; 5], signals.n_classes()).unwrap()),
        bounds: Some(Bounds::constant(0.2, signals).unwrap()),
        labels: None,
    }
}

/// The rows counted in parts of random sizes, and the counters merged in another order.
fn counted_in_parts(signals: &WeakSignals, seed: u64) -> CountedVotes {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let votes = signals.votes();
    let mut parts = Vec::new();
    let mut start = 0;
    while start < signals.n_rows() {
        let end = (start + random.random_range(1..300)).min(signals.n_rows());
        let mut counter = VoteCounter::new(signals.n_signals());
        for row in votes.bytes().slice(s![start..end, ..]).rows() {
            counter.add(&row.to_vec(), 1);
        }
        parts.push(counter);
        start = end;
    }
    let mut whole = VoteCounter::new(signals.n_signals());
    parts.iter().rev().for_each(|part| whole.merge(part));
    CountedVotes::from_counter(&whole, signals.n_classes()).unwrap()
}

#[test]
fn every_label_model_learns_the_same_from_counts_of_parts() {
    for (n_classes, seed) in [(2, 1), (3, 2)] {
        let signals = signals(1500, n_classes, seed);
        let counted = counted_in_parts(&signals, seed + 10);
        assert_eq!(counted.n_rows(), 1500);
        let known = known(&signals);
        for &name in AnyLabelModel::NAMES {
            let model = AnyLabelModel::from_name(name).unwrap();
            let in_memory = model.fit(&signals, &known).unwrap();
            let of_counts = model.fit_counts(&counted, &known).unwrap();
            assert_eq!(of_counts, in_memory, "{name}");
            // A row's labels depend on that row alone.
            let of_rows = in_memory.predict_proba(&signals).unwrap();
            let of_patterns = of_counts.predict_proba(&counted.signals()).unwrap();
            let patterns: Vec<Vec<u8>> = counted.iter().map(|(row, _)| row.to_vec()).collect();
            for row in 0..signals.n_rows() {
                let bytes = signals.votes().row_bytes(row).to_vec();
                let place = patterns.binary_search(&bytes).unwrap();
                assert_eq!(of_rows.values().row(row), of_patterns.values().row(place), "{name}");
            }
        }
    }
}

#[test]
fn abstentions_alone_are_an_error_of_counts_too() {
    let mut counter = VoteCounter::new(3);
    counter.add(&[ABSTAIN; 3], 7);
    let counted = CountedVotes::from_counter(&counter, 2).unwrap();
    for name in ["dawid-skene", "data-programming", "flying-squid", "metal", "snorkel"] {
        let model = AnyLabelModel::from_name(name).unwrap();
        let error = model.fit_counts(&counted, &KnownOfLabelers::default()).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{name}: {error}");
    }
}
