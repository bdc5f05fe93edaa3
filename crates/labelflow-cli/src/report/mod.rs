//! Tables of many runs, as papers print them: datasets against systems.
//!
//! [`tables`] makes of runs what every format shows; a format is one file here with one function from tables to text.
//!
//! A page ([`page`], [`html`](html())) has further sections, one file each.

mod csv;
mod html;
mod latex;
mod markdown;
mod model_folder;
pub(crate) mod page;
mod predictions_section;
mod signals_section;
mod tables_section;
mod training_section;
mod values_section;

use labelflow::evaluation::IntervalMetrics;
use serde::Serialize;

use crate::chart::DataTable;
use crate::commands::run::RunResult;
use crate::experiments::metric::Metric;
use crate::experiments::run_file::Expectation;
use crate::experiments::summary::{grouped, mean_and_deviation, mean_of_known};
use crate::experiments::systems::AnySystem;
use crate::terminal::output::percent;

pub(crate) use csv::csv;
pub(crate) use html::html;
pub(crate) use latex::latex;
pub(crate) use markdown::markdown;
pub(crate) use model_folder::{ModelFolder, shorten_names};
pub(crate) use predictions_section::predictions_section;
pub(crate) use signals_section::{SignalsReport, signals_section};
pub(crate) use tables_section::tables_section;
pub(crate) use training_section::training_section;
pub(crate) use values_section::values_section;

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ReportTable {
    pub(crate) name: String,
    pub(crate) metric: Metric,
    /// Datasets, in the order in which they were met.
    pub(crate) sets: Vec<String>,
    /// Systems, in the order that was asked for or that of all tables.
    pub(crate) systems: Vec<String>,
    /// What is known of each dataset and system that was run, by datasets first.
    pub(crate) cells: Vec<ReportCell>,
}

/// What the runs of one system on one dataset come to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ReportCell {
    pub(crate) set: String,
    pub(crate) system: String,
    pub(crate) n_runs: usize,
    pub(crate) mean: f64,
    /// The population deviation over the runs.
    pub(crate) deviation: f64,
    pub(crate) paper: Option<f64>,
    pub(crate) paper_deviation: Option<f64>,
    /// The mean minus the paper's.
    pub(crate) difference: Option<f64>,
    pub(crate) independent: Option<f64>,
    /// The expected calibration error, mean over the runs.
    pub(crate) calibration_error: Option<f64>,
    /// Intervals of real values: what they claim to hold, what they hold, how wide they are; means over the runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) intervals: Vec<IntervalMetrics>,
    pub(crate) seconds: f64,
    /// Whether no other system has a better mean on this dataset, as printed. References on true labels do not compete.
    pub(crate) is_best: bool,
}

impl ReportTable {
    pub(crate) fn cell(&self, set: &str, system: &str) -> Option<&ReportCell> {
        self.cells.iter().find(|cell| cell.set == set && cell.system == system)
    }

    /// Whether a row is a system: the shorter list goes across the page.
    fn is_transposed(&self) -> bool {
        self.systems.len() > self.sets.len()
    }

    /// The names that go down the page, and those that go across it.
    fn rows_and_columns(&self) -> (&[String], &[String]) {
        match self.is_transposed() {
            true => (&self.systems, &self.sets),
            false => (&self.sets, &self.systems),
        }
    }

    /// What stands above the columns of the page.
    pub(crate) fn header(&self) -> Vec<String> {
        let corner = if self.is_transposed() { "system" } else { "set" };
        let (_, columns) = self.rows_and_columns();
        std::iter::once(corner.to_owned()).chain(columns.iter().cloned()).collect()
    }

