//! `labelflow report`: the tables of runs that were kept, or a page.

pub(crate) mod args;
mod report_page;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};

use super::run::{RunResult, read_results};
use crate::experiments::run_file::RunFile;
use crate::inputs::cloud_files::entries;
use crate::inputs::completer::CHECKPOINT;
use crate::report::{ModelFolder, ReportTable, csv, latex, markdown, tables};
use crate::terminal::output;
use args::{ReportArgs, ReportFormat};

/// The arguments by what they are.
struct Inputs<'a> {
    run_files: Vec<RunFile>,
    results: Vec<&'a Path>,
    models: Vec<&'a Path>,
}

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    ensure!(
        args.signals.source.counts.is_none(),
        "--counts: expected the votes of every row, found counts; name the rows with --signals"
    );
    let inputs = Inputs::sort(&args.results)?;
    let render: fn(&[ReportTable]) -> anyhow::Result<String> = match format(args) {
        ReportFormat::Html => return report_page::write(args, &inputs),
        ReportFormat::Markdown => |tables| Ok(markdown(tables)),
        ReportFormat::Csv => |tables| Ok(csv(tables)),
        ReportFormat::Latex => |tables| Ok(latex(tables)),
        ReportFormat::Json => |tables| Ok(output::json(&tables)?),
    };
    refuse_parts_of_pages(args, &inputs)?;
    let tables = inputs.tables(args.systems.as_deref())?;
    output::write_text(args.out.as_deref(), render(&tables)?.trim_end())
}

/// The format that is named, or that the name of the file to write says.
fn format(args: &ReportArgs) -> ReportFormat {
    let ending = args.out.as_ref().and_then(|path| path.extension()).map(|ending| ending.to_ascii_lowercase());
    let is_page = ending.is_some_and(|ending| ending == "html" || ending == "htm");
    args.format.unwrap_or(if is_page { ReportFormat::Html } else { ReportFormat::Markdown })
}

fn refuse_parts_of_pages(args: &ReportArgs, inputs: &Inputs<'_>) -> anyhow::Result<()> {
    let source = &args.signals.source;
    let given = [
        ("a model folder", !inputs.models.is_empty()),
        ("--signals", source.signals.is_some()),
        ("--wrench", source.wrench.is_some()),
        ("--task-votes", source.task_votes.is_some()),
        ("--predictions", args.predictions.is_some()),
        ("--labels", args.labels.is_some()),
        ("--signals-labels", args.signals_labels.is_some()),
        ("--charts", args.charts.is_some()),
    ];
    for (name, is_given) in given {
        ensure!(!is_given, "{name} is for pages: write one with --out FILE.html, or with --format html");
    }
    Ok(())
}

impl<'a> Inputs<'a> {
    fn sort(paths: &'a [PathBuf]) -> anyhow::Result<Self> {
        let mut inputs = Self { run_files: Vec::new(), results: Vec::new(), models: Vec::new() };
        for path in paths {
            if ModelFolder::is_at(path) {
                inputs.models.push(path);
            } else if path.join(CHECKPOINT).exists() {
                bail!(
                    "{}: expected a model, found training that has not ended; the same `labelflow fit` goes on with it",
                    path.display()
                );
            } else if path.extension().is_some_and(|ending| ending == "toml") {
                inputs.run_files.push(RunFile::read(path)?);
            } else {
                inputs.results.push(path);
            }
        }
        Ok(inputs)
    }

    /// The tables of all runs; at least one.
    fn tables(&self, systems: Option<&[String]>) -> anyhow::Result<Vec<ReportTable>> {
        let mut runs = Vec::new();
        for path in &self.results {
            runs.extend(read(path)?);
        }
        ensure!(
            !runs.is_empty(),
            "nothing to report: expected what `labelflow run --json FILE` or `--keep DIR` left, found no runs"
        );
        let mut runs = once_each(runs)?;
        expect(&mut runs, &self.run_files);
        let tables = tables(&runs, systems);
        ensure!(!tables.is_empty(), "nothing to report: none of the systems asked for was run");
        Ok(tables)
    }
}

/// All runs of a file, or of the files in a folder.
fn read(path: &Path) -> anyhow::Result<Vec<RunResult>> {
    if !path.is_dir() {
        return read_results(path);
    }
    let mut files = entries(path)?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    let runs = files.iter().map(|file| read_results(file)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(runs.concat())
}

/// Runs that are there twice, as in a file and in a folder, count once. Those with other results have other settings, and
/// nobody can say which of them are meant.
fn once_each(runs: Vec<RunResult>) -> anyhow::Result<Vec<RunResult>> {
    let mut values = HashMap::new();
    let mut once = Vec::new();
    for run in runs {
        let RunResult { table, set, system, seed, metric, value, .. } = &run;
        let key = (table.clone(), set.clone(), system.clone(), *seed, *metric);
        match values.insert(key, *value) {
            None => once.push(run),
            Some(other) if other == *value => {}
            Some(other) => bail!(
                "{system} on {set}, seed {seed}: expected one run, found two with {other:.1} and {value:.1}; runs with \
                 other settings belong into another file or folder"
            ),
        }
    }
    Ok(once)
}

/// What experiment files say now replaces what they said when the runs were made.
fn expect(runs: &mut [RunResult], files: &[RunFile]) {
    for run in runs {
        let belongs = |file: &&RunFile| file.table == run.table && file.set == run.set;
        let expectation = files.iter().find(belongs).and_then(|file| file.systems.get(&run.system));
        if let Some(expectation) = expectation {
            run.expectation = expectation.clone();
        }
    }
}
