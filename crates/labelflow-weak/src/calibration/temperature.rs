//! One number that makes all probabilities bolder or more cautious.
//!
//! ```text
//! p'_c ∝ p_c^(1/T)
//! ```
//!
//! T > 1 flattens, T < 1 sharpens, and the order of the classes stays. With true labels T minimises the log loss, which is convex in 1/T (Guo
//! et al., 2017, <https://arxiv.org/abs/1706.04599>). Without any, the labelers' error rates b are known: T is the one under which the
//! probabilities expect the labelers to err as often as they do,
//!
//! ```text
//! T = argmin Σ_{j,c} (mean_i |p'_ic − q_ijc| − b_jc)².
//! ```

use ndarray::Axis;
use serde::{Deserialize, Serialize};

use crate::labelers::Bounds;
use crate::numerics::normalize_logs;
use crate::rows::{SoftLabels, Truth};
use crate::settings::check_positive;
use crate::votes::WeakSignals;
use crate::{Error, Result};

/// Probabilities are raised to this before their logarithm is taken: a mean of a few samples that is zero does not mean never.
const FLOOR: f64 = 1e-3;
/// 1/T is searched between these.
const FLATTEST: f64 = 0.02;
const SHARPEST: f64 = 20.0;
/// Halvings of that interval.
const N_HALVINGS: usize = 60;
/// Temperatures that are tried before the best is refined.
const N_TRIED: usize = 48;

/// A temperature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Temperature {
    /// T
    pub temperature: f64,
}

