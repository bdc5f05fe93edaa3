//! Labels under which every labeler errs as often as its bound says.
//!
//! Let N[j][c] be the number of rows on which labeler j speaks of class c. For every labeler and class the mean
//! disagreement with the labels y, over those rows, should *equal* the bound b:
//!
//! ```text
//! r[j][c] = Σ_i (1 − 2 q[j][i][c]) y[i][c] / N[j][c] − (b[j][c] − Σ_i q[j][i][c] / N[j][c]) = 0
//! ```
//!
//! From random labels in [0, 1], a fixed number of Adagrad steps reduces Σ r²:
//!
//! ```text
//! g[i][c] = 2 Σ_j (1 − 2 q[j][i][c]) r[j][c] / N[j][c]
//! G[i][c] += g[i][c]²,   y[i][c] = clip(y[i][c] − g[i][c] / √(G[i][c] + 1e-8), 0, 1)
//! ```
//!
//! Sums run over the signals that are given. Labels of several starts are averaged, then each row is scaled to sum to
//! one.
//!
//! Classes never meet before that scaling. With two classes, the method's one-column form takes y₁ for the label and
//! 1 − y₁ for class 0. Here both columns are solved: y₀ meets for 1 − q and the same bounds what y₁ meets for q, so
//! that 1 − y₁ is a solution for it, but it comes from starts of its own. Then p(1) = y₁ / (y₀ + y₁), which is y₁ where
//! the columns agree.
//!
//! C. Arachie and B. Huang, *Constrained labeling for weakly supervised learning*, 2021.

use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::average_signals::share_what_is_left;
use crate::Result;
use crate::label_models::{FittedLabelModel, LabelModel, SignalShape};
use crate::labelers::Bounds;
use crate::numerics::{RowChunks, fill_rows, scramble};
use crate::rows::SoftLabels;
use crate::settings::check_at_least_one;
use crate::votes::{CountedVotes, SignalValues, SignalView, VotePatterns, WeakSignals};

/// Added to numbers that are divided by.
const TINY: f64 = 1e-8;
/// Fewer rows are not worth another thread.
const MIN_ROWS: usize = 256;

/// Labels from signals and bounds, without a model of the labelers.
///
/// ```
/// use labelflow_weak::label_models::{ConstrainedLabels, FittedLabelModel, LabelModel};
/// use labelflow_weak::labelers::Bounds;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// // Labelers 1 and 2 are together on all rows but one; labeler 0 may be wrong half of the time.
/// let votes = array![[0, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0], [1, -1, 0]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let bounds = Bounds::per_signal(&[0.6, 0.0, 0.0], 2)?;
/// let fitted = ConstrainedLabels::default().fit_with(&signals, &bounds)?;
/// assert_eq!(fitted.predict_proba(&signals)?.argmax(), [1, 0, 1, 0, 0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConstrainedLabels {
    /// Adagrad steps from each start. Default: 300.
    pub n_steps: usize,
    /// Random starts whose labels are averaged. Default: 3.
    pub n_trials: usize,
    /// Whether all trials begin with the same labels, as in the authors' code, where they therefore end with the same
    /// labels; only one is run. Default: false.
    pub single_start: bool,
    /// Where the random starts come from. Default: 0.
    pub seed: u64,
}

impl Default for ConstrainedLabels {
    fn default() -> Self {
        Self { n_steps: 300, n_trials: 3, single_start: false, seed: 0 }
    }
}

impl LabelModel for ConstrainedLabels {
    type Fitted = FittedConstrainedLabels;
    type Known = Bounds;

    /// Finds labels for the rows of `signals`, and keeps what is needed to find those of any other row. Probabilities
    /// are read as they are.
    fn fit_with(&self, signals: &WeakSignals, bounds: &Bounds) -> Result<Self::Fitted> {
        if let SignalValues::Votes(_) = signals.values() {
            return self.fit_counts_with(&CountedVotes::of(signals), bounds);
        }
        self.check()?;
        signals.check_any_vote()?;
        self.fit_rows(Rows::each_once(signals), SignalShape::of(signals), bounds)
    }

