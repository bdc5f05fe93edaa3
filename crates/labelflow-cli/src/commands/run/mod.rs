//! `labelflow run`: experiments, repeated over seeds and compared with what is expected.

pub(crate) mod args;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use labelflow::evaluation::IntervalMetrics;
use labelflow::training::{EpochEvent, Observer, StopReason};
use labelflow::{LabelFlowClassifier, LabelFlowRegressor};
use labelflow_clouds::completers::{AnyCompletionLearner, PointCloudCompleter};
use labelflow_clouds::shapes::ShapeSet;
use labelflow_data::catalog::{load, load_rules, load_votes};
use labelflow_files::{sha256_hex, visible};
use serde::{Deserialize, Serialize};

use super::complete::completion_pictures::CompletionPictures;
use crate::Outcome;
use crate::experiments::metric::Metric;
use crate::experiments::paired;
use crate::experiments::run_file::{Expectation, FlowSettings, RunFile};
use crate::experiments::summary::{self, Summary, summarize};
use crate::experiments::systems::{AnySystem, CompletionSystem, Evaluation, RegressionSystem, System};
use crate::inputs::data_folder::data_folder;
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::progress::{Progress, over_runs};
use crate::terminal::{device_memory, interrupt, output, time_limit};
use args::RunArgs;

/// One system on one dataset with one seed.
struct Run<'a> {
    file: &'a RunFile,
    /// The system's name.
    system: &'a str,
    /// What is expected of it.
    expectation: &'a Expectation,
    seed: u64,
    max_minutes: Option<f64>,
    task: RunTask,
}

/// What is run, with its settings.
enum RunTask {
    Classification(System, LabelFlowClassifier),
    Regression(RegressionSystem, LabelFlowRegressor),
    /// The settings of the flow, whose numbers of points are those of all systems, and of the system, if it is trained.
    Completion(CompletionSystem, Box<(PointCloudCompleter, Option<AnyCompletionLearner>)>),
    /// A label model on votes alone.
    Votes(System),
}

/// What machines read of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunResult {
    pub(crate) table: String,
    pub(crate) set: String,
    pub(crate) system: String,
    pub(crate) seed: u64,
    pub(crate) metric: Metric,
    pub(crate) value: f64,
    /// The expected calibration error in percent, of probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ece: Option<f64>,
    /// Of distributions of real values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) intervals: Vec<IntervalMetrics>,
    pub(crate) seconds: f64,
    /// Of systems that are trained in epochs.
    #[serde(default)]
    pub(crate) n_epochs: Option<usize>,
    /// The median time of an epoch.
    #[serde(default)]
    pub(crate) epoch_ms: Option<f64>,
    #[serde(default)]
    pub(crate) stop: Option<StopReason>,
    /// The mean time of a completion, of trained systems of completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) completion_ms: Option<f64>,
    /// What its experiment file expects of the mean over seeds.
    #[serde(default)]
    pub(crate) expectation: Expectation,
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Outcome> {
    let files = args.files.iter().map(|path| RunFile::read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let runs = plan(&files, args)?;
    let kept = [&args.keep, &args.models, &args.pictures].into_iter().flatten();
    let claims = kept.map(|folder| ClaimedFolder::fill(folder, &args.overwrite));
    let _claims = claims.collect::<anyhow::Result<Vec<_>>>()?;
    let results = carry_out(&runs, args)?;
    let summaries = summarize(&results);
    let json = args.json.as_deref();
    output::show(json, &results, || {
        output::print(&summary::table(&summaries))?;
        let differences = paired::table(&paired::paired_differences(&results));
        differences.map_or(Ok(()), |table| output::print(&format!("\n{table}")))
    })?;
    let missed = summaries.iter().any(Summary::is_missed);
    Ok(if missed { Outcome::Missed } else { Outcome::Done })
}

/// All runs that the files and the flags ask for.
fn plan<'a>(files: &'a [RunFile], args: &RunArgs) -> anyhow::Result<Vec<Run<'a>>> {
    for name in args.systems.iter().flatten() {
        // What is no system of any task is a mistake, not a system that no file has.
        AnySystem::from_name(name)?;
    }
    let mut runs = Vec::new();
    for (file, path) in files.iter().zip(&args.files) {
        for (name, expectation) in &file.systems {
            let task = |seed| RunTask::new(name, file, args, seed);
            // Before hours of other runs.
            task(0).with_context(|| format!("{}", path.display()))?;
            if args.systems.as_ref().is_some_and(|chosen| !chosen.contains(name)) {
                continue;
            }
            for &seed in args.seeds.as_ref().unwrap_or(&file.seeds) {
                let (task, max_minutes) = (task(seed)?, args.max_minutes);
                runs.push(Run { file, system: name, expectation, seed, max_minutes, task });
            }
        }
    }
    if runs.is_empty() {
        bail!("nothing to run: none of the files has a seed and any of the systems asked for");
    }
    Ok(runs)
}

