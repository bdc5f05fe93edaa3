//! `labelflow report`: the tables of runs that were kept.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::Outcome;
use crate::args::{ReportArgs, ReportFormat};
use crate::commands::run::{RunResult, read_results};
use crate::output;
use crate::report::{ReportTable, csv, latex, markdown, tables};
use crate::run_file::RunFile;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let is_run_file = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    let (run_files, results): (Vec<&PathBuf>, Vec<&PathBuf>) =
        args.results.iter().partition(is_run_file);
    let run_files = run_files
        .into_iter()
        .map(|path| RunFile::read(path))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut runs = Vec::new();
    for path in results {
        runs.extend(read(path)?);
    }
    if runs.is_empty() {
        bail!(
            "nothing to report: expected what `labelflow run --json FILE` or `--keep DIR` left, found no runs"
        );
    }
    let mut runs = once_each(runs)?;
    expect(&mut runs, &run_files);
    let tables = tables(&runs, args.systems.as_deref());
    if tables.is_empty() {
        bail!("nothing to report: none of the systems asked for was run");
    }
    write(&render(&tables, args.format)?, args.out.as_deref())?;
    Ok(Outcome::Done)
}

/// All runs of a file, or of the files in a folder.
fn read(path: &Path) -> anyhow::Result<Vec<RunResult>> {
    if !path.is_dir() {
        return read_results(path);
    }
    let reading = || format!("reading {}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).with_context(reading)? {
        let file = entry.with_context(reading)?.path();
        if file.extension().is_some_and(|ending| ending == "json") {
            files.push(file);
        }
    }
    // Folders have no order of their own.
    files.sort();
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

fn render(tables: &[ReportTable], format: ReportFormat) -> anyhow::Result<String> {
    Ok(match format {
        ReportFormat::Markdown => markdown(tables),
        ReportFormat::Csv => csv(tables),
        ReportFormat::Latex => latex(tables),
        ReportFormat::Json => serde_json::to_string_pretty(tables)?,
    })
}

fn write(text: &str, out: Option<&Path>) -> anyhow::Result<()> {
    let text = text.trim_end();
    let Some(path) = out else { return output::print(text) };
    labelflow_data::write_atomically(path, |writer| {
        writer.write_all(text.as_bytes())?;
        writer.write_all(b"\n")
    })
    .with_context(|| format!("writing {}", path.display()))?;
    Ok(())
}
