//! Matrix products of one thread, for f32 and f64, on slices.

use super::float::Float;

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
        Self {
            values,
            n_rows: values.len() / n_columns,
            n_columns,
            row_stride: n_columns,
            column_stride: 1,
        }
    }

    /// Its values, in the order of the slice.
    pub(super) fn values(&self) -> &'a [T] {
        self.values
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
pub(super) fn matmul<T: Float>(
    product: &mut [T],
    target: Target,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
) {
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
}
