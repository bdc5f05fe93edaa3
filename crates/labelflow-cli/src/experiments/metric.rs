//! What runs are judged by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// A number that says how good a system is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// In percent; more is better.
    #[default]
    Accuracy,
    /// The F1 score of class 1 of two, in percent; more is better.
    F1,
    /// The expected calibration error, in percent; less is better.
    Ece,
    /// The Brier score; less is better.
    Brier,
    /// The log loss; less is better.
    LogLoss,
    /// The accuracy on the most certain 80 % of rows, in percent; more is better.
    SurestAccuracy,
    /// The coverage of prediction sets, in percent; 90 is promised.
    SetCoverage,
    /// The mean number of classes in a prediction set; less is better.
    SetSize,
    /// The root mean squared error, in the label's units; less is better.
    Rmse,
    /// Of completions, × 10³: how near they come to complete shapes; less is better.
    Mmd,
    /// Of completions, × 10²: how much those of one scan differ; more is better, as long as they fit.
    Tmd,
    /// Of completions, × 10²: how far they stray from the scan; less is better.
    Uhd,
    /// MMD of one completion of each scan.
    MmdOfOne,
    /// The TMD of fresh points of the one true surface.
    TmdFloor,
    /// The UHD of fresh points of the one true surface.
    UhdFloor,
}

/// What tables say of a metric.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetricFacts {
    /// What a table says above its numbers.
    pub(crate) title: String,
    /// What a column of its numbers is called.
    pub(crate) column: String,
    /// Whether numbers of different datasets can be averaged.
    pub(crate) has_common_unit: bool,
    best: Option<Best>,
    n_digits: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Best {
    Highest,
    Lowest,
}

static FACTS: LazyLock<BTreeMap<Metric, MetricFacts>> =
    LazyLock::new(|| toml::from_str(include_str!("metrics.toml")).expect("a table for each metric"));

impl Metric {
    pub(crate) fn facts(self) -> &'static MetricFacts {
        &FACTS[&self]
    }

    /// A number as it is printed: percentages with one digit, others with about four digits in all.
    pub(crate) fn show(self, number: f64, like: f64) -> String {
        let n_fewer = match like.abs() {
            100.0.. if self == Self::Rmse => 2,
            10.0.. if self == Self::Rmse => 1,
            _ => 0,
        };
        format!("{number:.*}", self.facts().n_digits - n_fewer)
    }

    /// A number with its deviation, where there is one.
    pub(crate) fn with_deviation(self, number: f64, deviation: Option<f64>) -> String {
        let text = self.show(number, number);
        match deviation {
            Some(deviation) => format!("{text} ± {}", self.show(deviation, number)),
            None => text,
        }
    }

    /// A difference with its sign, so that more and less are seen at once.
    pub(crate) fn signed(self, difference: f64, like: f64) -> String {
        let text = self.show(difference.abs(), like);
        if !text.contains(|digit: char| ('1'..='9').contains(&digit)) {
            return text;
        }
        format!("{}{text}", if difference < 0.0 { '−' } else { '+' })
    }

    /// The best of some numbers, as printed: numbers that look the same are the same.
    pub(crate) fn best(self, numbers: impl Iterator<Item = f64>) -> Option<f64> {
        match self.facts().best {
            Some(Best::Highest) => numbers.reduce(f64::max),
            Some(Best::Lowest) => numbers.reduce(f64::min),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_facts() {
        assert_eq!(FACTS.len(), Metric::UhdFloor as usize + 1);
    }

    #[test]
    fn numbers_have_the_digits_that_tables_show() {
        assert_eq!(Metric::Accuracy.with_deviation(93.666, Some(0.04)), "93.7 ± 0.0");
        assert_eq!(Metric::Rmse.with_deviation(0.2106, Some(0.0091)), "0.211 ± 0.009");
        assert_eq!(Metric::Rmse.with_deviation(157.34, Some(0.52)), "157.3 ± 0.5");
        assert_eq!(Metric::Rmse.signed(-0.0123, 0.2), "−0.012");
        assert_eq!(Metric::Rmse.signed(0.0001, 0.2), "0.000");
        assert_eq!(Metric::Accuracy.signed(1.25, 90.0), "+1.2");
        assert_eq!(Metric::Rmse.best([3.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(Metric::Accuracy.best([3.0, 2.0].into_iter()), Some(3.0));
    }
}
