//! L-BFGS: minimising a smooth function of many variables from its gradients.
//!
//! ```text
//! x ← x + α d,   d = −H g,   H from the last `memory` pairs s = Δx, y = Δg  (two-loop recursion)
//! α: f(x + α d) ≤ f(x) + c₁ α gᵀd   and   |g(x + α d)ᵀd| ≤ c₂ |gᵀd|         (strong Wolfe conditions)
//! ```
//!
//! Close to a minimum, rounding hides the decrease that the first condition asks for. There a step is also accepted
//! if f rises by no more than rounding and the slope has come down as it would on a parabola (Hager and Zhang's
//! approximate condition), so that the gradient can be made small even where f no longer tells points apart.
//!
//! J. Nocedal and S. J. Wright, *Numerical Optimization*, 2006, chapters 3 and 7; W. W. Hager and H. Zhang, *A new
//! conjugate gradient method with guaranteed descent and an efficient line search*, 2005.

use std::collections::VecDeque;

use crate::StopReason;
use crate::numerics::{dot, largest};

const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
/// Relative errors of f below this are taken for rounding.
const ROUNDING: f64 = 1e-13;
const MAX_LINE_STEPS: usize = 40;

/// L-BFGS with a line search that satisfies the strong Wolfe conditions.
///
/// ```
/// use labelflow_weak::StopReason;
/// use labelflow_weak::numerics::Lbfgs;
///
/// let minimum = Lbfgs::default().minimize(vec![0.0, 0.0], |x, gradient| {
///     gradient[0] = 2.0 * (x[0] - 3.0);
///     gradient[1] = 20.0 * (x[1] + 1.0);
///     (x[0] - 3.0).powi(2) + 10.0 * (x[1] + 1.0).powi(2)
/// });
/// assert_eq!(minimum.stop, StopReason::Converged);
/// assert!((minimum.point[0] - 3.0).abs() < 1e-4);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Lbfgs {
    /// How many past steps shape the next one. Default: 10.
    pub memory: usize,
    /// The most steps. Default: 1000.
    pub max_iterations: usize,
    /// It stops when no entry of the gradient is larger. Default: 1e-5.
    pub tolerance: f64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Self { memory: 10, max_iterations: 1000, tolerance: 1e-5 }
    }
}

/// Where a minimisation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The point.
    pub point: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// The largest entry of the gradient there, in absolute value.
    pub gradient_size: f64,
    /// Number of steps.
    pub n_iterations: usize,
    /// Why it ended.
    pub stop: StopReason,
}

impl Lbfgs {
    /// Minimises `objective`, which returns f(x) and writes its gradient into the second argument.
    pub fn minimize(&self, start: Vec<f64>, objective: impl FnMut(&[f64], &mut [f64]) -> f64) -> Minimum {
        self.minimize_preconditioned(start, objective, |_| ())
    }

    /// The same, helped by `precondition`, which multiplies a vector by a symmetric positive definite matrix close to
    /// the inverse of the second derivatives, up to a factor. The closer it is, the fewer steps are needed.
    pub fn minimize_preconditioned(
        &self,
        start: Vec<f64>,
        mut objective: impl FnMut(&[f64], &mut [f64]) -> f64,
        precondition: impl Fn(&mut [f64]),
    ) -> Minimum {
        let mut here = Point::evaluate(start, &mut objective);
        let mut history = History { memory: self.memory, pairs: VecDeque::new() };
        let mut n_iterations = 0;
        let stop = loop {
            if largest(&here.gradient) <= self.tolerance {
                break StopReason::Converged;
            }
            if n_iterations == self.max_iterations {
                break StopReason::MaxIterations;
            }
            let mut direction = history.direction(&here.gradient, &precondition);
            if dot(&direction, &here.gradient) >= 0.0 {
                // Rounding has spoiled the memory: start again from the steepest descent.
                history.pairs.clear();
                direction = history.direction(&here.gradient, &precondition);
            }
            // Without memory the direction's length says nothing of the distance: begin with a step of length one at most.
            let first =
                if history.pairs.is_empty() { (1.0 / dot(&direction, &direction).sqrt()).min(1.0) } else { 1.0 };
            match line_search(&here, &direction, first, &mut objective) {
                Some(there) => {
                    history.push(&here, &there, &precondition);
                    here = there;
                }
                None if history.pairs.is_empty() => break StopReason::NoProgress,
                None => history.pairs.clear(),
            }
            n_iterations += 1;
        };
        Minimum { gradient_size: largest(&here.gradient), point: here.x, value: here.value, n_iterations, stop }
    }
}

