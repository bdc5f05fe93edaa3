//! Logistic regression with a ridge penalty: how features become weak labelers, and the simplest end model.
//!
//! ```text
//! two classes    minimise ½‖w‖² + C Σ log(1 + exp(−t (w·x + w₀))),   t = −1, +1
//! k classes      minimise ½‖W‖² + C Σ (log Σ_c exp(W_c·x + b_c) − W_y·x − b_y)
//! ```
//!
//! The intercepts w₀ and b are not penalised. Two classes and up to a thousand features are solved by Newton's method,
//! everything else by [`Lbfgs`]; both functions are convex, so the method does not change the answer. Features such as
//! neighbouring pixels are nearly the same, which makes plain L-BFGS slow; it is helped by the second derivatives at
//! zero, which have one block per class:
//!
//! ```text
//! I + C (1/k) (1 − 1/k) Σ x xᵀ
//! ```

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use crate::numerics::{Cholesky, Lbfgs, Point, RowChunks, dot_in_lanes, fill_rows, largest, normalize_logs};
use crate::rows::{Features, SoftLabels, check_classes, check_columns, check_table};
use crate::settings::{check_at_least_one, check_positive, check_rows};
use crate::{Error, Result, StopReason, checked_when_read, ensure};

/// Up to this many features second derivatives pay; their cost grows with the square of that number.
const MAX_NEWTON_FEATURES: usize = 1000;
/// Rows multiplied at once for second derivatives.
const BLOCK_ROWS: usize = 128;

/// The settings of a logistic regression.
///
/// ```
/// use labelflow_weak::linear::LogisticRegression;
/// use ndarray::array;
///
/// let features = array![[-2.0f32], [-1.0], [1.0], [2.0]];
/// let model = LogisticRegression::default().fit(features.view(), &[0, 0, 1, 1], 2)?;
/// let labels = model.predict_proba(array![[-3.0f32], [0.0], [3.0]].view())?;
/// assert!(labels.values()[[0, 0]] > 0.9);
/// assert!((labels.values()[[1, 0]] - 0.5).abs() < 1e-9);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogisticRegression {
    /// C, the weight of the data against the penalty. Default: 1.
    pub inverse_penalty: f64,
    /// The most steps. Default: 1000.
    pub max_iterations: usize,
    /// It stops when no entry of the gradient is larger. Default: 1e-5.
    pub tolerance: f64,
}

impl Default for LogisticRegression {
    fn default() -> Self {
        Self { inverse_penalty: 1.0, max_iterations: 1000, tolerance: 1e-5 }
    }
}

impl LogisticRegression {
    fn check(&self) -> Result<()> {
        check_positive(&[("inverse_penalty", self.inverse_penalty), ("tolerance", self.tolerance)])?;
        check_at_least_one(&[("max_iterations", self.max_iterations)])
    }

    /// Fits features `[n_rows, d_features]` to one class per row, each below `n_classes`.
    ///
    /// Classes that do not occur get probability 0. If only one class occurs, it is predicted always.
    pub fn fit(
        &self,
        features: ArrayView2<'_, f32>,
        labels: &[usize],
        n_classes: usize,
    ) -> Result<FittedLogisticRegression> {
        self.check()?;
        check_table(features)?;
        check_rows("labels", labels.len(), features.nrows(), "the features have")?;
        check_classes("labels", labels, n_classes)?;
        let mut classes = labels.to_vec();
        classes.sort_unstable();
        classes.dedup();
        let mut fitted = FittedLogisticRegression {
            n_classes,
            d_features: features.ncols(),
            classes,
            parameters: Vec::new(),
            feature_names: Vec::new(),
            stop: StopReason::Converged,
        };
        if fitted.n_outputs() > 0 {
            let features = features.as_standard_layout();
            let problem = Problem::new(as_rows(&features), labels, &fitted, self.inverse_penalty);
            (fitted.parameters, fitted.stop) = self.solve(&problem);
        }
        Ok(fitted)
    }

    /// The same of features whose columns may have names, in single precision.
    pub fn fit_features(
        &self,
        features: &Features,
        labels: &[usize],
        n_classes: usize,
    ) -> Result<FittedLogisticRegression> {
        let fitted = self.fit(features.rounded().view(), labels, n_classes)?;
        Ok(FittedLogisticRegression { feature_names: features.own_names().to_vec(), ..fitted })
    }

