//! `labelflow data`: the datasets this project knows.

pub(crate) mod args;
mod export;

use std::path::Path;

use anyhow::{bail, ensure};
use labelflow::rows::{SoftLabels, TrueValues, Truth};
use labelflow::rules::RuleDataset;
use labelflow_clouds::shapes::{Furniture, FurnitureCategory, FurnitureSizes, ShapeSet, write_furniture};
use labelflow_data::catalog::{CatalogEntry, CheckReport, FileCheck, FileState, SetKind, catalog, check, fetch, find};
use labelflow_data::inputs::{
    KeyHead, LabelRows, RowNames, RulesFile, ValueLabels, write_features, write_labels, write_rules, write_signals,
    write_value_labels,
};
use labelflow_data::synthetic::{PlantedGaussian, PlantedRegression, PlantedVotes};
use ndarray::Array2;

use crate::Outcome;
use crate::inputs::data_folder::data_folder;
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::output;
use args::{DataArgs, DataCommand, SynthArgs, SynthKind};

pub(crate) fn run(args: &DataArgs) -> anyhow::Result<Outcome> {
    match &args.command {
        DataCommand::List { json } => list(json.as_deref())?,
        DataCommand::Fetch { name, data } => {
            for path in fetch(find(name)?, &data_folder(data.as_ref()))? {
                output::print(&format!("{}", path.display()))?;
            }
        }
        DataCommand::Check { names, data } => return check_sets(names, &data_folder(data.as_ref())),
        DataCommand::Export { name, data, seed, rows_per_part, out, overwrite } => {
            let _claim = ClaimedFolder::fill(out, overwrite)?;
            export::run(name, &data_folder(data.as_ref()), *seed, *rows_per_part, out)?;
        }
        DataCommand::Synth(args) => synth(args)?,
    }
    Ok(Outcome::Done)
}

fn list(json: Option<&Path>) -> anyhow::Result<()> {
    output::show(json, &catalog(), || {
        let rows = catalog().iter().map(|entry| {
            [
                entry.name.to_owned(),
                entry.counts.n_rows.to_string(),
                entry.counts.d_features.to_string(),
                match entry.kind() {
                    SetKind::Values => "real values".to_owned(),
                    SetKind::Classes | SetKind::Votes => format!("{} classes", entry.counts.n_classes),
                },
                entry.licence.to_owned(),
            ]
        });
        let shapes = ShapeSet::ALL.into_iter().map(|set| {
            [
                set.name().to_owned(),
                set.n_shapes().to_string(),
                "points".to_owned(),
                "complete shapes".to_owned(),
                set.licence().to_owned(),
            ]
        });
        let header = ["dataset", "rows", "features", "labels", "licence"];
        output::print(&output::table(header, rows.chain(shapes)))
    })
}

/// An expectation is missed when a file is missing or differs.
fn check_sets(names: &[String], folder: &Path) -> anyhow::Result<Outcome> {
    let entries: Vec<&CatalogEntry> = match names {
        [] => catalog().iter().collect(),
        names => names.iter().map(|name| find(name)).collect::<Result<_, _>>()?,
    };
    let mut outcome = Outcome::Done;
    let mut rows = Vec::new();
    for entry in entries {
        let report = check(entry, folder)?;
        if !report.is_good() {
            outcome = Outcome::Missed;
        }
        rows.push([entry.name.to_owned(), files(&report), counts(&report)]);
    }
    output::print(&output::table(["dataset", "files", "rows x features"], rows))?;
    Ok(outcome)
}

fn files(report: &CheckReport) -> String {
    let fault = |file: &FileCheck| {
        let what = match &file.state {
            FileState::Good => return None,
            FileState::Missing => "missing".to_owned(),
            FileState::Differs(sha256) => format!("sha256 differs: {sha256}"),
        };
        Some(format!("{}: {what}", file.path.display()))
    };
    let bad: Vec<String> = report.files.iter().filter_map(fault).collect();
    if bad.is_empty() { format!("{} good", report.files.len()) } else { bad.join("; ") }
}

fn counts(report: &CheckReport) -> String {
    let expected = report.expected;
    match report.counts {
        None => "not loaded".to_owned(),
        Some(counts) if counts == expected => format!("{} x {}", counts.n_rows, counts.d_features),
        Some(counts) => {
            format!("{} x {}, expected {} x {}", counts.n_rows, counts.d_features, expected.n_rows, expected.d_features)
        }
    }
}

