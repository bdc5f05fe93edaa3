//! Regression problems made from labelled tables, as the paper makes them: labels are known only through rules.
//!
//! ```text
//! 1. split the rows 4 : 3 : 3 into train, simulation and test, at random
//! 2. threshold of a feature = its mean over the simulation rows
//! 3. two rules a feature: the mean label of the simulation rows at or above the threshold, and of those below it
//! 4. range of the labels = the lowest and the highest label of the table
//! ```
//!
//! Features and thresholds keep their own units, so that rules can be read; who learns from them scales features itself.

use labelflow_weak::rows::{Features, LabelRange, TrueValues};
use labelflow_weak::rules::{Claim, Rule, RuleDataset};

use crate::catalog::Split;
use crate::{Error, Result, ensure};

/// A table with a real-valued label a row.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueTable {
    /// The input table.
    pub features: Features,
    /// The true labels.
    pub truth: TrueValues,
}

impl ValueTable {
    /// Checks that there are as many labels as rows.
    pub fn new(features: Features, truth: TrueValues) -> Result<Self> {
        let (n_rows, found) = (features.n_rows(), truth.n_rows());
        let expected = || format!("{n_rows} rows, as many as the features have");
        ensure(found == n_rows, || Error::config("true values", expected(), found))?;
        Ok(Self { features, truth })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.features.n_rows()
    }

    /// The rows with these indices, in this order.
    ///
    /// # Panics
    ///
    /// If `rows` is empty or an index is out of range.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self { features: self.features.select_rows(rows), truth: self.truth.select_rows(rows) }
    }
}

/// A regression task with the means to evaluate it.
///
/// Training takes [`train`](Self::train) alone, which holds no true label.
#[derive(Debug, Clone)]
pub struct RuleProblem {
    /// What training sees.
    pub train: RuleDataset,
    /// The true labels of the training rows, for evaluation and for supervised references.
    pub train_truth: TrueValues,
    /// The labelled rows from which the rules were measured. Nothing where experts wrote them.
    pub simulation: Option<ValueTable>,
    /// Rows nobody saw.
    pub test: ValueTable,
}

impl RuleProblem {
    /// Number of rows of all parts together.
    pub fn n_rows(&self) -> usize {
        let n_simulation = self.simulation.as_ref().map_or(0, ValueTable::n_rows);
        self.train.n_rows() + n_simulation + self.test.n_rows()
    }
}

/// Splits a labelled table and measures two rules for each of these features.
///
/// The range of the labels is that of the whole table: whoever knows what a label is knows between which values it lies.
///
/// ```
/// use labelflow_data::catalog::{embedded, simulate_rules};
///
/// let problem = simulate_rules(&embedded::diabetes(), &["bmi", "bp", "s5"], 0)?;
/// assert_eq!(problem.n_rows(), 442);
/// assert_eq!(problem.train.groups().len(), 6);
/// # Ok::<(), labelflow_data::Error>(())
/// ```
pub fn simulate_rules(table: &ValueTable, features: &[&str], seed: u64) -> Result<RuleProblem> {
    let split = Split::random(table.n_rows(), seed);
    split.check()?;
    let simulation = table.select_rows(&split.simulation);
    let rules = measure_rules(&simulation, features)?;
    let (lowest, highest) = table.truth.extremes();
    let range = LabelRange::new(lowest, highest)?;
    let train = table.select_rows(&split.train);
    Ok(RuleProblem {
        train: RuleDataset::new(train.features, rules, Some(range))?,
        train_truth: train.truth,
        simulation: Some(simulation),
        test: table.select_rows(&split.test),
    })
}

