//! Scores of classes, and the probabilities they stand for.
//!
//! ```text
//! p(c) = exp(score_c) / Σ exp(score)
//! ```
//!
//! Two classes have one score, that of class 1 against class 0, whose own is zero.

use labelflow_weak::numerics::normalize_logs;

/// One score tells two classes apart; more classes have one each.
pub(crate) fn n_scores(n_classes: usize) -> usize {
    if n_classes == 2 { 1 } else { n_classes }
}

/// Writes the probabilities of one row's classes. Where scores overflow nothing is known, and all are alike.
pub(crate) fn write_probabilities(p: &mut [f64], scores: impl IntoIterator<Item = f64>) {
    let first = p.len() - n_scores(p.len());
    p[..first].fill(0.0);
    p[first..].iter_mut().zip(scores).for_each(|(p, score)| *p = score);
    if p.iter().any(|score| !score.is_finite()) {
        p.fill(0.0);
    }
    normalize_logs(p);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_classes_have_one_score_and_more_have_one_each() {
        let mut two = [0.0; 2];
        write_probabilities(&mut two, [3f64.ln()]);
        assert!((two[1] - 0.75).abs() < 1e-15 && (two[0] - 0.25).abs() < 1e-15);
        let mut three = [0.0; 3];
        write_probabilities(&mut three, [1000.0, 1000.0, -1000.0]);
        assert_eq!(three, [0.5, 0.5, 0.0]);
        write_probabilities(&mut three, [f64::INFINITY, 0.0, 0.0]);
        assert_eq!(three, [1.0 / 3.0; 3]);
    }
}