    fn solve(&self, problem: &Problem<'_>) -> (Vec<f64>, StopReason) {
        if problem.n_outputs == 1 && problem.d_features <= MAX_NEWTON_FEATURES {
            return problem.newton(self.max_iterations, self.tolerance);
        }
        let minimum = Lbfgs { max_iterations: self.max_iterations, tolerance: self.tolerance, ..Lbfgs::default() }
            .minimize_preconditioned(
                vec![0.0; problem.n_parameters()],
                |parameters, gradient| problem.value_and_gradient(parameters, gradient),
                problem.preconditioner(),
            );
        (minimum.point, minimum.stop)
    }
}

/// A fitted logistic regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct FittedLogisticRegression {
    n_classes: usize,
    d_features: usize,
    /// The classes that occurred in the fit, ascending.
    classes: Vec<usize>,
    /// One row per output, `[n_outputs, d_features + 1]`, the intercept last. See `n_outputs`.
    parameters: Vec<f64>,
    /// Names of the features, if they had names of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature_names: Vec<String>,
    /// Why the fit ended.
    pub stop: StopReason,
}

checked_when_read!(FittedLogisticRegression);

impl FittedLogisticRegression {
    /// Checks what was read.
    fn check(&self) -> Result<()> {
        let Self { n_classes, d_features, classes, .. } = self;
        let are_ascending = classes.windows(2).all(|pair| pair[0] < pair[1]);
        ensure(are_ascending && classes.last().is_some_and(|last| last < n_classes), || {
            let expected = format!("ascending classes below {n_classes}");
            Error::data("stored logistic regression", expected, format!("{classes:?}"))
        })?;
        let (found, expected) = (self.parameters.len(), self.n_outputs() * (d_features + 1));
        ensure(found == expected && self.parameters.iter().all(|p| p.is_finite()), || {
            Error::data("stored logistic regression", format!("{expected} finite parameters"), found)
        })
    }
    /// One score tells two classes apart, none is needed for one, and more classes have one each.
    fn n_outputs(&self) -> usize {
        match self.classes.len() {
            0 | 1 => 0,
            2 => 1,
            n => n,
        }
    }

    /// The probability of each class for each row of features `[n_rows, d_features]`.
    pub fn predict_proba(&self, features: ArrayView2<'_, f32>) -> Result<SoftLabels> {
        check_columns(features, self.d_features)?;
        let features = features.as_standard_layout();
        let rows = as_rows(&features);
        let n_present = self.classes.len();
        let labels = fill_rows(features.nrows(), self.n_classes, |row, labels| {
            let mut scores = vec![0.0; n_present];
            let x = &rows[row * self.d_features..][..self.d_features];
            // Two classes: the score of the first one is zero.
            let first = n_present - self.n_outputs();
            scores_of(x, &self.parameters, &mut scores[first..]);
            normalize_logs(&mut scores);
            self.classes.iter().zip(scores).for_each(|(&class, p)| labels[class] = p);
        });
        SoftLabels::try_normalized(labels)
    }

    /// The same of features whose columns may have names: [`Features::arranged`] finds those of the fit.
    pub fn predict_features(&self, features: &Features) -> Result<SoftLabels> {
        self.predict_proba(features.arranged(&self.feature_names, self.d_features)?.rounded().view())
    }

    /// The number of classes, also of those that did not occur in the fit.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The number of features.
    pub fn d_features(&self) -> usize {
        self.d_features
    }

    /// The classes that occurred in the fit, ascending.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// Weights and intercept, one row per output, `[n_outputs, d_features + 1]`. Two classes have one output, the score
    /// of the second against the first; one class has none.
    pub fn parameters(&self) -> ArrayView2<'_, f64> {
        ArrayView2::from_shape((self.n_outputs(), self.d_features + 1), &self.parameters)
            .expect("the number of parameters is checked")
    }
}

/// The function to minimise, over parameters `[n_outputs, d_features + 1]`.
struct Problem<'a> {
    /// The features, row after row.
    rows: &'a [f32],
    d_features: usize,
    n_outputs: usize,
    /// The index of each row's class among those that occur.
    targets: Vec<usize>,
    inverse_penalty: f64,
}

impl<'a> Problem<'a> {
    fn new(rows: &'a [f32], labels: &[usize], shape: &FittedLogisticRegression, inverse_penalty: f64) -> Self {
        let target = |label| shape.classes.binary_search(label).expect("every label occurs");
        Self {
            rows,
            d_features: shape.d_features,
            n_outputs: shape.n_outputs(),
            targets: labels.iter().map(target).collect(),
            inverse_penalty,
        }
    }