    fn fit_counts_with(&self, counted: &CountedVotes, bounds: &Bounds) -> Result<Self::Fitted> {
        self.check()?;
        counted.check_any_vote()?;
        self.fit_rows(Rows::of_patterns(&counted.patterns, counted.n_classes()), counted.shape(), bounds)
    }

    fn bytes_per_pattern(&self, _n_signals: usize, n_classes: usize) -> usize {
        // Labels, their squares and gradients.
        8 * 4 * n_classes
    }
}

impl ConstrainedLabels {
    fn check(&self) -> Result<()> {
        check_at_least_one(&[("n_steps", self.n_steps), ("n_trials", self.n_trials)])
    }

    fn fit_rows(&self, rows: Rows<'_>, shape: SignalShape, bounds: &Bounds) -> Result<FittedConstrainedLabels> {
        bounds.check_shape(shape.n_signals, shape.n_classes)?;
        let system = System::new(rows, shape, bounds);
        let n_trials = if self.single_start { 1 } else { self.n_trials };
        let residuals =
            (0..n_trials).flat_map(|trial| system.descend(system.starts(self.seed, trial), self.n_steps)).collect();
        Ok(FittedConstrainedLabels {
            shape,
            seed: self.seed,
            n_trials,
            n_steps: self.n_steps,
            n_given: system.n_given,
            residuals,
        })
    }
}

// Deviation: the authors draw the labels of all training rows at random and return these very labels. Here a row's
// start is a hash of the seed, the trial and what the row's labelers say, and the residuals of every step are kept. A
// step of a row's labels needs only its signals and the residuals, so the labels of any row, seen or not, follow from
// its own signals: rows with the same signals get the same labels, in any file and order. Training rows get exactly
// the labels of the fit.
/// What it takes to label a row: the residuals at every step of the fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedConstrainedLabels {
    shape: SignalShape,
    seed: u64,
    n_trials: usize,
    n_steps: usize,
    /// N, `[n_signals, n_classes]`.
    n_given: Vec<f64>,
    /// r before each step and after the last, `[n_trials, n_steps + 1, n_signals, n_classes]`.
    residuals: Vec<f64>,
}

impl FittedConstrainedLabels {
    /// How far the labels of each trial are from meeting the bounds, √(Σ r²), before each step and after the last:
    /// `[n_trials, n_steps + 1]`.
    pub fn residual_norms(&self) -> Array2<f64> {
        let norms = self.residuals.chunks_exact(self.n_given.len());
        let norms = norms.map(|r| r.iter().map(|r| r * r).sum::<f64>().sqrt()).collect();
        Array2::from_shape_vec((self.n_trials, self.n_steps + 1), norms)
            .expect("there are residuals for each trial and step")
    }

    /// For each trial and step, the gradient of a label for a signal of slope one, `[n_trials][n_steps × n_cells]`.
    fn pulls(&self) -> Vec<Vec<f64>> {
        let n_cells = self.n_given.len();
        self.residuals
            .chunks_exact((self.n_steps + 1) * n_cells)
            .map(|residuals| {
                let steps = residuals[..self.n_steps * n_cells].chunks_exact(n_cells);
                steps.flat_map(|residuals| pulls(residuals, &self.n_given)).collect()
            })
            .collect()
    }

    /// The labels of one row, repeating the steps of the fit.
    fn replay(&self, pulls: &[Vec<f64>], rows: Rows<'_>, row: usize, labels: &mut [f64]) {
        let n_classes = self.shape.n_classes;
        let mut signals = Vec::new();
        rows.for_each_given(row, |cell, class, slope| signals.push((cell, class, slope)));
        labels.fill(f64::NAN);
        signals.iter().for_each(|&(_, class, _)| labels[class] = 0.0);
        let (mut trial_labels, mut gradient) = (vec![0.0; n_classes], vec![0.0; n_classes]);
        for (trial, pulls) in pulls.iter().enumerate() {
            start_labels(rows, row, self.seed, trial, &mut trial_labels);
            let mut squares = vec![0.0; n_classes];
            for pulls in pulls.chunks_exact(self.n_given.len()) {
                gradient.fill(0.0);
                for &(cell, class, slope) in &signals {
                    gradient[class] += slope * pulls[cell];
                }
                step(&mut trial_labels, &mut squares, &gradient);
            }
            let n_trials = self.n_trials as f64;
            labels.iter_mut().zip(&trial_labels).for_each(|(mean, y)| *mean += y / n_trials);
        }
        // Of a class that no labeler speaks of, the start is all that there is.
        share_what_is_left(labels);
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let (n_trials, n_steps) = (self.n_trials, self.n_steps);
        ConstrainedLabels { n_trials, n_steps, ..ConstrainedLabels::default() }.check()?;
        self.shape.check_list("n_given", self.n_given.len(), &[n_signals, n_classes])?;
        // More steps than can be counted are more than any list has.
        let dimensions = [n_trials, n_steps.saturating_add(1), n_signals, n_classes];
        self.shape.check_list("residuals", self.residuals.len(), &dimensions)
    }
}