    /// The cells of each row of the page, by its name.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, Vec<Option<&ReportCell>>)> {
        let (rows, columns) = self.rows_and_columns();
        let cell = |row, column| match self.is_transposed() {
            true => self.cell(column, row),
            false => self.cell(row, column),
        };
        rows.iter().map(move |row| (row.as_str(), columns.iter().map(|column| cell(row, column)).collect()))
    }

    /// Coverage and width of the intervals of each dataset and system, of those whose labels have some.
    pub(crate) fn intervals(&self) -> Option<DataTable> {
        let known: Vec<&ReportCell> = self.cells.iter().filter(|cell| !cell.intervals.is_empty()).collect();
        let mut header = vec!["set".to_owned(), "system".to_owned()];
        for interval in &known.first()?.intervals {
            header.push(format!("{:.0} %: coverage", interval.level * 100.0));
            header.push("width".to_owned());
        }
        let row = |cell: &&ReportCell| {
            let numbers = cell.intervals.iter().flat_map(|interval| {
                let width = self.metric.show(interval.width, interval.width);
                [format!("{} %", percent(interval.coverage)), width]
            });
            [cell.set.clone(), cell.system.clone()].into_iter().chain(numbers).collect()
        };
        Some(DataTable { header, rows: known.iter().map(row).collect() })
    }
}

impl ReportCell {
    /// What at least one run comes to.
    pub(crate) fn of(runs: &[&RunResult]) -> Self {
        let (mean, deviation) = mean_and_deviation(runs, |run| run.value);
        let Expectation { paper, paper_std, independent, .. } = runs[0].expectation.of(runs[0].metric);
        Self {
            set: runs[0].set.clone(),
            system: runs[0].system.clone(),
            n_runs: runs.len(),
            mean,
            deviation,
            paper,
            paper_deviation: paper_std,
            difference: paper.map(|paper| mean - paper),
            independent,
            calibration_error: mean_of_known(runs, |run| run.ece),
            intervals: mean_intervals(runs),
            seconds: mean_and_deviation(runs, |run| run.seconds).0,
            is_best: false,
        }
    }

    /// The mean; one run has no deviation.
    pub(crate) fn shown(&self, metric: Metric) -> String {
        metric.with_deviation(self.mean, (self.n_runs > 1).then_some(self.deviation))
    }

    /// The paper's number, and ours minus it.
    pub(crate) fn published(&self, metric: Metric) -> Option<String> {
        let (paper, difference) = (self.paper?, self.difference?);
        let text = metric.with_deviation(paper, self.paper_deviation);
        Some(format!("{text} ({})", metric.signed(difference, paper)))
    }
}

/// One table for each that the runs belong to, and for each of its metrics. `systems` chooses among the systems and orders them.
pub(crate) fn tables(results: &[RunResult], systems: Option<&[String]>) -> Vec<ReportTable> {
    let groups = grouped(results, |run| (&run.table, run.metric)).into_iter();
    let tables = groups.map(|((name, metric), runs)| table(name, metric, &runs, systems));
    tables.filter(|table| !table.cells.is_empty()).collect()
}

fn table(name: &str, metric: Metric, runs: &[&RunResult], chosen: Option<&[String]>) -> ReportTable {
    let runs = || runs.iter().copied();
    let mut systems: Vec<String> =
        grouped(runs(), |run| &run.system).into_iter().map(|(name, _)| name.clone()).collect();
    match chosen {
        None => systems.sort_by_cached_key(|name| {
            let system = AnySystem::from_name(name).ok();
            (system.is_none(), system)
        }),
        Some(chosen) => {
            systems = chosen.iter().filter(|name| systems.contains(name)).cloned().collect();
        }
    }
    let (mut sets, mut cells) = (Vec::new(), Vec::new());
    for (set, runs) in grouped(runs(), |run| &run.set) {
        let groups = grouped(runs, |run| &run.system);
        let of_system = |system: &String| groups.iter().find(|(name, _)| *name == system);
        let of_set = systems.iter().filter_map(of_system).map(|(_, runs)| ReportCell::of(runs));
        let mut of_set: Vec<ReportCell> = of_set.collect();
        mark_best(&mut of_set, metric);
        if !of_set.is_empty() {
            sets.push(set.clone());
        }
        cells.extend(of_set);
    }
    ReportTable { name: name.to_owned(), metric, sets, systems, cells }
}