    fn n_parameters(&self) -> usize {
        self.n_outputs * (self.d_features + 1)
    }

    fn chunks(&self, n_sums: usize) -> RowChunks {
        let row_bytes = self.d_features * size_of::<f32>();
        RowChunks::new(self.targets.len(), row_bytes, n_sums)
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.rows[row * self.d_features..][..self.d_features]
    }

    fn value_and_gradient(&self, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let width = self.d_features + 1;
        let add_rows = |rows: Range<usize>, sums: &mut [f64]| {
            let (sums, loss) = sums.split_at_mut(parameters.len());
            let mut residuals = vec![0.0; self.n_outputs];
            for row in rows {
                let x = self.row(row);
                scores_of(x, parameters, &mut residuals);
                loss[0] += loss_and_residuals(&mut residuals, self.targets[row]);
                for (sums, &residual) in sums.chunks_exact_mut(width).zip(&residuals) {
                    add_row(sums, residual, x);
                }
            }
        };
        let length = parameters.len() + 1;
        let sums = self.chunks(length).sum(add_rows);
        let mut value = self.inverse_penalty * sums[parameters.len()];
        for (cell, gradient) in gradient.iter_mut().enumerate() {
            let is_intercept = cell % width == self.d_features;
            let penalized = if is_intercept { 0.0 } else { parameters[cell] };
            value += 0.5 * penalized * penalized;
            *gradient = self.inverse_penalty * sums[cell] + penalized;
        }
        value
    }

    /// The second derivatives of the two-class problem, `[d_features + 1, d_features + 1]`.
    fn hessian(&self, parameters: &[f64]) -> Vec<f64> {
        self.curvature(|x| {
            let p = sigmoid(score(x, parameters));
            p * (1.0 - p)
        })
    }

    /// I + C Σ weight(x) x xᵀ with a one appended to each x and no penalty on it, `[d_features + 1, d_features + 1]`.
    fn curvature(&self, weight: impl Fn(&[f32]) -> f64 + Sync) -> Vec<f64> {
        let width = self.d_features + 1;
        let add_rows = |rows: Range<usize>, sums: &mut [f64]| {
            let mut sums =
                ArrayViewMut2::from_shape((width, width), sums).expect("the sums have width × width entries");
            for start in rows.clone().step_by(BLOCK_ROWS) {
                let n_rows = BLOCK_ROWS.min(rows.end - start);
                let mut block = Array2::<f64>::zeros((n_rows, width));
                for (offset, mut scaled) in block.axis_iter_mut(Axis(0)).enumerate() {
                    let x = self.row(start + offset);
                    let scale = weight(x).sqrt();
                    scaled.iter_mut().zip(x).for_each(|(s, &x)| *s = scale * f64::from(x));
                    scaled[self.d_features] = scale;
                }
                general_mat_mul(self.inverse_penalty, &block.t(), &block, 1.0, &mut sums);
            }
        };
        let mut curvature = self.chunks(width * width).sum(add_rows);
        (0..self.d_features).for_each(|column| curvature[column * (width + 1)] += 1.0);
        curvature
    }

    /// Divides each output's part of a vector by the second derivatives at zero; does nothing where those are too many.
    fn preconditioner(&self) -> impl Fn(&mut [f64]) + use<> {
        let width = self.d_features + 1;
        let share = 1.0 / self.n_outputs.max(2) as f64;
        let factor = (self.d_features <= MAX_NEWTON_FEATURES)
            .then(|| Cholesky::new(self.curvature(|_| share * (1.0 - share)), width))
            .flatten();
        move |vector| {
            if let Some(factor) = &factor {
                vector.chunks_exact_mut(width).for_each(|output| factor.solve(output));
            }
        }
    }

    /// Newton's method with halved steps where a whole one goes too far.
    fn newton(&self, max_iterations: usize, tolerance: f64) -> (Vec<f64>, StopReason) {
        let mut here = self.point(vec![0.0; self.n_parameters()]);
        for _ in 0..max_iterations {
            let size = largest(&here.gradient);
            if size <= tolerance {
                return (here.x, StopReason::Converged);
            }
            let direction = self.newton_direction(&here);
            let slope: f64 = here.gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let Some(next) = self.halve_until_lower(&here, &direction, slope) else {
                return (here.x, StopReason::NoProgress);
            };
            let hidden_by_rounding = -slope <= f64::EPSILON * here.value.abs();
            if hidden_by_rounding && largest(&next.gradient) >= size {
                return (here.x, StopReason::NoProgress);
            }
            here = next;
        }
        (here.x, StopReason::MaxIterations)
    }

