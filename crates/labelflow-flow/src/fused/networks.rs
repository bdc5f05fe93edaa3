//! Networks of three linear layers without normalisation, forward and backward: for every network g
//!
//! ```text
//! h₁ = a(x W₁ + c₁),   h₂ = a(h₁ W₂ + c₂),   heads = h₂ W₃ + c₃
//! ```
//!
//! No row looks at another, and no network at another: each network is one thread's work, tile by tile, from the first product to the
//! last. h₁ and h₂ are kept for the way back, which needs nothing else: the slopes of the activations follow from their values.

use rayon::prelude::*;

use super::buffers::{give_back, take, with_scratch};
use super::float::Float;
use super::matmul::{Matrix, Target, features_gradient, matmul};
use super::rows::{add_rows, tile_len};
use crate::Activation;

/// The weights of all networks, one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Networks<'a, T> {
    pub(super) n_rows: usize,
    pub(super) d_features: usize,
    pub(super) d_hidden: usize,
    pub(super) d_heads: usize,
    pub(super) activation: Activation,
    /// `[n_networks, d_features, d_hidden]`
    pub(super) first: &'a [T],
    /// `[n_networks, d_hidden]`
    pub(super) first_bias: &'a [T],
    /// `[n_networks, d_hidden, d_hidden]`
    pub(super) second: &'a [T],
    /// `[n_networks, d_hidden]`
    pub(super) second_bias: &'a [T],
    /// `[n_networks, d_hidden, d_heads]`
    pub(super) last: &'a [T],
    /// `[n_networks, d_heads]`
    pub(super) last_bias: &'a [T],
}

/// What the way back needs of the way forward, both `[n_networks, n_rows, d_hidden]`.
#[derive(Debug, Clone)]
pub(super) struct Saved<T> {
    first: Vec<T>,
    second: Vec<T>,
}

impl<T: Float> Saved<T> {
    pub(super) fn give_back(self) {
        give_back(self.first);
        give_back(self.second);
    }
}

/// The gradients of all that the heads depend on.
#[derive(Debug)]
pub(super) struct Gradients<T> {
    /// `[n_rows, d_features]`, when asked for.
    pub(super) features: Option<Vec<T>>,
    pub(super) first: Vec<T>,
    pub(super) first_bias: Vec<T>,
    pub(super) second: Vec<T>,
    pub(super) second_bias: Vec<T>,
    pub(super) last: Vec<T>,
    pub(super) last_bias: Vec<T>,
}

impl<'a, T: Float> Networks<'a, T> {
    fn n_networks(&self) -> usize {
        self.first_bias.len() / self.d_hidden
    }

