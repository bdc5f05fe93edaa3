//! What runs are judged by.

use serde::{Deserialize, Serialize};

/// A number that says how good a system is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// In percent; more is better.
    #[default]
    Accuracy,
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

impl Metric {
    /// What a table says above its numbers.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Accuracy => "mean accuracy over runs ± deviation, in percent",
            Self::Ece => "expected calibration error ± deviation, in percent",
            Self::Brier => "Brier score ± deviation",
            Self::LogLoss => "log loss ± deviation",
            Self::SurestAccuracy => "accuracy on the most certain 80 % of rows ± deviation, in percent",
            Self::SetCoverage => "coverage of prediction sets ± deviation, in percent; 90 is promised",
            Self::SetSize => "classes per prediction set ± deviation",
            Self::Rmse => "mean over runs of the root mean squared error ± deviation",
            Self::Mmd => "MMD × 10³: from complete shapes to completions",
            Self::Tmd => "TMD × 10²: between the completions of a scan",
            Self::Uhd => "UHD × 10²: from scans to their completions",
            Self::MmdOfOne => "MMD × 10³ of one completion of each scan",
            Self::TmdFloor => "TMD × 10² of fresh points of the true surface",
            Self::UhdFloor => "UHD × 10² of fresh points of the true surface",
        }
    }

    /// What a column of its numbers is called.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy %",
            Self::Ece => "ECE %",
            Self::Brier => "Brier",
            Self::LogLoss => "log loss",
            Self::SurestAccuracy => "accuracy % of the most certain 80 %",
            Self::SetCoverage => "set coverage %",
            Self::SetSize => "set size",
            Self::Rmse => "RMSE",
            Self::Mmd => "MMD × 10³",
            Self::Tmd => "TMD × 10²",
            Self::Uhd => "UHD × 10²",
            Self::MmdOfOne => "MMD × 10³ of one",
            Self::TmdFloor => "TMD floor × 10²",
            Self::UhdFloor => "UHD floor × 10²",
        }
    }

    /// Whether numbers of different datasets can be averaged.
    pub(crate) fn has_common_unit(self) -> bool {
        match self {
            Self::Accuracy | Self::Ece | Self::Brier | Self::LogLoss => true,
            Self::SurestAccuracy | Self::SetCoverage | Self::SetSize => true,
            Self::Rmse | Self::Mmd | Self::Tmd | Self::Uhd => false,
            Self::MmdOfOne | Self::TmdFloor | Self::UhdFloor => false,
        }
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
            Self::Accuracy | Self::SurestAccuracy | Self::Tmd => numbers.reduce(f64::max),
            Self::Ece | Self::Brier | Self::LogLoss | Self::SetSize => numbers.reduce(f64::min),
            Self::Rmse | Self::Mmd | Self::MmdOfOne | Self::Uhd => numbers.reduce(f64::min),
            Self::TmdFloor | Self::UhdFloor | Self::SetCoverage => None,
        }
    }

    fn n_digits(self, like: f64) -> usize {
        match self {
            Self::Accuracy | Self::Ece | Self::SurestAccuracy | Self::SetCoverage => 1,
            Self::Brier | Self::LogLoss => 3,
            Self::SetSize => 2,
            Self::Mmd | Self::Tmd | Self::Uhd => 2,
            Self::MmdOfOne | Self::TmdFloor | Self::UhdFloor => 2,
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
