//! Bijections one after another.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::{Bijection, Mode};

/// A sequence of maps in the order in which noise becomes labels.
///
/// The inverse (z → y) folds over the maps, the forward direction (y → z) over the reversed maps; log-determinants add.
#[derive(Module, Debug)]
pub struct Chain<B: Module> {
    /// The maps.
    pub maps: Vec<B>,
}

/// Each map with its part of the condition.
fn conditioned<'a, B: Bijection>(maps: &'a [B], condition: &Tensor<3>) -> Vec<(&'a B, Tensor<3>)> {
    let mut start = 0;
    let part = |map: &B| {
        let n = map.n_conditioners();
        start += n;
        condition.clone().narrow(0, start - n, n)
    };
    let parts: Vec<_> = maps.iter().map(part).collect();
    maps.iter().zip(parts).collect()
}

/// The inverse map by map.
pub fn fold_inverse<B: Bijection>(
    maps: &[B],
    noise: Tensor<2>,
    condition: Tensor<3>,
    mode: Mode<'_>,
) -> (Tensor<2>, Tensor<1>) {
    let start = no_change(noise);
    conditioned(maps, &condition).into_iter().fold(start, |(value, log_det), (map, c)| {
        let (value, change) = map.inverse(value, c, mode);
        (value, log_det + change)
    })
}

impl<B: Bijection> Bijection for Chain<B> {
    fn n_conditioners(&self) -> usize {
        self.maps.iter().map(Bijection::n_conditioners).sum()
    }

    fn forward(
        &self,
        labels: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<1>) {
        let start = no_change(labels);
        conditioned(&self.maps, &condition).into_iter().rev().fold(
            start,
            |(value, log_det), (map, c)| {
                let (value, change) = map.forward(value, c, mode);
                (value, log_det + change)
            },
        )
    }

    fn inverse(
        &self,
        noise: Tensor<2>,
        condition: Tensor<3>,
        mode: Mode<'_>,
    ) -> (Tensor<2>, Tensor<1>) {
        B::inverse_chain(&self.maps, noise, condition, mode)
    }
}

/// The value that the identity gives: itself, and a log-determinant of zero.
fn no_change(value: Tensor<2>) -> (Tensor<2>, Tensor<1>) {
    let log_det = Tensor::zeros([value.dims()[0]], &value.device());
    (value, log_det)
}