impl FittedLabelModel for FittedConstrainedLabels {
    /// Classes that no labeler speaks of share what the others leave of the whole; a row without signals is uniform.
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        self.shape.check(signals)?;
        let (n_classes, pulls) = (signals.n_classes(), self.pulls());
        let replay_all =
            |rows: Rows<'_>| fill_rows(rows.len(), n_classes, |row, labels| self.replay(&pulls, rows, row, labels));
        let labels = match signals.values() {
            SignalValues::Probabilities(_) => replay_all(Rows::each_once(signals)),
            SignalValues::Votes(votes) => {
                // Hundreds of steps per row are worth finding out which rows are the same.
                let patterns = VotePatterns::of(votes);
                let of_patterns = replay_all(Rows::of_patterns(&patterns, n_classes));
                patterns.spread(votes, of_patterns.view())
            }
        };
        SoftLabels::try_normalized(labels)
    }
}

/// Rows of signals: distinct rows of votes with counts, or rows that count once each.
#[derive(Clone, Copy)]
struct Rows<'a> {
    signals: SignalView<'a>,
    counts: Option<&'a [f64]>,
}

impl<'a> Rows<'a> {
    fn of_patterns(patterns: &'a VotePatterns, n_classes: usize) -> Self {
        Self { signals: patterns.view(n_classes), counts: Some(&patterns.counts) }
    }

    fn each_once(signals: &'a WeakSignals) -> Self {
        Self { signals: signals.view(), counts: None }
    }

    fn len(&self) -> usize {
        self.signals.n_rows()
    }

    /// For how many rows a row stands.
    fn count(&self, row: usize) -> f64 {
        self.counts.map_or(1.0, |counts| counts[row])
    }

    /// Visits the given signals of a row: the cell of the labeler and the class, the class, and the slope 1 − 2q of its error.
    fn for_each_given(&self, row: usize, mut visit: impl FnMut(usize, usize, f64)) {
        let slope = |q: f32| 1.0 - 2.0 * f64::from(q);
        self.signals.for_each_given(row, |cell, class, q| visit(cell, class, slope(q)));
    }
}

/// The equations r = 0.
struct System<'a> {
    rows: Rows<'a>,
    shape: SignalShape,
    /// N, `[n_signals, n_classes]`.
    n_given: Vec<f64>,
    /// What the mean of slope times label should be, `[n_signals, n_classes]`.
    targets: Vec<f64>,
}

impl<'a> System<'a> {
    fn new(rows: Rows<'a>, shape: SignalShape, bounds: &Bounds) -> Self {
        let n_cells = shape.n_signals * shape.n_classes;
        // N, then Σ q, both [n_signals, n_classes].
        let mut sums = sum_over_rows(rows, shape, 2 * n_cells, |row, count, sums| {
            rows.for_each_given(row, |cell, _, slope| {
                sums[cell] += count;
                sums[n_cells + cell] += count * (1.0 - slope) / 2.0;
            });
        });
        let said = sums.split_off(n_cells);
        let n_given = sums;
        let targets = bounds
            .values()
            .iter()
            .zip(said.iter().zip(&n_given))
            // What nobody speaks of is no equation.
            .map(|(bound, (said, &n))| if n > 0.0 { bound - said / (n + TINY) } else { 0.0 })
            .collect();
        Self { rows, shape, n_given, targets }
    }

