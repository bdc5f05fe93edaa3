//! Vote rates μ fitted to how often votes occur together: what MeTaL and Snorkel's label model share.
//!
//! ```text
//! loss(μ) = Σ over pairs of different labelers of (O − μ P μᵀ)² + ‖μ p − diag O‖² + l2² ‖μ − μ₀‖²,   P = diag(p)
//! guess   μ₀[j·k + y][y] = diag(O)[j·k + y] · precision(j) / p(y), at most 1;   0 elsewhere
//! start   μ = scale · μ₀
//! ```
//!
//! Given the true class, different labelers vote independently, so O must be μ P μᵀ outside the blocks of each labeler
//! with itself. The guess says that a labeler is right about as often as `precision` when it votes.

use ndarray::ArrayView2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::masked_factorization::{Descent, MaskedFactorization};
use super::overlap_counts::Overlaps;
use super::vote_rates::VoteRates;
use crate::settings::{check_at_least_one, check_not_negative, check_positive};
use crate::{Error, Result, ensure};

/// What a fit starts from.
#[derive(Debug)]
pub(crate) struct OverlapFit<'a> {
    pub(crate) overlaps: &'a Overlaps,
    /// p, each above zero.
    pub(crate) class_balance: &'a [f64],
    /// How often each labeler is guessed to be right when it votes, `[n_signals]`.
    pub(crate) precisions: &'a [f64],
    pub(crate) init_scale: f64,
    pub(crate) l2: f64,
    pub(crate) descent: Descent,
}

impl OverlapFit<'_> {
    /// μ₀, column after column.
    pub(crate) fn guess(&self) -> Vec<f64> {
        let frequencies = self.overlaps.frequencies();
        let (n, n_classes) = (frequencies.len(), self.class_balance.len());
        let mut columns = vec![0.0; n * n_classes];
        for (place, frequency) in frequencies.into_iter().enumerate() {
            let (signal, class) = (place / n_classes, place % n_classes);
            let rate = frequency * self.precisions[signal] / self.class_balance[class];
            columns[class * n + place] = rate.min(1.0);
        }
        columns
    }

    /// μ after one step per rate, with the loss there, which is not finite if the steps were too long. Overlaps are
    /// those of `target`, without the blocks that are left out.
    pub(crate) fn run(
        &self,
        target: ArrayView2<'_, f64>,
        left_out: ArrayView2<'_, bool>,
        rates: impl Iterator<Item = f64>,
    ) -> (VoteRates, f64) {
        let shape = self.overlaps.shape;
        let guess = self.guess();
        let frequencies = self.overlaps.frequencies();
        let labeler_of: Vec<usize> = (0..frequencies.len()).map(|place| place / shape.n_classes).collect();
        let problem = MaskedFactorization {
            target,
            labeler_of: &labeler_of,
            left_out,
            weights: self.class_balance,
            weighted_sums: Some(&frequencies),
            center: (self.l2 > 0.0).then_some((&guess[..], self.l2)),
        };
        let start = guess.iter().map(|rate| rate * self.init_scale).collect();
        let (columns, loss) = problem.descend(start, rates, self.descent);
        (VoteRates::new(shape, self.class_balance, &columns), loss)
    }
}

/// Checks the settings of a descent.
pub(crate) fn check_descent(
    n_epochs: usize,
    learning_rate: f64,
    momentum: f64,
    l2: f64,
    init_scale: Option<f64>,
) -> Result<()> {
    check_at_least_one(&[("n_epochs", n_epochs)])?;
    check_positive(&[("learning_rate", learning_rate)])?;
    let keeps_less = (0.0..1.0).contains(&momentum);
    ensure(keeps_less, || Error::config("momentum", "a number from 0 to below 1", momentum))?;
    check_not_negative(&[("l2", l2)])?;
    check_positive(&[("init_scale", init_scale.unwrap_or(1.0))])
}

/// The scale of the start: given, or drawn from the seed between 0 and 1.
pub(crate) fn drawn_scale(given: Option<f64>, seed: u64) -> f64 {
    given.unwrap_or_else(|| ChaCha8Rng::seed_from_u64(seed).random())
}

/// The error of a descent whose steps were too long.
pub(crate) fn diverged(learning_rate: f64) -> Error {
    Error::config("learning_rate", "a rate at which the fit stays finite", learning_rate)
        .with_hint("make it smaller: the more labelers vote on the same rows, the smaller it must be")
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    use super::*;
    use crate::votes::Votes;

    #[test]
    fn the_guess_is_the_formula() {
        let votes = array![[0, 1, 1], [0, -1, 1], [1, 1, 1], [-1, -1, 1]];
        let overlaps = Overlaps::of(&Votes::from_indices(votes.view(), None).unwrap());
        let fit = OverlapFit {
            overlaps: &overlaps,
            class_balance: &[0.25, 0.75],
            precisions: &[0.5, 0.6, 0.9],
            init_scale: 1.0,
            l2: 0.0,
            descent: Descent { momentum: 0.0, decay: 0.0 },
        };
        let expected = [
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], // 0.5 · 0.5 / 0.25 for labeler 0
            [0.0, 0.25 * 0.5 / 0.75, 0.0, 0.5 * 0.6 / 0.75, 0.0, 1.0],
        ];
        assert_abs_diff_eq!(&fit.guess()[..], &expected.concat()[..], epsilon = 1e-12);
    }
}
