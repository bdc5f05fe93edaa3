//! The linear form of adversarial label learning, for two classes.
//!
//! ```text
//! p = 1 / (1 + exp(−X w)),   c_j = mean of (1 − 2 q_j) y + mean of q_j − b_j,   y = ½, γ = 0, w = 0 at first
//!
//! g_i ← ((1 − 2 p_i) + Σ_j γ_j (1 − 2 q_ji)) / n − ρ Σ_j [c_j]₊ (1 − 2 q_ji)        (code; exact: another 1/n at the end)
//! y   ← clip(y + g / (1 + t)),   γ_j ← min(0, γ_j − ρ c_j)
//! w   ← w − η mean of (1 − 2 y_i) p_i (1 − p_i) x_i                                  all from the values before the step
//! ```
//!
//! which climbs in y, and descends in w, on
//!
//! ```text
//! L = mean of p (1 − y) + (1 − p) y + Σ_j γ_j c_j − ρ/2 Σ_j [c_j]₊²
//! ```

use labelflow_weak::StopReason;
use labelflow_weak::numerics::RowChunks;
use labelflow_weak::rows::WeakDataset;
use labelflow_weak::settings::{check_at_least_one, check_positive};
use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Settings of the linear form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinearAdversary {
    /// The most steps. Default: 10,000.
    pub max_iterations: usize,
    /// η, the step size of the weights. Accuracies depend on it. Default: 1e-4.
    pub learning_rate: f64,
    /// ρ, the weight of violated bounds. Default: 2.5.
    pub penalty: f64,
    /// Its gradient. Default: code.
    pub penalty_gradient: PenaltyGradient,
    /// It stops when neither labels nor violations are farther than this from where they were, or from zero. Default:
    /// 1e-6.
    pub tolerance: f64,
    /// It stops only when the weights move less than this, too. Default: 1e-5.
    pub weight_tolerance: f64,
}

/// How strongly labels are pushed by violated bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PenaltyGradient {
    /// As the published code does it: n times the derivative.
    #[default]
    Code,
    /// By the derivative.
    Exact,
}

impl Default for LinearAdversary {
    fn default() -> Self {
        Self {
            max_iterations: 10_000,
            learning_rate: 1e-4,
            penalty: 2.5,
            penalty_gradient: PenaltyGradient::default(),
            tolerance: 1e-6,
            weight_tolerance: 1e-5,
        }
    }
}

impl LinearAdversary {
    fn check(&self) -> Result<()> {
        check_at_least_one(&[("max_iterations", self.max_iterations)])?;
        check_positive(&[("learning_rate", self.learning_rate), ("penalty", self.penalty)])?;
        for (setting, value) in [("tolerance", self.tolerance), ("weight_tolerance", self.weight_tolerance)] {
            if value.is_nan() || value < 0.0 {
                return Err(Error::config(setting, "a number that is not negative", value));
            }
        }
        Ok(())
    }

    /// The weights of the classifier, and why it ended. Signals must speak of two classes, on every row.
    pub(super) fn fit(&self, features: Array2<f32>, dataset: &WeakDataset) -> Result<(Vec<f64>, StopReason)> {
        self.check()?;
        let game = Game::new(self, features, dataset);
        let mut state = game.start();
        let stop = game.play(&mut state);
        if state.weights.iter().all(|weight| weight.is_finite()) {
            return Ok((state.weights, stop));
        }
        let epoch = state.n_iterations;
        Err(Error::NotFinite { term: "weights".to_owned(), value: f64::NAN, epoch })
    }
}

/// The data, as the steps read them.
struct Game<'a> {
    settings: &'a LinearAdversary,
    /// `[n_rows, d_features]`, row after row.
    features: Vec<f32>,
    d_features: usize,
    /// 1 − 2 q, `[n_rows, n_signals]`, row after row.
    tilts: Vec<f32>,
    n_signals: usize,
    /// mean of q_j − b_j, `[n_signals]`.
    offsets: Vec<f64>,
    n_rows: usize,
}

/// Where the game is.
#[derive(Debug, Clone, PartialEq)]
struct State {
    n_iterations: usize,
    /// y, `[n_rows]`.
    labels: Vec<f64>,
    /// γ, `[n_signals]`.
    multipliers: Vec<f64>,
    /// c(y), `[n_signals]`.
    violations: Vec<f64>,
    /// w, `[d_features]`.
    weights: Vec<f64>,
}

