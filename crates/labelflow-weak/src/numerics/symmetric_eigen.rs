//! Eigenvalues and eigenvectors of a symmetric matrix, by Jacobi's rotations.
//!
//! ```text
//! θ = (a_qq − a_pp) / 2 a_pq,   t = sign(θ) / (|θ| + √(θ² + 1)),   c = 1 / √(t² + 1),   s = t c       a_pq becomes 0
//! ```

use ndarray::Array2;

/// Six to ten sweeps are usual; each converges quadratically in the end.
const MAX_SWEEPS: usize = 64;

/// Eigenvalues from the largest to the smallest, and a unit eigenvector for each, as rows.
pub(crate) struct SymmetricEigen {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Array2<f64>,
}

/// Row `p < q`, and row `q`.
fn row_pair(rows: &mut [f64], n: usize, p: usize, q: usize) -> (&mut [f64], &mut [f64]) {
    let (before, from_q) = rows.split_at_mut(q * n);
    (&mut before[p * n..][..n], &mut from_q[..n])
}

fn rotate((row_p, row_q): (&mut [f64], &mut [f64]), c: f64, s: f64) {
    for (x, y) in row_p.iter_mut().zip(row_q) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

impl SymmetricEigen {
    /// Of a symmetric matrix of finite numbers.
    pub(crate) fn of(matrix: &Array2<f64>) -> Self {
        let n = matrix.nrows();
        let mut a: Vec<f64> = matrix.iter().copied().collect();
        let mut vectors = Array2::eye(n).into_raw_vec_and_offset().0;
        // What rounding leaves of the largest eigenvalues beside the diagonal.
        let negligible = a.iter().fold(0.0, |largest: f64, value| largest.max(value.abs())) * f64::EPSILON;
        for _ in 0..MAX_SWEEPS {
            let mut has_rotated = false;
            for p in 0..n {
                for q in p + 1..n {
                    let (a_pp, a_pq, a_qq) = (a[p * n + p], a[p * n + q], a[q * n + q]);
                    if a_pq.abs() <= negligible {
                        continue;
                    }
                    has_rotated = true;
                    let theta = (a_qq - a_pp) / (2.0 * a_pq);
                    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                    let c = 1.0 / t.hypot(1.0);
                    rotate(row_pair(&mut a, n, p, q), c, t * c);
                    rotate(row_pair(&mut vectors, n, p, q), c, t * c);
                    (a[p * n + p], a[q * n + q]) = (a_pp - t * a_pq, a_qq + t * a_pq);
                    (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
                    for row in (0..n).filter(|&row| row != p && row != q) {
                        (a[row * n + p], a[row * n + q]) = (a[p * n + row], a[q * n + row]);
                    }
                }
            }
            if !has_rotated {
                break;
            }
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| a[j * n + j].total_cmp(&a[i * n + i]));
        let values = order.iter().map(|&i| a[i * n + i]).collect();
        Self { values, vectors: Array2::from_shape_fn((n, n), |(row, column)| vectors[order[row] * n + column]) }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_values_are_found() {
        let eigen = SymmetricEigen::of(&array![[2.0, 1.0], [1.0, 2.0]]);
        assert!((eigen.values[0] - 3.0).abs() < 1e-15 && (eigen.values[1] - 1.0).abs() < 1e-15);
        assert!((eigen.vectors[[0, 0]] - eigen.vectors[[0, 1]]).abs() < 1e-15);
        assert_eq!(SymmetricEigen::of(&array![[1.0, 0.0], [0.0, 5.0]]).values, [5.0, 1.0]);
        assert_eq!(SymmetricEigen::of(&Array2::zeros((3, 3))).values, [0.0; 3]);
        assert!(SymmetricEigen::of(&Array2::zeros((0, 0))).values.is_empty());
    }

    proptest! {
        #[test]
        fn vectors_make_the_matrix_diagonal(
            n in 1usize..12, numbers in proptest::collection::vec(-10.0f64..10.0, 144),
        ) {
            let half = Array2::from_shape_fn((n, n), |(row, column)| numbers[row * n + column]);
            let matrix = &half + &half.t();
            let SymmetricEigen { values, vectors } = SymmetricEigen::of(&matrix);
            let near = |a: Array2<f64>, b: Array2<f64>| (a - b).iter().all(|error| error.abs() < 1e-11);
            prop_assert!(near(vectors.dot(&vectors.t()), Array2::eye(n)));
            let diagonal = Array2::from_diag(&ndarray::Array1::from(values.clone()));
            prop_assert!(near(vectors.dot(&matrix).dot(&vectors.t()), diagonal));
            prop_assert!(values.is_sorted_by(|a, b| a >= b));
        }
    }
}
