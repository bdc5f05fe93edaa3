//! Planted problems, whose best possible answer is known.
//!
//! Labelers are independent given the true class. Labeler j speaks on a row with probability coverage_j and is then
//! right with probability accuracy_j; when wrong, it picks any other class alike. So the posterior is
//!
//! ```text
//! p(y = c | votes) ∝ balance_c · Π_j  accuracy_j if vote_j = c, (1 − accuracy_j) / (n_classes − 1) otherwise
//! ```

use labelflow_weak::numerics::stream;
use labelflow_weak::rows::{Features, SoftLabels, Truth};
use labelflow_weak::settings::{check_at_least_one, check_cells, check_not_negative};
use labelflow_weak::votes::{ABSTAIN, Votes, WeakSignals};
use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::{Error, Result, ensure};

/// What the votes are drawn for.
const VOTES: &str = "planted votes";

/// A problem of votes alone.
///
/// ```
/// use labelflow_data::synthetic::PlantedVotes;
///
/// let planted = PlantedVotes { n_rows: 2000, ..PlantedVotes::default() }.generate()?;
/// let best = planted.truth.accuracy(&planted.posterior.argmax());
/// assert!(best > 0.8);
/// # Ok::<(), labelflow_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PlantedVotes {
    /// Number of rows. Default: 1000.
    pub n_rows: usize,
    /// Number of labelers. Default: 10.
    pub n_signals: usize,
    /// Number of classes. Default: 2.
    pub n_classes: usize,
    /// Lowest and highest probability that a labeler speaks. Default: 0.3 to 0.7.
    pub coverage: (f64, f64),
    /// Lowest and highest probability that a vote is right. Default: 0.6 to 0.9.
    pub accuracy: (f64, f64),
    /// Probability of each class; empty for equal ones. Default: empty.
    pub balance: Vec<f64>,
    /// The seed. Default: 0.
    pub seed: u64,
}

impl Default for PlantedVotes {
    fn default() -> Self {
        Self {
            n_rows: 1000,
            n_signals: 10,
            n_classes: 2,
            coverage: (0.3, 0.7),
            accuracy: (0.6, 0.9),
            balance: Vec::new(),
            seed: 0,
        }
    }
}

/// Votes whose making is known.
#[derive(Debug, Clone)]
pub struct PlantedVotesProblem {
    /// The votes.
    pub signals: WeakSignals,
    /// The true classes.
    pub truth: Truth,
    /// The posterior given the votes: no label model can do better on average.
    pub posterior: SoftLabels,
    /// The probability that each labeler's vote is right.
    pub accuracies: Vec<f64>,
    /// The probability that each labeler speaks.
    pub coverages: Vec<f64>,
}

impl PlantedVotes {
    /// Draws the problem.
    pub fn generate(&self) -> Result<PlantedVotesProblem> {
        check_at_least_one(&[("n_rows", self.n_rows)])?;
        check_cells("n_signals", self.n_signals, 1)?;
        check_cells("n_rows", self.n_rows, self.n_signals + self.n_classes)?;
        let balance = self.checked_balance()?;
        let mut rng = stream(self.seed, "planted classes");
        let labels = (0..self.n_rows).map(|_| draw_class(&balance, &mut rng)).collect();
        let truth = Truth::new(labels, self.n_classes)?;
        let labelers = Labelers::draw(self.n_signals, self.accuracy, self.coverage, self.seed)?;
        let signals = labelers.vote(&truth, &mut stream(self.seed, VOTES))?;
        let posterior = labelers.posterior(&signals, &balance);
        Ok(PlantedVotesProblem {
            signals,
            truth,
            posterior,
            accuracies: labelers.accuracies,
            coverages: labelers.coverages,
        })
    }

    pub(crate) fn checked_balance(&self) -> Result<Vec<f64>> {
        check_classes(self.n_classes)?;
        if self.balance.is_empty() {
            return Ok(vec![1.0 / self.n_classes as f64; self.n_classes]);
        }
        let sum: f64 = self.balance.iter().sum();
        let is_good =
            self.balance.len() == self.n_classes && self.balance.iter().all(|&p| p >= 0.0) && (sum - 1.0).abs() < 1e-6;
        let expected = || format!("{} probabilities that sum to 1", self.n_classes);
        ensure(is_good, || Error::config("balance", expected(), format!("{:?}", self.balance)))?;
        Ok(self.balance.clone())
    }
}

/// Puts planted votes on rows whose classes are known, such as those of [`embedded::digits`](crate::catalog::embedded::digits).
///
/// `accuracy` and `coverage` are the lowest and highest of a labeler, as in [`PlantedVotes`].
pub fn planted_votes_for(
    truth: &Truth,
    n_signals: usize,
    accuracy: (f64, f64),
    coverage: (f64, f64),
    seed: u64,
) -> Result<WeakSignals> {
    Labelers::draw(n_signals, accuracy, coverage, seed)?.vote(truth, &mut stream(seed, VOTES))
}

