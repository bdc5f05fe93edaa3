//! Matrix products of one thread, for f32 and f64, on slices.

use rayon::prelude::*;

use super::buffers::take;
use super::float::Float;
use super::rows::tile_len;

/// A matrix in a slice, row after row or, transposed, column after column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    values: &'a [T],
    n_rows: usize,
    n_columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Rows of `n_columns` values, one after another.
    pub(super) fn new(values: &'a [T], n_columns: usize) -> Self {
        assert_eq!(values.len() % n_columns, 0, "rows are complete");
        Self { values, n_rows: values.len() / n_columns, n_columns, row_stride: n_columns, column_stride: 1 }
    }

    pub(super) fn transposed(self) -> Self {
        Self {
            values: self.values,
            n_rows: self.n_columns,
            n_columns: self.n_rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

/// What a product does to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Replace,
    AddTo,
}

/// left · right into `product`, whose rows lie one after another.
pub(super) fn matmul<T: Float>(product: &mut [T], target: Target, left: Matrix<'_, T>, right: Matrix<'_, T>) {
    assert_eq!(left.n_columns, right.n_rows, "inner dimensions agree");
    assert_eq!(product.len(), left.n_rows * right.n_columns, "the product has its shape");
    // SAFETY: `Matrix` is built from a slice of exactly n_rows · n_columns values, which its strides enumerate, and the product has as
    // many values as its two dimensions say; so no access is out of bounds. `product` is borrowed mutably and cannot overlap.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            left.n_rows,
            right.n_columns,
            left.n_columns,
            product.as_mut_ptr(),
            1,
            right.n_columns as isize,
            target == Target::AddTo,
            left.values.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Σ_networks (gradient of x W₁) · W₁ᵀ, `[n_rows, d_features]`, of networks that all see the same features.
///
/// `first` are their weights, `[n_networks, d_features, d_hidden]`; `gradient` is that of their products, `[n_networks, n_rows, d_hidden]`.
pub(super) fn features_gradient<T: Float>(first: &[T], d_features: usize, d_hidden: usize, gradient: &[T]) -> Vec<T> {
    let n_networks = first.len() / (d_features * d_hidden);
    let n_rows = gradient.len() / (n_networks * d_hidden);
    let rows = tile_len(n_rows, 1);
    let mut features = take(n_rows * d_features);
    features.par_chunks_mut(rows * d_features).enumerate().for_each(|(tile, features)| {
        features.fill(T::ZERO);
        let n_values = features.len() / d_features * d_hidden;
        for (network, first) in first.chunks_exact(d_features * d_hidden).enumerate() {
            let start = (network * n_rows + tile * rows) * d_hidden;
            let gradient = Matrix::new(&gradient[start..][..n_values], d_hidden);
            let first = Matrix::new(first, d_hidden).transposed();
            matmul(features, Target::AddTo, gradient, first);
        }
    });
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_matrices_and_transposed_ones() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0, -1.0, 2.0, 0.5, 0.0, 3.0];
        let mut product = [10.0; 4];
        let (left, right) = (Matrix::new(&a, 3), Matrix::new(&b, 2));
        matmul(&mut product, Target::AddTo, left, right);
        assert_eq!(product, [15.0, 19.0, 24.0, 26.5]);
        let mut product = [0.0f32; 9];
        let a = a.map(|value| value as f32);
        matmul(&mut product, Target::Replace, Matrix::new(&a, 3).transposed(), Matrix::new(&a, 3));
        assert_eq!(product, [17.0, 22.0, 27.0, 22.0, 29.0, 36.0, 27.0, 36.0, 45.0]);
    }

    /// Buffers of exactly their length, of lengths that no vector of the processor divides: what reads or writes beyond one is seen by
    /// `make sanitize` and `make miri`.
    #[test]
    fn products_of_odd_shapes() {
        let lengths = [1, 3, 17];
        for [n_rows, n_inner, n_columns] in
            lengths.iter().flat_map(|&a| lengths.map(|b| lengths.map(|c| [a, b, c]))).flatten()
        {
            let numbers = |len: usize| (0..len).map(|index| (index * 7 % 11) as f32 - 5.0).collect::<Vec<_>>();
            let (left, right) = (numbers(n_rows * n_inner), numbers(n_inner * n_columns));
            let cell = |row: usize, column: usize| -> f32 {
                (0..n_inner).map(|inner| left[row * n_inner + inner] * right[inner * n_columns + column]).sum()
            };
            let expected: Vec<f32> = (0..n_rows)
                .flat_map(|row| (0..n_columns).map(move |column| (row, column)))
                .map(|(r, c)| cell(r, c))
                .collect();
            let mut product = vec![f32::NAN; n_rows * n_columns];
            let (left, right) = (Matrix::new(&left, n_inner), Matrix::new(&right, n_columns));
            matmul(&mut product, Target::Replace, left, right);
            assert_eq!(product, expected);
            // (A B)ᵀ = Bᵀ Aᵀ
            let mut transposed = vec![1.0; n_rows * n_columns];
            matmul(&mut transposed, Target::AddTo, right.transposed(), left.transposed());
            let place = |index: usize| transposed[index % n_columns * n_rows + index / n_columns];
            assert!((0..product.len()).all(|index| place(index) == expected[index] + 1.0));
        }
    }
}
