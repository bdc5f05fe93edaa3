//! How much each labeler's vote on a row counts, by a network that reads the row's features and votes.
//!
//! ```text
//! a_ij = softmax over labelers of network(x_i, votes on i)_j / τ
//! s_ic = Σ_j a_ij q_ijc                                          q_ijc = 1 where labeler j votes for class c on row i
//! ```

use labelflow_weak::rows::Features;
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, ArrayView2, Axis, Zip, concatenate};
use rand_chacha::ChaCha8Rng;

use crate::baselines::MultilayerPerceptron;
use crate::baselines::network::{NetworkTraining, Pass};

/// Which labelers share the weight of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// All of them: what those who abstain take is lost, so that a row may be doubted as a whole.
    All,
    /// Those who vote on the row.
    Voters,
}

/// The network in training, with the votes of all training rows.
pub(super) struct LabelerAttention<'a> {
    training: NetworkTraining<'a>,
    among: Among,
    /// τ
    pub(super) temperature: f32,
    /// Features and votes, `[n_rows, d_features + n_labelers · n_classes]`.
    inputs: Array2<f32>,
    /// q, `[n_rows, n_labelers · n_classes]`; zero where a labeler abstains.
    votes: Array2<f32>,
    /// 1 where a labeler votes, `[n_rows, n_labelers]`.
    speaks: Array2<f32>,
    n_classes: usize,
}

/// The weights of a batch, and what is needed to learn from them.
pub(super) struct Weighed {
    pass: Pass<f32>,
    rows: Vec<usize>,
    /// a, `[n_batch, n_labelers]`; labelers that abstain have what they would have had.
    pub(super) weights: Array2<f32>,
    /// s, `[n_batch, n_classes]`.
    pub(super) scores: Array2<f32>,
}

impl<'a> LabelerAttention<'a> {
    /// The network before its first step. The settings must have been checked, and the features scaled.
    pub(super) fn new(
        config: &'a MultilayerPerceptron,
        features: &Features,
        signals: &WeakSignals,
        among: Among,
        purpose: &str,
    ) -> Self {
        let (n_rows, n_labelers, n_classes) = (signals.n_rows(), signals.n_signals(), signals.n_classes());
        let mut votes = Array2::zeros((n_rows, n_labelers * n_classes));
        let mut speaks = Array2::zeros((n_rows, n_labelers));
        for row in 0..n_rows {
            signals.view().for_each_given(row, |cell, _, q| {
                votes[[row, cell]] = q;
                speaks[[row, cell / n_classes]] = 1.0;
            });
        }
        let inputs = concatenate![Axis(1), features.rounded(), votes];
        let training = NetworkTraining::new(config, inputs.ncols(), n_labelers, purpose);
        Self { training, among, temperature: 1.0, inputs, votes, speaks, n_classes }
    }

    /// The weights of these rows in a pass of training.
    pub(super) fn weigh(&self, rows: &[usize], dropout: &mut ChaCha8Rng) -> Weighed {
        let (pass, mut weights) = self.training.forward(self.inputs.select(Axis(0), rows), dropout);
        weights /= self.temperature;
        for (mut weights, &row) in weights.rows_mut().into_iter().zip(rows) {
            if self.among == Among::Voters {
                Zip::from(&mut weights).and(self.speaks.row(row)).for_each(|weight, &speaks| {
                    *weight = if speaks > 0.0 { *weight } else { f32::NEG_INFINITY };
                });
            }
            softmax(weights.as_slice_mut().expect("rows lie side by side"));
        }
        let scores = self.scores(rows, |index, labeler| weights[[index, labeler]]);
        Weighed { pass, rows: rows.to_vec(), weights, scores }
    }

    /// s of these rows for weights given by place in `rows` and labeler.
    pub(super) fn scores(&self, rows: &[usize], weight: impl Fn(usize, usize) -> f32) -> Array2<f32> {
        let mut scores = Array2::zeros((rows.len(), self.n_classes));
        for (index, &row) in rows.iter().enumerate() {
            for (cell, &q) in self.votes.row(row).iter().enumerate().filter(|(_, q)| **q > 0.0) {
                scores[[index, cell % self.n_classes]] += weight(index, cell / self.n_classes) * q;
            }
        }
        scores
    }