/// A problem with features: spherical Gaussian classes, equally likely and equally far apart, with planted votes.
///
/// The features hold more than the votes, so a model that looks at them can beat every label model, up to
/// [`PlantedGaussianProblem::best_accuracy`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlantedGaussian {
    /// Number of rows. Default: 1000.
    pub n_rows: usize,
    /// Number of columns, at least as many as classes. Default: 10.
    pub d_features: usize,
    /// Number of classes. Default: 2.
    pub n_classes: usize,
    /// Distance between the means of any two classes, in standard deviations. Default: 3.
    pub distance: f64,
    /// Number of labelers. Default: 5.
    pub n_signals: usize,
    /// Lowest and highest probability that a labeler speaks. Default: 0.3 to 0.7.
    pub coverage: (f64, f64),
    /// Lowest and highest probability that a vote is right. Default: 0.6 to 0.8.
    pub accuracy: (f64, f64),
    /// The seed. Default: 0.
    pub seed: u64,
}

impl Default for PlantedGaussian {
    fn default() -> Self {
        Self {
            n_rows: 1000,
            d_features: 10,
            n_classes: 2,
            distance: 3.0,
            n_signals: 5,
            coverage: (0.3, 0.7),
            accuracy: (0.6, 0.8),
            seed: 0,
        }
    }
}

/// Features and votes whose making is known.
#[derive(Debug, Clone)]
pub struct PlantedGaussianProblem {
    /// The input table.
    pub features: Features,
    /// The votes.
    pub signals: WeakSignals,
    /// The true classes.
    pub truth: Truth,
    /// The posterior given the features alone.
    pub posterior: SoftLabels,
    /// The accuracy that the best classifier on the features reaches on average.
    pub best_accuracy: f64,
}

impl PlantedGaussian {
    /// Draws the problem.
    pub fn generate(&self) -> Result<PlantedGaussianProblem> {
        self.check()?;
        check_cells("n_rows", self.n_rows, self.n_columns())?;
        let mut rng = stream(self.seed, "planted features");
        let means = self.draw_means(&mut rng);
        let (truth, values) = self.draw_rows(self.n_rows, &means, &mut rng)?;
        // The classes have unit variance, and the squared lengths of their means cancel.
        let posterior = softmax(values.dot(&means.t()));
        let labelers = Labelers::draw(self.n_signals, self.accuracy, self.coverage, self.seed)?;
        Ok(PlantedGaussianProblem {
            features: Features::new(values.mapv(|value| value as f32))?,
            signals: labelers.vote(&truth, &mut stream(self.seed, VOTES))?,
            truth,
            posterior,
            best_accuracy: simplex_accuracy(self.n_classes, self.distance),
        })
    }

    /// What is drawn for each row.
    pub(crate) fn n_columns(&self) -> usize {
        self.d_features + self.n_signals + self.n_classes
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_at_least_one(&[("n_rows", self.n_rows)])?;
        check_classes(self.n_classes)?;
        check_cells("d_features", self.d_features, self.n_classes)?;
        check_cells("n_signals", self.n_signals, 1)?;
        let expected = || format!("at least {}, one per class", self.n_classes);
        ensure(self.d_features >= self.n_classes, || Error::config("d_features", expected(), self.d_features))?;
        Ok(check_not_negative(&[("distance", self.distance)])?)
    }

    /// Classes of rows and their features, `[n_rows, d_features]`.
    pub(crate) fn draw_rows(
        &self,
        n_rows: usize,
        means: &Array2<f64>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(Truth, Array2<f64>)> {
        let labels = (0..n_rows).map(|_| rng.random_range(0..self.n_classes)).collect::<Vec<_>>();
        let mut values = standard_normal((n_rows, self.d_features), rng);
        for (mut row, &label) in values.axis_iter_mut(Axis(0)).zip(&labels) {
            row += &means.row(label);
        }
        Ok((Truth::new(labels, self.n_classes)?, values))
    }

    /// Orthogonal means of equal length, in random directions, `[n_classes, d_features]`.
    pub(crate) fn draw_means(&self, rng: &mut ChaCha8Rng) -> Array2<f64> {
        let mut means = standard_normal((self.n_classes, self.d_features), rng);
        for class in 0..self.n_classes {
            for earlier in 0..class {
                let other = means.row(earlier).to_owned();
                let overlap = means.row(class).dot(&other);
                means.row_mut(class).scaled_add(-overlap, &other);
            }
            let length = means.row(class).dot(&means.row(class)).sqrt();
            means.row_mut(class).mapv_inplace(|value| value / length);
        }
        means * (self.distance / 2f64.sqrt())
    }
}

/// What is known of planted labelers.
pub(crate) struct Labelers {
    accuracies: Vec<f64>,
    coverages: Vec<f64>,
}

impl Labelers {
    pub(crate) fn draw(n_signals: usize, accuracy: (f64, f64), coverage: (f64, f64), seed: u64) -> Result<Self> {
        check_at_least_one(&[("n_signals", n_signals)])?;
        check_cells("n_signals", n_signals, 1)?;
        check_range("accuracy", accuracy)?;
        check_range("coverage", coverage)?;
        let mut rng = stream(seed, "planted labelers");
        let mut draw =
            |(low, high): (f64, f64)| (0..n_signals).map(|_| low + (high - low) * rng.random::<f64>()).collect();
        Ok(Self { accuracies: draw(accuracy), coverages: draw(coverage) })
    }

