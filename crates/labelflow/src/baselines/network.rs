//! A network of rectified linear units: its passes forward and backward, and its optimiser.
//!
//! Layers this small spend their time in three matrix products per batch, so both passes are written out here: no tensor
//! library, no device but the CPU.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, NdFloat, Zip, s};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::baselines::{HiddenLayer, MultilayerPerceptron, Optimizer};
use crate::evaluation::write_probabilities;
use crate::training::adam::{SliceAdam, from_f64};
use crate::training::stream;

/// The rows that a prediction works on at once.
const BLOCK_ROWS: usize = 256;

/// A network with its optimiser.
pub(crate) struct NetworkTraining<'a> {
    config: &'a MultilayerPerceptron,
    pub(crate) network: Network<f32>,
    state: OptimizerState,
    gradient: Vec<f32>,
}

/// What an optimiser remembers.
enum OptimizerState {
    Adam(SliceAdam<f32>),
    /// Sums of squared gradients.
    Adagrad(Vec<f32>),
}

impl<'a> NetworkTraining<'a> {
    /// The network before its first step, with weights from the stream of this purpose. The settings must have been checked.
    pub(crate) fn new(config: &'a MultilayerPerceptron, d_input: usize, d_output: usize, purpose: &str) -> Self {
        let mut widths = vec![d_input];
        widths.extend(config.hidden.iter().map(|layer| layer.width));
        widths.push(d_output);
        let network = Network::new(widths, &mut stream(config.seed, purpose, 0));
        let n_weights = network.weights.len();
        let state = match config.optimizer {
            Optimizer::Adam => OptimizerState::Adam(SliceAdam::new(n_weights)),
            Optimizer::Adagrad => OptimizerState::Adagrad(vec![0.0; n_weights]),
        };
        Self { config, network, state, gradient: vec![0.0; n_weights] }
    }

    /// A pass of training, with dropout.
    pub(crate) fn forward(&self, input: Array2<f32>, dropout: &mut ChaCha8Rng) -> (Pass<f32>, Array2<f32>) {
        let masks = draw_masks(&self.config.hidden, input.nrows(), dropout);
        self.network.forward(input, masks)
    }

    /// A step of the optimiser, from the derivative of the loss by what the network put out.
    pub(crate) fn step(&mut self, pass: &Pass<f32>, change: Array2<f32>) {
        self.network.backward(pass, change, &mut self.gradient);
        let lr = self.config.learning_rate;
        let weights = &mut self.network.weights;
        match &mut self.state {
            OptimizerState::Adam(adam) => adam.step(weights, &self.gradient, lr),
            OptimizerState::Adagrad(squares) => {
                let changes = squares.iter_mut().zip(&self.gradient);
                for (weight, (square, &g)) in weights.iter_mut().zip(changes) {
                    *square += g * g;
                    *weight -= lr as f32 * g / (*square + 1e-8).sqrt();
                }
            }
        }
    }

    /// Whether all weights are numbers.
    pub(crate) fn is_finite(&self) -> bool {
        self.network.weights.iter().all(|weight| weight.is_finite())
    }
}

/// What each hidden layer's units are multiplied by, `[n_rows, width]`: zero for silent units, and for the others what
/// keeps the mean; nothing for a layer without dropout.
pub(crate) type Masks<F> = Vec<Option<Array2<F>>>;

pub(crate) fn draw_masks(hidden: &[HiddenLayer], n_rows: usize, rng: &mut ChaCha8Rng) -> Masks<f32> {
    let mut mask = |layer: &HiddenLayer| {
        let (dropout, loud) = (layer.dropout as f32, 1.0 / (1.0 - layer.dropout as f32));
        Array2::from_shape_simple_fn((n_rows, layer.width), || if rng.random::<f32>() < dropout { 0.0 } else { loud })
    };
    hidden.iter().map(|layer| (layer.dropout > 0.0).then(|| mask(layer))).collect()
}

/// The network itself, in f32; its gradient is checked in f64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Network<F> {
    /// Features, hidden layers, outputs.
    pub(crate) widths: Vec<usize>,
    /// The weights `[d_input, d_output]` of each layer, followed by its intercepts.
    pub(crate) weights: Vec<F>,
}

pub(crate) fn n_weights(widths: &[usize]) -> usize {
    widths.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
}

/// What a pass through a network leaves for the way back.
pub(crate) struct Pass<F> {
    /// The input of each layer.
    inputs: Vec<Array2<F>>,
    masks: Masks<F>,
}

impl<F: NdFloat> Network<F> {
    /// First weights.
    pub(crate) fn new(widths: Vec<usize>, rng: &mut ChaCha8Rng) -> Self {
        let mut weights = Vec::with_capacity(n_weights(&widths));
        for pair in widths.windows(2) {
            let limit = (6.0 / (pair[0] + pair[1]) as f64).sqrt();
            let mut draw = || from_f64::<F>(limit * (2.0 * rng.random::<f64>() - 1.0));
            weights.extend((0..pair[0] * pair[1]).map(|_| draw()));
            weights.extend((0..pair[1]).map(|_| F::zero()));
        }
        Self { widths, weights }
    }

