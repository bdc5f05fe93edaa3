//! The part of the overlaps that the true class explains, when some labelers also depend on each other.
//!
//! ```text
//! C = O − f fᵀ, f = diag O                                      the covariance of the votes
//! K = C⁻¹ + Z Zᵀ is zero between labelers that share no clique  →   Z minimises the sum over those entries of (C⁻¹ + Z Zᵀ)²
//! Q = f fᵀ + C Z (I + Zᵀ C Z)⁻¹ Zᵀ C = μ P μᵀ
//! ```
//!
//! K is a block of the inverse covariance of votes and true class together, which is zero where two labelers are
//! independent given all else; Z has one column less than there are classes.
//!
//! Deviation: MeTaL writes this with O in place of C, one more column in Z, and no f fᵀ. Where both determine Q they agree.
//! But O has no inverse as soon as two labelers never abstain, and for few labelers the additional column makes Z
//! ambiguous.
//!
//! C has no inverse if some of its rows follow from others. Votes that never occur are left out; their part of Q is zero.
//! A labeler that never abstains is known from all of its votes but one; the last one is left out too, and its part of Q
//! follows from the rest: Q[last][b] = f[b] − sum over its other votes a of Q[a][b].
//!
//! A. Ratner, B. Hancock, J. Dunnmon, F. Sala, S. Pandey and C. Ré, *Training complex models with multi-task weak
//! supervision*, 2019.

use ndarray::Array2;

use super::masked_factorization::MaskedFactorization;
use super::overlap_counts::Overlaps;
use crate::numerics::{Cholesky, Lbfgs};
use crate::{Error, Result};

/// Close to where rounding hides the rest; few labelers get there in dozens of steps.
const TOLERANCE: f64 = 1e-9;
const MAX_ITERATIONS: usize = 10_000;

/// Q, `[n_signals · n_classes, n_signals · n_classes]`. `guess` holds μ₀ column after column, one per class.
pub(crate) fn explained_overlaps(
    overlaps: &Overlaps,
    shared_cliques: &Array2<bool>,
    guess: &[f64],
    class_balance: &[f64],
) -> Result<Array2<f64>> {
    let votes = Independent::of(overlaps);
    let frequencies = overlaps.frequencies();
    let shape = (votes.kept.len(), votes.kept.len());
    let covariance = Array2::from_shape_fn(shape, |(row, column)| {
        let (row, column) = (votes.kept[row], votes.kept[column]);
        overlaps.values[[row, column]] - frequencies[row] * frequencies[column]
    });
    let target = -inverse(&covariance).ok_or_else(singular)?;
    let labeler_of: Vec<usize> = votes.kept.iter().map(|vote| vote / overlaps.shape.n_classes).collect();
    let n_columns = class_balance.len() - 1;
    let problem = MaskedFactorization {
        target: target.view(),
        labeler_of: &labeler_of,
        left_out: shared_cliques.view(),
        weights: &vec![1.0; n_columns],
        weighted_sums: None,
        center: None,
    };
    let start = votes.deviations(guess, class_balance).dot(&target);
    let minimum = Lbfgs { max_iterations: MAX_ITERATIONS, tolerance: TOLERANCE, ..Lbfgs::default() }
        .minimize(start.into_raw_vec_and_offset().0, |z, slope| problem.value_and_gradient(z, slope));
    let z = Array2::from_shape_vec((n_columns, votes.kept.len()), minimum.point).expect("Z keeps its shape");
    let explained = explained_covariance(&covariance, &z).ok_or_else(singular)?;
    Ok(votes.expand(&explained, overlaps))
}

fn singular() -> Error {
    let expected = "labelers that differ, when dependencies are given";
    Error::data("signals", expected, "votes of a labeler that follow from those of others")
        .with_hint("leave out copies of labelers")
}

/// A⁻¹, or nothing if A is not positive definite.
fn inverse(matrix: &Array2<f64>) -> Option<Array2<f64>> {
    let n = matrix.nrows();
    let cholesky = Cholesky::new(matrix.iter().copied().collect(), n)?;
    let mut inverse = Array2::eye(n);
    for mut row in inverse.rows_mut() {
        cholesky.solve(row.as_slice_mut().expect("rows are contiguous"));
    }
    Some(inverse)
}

/// C Z (I + Zᵀ C Z)⁻¹ Zᵀ C from C and Zᵀ, `[n_classes - 1, n]`.
fn explained_covariance(covariance: &Array2<f64>, z: &Array2<f64>) -> Option<Array2<f64>> {
    let product = z.dot(covariance);
    let inner = Array2::eye(z.nrows()) + product.dot(&z.t());
    Some(product.t().dot(&inverse(&inner)?).dot(&product))
}

/// Which votes are kept for the inverse.
struct Independent {
    kept: Vec<usize>,
    /// The last vote that occurs of each labeler that never abstains.
    last: Vec<usize>,
}

