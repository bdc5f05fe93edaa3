//! The page: a section for each kind of input, and the charts as files.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use labelflow::label_models::{AnyLabelModel, KnownOfLabelers};
use labelflow_data::inputs::{KeyColumn, Predictions, read_predictions, read_truth_of, read_values};

use super::args::ReportArgs;
use crate::chart::{Chart, SvgPlace, printable, svg, write_png};
use crate::commands::label::vote_labeler::VoteLabeler;
use crate::commands::report::Inputs;
use crate::inputs::labeler_report::LabelerReport;
use crate::inputs::vote_input::VoteInput;
use crate::report::page::{Block, Page, Section};
use crate::report::{
    ModelFolder, SignalsReport, html, predictions_section, shorten_names, signals_section, tables_section,
    training_section, values_section,
};
use crate::terminal::claimed_folder::ClaimedFolder;
use crate::terminal::output;

/// Makes the whole page before anything is written.
pub(super) fn write(args: &ReportArgs, inputs: &Inputs<'_>) -> anyhow::Result<()> {
    let charts = args.charts.as_deref();
    let _claim = charts.map(|folder| ClaimedFolder::fill(folder, &args.overwrite)).transpose()?;
    let page = Page { sections: sections(args, inputs)? }.with_unique_names();
    if let Some(path) = &args.out {
        check_place(path)?;
    }
    if let Some(folder) = charts {
        write_charts(folder, page.charts())?;
    }
    output::write_text(args.out.as_deref(), html(&page).trim_end())
}

/// Before charts are written: better to know at once that there is no place for the page.
fn check_place(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        bail!("{}: expected a file in a folder that exists, found no such place", path.display());
    }
    Ok(())
}

fn sections(args: &ReportArgs, inputs: &Inputs<'_>) -> anyhow::Result<Vec<Section>> {
    let source = &args.signals.source;
    let has_signals = [&source.signals, &source.wrench, &source.task_votes].iter().any(|path| path.is_some());
    if args.labels.is_some() && args.predictions.is_none() && !has_signals {
        bail!("--labels needs --predictions or --signals: name the rows that they are labels of");
    }
    if args.signals_labels.is_some() && !has_signals {
        bail!("--signals-labels needs --signals: name the rows that they are labels of");
    }
    let mut sections = Vec::new();
    if !inputs.results.is_empty() || (inputs.models.is_empty() && !has_signals && args.predictions.is_none()) {
        sections.push(tables_section(&inputs.tables(args.systems.as_deref())?));
    }
    if !inputs.models.is_empty() {
        let folders = inputs.models.iter().map(|path| ModelFolder::read(path));
        let mut folders = folders.collect::<anyhow::Result<Vec<_>>>()?;
        shorten_names(&mut folders);
        sections.push(training_section(&folders));
    }
    if has_signals {
        sections.push(signals(args)?);
    }
    if let Some(path) = &args.predictions {
        sections.push(predictions(path, args.labels.as_deref(), &args.signals.key.column())?);
    }
    Ok(sections)
}

/// The same numbers as `labelflow analyze` has.
fn signals(args: &ReportArgs) -> anyhow::Result<Section> {
    let model = AnyLabelModel::from_name(&args.model)?;
    VoteInput::expect_in_memory(&args.signals, "signals")?;
    let input = VoteInput::read(&args.signals, &[], |_, _| 0)?;
    // Where there are predictions, --labels are theirs.
    let labels = args.labels.as_deref().filter(|_| args.predictions.is_none());
    let labels = args.signals_labels.as_deref().or(labels);
    let labeler = VoteLabeler::fit(input, model, &KnownOfLabelers::default())?;
    let labelled = labeler.label(labels, None)?;
    let mut section = signals_section(&SignalsReport {
        signals: &*labeler.input.example()?,
        labelers: &LabelerReport::with_confusions(&labelled.tally),
        model: &args.model,
        truth: labelled.truth.as_ref(),
        names: labeler.input.keys().context("rows are in memory")?.names(),
    });
    for warning in labelled.warnings {
        let text = format!("Warning about {}: {warning}", labeler.name());
        section.blocks.insert(1, Block::Text(text));
    }
    Ok(section)
}

fn predictions(path: &Path, labels: Option<&Path>, key: &KeyColumn) -> anyhow::Result<Section> {
    // Where an error may be: in the file, or in that of its true labels.
    let place = || match labels {
        Some(labels) => format!("{}, {}", path.display(), labels.display()),
        None => path.display().to_string(),
    };
    match read_predictions(path, key)? {
        Predictions::Classes(predictions) => {
            let truth = labels.map(|labels| read_truth_of(labels, &predictions.keys, &predictions.classes));
            predictions_section(&predictions, truth.transpose()?.as_ref()).with_context(place)
        }
        Predictions::Values(values, keys) => {
            let truth = labels.map(|labels| read_values(labels, &keys.key_column())?.in_order_of(&keys));
            values_section(&values, keys.names(), truth.transpose()?.as_ref()).with_context(place)
        }
    }
}

fn write_charts<'a>(folder: &Path, charts: impl Iterator<Item = &'a Chart>) -> anyhow::Result<()> {
    let mut n_charts = 0;
    for chart in charts {
        let path = folder.join(&chart.name).with_added_extension("svg");
        let text = printable(svg(chart, SvgPlace::File));
        labelflow_data::write_atomically(&path, |writer| writer.write_all(text.as_bytes()))?;
        write_png(&path.with_extension("png"), chart)?;
        n_charts += 1;
    }
    output::note(&format!("{n_charts} charts in {}", folder.display()));
    Ok(())
}
