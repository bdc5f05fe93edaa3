//! From logarithms of weights to probabilities.

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

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn large_and_missing_weights_are_no_trouble() {
        let mut logs = [1000.0, 1000.0 + 3f64.ln(), f64::NEG_INFINITY];
        let log_sum = normalize_logs(&mut logs);
        assert_abs_diff_eq!(&logs[..], &[0.25, 0.75, 0.0][..], epsilon = 1e-12);
        assert_abs_diff_eq!(log_sum, 1000.0 + 4f64.ln(), epsilon = 1e-12);
    }
}