/// The intervals of runs, averaged level by level.
fn mean_intervals(runs: &[&RunResult]) -> Vec<IntervalMetrics> {
    let n_levels = runs.iter().map(|run| run.intervals.len()).min().unwrap_or(0);
    let mean =
        |level: usize, part: fn(&IntervalMetrics) -> f64| mean_and_deviation(runs, |run| part(&run.intervals[level])).0;
    let interval = |level: usize| IntervalMetrics {
        level: runs[0].intervals[level].level,
        coverage: mean(level, |interval| interval.coverage),
        width: mean(level, |interval| interval.width),
    };
    (0..n_levels).map(interval).collect()
}

/// Marks the best means of a dataset; means that look the same in print are the same.
fn mark_best(cells: &mut [ReportCell], metric: Metric) {
    let competes = |cell: &ReportCell| !AnySystem::from_name(&cell.system).is_ok_and(AnySystem::is_reference);
    let means = cells.iter().filter(|cell| competes(cell)).map(|cell| cell.mean);
    let Some(best) = metric.best(means) else { return };
    let best = metric.show(best, best);
    for cell in cells {
        cell.is_best = competes(cell) && metric.show(cell.mean, cell.mean) == best;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(set: &str, system: &str, value: f64, paper: Option<(f64, Option<f64>)>) -> RunResult {
        let expectation = Expectation {
            paper: paper.map(|(mean, _)| mean),
            paper_std: paper.and_then(|(_, deviation)| deviation),
            ..Expectation::default()
        };
        RunResult {
            table: "t".to_owned(),
            set: set.to_owned(),
            system: system.to_owned(),
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
            expectation,
        }
    }

    /// Two systems and a reference on three sets; one system did not run everywhere.
    fn results() -> Vec<RunResult> {
        let llf = Some((90.0, Some(0.5)));
        vec![
            run("a_1", "sl", 99.0, None),
            run("a_1", "mv", 80.0, None),
            run("a_1", "llf", 89.0, llf),
            run("a_1", "llf", 91.0, llf),
            run("b", "llf", 70.04, Some((72.0, None))),
            run("b", "mv", 70.0, None),
            run("c", "mv", 60.0, Some((55.0, None))),
        ]
    }

    #[test]
    fn runs_become_cells() {
        let tables = tables(&results(), None);
        let [table] = &tables[..] else { panic!("one table: {tables:?}") };
        assert_eq!(table.sets, ["a_1", "b", "c"]);
        assert_eq!(table.systems, ["llf", "mv", "sl"]);
        assert!(!table.is_transposed());
        let llf = table.cell("a_1", "llf").unwrap();
        assert_eq!((llf.mean, llf.deviation, llf.difference), (90.0, 1.0, Some(0.0)));
        // 70.04 and 70.0 are printed alike, and the reference does not compete.
        let best = table.cells.iter().filter(|cell| cell.is_best);
        let best: Vec<(&str, &str)> = best.map(|cell| (&*cell.set, &*cell.system)).collect();
        assert_eq!(best, [("a_1", "llf"), ("b", "llf"), ("b", "mv"), ("c", "mv")]);
        assert_eq!(table.cell("c", "llf"), None);
    }

    #[test]
    fn the_lowest_error_is_the_best_and_intervals_are_averaged() {
        let interval = |coverage, width| IntervalMetrics { level: 0.8, coverage, width };
        let run = |system: &str, value: f64, intervals: Vec<IntervalMetrics>| RunResult {
            metric: Metric::Rmse,
            ece: None,
            intervals,
            ..run("air", system, value, Some((0.211, Some(0.009))))
        };
        let results = [
            run("llf", 0.2, vec![interval(0.7, 1.0)]),
            run("llf", 0.18, vec![interval(0.9, 3.0)]),
            run("avg", 0.371, Vec::new()),
            run("sl", 0.123, Vec::new()),
        ];
        let tables = tables(&results, None);
        let llf = tables[0].cell("air", "llf").unwrap();
        assert!(llf.is_best && !tables[0].cell("air", "sl").unwrap().is_best);
        assert_eq!(llf.intervals, [IntervalMetrics { level: 0.8, coverage: 0.8, width: 2.0 }]);
        let text = markdown(&tables);
        assert!(text.contains("**0.190 ± 0.010**") && text.contains("(−0.021)"), "{text}");
        assert!(text.contains("coverage"), "{text}");
    }

    #[test]
    fn systems_can_be_chosen() {
        let chosen = ["sl", "llf", "ge"].map(str::to_owned);
        let tables = tables(&results(), Some(&chosen));
        assert_eq!(tables[0].systems, ["sl", "llf"]);
        // Nothing is left of the third set.
        assert_eq!(tables[0].sets, ["a_1", "b"]);
        assert!(super::tables(&results(), Some(&chosen[2..])).is_empty());
    }

    #[test]
    fn unknown_systems_come_last() {
        let results = ["zzz", "mv", "aaa", "llf+mlp", "llf"].map(|name| run("a", name, 1.0, None));
        let systems = &tables(&results, None)[0].systems;
        assert_eq!(*systems, ["llf", "llf+mlp", "mv", "zzz", "aaa"]);
    }

    #[test]
    fn markdown_has_a_line_for_the_paper() {
        let text = markdown(&tables(&results(), None));
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "t: mean accuracy over runs ± deviation, in percent",
                "",
                "| set | llf | mv | sl |",
                "|--------------------|------------------|-------------|------|",
                "| a_1 | **90.0 ± 1.0** | 80.0 | 99.0 |",
                "| paper (difference) | 90.0 ± 0.5 (0.0) | | |",
                "| b | **70.0** | **70.0** | |",
                "| paper (difference) | 72.0 (−2.0) | | |",
                "| c | | **60.0** | |",
                "| paper (difference) | | 55.0 (+5.0) | |",
            ]
        );
    }

    #[test]
    fn the_shorter_list_goes_across() {
        let text = markdown(&tables(&results()[..4], None));
        assert!(text.contains("| system "), "{text}");
        assert!(text.contains("| a_1 "), "{text}");
        assert!(text.contains("**90.0 ± 1.0**"), "{text}");
    }

    #[test]
    fn csv_has_a_line_for_each_cell() {
        let text = csv(&tables(&results(), None));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "table,set,system,runs,mean,deviation,paper,paper_deviation,difference,independent,calibration_error,seconds,best",
                "t,a_1,llf,2,90,1,90,0.5,0,,1,2,true",
                "t,a_1,mv,1,80,0,,,,,1,2,false",
            ]
        );
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn latex_is_set_as_in_the_paper() {
        let text = latex(&tables(&results(), None));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "% t",
                "\\begin{tabular}{l|lll}",
                "\\toprule",
                " & llf & mv & sl \\\\",
                "\\midrule",
                "a\\_1 & $\\mathbf{90.0_{1.0}}$ & $80.0$ & $99.0$ \\\\",
                "\\quad paper & $90.0_{0.5}$ &  &  \\\\",
                "\\quad difference & $0.0$ &  &  \\\\",
                "b & $\\mathbf{70.0}$ & $\\mathbf{70.0}$ &  \\\\",
                "\\quad paper & $72.0$ &  &  \\\\",
                "\\quad difference & $-2.0$ &  &  \\\\",
                "c &  & $\\mathbf{60.0}$ &  \\\\",
                "\\quad paper &  & $55.0$ &  \\\\",
                "\\quad difference &  & $+5.0$ &  \\\\",
                "\\bottomrule",
                "\\end{tabular}",
            ]
        );
    }
}
