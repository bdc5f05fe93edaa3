//! What runs are judged by.

use serde::{Deserialize, Serialize};

/// A number that says how good a system is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// In percent; more is better.
    #[default]
    Accuracy,
    /// The root mean squared error, in the label's units; less is better.
    Rmse,
}

impl Metric {
    /// What a table says above its numbers.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Accuracy => "mean accuracy over runs ± deviation, in percent",
            Self::Rmse => "mean over runs of the root mean squared error ± deviation",
        }
    }

    /// Whether numbers of different datasets can be averaged.
    pub(crate) fn has_common_unit(self) -> bool {
        self == Self::Accuracy
    }

    /// A number as it is printed: percentages with one digit, others with about four digits in all.
    pub(crate) fn show(self, number: f64, like: f64) -> String {
        format!("{number:.*}", self.n_digits(like))
    }

    /// A number with its deviation, where there is one.
    pub(crate) fn with_deviation(self, number: f64, deviation: Option<f64>) -> String {
        match deviation {
            Some(deviation) => {
                format!("{} ± {}", self.show(number, number), self.show(deviation, number))
            }
            None => self.show(number, number),
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
        match self {
            Self::Accuracy => numbers.reduce(f64::max),
            Self::Rmse => numbers.reduce(f64::min),
        }
    }

    fn n_digits(self, like: f64) -> usize {
        match self {
            Self::Accuracy => 1,
            Self::Rmse if like.abs() >= 100.0 => 1,
            Self::Rmse if like.abs() >= 10.0 => 2,
            Self::Rmse => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