impl<'a> Game<'a> {
    fn new(settings: &'a LinearAdversary, features: Array2<f32>, dataset: &WeakDataset) -> Self {
        let (n_rows, d_features) = features.dim();
        let (signals, bounds) = (dataset.signals(), dataset.bounds().values());
        let n_signals = signals.n_signals();
        let tilt = |row, signal| {
            let q = signals.class1_probability(row, signal).expect("checked: nobody abstains");
            1.0 - 2.0 * q
        };
        let mut tilts = Vec::with_capacity(n_rows * n_signals);
        for row in 0..n_rows {
            tilts.extend((0..n_signals).map(|signal| tilt(row, signal)));
        }
        let offset = |signal: usize| {
            let of_signal = tilts.iter().skip(signal).step_by(n_signals);
            let mean = of_signal.map(|&tilt| f64::from(tilt)).sum::<f64>() / n_rows as f64;
            // A labeler errs about one of two classes as often as about the other, so the lower bound is what holds.
            0.5 * (1.0 - mean) - bounds[[signal, 0]].min(bounds[[signal, 1]])
        };
        let offsets = (0..n_signals).map(offset).collect();
        let features = features.as_standard_layout().iter().copied().collect();
        Self { settings, features, d_features, tilts, n_signals, offsets, n_rows }
    }

    fn start(&self) -> State {
        let labels = vec![0.5; self.n_rows];
        State {
            n_iterations: 0,
            violations: self.violations(&labels),
            labels,
            multipliers: vec![0.0; self.n_signals],
            weights: vec![0.0; self.d_features],
        }
    }

    /// c(y)
    fn violations(&self, labels: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.n_signals];
        for (label, tilts) in labels.iter().zip(self.tilts.chunks_exact(self.n_signals)) {
            sums.iter_mut().zip(tilts).for_each(|(sum, &tilt)| *sum += label * f64::from(tilt));
        }
        self.violations_from(&sums)
    }

    fn violations_from(&self, sums: &[f64]) -> Vec<f64> {
        let n_rows = self.n_rows as f64;
        sums.iter().zip(&self.offsets).map(|(sum, offset)| sum / n_rows + offset).collect()
    }

    fn play(&self, state: &mut State) -> StopReason {
        while state.n_iterations < self.settings.max_iterations {
            let [label_change, weight_change] = self.step(state);
            let violation = length(state.violations.iter().map(|c| c.max(0.0)));
            if label_change <= self.settings.tolerance
                && violation <= self.settings.tolerance
                && weight_change <= self.settings.weight_tolerance
            {
                return StopReason::Converged;
            }
        }
        StopReason::MaxIterations
    }

    /// One step; how far it went in labels and in weights.
    fn step(&self, state: &mut State) -> [f64; 2] {
        let n_rows = self.n_rows as f64;
        let step = 1.0 / (1 + state.n_iterations) as f64;
        // What each labeler adds to a label's gradient, for a tilt of one.
        let pushes = self.pushes(state);
        let weights: Vec<f32> = state.weights.iter().map(|&weight| weight as f32).collect();
        // The gradient of w, the sums behind the violations, the squared change of the labels.
        let (d_features, n_signals) = (self.d_features, self.n_signals);
        let n_sums = d_features + n_signals + 1;
        let row_bytes = (d_features + n_signals) * size_of::<f32>();
        let chunks = RowChunks::new(self.n_rows, row_bytes, n_sums);
        let rows_per_chunk = chunks.rows_per_chunk();
        let parts = state
            .labels
            .par_chunks_mut(rows_per_chunk)
            .zip(self.features.par_chunks(rows_per_chunk * d_features))
            .zip(self.tilts.par_chunks(rows_per_chunk * n_signals))
            .map(|((labels, features), tilts)| {
                let mut part = vec![0.0; n_sums];
                let (gradient, rest) = part.split_at_mut(d_features);
                let (sums, change) = rest.split_at_mut(n_signals);
                let p = descend(features, labels, &weights, gradient);
                for ((label, p), tilts) in labels.iter_mut().zip(p).zip(tilts.chunks_exact(n_signals)) {
                    let push: f64 = tilts.iter().zip(&pushes).map(|(&t, p)| f64::from(t) * p).sum();
                    let g = (1.0 - 2.0 * p) / n_rows + push;
                    let old = *label;
                    *label = (old + step * g).clamp(0.0, 1.0);
                    change[0] += (*label - old).powi(2);
                    sums.iter_mut().zip(tilts).for_each(|(sum, &t)| *sum += *label * f64::from(t));
                }
                part
            });
        let sums = chunks.add_up(parts);
        for (multiplier, c) in state.multipliers.iter_mut().zip(&state.violations) {
            *multiplier = (*multiplier - self.settings.penalty * c).min(0.0);
        }
        state.violations = self.violations_from(&sums[d_features..][..n_signals]);
        let rate = self.settings.learning_rate / n_rows;
        state.weights.iter_mut().zip(&sums).for_each(|(weight, sum)| *weight -= rate * sum);
        state.n_iterations += 1;
        let weight_change = length(sums[..d_features].iter().map(|sum| rate * sum));
        [sums[d_features + n_signals].sqrt(), weight_change]
    }

    fn pushes(&self, state: &State) -> Vec<f64> {
        let n_rows = self.n_rows as f64;
        let penalty_rows = match self.settings.penalty_gradient {
            PenaltyGradient::Code => 1.0,
            PenaltyGradient::Exact => n_rows,
        };
        let push =
            |(multiplier, c): (&f64, &f64)| multiplier / n_rows - self.settings.penalty * c.max(0.0) / penalty_rows;
        state.multipliers.iter().zip(&state.violations).map(push).collect()
    }
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

