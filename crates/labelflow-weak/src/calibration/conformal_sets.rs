//! Sets of classes that hold the true one as often as promised, whatever the model.
//!
//! ```text
//! S(x) = { c : s_c(x) ≥ t },   t = the ⌈(n + 1) · level⌉-th largest score s_y(x) of the true classes of n labelled rows
//! ```
//!
//! For rows like the labelled ones, the true class is in the set with at least the probability `level`, and with hardly more when scores are
//! all different. A good model gives small sets; where a model is right more often than the level asks for, some sets are empty: those of rows
//! that look like no class. (Sadinle, Lei and Wasserman, 2019, <https://arxiv.org/abs/1609.00451>.)

use ndarray::{ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::rows::Truth;
use crate::{Error, Result, ensure};

/// The threshold of sets of classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConformalSets {
    /// The share of rows whose set holds the true class.
    pub level: f64,
    /// The score that a class of the set has at least; none when there were too few labelled rows for the level, so that sets hold all classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

/// How good sets of classes are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SetMetrics {
    /// The share of rows whose set holds the true class.
    pub coverage: f64,
    /// The mean number of classes in a set.
    pub size: f64,
}

impl ConformalSets {
    /// The threshold from scores of labelled rows that the model was not trained on, `[n_rows, n_classes]`; of any scale, as long as more
    /// speaks for a class.
    pub fn fit(scores: ArrayView2<'_, f64>, truth: &Truth, level: f64) -> Result<Self> {
        ensure(level > 0.0 && level < 1.0, || Error::config("level", "a share between 0 and 1", level))?;
        crate::calibration::check_truth(scores, truth)?;
        let rows = scores.axis_iter(Axis(0)).zip(truth.labels());
        let mut own: Vec<f64> = rows.map(|(scores, &class)| scores[class]).collect();
        ensure(!own.iter().any(|score| score.is_nan()), || Error::data("scores", "numbers", "NaN"))?;
        own.sort_unstable_by(|a, b| b.total_cmp(a));
        let rank = ((own.len() + 1) as f64 * level).ceil() as usize;
        Ok(Self { level, threshold: own.get(rank - 1).copied() })
    }

    /// The classes that a row may have, from its scores. One whose score is not a number is possible.
    pub fn set(&self, scores: ArrayView1<'_, f64>) -> Vec<usize> {
        let is_out = |score: f64| self.threshold.is_some_and(|threshold| score < threshold);
        (0..scores.len()).filter(|&class| !is_out(scores[class])).collect()
    }

    /// Judges the sets of rows.
    pub fn evaluate(&self, scores: ArrayView2<'_, f64>, truth: &Truth) -> Result<SetMetrics> {
        crate::calibration::check_truth(scores, truth)?;
        let (mut held, mut size) = (0, 0);
        for (scores, class) in scores.axis_iter(Axis(0)).zip(truth.labels()) {
            let set = self.set(scores);
            held += usize::from(set.contains(class));
            size += set.len();
        }
        let n_rows = scores.nrows() as f64;
        Ok(SetMetrics { coverage: held as f64 / n_rows, size: size as f64 / n_rows })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn thresholds_by_hand() {
        // Scores of the true classes: 0.9, 0.8, 0.7, 0.6. At 60 %, the third of five.
        let scores = array![[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]];
        let truth = Truth::new(vec![0, 1, 0, 1], 2).unwrap();
        let sets = ConformalSets::fit(scores.view(), &truth, 0.6).unwrap();
        assert_eq!(sets.threshold, Some(0.7));
        assert_eq!(sets.set(array![0.75, 0.25].view()), [0]);
        assert_eq!(sets.set(array![0.7, 0.9].view()), [0, 1]);
        assert!(sets.set(array![0.5, 0.5].view()).is_empty());
        let metrics = sets.evaluate(scores.view(), &truth).unwrap();
        assert_eq!((metrics.coverage, metrics.size), (0.75, 0.75));
        // Four rows cannot promise 90 %: every class is possible.
        let sets = ConformalSets::fit(scores.view(), &truth, 0.9).unwrap();
        assert_eq!(sets.set(array![-5.0, 5.0].view()), [0, 1]);
        assert!(ConformalSets::fit(scores.view(), &truth, 1.0).is_err());
    }

    #[test]
    fn coverage_is_as_promised_for_a_bad_model_too() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut draw = |n_rows: usize| {
            let truth: Vec<usize> = (0..n_rows).map(|_| rng.random_range(0..3)).collect();
            let scores = Array2::from_shape_fn((n_rows, 3), |(row, class)| {
                rng.random::<f64>() + 0.3 * f64::from(u8::from(class == truth[row]))
            });
            (scores, Truth::new(truth, 3).unwrap())
        };
        let (scores, truth) = draw(2000);
        let sets = ConformalSets::fit(scores.view(), &truth, 0.9).unwrap();
        let (scores, truth) = draw(20_000);
        let metrics = sets.evaluate(scores.view(), &truth).unwrap();
        assert!((metrics.coverage - 0.9).abs() < 0.015, "{metrics:?}");
        assert!((1.5..3.0).contains(&metrics.size), "{metrics:?}");
    }
}