    fn n_layers(&self) -> usize {
        self.widths.len() - 1
    }

    /// Where a layer's weights and intercepts lie.
    fn place(&self, layer: usize) -> Range<usize> {
        let start = n_weights(&self.widths[..=layer]);
        start..start + (self.widths[layer] + 1) * self.widths[layer + 1]
    }

    fn layer(&self, layer: usize) -> (ArrayView2<'_, F>, ArrayView1<'_, F>) {
        let (d_input, d_output) = (self.widths[layer], self.widths[layer + 1]);
        let (weights, intercepts) = self.weights[self.place(layer)].split_at(d_input * d_output);
        let weights = ArrayView2::from_shape((d_input, d_output), weights);
        (weights.expect("a layer has this many weights"), ArrayView1::from(intercepts))
    }

    /// a W + c
    fn linear(&self, layer: usize, input: ArrayView2<'_, F>) -> Array2<F> {
        let (weights, intercepts) = self.layer(layer);
        let mut output = Array2::zeros((input.nrows(), weights.ncols()));
        output += &intercepts;
        general_mat_mul(F::one(), &input, &weights, F::one(), &mut output);
        output
    }

    /// The scores of rows, without dropout.
    fn scores(&self, features: ArrayView2<'_, F>) -> Array2<F> {
        let mut output = self.linear(0, features);
        for layer in 1..self.n_layers() {
            output.mapv_inplace(|value| value.max(F::zero()));
            output = self.linear(layer, output.view());
        }
        output
    }

    /// What the network puts out for the rows of a batch, and what the way back needs.
    pub(crate) fn forward(&self, input: Array2<F>, masks: Masks<F>) -> (Pass<F>, Array2<F>) {
        let mut inputs = vec![input];
        for (layer, mask) in masks.iter().enumerate() {
            let mut output = self.linear(layer, inputs[layer].view());
            output.mapv_inplace(|value| value.max(F::zero()));
            if let Some(mask) = mask {
                output *= mask;
            }
            inputs.push(output);
        }
        let last = self.n_layers() - 1;
        let output = self.linear(last, inputs[last].view());
        (Pass { inputs, masks }, output)
    }

    /// The gradient by all weights, from the derivative by what the network put out.
    pub(crate) fn backward(&self, pass: &Pass<F>, mut change: Array2<F>, gradient: &mut [F]) {
        let Pass { inputs, masks } = pass;
        // `change` is the derivative by what a layer puts out.
        for layer in (0..self.n_layers()).rev() {
            self.layer_gradient(layer, inputs[layer].view(), change.view(), gradient);
            if layer > 0 {
                let (weights, _) = self.layer(layer);
                let mut before = Array2::zeros(inputs[layer].raw_dim());
                general_mat_mul(F::one(), &change, &weights.t(), F::zero(), &mut before);
                // A unit passes a derivative on where it spoke, as loud as it spoke.
                Zip::from(&mut before).and(&inputs[layer]).for_each(|change, &output| {
                    if output <= F::zero() {
                        *change = F::zero();
                    }
                });
                if let Some(mask) = &masks[layer - 1] {
                    before *= mask;
                }
                change = before;
            }
        }
    }

    fn layer_gradient(&self, layer: usize, input: ArrayView2<'_, F>, change: ArrayView2<'_, F>, gradient: &mut [F]) {
        let (d_input, d_output) = (self.widths[layer], self.widths[layer + 1]);
        let (weights, intercepts) = gradient[self.place(layer)].split_at_mut(d_input * d_output);
        let mut weights =
            ArrayViewMut2::from_shape((d_input, d_output), weights).expect("a layer has this many weights");
        general_mat_mul(F::one(), &input.t(), &change, F::zero(), &mut weights);
        ArrayViewMut1::from(intercepts).assign(&change.sum_axis(Axis(0)));
    }
}

impl Network<f32> {
    /// The probability of each class for each row.
    pub(crate) fn predict(&self, features: ArrayView2<'_, f32>, n_classes: usize) -> Array2<f64> {
        let n_rows = features.nrows();
        let mut labels = vec![0.0; n_rows * n_classes];
        labels.par_chunks_mut(BLOCK_ROWS * n_classes).enumerate().for_each(|(block, labels)| {
            let start = block * BLOCK_ROWS;
            let end = start + labels.len() / n_classes;
            let scores = self.scores(features.slice(s![start..end, ..]));
            for (row, labels) in scores.rows().into_iter().zip(labels.chunks_exact_mut(n_classes)) {
                write_probabilities(labels, row.iter().map(|&score| f64::from(score)));
            }
        });
        Array2::from_shape_vec((n_rows, n_classes), labels).expect("n_classes numbers per row")
    }
}

