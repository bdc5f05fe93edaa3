//! The conditioner bank, forward and backward: for every network g
//!
//! ```text
//! pre = x W₁,   h = (pre − mean) · factor · scale + shift,   condition = SiLU(h) W₂ + c₂
//! ```
//!
//! Networks are independent of each other, so each is one thread's work from the first product to the last, tile by tile. Only `pre` is
//! kept for the way back; what follows it is computed again, which costs less than reading it from memory.

use rayon::prelude::*;

use super::buffers::{give_back, take, with_scratch};
use super::float::Float;
use super::matmul::{Matrix, Target, features_gradient, matmul};
use super::rows::{BackwardNormalization, Moments, add_rows, concat, tile_len};

/// The weights of all networks, one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bank<'a, T> {
    pub(super) n_rows: usize,
    pub(super) d_features: usize,
    pub(super) d_hidden: usize,
    /// `[n_networks, d_features, d_hidden]`
    pub(super) first: &'a [T],
    /// `[n_networks, d_hidden]`, of the normalisation; here and below.
    pub(super) scale: &'a [T],
    pub(super) shift: &'a [T],
    /// `[n_networks, d_hidden, d_hidden]`
    pub(super) second: &'a [T],
    /// `[n_networks, d_hidden]`
    pub(super) second_bias: &'a [T],
}

/// What the way back needs of the way forward.
#[derive(Debug, Clone)]
pub(super) struct Saved<T: Float> {
    /// `[n_networks, n_rows, d_hidden]`
    pre: Vec<T>,
    /// `[n_networks][d_hidden]`
    pub(super) networks: Vec<Moments<T>>,
}

/// Mean and unbiased variance of each channel of each network.
#[derive(Debug, Clone, Default)]
pub(super) struct Statistics<T> {
    pub(super) mean: Vec<T>,
    pub(super) variance: Vec<T>,
}

impl<T: Float> Drop for Saved<T> {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.pre));
    }
}

impl<T: Float> Statistics<T> {
    pub(super) fn of(moments: &[Moments<T>]) -> Self {
        Self {
            mean: moments.iter().flat_map(|moments| moments.mean.iter().copied()).collect(),
            variance: moments.iter().flat_map(Moments::unbiased_variance).collect(),
        }
    }

    pub(super) fn extend(&mut self, others: &Self) {
        self.mean.extend_from_slice(&others.mean);
        self.variance.extend_from_slice(&others.variance);
    }
}

impl<'a, T: Float> Bank<'a, T> {
    /// One network: its part of every weight.
    pub(super) fn network(&self, index: usize) -> Self {
        let (d, h) = (self.d_features, self.d_hidden);
        let part = |all: &'a [T], len: usize| &all[index * len..][..len];
        Self {
            first: part(self.first, d * h),
            scale: part(self.scale, h),
            shift: part(self.shift, h),
            second: part(self.second, h * h),
            second_bias: part(self.second_bias, h),
            ..*self
        }
    }

    fn n_networks(&self) -> usize {
        self.scale.len() / self.d_hidden
    }

    /// The condition, `[n_networks, n_rows, d_hidden]`, with statistics of the batch.
    pub(super) fn forward(&self, features: &[T]) -> (Vec<T>, Saved<T>) {
        let n_values = self.n_rows * self.d_hidden;
        let mut pre = take(self.n_networks() * n_values);
        let mut condition = take(self.n_networks() * n_values);
        let networks = pre
            .par_chunks_mut(n_values)
            .zip(condition.par_chunks_mut(n_values))
            .enumerate()
            .map(|(index, (pre, condition))| self.network(index).forward_one(features, pre, condition))
            .collect();
        (condition, Saved { pre, networks })
    }

