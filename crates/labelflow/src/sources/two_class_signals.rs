//! Signals about two classes, read as one number.

use labelflow_weak::votes::{SignalValues, WeakSignals};

/// The probability of class 1 that labeler `signal` gives on `row`, or nothing where it abstains.
///
/// Where it speaks of class 0 only, class 1 has the rest.
pub(crate) fn class1_probability(signals: &WeakSignals, row: usize, signal: usize) -> Option<f32> {
    match signals.values() {
        SignalValues::Votes(votes) => {
            votes.get(row, signal).map(|vote| if vote == 1 { 1.0 } else { 0.0 })
        }
        SignalValues::Probabilities(_) => signals
            .probability(row, signal, 1)
            .or_else(|| signals.probability(row, signal, 0).map(|p| 1.0 - p)),
    }
}
