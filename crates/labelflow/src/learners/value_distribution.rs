//! What is known of real-valued labels: a normal distribution a row, with what lies beyond the label range moved to its ends.
//!
//! ```text
//! y = clip(v, 0, 1),   v ~ N(location, deviation²)
//! E[y]  = l (Φ(b) − Φ(a)) − s (φ(b) − φ(a)) + 1 − Φ(b)                          a = −l / s,   b = (1 − l) / s
//! E[y²] = (l² + s²)(Φ(b) − Φ(a)) − s ((l + 1) φ(b) − l φ(a)) + 1 − Φ(b)
//! ```

use std::f64::consts::{PI, SQRT_2};

use labelflow_weak::rows::LabelRange;

use crate::{Error, Result};

/// Distributions of the labels of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueDistribution {
    range: LabelRange,
    /// Of each row: location and deviation on the scale where the label range is [0, 1].
    rows: Vec<(f64, f64)>,
}

impl ValueDistribution {
    /// From locations and deviations on the scale where the label range is [0, 1].
    pub(crate) fn new(range: LabelRange, rows: Vec<(f64, f64)>) -> Self {
        Self { range, rows }
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// The mean of each row's label.
    pub fn mean(&self) -> Vec<f64> {
        self.rows.iter().map(|&row| self.range.from_unit(moments(row).0)).collect()
    }

    /// The standard deviation of each row's label.
    pub fn std(&self) -> Vec<f64> {
        let std = |&row: &(f64, f64)| {
            let (mean, square) = moments(row);
            (square - mean * mean).max(0.0).sqrt() * self.range.width()
        };
        self.rows.iter().map(std).collect()
    }

    /// The value that each row's label stays below with probability `level`.
    pub fn quantile(&self, level: f64) -> Result<Vec<f64>> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::config("quantile level", "a number between 0 and 1", level));
        }
        let z = normal_quantile(level);
        let quantile =
            |&(location, deviation): &(f64, f64)| self.range.from_unit(z.mul_add(deviation, location).clamp(0.0, 1.0));
        Ok(self.rows.iter().map(quantile).collect())
    }

    /// The ends of the intervals that hold each row's label with probability `level`, as much above as below.
    pub fn interval(&self, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        Ok((self.quantile((1.0 - level) / 2.0)?, self.quantile((1.0 + level) / 2.0)?))
    }
}

/// Mean and mean square of a clipped normal variable.
fn moments((location, deviation): (f64, f64)) -> (f64, f64) {
    let (a, b) = (-location / deviation, (1.0 - location) / deviation);
    let inside = normal_cdf(b) - normal_cdf(a);
    // What lies above 1 and is moved there; from the other tail, so that no digits are lost.
    let above = normal_cdf(-b);
    let (at_a, at_b) = (normal_density(a), normal_density(b));
    let mean = location * inside - deviation * (at_b - at_a) + above;
    let square = (location * location + deviation * deviation) * inside
        - deviation * ((location + 1.0) * at_b - location * at_a)
        + above;
    (mean.clamp(0.0, 1.0), square.clamp(0.0, 1.0))
}

fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// The inverse of [`normal_cdf`], by bisection: it is asked for once a call, not once a row.
fn normal_quantile(level: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    while high - low > 1e-13 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if normal_cdf(middle) < level { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(location: f64, deviation: f64) -> ValueDistribution {
        ValueDistribution::new(LabelRange::new(10.0, 30.0).unwrap(), vec![(location, deviation)])
    }

    #[test]
    fn far_from_the_ends_it_is_the_normal_distribution() {
        let labels = distribution(0.4, 0.01);
        assert!((labels.mean()[0] - 18.0).abs() < 1e-12);
        assert!((labels.std()[0] - 0.2).abs() < 1e-9);
        assert!((labels.quantile(0.975).unwrap()[0] - (18.0 + 0.2 * 1.959_963_984_540_054)).abs() < 1e-9);
        assert!((labels.quantile(0.5).unwrap()[0] - 18.0).abs() < 1e-9);
    }

    #[test]
    fn what_lies_beyond_the_range_is_moved_to_its_ends() {
        // Half of the mass at 0: the mean of the positive part is 1/√(2π), its mean square 1/2.
        let labels = distribution(0.0, 0.05);
        assert!((labels.mean()[0] - (10.0 + 20.0 * 0.05 / (2.0 * PI).sqrt())).abs() < 1e-9);
        let variance = 0.05f64.powi(2) * (0.5 - 1.0 / (2.0 * PI));
        assert!((labels.std()[0] - 20.0 * variance.sqrt()).abs() < 1e-9);
        assert_eq!(labels.quantile(0.3).unwrap(), [10.0]);
        for (location, mean) in [(-40.0, 10.0), (40.0, 30.0)] {
            let labels = distribution(location, 0.02);
            assert_eq!((labels.mean()[0], labels.std()[0]), (mean, 0.0));
        }
    }

    #[test]
    fn moments_are_those_of_a_numerical_integral() {
        for (location, deviation) in [(0.1, 0.3), (0.9, 0.5), (-0.2, 0.4), (0.5, 2.0)] {
            let n = 400_000;
            let (mut mean, mut square, mut weights) = (0.0, 0.0, 0.0);
            for step in 0..n {
                let z = -10.0 + 20.0 * (f64::from(step) + 0.5) / f64::from(n);
                let y = (location + deviation * z).clamp(0.0, 1.0);
                let weight = normal_density(z);
                mean += weight * y;
                square += weight * y * y;
                weights += weight;
            }
            let (expected_mean, expected_square) = moments((location, deviation));
            assert!((mean / weights - expected_mean).abs() < 1e-8);
            assert!((square / weights - expected_square).abs() < 1e-8);
        }
    }

    #[test]
    fn levels_outside_the_unit_interval_are_refused() {
        for level in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(distribution(0.5, 0.1).quantile(level).is_err(), "{level}");
        }
    }
}
