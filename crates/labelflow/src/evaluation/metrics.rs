//! How good probabilities and distributions are, judged by true labels.

use labelflow_weak::rows::{SoftLabels, TrueValues, Truth};
use labelflow_weak::settings::check_rows;
use labelflow_weak::{Error, Result};
use serde::{Deserialize, Serialize};

use super::class_scores::{ClassScores, class_scores, confusion, macro_f1, wilson_interval};
use crate::learners::ValueDistribution;

/// Bins of the expected calibration error.
const N_BINS: usize = 10;
/// Probabilities are kept this far from zero before their logarithm is taken.
const LOG_FLOOR: f64 = 1e-12;

/// Metrics of classification.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassificationMetrics {
    /// The number of rows judged.
    pub n_rows: usize,
    /// The share of rows whose most probable class is the true one.
    pub accuracy: f64,
    /// Where the accuracy on all rows of this kind lies, with 95 % confidence: Wilson's score interval.
    pub accuracy_interval: [f64; 2],
    /// The mean F1 score of the classes that are true or predicted of some row.
    pub macro_f1: f64,
    /// The mean over rows of Σ_c (p_c − 1[y = c])².
    pub brier: f64,
    /// The expected calibration error: how far the probability of the predicted class is from how often it is right, in ten equal bins of that
    /// probability, weighted by their rows.
    pub ece: f64,
    /// The mean over rows of −ln p_y.
    pub log_loss: f64,
    /// The accuracy when the least certain rows are left out.
    pub surest: [SurestRows; 3],
    /// How good the predictions of each class are.
    pub classes: Vec<ClassScores>,
    /// Rows by true and by predicted class, `[n_classes][n_classes]`.
    pub confusion: Vec<Vec<usize>>,
}

/// The accuracy on the rows that a model is surest of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SurestRows {
    /// The share of rows that are kept.
    pub share: f64,
    /// How often they are right.
    pub accuracy: f64,
}

/// The shares of rows that [`ClassificationMetrics::surest`] keeps.
const SHARES: [f64; 3] = [0.9, 0.8, 0.5];

/// Judges probabilities; of equally probable classes the lowest is predicted.
pub fn classification_metrics(labels: &SoftLabels, truth: &Truth) -> Result<ClassificationMetrics> {
    classification_metrics_of(labels, &labels.argmax(), truth)
}

/// Judges probabilities from which these classes were predicted, such as by [`SoftLabels::classes_of_votes`].
pub fn classification_metrics_of(
    labels: &SoftLabels,
    predicted: &[usize],
    truth: &Truth,
) -> Result<ClassificationMetrics> {
    check_rows("classes", predicted.len(), labels.n_rows(), "were predicted")?;
    let most = predicted.iter().max().copied().unwrap_or(0);
    if most >= labels.n_classes() {
        let expected = format!("numbers below {}, the number of classes", labels.n_classes());
        return Err(Error::data("classes", expected, most));
    }
    let shape = [labels.n_rows(), labels.n_classes()];
    truth.check_shape("true labels", shape, ["were predicted", ", as the model has"])?;
    let n_rows = labels.n_rows() as f64;
    let mut brier = 0.0;
    let mut log_loss = 0.0;
    // Rows, right rows and summed probabilities of each bin.
    let mut bins = [(0.0, 0.0, 0.0); N_BINS];
    for (row, (&class, &guess)) in truth.labels().iter().zip(predicted).enumerate() {
        let values = labels.values();
        let p = values.row(row);
        brier += p.iter().enumerate().map(|(c, p)| (p - indicator(c == class)).powi(2)).sum::<f64>();
        log_loss -= p[class].max(LOG_FLOOR).ln();
        let confidence = p[guess];
        // Bins are open below and closed above: (0, 0.1], …, (0.9, 1].
        let bin = ((confidence * N_BINS as f64).ceil() as usize).clamp(1, N_BINS) - 1;
        bins[bin].0 += 1.0;
        bins[bin].1 += indicator(guess == class);
        bins[bin].2 += confidence;
    }
    let gaps = bins.iter().map(|(_, right, confidence)| (right - confidence).abs());
    let (accuracy, confusion) = (truth.accuracy(predicted), confusion(predicted, truth));
    let classes = class_scores(&confusion);
    Ok(ClassificationMetrics {
        n_rows: labels.n_rows(),
        accuracy,
        accuracy_interval: wilson_interval(accuracy, labels.n_rows()),
        macro_f1: macro_f1(&classes),
        brier: brier / n_rows,
        ece: gaps.sum::<f64>() / n_rows,
        log_loss: log_loss / n_rows,
        surest: surest_rows(labels, truth, predicted),
        classes,
        confusion,
    })
}

fn surest_rows(labels: &SoftLabels, truth: &Truth, predicted: &[usize]) -> [SurestRows; 3] {
    let values = labels.values();
    let mut rows: Vec<(f64, bool)> = (0..labels.n_rows())
        .map(|row| (values[(row, predicted[row])], predicted[row] == truth.labels()[row]))
        .collect();
    // Rows of equal certainty stay in their order.
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    SHARES.map(|share| {
        let kept = ((rows.len() as f64 * share).round() as usize).clamp(rows.len().min(1), rows.len());
        let right = rows[..kept].iter().filter(|(_, right)| *right).count();
        SurestRows { share, accuracy: right as f64 / kept as f64 }
    })
}