    /// 1 where a labeler votes, `[n_rows, n_labelers]`.
    pub(super) fn speaks(&self) -> ArrayView2<'_, f32> {
        self.speaks.view()
    }

    /// A step of the optimiser, from the derivative of the loss by s, `[n_batch, n_classes]`.
    pub(super) fn learn(&mut self, weighed: Weighed, by_scores: ArrayView2<'_, f32>) {
        let Weighed { pass, rows, weights, .. } = weighed;
        let change = self.by_outputs(&rows, weights, by_scores);
        self.training.step(&pass, change);
    }

    /// The derivative by what the network puts out: that by the weights, through the softmax.
    fn by_outputs(&self, rows: &[usize], mut weights: Array2<f32>, by_scores: ArrayView2<'_, f32>) -> Array2<f32> {
        for ((mut weights, by_scores), &row) in weights.rows_mut().into_iter().zip(by_scores.rows()).zip(rows) {
            let mut by_weights = vec![0.0; weights.len()];
            for (cell, &q) in self.votes.row(row).iter().enumerate().filter(|(_, q)| **q > 0.0) {
                by_weights[cell / self.n_classes] += by_scores[cell % self.n_classes] * q;
            }
            let mean: f32 = weights.iter().zip(&by_weights).map(|(weight, by)| weight * by).sum();
            weights.iter_mut().zip(by_weights).for_each(|(weight, by)| *weight *= (by - mean) / self.temperature);
        }
        weights
    }

    /// Whether all weights of the network are numbers.
    pub(super) fn is_finite(&self) -> bool {
        self.training.is_finite()
    }
}

/// Turns logarithms of weights into shares. Where none is a number above −∞ all shares are zero.
pub(super) fn softmax(values: &mut [f32]) {
    let highest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !highest.is_finite() {
        return values.fill(0.0);
    }
    values.iter_mut().for_each(|value| *value = (*value - highest).exp());
    let sum: f32 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= sum);
}

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::{ABSTAIN, Votes};
    use ndarray::array;

    use super::*;
    use crate::baselines::one_stage::testing::quick;
    use crate::training::stream;

    fn problem() -> (Features, WeakSignals) {
        let features = Features::new(array![[0.5, -1.0], [1.5, 0.3], [-0.7, 0.2]]).unwrap();
        let votes = array![[0, 1, 1], [2, ABSTAIN, 0], [ABSTAIN, ABSTAIN, 1]];
        (features, WeakSignals::from_votes(Votes::from_bytes(votes, 3).unwrap()).unwrap())
    }

    #[test]
    fn weights_are_shared_among_all_or_among_voters() {
        let (features, signals) = problem();
        let config = quick();
        for among in [Among::All, Among::Voters] {
            let attention = LabelerAttention::new(&config, &features, &signals, among, "test");
            let weighed = attention.weigh(&[2, 0], &mut stream(0, "test", 1));
            let sums = weighed.scores.sum_axis(Axis(1));
            assert!((weighed.weights.sum() - 2.0).abs() < 1e-5);
            assert!((weighed.scores[[1, 1]] - weighed.weights[[1, 1]] - weighed.weights[[1, 2]]).abs() < 1e-6);
            // All three vote on row 0, one on row 2.
            assert!((sums[1] - 1.0).abs() < 1e-5);
            assert_eq!((sums[0] - 1.0).abs() < 1e-5, among == Among::Voters, "{sums}");
        }
    }

    #[test]
    fn the_derivative_by_outputs_is_that_of_central_differences() {
        let (features, signals) = problem();
        let config = quick();
        let by_scores = array![[0.7, -0.3, 0.2], [0.1, 0.9, -1.1]];
        for among in [Among::All, Among::Voters] {
            let mut attention = LabelerAttention::new(&config, &features, &signals, among, "test");
            attention.temperature = 0.5;
            let rows = [0, 1];
            let outputs = array![[0.3f32, -0.2, 0.8], [1.1, 0.4, -0.6]];
            let weights_of = |outputs: &Array2<f32>| {
                let mut weights = outputs / attention.temperature;
                for (mut weights, &row) in weights.rows_mut().into_iter().zip(&rows) {
                    for (labeler, weight) in weights.iter_mut().enumerate() {
                        let is_left_out = among == Among::Voters && attention.speaks[[row, labeler]] == 0.0;
                        *weight = if is_left_out { f32::NEG_INFINITY } else { *weight };
                    }
                    softmax(weights.as_slice_mut().unwrap());
                }
                weights
            };
            let value = |outputs: &Array2<f32>| {
                let weights = weights_of(outputs);
                let scores = attention.scores(&rows, |index, labeler| weights[[index, labeler]]);
                (scores * &by_scores).sum()
            };
            let found = attention.by_outputs(&rows, weights_of(&outputs), by_scores.view());
            for index in [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)] {
                let moved = |step: f32| {
                    let mut outputs = outputs.clone();
                    outputs[index] += step;
                    value(&outputs)
                };
                let expected = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                assert!((found[index] - expected).abs() < 1e-3, "{index:?}: {} and {expected}", found[index]);
            }
        }
    }
}