    /// One network: its part of every weight.
    fn network(&self, index: usize) -> Networks<'a, T> {
        let (d, h, m) = (self.d_features, self.d_hidden, self.d_heads);
        let part = |all: &'a [T], len: usize| &all[index * len..][..len];
        Networks {
            first: part(self.first, d * h),
            first_bias: part(self.first_bias, h),
            second: part(self.second, h * h),
            second_bias: part(self.second_bias, h),
            last: part(self.last, h * m),
            last_bias: part(self.last_bias, m),
            ..*self
        }
    }

    /// The heads, `[n_networks, n_rows, d_heads]`.
    pub(super) fn forward(&self, features: &[T]) -> (Vec<T>, Saved<T>) {
        let n_values = self.n_rows * self.d_hidden;
        let mut first = take(self.n_networks() * n_values);
        let mut second = take(self.n_networks() * n_values);
        let mut heads = take(self.n_networks() * self.n_rows * self.d_heads);
        heads
            .par_chunks_mut(self.n_rows * self.d_heads)
            .zip(first.par_chunks_mut(n_values).zip(second.par_chunks_mut(n_values)))
            .enumerate()
            .for_each(|(index, (heads, (first, second)))| {
                self.network(index).forward_one(features, first, second, heads);
            });
        (heads, Saved { first, second })
    }

    fn forward_one(&self, features: &[T], first: &mut [T], second: &mut [T], heads: &mut [T]) {
        let (d, h, m) = (self.d_features, self.d_hidden, self.d_heads);
        let rows = tile_len(self.n_rows, 1);
        let hidden = first.chunks_mut(rows * h).zip(second.chunks_mut(rows * h));
        for ((features, heads), (first, second)) in
            features.chunks(rows * d).zip(heads.chunks_mut(rows * m)).zip(hidden)
        {
            linear(first, Matrix::new(features, d), Matrix::new(self.first, h), self.first_bias);
            vectorized!(activate(self.activation, first));
            linear(second, Matrix::new(first, h), Matrix::new(self.second, h), self.second_bias);
            vectorized!(activate(self.activation, second));
            linear(heads, Matrix::new(second, h), Matrix::new(self.last, m), self.last_bias);
        }
    }

    /// Gradients from that of the heads.
    pub(super) fn backward(
        &self,
        features: &[T],
        mut saved: Saved<T>,
        gradient: &[T],
        wants_features: bool,
    ) -> Gradients<T> {
        let n_values = self.n_rows * self.d_hidden;
        let of_weights: Vec<OfWeights<T>> = saved
            .first
            .par_chunks_mut(n_values)
            .zip(saved.second.par_chunks_mut(n_values))
            .zip(gradient.par_chunks(self.n_rows * self.d_heads))
            .enumerate()
            .map(|(index, ((first, second), gradient))| {
                self.network(index).backward_one(features, first, second, gradient)
            })
            .collect();
        // The activations of the first layer have become gradients of its products.
        let features = wants_features
            .then(|| features_gradient(self.first, self.d_features, self.d_hidden, &saved.first));
        saved.give_back();
        let collect = |part: fn(&OfWeights<T>) -> &[T]| -> Vec<T> {
            of_weights.iter().map(part).collect::<Vec<_>>().concat()
        };
        Gradients {
            features,
            first: collect(|of| &of.first),
            first_bias: collect(|of| &of.first_bias),
            second: collect(|of| &of.second),
            second_bias: collect(|of| &of.second_bias),
            last: collect(|of| &of.last),
            last_bias: collect(|of| &of.last_bias),
        }
    }

    /// Turns the activations of both layers into gradients of their products, in place.
    fn backward_one(
        &self,
        features: &[T],
        first: &mut [T],
        second: &mut [T],
        gradient: &[T],
    ) -> OfWeights<T> {
        let (d, h, m) = (self.d_features, self.d_hidden, self.d_heads);
        let rows = tile_len(self.n_rows, 1);
        let mut of = OfWeights::zeros(d, h, m);
        let hidden = first.chunks_mut(rows * h).zip(second.chunks_mut(rows * h));
        with_scratch(rows * h, |[scratch]| {
            for ((features, gradient), (first, second)) in
                features.chunks(rows * d).zip(gradient.chunks(rows * m)).zip(hidden)
            {
                let of_hidden = &mut scratch[..first.len()];
                let gradient = Matrix::new(gradient, m);
                matmul(&mut of.last, Target::AddTo, Matrix::new(second, h).transposed(), gradient);
                vectorized!(add_rows(&mut of.last_bias, gradient.values()));
                let last = Matrix::new(self.last, m).transposed();
                matmul(of_hidden, Target::Replace, gradient, last);
                vectorized!({
                    through_activation(self.activation, second, of_hidden);
                    add_rows(&mut of.second_bias, second);
                });
                let of_second = Matrix::new(second, h);
                let first_transposed = Matrix::new(first, h).transposed();
                matmul(&mut of.second, Target::AddTo, first_transposed, of_second);
                let weights = Matrix::new(self.second, h).transposed();
                matmul(of_hidden, Target::Replace, of_second, weights);
                vectorized!({
                    through_activation(self.activation, first, of_hidden);
                    add_rows(&mut of.first_bias, first);
                });
                let features = Matrix::new(features, d).transposed();
                matmul(&mut of.first, Target::AddTo, features, Matrix::new(first, h));
            }
        });
        of
    }
}

/// The gradients of one network's weights.
#[derive(Debug)]
struct OfWeights<T> {
    first: Vec<T>,
    first_bias: Vec<T>,
    second: Vec<T>,
    second_bias: Vec<T>,
    last: Vec<T>,
    last_bias: Vec<T>,
}

impl<T: Float> OfWeights<T> {
    fn zeros(d_features: usize, d_hidden: usize, d_heads: usize) -> Self {
        let zeros = |len| vec![T::ZERO; len];
        Self {
            first: zeros(d_features * d_hidden),
            first_bias: zeros(d_hidden),
            second: zeros(d_hidden * d_hidden),
            second_bias: zeros(d_hidden),
            last: zeros(d_hidden * d_heads),
            last_bias: zeros(d_heads),
        }
    }
}

/// output = input · weight + bias
fn linear<T: Float>(output: &mut [T], input: Matrix<'_, T>, weight: Matrix<'_, T>, bias: &[T]) {
    output.chunks_exact_mut(bias.len()).for_each(|row| row.copy_from_slice(bias));
    matmul(output, Target::AddTo, input, weight);
}

#[inline(always)]
fn activate<T: Float>(activation: Activation, values: &mut [T]) {
    match activation {
        Activation::Tanh => values.iter_mut().for_each(|value| *value = value.tanh()),
        Activation::Relu => values.iter_mut().for_each(|value| *value = positive(*value)),
        Activation::NormalizedSilu => unreachable!("it has an operation of its own"),
    }
}

/// Replaces an activation's values by the gradient of its argument; `gradient` is that of its values.
#[inline(always)]
fn through_activation<T: Float>(activation: Activation, values: &mut [T], gradient: &[T]) {
    let values = values.iter_mut().zip(gradient);
    match activation {
        Activation::Tanh => values.for_each(|(value, &gradient)| {
            *value = gradient * (-*value).mul_add(*value, T::ONE);
        }),
        Activation::Relu => values.for_each(|(value, &gradient)| {
            *value = if *value > T::ZERO { gradient } else { T::ZERO };
        }),
        Activation::NormalizedSilu => unreachable!("it has an operation of its own"),
    }
}

#[inline(always)]
fn positive<T: Float>(value: T) -> T {
    // A comparison that lets NaN through: a lost number must not look like a zero.
    if value < T::ZERO { T::ZERO } else { value }
}
