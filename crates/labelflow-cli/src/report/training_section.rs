//! How models were trained: the loss, its terms and evaluations over epochs, side by side for several models.

use labelflow::training::EpochRecord;

use super::model_folder::ModelFolder;
use super::page::{Block, PageCell, PageTable, Section};
use crate::chart::{Chart, Curve, DataTable, show_number};
use crate::experiments::summary::grouped;
use crate::inputs::evaluation_file::{Evaluation, Scores};
use crate::terminal::output::percent;
use crate::terminal::progress::why_ended;

/// The name of the term that is no violation.
const LIKELIHOOD: &str = "likelihood";

/// The section of at least one model folder.
pub(crate) fn training_section(folders: &[ModelFolder]) -> Section {
    let loss = |folder: &ModelFolder| history(folder, |record| Some(record.loss));
    let mut charts = vec![chart(folders, "loss", "Loss", "loss", loss)];
    for term in terms(folders) {
        let (title, unit) = titles(&term, folders);
        let violation = |record: &EpochRecord| record.terms.get(&term).copied();
        charts.push(chart(folders, &term, &title, unit, |folder| history(folder, violation)));
    }
    charts.extend(evaluation_charts(folders));
    let blocks = vec![
        Block::Table(models_table(folders)),
        Block::Charts(charts),
        Block::Details { summary: "Settings".to_owned(), table: settings_table(folders) },
        Block::Details { summary: "Features and classes".to_owned(), table: features_table(folders) },
    ];
    Section { name: "training", title: "Training", blocks }
}

/// The terms of all models and all of their stages, the likelihood first.
fn terms(folders: &[ModelFolder]) -> Vec<String> {
    let records = folders.iter().flat_map(|folder| &folder.history);
    let mut terms: Vec<String> = records.flat_map(|record| record.terms.keys().cloned()).collect();
    terms.sort_by_key(|term| (term != LIKELIHOOD, term.clone()));
    terms.dedup();
    terms
}

fn titles(term: &str, folders: &[ModelFolder]) -> (String, &'static str) {
    let is_completion = folders.iter().any(|folder| folder.manifest.task.is_completion());
    match term {
        LIKELIHOOD => ("Negative log-likelihood".to_owned(), "bits per dimension"),
        _ if is_completion => (format!("Term: {term}"), "without its weight"),
        _ => (format!("Violation of {term}"), "penalty without its weight"),
    }
}

/// A curve over epochs for each model.
fn chart(
    folders: &[ModelFolder],
    name: &str,
    title: &str,
    unit: &str,
    points: impl Fn(&ModelFolder) -> Vec<[f64; 2]>,
) -> Chart {
    let curve = |folder: &ModelFolder| Curve { name: folder.name.clone(), points: points(folder) };
    let curves: Vec<Curve> = folders.iter().map(curve).collect();
    Chart::of_curves(&format!("training-{name}"), title, "epoch", unit, &curves)
}

/// What each epoch has of a number that not all have.
fn history(folder: &ModelFolder, value: impl Fn(&EpochRecord) -> Option<f64>) -> Vec<[f64; 2]> {
    let point = |record: &EpochRecord| Some([record.epoch as f64, value(record)?]);
    folder.history.iter().filter_map(point).collect()
}

/// What evaluations say over epochs, of at least one model.
fn evaluation_charts(folders: &[ModelFolder]) -> impl Iterator<Item = Chart> {
    let charts = [
        ("accuracy", "accuracy", 100.0, "Accuracy", "accuracy, %"),
        ("calibration-error", "ece", 100.0, "Expected calibration error", "expected calibration error, %"),
        ("rmse", "rmse", 1.0, "Root mean squared error", "RMSE"),
    ];
    let charts = charts.into_iter().map(|(name, score, factor, title, unit)| {
        let point = |line: &Evaluation| Some([line.epoch as f64, factor * line.scores.get(score)?]);
        let points = |folder: &ModelFolder| folder.evaluations.iter().filter_map(point).collect();
        chart(folders, name, title, unit, points)
    });
    charts.filter(|chart| !chart.is_empty())
}

fn models_table(folders: &[ModelFolder]) -> PageTable {
    let header = ["model", "task", "epochs", "ended", "final loss", "classes", "features", "seed", "last evaluation"];
    let row = |folder: &ModelFolder| {
        let manifest = &folder.manifest;
        let loss = folder.history.last().map(|record| show_number(record.loss, None));
        let labels = match (&manifest.range, manifest.classes.len()) {
            (Some(_), _) => "real values".to_owned(),
            (None, 0) => "–".to_owned(),
            (None, n_classes) => n_classes.to_string(),
        };
        vec![
            folder.name.clone(),
            manifest.task.to_string(),
            manifest.n_epochs.to_string(),
            why_ended(manifest.stop).to_owned(),
            loss.unwrap_or_default(),
            labels,
            manifest.features.len().to_string(),
            manifest.config.get("seed").map_or_else(String::new, ToString::to_string),
            folder.evaluations.last().map_or_else(|| "–".to_owned(), show_evaluation),
        ]
    };
    PageTable::new("Models", DataTable::new(header, folders.iter().map(row).collect()))
}

fn show_evaluation(evaluation: &Evaluation) -> String {
    match evaluation.scores {
        Scores::Classification { accuracy, .. } => format!("accuracy {} %", percent(accuracy)),
        Scores::Regression { rmse } => format!("RMSE {}", show_number(rmse, None)),
    }
}

/// One line per setting; those in which models differ are bold.
fn settings_table(folders: &[ModelFolder]) -> PageTable {
    let settings: Vec<Vec<(String, String)>> = folders.iter().map(ModelFolder::settings).collect();
    let names = grouped(settings.iter().flatten(), |(name, _)| name);
    let row = |(name, _): (&String, _)| {
        let value = |settings: &Vec<(String, String)>| {
            let value = settings.iter().find(|(other, _)| other == name);
            value.map_or_else(|| "–".to_owned(), |(_, value)| value.clone())
        };
        let values: Vec<String> = settings.iter().map(value).collect();
        let is_bold = values.iter().any(|value| *value != values[0]);
        let cells = values.into_iter().map(|text| PageCell { text, is_bold, remarks: Vec::new() });
        std::iter::once(PageCell::from(name.clone())).chain(cells).collect()
    };
    let header = std::iter::once("setting".to_owned());
    PageTable {
        caption: "Settings".to_owned(),
        header: header.chain(folders.iter().map(|folder| folder.name.clone())).collect(),
        rows: names.into_iter().map(row).collect(),
    }
}

/// The names of features and classes.
fn features_table(folders: &[ModelFolder]) -> PageTable {
    /// More names than this are not read by anybody.
    const MOST: usize = 50;
    let list = |names: &[String]| {
        let more = names.len().saturating_sub(MOST);
        let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
        if more == 0 { shown } else { format!("{shown} and {more} more") }
    };
    let row = |folder: &ModelFolder| {
        let manifest = &folder.manifest;
        let classes = match &manifest.range {
            Some(range) => format!("real values, {range}"),
            None => list(&manifest.classes),
        };
        vec![folder.name.clone(), classes, list(&manifest.features), manifest.labelflow.clone()]
    };
    let data = DataTable::new(["model", "classes", "features", "labelflow version"], folders.iter().map(row).collect());
    PageTable::new("Features and classes", data)
}