    pub(crate) fn vote(&self, truth: &Truth, rng: &mut ChaCha8Rng) -> Result<WeakSignals> {
        let n_classes = truth.n_classes();
        let shape = (truth.n_rows(), self.accuracies.len());
        let votes = Array2::from_shape_fn(shape, |(row, signal)| {
            if !rng.random_bool(self.coverages[signal]) {
                return ABSTAIN;
            }
            let class = truth.labels()[row];
            if rng.random_bool(self.accuracies[signal]) || n_classes < 2 {
                return class as u8;
            }
            ((class + rng.random_range(1..n_classes)) % n_classes) as u8
        });
        Ok(WeakSignals::from_votes(Votes::from_bytes(votes, n_classes)?)?)
    }

    fn posterior(&self, signals: &WeakSignals, balance: &[f64]) -> SoftLabels {
        let n_classes = balance.len();
        let mut log_p = Array2::zeros((signals.n_rows(), n_classes));
        for (row, mut log_p) in log_p.axis_iter_mut(Axis(0)).enumerate() {
            for (class, log_p) in log_p.iter_mut().enumerate() {
                *log_p = balance[class].ln();
                for (signal, accuracy) in self.accuracies.iter().enumerate() {
                    *log_p += match signals.vote(row, signal) {
                        None => 0.0,
                        Some(vote) if vote == class => accuracy.ln(),
                        Some(_) => ((1.0 - accuracy) / (n_classes - 1) as f64).ln(),
                    };
                }
            }
        }
        softmax(log_p)
    }
}

fn check_classes(n_classes: usize) -> Result<()> {
    let refuse = || Error::config("n_classes", format!("2 to {ABSTAIN}"), n_classes);
    ensure((2..=usize::from(ABSTAIN)).contains(&n_classes), refuse)
}

fn check_range(setting: &str, (low, high): (f64, f64)) -> Result<()> {
    let expected = "a lowest and a highest probability from 0 to 1";
    let is_range = 0.0 <= low && low <= high && high <= 1.0;
    ensure(is_range, || Error::config(setting, expected, format!("{low} to {high}")))
}

pub(crate) fn draw_class(balance: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut left = rng.random::<f64>();
    for (class, p) in balance.iter().enumerate() {
        left -= p;
        if left < 0.0 {
            return class;
        }
    }
    // Rounding can leave a little over; it belongs to the last class that occurs at all.
    balance.iter().rposition(|&p| p > 0.0).unwrap_or(0)
}

fn standard_normal(shape: (usize, usize), rng: &mut ChaCha8Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn(shape, || StandardNormal.sample(rng))
}

/// Rows of logarithms, up to a constant, as probabilities. A row in which nothing is possible becomes uniform.
fn softmax(mut logs: Array2<f64>) -> SoftLabels {
    for mut row in logs.axis_iter_mut(Axis(0)) {
        let largest = row.fold(f64::NEG_INFINITY, |largest, &log| largest.max(log));
        let largest = if largest.is_finite() { largest } else { 0.0 };
        row.mapv_inplace(|log| (log - largest).exp());
    }
    SoftLabels::normalized(logs)
}

/// How often the nearest of `n_classes` means, each `distance` from the others, is the right one.
///
/// ```text
/// accuracy = ∫ φ(t) Φ(t + distance / √2)^(n_classes − 1) dt
/// ```
fn simplex_accuracy(n_classes: usize, distance: f64) -> f64 {
    const STEP: f64 = 1e-3;
    const REACH: f64 = 9.0;
    let shift = distance / 2f64.sqrt();
    let density = |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let grid = Array1::range(-REACH, REACH + shift, STEP);
    // The cumulative distribution on the same grid, by the trapezoid rule.
    let mut sum = 0.0;
    let cumulative = grid.mapv(|t| {
        sum += STEP * (density(t - STEP) + density(t)) / 2.0;
        sum.min(1.0)
    });
    let others = (n_classes - 1) as f64;
    grid.iter().zip(&cumulative).map(|(u, p)| STEP * density(u - shift) * p.powf(others)).sum()
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;
    use crate::catalog::embedded;

    #[test]
    fn gaussian_accuracy_is_the_textbook_one() {
        // Φ(distance / 2), from tables of the normal distribution.
        assert_abs_diff_eq!(simplex_accuracy(2, 0.0), 0.5, epsilon = 1e-6);
        assert_abs_diff_eq!(simplex_accuracy(2, 2.0), 0.841_344_7, epsilon = 1e-6);
        assert_abs_diff_eq!(simplex_accuracy(2, 3.0), 0.933_192_8, epsilon = 1e-6);
        assert_abs_diff_eq!(simplex_accuracy(5, 0.0), 0.2, epsilon = 1e-6);
    }

    #[test]
    fn the_best_classifier_reaches_the_stated_accuracy() {
        for n_classes in [2, 4] {
            let planted = PlantedGaussian { n_rows: 40_000, n_classes, ..Default::default() };
            let problem = planted.generate().unwrap();
            let reached = problem.truth.accuracy(&problem.posterior.argmax());
            assert_abs_diff_eq!(reached, problem.best_accuracy, epsilon = 0.005);
        }
    }

    #[test]
    fn planted_rates_are_observed_and_the_posterior_is_calibrated() {
        let planted =
            PlantedVotes { n_rows: 40_000, n_classes: 3, balance: vec![0.2, 0.3, 0.5], ..PlantedVotes::default() };
        let problem = planted.generate().unwrap();
        let labels = problem.truth.labels();
        for signal in 0..planted.n_signals {
            let votes = (0..planted.n_rows)
                .filter_map(|row| Some((problem.signals.vote(row, signal)?, labels[row])))
                .collect::<Vec<_>>();
            let coverage = votes.len() as f64 / planted.n_rows as f64;
            assert_abs_diff_eq!(coverage, problem.coverages[signal], epsilon = 0.015);
            let hits = votes.iter().filter(|(vote, label)| vote == label).count();
            let accuracy = hits as f64 / votes.len() as f64;
            assert_abs_diff_eq!(accuracy, problem.accuracies[signal], epsilon = 0.02);
        }
        for (class, balance) in planted.balance.iter().enumerate() {
            let share = labels.iter().filter(|&&label| label == class).count() as f64 / 40_000.0;
            assert_abs_diff_eq!(share, *balance, epsilon = 0.01);
        }
        let best = problem.posterior.argmax();
        let confidence = problem.posterior.values().map_axis(Axis(1), |p| p.iter().copied().fold(0.0, f64::max));
        let expected = confidence.mean().unwrap();
        assert_abs_diff_eq!(problem.truth.accuracy(&best), expected, epsilon = 0.01);
    }

    #[test]
    fn one_seed_one_problem() {
        let votes = |seed| PlantedVotes { seed, ..Default::default() }.generate().unwrap().signals;
        assert_eq!(votes(1), votes(1));
        assert_ne!(votes(1), votes(2));
        let features = |seed| PlantedGaussian { seed, ..Default::default() }.generate().unwrap().features;
        assert_eq!(features(1), features(1));
        assert_ne!(features(1), features(2));
        let truth = embedded::digits().truth;
        let digits = |seed| planted_votes_for(&truth, 4, (0.6, 0.8), (0.5, 0.9), seed).unwrap();
        assert_eq!((digits(1).n_rows(), digits(1).n_classes()), (1797, 10));
        assert_eq!(digits(1), digits(1));
    }

    #[test]
    fn impossible_settings_are_errors() {
        let default = PlantedVotes::default;
        for planted in [
            PlantedVotes { n_rows: 0, ..default() },
            PlantedVotes { n_signals: 0, ..default() },
            PlantedVotes { n_classes: 1, ..default() },
            PlantedVotes { accuracy: (0.9, 0.6), ..default() },
            PlantedVotes { coverage: (0.5, f64::NAN), ..default() },
            PlantedVotes { balance: vec![0.5, 0.6], ..default() },
        ] {
            assert!(planted.generate().is_err(), "{planted:?}");
        }
        let default = PlantedGaussian::default;
        for planted in
            [PlantedGaussian { d_features: 1, ..default() }, PlantedGaussian { distance: f64::NAN, ..default() }]
        {
            assert!(planted.generate().is_err(), "{planted:?}");
        }
    }

    #[test]
    fn certain_labelers_give_certain_posteriors() {
        let planted = PlantedVotes { accuracy: (1.0, 1.0), ..PlantedVotes::default() };
        let problem = planted.generate().unwrap();
        for (row, p) in problem.posterior.values().axis_iter(Axis(0)).enumerate() {
            if problem.signals.is_covered(row) {
                assert_eq!(p[problem.truth.labels()[row]], 1.0);
            }
        }
    }
}