fn synth(args: &SynthArgs) -> anyhow::Result<()> {
    let &SynthArgs { kind, rows: n_rows, classes, labelers, features, seed, rows_per_part, .. } = args;
    let (out, _claim) = (&args.out, ClaimedFolder::fill(&args.out, &args.overwrite)?);
    ensure!(
        features.is_none() || kind == SynthKind::Gaussian,
        "features: expected gaussian classes, found another kind of problem"
    );
    let gaussian = PlantedGaussian {
        n_rows,
        n_classes: classes,
        n_signals: labelers,
        d_features: features.unwrap_or(10.max(classes)),
        seed,
        ..Default::default()
    };
    let votes = PlantedVotes { n_rows, n_classes: classes, n_signals: labelers, seed, ..Default::default() };
    if let Some(rows_per_part) = rows_per_part {
        // Without labels.
        let n_parts = match kind {
            SynthKind::Votes => votes.write_parts(out, rows_per_part)?.len(),
            SynthKind::Gaussian => gaussian.write_parts(out, rows_per_part)?,
            _ => bail!("rows-per-part: expected votes or gaussian, found another kind of problem"),
        };
        output::note(&format!("{n_rows} rows in {n_parts} files in {}", out.display()));
        return Ok(());
    }
    match kind {
        SynthKind::Votes => {
            let planted = votes.generate()?;
            write_signals(&out.join("signals.csv"), &planted.signals)?;
            write_truth(&out.join("labels.csv"), &planted.truth, planted.signals.classes())?;
            let best = planted.truth.accuracy(&planted.posterior.argmax());
            output::print(&format!("best possible accuracy from these votes: {best:.4}"))?;
        }
        SynthKind::Gaussian => {
            let planted = gaussian.generate()?;
            write_features(&out.join("features.csv"), &planted.features)?;
            write_signals(&out.join("signals.csv"), &planted.signals)?;
            write_truth(&out.join("labels.csv"), &planted.truth, planted.signals.classes())?;
            let best = planted.best_accuracy;
            output::print(&format!("best possible accuracy from these features: {best:.4}"))?;
        }
        SynthKind::Regression => {
            let planted = PlantedRegression { n_rows, seed, ..Default::default() }.generate()?;
            let train = &planted.problem.train;
            write_features(&out.join("features.csv"), train.features())?;
            write_rules_of(&out.join("rules.toml"), train)?;
            write_true_values(&out.join("labels.csv"), &planted.problem.train_truth)?;
            let best = planted.best_error;
            output::print(&format!("best possible root mean squared error: {best:.4}"))?;
        }
        SynthKind::Chairs => furniture(FurnitureCategory::Chair, n_rows, seed, out)?,
        SynthKind::Tables => furniture(FurnitureCategory::Table, n_rows, seed, out)?,
        SynthKind::Lamps => furniture(FurnitureCategory::Lamp, n_rows, seed, out)?,
    }
    Ok(())
}

/// Shapes to train on, and a quarter as many each to choose settings with and to test on.
fn furniture(category: FurnitureCategory, n_shapes: usize, seed: u64, out: &Path) -> anyhow::Result<()> {
    let others = n_shapes.div_ceil(4);
    let sizes = FurnitureSizes { train: n_shapes, val: others, test: others };
    write_furniture(out, &Furniture { category, seed }, sizes)?;
    output::print(&format!("{} shapes in {}", n_shapes + 2 * others, out.display()))
}

/// True labels in the format of predicted ones.
pub(crate) fn write_truth(path: &Path, truth: &Truth, classes: &[String]) -> anyhow::Result<()> {
    let p = |(row, class): (usize, usize)| if truth.labels()[row] == class { 1.0 } else { 0.0 };
    let certain = Array2::from_shape_fn((truth.n_rows(), classes.len()), p);
    Ok(write_labels(path, &KeyHead::default(), LabelRows::of(&SoftLabels::new(certain)?), classes)?)
}

/// The rules of a dataset as a file that `fit` reads.
pub(crate) fn write_rules_of(path: &Path, dataset: &RuleDataset) -> anyhow::Result<()> {
    let rules = dataset.groups().iter().map(|group| group.rule.clone()).collect();
    Ok(write_rules(path, &RulesFile { rules, range: Some(dataset.range()) })?)
}

/// True values in the format of predicted ones.
pub(crate) fn write_true_values(path: &Path, truth: &TrueValues) -> anyhow::Result<()> {
    let values = truth.values().to_vec();
    let certain = ValueLabels {
        std: vec![0.0; values.len()],
        q05: values.clone(),
        q50: values.clone(),
        q95: values.clone(),
        mean: values,
    };
    let rows = RowNames::Place(0..truth.n_rows() as u64);
    Ok(write_value_labels(path, &KeyHead::default(), &rows, &certain)?)
}
