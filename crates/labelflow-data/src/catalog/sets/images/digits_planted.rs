//! Handwritten digits with planted votes: ten classes, ten labelers that are often wrong and silent half of the time.
//!
//! The digits come with the crate, so there are no files.

use crate::Result;
use crate::catalog::catalog_entry::Source;
use crate::catalog::simulated_problem::scaled_by_seen;
use crate::catalog::{EvaluatedRows, Split, WeakProblem, embedded};
use crate::synthetic::planted_votes_for;

const N_SIGNALS: usize = 10;
const ACCURACY: (f64, f64) = (0.4, 0.6);
const COVERAGE: (f64, f64) = (0.5, 0.5);

pub(crate) fn load(source: &Source<'_>) -> Result<WeakProblem> {
    let table = embedded::digits();
    let signals = planted_votes_for(&table.truth, N_SIGNALS, ACCURACY, COVERAGE, source.seed)?;
    let split = Split::stratified(&table.truth, source.seed);
    let features = scaled_by_seen(&table.features, &split)?;
    let all = EvaluatedRows { features, signals, truth: table.truth };
    let [train, simulation, test] = [&split.train, &split.simulation, &split.test].map(|rows| all.select_rows(rows));
    WeakProblem::measured(train, simulation, test, source.options.bounds, EvaluatedRows::bounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{LoadOptions, find, load};

    #[test]
    fn half_of_the_votes_are_missing_and_half_of_the_others_are_right() {
        let problem = load("digits-planted", "".as_ref(), 0, &LoadOptions::default()).unwrap();
        assert_eq!(problem.n_rows(), find("digits-planted").unwrap().counts.n_rows);
        let (signals, truth) = (&problem.test.signals, &problem.test.truth);
        let votes = (0..signals.n_rows())
            .flat_map(|row| (0..N_SIGNALS).map(move |signal| (row, signal)))
            .filter_map(|(row, signal)| Some((row, signals.vote(row, signal)?)));
        let (mut given, mut right) = (0.0, 0.0);
        for (row, vote) in votes {
            given += 1.0;
            right += f64::from(u8::from(vote == truth.labels()[row]));
        }
        assert!((given / (signals.n_rows() * N_SIGNALS) as f64 - 0.5).abs() < 0.03);
        assert!((right / given - 0.5).abs() < 0.05);
    }
}
