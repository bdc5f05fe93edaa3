//! Many runs in one table: a line per dataset and system, and their means over datasets.

use super::metric::Metric;
use super::run_file::Expectation;
use crate::commands::run::RunResult;
use crate::report::ReportCell;
use crate::terminal::output;

/// What the runs of one system on one dataset come to, and what is expected of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    cell: ReportCell,
    metric: Metric,
    /// The mean time of a completion, of trained systems of completion.
    completion_ms: Option<f64>,
    /// A lower mean is a miss.
    at_least: Option<f64>,
    /// A higher mean is a miss.
    at_most: Option<f64>,
}

impl Summary {
    /// Whether the mean is worse than what is expected.
    pub(crate) fn is_missed(&self) -> bool {
        let mean = self.cell.mean;
        self.at_least.is_some_and(|least| mean < least) || self.at_most.is_some_and(|most| mean > most)
    }

    fn verdict(&self) -> String {
        let limit = |sign: &str, limit: f64| format!("{sign} {}", self.metric.show(limit, limit));
        let limits = [self.at_least.map(|least| limit("≥", least)), self.at_most.map(|most| limit("≤", most))];
        let limits = limits.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if self.is_missed() { format!("missed: {limits}") } else { limits }
    }
}

/// Summaries of all systems on all datasets that were run, and for systems with several datasets the means over them.
pub(crate) fn summarize(results: &[RunResult]) -> Vec<Summary> {
    let groups = grouped(results, |run| (&run.table, &run.set, &run.system, run.metric)).into_iter();
    let summary = |((_, _, _, metric), runs): (_, Vec<&RunResult>)| {
        let Expectation { at_least, at_most, .. } = runs[0].expectation.of(metric);
        let completion_ms = mean_of_known(&runs, |run| run.completion_ms);
        Summary { cell: ReportCell::of(&runs), metric, completion_ms, at_least, at_most }
    };
    let mut summaries: Vec<Summary> = groups.map(summary).collect();
    summaries.extend(means_over_sets(&summaries));
    summaries
}

/// Items with the same key, in the order in which they are met.
pub(crate) fn grouped<'a, T, K: PartialEq>(
    items: impl IntoIterator<Item = &'a T>,
    key: impl Fn(&'a T) -> K,
) -> Vec<(K, Vec<&'a T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// One line per system that ran on several datasets. Where something is expected on each of them and all figures of the
/// independent program are known, the mean is expected to reach that program's.
fn means_over_sets(summaries: &[Summary]) -> Vec<Summary> {
    let mut columns = grouped(summaries, |summary| (&summary.cell.system, summary.metric));
    columns.retain(|((_, metric), sets)| sets.len() > 1 && metric.facts().has_common_unit);
    columns.sort_unstable_by_key(|(column, _)| *column);
    let mean = |((system, metric), sets): ((&String, Metric), Vec<&Summary>)| {
        let known = |number: fn(&Summary) -> Option<f64>| mean_of_known(&sets, |summary| number(summary));
        let (mean, deviation) = mean_and_deviation(&sets, |summary| summary.cell.mean);
        let independent = known(|summary| summary.cell.independent);
        let is_expected = known(|summary| summary.at_least).is_some();
        let cell = ReportCell {
            set: format!("mean of {} sets", sets.len()),
            system: system.clone(),
            n_runs: sets.iter().map(|summary| summary.cell.n_runs).sum(),
            mean,
            deviation,
            paper: known(|summary| summary.cell.paper),
            independent,
            calibration_error: known(|summary| summary.cell.calibration_error),
            seconds: mean_and_deviation(&sets, |summary| summary.cell.seconds).0,
            ..ReportCell::default()
        };
        let at_least = independent.filter(|_| is_expected);
        Summary { cell, metric, completion_ms: None, at_least, at_most: None }
    };
    columns.into_iter().map(mean).collect()
}

/// One table per metric, for people.
pub(crate) fn table(summaries: &[Summary]) -> String {
    let mut metrics = grouped(summaries, |summary| summary.metric);
    metrics.sort_unstable_by_key(|(metric, _)| *metric);
    let of_metric = |(metric, summaries): &(Metric, Vec<&Summary>)| table_of_metric(summaries, &metric.facts().column);
    let tables = metrics.iter().map(of_metric).chain(table_of_times(summaries));
    tables.collect::<Vec<_>>().join("\n\n")
}

/// How long completions take, where any were made by trained systems.
fn table_of_times(summaries: &[Summary]) -> Option<String> {
    let of_mmd = summaries.iter().filter(|summary| summary.metric == Metric::Mmd);
    let rows: Vec<[String; 3]> = of_mmd
        .filter_map(|summary| {
            let time = format!("{:.2}", summary.completion_ms?);
            Some([summary.cell.set.clone(), summary.cell.system.clone(), time])
        })
        .collect();
    (!rows.is_empty()).then(|| output::table(["set", "system", "ms per completion"], rows))
}

fn table_of_metric(summaries: &[&Summary], name: &str) -> String {
    let header = ["set", "system", "runs", name, "paper", "independent", "ECE %", "seconds per run", "expected"];
    let rows = summaries.iter().map(|summary| {
        let cell = &summary.cell;
        let with_deviation = |number: Option<f64>, deviation| {
            number.map_or_else(String::new, |number| summary.metric.with_deviation(number, deviation))
        };
        [
            cell.set.clone(),
            cell.system.clone(),
            cell.n_runs.to_string(),
            with_deviation(Some(cell.mean), Some(cell.deviation)),
            with_deviation(cell.paper, cell.paper_deviation),
            with_deviation(cell.independent, None),
            cell.calibration_error.map_or_else(String::new, |error| format!("{error:.1}")),
            format!("{:.1}", cell.seconds),
            summary.verdict(),
        ]
    });
    output::table(header, rows)
}

/// The mean of what is known of all items.
pub(crate) fn mean_of_known<T>(items: &[T], value: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = items.iter().map(value).collect();
    values.map(|values| mean_and_deviation(&values, |value| *value).0)
}

/// The mean and the population deviation.
pub(crate) fn mean_and_deviation<T>(items: &[T], value: impl Fn(&T) -> f64) -> (f64, f64) {
    let n = items.len() as f64;
    let mean = items.iter().map(&value).sum::<f64>() / n;
    let variance = items.iter().map(|item| (value(item) - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(set: &str, value: f64, independent: f64, at_least: f64) -> RunResult {
        RunResult {
            table: "t".to_owned(),
            set: set.to_owned(),
            system: "llf".to_owned(),
            seed: 0,
            metric: Metric::Accuracy,
            value,
            ece: Some(1.0),
            intervals: Vec::new(),
            seconds: 2.0,
            epoch_ms: None,
            n_epochs: None,
            stop: None,
            completion_ms: None,
            expectation: Expectation {
                independent: Some(independent),
                at_least: Some(at_least),
                ..Expectation::default()
            },
        }
    }

    #[test]
    fn a_mean_below_its_expectation_is_missed() {
        let a = |value| result("a", value, 90.0, 89.0);
        let summaries = summarize(&[a(88.0), a(92.0), result("b", 78.0, 80.0, 79.0)]);
        assert_eq!((summaries[0].cell.mean, summaries[0].cell.deviation), (90.0, 2.0));
        let missed: Vec<bool> = summaries.iter().map(Summary::is_missed).collect();
        // The last line is the mean over both sets: 84, expected 85.
        assert_eq!(missed, [false, true, true]);
        assert!(table(&summaries).contains("mean of 2 sets"));
    }
}