/// Two rules for each of these features: the mean label at or above the feature's mean, and below it. A side without rows,
/// as with a constant feature, gets no rule.
pub fn measure_rules(table: &ValueTable, features: &[&str]) -> Result<Vec<Rule>> {
    ensure(!features.is_empty(), || Error::config("features of the rules", "at least one", "none"))?;
    let mut rules = Vec::with_capacity(2 * features.len());
    for &feature in features {
        let column = table.features.column(feature)?;
        let threshold = mean(table.features.values().column(column).iter().copied()).expect("a table has rows");
        // The claims are not known before the regions are.
        let unknown = Claim::mean(f64::NAN);
        for rule in Rule::on_both_sides(feature, threshold, unknown, unknown) {
            let members = rule.region.members(&table.features)?;
            let labels = table.truth.values().iter().zip(&members);
            let inside = labels.filter(|(_, member)| **member).map(|(label, _)| *label);
            rules.extend(mean(inside).map(|mean| Rule { claim: Claim::mean(mean), ..rule }));
        }
    }
    Ok(rules)
}

/// The mean, or nothing where there are no values.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / n as f64)
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use labelflow_weak::rules::{AverageRules, Region};
    use ndarray::array;

    use super::*;
    use crate::catalog::embedded;

    #[test]
    fn rules_are_the_means_of_the_simulation_rows() {
        let names = ["a", "constant"].map(str::to_owned).to_vec();
        let features = Features::with_names(array![[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]], names);
        let truth = TrueValues::new(vec![10.0, 20.0, 60.0]).unwrap();
        let table = ValueTable::new(features.unwrap(), truth).unwrap();
        let rules = measure_rules(&table, &["a", "constant"]).unwrap();
        let at_least = |feature: &str, threshold| Region::AtLeast { feature: feature.to_owned(), threshold };
        let below = Region::Below { feature: "a".to_owned(), threshold: 3.0 };
        assert_eq!(
            rules,
            [
                Rule::new(at_least("a", 3.0), Claim::mean(60.0)),
                Rule::new(below, Claim::mean(15.0)),
                Rule::new(at_least("constant", 5.0), Claim::mean(30.0)),
            ]
        );
    }

    #[test]
    fn simulated_problems_hold_together() {
        let table = embedded::diabetes();
        let problem = simulate_rules(&table, &["bmi", "bp", "s5"], 0).unwrap();
        let simulation = problem.simulation.as_ref().unwrap();
        let n_rows = [problem.train.n_rows(), simulation.n_rows(), problem.test.n_rows()];
        assert_eq!(n_rows, [177, 132, 133]);
        assert_eq!((problem.train.range().lower(), problem.train.range().upper()), (25.0, 346.0));
        assert!(problem.train.warnings().is_empty());
        // A rule's predictions have the mean of the labels it was measured on.
        let rules = measure_rules(simulation, &["bmi"]).unwrap();
        let one = RuleDataset::new(simulation.features.clone(), rules, None).unwrap();
        let predicted = AverageRules.fit(&one).unwrap().predict(&simulation.features).unwrap();
        let labels = simulation.truth.values();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert_abs_diff_eq!(mean(&predicted), mean(labels), epsilon = 1e-9);
    }

    #[test]
    fn the_seed_decides() {
        let table = embedded::diabetes();
        let train = |seed| simulate_rules(&table, &["bmi"], seed).unwrap().train;
        assert_eq!(train(3), train(3));
        assert_ne!(train(3), train(4));
    }

    #[test]
    fn what_cannot_be_simulated_is_an_error() {
        let table = embedded::diabetes();
        assert!(simulate_rules(&table, &[], 0).is_err());
        let error = simulate_rules(&table, &["weight"], 0).unwrap_err().to_string();
        assert!(error.contains("a column 'weight', found age, sex, bmi"), "{error}");
        let error = simulate_rules(&table.select_rows(&[0]), &["bmi"], 0).unwrap_err().to_string();
        assert!(error.contains("leaves no"), "{error}");
        let few = TrueValues::new(vec![1.0]).unwrap();
        assert!(ValueTable::new(table.features, few).is_err());
    }
}