/// A point with the function and its gradient.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) x: Vec<f64>,
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
}

impl Point {
    pub(crate) fn evaluate(x: Vec<f64>, objective: &mut impl FnMut(&[f64], &mut [f64]) -> f64) -> Self {
        let mut gradient = vec![0.0; x.len()];
        let value = objective(&x, &mut gradient);
        Self { x, value, gradient }
    }
}

/// The last changes of point and gradient, oldest first.
struct History {
    memory: usize,
    pairs: VecDeque<Pair>,
}

struct Pair {
    point_change: Vec<f64>,
    gradient_change: Vec<f64>,
    /// sᵀy
    product: f64,
    /// yᵀ P y, where P is the preconditioner: sᵀy over this is the scale at which P fits the last step best.
    gradient_length: f64,
}

impl History {
    fn push(&mut self, before: &Point, after: &Point, precondition: &impl Fn(&mut [f64])) {
        let point_change = difference(&after.x, &before.x);
        let gradient_change = difference(&after.gradient, &before.gradient);
        let product = dot(&point_change, &gradient_change);
        // Without positive curvature along the step, H would stop being positive definite.
        let mut conditioned = gradient_change.clone();
        precondition(&mut conditioned);
        let gradient_length = dot(&gradient_change, &conditioned);
        if self.memory == 0 || product <= f64::EPSILON * gradient_length {
            return;
        }
        if self.pairs.len() == self.memory {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { point_change, gradient_change, product, gradient_length });
    }

    /// −H g by the two-loop recursion.
    fn direction(&self, gradient: &[f64], precondition: &impl Fn(&mut [f64])) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut weights = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let weight = dot(&pair.point_change, &direction) / pair.product;
            add(&mut direction, -weight, &pair.gradient_change);
            weights.push(weight);
        }
        precondition(&mut direction);
        if let Some(last) = self.pairs.back() {
            let scale = last.product / last.gradient_length;
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for (pair, weight) in self.pairs.iter().zip(weights.into_iter().rev()) {
            let correction = weight - dot(&pair.gradient_change, &direction) / pair.product;
            add(&mut direction, correction, &pair.point_change);
        }
        direction
    }
}

/// One end of the interval that holds a good step.
#[derive(Debug, Clone, Copy)]
struct End {
    step: f64,
    value: f64,
    slope: f64,
}

