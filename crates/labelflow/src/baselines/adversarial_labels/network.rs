//! Adversarial label learning with a network, any number of classes, abstentions and several kinds of constraints.
//!
//! The adversary climbs on an expected error under linear constraints A y ≤ B on its labels; the network learns those
//! labels by cross-entropy.
//!
//! ```text
//! error of labeler j about class c    A = (1 − 2 q) / N where q is given,   B = b − Σ q / N,    N rows given
//! precision of j about c              A = −q / Σ q where q is given,        B = −precision
//!
//! once an iteration of the adversary:
//!   c = A y − B,   γ ← min(0, γ − ρ c)
//!   g = ∂(expected error) / ∂y + Aᵀ (γ − ρ [c]₊),   G ← G + g²,   y ← y + g / √(G + 1e-8), kept in its range
//! ```
//!
//! y = 0.1 at first, and the adversary begins with 300 iterations against p = 1/k. Then each epoch trains the network once
//! on all rows, and every other epoch, the first included, the adversary answers with 10 iterations. γ is kept from one
//! answer to the next, G is not.
//!
//! All kinds of A are linear in q, so that Σ y and Σ q y over the rows where q is given are all that is needed of the rows.

// Deviation: a derived implementation lets the adversary descend after its first 300 iterations, which pushes towards
// violated constraints; here it climbs always.

use std::ops::Range;

use labelflow_weak::numerics::{RowChunks, project_onto_simplex};
use labelflow_weak::rows::{Features, WeakDataset};
use labelflow_weak::settings::check_positive;
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::baselines::multilayer_perceptron::Training;
use crate::baselines::{FittedMultilayerPerceptron, MultilayerPerceptron};

/// The labels that the adversary begins with.
const FIRST_LABEL: f64 = 0.1;
const SMALL: f64 = 1e-8;

/// Settings of the form with a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkAdversary {
    /// What the adversary makes large. Default: multilabel.
    pub loss: AdversaryLoss,
    /// ρ, the weight of violated constraints. Default: 0.1.
    pub penalty: f64,
    /// Iterations of the adversary before the first epoch. Default: 300.
    pub first_iterations: usize,
    /// Iterations of the adversary in every other epoch. Default: 10.
    pub later_iterations: usize,
    /// The network, and the number of epochs. Default: the end model's.
    pub perceptron: MultilayerPerceptron,
}

/// The adversary's expected error, and the labels it may choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdversaryLoss {
    /// The mean over rows and classes of p (1 − y) + (1 − p) y; each label from 0 to 1 by itself.
    #[default]
    Multilabel,
    /// The mean over rows of Σ_c (1 − p_c) y_c; each row's labels add up to one.
    Multiclass,
}

impl Default for NetworkAdversary {
    fn default() -> Self {
        Self {
            loss: AdversaryLoss::default(),
            penalty: 0.1,
            first_iterations: 300,
            later_iterations: 10,
            perceptron: MultilayerPerceptron::default(),
        }
    }
}

impl NetworkAdversary {
    fn check(&self) -> Result<()> {
        check_positive(&[("penalty", self.penalty)])?;
        self.perceptron.check()
    }

    /// The network after the last epoch.
    pub(super) fn fit(
        &self,
        features: &Features,
        dataset: &WeakDataset,
        precisions: Option<ArrayView2<'_, f64>>,
    ) -> Result<FittedMultilayerPerceptron> {
        self.check()?;
        let n_classes = dataset.n_classes();
        let mut adversary = Adversary::new(self, dataset, precisions);
        let uniform = Array2::from_elem((dataset.n_rows(), n_classes), 1.0 / n_classes as f64);
        adversary.answer(uniform.view(), self.first_iterations);
        let mut training = Training::new(&self.perceptron, features, n_classes);
        for epoch in 0..self.perceptron.n_epochs {
            training.epoch(adversary.targets().view())?;
            let is_answered = epoch % 2 == 0 && epoch + 1 < self.perceptron.n_epochs;
            if is_answered {
                adversary.answer(training.predict().view(), self.later_iterations);
            }
        }
        Ok(training.finish())
    }
}

