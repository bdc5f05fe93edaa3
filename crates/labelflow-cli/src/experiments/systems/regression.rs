//! The systems of regression: each is trained on what training may see, and judged on test rows.

use labelflow::LabelFlowRegressor;
use labelflow::evaluation::{point_metrics, regression_metrics};
use labelflow::flow::Activation;
use labelflow::learners::{FitOptions, Scaling};
use labelflow::linear::LinearRegression;
use labelflow::rules::AverageRules;
use labelflow::training::Observer;
use labelflow_data::catalog::RuleProblem;

use super::{Evaluation, named};
use crate::experiments::metric::Metric;

/// A system of regression by the name it has in files and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RegressionSystem {
    /// The flow as configured.
    Llf,
    /// Without the likelihood term.
    LlfWoNll,
    /// The flow with other networks and scalings, since the paper does not say which it has: an index of [`READINGS`].
    LlfReading(usize),
    /// Rules that speak of a row, averaged.
    Avg,
    /// Least squares on true labels: a reference, not a competitor.
    Sl,
}

/// What follows the hidden layers, and what is done to features; weights do not decay.
const READINGS: [(&str, Activation, Scaling); 6] = [
    ("llf-norm-standardize", Activation::NormalizedSilu, Scaling::Standardize),
    ("llf-norm-range", Activation::NormalizedSilu, Scaling::Range),
    ("llf-tanh-standardize", Activation::Tanh, Scaling::Standardize),
    ("llf-tanh-range", Activation::Tanh, Scaling::Range),
    ("llf-relu-standardize", Activation::Relu, Scaling::Standardize),
    ("llf-relu-range", Activation::Relu, Scaling::Range),
];

impl RegressionSystem {
    /// All of them by their names, in the order of tables.
    fn all() -> Vec<(&'static str, Self)> {
        let readings = READINGS.iter().enumerate().map(|(reading, (name, ..))| (*name, Self::LlfReading(reading)));
        let mut all = vec![("llf", Self::Llf), ("llf-wo-nll", Self::LlfWoNll)];
        all.extend(readings);
        all.extend([("avg", Self::Avg), ("sl", Self::Sl)]);
        all
    }

    pub(crate) fn from_name(name: &str) -> anyhow::Result<Self> {
        named(&Self::all(), name)
    }

    /// Trains on the training part of a problem and judges on its test part.
    pub(crate) fn evaluate(
        self,
        problem: &RuleProblem,
        config: &LabelFlowRegressor,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Evaluation> {
        let test = &problem.test;
        let train = &problem.train;
        let predicted = match self {
            Self::Avg => AverageRules.fit(train)?.predict(&test.features)?,
            Self::Sl => LinearRegression
                .fit(train.features().values(), problem.train_truth.values())?
                .predict(test.features.values())?,
            _ => {
                let options = FitOptions { observer: Some(observer), ..FitOptions::default() };
                let model = self.flow(config).fit_with(train, options)?;
                let labels = model.predict_distribution(&test.features)?;
                let metrics = regression_metrics(&labels, &test.truth)?;
                return Ok(Evaluation {
                    values: vec![(Metric::Rmse, metrics.rmse)],
                    intervals: metrics.intervals,
                    report: Some(model.report().clone()),
                    ..Evaluation::default()
                });
            }
        };
        let values = vec![(Metric::Rmse, point_metrics(&predicted, &test.truth)?.rmse)];
        Ok(Evaluation { values, ..Evaluation::default() })
    }

    /// The settings of a flow.
    fn flow(self, config: &LabelFlowRegressor) -> LabelFlowRegressor {
        let config = config.clone();
        match self {
            Self::LlfWoNll => LabelFlowRegressor { likelihood_weight: 0.0, ..config },
            Self::LlfReading(reading) => {
                let (_, activation, scaling) = READINGS[reading];
                LabelFlowRegressor { activation, scaling, weight_decay: 0.0, ..config }
            }
            _ => config,
        }
    }
}

#[cfg(test)]
mod tests {
    use labelflow::TrainConfig;
    use labelflow_data::catalog::{embedded, simulate_rules};

    use super::*;

    #[test]
    fn every_system_runs_on_a_table() {
        let problem = simulate_rules(&embedded::diabetes(), &["bmi", "bp", "s5"], 0).unwrap();
        let config = LabelFlowRegressor {
            n_steps: 2,
            d_hidden: 4,
            training: TrainConfig { max_epochs: 3, ..TrainConfig::default() },
            ..LabelFlowRegressor::default()
        };
        for (name, system) in RegressionSystem::all() {
            assert_eq!(RegressionSystem::from_name(name).unwrap(), system);
            let found = system.evaluate(&problem, &config, &mut ()).unwrap();
            let most = match system {
                RegressionSystem::Sl => 65.0,
                RegressionSystem::Avg => 75.0,
                // Hardly trained here.
                _ => 200.0,
            };
            let (_, value) = found.values[0];
            assert!(value < most, "{system:?}: {value}");
            assert_eq!(found.intervals.len(), if found.report.is_some() { 3 } else { 0 });
        }
        let error = RegressionSystem::from_name("mv").unwrap_err().to_string();
        assert!(error.contains("llf-wo-nll") && error.contains("'mv'"), "{error}");
    }
}