impl Independent {
    fn of(overlaps: &Overlaps) -> Self {
        let (frequencies, n_classes) = (overlaps.frequencies(), overlaps.shape.n_classes);
        let (mut kept, mut last) = (Vec::new(), Vec::new());
        for (signal, coverage) in overlaps.coverages().into_iter().enumerate() {
            let votes = signal * n_classes..(signal + 1) * n_classes;
            kept.extend(votes.filter(|&vote| frequencies[vote] > 0.0));
            if coverage == 1.0 {
                last.extend(kept.pop());
            }
        }
        Self { kept, last }
    }

    /// How far the guessed rates of each class but the last are from their mean over classes, times the root of the
    /// class's share, `[n_classes - 1, kept votes]`. Where the guess is right, Z is about C⁻¹ times this.
    fn deviations(&self, guess: &[f64], class_balance: &[f64]) -> Array2<f64> {
        let n = guess.len() / class_balance.len();
        let mean = |vote: usize| -> f64 {
            class_balance.iter().enumerate().map(|(class, p)| p * guess[class * n + vote]).sum()
        };
        let shape = (class_balance.len() - 1, self.kept.len());
        Array2::from_shape_fn(shape, |(class, place)| {
            let vote = self.kept[place];
            (guess[class * n + vote] - mean(vote)) * class_balance[class].sqrt()
        })
    }

    /// Q of all votes from the explained covariance of the kept ones.
    fn expand(&self, kept: &Array2<f64>, overlaps: &Overlaps) -> Array2<f64> {
        let (frequencies, n_classes) = (overlaps.frequencies(), overlaps.shape.n_classes);
        let n = frequencies.len();
        let mut explained = Array2::zeros((n, n));
        for ((row, column), &value) in kept.indexed_iter() {
            let (row, column) = (self.kept[row], self.kept[column]);
            explained[[row, column]] = value + frequencies[row] * frequencies[column];
        }
        for (position, &last) in self.last.iter().enumerate() {
            let first = last / n_classes * n_classes;
            let unknown = &self.last[position..];
            // Its own diagonal comes after the rest of its row.
            for other in (0..n).filter(|other| !unknown.contains(other)).chain([last]) {
                let rest: f64 =
                    (first..first + n_classes).filter(|&vote| vote != last).map(|vote| explained[[vote, other]]).sum();
                explained[[last, other]] = frequencies[other] - rest;
                explained[[other, last]] = frequencies[other] - rest;
            }
        }
        explained
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelers::labeler_cliques::shared_cliques;
    use crate::votes::{ABSTAIN, Votes};

    /// Three classes, equally common; four labelers that are right about half of the time.
    fn overlaps(may_abstain: bool) -> (Overlaps, Array2<f64>) {
        // Weights of the answers 0, 1, 2 and silence, given the class.
        let answers = |class: usize, signal: usize| -> [usize; 4] {
            let mut weights = if may_abstain { [1, 0, 1, 1] } else { [1, 1, 1, 0] };
            weights[class] += signal % 2 + 2;
            weights
        };
        let mut rows = Vec::new();
        for pattern in 0..256usize {
            let votes: Vec<usize> = (0..4).map(|signal| pattern >> (2 * signal) & 3).collect();
            for class in 0..3 {
                let each = votes.iter().enumerate();
                let count = each.map(|(signal, &vote)| answers(class, signal)[vote]).product();
                let row = votes.iter().map(|&vote| if vote == 3 { ABSTAIN } else { vote as u8 });
                rows.extend(std::iter::repeat_n(row.collect::<Vec<u8>>(), count));
            }
        }
        let bytes = Array2::from_shape_fn((rows.len(), 4), |(row, signal)| rows[row][signal]);
        let rate = |vote: usize, class: usize| {
            let weights = answers(class, vote / 3);
            weights[vote % 3] as f64 / weights.iter().sum::<usize>() as f64
        };
        let expected =
            Array2::from_shape_fn((12, 12), |(a, b)| (0..3).map(|class| rate(a, class) * rate(b, class) / 3.0).sum());
        (Overlaps::of(&Votes::from_bytes(bytes, 3).unwrap()), expected)
    }

    #[test]
    fn the_class_explains_what_it_should() {
        for may_abstain in [false, true] {
            let (overlaps, expected) = overlaps(may_abstain);
            let cliques = shared_cliques(4, &[]).unwrap();
            // Any guess that sets the classes apart will do.
            let right = |place: usize| f64::from(u8::from(place / 12 == place % 12 % 3));
            let guess: Vec<f64> = (0..36).map(right).collect();
            let found = explained_overlaps(&overlaps, &cliques, &guess, &[1.0 / 3.0; 3]).unwrap();
            crate::label_models::planted::assert_near(found.view(), &expected, 1e-6);
        }
    }
}
