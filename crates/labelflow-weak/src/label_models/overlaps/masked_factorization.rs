//! A symmetric matrix as the product of a narrow one with itself, fitted to those of its entries that count.
//!
//! ```text
//! loss(F)   = Σ over the entries that count of (T − F W Fᵀ)² + ‖F w − t‖² + l2² ‖F − C‖²,   W = diag(w)
//! gradient  = −4 R F W + 2 (F w − t) wᵀ + 2 l2² (F − C),   R = T − F W Fᵀ where it counts, 0 elsewhere
//! descent   v ← momentum v + gradient + decay F,   F ← F − rate v
//! ```
//!
//! F is kept column after column, so that the inner loops run over neighbouring numbers. A pass costs the size of T
//! times the number of columns, and T itself is the largest thing in memory.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::numerics::dot;

/// Below this many products a pass is over before other threads have woken up.
const MIN_PARALLEL_PRODUCTS: usize = 1 << 16;

/// The function to minimise. The entries of T lie in blocks, one for each pair of labelers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaskedFactorization<'a> {
    /// T, symmetric, `[n, n]`.
    pub(crate) target: ArrayView2<'a, f64>,
    /// The labeler that each row of T belongs to, `[n]`.
    pub(crate) labeler_of: &'a [usize],
    /// The blocks that do not count, symmetric, `[n_signals, n_signals]`.
    pub(crate) left_out: ArrayView2<'a, bool>,
    /// w, one weight per column of F.
    pub(crate) weights: &'a [f64],
    /// t, `[n]`, or nothing to leave this term out.
    pub(crate) weighted_sums: Option<&'a [f64]>,
    /// C, column after column, and l2; or nothing to leave this term out.
    pub(crate) center: Option<(&'a [f64], f64)>,
}

/// How a descent goes down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Descent {
    pub(crate) momentum: f64,
    pub(crate) decay: f64,
}