    fn point(&self, parameters: Vec<f64>) -> Point {
        Point::evaluate(parameters, &mut |parameters, gradient| self.value_and_gradient(parameters, gradient))
    }

    /// −H⁻¹ g. Where rounding makes H singular (all rows far on the right side), its diagonal is raised until it is
    /// not.
    fn newton_direction(&self, here: &Point) -> Vec<f64> {
        let hessian = self.hessian(&here.x);
        let downhill = || here.gradient.iter().map(|g| -g).collect::<Vec<f64>>();
        let width = here.gradient.len();
        let mut ridge = 0.0;
        loop {
            let mut matrix = hessian.clone();
            (0..width).for_each(|column| matrix[column * (width + 1)] += ridge);
            let mut direction = downhill();
            if let Some(factor) = Cholesky::new(matrix, width) {
                factor.solve(&mut direction);
                return direction;
            }
            let diagonal = (0..width).map(|column| hessian[column * (width + 1)]);
            ridge = if ridge == 0.0 { 1e-12 * diagonal.fold(1.0, f64::max) } else { 100.0 * ridge };
            if !ridge.is_finite() {
                return downhill();
            }
        }
    }

    /// The first point at a step of 1, ½, ¼, … that decreases the function enough, rounding allowed for.
    fn halve_until_lower(&self, here: &Point, direction: &[f64], slope: f64) -> Option<Point> {
        let steps = std::iter::successors(Some(1.0), |step| Some(0.5 * step));
        steps.take(60).find_map(|step| {
            let along = here.x.iter().zip(direction).map(|(from, d)| from + step * d);
            let next = self.point(along.collect());
            (next.value <= here.value + 1e-4 * step * slope + 1e-14 * here.value.abs()).then_some(next)
        })
    }
}

/// The numbers row after row.
fn as_rows<'a>(features: &'a CowArray<'_, f32, Ix2>) -> &'a [f32] {
    features.as_slice().expect("features were brought into standard layout")
}

/// w·x + w₀, with the intercept last in `parameters`. Eight sums at once let the compiler use vector instructions.
fn score(x: &[f32], parameters: &[f64]) -> f64 {
    let (weights, intercept) = parameters.split_at(x.len());
    dot_in_lanes::<8, f32>(x, weights) + intercept[0]
}

/// One score an output.
fn scores_of(x: &[f32], parameters: &[f64], scores: &mut [f64]) {
    let outputs = parameters.chunks_exact(x.len() + 1);
    scores.iter_mut().zip(outputs).for_each(|(s, parameters)| *s = score(x, parameters));
}

/// `sums` += `weight` · (x, 1)
fn add_row(sums: &mut [f64], weight: f64, x: &[f32]) {
    let (sums, intercept) = sums.split_at_mut(x.len());
    sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum += weight * f64::from(x));
    intercept[0] += weight;
}

/// Turns scores into the derivatives of the loss by them, and returns the loss.
fn loss_and_residuals(scores: &mut [f64], target: usize) -> f64 {
    if let [z] = scores {
        let (score, t) = (*z, target as f64);
        *z = sigmoid(score) - t;
        return score.max(0.0) - t * score + (-score.abs()).exp().ln_1p();
    }
    let target_score = scores[target];
    let log_sum = normalize_logs(scores);
    scores[target] -= 1.0;
    log_sum - target_score
}

