//! `labelflow analyze`: what labelers do.

use anyhow::Context;
use labelflow::weak::analyze;
use labelflow_data::{SignalsOptions, read_labels, read_signals};

use crate::Outcome;
use crate::args::AnalyzeArgs;
use crate::output::{self, percent};

pub(crate) fn run(args: &AnalyzeArgs) -> anyhow::Result<Outcome> {
    let options =
        SignalsOptions { classes: args.classes.clone().unwrap_or_default(), ..Default::default() };
    let signals = read_signals(&args.signals, &options)?;
    let truth =
        args.labels.as_ref().map(|path| read_labels(path, signals.classes())).transpose()?;
    let summaries = analyze(&signals, truth.as_ref()).with_context(|| match &args.labels {
        Some(labels) => format!("{}, {}", args.signals.display(), labels.display()),
        None => format!("{}", args.signals.display()),
    })?;
    if let Some(path) = &args.json {
        output::write_json(path, &summaries)?;
    }
    if args.json.as_deref() != Some(std::path::Path::new("-")) {
        let rows = summaries.iter().map(|labeler| {
            let polarity: Vec<&str> =
                labeler.polarity.iter().map(|&class| signals.classes()[class].as_str()).collect();
            [
                labeler.name.clone(),
                polarity.join(" "),
                percent(labeler.coverage),
                percent(labeler.overlaps),
                percent(labeler.conflicts),
                labeler.accuracy.map(percent).unwrap_or_default(),
            ]
        });
        let header =
            ["labeler", "polarity", "coverage %", "overlaps %", "conflicts %", "accuracy %"];
        output::print(&output::table(header, rows))?;
        output::print(&format!(
            "{} rows, {} of them without a vote",
            signals.n_rows(),
            signals.n_uncovered()
        ))?;
    }
    Ok(Outcome::Done)
}