/// A kind of constraint: A = slope · q + level where q is given, and A y ≤ limit; `[n_cells]` each.
#[derive(Debug, Clone)]
struct Constraints {
    slope: Vec<f64>,
    level: Vec<f64>,
    limit: Vec<f64>,
    /// γ
    multipliers: Vec<f64>,
}

impl Constraints {
    fn new(n_cells: usize, mut line: impl FnMut(usize) -> Option<[f64; 3]>) -> Self {
        // What is not known is 0 y ≤ 0, which always holds.
        let lines: Vec<[f64; 3]> = (0..n_cells).map(|cell| line(cell).unwrap_or_default()).collect();
        let column = |index: usize| lines.iter().map(|line| line[index]).collect();
        Self { slope: column(0), level: column(1), limit: column(2), multipliers: vec![0.0; n_cells] }
    }

    /// A y − B of a cell, from Σ y and Σ q y over the rows where q is given.
    fn residual(&self, cell: usize, sum_y: f64, sum_qy: f64) -> f64 {
        self.slope[cell] * sum_qy + self.level[cell] * sum_y - self.limit[cell]
    }
}

/// The adversary and its labels.
struct Adversary<'a> {
    settings: &'a NetworkAdversary,
    signals: &'a WeakSignals,
    n_columns: usize,
    constraints: Vec<Constraints>,
    /// y, `[n_rows, n_columns]`, row after row. Two classes have one column, class 1's, unless labels add up to one.
    labels: Vec<f64>,
}

impl<'a> Adversary<'a> {
    fn new(settings: &'a NetworkAdversary, dataset: &'a WeakDataset, precisions: Option<ArrayView2<'_, f64>>) -> Self {
        let signals = dataset.signals();
        let n_classes = signals.n_classes();
        let one_column = n_classes == 2 && settings.loss == AdversaryLoss::Multilabel;
        let n_columns = if one_column { 1 } else { n_classes };
        let mut adversary = Self {
            settings,
            signals,
            n_columns,
            constraints: Vec::new(),
            labels: vec![FIRST_LABEL; signals.n_rows() * n_columns],
        };
        adversary.constrain(dataset.bounds().values(), precisions);
        adversary
    }

    fn n_cells(&self) -> usize {
        self.signals.n_signals() * self.n_columns
    }

    /// Two sums per cell over all rows.
    fn chunks(&self) -> RowChunks {
        RowChunks::new(self.signals.n_rows(), self.signals.n_signals(), 2 * self.n_cells())
    }

    /// Sets up the constraints.
    fn constrain(&mut self, bounds: ArrayView2<'_, f64>, precisions: Option<ArrayView2<'_, f64>>) {
        let (n_cells, n_columns) = (self.n_cells(), self.n_columns);
        // The number of rows given, and Σ q over them.
        let sums = self.chunks().sum(|rows, sums| {
            let (n_given, sum_q) = sums.split_at_mut(n_cells);
            self.visit(rows, |_, cell, q| {
                n_given[cell] += 1.0;
                sum_q[cell] += q;
            });
        });
        let (n_given, sum_q) = sums.split_at(n_cells);
        let of = |values: ArrayView2<'_, f64>, cell: usize| values[[cell / n_columns, cell % n_columns]];
        let errors = Constraints::new(n_cells, |cell| {
            let (n, mean_q) = (n_given[cell], sum_q[cell] / n_given[cell]);
            // A labeler errs about one of two classes as often as about the other, so the lower bound is what holds.
            let bound = match n_columns {
                1 => bounds[[cell, 0]].min(bounds[[cell, 1]]),
                _ => of(bounds, cell),
            };
            (n > 0.0).then(|| [-2.0 / n, 1.0 / n, bound - mean_q])
        });
        self.constraints.push(errors);
        let Some(precisions) = precisions else { return };
        // Of −Σ q y / Σ q ≤ −precision; nothing where it is not known, or where the class is never spoken of.
        let line = |sum: f64, p: f64| (sum > 0.0 && !p.is_nan()).then(|| (1.0 / (sum + SMALL), p));
        if n_columns == 1 {
            // Class 0 in terms of class 1: of Σ (1 − q), the part Σ (1 − q) (1 − y) is on rows of class 0.
            self.constraints.push(Constraints::new(n_cells, |cell| {
                let sum = n_given[cell] - sum_q[cell];
                let known = line(sum, precisions[[cell, 0]]);
                known.map(|(scale, p)| [-scale, scale, sum * scale - p])
            }));
        }
        self.constraints.push(Constraints::new(n_cells, |cell| {
            let p = if n_columns == 1 { precisions[[cell, 1]] } else { of(precisions, cell) };
            line(sum_q[cell], p).map(|(scale, p)| [-scale, 0.0, -p])
        }));
    }

