//! Solving A x = b for a symmetric positive definite A.
//!
//! ```text
//! A = L Lᵀ with L lower triangular,   L u = b,   Lᵀ x = u
//! ```

use crate::numerics::dot;

/// L of a matrix A = L Lᵀ.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    n: usize,
    /// The lower triangle, row after row, `[n, n]`; what lies above it is never read.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factorises A, given its lower triangle row after row, `[n, n]`. Returns nothing if A is not positive definite to
    /// working precision.
    pub(crate) fn new(mut matrix: Vec<f64>, n: usize) -> Option<Self> {
        for row in 0..n {
            let (above, this) = matrix.split_at_mut(row * n);
            let this = &mut this[..n];
            for column in 0..row {
                let other = &above[column * n..][..=column];
                let sum = dot(&this[..column], &other[..column]);
                this[column] = (this[column] - sum) / other[column];
            }
            let pivot = this[row] - dot(&this[..row], &this[..row]);
            // A pivot this small against its own diagonal is rounding noise.
            if !(pivot.is_finite() && pivot > this[row] * 1e-15) {
                return None;
            }
            this[row] = pivot.sqrt();
        }
        Some(Self { n, lower: matrix })
    }

    /// Replaces b by the solution of A x = b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        for row in 0..self.n {
            let (solved, rest) = b.split_at_mut(row);
            let (lower, diagonal) = self.row(row);
            rest[0] = (rest[0] - dot(lower, solved)) / diagonal;
        }
        for row in (0..self.n).rev() {
            let (lower, diagonal) = self.row(row);
            b[row] /= diagonal;
            let value = b[row];
            b[..row].iter_mut().zip(lower).for_each(|(b, lower)| *b -= lower * value);
        }
    }

    /// What a row has left of the diagonal, and the diagonal.
    fn row(&self, row: usize) -> (&[f64], f64) {
        let values = &self.lower[row * self.n..][..=row];
        (&values[..row], values[row])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_small_system_is_solved() {
        // [[4, 2], [2, 5]] (1, 2) = (8, 12)
        let mut b = [8.0, 12.0];
        Cholesky::new(vec![4.0, f64::NAN, 2.0, 5.0], 2).unwrap().solve(&mut b);
        approx::assert_abs_diff_eq!(&b[..], &[1.0, 2.0][..], epsilon = 1e-12);
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        assert!(Cholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Cholesky::new(vec![0.0], 1).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
    }

    const N: usize = 11;

    proptest! {
        #[test]
        fn the_solution_solves(
            entries in proptest::collection::vec(-1.0f64..1.0, N * N),
            x in proptest::collection::vec(-5.0f64..5.0, N),
        ) {
            // A = B Bᵀ + I
            let mut matrix = vec![0.0; N * N];
            for (row, column) in (0..N * N).map(|cell| (cell / N, cell % N)) {
                matrix[row * N + column] = dot(&entries[row * N..][..N], &entries[column * N..][..N])
                    + f64::from(u8::from(row == column));
            }
            let mut b: Vec<f64> = (0..N).map(|row| dot(&matrix[row * N..][..N], &x)).collect();
            Cholesky::new(matrix, N).unwrap().solve(&mut b);
            prop_assert!(b.iter().zip(&x).all(|(found, x)| (found - x).abs() < 1e-9));
        }
    }
}
