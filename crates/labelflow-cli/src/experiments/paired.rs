//! Systems compared seed by seed: what varies from seed to seed alike for both, such as the split, cancels out.

use super::metric::Metric;
use super::summary::{grouped, mean_and_deviation};
use crate::commands::run::RunResult;
use crate::terminal::output;

/// A system against the one with the best mean on a dataset.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairedDifference<'a> {
    set: &'a str,
    metric: Metric,
    system: &'a str,
    best: &'a str,
    best_mean: f64,
    /// The mean over the seeds that both have of this system's value minus the best one's, and its standard error.
    mean: f64,
    error: f64,
    n_seeds: usize,
}

/// Every system that has two seeds or more in common with the best one of a dataset, by the first metric of that dataset.
pub(crate) fn paired_differences(results: &[RunResult]) -> Vec<PairedDifference<'_>> {
    let of_sets = grouped(results, |run| (&run.table, &run.set)).into_iter();
    let differences = of_sets.flat_map(|((_, set), mut runs)| {
        let metric = runs[0].metric;
        runs.retain(|run| run.metric == metric);
        of_set(set, metric, &runs)
    });
    differences.collect()
}

fn of_set<'a>(set: &'a str, metric: Metric, runs: &[&'a RunResult]) -> Vec<PairedDifference<'a>> {
    let systems = grouped(runs.iter().copied(), |run| &run.system);
    let mean_of = |runs: &[&RunResult]| mean_and_deviation(runs, |run| run.value).0;
    let Some(best_mean) = metric.best(systems.iter().map(|(_, runs)| mean_of(runs))) else { return Vec::new() };
    let (best, of_best) = systems.iter().find(|(_, runs)| mean_of(runs) == best_mean).expect("it is one of them");
    let others = systems.iter().filter(|(system, _)| system != best);
    others
        .filter_map(|(system, runs)| {
            let value_of_best = |seed| Some(of_best.iter().find(|run| run.seed == seed)?.value);
            let differences: Vec<f64> =
                runs.iter().filter_map(|run| Some(run.value - value_of_best(run.seed)?)).collect();
            let n_seeds = differences.len();
            let (mean, deviation) = mean_and_deviation(&differences, |difference| *difference);
            // The population deviation by √(n − 1) is that of a sample by √n.
            let error = deviation / (n_seeds as f64 - 1.0).sqrt();
            (n_seeds > 1).then_some(PairedDifference { set, metric, system, best, best_mean, mean, error, n_seeds })
        })
        .collect()
}

/// One table, for people; nothing where no two systems share seeds.
pub(crate) fn table(differences: &[PairedDifference<'_>]) -> Option<String> {
    let header = ["set", "metric", "system", "minus", "difference", "standard error", "seeds"];
    let rows = differences.iter().map(|found| {
        let metric = found.metric;
        [
            found.set.to_owned(),
            metric.facts().column.clone(),
            found.system.to_owned(),
            found.best.to_owned(),
            metric.signed(found.mean, found.best_mean),
            metric.show(found.error, found.best_mean),
            found.n_seeds.to_string(),
        ]
    });
    (!differences.is_empty()).then(|| output::table(header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::run_file::Expectation;

    fn run(set: &str, system: &str, seed: u64, value: f64) -> RunResult {
        RunResult {
            table: "t".to_owned(),
            set: set.to_owned(),
            system: system.to_owned(),
            seed,
            metric: Metric::Accuracy,
            value,
            ece: None,
            intervals: Vec::new(),
            seconds: 1.0,
            epoch_ms: None,
            n_epochs: None,
            stop: None,
            completion_ms: None,
            expectation: Expectation::default(),
        }
    }

    #[test]
    fn systems_are_compared_with_the_best_one_seed_by_seed() {
        // Splits differ by ten points, the systems by two or so on each.
        let results = [
            run("a", "llf", 0, 90.0),
            run("a", "llf", 1, 80.0),
            run("a", "llf", 2, 70.0),
            run("a", "mv", 2, 67.0),
            run("a", "mv", 0, 89.0),
            run("a", "mv", 7, 99.0),
            run("a", "ds", 0, 60.0),
            run("b", "mv", 0, 50.0),
        ];
        let found = paired_differences(&results);
        // The best mean has mv, 85; llf shares two seeds with it, ds one.
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found.system, found.best, found.n_seeds), ("llf", "mv", 2));
        assert_eq!((found.mean, found.error), (2.0, 1.0));
        let text = table(std::slice::from_ref(found)).unwrap();
        assert!(text.contains("+2.0") && text.contains("1.0"), "{text}");
        assert_eq!(table(&[]), None);
    }
}
