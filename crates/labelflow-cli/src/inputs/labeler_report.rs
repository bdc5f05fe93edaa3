//! What each labeler does, and how accurate it seems to be.

use labelflow::labelers::LabelerSummary;
use labelflow::votes::VoteTally;
use serde::Serialize;

use crate::terminal::output::{self, percent};

/// One labeler, as `analyze` and `label` describe it.
#[derive(Debug, Serialize)]
pub(crate) struct LabelerReport {
    #[serde(flatten)]
    pub(crate) summary: LabelerSummary,
    /// The share of its votes that is expected to be correct if the labels have the probabilities that the label model
    /// gives; nothing without votes.
    pub(crate) learned_accuracy: Option<f64>,
    /// How often it is expected to vote for each class on rows of each class: one list for each class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confusion: Option<Vec<Vec<f64>>>,
}

impl LabelerReport {
    /// Describes all labelers from sums over their votes and labels.
    pub(crate) fn of_tally(tally: &VoteTally) -> Vec<Self> {
        let labelers = tally.summaries().into_iter().zip(tally.learned_accuracies());
        let report = |(summary, learned_accuracy)| Self { summary, learned_accuracy, confusion: None };
        labelers.map(report).collect()
    }

    /// The same with the confusion matrix of each, unless they are too many.
    pub(crate) fn with_confusions(tally: &VoteTally) -> Vec<Self> {
        let mut reports = Self::of_tally(tally);
        for (report, confusion) in reports.iter_mut().zip(tally.confusions().into_iter().flatten()) {
            report.confusion = Some(confusion.rows().into_iter().map(|row| row.to_vec()).collect());
        }
        reports
    }

    /// The classes it votes for, by name.
    pub(crate) fn polarity(&self, classes: &[String]) -> String {
        let names = self.summary.polarity.iter().map(|&class| classes[class].as_str());
        names.collect::<Vec<_>>().join(" ")
    }
}

/// All labelers as a table for people.
pub(crate) fn table(reports: &[LabelerReport], classes: &[String]) -> String {
    let rows = reports.iter().map(|report| {
        let summary = &report.summary;
        [
            summary.name.clone(),
            report.polarity(classes),
            summary.n_votes.to_string(),
            percent(summary.coverage),
            percent(summary.overlaps),
            percent(summary.conflicts),
            report.learned_accuracy.map(percent).unwrap_or_default(),
            summary.accuracy.map(percent).unwrap_or_default(),
        ]
    });
    let header =
        ["labeler", "polarity", "votes", "coverage %", "overlaps %", "conflicts %", "learned accuracy %", "accuracy %"];
    output::table(header, rows)
}