impl RunTask {
    fn new(system: &str, file: &RunFile, args: &RunArgs, seed: u64) -> anyhow::Result<Self> {
        Ok(match file.flow_settings()?.of_run(seed, args.epochs, args.device.map(Into::into)) {
            FlowSettings::Classifier(config) => Self::Classification(System::from_name(system)?, config),
            FlowSettings::Regressor(config) => Self::Regression(RegressionSystem::from_name(system)?, config),
            FlowSettings::None => Self::Votes(System::from_name(system)?.of_votes()?),
            FlowSettings::Completer(flow) => {
                let system = CompletionSystem::from_name(system)?;
                let mut learner = system.learner(&flow, &file.system_tables())?;
                if let Some(learner) = &mut learner {
                    learner.common().set_length(args.epochs, None);
                }
                Self::Completion(system, Box::new((flow, learner)))
            }
        })
    }

    /// The settings as text, which changes when they do.
    fn settings(&self) -> String {
        match self {
            Self::Classification(_, config) => toml::to_string(config),
            Self::Regression(_, config) => toml::to_string(config),
            Self::Votes(_) => Ok(String::new()),
            Self::Completion(_, settings) => {
                let (flow, learner) = &**settings;
                Ok(learner.clone().unwrap_or_else(|| flow.clone().into()).key())
            }
        }
        .expect("settings can be written as TOML")
    }
}

/// Carries out the runs, `jobs` at a time; results are in the order of the runs.
fn carry_out(runs: &[Run<'_>], args: &RunArgs) -> anyhow::Result<Vec<RunResult>> {
    interrupt::listen();
    let bar = over_runs(runs.len());
    let pictures = args.pictures.clone().map(CompletionPictures::new);
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, anyhow::Result<Vec<RunResult>>>> = Mutex::default();
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(index) else { return };
            bar.set_message(visible(&format!("{} {} {}", run.file.set, run.system, run.seed)).into_owned());
            let result = carry_out_one(index, run, args, pictures.as_ref());
            bar.inc(1);
            let failed = result.is_err();
            results.lock().expect("no worker panics").insert(index, result);
            if failed {
                // The others finish what they have begun.
                next.store(runs.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.min(runs.len()) {
            scope.spawn(worker);
        }
    });
    bar.finish_and_clear();
    let results: anyhow::Result<Vec<Vec<RunResult>>> =
        results.into_inner().expect("no worker panics").into_values().collect();
    Ok(results?.concat())
}

/// One result for each metric of the run.
fn carry_out_one(
    index: usize,
    run: &Run<'_>,
    args: &RunArgs,
    pictures: Option<&CompletionPictures>,
) -> anyhow::Result<Vec<RunResult>> {
    let kept = args.keep.as_ref().map(|folder| folder.join(run.file_name()));
    if let Some(path) = &kept
        && path.exists()
    {
        let results = read_results(path)?.into_iter();
        let expected = |result| RunResult { expectation: run.expectation.clone(), ..result };
        return Ok(results.map(expected).collect());
    }
    let folder = data_folder(args.data.as_ref());
    // With several jobs at a time there is only the bar over runs.
    let progress = if args.jobs > 1 { Progress::silent() } else { Progress::new() };
    let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(progress)];
    if let Some(minutes) = run.max_minutes {
        observers.push(Box::new(time_limit::after_minutes(minutes)?));
    }
    let mut clock = EpochClock { watched: &mut observers, last: None, times: Vec::new() };
    let start = Instant::now();
    let evaluate = || run.evaluate(&folder, args.models.as_deref(), &mut clock);
    let Evaluation { values, ece, intervals, report, completion_ms, examples } = device_memory::guarded(evaluate)
        .with_context(|| format!("{} on {}, seed {}", run.system, run.file.set, run.seed))?;
    if interrupt::requested() {
        bail!("interrupted; with --keep DIR, finished runs are not repeated");
    }
    let seconds = start.elapsed().as_secs_f64();
    if let (Some(pictures), false) = (pictures, examples.is_empty()) {
        pictures.add(format!("{}-{}", run.file.set, run.seed), index, run.system, examples)?;
    }
    let result = |(metric, value): (Metric, f64)| RunResult {
        table: run.file.table.clone(),
        set: run.file.set.clone(),
        system: run.system.to_owned(),
        seed: run.seed,
        metric,
        value,
        ece,
        intervals: intervals.clone(),
        seconds,
        epoch_ms: clock.median_ms(),
        n_epochs: report.as_ref().map(|report| report.n_epochs),
        stop: report.as_ref().map(|report| report.stop),
        completion_ms,
        expectation: run.expectation.clone(),
    };
    let results: Vec<RunResult> = values.into_iter().map(result).collect();
    if let Some(path) = &kept {
        match results.as_slice() {
            [one] => output::write_json(path, one)?,
            several => output::write_json(path, &several)?,
        }
    }
    Ok(results)
}