    /// Random labels, `[n_rows, n_classes]`.
    fn starts(&self, seed: u64, trial: usize) -> Vec<f64> {
        let starts = fill_rows(self.rows.len(), self.shape.n_classes, |row, labels| {
            start_labels(self.rows, row, seed, trial, labels);
        });
        starts.into_raw_vec_and_offset().0
    }

    /// The residuals before each step from `labels` and after the last, `[n_steps + 1, n_signals, n_classes]`.
    fn descend(&self, mut labels: Vec<f64>, n_steps: usize) -> Vec<f64> {
        let mut squares = vec![0.0; labels.len()];
        let mut all = Vec::with_capacity((n_steps + 1) * self.n_given.len());
        for _ in 0..n_steps {
            let residuals = self.residuals(&labels);
            self.step_all(&mut labels, &mut squares, &pulls(&residuals, &self.n_given));
            all.extend(residuals);
        }
        all.extend(self.residuals(&labels));
        all
    }

    fn residuals(&self, labels: &[f64]) -> Vec<f64> {
        let n_classes = self.shape.n_classes;
        let mut sums = sum_over_rows(self.rows, self.shape, self.n_given.len(), |row, count, sums| {
            let labels = &labels[row * n_classes..][..n_classes];
            self.rows.for_each_given(row, |cell, class, slope| {
                sums[cell] += count * slope * labels[class];
            });
        });
        for (cell, sum) in sums.iter_mut().enumerate() {
            *sum = *sum / (self.n_given[cell] + TINY) - self.targets[cell];
        }
        sums
    }

    fn step_all(&self, labels: &mut [f64], squares: &mut [f64], pulls: &[f64]) {
        let n_classes = self.shape.n_classes;
        let rows = labels.par_chunks_mut(n_classes).zip(squares.par_chunks_mut(n_classes));
        rows.enumerate().with_min_len(MIN_ROWS).for_each_init(
            || vec![0.0; n_classes],
            |gradient, (row, (labels, squares))| {
                gradient.fill(0.0);
                self.rows.for_each_given(row, |cell, class, slope| {
                    gradient[class] += slope * pulls[cell];
                });
                step(labels, squares, gradient);
            },
        );
    }
}

/// The sum over all rows of what `add_row(row, count, sums)` adds, in an order that only the data decide.
fn sum_over_rows(
    rows: Rows<'_>,
    shape: SignalShape,
    length: usize,
    add_row: impl Fn(usize, f64, &mut [f64]) + Sync,
) -> Vec<f64> {
    RowChunks::new(rows.len(), shape.n_signals, length).sum(|range, sums| {
        range.for_each(|row| add_row(row, rows.count(row), sums));
    })
}

/// 2 r / N.
fn pulls(residuals: &[f64], n_given: &[f64]) -> Vec<f64> {
    residuals.iter().zip(n_given).map(|(r, n_given)| 2.0 * r / (n_given + TINY)).collect()
}

/// One Adagrad step of a row's labels.
fn step(labels: &mut [f64], squares: &mut [f64], gradient: &[f64]) {
    for ((label, squares), g) in labels.iter_mut().zip(squares).zip(gradient) {
        *squares += g * g;
        *label = (*label - g / (*squares + TINY).sqrt()).clamp(0.0, 1.0);
    }
}