    /// Every q that is given on some rows: `hear(row, cell, q)`, where the cell is that of labeler and column.
    fn visit(&self, rows: Range<usize>, mut hear: impl FnMut(usize, usize, f64)) {
        let signals = self.signals.view();
        for row in rows {
            if self.n_columns > 1 {
                signals.for_each_given(row, |cell, _, q| hear(row, cell, f64::from(q)));
                continue;
            }
            for signal in 0..self.signals.n_signals() {
                if let Some(q) = self.signals.class1_probability(row, signal) {
                    hear(row, signal, f64::from(q));
                }
            }
        }
    }

    /// Σ y of each cell over the rows where its q is given, then Σ q y.
    fn statistics(&self) -> Vec<f64> {
        self.chunks().sum(|rows, sums| {
            let labels = &self.labels[rows.start * self.n_columns..];
            self.add_statistics(rows, labels, sums);
        })
    }

    /// Adds the rows of a range, whose labels these are.
    fn add_statistics(&self, rows: Range<usize>, labels: &[f64], sums: &mut [f64]) {
        let (n_columns, start) = (self.n_columns, rows.start);
        let (sum_y, sum_qy) = sums.split_at_mut(self.n_cells());
        self.visit(rows, |row, cell, q| {
            let y = labels[(row - start) * n_columns + cell % n_columns];
            sum_y[cell] += y;
            sum_qy[cell] += q * y;
        });
    }

    /// Climbs for some iterations against the network's probabilities, `[n_rows, n_classes]`.
    fn answer(&mut self, p: ArrayView2<'_, f64>, n_iterations: usize) {
        let loss_gradient = self.loss_gradient(p);
        let mut squares = vec![0.0; self.labels.len()];
        let mut statistics = self.statistics();
        for _ in 0..n_iterations {
            let pushes = self.pushes(&statistics);
            statistics = self.climb(&loss_gradient, &pushes, &mut squares);
        }
    }

    /// The derivative of the expected error by each label.
    fn loss_gradient(&self, p: ArrayView2<'_, f64>) -> Vec<f64> {
        let (n_rows, n_classes) = p.dim();
        let columns = n_classes - self.n_columns..n_classes;
        let slope = |&p: &f64| match self.settings.loss {
            AdversaryLoss::Multilabel => (1.0 - 2.0 * p) / (n_rows * self.n_columns) as f64,
            AdversaryLoss::Multiclass => (1.0 - p) / n_rows as f64,
        };
        p.slice(ndarray::s![.., columns]).iter().map(slope).collect()
    }

