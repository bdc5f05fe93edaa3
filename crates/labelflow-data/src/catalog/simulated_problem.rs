//! Weak-supervision problems made from labelled tables, as the paper makes them.
//!
//! ```text
//! 1. split the rows 4 : 3 : 3 into train, simulation and test, stratified by class
//! 2. standardise every column by its mean and deviation over train and simulation
//! 3. labeler j = logistic regression on one column alone, fitted on the simulation rows
//! 4. bound[j][c] = mean over the simulation rows of |1[y = c] − q[j][·][c]|
//! ```

use labelflow_weak::labelers::Bounds;
use labelflow_weak::linear::{LogisticRegression, Scaler};
use labelflow_weak::rows::{Features, Truth, WeakDataset};
use labelflow_weak::votes::WeakSignals;
use ndarray::{Array2, Array3, Axis, s};
use serde::{Deserialize, Serialize};

use crate::catalog::Split;
use crate::{Error, Result, ensure};

/// A weak-supervision task with the means to evaluate it.
///
/// Training takes [`train`](Self::train) alone, which holds no true label.
#[derive(Debug, Clone)]
pub struct WeakProblem {
    /// What training sees.
    pub train: WeakDataset,
    /// The true classes of the training rows, for evaluation and for supervised references.
    pub train_truth: Truth,
    /// The labelled rows from which the weak signals or their bounds were made. Nothing where signals need no labels, as
    /// with keywords, and bounds are given.
    pub simulation: Option<EvaluatedRows>,
    /// Rows nobody saw.
    pub test: EvaluatedRows,
}

impl WeakProblem {
    /// The problem of three parts, with bounds measured on the labelled rows that the options name.
    pub(crate) fn measured(
        train: EvaluatedRows,
        simulation: EvaluatedRows,
        test: EvaluatedRows,
        bounds: BoundsFrom,
        measure: impl FnOnce(&EvaluatedRows) -> Result<Bounds>,
    ) -> Result<Self> {
        let bounds = measure(match bounds {
            BoundsFrom::Simulation => &simulation,
            BoundsFrom::TrainOracle => &train,
        })?;
        Ok(Self {
            train: WeakDataset::new(train.features, train.signals, bounds)?,
            train_truth: train.truth,
            simulation: Some(simulation),
            test,
        })
    }

    /// Number of rows of all parts together.
    pub fn n_rows(&self) -> usize {
        let n_simulation = self.simulation.as_ref().map_or(0, |rows| rows.truth.n_rows());
        self.train.n_rows() + n_simulation + self.test.truth.n_rows()
    }
}

/// Rows with everything known of them.
#[derive(Debug, Clone)]
pub struct EvaluatedRows {
    /// The input table.
    pub features: Features,
    /// What the labelers say.
    pub signals: WeakSignals,
    /// The true classes.
    pub truth: Truth,
}

impl EvaluatedRows {
    /// The measured errors of the labelers.
    pub(crate) fn bounds(&self) -> Result<Bounds> {
        Ok(Bounds::measured(&self.signals, &self.truth)?)
    }

    /// The rows with these indices, in this order.
    ///
    /// # Panics
    ///
    /// If `rows` is empty or an index is out of range.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select_rows(rows),
            signals: self.signals.select_rows(rows),
            truth: self.truth.select_rows(rows),
        }
    }
}

/// The labelled rows on which the labelers' errors are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundsFrom {
    /// The simulation rows, as the paper says. Sets without such rows have the constant bounds of the paper.
    #[default]
    Simulation,
    /// The training rows with their true labels, as the authors' code does.
    TrainOracle,
}

/// A labelled table.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledTable {
    /// The input table.
    pub features: Features,
    /// The true class of each row.
    pub truth: Truth,
    /// The names of the classes.
    pub classes: Vec<String>,
}

impl LabelledTable {
    /// The rows with these indices, in this order.
    ///
    /// # Panics
    ///
    /// If `rows` is empty or an index is out of range.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select_rows(rows),
            truth: self.truth.select_rows(rows),
            classes: self.classes.clone(),
        }
    }
}

/// Splits a labelled table and simulates one labeler a column of `columns`.
///
/// ```
/// use labelflow_data::catalog::{BoundsFrom, embedded, simulate};
///
/// let problem = simulate(&embedded::breast_cancer(), &[0, 10, 20], 0, BoundsFrom::Simulation)?;
/// assert_eq!(problem.train.signals().labelers()[0], "mean radius");
/// assert_eq!(problem.n_rows(), 569);
/// # Ok::<(), labelflow_data::Error>(())
/// ```
pub fn simulate(table: &LabelledTable, columns: &[usize], seed: u64, bounds: BoundsFrom) -> Result<WeakProblem> {
    let split = Split::stratified(&table.truth, seed);
    split.check()?;
    let features = scaled_by_seen(&table.features, &split)?;
    let scaled = LabelledTable { features, ..table.clone() };
    let [train, simulation, test] = [&split.train, &split.simulation, &split.test].map(|rows| scaled.select_rows(rows));
    simulate_parts(train, simulation, test, columns, bounds)
}

/// The same table on the scale of the rows of train and simulation.
pub(crate) fn scaled_by_seen(features: &Features, split: &Split) -> Result<Features> {
    let mut seen = [split.train.as_slice(), &split.simulation].concat();
    seen.sort_unstable();
    scale(&Scaler::standard(features.select_rows(&seen).values())?, features)
}

