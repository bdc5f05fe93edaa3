//! Planted regression problems, whose best possible error is known.
//!
//! ```text
//! x_j = √correlation · shared + √(1 − correlation) · own_j          standard normal, equally correlated features
//! y   = f(x) / std of f + noise · e,   e standard normal             so no prediction has a lower error than noise
//! ```
//!
//! Rules are measured on many other rows of the same kind: for the first features, the mean label above and below the mean.
//! Effects of even features are upward, those of odd ones downward and all of them smaller from feature to feature; since
//! features are correlated, rules about one say something of the others too.

use labelflow_weak::numerics::stream;
use labelflow_weak::rows::{Features, LabelRange, TrueValues};
use labelflow_weak::rules::RuleDataset;
use labelflow_weak::settings::{check_at_least_one, check_cells, check_not_negative};
use ndarray::{Array2, ArrayView1, Axis};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::catalog::{RuleProblem, ValueTable, measure_rules};
use crate::{Error, Result, ensure};

/// Rules are measured on so many rows.
const MEASURED_ROWS: usize = 20_000;

/// What labels have to do with features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlantedFunction {
    /// A weighted sum of the features.
    #[default]
    Linear,
    /// A weighted sum of features that saturate: tanh(2 x).
    Saturating,
    /// A weighted sum of the features and of the products of each two neighbours.
    Interaction,
}

/// A regression problem known through rules.
///
/// ```
/// use labelflow_data::synthetic::PlantedRegression;
/// use labelflow_weak::rules::AverageRules;
///
/// let planted = PlantedRegression::default().generate()?;
/// let average = AverageRules.fit(&planted.problem.train)?;
/// let predicted = average.predict(&planted.problem.test.features)?;
/// let error = planted.problem.test.truth.root_mean_squared_error(&predicted);
/// assert!(error > planted.best_error);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlantedRegression {
    /// What labels have to do with features. Default: linear.
    pub function: PlantedFunction,
    /// Number of training rows. Default: 1000.
    pub n_rows: usize,
    /// Number of test rows. Default: 1000.
    pub n_test_rows: usize,
    /// Number of columns. Default: 8.
    pub d_features: usize,
    /// How many of the columns have rules, the first ones. Default: 5.
    pub d_rules: usize,
    /// Correlation between any two features, from 0 to below 1. Default: 0.3.
    pub correlation: f64,
    /// Standard deviation of the noise, in units of that of the noise-free labels. Default: 0.3.
    pub noise: f64,
    /// The seed. Default: 0.
    pub seed: u64,
}

impl Default for PlantedRegression {
    fn default() -> Self {
        Self {
            function: PlantedFunction::Linear,
            n_rows: 1000,
            n_test_rows: 1000,
            d_features: 8,
            d_rules: 5,
            correlation: 0.3,
            noise: 0.3,
            seed: 0,
        }
    }
}

/// A regression problem whose making is known.
#[derive(Debug, Clone)]
pub struct PlantedRegressionProblem {
    /// The problem.
    pub problem: RuleProblem,
    /// The root mean squared error of the best predictions on average: the standard deviation of the noise.
    pub best_error: f64,
    /// The labels of the test rows without noise, which are the best predictions.
    pub best_predictions: Vec<f64>,
}

impl PlantedRegression {
    /// Draws the problem.
    pub fn generate(&self) -> Result<PlantedRegressionProblem> {
        self.check()?;
        let measured = self.draw(MEASURED_ROWS, "planted rules");
        let scale = 1.0 / standard_deviation(&measured.noise_free);
        let train = self.draw(self.n_rows, "planted train");
        let test = self.draw(self.n_test_rows, "planted test");
        let best_predictions = test.noise_free.iter().map(|value| value * scale).collect();
        let [measured, train, test] = [measured, train, test].map(|rows| rows.into_table(scale, self.noise));
        let (measured, train, test) = (measured?, train?, test?);
        let names = measured.features.names()[..self.d_rules].iter().map(String::as_str).collect::<Vec<_>>();
        let rules = measure_rules(&measured, &names)?;
        let parts = [&measured, &train, &test].map(|part| part.truth.extremes());
        let lowest = parts.iter().map(|part| part.0).fold(f64::INFINITY, f64::min);
        let highest = parts.iter().map(|part| part.1).fold(f64::NEG_INFINITY, f64::max);
        let range = LabelRange::new(lowest, highest)?;
        Ok(PlantedRegressionProblem {
            problem: RuleProblem {
                train: RuleDataset::new(train.features, rules, Some(range))?,
                train_truth: train.truth,
                simulation: Some(measured),
                test,
            },
            best_error: self.noise,
            best_predictions,
        })
    }

    fn check(&self) -> Result<()> {
        check_at_least_one(&[("n_rows", self.n_rows), ("n_test_rows", self.n_test_rows)])?;
        check_cells("d_features", self.d_features, MEASURED_ROWS)?;
        check_cells("n_rows", self.n_rows, self.d_features)?;
        check_cells("n_test_rows", self.n_test_rows, self.d_features)?;
        let expected = || format!("1 to {}, the number of columns", self.d_features);
        let is_some = (1..=self.d_features).contains(&self.d_rules);
        ensure(is_some, || Error::config("d_rules", expected(), self.d_rules))?;
        let expected = "a number from 0 to below 1";
        ensure((0.0..1.0).contains(&self.correlation), || Error::config("correlation", expected, self.correlation))?;
        Ok(check_not_negative(&[("noise", self.noise)])?)
    }

