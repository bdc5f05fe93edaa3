//! Long sums, and other numbers of many rows, in parts.
//!
//! A GPU computes thousands of numbers at a time, each by one thread that adds up what belongs to it. A sum over all rows, for each of a
//! hundred channels, leaves most of it idle. So rows are taken apart, summed part by part, and the sums of the parts are added up.

use burn::tensor::{Device, Tensor};

/// A part with fewer rows is not worth its while.
const SHORTEST: usize = 16;

/// The number of equal parts in which rows are summed on this device, at most so many. On the CPU one: its sums are in order.
pub(crate) fn n_parts(n_rows: usize, at_most: usize, device: &Device) -> usize {
    match device.clone().inner() == Device::flex() {
        true => 1,
        false => largest_divisor(n_rows, at_most),
    }
}

/// The number of parts of a plain sum: as many as each has rows.
pub(crate) fn n_parts_of_sum(n_rows: usize, device: &Device) -> usize {
    n_parts(n_rows, n_rows.isqrt(), device)
}

fn largest_divisor(n_rows: usize, at_most: usize) -> usize {
    let most = at_most.min(n_rows / SHORTEST);
    (1..=most).rev().find(|&parts| n_rows.is_multiple_of(parts)).unwrap_or(1)
}

/// The sum over the points of each cloud.
///
/// # Shapes
///
/// - values: `[n_groups, n_clouds, n_points, d]`
/// - returns: `[n_groups, n_clouds, 1, d]`
pub(crate) fn sum_points(values: Tensor<4>) -> Tensor<4> {
    let n_parts = n_parts_of_sum(values.dims()[2], &values.device());
    reduced_in(values, n_parts, |values| values.sum_dim(2))
}

/// The largest value of each channel over the points of each cloud.
///
/// # Shapes
///
/// - values: `[n_groups, n_clouds, n_points, d]`
/// - returns: `[n_groups, n_clouds, 1, d]`
pub fn max_points(values: Tensor<4>) -> Tensor<4> {
    let n_parts = n_parts_of_sum(values.dims()[2], &values.device());
    reduced_in(values, n_parts, |values| values.max_dim(2))
}

/// `reduce`, which joins the points of each cloud, for each part and then for all parts.
fn reduced_in(values: Tensor<4>, n_parts: usize, reduce: impl Fn(Tensor<4>) -> Tensor<4>) -> Tensor<4> {
    if n_parts == 1 {
        return reduce(values);
    }
    let [g, n_clouds, n_points, d] = values.dims();
    let apart = values.reshape([g, n_clouds * n_parts, n_points / n_parts, d]);
    reduce(reduce(apart).reshape([g, n_clouds, n_parts, d]))
}

/// Σ aᵀ b over all points of all clouds: the gradient of weights.
///
/// # Shapes
///
/// - a: `[n_groups or 1, n_clouds, n_points, d_a]`, b: `[n_groups, n_clouds, n_points, d_b]`
/// - returns: `[n_groups, 1, d_a, d_b]`
pub(crate) fn sum_of_products(a: Tensor<4>, b: Tensor<4>) -> Tensor<4> {
    /// Products at once are enough to keep a GPU busy.
    const PARTS: usize = 8;
    let parts = n_parts(b.dims()[2], PARTS, &b.device());
    sum_of_products_in(a, b, parts)
}

fn sum_of_products_in(a: Tensor<4>, b: Tensor<4>, parts: usize) -> Tensor<4> {
    let apart = |values: Tensor<4>| {
        let [g, n_clouds, n_points, d] = values.dims();
        values.reshape([g, n_clouds * parts, n_points / parts, d])
    };
    apart(a).swap_dims(2, 3).matmul(apart(b)).sum_dim(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(shape: [usize; 4], factor: f64) -> Tensor<4> {
        let n_values = shape.iter().product::<usize>() as i64;
        let numbers = Tensor::arange(0..n_values, &Device::flex()).float() * factor;
        numbers.sin().reshape(shape)
    }

    fn assert_close(one: Tensor<4>, other: Tensor<4>) {
        assert_eq!(one.dims(), other.dims());
        let difference: f32 = (one - other).abs().max().into_scalar();
        assert!(difference < 1e-4, "{difference}");
    }

    #[test]
    fn sums_in_parts_are_sums() {
        let values = wave([2, 3, 48, 5], 0.7);
        assert_close(reduced_in(values.clone(), 3, |values| values.sum_dim(2)), values.clone().sum_dim(2));
        assert_close(reduced_in(values.clone(), 3, |values| values.max_dim(2)), values.max_dim(2));
        let (a, b) = (wave([1, 3, 48, 2], 0.9), wave([2, 3, 48, 5], 1.1));
        let whole = a.clone().swap_dims(2, 3).matmul(b.clone()).sum_dim(1);
        assert_close(sum_of_products_in(a, b, 3), whole);
    }

    #[test]
    fn parts_are_equal_and_not_too_short() {
        assert_eq!(largest_divisor(6000, 77), 75);
        assert_eq!(largest_divisor(2048, 45), 32);
        assert_eq!(largest_divisor(228, 15), 12);
        assert_eq!(largest_divisor(227, 15), 1);
        assert_eq!(largest_divisor(20, 4), 1);
        assert_eq!(largest_divisor(1, 1), 1);
        assert_eq!(n_parts(6000, 77, &Device::flex()), 1);
    }
}