fn sigmoid(z: f64) -> f64 {
    // The exponential of a number below zero is never too large.
    let e = (-z.abs()).exp();
    if z >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::array;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::label_models::planted::assert_near;

    // The numbers of the two golden tests:
    //
    //     import numpy as np
    //     from sklearn.linear_model import LogisticRegression  # 1.9.1
    //     x = np.array([[0.5, 1], [-1, 0.25], [2, -0.5], [0, 0], [1.5, 2], [-0.5, -1], [1, -2], [-2, 1.5], [0.25, 3]])
    //     two = np.array([1, 0, 1, 0, 1, 0, 0, 1, 1])
    //     three = np.array([1, 0, 1, 2, 1, 0, 2, 2, 0])
    //     for c, y in ((1, two), (10, two), (1, three)):
    //         m = LogisticRegression(C=c, tol=1e-14, solver="newton-cholesky").fit(x, y)
    //         print(m.coef_, m.intercept_)
    fn golden_features() -> Array2<f32> {
        array![
            [0.5, 1.0],
            [-1.0, 0.25],
            [2.0, -0.5],
            [0.0, 0.0],
            [1.5, 2.0],
            [-0.5, -1.0],
            [1.0, -2.0],
            [-2.0, 1.5],
            [0.25, 3.0],
        ]
    }

    fn precise() -> LogisticRegression {
        LogisticRegression { tolerance: 1e-9, ..LogisticRegression::default() }
    }

    #[test]
    fn two_classes_match_scikit_learn() {
        let labels = [1, 0, 1, 0, 1, 0, 0, 1, 1];
        let golden = [
            (1.0, array![[0.5604280558213065, 1.1452583103514342, -0.19897721165892476]]),
            (10.0, array![[1.5889381963420646, 3.10220973268629, -0.56720545107833]]),
        ];
        for (inverse_penalty, expected) in golden {
            let settings = LogisticRegression { inverse_penalty, ..precise() };
            let fitted = settings.fit(golden_features().view(), &labels, 2).unwrap();
            assert_eq!(fitted.stop, StopReason::Converged);
            assert_near(fitted.parameters(), &expected, 1e-7);
        }
    }

    #[test]
    fn three_classes_match_scikit_learn() {
        let labels = [1, 0, 1, 2, 1, 0, 2, 2, 0];
        let fitted = precise().fit(golden_features().view(), &labels, 3).unwrap();
        let expected = array![
            [-0.42051735955954983, 0.09905950299672474, 0.1874621395690067],
            [0.9021001600446539, 0.2293199369961443, -0.4978042914671948],
            [-0.4815828004851045, -0.32837943999286917, 0.3103421518981881],
        ];
        assert_eq!(fitted.stop, StopReason::Converged);
        assert_near(fitted.parameters(), &expected, 1e-7);
    }

    /// Noisy labels of a random linear rule.
    fn random(n_rows: usize, d: usize, n_classes: usize, seed: u64) -> (Array2<f32>, Vec<usize>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = |shape| Array2::from_shape_fn(shape, |_| rng.random_range(-1.0f32..1.0));
        let (features, weights) = (uniform((n_rows, d)), uniform((d, n_classes)));
        let scores = features.dot(&weights) + uniform((n_rows, n_classes));
        let best =
            |row: ndarray::ArrayView1<'_, f32>| (0..n_classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        let labels = scores.rows().into_iter().map(best).collect();
        (features, labels)
    }

    fn gradient_size(features: &Array2<f32>, labels: &[usize], fit: &FittedLogisticRegression) -> f64 {
        let problem = Problem::new(features.as_slice().unwrap(), labels, fit, 1.0);
        largest(&problem.point(fit.parameters.clone()).gradient)
    }

    #[test]
    fn the_gradient_vanishes_at_the_optimum() {
        for (n_rows, d, n_classes) in [(500, 3, 2), (3000, 20, 2), (60, 1001, 2), (2000, 10, 4)] {
            let (features, labels) = random(n_rows, d, n_classes, 1);
            let settings = LogisticRegression::default();
            let fitted = settings.fit(features.view(), &labels, n_classes).unwrap();
            assert_eq!(fitted.stop, StopReason::Converged, "{d} features");
            assert!(gradient_size(&features, &labels, &fitted) <= settings.tolerance);
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_function() {
        for n_classes in [2, 3] {
            let (features, labels) = random(50, 4, n_classes, 2);
            let fitted = precise().fit(features.view(), &labels, n_classes).unwrap();
            let problem = Problem::new(features.as_slice().unwrap(), &labels, &fitted, 0.7);
            let at: Vec<f64> = (0..problem.n_parameters()).map(|cell| (cell as f64).sin()).collect();
            let here = problem.point(at.clone());
            for cell in 0..at.len() {
                let moved = |by: f64| {
                    let mut at = at.clone();
                    at[cell] += by;
                    problem.point(at)
                };
                let (ahead, behind) = (moved(1e-5), moved(-1e-5));
                let slope = (ahead.value - behind.value) / 2e-5;
                assert_abs_diff_eq!(slope, here.gradient[cell], epsilon = 1e-6);
                if n_classes == 2 {
                    let hessian = &problem.hessian(&at)[cell * at.len()..][..at.len()];
                    let slopes = ahead.gradient.iter().zip(&behind.gradient);
                    let slopes: Vec<f64> = slopes.map(|(a, b)| (a - b) / 2e-5).collect();
                    assert_abs_diff_eq!(&slopes[..], hessian, epsilon = 1e-6);
                }
            }
        }
    }

    #[test]
    fn newton_and_lbfgs_find_the_same_optimum() {
        let (features, labels) = random(400, 30, 2, 3);
        let fitted = precise().fit(features.view(), &labels, 2).unwrap();
        let problem = Problem::new(features.as_slice().unwrap(), &labels, &fitted, 1.0);
        let minimum = Lbfgs { tolerance: 1e-8, ..Lbfgs::default() }
            .minimize(vec![0.0; 31], |at, gradient| problem.value_and_gradient(at, gradient));
        assert_eq!(minimum.stop, StopReason::Converged);
        assert_abs_diff_eq!(&minimum.point[..], &fitted.parameters[..], epsilon = 1e-7);
    }

    #[test]
    fn a_symmetric_problem_has_zero_weights() {
        let features = array![[1.0], [1.0], [-1.0], [-1.0]];
        let fitted = precise().fit(features.view(), &[0, 1, 0, 1], 2).unwrap();
        assert_eq!(fitted.parameters(), array![[0.0, 0.0]]);
        // The intercept is not penalised: with useless features it is the logit of 3/4 exactly.
        let fitted = precise().fit(Array2::zeros((4, 1)).view(), &[1, 1, 0, 1], 2).unwrap();
        assert_abs_diff_eq!(fitted.parameters()[[0, 1]], 3f64.ln(), epsilon = 1e-8);
    }

    #[test]
    fn separable_data_stay_finite() {
        for scale in [1e-3f32, 1.0, 1e4, 1e30] {
            for inverse_penalty in [1.0, 1e8] {
                let features = array![[-1.0f32], [-2.0], [1.0], [2.0]] * scale;
                let settings = LogisticRegression { inverse_penalty, ..LogisticRegression::default() };
                let fitted = settings.fit(features.view(), &[0, 0, 1, 1], 2).unwrap();
                assert!(fitted.parameters().iter().all(|p| p.is_finite()));
                let labels = fitted.predict_proba(features.view()).unwrap();
                assert_eq!(labels.argmax(), [0, 0, 1, 1], "{scale} {inverse_penalty}");
            }
        }
    }

    #[test]
    fn classes_that_do_not_occur_get_nothing() {
        let features = array![[-1.0], [1.0], [2.0]];
        let one = precise().fit(features.view(), &[2, 2, 2], 4).unwrap();
        let labels = one.predict_proba(array![[7.0]].view()).unwrap();
        assert_eq!(labels.values(), array![[0.0, 0.0, 1.0, 0.0]]);

        let two = precise().fit(features.view(), &[1, 3, 3], 4).unwrap();
        let as_two = precise().fit(features.view(), &[0, 1, 1], 2).unwrap();
        assert_eq!(two.parameters(), as_two.parameters());
        let labels = two.predict_proba(array![[7.0]].view()).unwrap();
        assert_eq!((labels.values()[[0, 0]], labels.argmax()), (0.0, vec![3]));
    }

    #[test]
    fn bad_input_is_an_error() {
        let features = array![[0.0], [1.0]];
        let fit = |labels: &[usize]| precise().fit(features.view(), labels, 2);
        assert!(fit(&[0]).is_err());
        let error = fit(&[0, 2]).unwrap_err().to_string();
        assert_eq!(error, "labels, row 1: expected a class from 0 to 1, found 2");
        let fitted = fit(&[0, 1]).unwrap();
        assert!(fitted.predict_proba(array![[0.0, 1.0]].view()).is_err());
        assert!(fitted.predict_proba(array![[f32::NAN]].view()).is_err());
        let settings = LogisticRegression { inverse_penalty: 0.0, ..precise() };
        let error = settings.fit(features.view(), &[0, 1], 2).unwrap_err().to_string();
        assert_eq!(error, "inverse_penalty: expected a positive number, found 0");
        let stored = FittedLogisticRegression {
            n_classes: 2,
            d_features: 1,
            classes: vec![0, 1],
            feature_names: Vec::new(),
            parameters: vec![1.0],
            stop: StopReason::Converged,
        };
        assert!(stored.check().is_err());
    }
}
