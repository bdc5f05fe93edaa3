//! Bijections one after another.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::{Bijection, Mapped, Mode};

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
    let with_part = |map: &'a B| {
        let n = map.n_conditioners();
        start += n;
        (map, condition.clone().narrow(0, start - n, n))
    };
    maps.iter().map(with_part).collect()
}

/// A value goes through maps one after another; log-determinants add.
fn fold<'a, B: Bijection + 'a>(
    maps: impl Iterator<Item = (&'a B, Tensor<3>)>,
    value: Tensor<2>,
    pass: impl Fn(&B, Tensor<2>, Tensor<3>) -> Mapped,
) -> Mapped {
    let start = Tensor::zeros([value.dims()[0]], &value.device());
    maps.fold((value, start), |(value, log_det), (map, condition)| {
        let (value, change) = pass(map, value, condition);
        (value, log_det + change)
    })
}

/// The inverse map by map.
pub fn fold_inverse<B: Bijection>(maps: &[B], noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
    let maps = conditioned(maps, &condition).into_iter();
    fold(maps, noise, |map, noise, condition| map.inverse(noise, condition, mode))
}

impl<B: Bijection> Bijection for Chain<B> {
    fn n_conditioners(&self) -> usize {
        self.maps.iter().map(Bijection::n_conditioners).sum()
    }

    fn forward(&self, labels: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        let maps = conditioned(&self.maps, &condition).into_iter().rev();
        fold(maps, labels, |map, labels, condition| map.forward(labels, condition, mode))
    }

    fn inverse(&self, noise: Tensor<2>, condition: Tensor<3>, mode: Mode<'_>) -> Mapped {
        B::inverse_chain(&self.maps, noise, condition, mode)
    }
}