    fn draw(&self, n_rows: usize, purpose: &str) -> Rows {
        let mut rng = stream(self.seed, purpose);
        let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let (shared, own) = (self.correlation.sqrt(), (1.0 - self.correlation).sqrt());
        let mut values = Array2::zeros((n_rows, self.d_features));
        let mut noise = Vec::with_capacity(n_rows);
        for mut row in values.axis_iter_mut(Axis(0)) {
            let common = shared * normal(&mut rng);
            // In single precision, as features are kept: labels are a function of what can be seen.
            row.mapv_inplace(|_: f32| (common + own * normal(&mut rng)) as f32);
            noise.push(normal(&mut rng));
        }
        let noise_free = values.axis_iter(Axis(0)).map(|row| self.function.of(row)).collect();
        Rows { values, noise_free, noise }
    }
}

impl PlantedFunction {
    fn of(self, row: ArrayView1<'_, f32>) -> f64 {
        let sum = |effect: fn(f64) -> f64| -> f64 {
            row.iter().enumerate().map(|(j, &x)| weight(j) * effect(f64::from(x))).sum()
        };
        match self {
            Self::Linear => sum(|x| x),
            Self::Saturating => sum(|x| (2.0 * x).tanh()),
            Self::Interaction => {
                let products = row.iter().zip(row.iter().skip(1)).enumerate();
                sum(|x| x) + products.map(|(j, (&x, &next))| weight(j) * f64::from(x) * f64::from(next)).sum::<f64>()
            }
        }
    }
}

/// 1, −3/4, 9/16, …
fn weight(feature: usize) -> f64 {
    (-0.75f64).powi(feature as i32)
}

/// Drawn rows: features, and labels before they are scaled.
struct Rows {
    values: Array2<f32>,
    noise_free: Vec<f64>,
    noise: Vec<f64>,
}

impl Rows {
    fn into_table(self, scale: f64, noise: f64) -> Result<ValueTable> {
        let labels = self.noise_free.iter().zip(&self.noise);
        let labels = labels.map(|(value, e)| value * scale + noise * e).collect();
        ValueTable::new(Features::new(self.values)?, TrueValues::new(labels)?)
    }
}

fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt()
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use labelflow_weak::linear::LinearRegression;
    use labelflow_weak::rules::AverageRules;
    use ndarray::array;

    use super::*;

    const FUNCTIONS: [PlantedFunction; 3] =
        [PlantedFunction::Linear, PlantedFunction::Saturating, PlantedFunction::Interaction];

    fn planted(function: PlantedFunction) -> PlantedRegression {
        PlantedRegression { function, n_rows: 4000, n_test_rows: 4000, ..Default::default() }
    }

    #[test]
    fn the_best_predictions_have_the_stated_error() {
        for function in FUNCTIONS {
            let planted = planted(function).generate().unwrap();
            let truth = &planted.problem.test.truth;
            let error = truth.root_mean_squared_error(&planted.best_predictions);
            assert_abs_diff_eq!(error, planted.best_error, epsilon = 0.01);
            assert_abs_diff_eq!(standard_deviation(&planted.best_predictions), 1.0, epsilon = 0.05);
            let average = AverageRules.fit(&planted.problem.train).unwrap();
            let predicted = average.predict(&planted.problem.test.features).unwrap();
            let average = truth.root_mean_squared_error(&predicted);
            assert!(average > 1.5 * planted.best_error && average < 1.05, "{average}");
        }
    }

    #[test]
    fn a_line_is_best_for_the_linear_function_only() {
        for (function, is_best) in FUNCTIONS.into_iter().zip([true, false, false]) {
            let planted = planted(function).generate().unwrap();
            let problem = &planted.problem;
            let line = LinearRegression.fit(problem.train.features().values(), problem.train_truth.values()).unwrap();
            let predicted = line.predict(problem.test.features.values()).unwrap();
            let error = problem.test.truth.root_mean_squared_error(&predicted);
            assert_eq!(error < 1.03 * planted.best_error, is_best, "{function:?}: {error}");
        }
    }

    #[test]
    fn functions_are_those_stated() {
        let row = array![1.0f32, 2.0, -1.0];
        let of = |function: PlantedFunction| function.of(row.view());
        assert_abs_diff_eq!(of(PlantedFunction::Linear), 1.0 - 1.5 - 0.5625, epsilon = 1e-12);
        let interaction = -1.0625 + 2.0 + 1.5;
        assert_abs_diff_eq!(of(PlantedFunction::Interaction), interaction, epsilon = 1e-12);
        let saturating = 2f64.tanh() - 0.75 * 4f64.tanh() - 0.5625 * 2f64.tanh();
        assert_abs_diff_eq!(of(PlantedFunction::Saturating), saturating, epsilon = 1e-12);
    }

    #[test]
    fn features_are_correlated_as_stated() {
        let rows = PlantedRegression::default().draw(20_000, "test");
        let values = rows.values.mapv(f64::from);
        let product = values.column(0).dot(&values.column(5)) / 20_000.0;
        assert_abs_diff_eq!(product, 0.3, epsilon = 0.03);
        assert_abs_diff_eq!(values.column(2).dot(&values.column(2)) / 20_000.0, 1.0, epsilon = 0.03);
    }

    #[test]
    fn one_seed_one_problem() {
        let train = |seed| PlantedRegression { seed, ..Default::default() }.generate().unwrap().problem.train;
        assert_eq!(train(1), train(1));
        assert_ne!(train(1), train(2));
    }

    #[test]
    fn impossible_settings_are_errors() {
        let default = PlantedRegression::default;
        for planted in [
            PlantedRegression { n_rows: 0, ..default() },
            PlantedRegression { n_test_rows: 0, ..default() },
            PlantedRegression { d_rules: 0, ..default() },
            PlantedRegression { d_rules: 9, ..default() },
            PlantedRegression { correlation: 1.0, ..default() },
            PlantedRegression { noise: f64::NAN, ..default() },
        ] {
            assert!(planted.generate().is_err(), "{planted:?}");
        }
    }
}