/// The results in a file: a list, or a single one.
pub(crate) fn read_results(path: &Path) -> anyhow::Result<Vec<RunResult>> {
    let reading = || format!("reading {}", path.display());
    let text = std::fs::read_to_string(path).with_context(reading)?;
    if text.trim_start().starts_with('[') {
        serde_json::from_str(&text).with_context(reading)
    } else {
        Ok(vec![serde_json::from_str(&text).with_context(reading)?])
    }
}

impl Run<'_> {
    fn evaluate(
        &self,
        folder: &Path,
        models: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Evaluation> {
        let (set, seed) = (&self.file.set, self.seed);
        match &self.task {
            RunTask::Classification(system, config) => {
                let problem = load(set, folder, seed, &self.file.data)?;
                system.evaluate(&problem, config, models, observer).map(|evaluation| self.wanted(evaluation))
            }
            RunTask::Votes(system) => {
                let problem = load_votes(set, folder, seed)?;
                system.evaluate_votes(&problem, seed).map(|evaluation| self.wanted(evaluation))
            }
            RunTask::Regression(system, config) => system.evaluate(&load_rules(set, folder, seed)?, config, observer),
            RunTask::Completion(system, settings) => {
                let set = ShapeSet::from_name(set).context("a set of shapes")?;
                let problem = set.load(folder, self.file.data.n_train_shapes, self.file.data.n_test_shapes)?;
                let name = self.file_name();
                let model = models.map(|folder| folder.join(name.trim_end_matches(".json")));
                let (flow, learner) = &**settings;
                system.evaluate(&problem, flow, learner.as_ref(), model.as_deref(), observer)
            }
        }
    }

    /// The metrics that the file asks for.
    fn wanted(&self, mut evaluation: Evaluation) -> Evaluation {
        let wanted = match self.file.metrics.as_slice() {
            [] => &[Metric::Accuracy],
            some => some,
        };
        evaluation.values.retain(|(metric, _)| wanted.contains(metric));
        evaluation
    }

    /// A name that changes with the settings, so that a kept result is never taken for that of other settings.
    fn file_name(&self) -> String {
        let data = serde_json::to_string(&self.file.data).expect("options can be written as JSON");
        let time = self.max_minutes.map(|minutes| minutes.to_string()).unwrap_or_default();
        let digest = sha256_hex(self.task.settings() + &data + &time);
        format!("{}-{}-{}-{}.json", self.file.set, self.system, self.seed, &digest[..12])
    }
}

/// Measures how long epochs take, in front of another observer.
struct EpochClock<'a> {
    watched: &'a mut dyn Observer,
    last: Option<Instant>,
    /// Milliseconds.
    times: Vec<f64>,
}

impl EpochClock<'_> {
    /// The median, which the first epochs of a device that still compiles its kernels do not move.
    fn median_ms(&self) -> Option<f64> {
        let mut times = self.times.clone();
        times.sort_unstable_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }
}

impl Observer for EpochClock<'_> {
    fn observe(&mut self, event: EpochEvent<'_>) -> labelflow::Result<ControlFlow<StopReason>> {
        let now = Instant::now();
        if let Some(last) = self.last.replace(now) {
            self.times.push((now - last).as_secs_f64() * 1e3);
        }
        self.watched.observe(event)
    }

    fn warn(&mut self, warning: &str) {
        self.watched.warn(warning);
    }
}