    /// Gradients of the features (empty unless wanted), first, scale, shift, second and second bias from that of the condition, whose
    /// memory is used up.
    pub(super) fn backward(
        &self,
        features: &[T],
        saved: Saved<T>,
        mut gradient: Vec<T>,
        wants_features: bool,
    ) -> [Vec<T>; 6] {
        let (d, h) = (self.d_features, self.d_hidden);
        let n_networks = self.n_networks();
        let mut first = take(n_networks * d * h);
        let mut second = take(n_networks * h * h);
        let sums: Vec<NetworkSums<T>> = gradient
            .par_chunks_mut(self.n_rows * h)
            .zip(saved.pre.par_chunks(self.n_rows * h))
            .zip(first.par_chunks_mut(d * h).zip(second.par_chunks_mut(h * h)))
            .enumerate()
            .map(|(index, ((gradient, pre), (first, second)))| {
                let network = self.network(index);
                network.backward_one(features, pre, &saved.networks[index], gradient, first, second)
            })
            .collect();
        let features = wants_features.then(|| features_gradient(self.first, d, h, &gradient));
        give_back(gradient);
        let [scale, shift] = [concat(&sums, |of| &of.scale), concat(&sums, |of| &of.shift)];
        let second_bias = concat(&sums, |of| &of.second_bias);
        [features.unwrap_or_default(), first, scale, shift, second, second_bias]
    }
}

/// Gradients of one network that are sums over rows.
#[derive(Debug)]
struct NetworkSums<T> {
    scale: Vec<T>,
    shift: Vec<T>,
    second_bias: Vec<T>,
}

impl<T: Float> Bank<'_, T> {
    /// h = pre · slope + offset: normalisation and its affine part in one.
    fn slopes_and_offsets(&self, moments: &Moments<T>) -> (Vec<T>, Vec<T>) {
        let slopes: Vec<T> = moments.factors().iter().zip(self.scale).map(|(&factor, &scale)| factor * scale).collect();
        let offset = |channel: usize| (-moments.mean[channel]).mul_add(slopes[channel], self.shift[channel]);
        let offsets = (0..self.d_hidden).map(offset).collect();
        (slopes, offsets)
    }

    fn forward_one(&self, features: &[T], pre: &mut [T], condition: &mut [T]) -> Moments<T> {
        let h = self.d_hidden;
        let tile_len = tile_len(pre.len() / h, h);
        let mut moments = Moments::new(h);
        let feature_tiles = features.chunks(tile_len / h * self.d_features);
        for (tile, features) in pre.chunks_mut(tile_len).zip(feature_tiles) {
            let features = Matrix::new(features, self.d_features);
            matmul(tile, Target::Replace, features, Matrix::new(self.first, h));
            vectorized!(moments.add_tile(tile));
        }
        let (slopes, offsets) = self.slopes_and_offsets(&moments);
        with_scratch(tile_len, |[hidden]| {
            for (pre, condition) in pre.chunks(tile_len).zip(condition.chunks_mut(tile_len)) {
                let hidden = &mut hidden[..pre.len()];
                vectorized!(activate(hidden, pre, &slopes, &offsets));
                self.second_layer(hidden, condition);
            }
        });
        moments
    }

    /// hidden · W₂ + c₂
    pub(super) fn second_layer(&self, hidden: &[T], output: &mut [T]) {
        let h = self.d_hidden;
        output.chunks_exact_mut(h).for_each(|row| row.copy_from_slice(self.second_bias));
        matmul(output, Target::AddTo, Matrix::new(hidden, h), Matrix::new(self.second, h));
    }

    /// Turns the gradient of the condition into that of `pre`, in place.
    fn backward_one(
        &self,
        features: &[T],
        pre: &[T],
        moments: &Moments<T>,
        gradient: &mut [T],
        first: &mut [T],
        second: &mut [T],
    ) -> NetworkSums<T> {
        let h = self.d_hidden;
        let tile_len = tile_len(pre.len() / h, h);
        let (slopes, offsets) = self.slopes_and_offsets(moments);
        let mut products = vec![T::ZERO; h];
        let mut sums = NetworkSums { scale: vec![T::ZERO; h], shift: vec![T::ZERO; h], second_bias: vec![T::ZERO; h] };
        second.fill(T::ZERO);
        with_scratch(tile_len, |[hidden, hidden_slope, of_hidden]| {
            for (pre, gradient) in pre.chunks(tile_len).zip(gradient.chunks_mut(tile_len)) {
                let n_values = pre.len();
                let hidden = &mut hidden[..n_values];
                let hidden_slope = &mut hidden_slope[..n_values];
                let of_hidden = &mut of_hidden[..n_values];
                vectorized!(activate_with_slope(hidden, hidden_slope, pre, &slopes, &offsets));
                let second_transposed = Matrix::new(self.second, h).transposed();
                matmul(of_hidden, Target::Replace, Matrix::new(gradient, h), second_transposed);
                let hidden = Matrix::new(hidden, h).transposed();
                matmul(second, Target::AddTo, hidden, Matrix::new(gradient, h));
                vectorized!({
                    add_rows(&mut sums.second_bias, gradient);
                    let known = [pre, &*hidden_slope, &*of_hidden];
                    let (products, sums) = (&mut products, &mut sums.shift);
                    through_activation(gradient, known, &moments.mean, products, sums);
                });
            }
        });
        let factors = moments.factors();
        for (scale, (&product, &factor)) in sums.scale.iter_mut().zip(products.iter().zip(&factors)) {
            *scale = product * factor;
        }
        let normalization = BackwardNormalization::new(moments, &sums.shift, &products).scaled(self.scale);
        vectorized!(normalization.apply(pre, gradient));
        let features = Matrix::new(features, self.d_features).transposed();
        matmul(first, Target::Replace, features, Matrix::new(gradient, h));
        sums
    }
}

