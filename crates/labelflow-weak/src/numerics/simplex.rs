//! Distributions: from logarithms of weights, and as the nearest ones to points.
//!
//! ```text
//! project(u) = argmin over w ≥ 0 with Σ w = 1 of ‖w − u‖ = [u − θ]₊
//! θ = (Σ of the ρ largest u − 1) / ρ,   ρ = the most for which the smallest of them stays above θ
//! ```

/// Turns logarithms of weights into probabilities and returns the logarithm of the sum of the weights.
///
/// At least one logarithm must be finite, and none NaN or ∞; without any, all probabilities are NaN.
///
/// ```
/// let mut scores = [0.0, 3f64.ln()];
/// labelflow_weak::numerics::normalize_logs(&mut scores);
/// assert!((scores[0] - 0.25).abs() < 1e-12 && (scores[1] - 0.75).abs() < 1e-12);
/// ```
pub fn normalize_logs(logs: &mut [f64]) -> f64 {
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for value in logs.iter_mut() {
        *value = (*value - highest).exp();
        sum += *value;
    }
    logs.iter_mut().for_each(|value| *value /= sum);
    highest + sum.ln()
}

/// Divides weights by their sum; where it is zero, all become the same.
pub(crate) fn normalize_weights(weights: &mut [f64]) {
    let sum: f64 = weights.iter().sum();
    let uniform = 1.0 / weights.len() as f64;
    weights.iter_mut().for_each(|weight| *weight = if sum > 0.0 { *weight / sum } else { uniform });
}

/// Replaces `point` by the nearest distribution: the nearest point whose entries are not negative and add up to one.
///
/// ```
/// let mut point = [-5.0, 0.3, 0.1];
/// labelflow_weak::numerics::project_onto_simplex(&mut point);
/// assert_eq!(point, [0.0, 0.6, 0.4]);
/// ```
pub fn project_onto_simplex(point: &mut [f64]) {
    let mut descending = point.to_vec();
    descending.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, 0.0);
    for (index, value) in descending.into_iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (index + 1) as f64;
        if value <= candidate {
            break;
        }
        threshold = candidate;
    }
    point.iter_mut().for_each(|value| *value = (*value - threshold).max(0.0));
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn large_and_missing_weights_are_no_trouble() {
        let mut logs = [1000.0, 1000.0 + 3f64.ln(), f64::NEG_INFINITY];
        let log_sum = normalize_logs(&mut logs);
        assert_abs_diff_eq!(&logs[..], &[0.25, 0.75, 0.0][..], epsilon = 1e-12);
        assert_abs_diff_eq!(log_sum, 1000.0 + 4f64.ln(), epsilon = 1e-12);
    }

    fn projected(mut point: Vec<f64>) -> Vec<f64> {
        project_onto_simplex(&mut point);
        point
    }

    #[test]
    fn known_answers() {
        assert_eq!(projected(vec![0.5, 0.5]), [0.5, 0.5]);
        assert_eq!(projected(vec![2.0, 0.0]), [1.0, 0.0]);
        let thirds = projected(vec![0.4, 0.4, 0.4]);
        assert_abs_diff_eq!(&thirds[..], &[1.0 / 3.0; 3][..], epsilon = 1e-15);
        assert_eq!(projected(vec![-7.0]), [1.0]);
        let corner = projected(vec![-5.0, 0.3, 0.1]);
        assert_abs_diff_eq!(&corner[..], &[0.0, 0.6, 0.4][..], epsilon = 1e-15);
    }

    proptest! {
        #[test]
        fn no_distribution_is_nearer(
            point in proptest::collection::vec(-3.0..3.0f64, 1..6),
            other in proptest::collection::vec(0.0..1.0f64, 6),
        ) {
            let nearest = projected(point.clone());
            prop_assert!(nearest.iter().all(|&w| w >= 0.0));
            prop_assert!((nearest.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let other = &other[..point.len()];
            let sum: f64 = other.iter().sum::<f64>().max(1e-9);
            let distance = |w: &mut dyn Iterator<Item = f64>| -> f64 {
                w.zip(&point).map(|(w, u)| (w - u).powi(2)).sum()
            };
            let found = distance(&mut nearest.iter().copied());
            prop_assert!(found <= distance(&mut other.iter().map(|w| w / sum)) + 1e-6);
        }
    }
}
