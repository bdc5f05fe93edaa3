//! The average of the signals, read as a label directly.
//!
//! ```text
//! p(c | row) ∝ mean over the labelers that speak of c on this row of q[row][·][c]
//! ```
//!
//! Classes that no labeler speaks of share what the others leave of the whole, so "class 2 with probability 0.7" and
//! silence about two other classes gives 0.15 to each of those. A row without signals is uniform.

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use super::majority_vote::count_votes;
use crate::Result;
use crate::label_models::{FittedLabelModel, LabelModel, SignalShape};
use crate::numerics::fill_rows;
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, SignalValues, WeakSignals};

/// The mean of the probabilities that the labelers give. With votes it equals a majority vote.
///
/// ```
/// use labelflow_weak::label_models::{AverageSignals, LabelModel, FittedLabelModel};
/// use labelflow_weak::votes::WeakSignals;
/// use ndarray::array;
///
/// let signals = WeakSignals::from_class1_probabilities(array![[0.6, 0.6, 0.2]])?;
/// let labels = AverageSignals.fit(&signals)?.predict_proba(&signals)?;
/// assert!((labels.values()[[0, 1]] - 1.4 / 3.0).abs() < 1e-6);
/// assert_eq!(labels.argmax(), [0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AverageSignals;

/// The average of a known number of labelers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedAverageSignals(SignalShape);

impl LabelModel for AverageSignals {
    type Fitted = FittedAverageSignals;
    type Known = ();

    const IGNORES_VOTES: bool = true;

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedAverageSignals> {
        Ok(FittedAverageSignals(counted.shape()))
    }
}

impl FittedAverageSignals {
    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        Ok(self.0)
    }
}

impl FittedLabelModel for FittedAverageSignals {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let SignalValues::Probabilities(p) = signals.values() else {
            // A vote speaks of every class, so all means have the same divisor and the counts are proportional to them.
            return self.0.label_votes(signals, count_votes);
        };
        self.0.check(signals)?;
        SoftLabels::try_normalized(fill_rows(signals.n_rows(), signals.n_classes(), |row, means| {
            let row_signals = p.index_axis(Axis(0), row);
            for (class, mean) in means.iter_mut().enumerate() {
                *mean = mean_of_given(row_signals.column(class).iter().copied());
            }
            share_what_is_left(means);
        }))
    }
}

/// The mean of the numbers that are not NaN; NaN if there is none.
fn mean_of_given(values: impl Iterator<Item = f32>) -> f64 {
    let (mut sum, mut n_given) = (0.0, 0usize);
    for value in values.filter(|value| !value.is_nan()) {
        sum += f64::from(value);
        n_given += 1;
    }
    sum / n_given as f64
}

/// Replaces NaN by an equal share of what the other entries leave of one.
pub(crate) fn share_what_is_left(means: &mut [f64]) {
    let n_silent = means.iter().filter(|mean| mean.is_nan()).count();
    let spoken: f64 = means.iter().filter(|mean| !mean.is_nan()).sum();
    let share = (1.0 - spoken).max(0.0) / n_silent.max(1) as f64;
    means.iter_mut().filter(|mean| mean.is_nan()).for_each(|mean| *mean = share);
}

#[cfg(test)]
mod tests {
    use ndarray::{Array3, array};

    use super::*;
    use crate::label_models::planted::assert_near;

    const NAN: f32 = f32::NAN;

    fn average(probabilities: Array3<f32>) -> SoftLabels {
        let signals = WeakSignals::from_probabilities(probabilities).unwrap();
        AverageSignals.fit(&signals).unwrap().predict_proba(&signals).unwrap()
    }

    #[test]
    fn nulls_are_left_out_of_the_mean() {
        let labels = average(array![[[0.5, 0.25, 0.25], [0.25, NAN, NAN]]]);
        let expected = array![[0.375, 0.25, 0.25]] / 0.875;
        assert_near(labels.values(), &expected, 1e-12);
    }

    #[test]
    fn classes_nobody_speaks_of_share_what_is_left() {
        let labels = average(array![[[NAN, 0.5, NAN]], [[NAN, 0.0, NAN]], [[NAN, NAN, NAN]]]);
        let third = 1.0 / 3.0;
        let expected = array![[0.25, 0.5, 0.25], [0.5, 0.0, 0.5], [third, third, third]];
        assert_near(labels.values(), &expected, 1e-12);
    }
}