/// Random labels of one row. Those of a class depend on what is said of that class, not on who says it nor on the
/// class's place, so that naming labelers and classes in another order changes nothing.
fn start_labels(rows: Rows<'_>, row: usize, seed: u64, trial: usize, labels: &mut [f64]) {
    let mut said = vec![0u64; labels.len()];
    rows.for_each_given(row, |_, class, slope| {
        said[class] = said[class].wrapping_add(scramble(slope.to_bits()));
    });
    let stream = scramble(scramble(seed).wrapping_add(trial as u64));
    for (label, said) in labels.iter_mut().zip(said) {
        // The upper 53 bits are a number below one that f64 holds exactly.
        *label = (scramble(stream ^ said) >> 11) as f64 / (1u64 << 53) as f64;
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array3, Axis, array};

    use super::*;
    use crate::label_models::planted::{Planted, assert_near};
    use crate::label_models::{LabelModel, MajorityVote};
    use crate::votes::Votes;

    fn signals(votes: Array2<i64>) -> WeakSignals {
        WeakSignals::from_votes(Votes::from_indices(votes.view(), None).unwrap()).unwrap()
    }

    fn system<'a>(patterns: &'a VotePatterns, signals: &WeakSignals, bounds: &Bounds) -> System<'a> {
        System::new(Rows::of_patterns(patterns, signals.n_classes()), SignalShape::of(signals), bounds)
    }

    #[test]
    fn one_step_from_one_half_follows_a_labeler_without_errors() {
        let signals = signals(array![[1], [0]]);
        let patterns = VotePatterns::of(&signals.votes());
        let system = system(&patterns, &signals, &Bounds::constant(0.0, &signals).unwrap());
        // Patterns are sorted: the vote for 0 comes first. Column 1 is the one-column form: A = (½, −½), B = −½.
        assert_abs_diff_eq!(system.targets[1], -0.5, epsilon = 1e-7);
        let mut labels = vec![0.5; 4];
        let residuals = system.residuals(&labels);
        assert_abs_diff_eq!(residuals[1], 0.5, epsilon = 1e-7);
        let pulls = pulls(&residuals, &system.n_given);
        assert_abs_diff_eq!(pulls[1], 0.5, epsilon = 1e-7);
        system.step_all(&mut labels, &mut [0.0; 4], &pulls);
        assert_abs_diff_eq!(&labels[..], &[1.0, 0.0, 0.0, 1.0][..], epsilon = 1e-7);
        let after = system.descend(vec![0.5; 4], 1);
        assert_abs_diff_eq!(&after[2..], &[0.0, 0.0][..], epsilon = 1e-7);
    }

    #[test]
    fn the_gradient_is_that_of_the_squared_residuals() {
        let problem = Planted::new(40, 3, &[0.8, 0.6], 0.3, 1);
        let patterns = VotePatterns::of(&problem.signals.votes());
        let bounds = Bounds::constant(0.2, &problem.signals).unwrap();
        let system = system(&patterns, &problem.signals, &bounds);
        let labels = system.starts(5, 0);
        let pulls = pulls(&system.residuals(&labels), &system.n_given);
        for (index, _) in labels.iter().enumerate() {
            let value = |shift: f64| {
                let mut labels = labels.clone();
                labels[index] += shift;
                system.residuals(&labels).iter().map(|r| r * r).sum::<f64>()
            };
            let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
            let (row, class) = (index / 3, index % 3);
            let mut gradient = 0.0;
            system.rows.for_each_given(row, |cell, of, slope| {
                gradient += if of == class { slope * pulls[cell] } else { 0.0 };
            });
            // A pattern stands for several rows, which all move.
            assert_abs_diff_eq!(gradient * patterns.counts[row], difference, epsilon = 1e-7);
        }
    }

    #[test]
    fn the_residual_ends_no_larger_than_it_began() {
        for (seed, n_classes, abstentions) in [(0, 2, 0.0), (1, 2, 0.6), (2, 4, 0.3)] {
            let problem = Planted::new(500, n_classes, &[0.9, 0.7, 0.6], abstentions, seed);
            for bounds in [
                Bounds::measured(&problem.signals, &problem.truth).unwrap(),
                Bounds::constant(0.01, &problem.signals).unwrap(),
            ] {
                let fitted = ConstrainedLabels::default().fit_with(&problem.signals, &bounds).unwrap();
                let norms = fitted.residual_norms();
                assert_eq!(norms.dim(), (3, 301));
                for norms in norms.rows() {
                    assert!(norms[300] <= norms[0], "{} {}", norms[0], norms[300]);
                }
            }
        }
    }

    #[test]
    fn a_duplicated_labeler_leaves_a_solution_a_solution() {
        let problem = Planted::new(300, 3, &[0.8, 0.6, 0.7], 0.2, 3);
        let bytes = problem.signals.votes().bytes().select(Axis(1), &[0, 1, 2, 1]);
        let doubled = WeakSignals::from_votes(Votes::from_bytes(bytes, 3).unwrap()).unwrap();
        let bounds = Bounds::measured(&doubled, &problem.truth).unwrap();
        let p = Array3::from_shape_fn((300, 4, 3), |(row, signal, class)| {
            doubled.probability(row, signal, class).unwrap_or(f32::NAN)
        });
        let shape = SignalShape::of(&doubled);
        let signals = SignalView::Probabilities(p.view());
        let system = System::new(Rows { signals, counts: None }, shape, &bounds);
        let mut truth = vec![0.0; 900];
        for (row, &label) in problem.truth.labels().iter().enumerate() {
            truth[row * 3 + label] = 1.0;
        }
        // With measured bounds the true labels are a solution.
        assert!(system.residuals(&truth).iter().all(|r| r.abs() < 1e-7));
        // Under any labels, the copy's residuals are those of the labeler.
        let residuals = system.residuals(&system.starts(0, 0));
        assert_eq!(residuals[3..6], residuals[9..12]);
    }

    #[test]
    fn rows_that_only_a_constant_labeler_covers_get_its_label() {
        let votes = Array2::from_shape_fn((60, 3), |(row, signal)| match signal {
            0 => {
                if row < 20 {
                    1
                } else {
                    -1
                }
            }
            _ => {
                if row < 20 {
                    -1
                } else {
                    ((row * signal) % 3 % 2) as i64
                }
            }
        });
        let signals = signals(votes);
        let bounds = Bounds::per_signal(&[0.0, 0.3, 0.4], 2).unwrap();
        let fitted = ConstrainedLabels::default().fit_with(&signals, &bounds).unwrap();
        let labels = fitted.predict_proba(&signals).unwrap();
        for row in 0..20 {
            assert_abs_diff_eq!(labels.values()[[row, 1]], 1.0, epsilon = 1e-6);
        }
    }

    #[test]
    fn replayed_labels_are_the_labels_of_the_fit() {
        let problem = Planted::new(400, 3, &[0.9, 0.7, 0.6], 0.3, 4);
        let bounds = Bounds::measured(&problem.signals, &problem.truth).unwrap();
        let model = ConstrainedLabels { n_trials: 1, ..Default::default() };
        let fitted = model.fit_with(&problem.signals, &bounds).unwrap();
        let patterns = VotePatterns::of(&problem.signals.votes());
        let system = system(&patterns, &problem.signals, &bounds);
        let mut labels = vec![0.0; patterns.len() * 3];
        let pulls = fitted.pulls();
        for (row, labels) in labels.chunks_exact_mut(3).enumerate() {
            fitted.replay(&pulls, system.rows, row, labels);
        }
        let last = &fitted.residuals[300 * 9..];
        assert_abs_diff_eq!(&system.residuals(&labels)[..], last, epsilon = 1e-12);
    }

    #[test]
    fn votes_and_the_same_votes_as_probabilities_have_the_same_labels() {
        let problem = Planted::new(300, 3, &[0.9, 0.7, 0.6], 0.3, 5);
        let p = Array3::from_shape_fn((300, 3, 3), |(row, signal, class)| {
            problem.signals.probability(row, signal, class).unwrap_or(f32::NAN)
        });
        let p = WeakSignals::from_probabilities(p).unwrap();
        let bounds = Bounds::measured(&problem.signals, &problem.truth).unwrap();
        let labels = |signals: &WeakSignals| {
            let fitted = ConstrainedLabels::default().fit_with(signals, &bounds).unwrap();
            fitted.predict_proba(signals).unwrap()
        };
        let expected = labels(&p).values().to_owned();
        assert_near(labels(&problem.signals).values(), &expected, 1e-9);
    }

    #[test]
    fn probabilities_are_labelled_row_by_row() {
        let class1 = array![[0.9, 0.8], [0.1, 0.3], [0.7, f32::NAN], [f32::NAN, f32::NAN]];
        let signals = WeakSignals::from_class1_probabilities(class1).unwrap();
        let bounds = Bounds::constant(0.25, &signals).unwrap();
        let fitted = ConstrainedLabels::default().fit_with(&signals, &bounds).unwrap();
        let all = fitted.predict_proba(&signals).unwrap();
        assert_eq!(all.values().row(3).to_vec(), [0.5, 0.5]);
        for row in 0..4 {
            let alone = fitted.predict_proba(&signals.select_rows(&[row])).unwrap();
            assert_eq!(alone.values().row(0), all.values().row(row));
        }
    }

    #[test]
    fn classes_nobody_speaks_of_share_what_is_left() {
        let nan = f32::NAN;
        let p = array![[[nan, 1.0, nan]], [[nan, 0.0, nan]]];
        let signals = WeakSignals::from_probabilities(p).unwrap();
        let bounds = Bounds::constant(0.0, &signals).unwrap();
        let fitted = ConstrainedLabels::default().fit_with(&signals, &bounds).unwrap();
        let labels = fitted.predict_proba(&signals).unwrap();
        assert_near(labels.values(), &array![[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]], 1e-6);
    }

    #[test]
    fn measured_bounds_recover_labels_as_well_as_a_majority() {
        let problem = Planted::new(3000, 3, &[0.85, 0.75, 0.7, 0.65, 0.6], 0.3, 6);
        let bounds = Bounds::measured(&problem.signals, &problem.truth).unwrap();
        let fitted = ConstrainedLabels::default().fit_with(&problem.signals, &bounds).unwrap();
        let accuracy = |labels: SoftLabels| problem.truth.accuracy(&labels.argmax());
        let majority = MajorityVote::default().fit(&problem.signals).unwrap();
        let majority = accuracy(majority.predict_proba(&problem.signals).unwrap());
        let found = accuracy(fitted.predict_proba(&problem.signals).unwrap());
        assert!(found > majority - 0.05, "{found} {majority}");
    }

    #[test]
    fn starts_differ_by_seed_trial_and_signals_only() {
        let signals = signals(array![[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, -1]]);
        let patterns = VotePatterns::of(&signals.votes());
        let system = system(&patterns, &signals, &Bounds::constant(0.1, &signals).unwrap());
        let starts = system.starts(7, 0);
        assert!(starts.iter().all(|y| (0.0..1.0).contains(y)));
        assert_ne!(starts, system.starts(8, 0));
        assert_ne!(starts, system.starts(7, 1));
        // Sorted: (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 1, −).
        assert_eq!(starts[..2], starts[2..4]);
        assert_ne!(starts[2..4], starts[4..6]);
        assert_ne!(starts[4..6], starts[6..8]);
    }

    #[test]
    fn a_single_start_is_the_first_trial() {
        let problem = Planted::new(200, 2, &[0.8, 0.6], 0.1, 7);
        let bounds = Bounds::constant(0.1, &problem.signals).unwrap();
        let single = ConstrainedLabels { single_start: true, ..Default::default() };
        let one = ConstrainedLabels { n_trials: 1, ..Default::default() };
        assert_eq!(
            single.fit_with(&problem.signals, &bounds).unwrap(),
            one.fit_with(&problem.signals, &bounds).unwrap()
        );
    }

    #[test]
    fn extreme_votes_give_finite_labels() {
        for votes in [array![[1]], array![[1, 1], [1, 1]], array![[0, -1], [1, -1]]] {
            let signals = signals(votes);
            for bound in [0.0, 0.5, 1.0] {
                let bounds = Bounds::constant(bound, &signals).unwrap();
                let fitted = ConstrainedLabels::default().fit_with(&signals, &bounds).unwrap();
                fitted.predict_proba(&signals).unwrap();
            }
        }
    }

    #[test]
    fn bad_settings_and_bounds_of_others_are_errors() {
        let votes = signals(array![[0, 1], [1, 1]]);
        let bounds = Bounds::constant(0.1, &votes).unwrap();
        let model = ConstrainedLabels { n_steps: 0, ..Default::default() };
        assert!(model.fit_with(&votes, &bounds).unwrap_err().to_string().starts_with("n_steps"));
        let model = ConstrainedLabels { n_trials: 0, ..Default::default() };
        assert!(model.fit_with(&votes, &bounds).unwrap_err().to_string().starts_with("n_trials"));
        let others = Bounds::per_signal(&[0.1], 2).unwrap();
        let error = ConstrainedLabels::default().fit_with(&votes, &others).unwrap_err();
        assert!(error.to_string().starts_with("bounds: expected 2 labelers"), "{error}");
        let silent = Votes::from_indices(array![[-1, -1]].view(), Some(2)).unwrap();
        let silent = WeakSignals::from_votes(silent).unwrap();
        let error = ConstrainedLabels::default().fit_with(&silent, &bounds).unwrap_err();
        assert!(error.to_string().contains("at least one vote"), "{error}");
    }
}