/// The probability of class 1 of each row; adds Σ (1 − 2 y) p (1 − p) x to `gradient`.
///
/// A row is read from memory once, which is what this takes its time for: it is still at hand when its share of the
/// gradient is added.
fn descend(features: &[f32], labels: &[f64], weights: &[f32], gradient: &mut [f64]) -> Vec<f64> {
    let mut sum = vec![0.0; weights.len()];
    let probability = |(x, label): (&[f32], &f64)| {
        let p = 1.0 / (1.0 + f64::from(-dot(x, weights)).exp());
        let slope = ((1.0 - 2.0 * label) * p * (1.0 - p)) as f32;
        sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += slope * x);
        p
    };
    let p = features.chunks_exact(weights.len()).zip(labels).map(probability).collect();
    gradient.iter_mut().zip(sum).for_each(|(gradient, sum)| *gradient += f64::from(sum));
    p
}

fn dot(x: &[f32], weights: &[f32]) -> f32 {
    /// So many sums at a time: one alone would wait for each addition.
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (x, x_rest) = x.as_chunks::<LANES>();
    let (weights, weights_rest) = weights.as_chunks::<LANES>();
    for (x, weights) in x.iter().zip(weights) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * weights[lane];
        }
    }
    let rest: f32 = x_rest.iter().zip(weights_rest).map(|(x, weight)| x * weight).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use labelflow_weak::labelers::Bounds;
    use labelflow_weak::rows::Features;
    use labelflow_weak::votes::WeakSignals;
    use ndarray::{Array2, array};

    use super::*;

    /// Signals are probabilities of class 1, `[n_rows, n_signals]`; one bound a labeler.
    fn dataset(features: Array2<f32>, class1: Array2<f32>, bounds: &[f64]) -> WeakDataset {
        let signals = WeakSignals::from_class1_probabilities(class1).unwrap();
        let bounds = Bounds::per_signal(bounds, 2).unwrap();
        WeakDataset::new(Features::new(features).unwrap(), signals, bounds).unwrap()
    }

    /// Ten rows, two features, three labelers that are held to their bounds.
    fn problem(bound: f64) -> WeakDataset {
        let x = Array2::from_shape_fn((10, 2), |(i, j)| ((i * 5 + j * 3) % 7) as f32 / 3.0 - 1.0);
        let q = Array2::from_shape_fn((10, 3), |(i, j)| 0.1 + ((i * 3 + j * 7) % 9) as f32 / 10.0);
        dataset(x, q, &[bound; 3])
    }

    fn game<'a>(settings: &'a LinearAdversary, dataset: &WeakDataset) -> Game<'a> {
        Game::new(settings, dataset.features().rounded(), dataset)
    }

    #[test]
    fn the_first_step_on_one_row_is_the_one_computed_by_hand() {
        let data = dataset(array![[3.0, -2.0]], array![[1.0]], &[0.0]);
        let settings = LinearAdversary::default();
        let game = game(&settings, &data);
        let mut state = game.start();
        assert_eq!(state.violations, [0.5]);
        game.step(&mut state);
        assert_eq!(state.labels, [1.0]);
        assert_eq!(state.multipliers, [-1.25]);
        assert_eq!(state.weights, [0.0, 0.0]);
    }

    /// L of the module's documentation, and the classifier's part of it.
    fn lagrangian(game: &Game<'_>, state: &State) -> [f64; 2] {
        let rows = game.features.chunks_exact(game.d_features).zip(&state.labels);
        let error: f64 = rows
            .map(|(x, y)| {
                let score: f64 = x.iter().zip(&state.weights).map(|(&x, w)| f64::from(x) * w).sum();
                let p = 1.0 / (1.0 + (-score).exp());
                p * (1.0 - y) + (1.0 - p) * y
            })
            .sum::<f64>()
            / game.n_rows as f64;
        let constraints = game.violations(&state.labels).into_iter().zip(&state.multipliers);
        let penalty =
            constraints.map(|(c, gamma)| gamma * c - 0.5 * game.settings.penalty * c.max(0.0).powi(2)).sum::<f64>();
        [error + penalty, error]
    }

    #[test]
    fn exact_steps_follow_central_differences() {
        let settings = LinearAdversary {
            learning_rate: 0.5,
            penalty_gradient: PenaltyGradient::Exact,
            ..LinearAdversary::default()
        };
        let data = problem(0.3);
        let game = game(&settings, &data);
        let mut state = game.start();
        for _ in 0..3 {
            game.step(&mut state);
        }
        assert!(state.multipliers.iter().any(|&gamma| gamma < 0.0));
        assert!(state.violations.iter().any(|&c| c > 0.0));
        assert!(state.weights.iter().all(|&w| w != 0.0));
        // In the middle, where nothing is clipped, with a whole step.
        state.labels.iter_mut().enumerate().for_each(|(i, y)| *y = 0.4 + 0.02 * i as f64);
        state.violations = game.violations(&state.labels);
        state.n_iterations = 0;
        let mut next = state.clone();
        game.step(&mut next);
        for row in 0..10 {
            let at = |step: f64| {
                let mut moved = state.clone();
                moved.labels[row] += step;
                lagrangian(&game, &moved)[0]
            };
            let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
            let found = next.labels[row] - state.labels[row];
            assert!((found - expected).abs() < 1e-7, "row {row}: {found} and {expected}");
        }
        for column in 0..2 {
            let at = |step: f64| {
                let mut moved = state.clone();
                moved.weights[column] += step;
                lagrangian(&game, &moved)[1]
            };
            let expected = -settings.learning_rate * (at(1e-5) - at(-1e-5)) / 2e-5;
            let found = next.weights[column] - state.weights[column];
            assert!((found - expected).abs() < 1e-7, "column {column}: {found} and {expected}");
        }
    }

    #[test]
    fn the_published_code_pushes_n_times_harder() {
        let data = problem(0.3);
        let push = |penalty_gradient| {
            let settings = LinearAdversary { penalty_gradient, ..LinearAdversary::default() };
            let game = game(&settings, &data);
            game.pushes(&game.start())
        };
        let (code, exact) = (push(PenaltyGradient::Code), push(PenaltyGradient::Exact));
        assert!(code.iter().any(|&push| push != 0.0));
        for (code, exact) in code.iter().zip(exact) {
            assert!((code - 10.0 * exact).abs() < 1e-12);
        }
    }

    #[test]
    fn bounds_that_hold_anyway_leave_labels_to_the_classifier() {
        let settings = LinearAdversary::default();
        let data = problem(1.0);
        let game = game(&settings, &data);
        let mut state = game.start();
        state.weights = vec![1.0, -0.5];
        for _ in 0..50 {
            let before = state.clone();
            game.step(&mut state);
            assert_eq!(state.multipliers, [0.0; 3]);
            for (row, x) in data.features().values().rows().into_iter().enumerate() {
                let score = x[0] * before.weights[0] + x[1] * before.weights[1];
                // Where the classifier says class 0, the adversary moves towards class 1.
                let change = state.labels[row] - before.labels[row];
                assert!(change * -score >= 0.0, "row {row}: {change} at {score}");
                assert!(change != 0.0 || score == 0.0);
            }
        }
    }

    #[test]
    fn violations_vanish_where_labels_can_be_found() {
        // Two labelers that agree, and half of their error allowed: labels exist.
        let q = Array2::from_shape_fn((40, 2), |(i, _)| if i % 2 == 0 { 0.9 } else { 0.2 });
        let x = Array2::from_shape_fn((40, 1), |(i, _)| if i % 2 == 0 { 1.0 } else { -1.0 });
        let data = dataset(x, q, &[0.3, 0.3]);
        let settings = LinearAdversary { max_iterations: 3000, ..LinearAdversary::default() };
        let game = game(&settings, &data);
        let mut state = game.start();
        game.play(&mut state);
        assert!(state.violations.iter().all(|&c| c < 1e-3), "{:?}", state.violations);
        assert!(state.weights[0] > 0.0);
    }
}