    /// Moves the multipliers; what they and the penalty add to a label's gradient, as slopes and levels in q of each cell.
    fn pushes(&mut self, statistics: &[f64]) -> [Vec<f64>; 2] {
        let n_cells = self.n_cells();
        let penalty = self.settings.penalty;
        let (mut slopes, mut levels) = (vec![0.0; n_cells], vec![0.0; n_cells]);
        for kind in &mut self.constraints {
            for cell in 0..n_cells {
                let c = kind.residual(cell, statistics[cell], statistics[n_cells + cell]);
                kind.multipliers[cell] = (kind.multipliers[cell] - penalty * c).min(0.0);
                let push = kind.multipliers[cell] - penalty * c.max(0.0);
                slopes[cell] += push * kind.slope[cell];
                levels[cell] += push * kind.level[cell];
            }
        }
        [slopes, levels]
    }

    /// One step of all labels; the statistics of the new ones.
    fn climb(&mut self, loss_gradient: &[f64], [slopes, levels]: &[Vec<f64>; 2], squares: &mut [f64]) -> Vec<f64> {
        let (n_columns, n_cells) = (self.n_columns, self.n_cells());
        let mut labels = std::mem::take(&mut self.labels);
        let chunks = self.chunks();
        let chunk_len = chunks.rows_per_chunk() * n_columns;
        let parts = labels
            .par_chunks_mut(chunk_len)
            .zip(squares.par_chunks_mut(chunk_len))
            .zip(loss_gradient.par_chunks(chunk_len))
            .enumerate()
            .map(|(chunk, ((labels, squares), loss_gradient))| {
                let start = chunk * chunks.rows_per_chunk();
                let rows = start..start + labels.len() / n_columns;
                let mut gradient = loss_gradient.to_vec();
                self.visit(rows.clone(), |row, cell, q| {
                    gradient[(row - start) * n_columns + cell % n_columns] += slopes[cell] * q + levels[cell];
                });
                for ((label, square), g) in labels.iter_mut().zip(squares).zip(gradient) {
                    *square += g * g;
                    *label += g / (*square + SMALL).sqrt();
                }
                match self.settings.loss {
                    AdversaryLoss::Multilabel => {
                        labels.iter_mut().for_each(|label| *label = label.clamp(0.0, 1.0));
                    }
                    AdversaryLoss::Multiclass => {
                        labels.chunks_exact_mut(n_columns).for_each(project_onto_simplex);
                    }
                }
                let mut sums = vec![0.0; 2 * n_cells];
                self.add_statistics(rows, labels, &mut sums);
                sums
            });
        let statistics = chunks.add_up(parts);
        self.labels = labels;
        statistics
    }

    /// The labels as the network is to learn them, `[n_rows, n_classes]`.
    fn targets(&self) -> Array2<f64> {
        let shape = (self.signals.n_rows(), self.signals.n_classes());
        Array2::from_shape_fn(shape, |(row, class)| match (self.n_columns, class) {
            (1, 0) => 1.0 - self.labels[row],
            (1, _) => self.labels[row],
            (n_columns, class) => self.labels[row * n_columns + class],
        })
    }
}

#[cfg(test)]
mod tests {
    use labelflow_weak::labelers::Bounds;
    use labelflow_weak::votes::Votes;
    use ndarray::{Array3, array};

    use super::*;

    fn dataset(signals: WeakSignals, bound: f64) -> WeakDataset {
        let x = Array2::from_shape_fn((signals.n_rows(), 1), |(row, _)| row as f32);
        let bounds = Bounds::constant(bound, &signals).unwrap();
        WeakDataset::new(Features::new(x).unwrap(), signals, bounds).unwrap()
    }