/// A point along `direction` that satisfies the Wolfe conditions; failing that, one that is lower than `from`, if any.
///
/// The low end of the interval always has sufficient decrease and a falling slope, the high end lacks decrease or
/// rises, so a good step lies between them.
fn line_search(
    from: &Point,
    direction: &[f64],
    first: f64,
    objective: &mut impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Option<Point> {
    let slope = dot(&from.gradient, direction);
    let mut low = End { step: 0.0, value: from.value, slope };
    let mut high: Option<End> = None;
    let mut lowest: Option<Point> = None;
    let mut step = first;
    for _ in 0..MAX_LINE_STEPS {
        let mut x = from.x.clone();
        add(&mut x, step, direction);
        let there = Point::evaluate(x, objective);
        let end = End { step, value: there.value, slope: dot(&there.gradient, direction) };
        if !has_decreased(from.value, slope, end) {
            high = Some(end);
        } else if end.slope.abs() <= CURVATURE * slope.abs() {
            return Some(there);
        } else {
            if end.slope > 0.0 {
                high = Some(end);
            } else {
                low = end;
            }
            if there.value < lowest.as_ref().map_or(from.value, |lowest| lowest.value) {
                lowest = Some(there);
            }
        }
        step = match high {
            None => 4.0 * step,
            Some(high) => between(low, high),
        };
    }
    lowest
}

/// Whether a step decreases the function enough, allowing for rounding.
fn has_decreased(value: f64, slope: f64, end: End) -> bool {
    if !(end.value.is_finite() && end.slope.is_finite()) {
        return false;
    }
    let enough = end.value <= value + DECREASE * end.step * slope;
    let hidden_by_rounding = end.value <= value + ROUNDING * value.abs() && end.slope <= (2.0 * DECREASE - 1.0) * slope;
    enough || hidden_by_rounding
}

/// The minimum of the cubic through both ends, kept away from them; the middle where there is none.
fn between(low: End, high: End) -> f64 {
    let width = high.step - low.step;
    let middle = low.step + 0.5 * width;
    if !(high.value.is_finite() && high.slope.is_finite()) {
        return low.step + 0.1 * width;
    }
    let mean_slope = low.slope + high.slope - 3.0 * (high.value - low.value) / width;
    let root = mean_slope * mean_slope - low.slope * high.slope;
    if root < 0.0 {
        return middle;
    }
    let root = root.sqrt();
    let fraction = 1.0 - (high.slope + root - mean_slope) / (high.slope - low.slope + 2.0 * root);
    if fraction.is_finite() { low.step + width * fraction.clamp(0.1, 0.9) } else { middle }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `sum` += `weight` · `values`
fn add(sum: &mut [f64], weight: f64, values: &[f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley in any even number of dimensions; the minimum is at (1, …, 1).
    fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (x, gradient) in x.chunks_exact(2).zip(gradient.chunks_exact_mut(2)) {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            value += a * a + 100.0 * b * b;
            gradient[0] = -2.0 * a - 400.0 * x[0] * b;
            gradient[1] = 200.0 * b;
        }
        value
    }

    #[test]
    fn rosenbrocks_valley_is_followed_to_its_end() {
        let settings = Lbfgs { tolerance: 1e-9, ..Lbfgs::default() };
        for d in [2, 10] {
            let start = [-1.2, 1.0].repeat(d / 2);
            let minimum = settings.minimize(start, rosenbrock);
            assert_eq!(minimum.stop, StopReason::Converged);
            assert!(minimum.n_iterations < 100, "{}", minimum.n_iterations);
            assert!(minimum.point.iter().all(|x| (x - 1.0).abs() < 1e-8), "{minimum:?}");
        }
    }

    #[test]
    fn an_ill_conditioned_bowl_is_minimised_beyond_the_precision_of_its_value() {
        // f is 1e6 + …: its last bit is 1e-10, the gradient is to fall below 1e-7.
        let curvature = |index: usize| 10f64.powf(index as f64 / 20.0);
        let bowl = |x: &[f64], gradient: &mut [f64]| {
            let mut value = 1e6;
            for (index, x) in x.iter().enumerate() {
                value += 0.5 * curvature(index) * x * x;
                gradient[index] = curvature(index) * x;
            }
            value
        };
        let settings = Lbfgs { tolerance: 1e-7, ..Lbfgs::default() };
        let plain = settings.minimize(vec![1.0; 50], bowl);
        assert_eq!(plain.stop, StopReason::Converged, "{plain:?}");
        let invert = |x: &mut [f64]| {
            x.iter_mut().enumerate().for_each(|(index, x)| *x /= curvature(index));
        };
        let helped = settings.minimize_preconditioned(vec![1.0; 50], bowl, invert);
        assert_eq!(helped.stop, StopReason::Converged, "{helped:?}");
        assert!(helped.n_iterations < 5 && plain.n_iterations > 50);
    }

    #[test]
    fn a_function_without_a_minimum_ends() {
        let minimum = Lbfgs { max_iterations: 20, ..Lbfgs::default() }.minimize(vec![0.0], |x, gradient| {
            gradient[0] = 1.0;
            x[0]
        });
        assert_ne!(minimum.stop, StopReason::Converged);
        let nan = Lbfgs::default().minimize(vec![0.0], |_, gradient| {
            gradient[0] = f64::NAN;
            f64::NAN
        });
        assert_eq!(nan.stop, StopReason::NoProgress);
    }

    #[test]
    fn a_barrier_is_respected() {
        // x − log x: the first steps run into x ≤ 0, where it is not defined.
        let minimum = Lbfgs::default().minimize(vec![1e-3], |x, gradient| {
            gradient[0] = 1.0 - 1.0 / x[0];
            if x[0] > 0.0 { x[0] - x[0].ln() } else { f64::INFINITY }
        });
        assert_eq!(minimum.stop, StopReason::Converged);
        assert!((minimum.point[0] - 1.0).abs() < 1e-4);
    }
}
