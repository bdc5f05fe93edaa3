//! The networks of the learned label model: their layers, and the weights that were trained.
//!
//! `tools/hyper_model/train.py` writes the weights; `model.py` beside it has the same layers with their meaning.

use std::sync::LazyLock;

use ndarray::{Array2, ArrayView1, ArrayView2};

/// What is known of each pair of an answer and a class, of all votes together, and what a pair remembers from round to round.
pub(super) const N_CELL: usize = 15;
pub(super) const N_SHARED: usize = 9;
pub(super) const STATE: usize = 8;
/// What is known of a class beside what is known of all votes.
const N_CLASS: usize = 3;
/// What is known of a row.
pub(super) const N_ROW: usize = 5;
pub(super) const HIDDEN: usize = 40;
pub(super) const ROW_HIDDEN: usize = 16;
/// A pair of an answer and a class, its neighbours in four ways, and the class over all labelers.
const N_CONTEXTS: usize = 6;
/// Three numbers make a weight, the rest is remembered.
const N_OUT: usize = 3 + STATE;

/// Trained weights, four bytes each, the lowest first: `start`, then the weights `[outputs, inputs]` and biases of each layer of
/// [`Networks`].
static TRAINED: &[u8] = include_bytes!("weights.f32");

/// The trained networks.
pub(super) static NETWORKS: LazyLock<Networks> = LazyLock::new(|| Networks::read(TRAINED));

/// All layers.
pub(super) struct Networks {
    /// How much a vote counts for its own class in the first round.
    pub(super) start: f64,
    pub(super) cell: [Dense; 2],
    /// The first layer of contexts, one for each of them, and the second.
    pub(super) contexts: Vec<Dense>,
    pub(super) context: Dense,
    pub(super) weight: Dense,
    pub(super) balance: [Dense; 2],
    pub(super) row: [Dense; 2],
}

impl Networks {
    fn read(bytes: &[u8]) -> Self {
        let mut numbers =
            bytes.chunks_exact(4).map(|four| f64::from(f32::from_le_bytes([four[0], four[1], four[2], four[3]])));
        let start = numbers.next().expect("the file of weights is whole");
        let mut layer = |inputs: usize, outputs: usize| {
            let weights: Vec<f64> = numbers.by_ref().take(inputs * outputs).collect();
            Dense::transposed(&weights, numbers.by_ref().take(outputs).collect())
        };
        let cell = [layer(N_CELL + N_SHARED + STATE, HIDDEN), layer(HIDDEN, HIDDEN)];
        let contexts = layer(N_CONTEXTS * HIDDEN, HIDDEN);
        let networks = Self {
            start,
            cell,
            contexts: (0..N_CONTEXTS).map(|context| contexts.of_inputs(context * HIDDEN, HIDDEN)).collect(),
            context: layer(HIDDEN, HIDDEN),
            weight: layer(HIDDEN, N_OUT),
            balance: [layer(N_CLASS + N_SHARED + HIDDEN, HIDDEN), layer(HIDDEN, 2)],
            row: [layer(N_ROW + N_SHARED, ROW_HIDDEN), layer(ROW_HIDDEN, 1)],
        };
        assert!(numbers.next().is_none(), "the file of weights has more numbers than the layers");
        networks
    }

    /// How sure rows with votes may be: the layers that read a row, for votes of which so much is known.
    pub(super) fn row_layers(&self, shared: &[f64; N_SHARED]) -> [Dense; 2] {
        let [first, second] = &self.row;
        [first.with_last(shared), second.clone()]
    }
}

/// A dense layer: `bias + input · weights`, weights `[inputs, outputs]`: the outputs lie side by side, so that they are summed at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dense {
    weights: Vec<f64>,
    bias: Vec<f64>,
}

impl Dense {
    /// From weights `[outputs, inputs]`, as they were trained.
    fn transposed(trained: &[f64], bias: Vec<f64>) -> Self {
        let n_inputs = trained.len() / bias.len();
        let weights = (0..n_inputs).flat_map(|input| trained.iter().skip(input).step_by(n_inputs)).copied().collect();
        Self { weights, bias }
    }

    /// Writes the layer's outputs.
    pub(super) fn apply(&self, input: &[f64], output: &mut [f64]) {
        output.copy_from_slice(&self.bias);
        self.add_to(input, output);
    }

    /// Writes the outputs after SiLU.
    pub(super) fn activate(&self, input: &[f64], output: &mut [f64]) {
        self.apply(input, output);
        silu(output);
    }

    /// Adds `input · weights`, without the bias.
    pub(super) fn add_to(&self, input: &[f64], output: &mut [f64]) {
        for (input, weights) in input.iter().zip(self.weights.chunks_exact(output.len())) {
            output.iter_mut().zip(weights).for_each(|(output, weight)| *output += input * weight);
        }
    }

    /// The part of the layer that reads some of the inputs, with the bias.
    pub(super) fn of_inputs(&self, first: usize, n_inputs: usize) -> Self {
        let n_outputs = self.bias.len();
        let weights = self.weights[first * n_outputs..(first + n_inputs) * n_outputs].to_vec();
        Self { weights, bias: self.bias.clone() }
    }

    /// The layer for inputs of which the last are always these.
    pub(super) fn with_last(&self, last: &[f64]) -> Self {
        let n_first = self.weights.len() / self.bias.len() - last.len();
        let mut first = self.of_inputs(0, n_first);
        self.of_inputs(n_first, last.len()).add_to(last, &mut first.bias);
        first
    }

    /// The outputs for many inputs, a row each, without the bias.
    pub(super) fn product(&self, input: &Array2<f64>) -> Array2<f64> {
        let weights = ArrayView2::from_shape((self.weights.len() / self.bias.len(), self.bias.len()), &self.weights);
        input.dot(&weights.expect("as many weights as inputs times outputs"))
    }

    /// The outputs for many inputs, a row each.
    pub(super) fn of_rows(&self, input: &Array2<f64>) -> Array2<f64> {
        self.product(input) + ArrayView1::from(&self.bias)
    }

    /// The outputs for many inputs after SiLU.
    pub(super) fn activate_rows(&self, input: &Array2<f64>) -> Array2<f64> {
        let mut output = self.of_rows(input);
        silu(output.as_slice_mut().expect("rows lie side by side"));
        output
    }

    /// The layers of a row from their numbers.
    pub(super) fn of_row(numbers: &[f64]) -> [Self; 2] {
        let (first, second) = numbers.split_at((N_ROW + 1) * ROW_HIDDEN);
        [(first, N_ROW * ROW_HIDDEN), (second, ROW_HIDDEN)].map(|(numbers, n_weights)| {
            let (weights, bias) = numbers.split_at(n_weights);
            Self { weights: weights.to_vec(), bias: bias.to_vec() }
        })
    }

    /// Weights, then biases.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.weights.iter().chain(&self.bias).copied()
    }
}

/// x / (1 + e⁻ˣ).
pub(super) fn silu(values: &mut [f64]) {
    values.iter_mut().for_each(|x| *x /= 1.0 + (-*x).exp());
}