/// The mean over the rows of −Σ_c y_c log p_c; turns each score into the derivative by it.
pub(crate) fn loss_and_residuals<F: NdFloat>(mut scores: ArrayViewMut2<'_, F>, targets: ArrayView2<'_, F>) -> F {
    let n_rows = from_f64::<F>(scores.nrows() as f64);
    let mut loss = F::zero();
    for (mut scores, targets) in scores.rows_mut().into_iter().zip(targets.rows()) {
        // Two classes: the score of the first one is zero.
        let (unspoken, spoken) = targets.split_at(Axis(0), targets.len() - scores.len());
        let start = if unspoken.is_empty() { F::neg_infinity() } else { F::zero() };
        let highest = scores.fold(start, |highest, &score| highest.max(score));
        let mut sum = if unspoken.is_empty() { F::zero() } else { (-highest).exp() };
        sum = scores.fold(sum, |sum, &score| sum + (score - highest).exp());
        let log_sum = highest + sum.ln();
        let weight = targets.sum();
        loss += weight * log_sum - spoken.dot(&scores);
        Zip::from(&mut scores).and(spoken).for_each(|score, &target| {
            *score = (weight * (*score - log_sum).exp() - target) / n_rows;
        });
    }
    loss / n_rows
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    /// Numbers from −1 to 1 without pattern.
    fn numbers(shape: (usize, usize), seed: u64) -> Array2<f32> {
        let mut rng = stream(seed, "test", 0);
        Array2::from_shape_simple_fn(shape, || 2.0 * rng.random::<f32>() - 1.0)
    }

    /// The loss of a batch, and its gradient by all weights.
    fn loss_and_gradient(
        network: &Network<f64>,
        input: Array2<f64>,
        targets: ArrayView2<'_, f64>,
        masks: Masks<f64>,
        gradient: &mut [f64],
    ) -> f64 {
        let (pass, mut scores) = network.forward(input, masks);
        let loss = loss_and_residuals(scores.view_mut(), targets);
        network.backward(&pass, scores, gradient);
        loss
    }

    #[test]
    fn the_gradient_is_that_of_central_differences() {
        for (n_outputs, n_classes) in [(1, 2), (3, 3)] {
            let mut network = Network::<f64>::new(vec![3, 5, 4, n_outputs], &mut stream(3, "test", 0));
            // Intercepts away from zero, so that they are checked as well.
            network.weights.iter_mut().enumerate().for_each(|(i, w)| *w += 0.1 * (i as f64).sin());
            let input = numbers((7, 3), 4).mapv(f64::from);
            // Not all of these add up to one: the adversary's do not.
            let targets = numbers((7, n_classes), 5).mapv(|y| 0.5 + 0.5 * f64::from(y));
            let mask = numbers((7, 4), 6).mapv(|u| if u < -0.5 { 0.0 } else { 1.25 });
            let masks = vec![None, Some(mask)];
            let mut gradient = vec![0.0; network.weights.len()];
            let loss = |network: &Network<f64>, gradient: &mut [f64]| {
                loss_and_gradient(network, input.clone(), targets.view(), masks.clone(), gradient)
            };
            loss(&network, &mut gradient);
            let mut unused = gradient.clone();
            for (index, found) in gradient.iter().enumerate() {
                let mut moved = |step: f64| {
                    let mut network = network.clone();
                    network.weights[index] += step;
                    loss(&network, &mut unused)
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((found - expected).abs() < 1e-8, "{index}: {found} and {expected}");
            }
        }
    }

    #[test]
    fn without_weights_the_loss_is_the_logarithm_of_the_number_of_classes() {
        for (n_outputs, n_classes) in [(1, 2), (5, 5)] {
            let widths = vec![2, n_outputs];
            let network = Network::<f64> { weights: vec![0.0; n_weights(&widths)], widths };
            let mut gradient = vec![0.0; network.weights.len()];
            let targets = Array2::from_elem((1, n_classes), 1.0 / n_classes as f64);
            let input = array![[1.0, -1.0]];
            let loss = loss_and_gradient(&network, input, targets.view(), Vec::new(), &mut gradient);
            assert!((loss - (n_classes as f64).ln()).abs() < 1e-12);
            assert!(gradient.iter().all(|g: &f64| g.abs() < 1e-12));
        }
    }

    #[test]
    fn first_weights_are_glorots_and_intercepts_zero() {
        let network = Network::<f32>::new(vec![30, 70, 1], &mut stream(0, "test", 0));
        let (weights, intercepts) = network.layer(0);
        let limit = (6f32 / 100.0).sqrt();
        let largest = weights.iter().fold(0.0, |largest: f32, weight| weight.abs().max(largest));
        assert!(largest <= limit && largest > 0.98 * limit, "{largest}");
        assert!(weights.mean().unwrap().abs() < 0.02);
        assert!(intercepts.iter().all(|&c| c == 0.0));
    }

    #[test]
    fn dropout_keeps_the_mean() {
        let hidden = [HiddenLayer { width: 100, dropout: 0.2 }, HiddenLayer::default()];
        let masks = draw_masks(&hidden, 100, &mut stream(0, "test", 0));
        let mask = masks[0].as_ref().unwrap();
        assert!(mask.iter().all(|&m| m == 0.0 || (m - 1.25).abs() < 1e-6));
        assert!((mask.mean().unwrap() - 1.0).abs() < 0.02);
        assert!(masks[1].is_none());
    }
}
