//! The average of what rules say of a row.
//!
//! ```text
//! prediction(x) = mean over the rules j whose region holds x of the middle of claim j
//! ```
//!
//! With a rule for each side of each threshold, every feature adds the value of the side on which the row is.

use serde::{Deserialize, Serialize};

use crate::rows::Features;
use crate::rules::{Rule, RuleDataset, Statistic};
use crate::{Error, Result};

/// Predicts the mean of the means that the rules give a row. Nothing is trained.
///
/// Claims about quantiles are not used, nor are rules about [given rows](super::Region::Rows), which say nothing of new
/// ones; [`FittedAverageRules::unused`] names them. A row that no rule speaks of gets the mean over all rules.
///
/// ```
/// use labelflow_weak::rows::Features;
/// use labelflow_weak::rules::{AverageRules, Claim, Rule, RuleDataset};
/// use ndarray::array;
///
/// let names = vec!["hour".to_owned(), "wind".to_owned()];
/// let values = array![[9.0, 1.0], [3.0, 5.0], [9.0, 5.0], [3.0, 1.0]];
/// let features = Features::with_names(values, names)?;
/// let rules = [
///     Rule::on_both_sides("hour", 6.0, Claim::mean(30.0), Claim::mean(10.0)),
///     Rule::on_both_sides("wind", 3.0, Claim::mean(16.0), Claim::mean(24.0)),
/// ];
/// let dataset = RuleDataset::new(features.clone(), rules.concat(), None)?;
/// assert_eq!(AverageRules.fit(&dataset)?.predict(&features)?, [27.0, 13.0, 23.0, 17.0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AverageRules;

/// Rules whose claims are averaged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedAverageRules {
    rules: Vec<Rule>,
    /// Names of the rules that are not used.
    pub unused: Vec<String>,
}

impl AverageRules {
    /// Takes the rules about means that can be applied to new rows.
    pub fn fit(&self, dataset: &RuleDataset) -> Result<FittedAverageRules> {
        let rules = dataset.groups().iter().map(|group| group.rule.clone());
        let (rules, others): (Vec<_>, Vec<_>) =
            rules.partition(|rule| rule.claim.statistic == Statistic::Mean && rule.region.is_general());
        if rules.is_empty() {
            let expected = "at least one about the mean where a feature is above or below a threshold";
            return Err(Error::data("rules", expected, format!("none among {}", others.len())));
        }
        let unused = others.into_iter().map(|rule| rule.name).collect();
        Ok(FittedAverageRules { rules, unused })
    }
}

impl FittedAverageRules {
    /// The prediction for each row, in the label's own units.
    pub fn predict(&self, features: &Features) -> Result<Vec<f64>> {
        let mut sums = vec![(0.0, 0usize); features.n_rows()];
        let mut sum_of_all = 0.0;
        for rule in &self.rules {
            let middle = rule.claim.middle();
            sum_of_all += middle;
            for (sum, member) in sums.iter_mut().zip(rule.region.members(features)?) {
                if member {
                    *sum = (sum.0 + middle, sum.1 + 1);
                }
            }
        }
        let mean_of_all = sum_of_all / self.rules.len() as f64;
        let mean = |(sum, n_rules)| if n_rules == 0 { mean_of_all } else { sum / n_rules as f64 };
        Ok(sums.into_iter().map(mean).collect())
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    use super::*;
    use crate::rows::LabelRange;
    use crate::rules::{Claim, Region};

    fn features(values: Array2<f32>) -> Features {
        Features::new(values).unwrap()
    }

    fn predict(rules: Vec<Rule>, rows: &Features) -> Vec<f64> {
        let range = LabelRange::new(0.0, 100.0).unwrap();
        let dataset = RuleDataset::new(rows.clone(), rules, Some(range)).unwrap();
        AverageRules.fit(&dataset).unwrap().predict(rows).unwrap()
    }

    #[test]
    fn one_rule_predicts_two_values() {
        let rows = features(array![[1.0], [2.0], [3.0], [4.0]]);
        let rules = Rule::on_both_sides("x0", 3.0, Claim::mean(7.0), Claim::mean(5.0));
        assert_eq!(predict(rules.to_vec(), &rows), [5.0, 5.0, 7.0, 7.0]);
    }

    #[test]
    fn equal_claims_predict_what_they_say() {
        let rows = features(array![[1.0, 9.0], [2.0, 3.0], [3.0, 1.0]]);
        let same = Claim::mean(4.5);
        let rules = ["x0", "x1"].map(|feature| Rule::on_both_sides(feature, 2.5, same, same));
        assert_eq!(predict(rules.concat(), &rows), [4.5; 3]);
    }

    #[test]
    fn rows_nobody_speaks_of_get_the_mean_of_all_rules() {
        let rows = features(array![[1.0], [2.0], [3.0]]);
        let at_least = |threshold| Region::AtLeast { feature: "x0".to_owned(), threshold };
        let rules = vec![
            Rule::new(at_least(2.0), Claim::mean_between(10.0, 20.0)),
            Rule::new(at_least(3.0), Claim::mean(25.0)),
        ];
        assert_eq!(predict(rules, &rows), [20.0, 15.0, 20.0]);
    }

    #[test]
    fn rules_that_say_nothing_of_new_rows_are_named() {
        let rows = features(array![[1.0], [2.0]]);
        let given = Rule::new(Region::Rows(vec![true, false]), Claim::mean(1.0)).with_name("mask");
        let median = Rule::new(Region::All, Claim::quantile(0.5, 2.0)).with_name("median");
        let all = Rule::new(Region::All, Claim::mean(3.0));
        let range = Some(LabelRange::new(0.0, 9.0).unwrap());
        let dataset = RuleDataset::new(rows.clone(), vec![given.clone(), median, all], range).unwrap();
        let fitted = AverageRules.fit(&dataset).unwrap();
        assert_eq!(fitted.unused, ["mask", "median"]);
        assert_eq!(fitted.predict(&features(array![[1.0], [2.0], [3.0]])).unwrap(), [3.0; 3]);
        let dataset = RuleDataset::new(rows, vec![given], range).unwrap();
        assert!(AverageRules.fit(&dataset).unwrap_err().to_string().contains("none among 1"));
    }

    proptest! {
        #[test]
        fn a_measured_rule_has_the_mean_of_its_rows(
            rows in proptest::collection::vec((-10.0f32..10.0, 0.0f64..100.0), 2..60),
        ) {
            let values = rows.iter().map(|row| row.0).collect();
            let table = features(Array2::from_shape_vec((rows.len(), 1), values).unwrap());
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let threshold = mean(&rows.iter().map(|row| f64::from(row.0)).collect::<Vec<_>>());
            let labels = |above: bool| rows.iter()
                .filter(|row| (row.0 >= threshold as f32) == above).map(|row| row.1)
                .collect::<Vec<_>>();
            prop_assume!(!labels(true).is_empty() && !labels(false).is_empty());
            let [above, below] = [true, false].map(|side| Claim::mean(mean(&labels(side))));
            let rules = Rule::on_both_sides("x0", threshold, above, below).to_vec();
            let predicted = predict(rules, &table);
            let all = rows.iter().map(|row| row.1).collect::<Vec<_>>();
            assert_abs_diff_eq!(mean(&predicted), mean(&all), epsilon = 1e-9);
        }
    }
}
