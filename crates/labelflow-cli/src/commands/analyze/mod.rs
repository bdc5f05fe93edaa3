//! `labelflow analyze`: what labelers do.

pub(crate) mod args;
mod patterns;

use std::path::Path;

use anyhow::Context;
use labelflow::label_models::{
    AnyLabelModel, FittedLabelModel, KnownOfLabelers, LabelWarning, label_warnings,
};
use labelflow::labelers::{LabelerPair, labeler_pairs};
use labelflow_data::tables::{Column, ColumnValues, write_columns};
use serde::Serialize;

use crate::Outcome;
use crate::inputs::labeler_report;
use crate::inputs::labeler_report::LabelerReport;
use crate::inputs::pattern_input::PatternInput;
use crate::inputs::signals_input::SignalsInput;
use crate::terminal::output;
use crate::terminal::output::percent;
use args::AnalyzeArgs;

/// What machines read when pairs are asked for.
#[derive(Serialize)]
struct WithPairs<'a> {
    labelers: &'a [LabelerReport],
    pairs: &'a [LabelerPair],
}

pub(crate) fn run(args: &AnalyzeArgs) -> anyhow::Result<Outcome> {
    let model = AnyLabelModel::from_name(&args.model)?;
    if PatternInput::is_named(&args.signals) {
        return patterns::run(args, &model);
    }
    let input = SignalsInput::read(&args.signals, &[])?;
    let signals = &input.signals;
    let truth = input.truth(args.labels.as_deref())?;
    let place = || match &args.labels {
        Some(labels) => format!("{}, {}", input.path.display(), labels.display()),
        None => format!("{}", input.path.display()),
    };
    let fitted = model.fit(signals, &KnownOfLabelers::default()).with_context(place)?;
    let labels = fitted.predict_proba(signals)?;
    Analysis {
        labelers: LabelerReport::of_all(signals, truth.as_ref(), &labels).with_context(place)?,
        pairs: if args.pairs { labeler_pairs(signals) } else { Vec::new() },
        classes: signals.classes(),
        n_rows: signals.n_rows(),
        n_uncovered: signals.n_uncovered(),
        warnings: label_warnings(signals, &labels, Some(&model))?,
    }
    .show(args, &model)
}

/// What there is to tell.
pub(super) struct Analysis<'a> {
    pub(super) labelers: Vec<LabelerReport>,
    /// Only if they are asked for.
    pub(super) pairs: Vec<LabelerPair>,
    pub(super) classes: &'a [String],
    pub(super) n_rows: usize,
    pub(super) n_uncovered: usize,
    pub(super) warnings: Vec<LabelWarning>,
}

impl Analysis<'_> {
    pub(super) fn show(
        &self,
        args: &AnalyzeArgs,
        model: &AnyLabelModel,
    ) -> anyhow::Result<Outcome> {
        let Self { labelers, pairs, classes, .. } = self;
        if let Some(path) = &args.csv {
            write_csv(path, labelers, classes)?;
        }
        match &args.json {
            Some(path) if args.pairs => output::write_json(path, &WithPairs { labelers, pairs })?,
            Some(path) => output::write_json(path, labelers)?,
            None => {}
        }
        if args.json.as_deref() != Some(Path::new("-")) {
            output::print(&labeler_report::table(labelers, classes))?;
            if args.pairs {
                output::print(&pairs_table(pairs))?;
            }
            output::print(&format!(
                "{} rows, {} of them without a vote",
                self.n_rows, self.n_uncovered
            ))?;
        }
        for warning in &self.warnings {
            output::note(&format!("warning: {}: {warning}", model.name()));
        }
        Ok(Outcome::Done)
    }
}

fn pairs_table(pairs: &[LabelerPair]) -> String {
    let rows = pairs.iter().map(|pair| {
        [
            pair.first.clone(),
            pair.second.clone(),
            pair.n_both.to_string(),
            pair.agreement.map(percent).unwrap_or_default(),
            pair.correlation.map(|value| format!("{value:.2}")).unwrap_or_default(),
        ]
    });
    output::table(["labeler", "and labeler", "rows of both", "agreement %", "correlation"], rows)
}

fn write_csv(path: &Path, labelers: &[LabelerReport], classes: &[String]) -> anyhow::Result<()> {
    let names = |of: &dyn Fn(&LabelerReport) -> String| {
        ColumnValues::Names(labelers.iter().map(of).collect())
    };
    let shares = |of: &dyn Fn(&LabelerReport) -> Option<f64>| {
        ColumnValues::Reals(
            labelers.iter().map(|labeler| of(labeler).unwrap_or(f64::NAN)).collect(),
        )
    };
    let n_votes = labelers.iter().map(|labeler| labeler.summary.n_votes as i64).collect();
    let columns = [
        ("name", names(&|labeler| labeler.summary.name.clone())),
        ("polarity", names(&|labeler| labeler.polarity(classes))),
        ("n_votes", ColumnValues::Integers(n_votes)),
        ("coverage", shares(&|labeler| Some(labeler.summary.coverage))),
        ("overlaps", shares(&|labeler| Some(labeler.summary.overlaps))),
        ("conflicts", shares(&|labeler| Some(labeler.summary.conflicts))),
        ("learned_accuracy", shares(&|labeler| labeler.learned_accuracy)),
        ("accuracy", shares(&|labeler| labeler.summary.accuracy)),
    ];
    let columns = columns.map(|(name, values)| Column { name: name.to_owned(), values });
    Ok(write_columns(path, &columns)?)
}
