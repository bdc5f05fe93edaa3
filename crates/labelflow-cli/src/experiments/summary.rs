//! Many runs in one table: a line per dataset and system, and their means over datasets.

use super::metric::Metric;
use super::run_file::Expectation;
use crate::commands::run::RunResult;
use crate::terminal::output;

/// What the runs of one system on one dataset come to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    set: String,
    system: String,
    n_runs: usize,
    metric: Metric,
    /// Mean and population deviation over the runs.
    value: (f64, f64),
    ece: Option<f64>,
    seconds: f64,
    /// The mean time of a completion, of trained systems of completion.
    completion_ms: Option<f64>,
    expectation: Expectation,
}

impl Summary {
    /// Whether the mean is worse than what is expected.
    pub(crate) fn is_missed(&self) -> bool {
        let Expectation { at_least, at_most, .. } = self.expectation;
        at_least.is_some_and(|least| self.value.0 < least) || at_most.is_some_and(|most| self.value.0 > most)
    }

    fn verdict(&self) -> String {
        let limit = |sign: &str, limit: f64| format!("{sign} {}", self.metric.show(limit, limit));
        let Expectation { at_least, at_most, .. } = self.expectation;
        let limits = [at_least.map(|least| limit("≥", least)), at_most.map(|most| limit("≤", most))];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        let limits = limits.join(", ");
        if self.is_missed() { format!("missed: {limits}") } else { limits }
    }
}

/// Summaries of all systems on all datasets that were run, and for systems with several datasets the means over them.
pub(crate) fn summarize(results: &[RunResult]) -> Vec<Summary> {
    let mut summaries = Vec::new();
    let groups = grouped(results, |run| (&run.table, &run.set, &run.system, run.metric));
    for ((_, set, system, metric), runs) in groups {
        summaries.push(Summary {
            set: set.clone(),
            system: system.clone(),
            n_runs: runs.len(),
            metric,
            value: mean_and_deviation(&runs, |run| run.value),
            ece: mean_of_known(&runs, |run| run.ece),
            seconds: mean_and_deviation(&runs, |run| run.seconds).0,
            completion_ms: mean_of_known(&runs, |run| run.completion_ms),
            expectation: runs[0].expectation.of(metric),
        });
    }
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
    let mut columns = grouped(summaries, |summary| (&summary.system, summary.metric));
    columns.sort_unstable_by_key(|(column, _)| *column);
    let mut means = Vec::new();
    for ((system, metric), sets) in columns {
        if sets.len() < 2 || !metric.has_common_unit() {
            continue;
        }
        let known =
            |number: fn(&Expectation) -> Option<f64>| mean_of_known(&sets, |summary| number(&summary.expectation));
        let independent = known(|expectation| expectation.independent);
        let is_expected = known(|expectation| expectation.at_least).is_some();
        means.push(Summary {
            set: format!("mean of {} sets", sets.len()),
            system: system.clone(),
            n_runs: sets.iter().map(|summary| summary.n_runs).sum(),
            metric,
            value: mean_and_deviation(&sets, |summary| summary.value.0),
            ece: mean_of_known(&sets, |summary| summary.ece),
            seconds: mean_and_deviation(&sets, |summary| summary.seconds).0,
            completion_ms: None,
            expectation: Expectation {
                paper: known(|expectation| expectation.paper),
                paper_std: None,
                independent,
                at_least: independent.filter(|_| is_expected),
                ..Expectation::default()
            },
        });
    }
    means
}

/// One table per metric, for people.
pub(crate) fn table(summaries: &[Summary]) -> String {
    let mut metrics = grouped(summaries, |summary| summary.metric);
    metrics.sort_unstable_by_key(|(metric, _)| *metric);
    let of_metric = |(metric, summaries): &(Metric, Vec<&Summary>)| table_of_metric(summaries, metric.column());
    let tables = metrics.iter().map(of_metric).chain(table_of_times(summaries));
    tables.collect::<Vec<_>>().join("\n\n")
}

/// How long completions take, where any were made by trained systems.
fn table_of_times(summaries: &[Summary]) -> Option<String> {
    let of_mmd = summaries.iter().filter(|summary| summary.metric == Metric::Mmd);
    let rows: Vec<[String; 3]> = of_mmd
        .filter_map(|summary| {
            let time = format!("{:.2}", summary.completion_ms?);
            Some([summary.set.clone(), summary.system.clone(), time])
        })
        .collect();
    (!rows.is_empty()).then(|| output::table(["set", "system", "ms per completion"], rows))
}

fn table_of_metric(summaries: &[&Summary], name: &str) -> String {
    let header = ["set", "system", "runs", name, "paper", "independent", "ECE %", "seconds per run", "expected"];
    let rows = summaries.iter().map(|summary| {
        let expectation = &summary.expectation;
        let with_deviation = |number: Option<f64>, deviation| {
            number.map_or_else(String::new, |number| summary.metric.with_deviation(number, deviation))
        };
        [
            summary.set.clone(),
            summary.system.clone(),
            summary.n_runs.to_string(),
            with_deviation(Some(summary.value.0), Some(summary.value.1)),
            with_deviation(expectation.paper, expectation.paper_std),
            with_deviation(expectation.independent, None),
            summary.ece.map_or_else(String::new, |ece| format!("{ece:.1}")),
            format!("{:.1}", summary.seconds),
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
        assert_eq!(summaries[0].value, (90.0, 2.0));
        let missed: Vec<bool> = summaries.iter().map(Summary::is_missed).collect();
        // The last line is the mean over both sets: 84, expected 85.
        assert_eq!(missed, [false, true, true]);
        assert!(table(&summaries).contains("mean of 2 sets"));
    }
}