/// The intervals that are judged, by the probability with which they claim to hold the label.
const INTERVALS: [f64; 3] = [0.5, 0.8, 0.95];

/// Metrics of regression.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegressionMetrics {
    /// The number of rows judged.
    pub n_rows: usize,
    /// The square root of the mean squared difference between predicted mean and truth.
    pub rmse: f64,
    /// The mean absolute difference.
    pub mae: f64,
    /// The share of the truth's variance that the means explain; negative when its overall mean would have done better.
    pub r2: f64,
    /// Central intervals that claim to hold 50, 80 and 95 % of the labels.
    pub intervals: Vec<IntervalMetrics>,
}

/// How good intervals are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IntervalMetrics {
    /// The share of labels that they claim to hold.
    pub level: f64,
    /// The share that they hold.
    pub coverage: f64,
    /// Their mean width.
    pub width: f64,
}

/// Judges distributions of real-valued labels.
pub fn regression_metrics(labels: &ValueDistribution, truth: &TrueValues) -> Result<RegressionMetrics> {
    let intervals = INTERVALS.map(|level| interval_metrics(labels, truth, level));
    let mut metrics = point_metrics(&labels.mean(), truth)?;
    metrics.intervals = intervals.to_vec();
    Ok(metrics)
}

/// Judges predictions that say nothing of how sure they are.
pub fn point_metrics(predicted: &[f64], truth: &TrueValues) -> Result<RegressionMetrics> {
    check_rows("true values", truth.n_rows(), predicted.len(), "were predicted")?;
    let n_rows = predicted.len() as f64;
    let mean = truth.values().iter().sum::<f64>() / n_rows;
    let (mut squares, mut absolute, mut variance) = (0.0, 0.0, 0.0);
    for (predicted, value) in predicted.iter().zip(truth.values()) {
        squares += (predicted - value).powi(2);
        absolute += (predicted - value).abs();
        variance += (value - mean).powi(2);
    }
    Ok(RegressionMetrics {
        n_rows: predicted.len(),
        rmse: (squares / n_rows).sqrt(),
        mae: absolute / n_rows,
        r2: if variance > 0.0 { 1.0 - squares / variance } else { 0.0 },
        intervals: Vec::new(),
    })
}

fn interval_metrics(labels: &ValueDistribution, truth: &TrueValues, level: f64) -> IntervalMetrics {
    let (low, high) = labels.interval(level).expect("a level between 0 and 1");
    let ends = low.iter().zip(&high);
    let held = ends.clone().zip(truth.values()).filter(|((low, high), value)| (**low..=**high).contains(*value));
    let n_rows = labels.n_rows() as f64;
    IntervalMetrics {
        level,
        coverage: held.count() as f64 / n_rows,
        width: ends.map(|(low, high)| high - low).sum::<f64>() / n_rows,
    }
}

fn indicator(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use labelflow_weak::rows::LabelRange;

    use super::*;

    #[test]
    fn known_answers_of_regression() {
        let range = LabelRange::new(0.0, 10.0).unwrap();
        let labels = ValueDistribution::new(range, vec![(0.3, 0.01), (0.5, 0.01), (0.7, 0.01)]);
        // Off by 0, 1 and −0.06; a deviation is 0.1.
        let truth = TrueValues::new(vec![3.0, 4.0, 7.06]).unwrap();
        let metrics = regression_metrics(&labels, &truth).unwrap();
        assert!((metrics.rmse - ((1.0f64 + 0.0036) / 3.0).sqrt()).abs() < 1e-9);
        assert!((metrics.mae - 1.06 / 3.0).abs() < 1e-9);
        let coverage: Vec<f64> = metrics.intervals.iter().map(|i| i.coverage).collect();
        assert_eq!(coverage, [2.0 / 3.0; 3]);
        assert!((metrics.intervals[0].width - 2.0 * 0.067_448_975).abs() < 1e-6);
        assert!(regression_metrics(&labels, &TrueValues::new(vec![1.0]).unwrap()).is_err());
    }

    #[test]
    fn known_answers() {
        let labels = SoftLabels::new(array![[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]]).unwrap();
        let truth = Truth::new(vec![0, 1, 1, 1], 2).unwrap();
        let metrics = classification_metrics(&labels, &truth).unwrap();
        assert_eq!(metrics.accuracy, 0.75);
        assert_eq!(metrics.confusion, [[1, 0], [1, 2]]);
        assert_eq!(metrics.classes[1].precision, Some(1.0));
        // Two rows at 0.9 of which half are right, two at 0.6 which are all right.
        assert!((metrics.ece - (0.5 * 0.4 + 0.5 * 0.4)).abs() < 1e-12);
        assert!((metrics.brier - (0.02 + 1.62 + 0.32 + 0.32) / 4.0).abs() < 1e-12);
        let expected = -(0.9f64.ln() + 0.1f64.ln() + 2.0 * 0.6f64.ln()) / 4.0;
        assert!((metrics.log_loss - expected).abs() < 1e-12);
        // The surest half is right in one of two rows, the surest four fifths in two of three.
        assert_eq!(metrics.surest.map(|rows| rows.accuracy), [0.75, 2.0 / 3.0, 0.5]);
    }
}
