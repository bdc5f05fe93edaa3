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
use super::rows::{add_rows, add_scaled, concat, dot, tile_len};
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
pub(super) struct Saved<T: Float> {
    first: Vec<T>,
    second: Vec<T>,
}

impl<T: Float> Drop for Saved<T> {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.first));
        give_back(std::mem::take(&mut self.second));
    }
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
        let last = transposed(self.last, m);
        let hidden = first.chunks_mut(rows * h).zip(second.chunks_mut(rows * h));
        with_scratch(rows * h, |[product]| {
            let tiles = features.chunks(rows * d).zip(heads.chunks_mut(rows * m));
            for ((features, heads), (first, second)) in tiles.zip(hidden) {
                let product = &mut product[..second.len()];
                self.first_layer(features, product, first);
                let weights = Matrix::new(self.second, h);
                matmul(product, Target::Replace, Matrix::new(first, h), weights);
                vectorized!({
                    let rows = second.chunks_exact_mut(h).zip(product.chunks_exact(h));
                    for (heads, (second, product)) in heads.chunks_exact_mut(m).zip(rows) {
                        activate(self.activation, second, product, self.second_bias);
                        let weights = last.chunks_exact(h).zip(self.last_bias);
                        for (head, (weights, &bias)) in heads.iter_mut().zip(weights) {
                            *head = dot(second, weights) + bias;
                        }
                    }
                });
            }
        });
    }

    /// h₁ of a tile; `product` is room for what comes before the activation.
    fn first_layer(&self, features: &[T], product: &mut [T], first: &mut [T]) {
        let h = self.d_hidden;
        let features = Matrix::new(features, self.d_features);
        matmul(product, Target::Replace, features, Matrix::new(self.first, h));
        vectorized!({
            for (first, product) in first.chunks_exact_mut(h).zip(product.chunks_exact(h)) {
                activate(self.activation, first, product, self.first_bias);
            }
        });
    }

    /// Gradients of the features (empty unless wanted), and of the weights and biases of the first, second and last layer, from that of
    /// the heads.
    pub(super) fn backward(
        &self,
        features: &[T],
        mut saved: Saved<T>,
        gradient: &[T],
        wants_features: bool,
    ) -> [Vec<T>; 7] {
        let n_values = self.n_rows * self.d_hidden;
        let of_weights: Vec<OfWeights<T>> = saved
            .first
            .par_chunks_mut(n_values)
            .zip(saved.second.par_chunks(n_values))
            .zip(gradient.par_chunks(self.n_rows * self.d_heads))
            .enumerate()
            .map(|(index, ((first, second), gradient))| {
                let network = self.network(index);
                network.backward_one(features, first, second, gradient, wants_features)
            })
            .collect();
        let features =
            wants_features.then(|| features_gradient(self.first, self.d_features, self.d_hidden, &saved.first));
        [
            features.unwrap_or_default(),
            concat(&of_weights, |of| &of.first),
            concat(&of_weights, |of| &of.first_bias),
            concat(&of_weights, |of| &of.second),
            concat(&of_weights, |of| &of.second_bias),
            concat(&of_weights, |of| &of.last),
            concat(&of_weights, |of| &of.last_bias),
        ]
    }

    /// If `replaces_first`, the activations of the first layer become gradients of its products.
    fn backward_one(
        &self,
        features: &[T],
        first: &mut [T],
        second: &[T],
        gradient: &[T],
        replaces_first: bool,
    ) -> OfWeights<T> {
        let (d, h, m) = (self.d_features, self.d_hidden, self.d_heads);
        let rows = tile_len(self.n_rows, 1);
        let zeros = |len| vec![T::ZERO; len];
        let mut of = OfWeights {
            first: zeros(d * h),
            first_bias: zeros(h),
            second: zeros(h * h),
            second_bias: zeros(h),
            last: Vec::new(),
            last_bias: zeros(m),
        };
        let second_weights = Matrix::new(self.second, h).transposed();
        let last = transposed(self.last, m);
        let mut of_last = vec![T::ZERO; h * m];
        let tiles = features.chunks(rows * d).zip(gradient.chunks(rows * m));
        let hidden = first.chunks_mut(rows * h).zip(second.chunks(rows * h));
        with_scratch(rows * h, |[of_second, of_first]| {
            for ((features, gradient), (first, second)) in tiles.zip(hidden) {
                let of_second = &mut of_second[..second.len()];
                let of_first = &mut of_first[..second.len()];
                vectorized!({
                    add_rows(&mut of.last_bias, gradient);
                    let known = gradient.chunks_exact(m).zip(second.chunks_exact(h));
                    for (of_second, (gradient, second)) in of_second.chunks_exact_mut(h).zip(known) {
                        of_second.fill(T::ZERO);
                        let weights = last.chunks_exact(h).zip(of_last.chunks_exact_mut(h));
                        for (&gradient, (weights, of_weights)) in gradient.iter().zip(weights) {
                            add_scaled(of_second, gradient, weights);
                            add_scaled(of_weights, gradient, second);
                        }
                        through_activation(self.activation, of_second, second, &mut of.second_bias);
                    }
                });
                matmul(of_first, Target::Replace, Matrix::new(of_second, h), second_weights);
                let first_transposed = Matrix::new(first, h).transposed();
                matmul(&mut of.second, Target::AddTo, first_transposed, Matrix::new(of_second, h));
                vectorized!({
                    for (of_first, first) in of_first.chunks_exact_mut(h).zip(first.chunks_exact(h)) {
                        through_activation(self.activation, of_first, first, &mut of.first_bias);
                    }
                });
                let features = Matrix::new(features, d).transposed();
                matmul(&mut of.first, Target::AddTo, features, Matrix::new(of_first, h));
                if replaces_first {
                    first.copy_from_slice(of_first);
                }
            }
        });
        of.last = transposed(&of_last, h);
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

/// Rows of `n_columns` values as columns.
fn transposed<T: Float>(values: &[T], n_columns: usize) -> Vec<T> {
    let column = |column: usize| values.iter().skip(column).step_by(n_columns).copied();
    (0..n_columns).flat_map(column).collect()
}

/// hidden = a(product + bias), of a row.
#[inline(always)]
fn activate<T: Float>(activation: Activation, hidden: &mut [T], product: &[T], bias: &[T]) {
    let channels = hidden.iter_mut().zip(product.iter().zip(bias));
    match activation {
        Activation::Tanh => channels.for_each(|(hidden, (&product, &bias))| {
            *hidden = (product + bias).tanh();
        }),
        Activation::Relu => channels.for_each(|(hidden, (&product, &bias))| {
            *hidden = positive(product + bias);
        }),
        Activation::NormalizedSilu => unreachable!("it has an operation of its own"),
    }
}

/// Turns a row's gradient of an activation's values into that of its argument, and adds it to `sum`.
#[inline(always)]
fn through_activation<T: Float>(activation: Activation, gradient: &mut [T], values: &[T], sum: &mut [T]) {
    let channels = gradient.iter_mut().zip(values).zip(sum);
    match activation {
        Activation::Tanh => channels.for_each(|((gradient, &value), sum)| {
            *gradient = *gradient * (-value).mul_add(value, T::ONE);
            *sum += *gradient;
        }),
        Activation::Relu => channels.for_each(|((gradient, &value), sum)| {
            *gradient = if value > T::ZERO { *gradient } else { T::ZERO };
            *sum += *gradient;
        }),
        Activation::NormalizedSilu => unreachable!("it has an operation of its own"),
    }
}

#[inline(always)]
fn positive<T: Float>(value: T) -> T {
    // A comparison that lets NaN through: a lost number must not look like a zero.
    if value < T::ZERO { T::ZERO } else { value }
}