/// hidden = SiLU(pre · slopes + offsets)
#[inline(always)]
fn activate<T: Float>(hidden: &mut [T], pre: &[T], slopes: &[T], offsets: &[T]) {
    let d_hidden = slopes.len();
    for (hidden, pre) in hidden.chunks_exact_mut(d_hidden).zip(pre.chunks_exact(d_hidden)) {
        for (((hidden, &pre), &slope), &offset) in hidden.iter_mut().zip(pre).zip(slopes).zip(offsets) {
            *hidden = pre.mul_add(slope, offset).silu();
        }
    }
}

/// Like [`activate`], with the derivative of SiLU as well.
#[inline(always)]
fn activate_with_slope<T: Float>(hidden: &mut [T], hidden_slope: &mut [T], pre: &[T], slopes: &[T], offsets: &[T]) {
    let d_hidden = slopes.len();
    let tiles = hidden.chunks_exact_mut(d_hidden).zip(hidden_slope.chunks_exact_mut(d_hidden));
    for ((hidden, hidden_slope), pre) in tiles.zip(pre.chunks_exact(d_hidden)) {
        let channels = pre.iter().zip(slopes).zip(offsets);
        for ((hidden, hidden_slope), ((&pre, &slope), &offset)) in hidden.iter_mut().zip(hidden_slope).zip(channels) {
            (*hidden, *hidden_slope) = pre.mul_add(slope, offset).silu_with_slope();
        }
    }
}

/// Turns the gradient of SiLU's results into that of its arguments, and adds up its sums and its products with pre − mean.
#[inline(always)]
fn through_activation<T: Float>(
    gradient: &mut [T],
    [pre, slope, of_hidden]: [&[T]; 3],
    mean: &[T],
    products: &mut [T],
    sums: &mut [T],
) {
    let d_hidden = mean.len();
    let rows = gradient.chunks_exact_mut(d_hidden).zip(pre.chunks_exact(d_hidden));
    let slopes = slope.chunks_exact(d_hidden);
    for ((gradient, pre), (slope, of_hidden)) in rows.zip(slopes.zip(of_hidden.chunks_exact(d_hidden))) {
        let known = of_hidden.iter().zip(slope).zip(pre.iter().zip(mean));
        let totals = sums.iter_mut().zip(products.iter_mut());
        for (gradient, (((&of_hidden, &slope), (&pre, &mean)), (sum, product))) in
            gradient.iter_mut().zip(known.zip(totals))
        {
            let dh = of_hidden * slope;
            *gradient = dh;
            *sum += dh;
            *product = dh.mul_add(pre - mean, *product);
        }
    }
}