    fn votes(votes: ndarray::Array2<i64>, n_classes: usize) -> WeakSignals {
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(n_classes)).unwrap()).unwrap()
    }

    /// A y − B of each kind and cell.
    fn residuals(adversary: &Adversary<'_>) -> Vec<Vec<f64>> {
        let n_cells = adversary.n_cells();
        let sums = adversary.statistics();
        let of_kind = |kind: &Constraints| {
            (0..n_cells).map(|cell| kind.residual(cell, sums[cell], sums[n_cells + cell])).collect()
        };
        adversary.constraints.iter().map(of_kind).collect()
    }

    #[test]
    fn two_classes_without_abstentions_have_the_violations_of_the_linear_form() {
        let q = array![[0.2, 0.9], [0.7, 0.4], [1.0, 0.1]];
        let data = dataset(WeakSignals::from_class1_probabilities(q.clone()).unwrap(), 0.25);
        let settings = NetworkAdversary::default();
        let mut adversary = Adversary::new(&settings, &data, None);
        let y = [0.3, 0.6, 0.1];
        adversary.labels = y.to_vec();
        let found = residuals(&adversary);
        for signal in 0..2 {
            let error = |row: usize| {
                let q = f64::from(q[[row, signal]]);
                q * (1.0 - y[row]) + (1.0 - q) * y[row]
            };
            let expected = (0..3).map(error).sum::<f64>() / 3.0 - 0.25;
            assert!((found[0][signal] - expected).abs() < 1e-7, "{found:?}");
        }
    }

    #[test]
    fn abstentions_and_silent_labelers_are_skipped() {
        // Labeler 0 votes on two rows, labeler 1 on none.
        let data = dataset(votes(array![[2, -1], [-1, -1], [0, -1]], 3), 0.1);
        let settings = NetworkAdversary::default();
        let mut adversary = Adversary::new(&settings, &data, None);
        adversary.labels = vec![0.1, 0.2, 0.7, 0.5, 0.5, 0.5, 0.8, 0.1, 0.1];
        let found = &residuals(&adversary)[0];
        // About class 0: row 0 says "not", row 2 says "yes".
        let expected =
            [(0.1 + (1.0 - 0.8)) / 2.0 - 0.1, (0.2 + 0.1) / 2.0 - 0.1, ((1.0 - 0.7) + 0.1) / 2.0 - 0.1, 0.0, 0.0, 0.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} and {expected}");
        }
        let before = adversary.labels.clone();
        let p = Array2::from_elem((3, 3), 0.5);
        adversary.answer(p.view(), 1);
        assert_eq!(adversary.labels[3..6], before[3..6], "p = ½ and no votes: nothing to gain");
    }

    #[test]
    fn votes_and_the_same_votes_as_probabilities_are_the_same() {
        let as_votes = votes(array![[2, 1], [-1, 0], [0, 0], [1, -1]], 3);
        let p = Array3::from_shape_fn((4, 2, 3), |(row, signal, class)| {
            as_votes.probability(row, signal, class).unwrap_or(f32::NAN)
        });
        let as_probabilities = WeakSignals::from_probabilities(p).unwrap();
        let settings = NetworkAdversary::default();
        let labels = |signals: WeakSignals| {
            let data = dataset(signals, 0.2);
            let mut adversary = Adversary::new(&settings, &data, None);
            adversary.answer(Array2::from_elem((4, 3), 1.0 / 3.0).view(), 20);
            adversary.labels
        };
        assert_eq!(labels(as_votes), labels(as_probabilities));
    }

    #[test]
    fn the_step_is_the_derivative_of_what_the_adversary_climbs_on() {
        let data = dataset(votes(array![[2, 1], [-1, 0], [0, 0], [1, -1]], 3), 0.1);
        let precisions = Array2::from_elem((2, 3), 0.9);
        let settings = NetworkAdversary::default();
        let mut adversary = Adversary::new(&settings, &data, Some(precisions.view()));
        let p = Array2::from_shape_fn((4, 3), |(i, j)| 0.1 + ((i * 3 + j) % 5) as f64 / 6.0);
        adversary.answer(p.view(), 3);
        adversary.labels.iter_mut().enumerate().for_each(|(i, y)| *y = 0.3 + 0.03 * i as f64);
        let statistics = adversary.statistics();
        let [slopes, levels] = adversary.pushes(&statistics);
        // The Lagrangian with the multipliers as they now are.
        let lagrangian = |adversary: &Adversary<'_>| {
            let error: f64 =
                p.iter().zip(&adversary.labels).map(|(p, y)| p * (1.0 - y) + (1.0 - p) * y).sum::<f64>() / 12.0;
            let kinds = residuals(adversary).into_iter().zip(&adversary.constraints);
            let penalty = kinds.flat_map(|(c, kind)| c.into_iter().zip(kind.multipliers.clone()));
            error + penalty.map(|(c, gamma)| gamma * c - 0.5 * settings.penalty * c.max(0.0).powi(2)).sum::<f64>()
        };
        let mut gradient = adversary.loss_gradient(p.view());
        adversary.visit(0..4, |row, cell, q| {
            gradient[row * 3 + cell % 3] += slopes[cell] * q + levels[cell];
        });
        for (index, found) in gradient.into_iter().enumerate() {
            let at = |step: f64| {
                let labels = adversary.labels.clone();
                let mut moved = Adversary {
                    constraints: adversary.constraints.clone(),
                    labels,
                    ..Adversary::new(&settings, &data, None)
                };
                moved.labels[index] += step;
                lagrangian(&moved)
            };
            let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((found - expected).abs() < 1e-8, "{index}: {found} and {expected}");
        }
    }

    #[test]
    fn the_adversary_comes_to_respect_what_can_be_respected() {
        // Both labelers are right at least nine times in ten, and they agree.
        let data = dataset(votes(Array2::from_shape_fn((30, 2), |(row, _)| (row % 3) as i64), 3), 0.1);
        for loss in [AdversaryLoss::Multilabel, AdversaryLoss::Multiclass] {
            let settings = NetworkAdversary { loss, ..NetworkAdversary::default() };
            let mut adversary = Adversary::new(&settings, &data, None);
            adversary.answer(Array2::from_elem((30, 3), 1.0 / 3.0).view(), 1000);
            let worst = residuals(&adversary)[0].iter().copied().fold(f64::MIN, f64::max);
            assert!(worst < 0.05, "{loss:?}: {worst}");
            for (row, labels) in adversary.labels.chunks_exact(3).enumerate() {
                assert!(labels[row % 3] > 0.5, "{loss:?}, row {row}: {labels:?}");
                assert!(labels.iter().all(|y| (0.0..=1.0).contains(y)));
                let sum: f64 = labels.iter().sum();
                assert!(loss == AdversaryLoss::Multilabel || (sum - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn precisions_hold_about_both_of_two_classes() {
        let class1 = array![[0.9], [0.8], [0.3], [0.1], [f32::NAN]];
        let data = dataset(WeakSignals::from_class1_probabilities(class1).unwrap(), 1.0);
        let precisions = array![[0.7, 0.8]];
        let settings = NetworkAdversary::default();
        let mut adversary = Adversary::new(&settings, &data, Some(precisions.view()));
        let y = [0.9, 0.4, 0.2, 0.6, 0.5];
        adversary.labels = y.to_vec();
        let found = residuals(&adversary);
        let zero = 0.1 * 0.1 + 0.2 * 0.6 + 0.7 * 0.8 + 0.9 * 0.4;
        let one = 0.9 * 0.9 + 0.8 * 0.4 + 0.3 * 0.2 + 0.1 * 0.6;
        assert!((found[1][0] - (0.7 - zero / 1.9)).abs() < 1e-7, "{found:?}");
        assert!((found[2][0] - (0.8 - one / 2.1)).abs() < 1e-7, "{found:?}");
        adversary.answer(Array2::from_elem((5, 2), 0.5).view(), 500);
        let found = residuals(&adversary);
        assert!(found[1][0] < 0.02 && found[2][0] < 0.02, "{found:?}");
    }
}