impl MaskedFactorization<'_> {
    /// Goes down from `start`, one step per rate, and returns where it ends with the loss there. It ends at once where the
    /// loss is no longer finite.
    pub(crate) fn descend(
        &self,
        start: Vec<f64>,
        rates: impl Iterator<Item = f64>,
        descent: Descent,
    ) -> (Vec<f64>, f64) {
        let mut columns = start;
        let mut gradient = vec![0.0; columns.len()];
        let mut velocity = vec![0.0; columns.len()];
        for rate in rates {
            let loss = self.value_and_gradient(&columns, &mut gradient);
            if !loss.is_finite() {
                return (columns, loss);
            }
            for ((value, velocity), slope) in columns.iter_mut().zip(&mut velocity).zip(&gradient) {
                *velocity = descent.momentum * *velocity + slope + descent.decay * *value;
                *value -= rate * *velocity;
            }
        }
        let loss = self.value_and_gradient(&columns, &mut gradient);
        (columns, loss)
    }

    /// The loss at F; its gradient is written into the second argument. Both are column after column.
    pub(crate) fn value_and_gradient(&self, columns: &[f64], gradient: &mut [f64]) -> f64 {
        let (n, n_columns) = (self.target.nrows(), self.weights.len());
        // For each row of F its gradient, then its share of the loss.
        let mut rows = Array2::<f64>::zeros((n, n_columns + 1));
        let rows = rows.as_slice_mut().expect("the array was just made");
        let fill = |residual: &mut Vec<f64>, (row, found): (usize, &mut [f64])| {
            self.fill_row(row, columns, residual, found);
        };
        if n * n * n_columns < MIN_PARALLEL_PRODUCTS {
            let mut residual = vec![0.0; n];
            let each = rows.chunks_exact_mut(n_columns + 1).enumerate();
            each.for_each(|row| fill(&mut residual, row));
        } else {
            let each = rows.par_chunks_exact_mut(n_columns + 1).enumerate();
            each.for_each_init(|| vec![0.0; n], fill);
        }
        let mut loss = 0.0;
        for (row, found) in rows.chunks_exact(n_columns + 1).enumerate() {
            loss += found[n_columns];
            for column in 0..n_columns {
                gradient[column * n + row] = found[column];
            }
        }
        loss + self.add_pull_to_center(columns, gradient)
    }

    /// The gradient and the share of the loss of one row of F, but for the pull towards C.
    fn fill_row(&self, row: usize, columns: &[f64], residual: &mut [f64], found: &mut [f64]) {
        let n = self.target.nrows();
        residual.iter_mut().zip(self.target.row(row)).for_each(|(entry, &target)| *entry = target);
        for (column, &weight) in columns.chunks_exact(n).zip(self.weights) {
            let scale = weight * column[row];
            residual.iter_mut().zip(column).for_each(|(entry, value)| *entry -= scale * value);
        }
        let left_out = self.left_out.row(self.labeler_of[row]);
        for (entry, &labeler) in residual.iter_mut().zip(self.labeler_of) {
            if left_out[labeler] {
                *entry = 0.0;
            }
        }
        let excess = self.weighted_sums.map_or(0.0, |sums| {
            let per_column = columns.chunks_exact(n).zip(self.weights);
            per_column.map(|(column, weight)| weight * column[row]).sum::<f64>() - sums[row]
        });
        let per_column = columns.chunks_exact(n).zip(self.weights);
        for (slope, (column, weight)) in found.iter_mut().zip(per_column) {
            *slope = weight * (2.0 * excess - 4.0 * dot(residual, column));
        }
        found[self.weights.len()] = dot(residual, residual) + excess * excess;
    }

    /// The last term of the loss, whose gradient is added.
    fn add_pull_to_center(&self, columns: &[f64], gradient: &mut [f64]) -> f64 {
        let Some((center, l2)) = self.center else { return 0.0 };
        let mut sum = 0.0;
        for ((slope, value), center) in gradient.iter_mut().zip(columns).zip(center) {
            let distance = l2 * (value - center);
            *slope += 2.0 * l2 * distance;
            sum += distance * distance;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use ndarray::array;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const N_SIGNALS: usize = 4;
    const N_CLASSES: usize = 3;
    const N: usize = N_SIGNALS * N_CLASSES;
    const WEIGHTS: [f64; N_CLASSES] = [0.5, 0.2, 0.3];

    fn random(length: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..length).map(|_| rng.random()).collect()
    }

    fn symmetric(seed: u64) -> Array2<f64> {
        let values = Array2::from_shape_vec((N, N), random(N * N, seed)).unwrap();
        &values + &values.t()
    }

    fn labelers() -> Vec<usize> {
        (0..N).map(|row| row / N_CLASSES).collect()
    }

    /// Every labeler's own block, and the blocks of labelers 1 and 2.
    fn left_out() -> Array2<bool> {
        Array2::from_shape_fn((N_SIGNALS, N_SIGNALS), |pair| pair.0 == pair.1 || pair == (1, 2) || pair == (2, 1))
    }

    #[test]
    fn the_loss_is_the_formula() {
        let (target, labelers, left_out) = (symmetric(0), labelers(), left_out());
        let (columns, sums, center) = (random(N * 3, 1), random(N, 2), random(N * 3, 3));
        let problem = MaskedFactorization {
            target: target.view(),
            labeler_of: &labelers,
            left_out: left_out.view(),
            weights: &WEIGHTS,
            weighted_sums: Some(&sums),
            center: Some((&center, 0.7)),
        };
        let factor = |row: usize, class: usize| columns[class * N + row];
        let mut expected = 0.0;
        for (a, b) in (0..N * N).map(|cell| (cell / N, cell % N)) {
            let product: f64 = (0..3).map(|y| factor(a, y) * WEIGHTS[y] * factor(b, y)).sum();
            if !left_out[[a / 3, b / 3]] {
                expected += (target[[a, b]] - product).powi(2);
            }
        }
        for (a, given) in sums.iter().enumerate() {
            let sum: f64 = (0..3).map(|y| factor(a, y) * WEIGHTS[y]).sum();
            expected += (sum - given).powi(2);
        }
        let pull: f64 = columns.iter().zip(&center).map(|(f, c)| (f - c).powi(2)).sum();
        expected += 0.49 * pull;
        let found = problem.value_and_gradient(&columns, &mut vec![0.0; 3 * N]);
        assert_relative_eq!(found, expected, max_relative = 1e-12);
    }

    #[test]
    fn gradients_match_finite_differences() {
        let (target, labelers, left_out) = (symmetric(4), labelers(), left_out());
        let (columns, sums, center) = (random(N * 3, 5), random(N, 6), random(N * 3, 7));
        let bare = MaskedFactorization {
            target: target.view(),
            labeler_of: &labelers,
            left_out: left_out.view(),
            weights: &WEIGHTS,
            weighted_sums: None,
            center: None,
        };
        let whole = MaskedFactorization { weighted_sums: Some(&sums), center: Some((&center, 0.7)), ..bare };
        for problem in [bare, whole] {
            let mut gradient = vec![0.0; 3 * N];
            problem.value_and_gradient(&columns, &mut gradient);
            for place in 0..3 * N {
                let at = |step: f64| {
                    let mut moved = columns.clone();
                    moved[place] += step;
                    problem.value_and_gradient(&moved, &mut vec![0.0; 3 * N])
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert_relative_eq!(gradient[place], slope, max_relative = 1e-6, epsilon = 1e-6);
            }
        }
    }

    #[test]
    fn threads_change_no_bit() {
        // Large enough for the parallel pass.
        let n = 200;
        let values = Array2::from_shape_vec((n, n), random(n * n, 8)).unwrap();
        let target = &values + &values.t();
        let labelers: Vec<usize> = (0..n).map(|row| row / 2).collect();
        let left_out = Array2::from_shape_fn((n / 2, n / 2), |(a, b)| a == b);
        let problem = MaskedFactorization {
            target: target.view(),
            labeler_of: &labelers,
            left_out: left_out.view(),
            weights: &[0.4, 0.6],
            weighted_sums: None,
            center: None,
        };
        let run = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            let descent = Descent { momentum: 0.9, decay: 0.0 };
            let rates = std::iter::repeat_n(1e-6, 5);
            pool.install(|| problem.descend(random(2 * n, 9), rates, descent))
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn a_descent_has_momentum_and_decay() {
        // One number f with loss (2 − f²)² + (f − 1)²; by hand: gradient −4 (2 − f²) f + 2 (f − 1).
        let (target, left_out) = (array![[2.0]], array![[false]]);
        let problem = MaskedFactorization {
            target: target.view(),
            labeler_of: &[0],
            left_out: left_out.view(),
            weights: &[1.0],
            weighted_sums: Some(&[1.0]),
            center: None,
        };
        let slope = |f: f64| -4.0 * (2.0 - f * f) * f + 2.0 * (f - 1.0);
        let (mut f, mut velocity) = (0.5, 0.0);
        for rate in [0.01, 0.02, 0.03] {
            velocity = 0.9 * velocity + slope(f) + 0.1 * f;
            f -= rate * velocity;
        }
        let descent = Descent { momentum: 0.9, decay: 0.1 };
        let (found, loss) = problem.descend(vec![0.5], [0.01, 0.02, 0.03].into_iter(), descent);
        assert_relative_eq!(found[0], f, max_relative = 1e-12);
        assert_relative_eq!(loss, (2.0 - f * f).powi(2) + (f - 1.0).powi(2), max_relative = 1e-12);
    }
}