impl Temperature {
    /// The temperature with the least log loss on these rows.
    pub fn fit(labels: &SoftLabels, truth: &Truth) -> Result<Self> {
        crate::calibration::check_truth(labels.values(), truth)?;
        // d/dβ of the log loss for β = 1/T: how much more log-probability the classes have on average than the true one.
        let slope = |beta: f64| {
            let mut slope = 0.0;
            for (row, &class) in labels.values().axis_iter(Axis(0)).zip(truth.labels()) {
                let logs: Vec<f64> = row.iter().map(|&p| p.max(FLOOR).ln()).collect();
                let mut weights: Vec<f64> = logs.iter().map(|log| beta * log).collect();
                normalize_logs(&mut weights);
                let mean: f64 = weights.iter().zip(&logs).map(|(weight, log)| weight * log).sum();
                slope += mean - logs[class];
            }
            slope
        };
        // The slope grows with β.
        let (mut low, mut high) = (FLATTEST.ln(), SHARPEST.ln());
        for _ in 0..N_HALVINGS {
            let middle = 0.5 * (low + high);
            match slope(middle.exp()) < 0.0 {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(Self { temperature: (-0.5 * (low + high)).exp() })
    }

    /// The temperature under which labelers are expected to err as often as their bounds say.
    ///
    /// It takes bounds for error rates, not for worst cases: loose ones make probabilities too cautious.
    pub fn from_bounds(labels: &SoftLabels, signals: &WeakSignals, bounds: &Bounds) -> Result<Self> {
        bounds.check_shape(signals.n_signals(), signals.n_classes())?;
        if (labels.n_rows(), labels.n_classes()) != (signals.n_rows(), signals.n_classes()) {
            let expected = format!("{} rows and {} classes", signals.n_rows(), signals.n_classes());
            let found = format!("{} rows and {} classes", labels.n_rows(), labels.n_classes());
            return Err(Error::data("labels", expected + ", as the signals have", found));
        }
        let misfit = |log_temperature: f64| {
            let labels = Self { temperature: log_temperature.exp() }.apply(labels);
            let errors = Bounds::expected(signals, &labels);
            let differences = &errors.values() - &bounds.values();
            differences.iter().map(|difference| difference.powi(2)).sum::<f64>()
        };
        let (low, high) = (-SHARPEST.ln(), -FLATTEST.ln());
        let step = (high - low) / N_TRIED as f64;
        let tried = (0..=N_TRIED).map(|index| low + step * index as f64);
        let best = tried.min_by(|a, b| misfit(*a).total_cmp(&misfit(*b))).expect("some are tried");
        Ok(Self { temperature: least(misfit, best - step, best + step).clamp(low, high).exp() })
    }

    /// Probabilities under this temperature.
    pub fn apply(&self, labels: &SoftLabels) -> SoftLabels {
        let mut values = labels.values().mapv(|p| p.max(FLOOR).ln() / self.temperature);
        for mut row in values.axis_iter_mut(Axis(0)) {
            normalize_logs(row.as_slice_mut().expect("rows of an array made here"));
        }
        SoftLabels::normalized(values)
    }

    pub(super) fn check(&self) -> Result<()> {
        check_positive(&[("temperature", self.temperature)])
    }
}

/// Where a function with one valley between two places is least: golden section search.
fn least(function: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let mut inner = [high - RATIO * (high - low), low + RATIO * (high - low)];
    let mut values = inner.map(&function);
    for _ in 0..N_HALVINGS {
        if values[0] < values[1] {
            high = inner[1];
            inner = [high - RATIO * (high - low), inner[0]];
            values = [function(inner[0]), values[0]];
        } else {
            low = inner[0];
            inner = [inner[1], low + RATIO * (high - low)];
            values = [values[1], function(inner[1])];
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, Array3};

    use super::*;

    /// Rows whose classes are as probable as said, and then what a bolder model says of them.
    fn planted(boldness: f64) -> (SoftLabels, Truth) {
        let n_rows = 400;
        let honest = Array2::from_shape_fn((n_rows, 2), |(row, class)| {
            let p = 0.55 + 0.1 * (row % 4) as f64;
            [1.0 - p, p][class]
        });
        // Of every 100 rows with the same probability, exactly its share is of class 1.
        let truth = (0..n_rows).map(|row| usize::from(((row / 4) as f64 + 0.5) / 100.0 < honest[(row, 1)])).collect();
        let bold = honest.mapv(|p| p.powf(boldness));
        (SoftLabels::normalized(bold), Truth::new(truth, 2).unwrap())
    }

    #[test]
    fn a_bold_model_is_cooled_to_the_truth() {
        for boldness in [0.5, 1.0, 3.0] {
            let (labels, truth) = planted(boldness);
            let fitted = Temperature::fit(&labels, &truth).unwrap();
            assert_abs_diff_eq!(fitted.temperature, boldness, epsilon = 1e-6);
            let calibrated = fitted.apply(&labels);
            assert_abs_diff_eq!(calibrated.values()[(1, 1)], 0.65, epsilon = 1e-6);
            assert_eq!(calibrated.argmax(), labels.argmax());
        }
    }

    #[test]
    fn error_rates_of_labelers_tell_the_temperature() {
        let (labels, truth) = planted(2.5);
        // A labeler that says of each row what is more probable, and one that says nothing of value.
        let says = Array3::from_shape_fn((400, 2, 2), |(row, labeler, class)| match labeler {
            0 => [0.1, 0.9][class],
            _ => [0.5, 0.5][(row + class) % 2],
        });
        let signals = WeakSignals::from_probabilities(says.mapv(|q: f64| q as f32)).unwrap();
        let bounds = Bounds::measured(&signals, &truth).unwrap();
        let fitted = Temperature::from_bounds(&labels, &signals, &bounds).unwrap();
        assert_abs_diff_eq!(fitted.temperature, 2.5, epsilon = 1e-3);
    }

    #[test]
    fn sure_and_right_stays_finite() {
        let labels = SoftLabels::new(Array2::from_shape_fn((5, 3), |(_, c)| [1.0, 0.0, 0.0][c]));
        let labels = labels.unwrap();
        let fitted = Temperature::fit(&labels, &Truth::new(vec![0; 5], 3).unwrap()).unwrap();
        assert!(fitted.temperature.is_finite() && fitted.temperature > 0.0);
        let wrong = Temperature::fit(&labels, &Truth::new(vec![1; 5], 3).unwrap()).unwrap();
        assert!(wrong.apply(&labels).values()[(0, 0)] < 0.4);
        assert!(Temperature::fit(&labels, &Truth::new(vec![0; 4], 3).unwrap()).is_err());
    }
}