/// The same table on the scaler's scale.
pub(crate) fn scale(scaler: &Scaler, features: &Features) -> Result<Features> {
    let scaled = scaler.transform(features.values())?;
    Ok(Features::with_names(scaled, features.names().to_vec())?)
}

/// Fits one labeler a column on the simulation rows, and lets all of them speak of every part. The parts are standardised.
pub(crate) fn simulate_parts(
    train: LabelledTable,
    simulation: LabelledTable,
    test: LabelledTable,
    columns: &[usize],
    bounds: BoundsFrom,
) -> Result<WeakProblem> {
    check_columns(&simulation.features, columns)?;
    let n_classes = simulation.truth.n_classes();
    let labels = simulation.truth.labels();
    let fit = |&column: &usize| {
        let values = single_column(&simulation.features, column);
        LogisticRegression::default().fit(values.view(), labels, n_classes)
    };
    let labelers = columns.iter().map(fit).collect::<Result<Vec<_>, _>>()?;
    let evaluated = |part: LabelledTable| -> Result<EvaluatedRows> {
        let mut q = Array3::zeros((part.features.n_rows(), columns.len(), n_classes));
        for (signal, (labeler, &column)) in labelers.iter().zip(columns).enumerate() {
            let labels = labeler.predict_proba(single_column(&part.features, column).view())?;
            q.index_axis_mut(Axis(1), signal).assign(&labels.values().mapv(|p| p as f32));
        }
        let names = columns.iter().map(|&column| part.features.names()[column].clone());
        let signals = WeakSignals::from_probabilities(q)?.with_labelers(names.collect())?.with_classes(part.classes)?;
        Ok(EvaluatedRows { features: part.features, signals, truth: part.truth })
    };
    let (train, simulation, test) = (evaluated(train)?, evaluated(simulation)?, evaluated(test)?);
    WeakProblem::measured(train, simulation, test, bounds, EvaluatedRows::bounds)
}

fn check_columns(features: &Features, columns: &[usize]) -> Result<()> {
    ensure(!columns.is_empty(), || Error::config("signal columns", "at least one column", "none"))?;
    let last = features.d_features() - 1;
    let refuse = |column| Error::config("signal columns", format!("columns from 0 to {last}"), column);
    columns.iter().try_for_each(|&column| ensure(column <= last, || refuse(column)))
}

fn single_column(features: &Features, column: usize) -> Array2<f32> {
    features.values().slice(s![.., column..column + 1]).mapv(|value| value as f32)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;
    use crate::catalog::embedded;

    fn problem(seed: u64, bounds: BoundsFrom) -> WeakProblem {
        simulate(&embedded::breast_cancer(), &[0, 10, 20], seed, bounds).unwrap()
    }

    #[test]
    fn train_and_simulation_together_are_standardised() {
        let problem = problem(0, BoundsFrom::Simulation);
        let simulation = problem.simulation.as_ref().unwrap();
        let parts = [problem.train.features().values(), simulation.features.values()];
        let n_rows = (parts[0].nrows() + parts[1].nrows()) as f64;
        for column in 0..30 {
            let sum: f64 = parts.iter().map(|part| part.column(column).sum()).sum();
            let squares: f64 = parts.iter().map(|part| part.column(column).mapv(|x| x * x).sum()).sum();
            assert_abs_diff_eq!(sum / n_rows, 0.0, epsilon = 1e-4);
            assert_abs_diff_eq!(squares / n_rows, 1.0, epsilon = 1e-3);
        }
    }

    #[test]
    fn bounds_are_soft_errors_of_the_chosen_rows() {
        let (paper, code) = (problem(0, BoundsFrom::Simulation), problem(0, BoundsFrom::TrainOracle));
        let simulation = paper.simulation.as_ref().unwrap();
        for (problem, signals, truth) in
            [(&paper, &simulation.signals, &simulation.truth), (&code, code.train.signals(), &code.train_truth)]
        {
            let bounds = problem.train.bounds().values();
            let n_rows = truth.n_rows() as f64;
            let error: f64 = (0..truth.n_rows())
                .map(|row| {
                    let q = f64::from(signals.probability(row, 0, 1).unwrap());
                    (truth.labels()[row] as f64 - q).abs()
                })
                .sum();
            assert_abs_diff_eq!(bounds[[0, 1]], error / n_rows, epsilon = 1e-6);
            assert_abs_diff_eq!(bounds[[0, 0]], bounds[[0, 1]], epsilon = 1e-6);
        }
        assert_ne!(paper.train.bounds(), code.train.bounds());
    }

    #[test]
    fn the_seed_decides() {
        let first = problem(3, BoundsFrom::Simulation);
        assert_eq!(first.train, problem(3, BoundsFrom::Simulation).train);
        assert_ne!(first.train, problem(4, BoundsFrom::Simulation).train);
    }

    #[test]
    fn columns_and_rows_that_do_not_exist_are_errors() {
        let table = embedded::breast_cancer();
        assert!(simulate(&table, &[30], 0, BoundsFrom::Simulation).is_err());
        assert!(simulate(&table, &[], 0, BoundsFrom::Simulation).is_err());
        let few = table.select_rows(&[0, 1]);
        assert!(simulate(&few, &[0], 0, BoundsFrom::Simulation).is_err());
    }
}
