//! How good predicted classes are, class by class.
//!
//! ```text
//! precision = right / predicted,   recall = right / true,   F1 = 2 right / (predicted + true)
//! ```

use labelflow_weak::rows::Truth;
use serde::Serialize;

/// How good the predictions of one class are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassScores {
    /// Rows whose true class it is.
    pub n_true: usize,
    /// Rows of which it is predicted.
    pub n_predicted: usize,
    /// The share of the rows of which it is predicted that are of the class; nothing if there are none.
    pub precision: Option<f64>,
    /// The share of the rows of the class of which it is predicted; nothing if there are none.
    pub recall: Option<f64>,
    /// The harmonic mean of both; nothing without rows of the class and predictions.
    pub f1: Option<f64>,
}

/// Rows by true and by predicted class, `[n_classes][n_classes]`.
pub(super) fn confusion(predicted: &[usize], truth: &Truth) -> Vec<Vec<usize>> {
    let mut counts = vec![vec![0; truth.n_classes()]; truth.n_classes()];
    truth.labels().iter().zip(predicted).for_each(|(&class, &guess)| counts[class][guess] += 1);
    counts
}

/// The scores of each class.
pub(super) fn class_scores(confusion: &[Vec<usize>]) -> Vec<ClassScores> {
    let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    let of = |class: usize| {
        let n_true = confusion[class].iter().sum();
        let n_predicted = confusion.iter().map(|guesses| guesses[class]).sum();
        let n_right = confusion[class][class];
        ClassScores {
            n_true,
            n_predicted,
            precision: share(n_right, n_predicted),
            recall: share(n_right, n_true),
            f1: share(2 * n_right, n_predicted + n_true),
        }
    };
    (0..confusion.len()).map(of).collect()
}

/// The mean F1 of the classes that have one.
pub(super) fn macro_f1(classes: &[ClassScores]) -> f64 {
    let scores: Vec<f64> = classes.iter().filter_map(|class| class.f1).collect();
    scores.iter().sum::<f64>() / scores.len().max(1) as f64
}

/// Where a share lies with 95 % confidence, of which so many of `n` were seen: Wilson's score interval.
pub(super) fn wilson_interval(share: f64, n: usize) -> [f64; 2] {
    /// Between plus and minus as many standard deviations lie 95 % of a normal distribution.
    const DEVIATIONS: f64 = 1.959_963_984_540_054;
    let (n, square) = (n as f64, DEVIATIONS * DEVIATIONS);
    let middle = share + square / (2.0 * n);
    let half = DEVIATIONS * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    [middle - half, middle + half].map(|end| (end / (1.0 + square / n)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // Class 2 is never predicted, and class 3 neither true nor predicted.
        let truth = Truth::new(vec![0, 0, 0, 1, 1, 2], 4).unwrap();
        let confusion = confusion(&[0, 0, 1, 1, 0, 1], &truth);
        assert_eq!(confusion, [[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]);
        let scores = class_scores(&confusion);
        let third = 1.0 / 3.0;
        let [first, second, never, none] = scores[..] else { unreachable!("four classes") };
        assert_eq!(
            (first.precision, first.recall, first.f1),
            (Some(2.0 * third), Some(2.0 * third), Some(2.0 * third))
        );
        assert_eq!((second.precision, second.recall, second.f1), (Some(third), Some(0.5), Some(0.4)));
        assert_eq!((never.precision, never.recall, never.f1), (None, Some(0.0), Some(0.0)));
        assert_eq!((none.precision, none.recall, none.f1), (None, None, None));
        assert!((macro_f1(&scores) - (2.0 * third + 0.4) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        // E. B. Wilson, 1927; 81 of 263, as R. G. Newcombe prints it in 1998: 0.2553 to 0.3662.
        let [low, high] = wilson_interval(81.0 / 263.0, 263);
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5, "{low} {high}");
        let [low, high] = wilson_interval(1.0, 10);
        assert!(low > 0.7 && high > 0.999_999, "{low} {high}");
        assert_eq!(wilson_interval(0.0, 10)[0], 0.0);
    }
}
