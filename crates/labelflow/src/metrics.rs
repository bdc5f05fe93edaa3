//! How good probabilities are, judged by true labels.

use labelflow_weak::{Error, Result, SoftLabels, Truth};
use serde::Serialize;

/// Bins of the expected calibration error.
const N_BINS: usize = 10;
/// Probabilities are kept this far from zero before their logarithm is taken.
const LOG_FLOOR: f64 = 1e-12;

/// Metrics of classification.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassificationMetrics {
    /// The number of rows judged.
    pub n_rows: usize,
    /// The share of rows whose most probable class is the true one.
    pub accuracy: f64,
    /// The mean over rows of Σ_c (p_c − 1[y = c])².
    pub brier: f64,
    /// The expected calibration error: how far the probability of the predicted class is from how often it is right, in ten equal bins of that
    /// probability, weighted by their rows.
    pub ece: f64,
    /// The mean over rows of −ln p_y.
    pub log_loss: f64,
}

/// Judges probabilities.
pub fn classification_metrics(labels: &SoftLabels, truth: &Truth) -> Result<ClassificationMetrics> {
    if labels.n_rows() != truth.n_rows() {
        return Err(Error::data(
            "true labels",
            format!("{} rows, as many as were predicted", labels.n_rows()),
            truth.n_rows(),
        ));
    }
    if truth.n_classes() > labels.n_classes() {
        return Err(Error::data(
            "true labels",
            format!("{} classes at most, as the model has", labels.n_classes()),
            truth.n_classes(),
        ));
    }
    let n_rows = labels.n_rows() as f64;
    let predicted = labels.argmax();
    let mut brier = 0.0;
    let mut log_loss = 0.0;
    // Rows, right rows and summed probabilities of each bin.
    let mut bins = [(0.0, 0.0, 0.0); N_BINS];
    for (row, (&class, &guess)) in truth.labels().iter().zip(&predicted).enumerate() {
        let values = labels.values();
        let p = values.row(row);
        brier +=
            p.iter().enumerate().map(|(c, p)| (p - indicator(c == class)).powi(2)).sum::<f64>();
        log_loss -= p[class].max(LOG_FLOOR).ln();
        let confidence = p[guess];
        // Bins are open below and closed above: (0, 0.1], …, (0.9, 1].
        let bin = ((confidence * N_BINS as f64).ceil() as usize).clamp(1, N_BINS) - 1;
        bins[bin].0 += 1.0;
        bins[bin].1 += indicator(guess == class);
        bins[bin].2 += confidence;
    }
    let gaps = bins.iter().map(|(_, right, confidence)| (right - confidence).abs());
    Ok(ClassificationMetrics {
        n_rows: labels.n_rows(),
        accuracy: truth.accuracy(&predicted),
        brier: brier / n_rows,
        ece: gaps.sum::<f64>() / n_rows,
        log_loss: log_loss / n_rows,
    })
}

fn indicator(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn known_answers() {
        let labels =
            SoftLabels::new(array![[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]]).unwrap();
        let truth = Truth::new(vec![0, 1, 1, 1], 2).unwrap();
        let metrics = classification_metrics(&labels, &truth).unwrap();
        assert_eq!(metrics.accuracy, 0.75);
        // Two rows at 0.9 of which half are right, two at 0.6 which are all right.
        assert!((metrics.ece - (0.5 * 0.4 + 0.5 * 0.4)).abs() < 1e-12);
        assert!((metrics.brier - (0.02 + 1.62 + 0.32 + 0.32) / 4.0).abs() < 1e-12);
        let expected = -(0.9f64.ln() + 0.1f64.ln() + 2.0 * 0.6f64.ln()) / 4.0;
        assert!((metrics.log_loss - expected).abs() < 1e-12);
    }
}
