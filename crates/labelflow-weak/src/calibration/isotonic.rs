//! A curve for each class that never falls: the share of rows of the class as its probability grows.
//!
//! The curve is the monotone function nearest to the 0 and 1 of the true labels in squared distance, found by pooling neighbours that are in
//! the wrong order, and linear between the pools. Calibrated probabilities of a row are scaled to add up to one.
//! (Zadrozny and Elkan, 2002, <https://doi.org/10.1145/775047.775151>.)

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::rows::{SoftLabels, Truth};
use crate::{Error, Result, ensure};

/// A curve for each class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Isotonic {
    /// Probabilities before and after, both not falling.
    pub curves: Vec<Vec<[f64; 2]>>,
}

impl Isotonic {
    /// The curves of these rows.
    pub fn fit(labels: &SoftLabels, truth: &Truth) -> Result<Self> {
        crate::calibration::check_truth(labels.values(), truth)?;
        // One row more of each kind: a curve of few rows never says never.
        let margin = 1.0 / (labels.n_rows() + 2) as f64;
        let curve = |class: usize| {
            let values = labels.values();
            let column = values.column(class);
            let rows = column.iter().zip(truth.labels());
            let mut points: Vec<(f64, f64)> =
                rows.map(|(&p, &label)| (p, f64::from(u8::from(label == class)))).collect();
            points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            pool(&points).into_iter().map(|[p, share]| [p, share.clamp(margin, 1.0 - margin)]).collect()
        };
        Ok(Self { curves: (0..labels.n_classes()).map(curve).collect() })
    }

    /// Calibrated probabilities.
    pub fn apply(&self, labels: &SoftLabels) -> SoftLabels {
        let values = labels.values();
        SoftLabels::normalized(Array2::from_shape_fn(values.dim(), |(row, class)| {
            along(&self.curves[class], values[(row, class)])
        }))
    }

    pub(super) fn check(&self, n_classes: usize) -> Result<()> {
        let rises = |curve: &Vec<[f64; 2]>| {
            !curve.is_empty()
                && curve.iter().flatten().all(|p| (0.0..=1.0).contains(p))
                && curve.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] <= pair[1][1])
        };
        ensure(self.curves.len() == n_classes && self.curves.iter().all(rises), || {
            let expected = format!("{n_classes} curves of probabilities that do not fall");
            Error::config("calibration", expected, format!("{} curves", self.curves.len()))
        })
    }
}

/// Pools neighbours until their means rise; each pool gives its first and its last place.
fn pool(points: &[(f64, f64)]) -> Vec<[f64; 2]> {
    struct Pool {
        first: f64,
        last: f64,
        sum: f64,
        n: f64,
    }
    // Equal places belong together, whatever their values are.
    let at_places = points.chunk_by(|a, b| a.0 == b.0).map(|points| Pool {
        first: points[0].0,
        last: points[0].0,
        sum: points.iter().map(|point| point.1).sum(),
        n: points.len() as f64,
    });
    let mut pools: Vec<Pool> = Vec::new();
    for mut pool in at_places {
        while let Some(before) = pools.pop_if(|before| before.sum / before.n >= pool.sum / pool.n) {
            pool.first = before.first;
            pool.sum += before.sum;
            pool.n += before.n;
        }
        pools.push(pool);
    }
    let ends = |pool: &Pool| [pool.first, pool.last].map(|place| [place, pool.sum / pool.n]);
    let mut curve: Vec<[f64; 2]> = pools.iter().flat_map(ends).collect();
    curve.dedup();
    curve
}

/// The height of a curve at a place: linear between its points, constant outside.
fn along(curve: &[[f64; 2]], place: f64) -> f64 {
    let after = curve.partition_point(|point| point[0] < place);
    match (after.checked_sub(1).map(|before| curve[before]), curve.get(after)) {
        (None, Some(next)) => next[1],
        (Some(last), None) => last[1],
        (Some(last), Some(next)) => last[1] + (next[1] - last[1]) * (place - last[0]) / (next[0] - last[0]),
        (None, None) => place,
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn pools_by_hand() {
        // 0, 1, 0 in the middle: the last two are in the wrong order and become a half each.
        let points = [(0.1, 0.0), (0.4, 1.0), (0.5, 0.0), (0.9, 1.0)];
        assert_eq!(pool(&points), [[0.1, 0.0], [0.4, 0.5], [0.5, 0.5], [0.9, 1.0]]);
        // Equal places have one value.
        assert_eq!(pool(&[(0.5, 0.0), (0.5, 1.0)]), [[0.5, 0.5]]);
        let curve = [[0.2, 0.0], [0.6, 1.0]];
        assert_abs_diff_eq!(along(&curve, 0.5), 0.75, epsilon = 1e-12);
        assert_eq!([along(&curve, 0.0), along(&curve, 1.0)], [0.0, 1.0]);
    }

    #[test]
    fn an_overconfident_model_is_corrected() {
        let labels = Array2::from_shape_fn((400, 2), |(row, class)| {
            let p = [0.05, 0.95][row % 2];
            [1.0 - p, p][class]
        });
        let labels = SoftLabels::new(labels).unwrap();
        // Right in three of four rows.
        let truth = (0..400).map(|row| if (row / 2) % 4 == 0 { 1 - row % 2 } else { row % 2 });
        let truth = Truth::new(truth.collect(), 2).unwrap();
        let fitted = Isotonic::fit(&labels, &truth).unwrap();
        let calibrated = fitted.apply(&labels);
        assert_abs_diff_eq!(calibrated.values()[(0, 0)], 0.75, epsilon = 1e-9);
        assert_abs_diff_eq!(calibrated.values()[(1, 1)], 0.75, epsilon = 1e-9);
        fitted.check(2).unwrap();
        assert!(fitted.check(3).is_err());
        assert!(Isotonic { curves: vec![vec![[0.5, 0.5], [0.1, 0.9]]; 2] }.check(2).is_err());
    }
}
