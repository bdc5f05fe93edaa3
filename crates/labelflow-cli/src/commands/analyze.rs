//! `labelflow analyze`: what labelers do.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use clap::Args;
use labelflow::label_models::{AnyLabelModel, KnownOfLabelers};
use labelflow::labelers::{LabelerPair, labeler_pairs_of_counts};
use labelflow_data::tables::{Column, ColumnValues, write_columns};
use serde::Serialize;

use crate::commands::label::args::DEFAULT_LABEL_MODEL;
use crate::commands::label::vote_labeler::VoteLabeler;
use crate::flags::SignalsArgs;
use crate::inputs::labeler_report::{self, LabelerReport};
use crate::inputs::vote_input::VoteInput;
use crate::terminal::output::{self, percent};

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    signals: SignalsArgs,
    /// True labels, to measure the accuracy of each labeler
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Label model that estimates the accuracy of each labeler without true labels
    #[arg(long, value_name = "NAME", default_value = DEFAULT_LABEL_MODEL)]
    model: String,
    /// Also describe each pair of labelers: common rows, agreement, correlation
    #[arg(long)]
    pairs: bool,
    /// Also write the table of labelers: csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also write the tables as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What machines read.
#[derive(Serialize)]
#[serde(untagged)]
enum Report<'a> {
    Labelers(Vec<ListedLabeler<'a>>),
    Whole(Whole<'a>),
}

/// The labelers of a crowd or with pairs, and what is said of all of them together.
#[derive(Serialize)]
struct Whole<'a> {
    classes: &'a [String],
    labelers: &'a [LabelerReport],
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<&'a [LabelerPair]>,
    /// How far they agree beyond chance; nothing where it is not defined.
    krippendorff_alpha: Option<f64>,
    warnings: Vec<output::Warning>,
}

/// A labeler of the list, with the warnings that name it and those that name no labeler.
#[derive(Serialize)]
struct ListedLabeler<'a> {
    #[serde(flatten)]
    report: &'a LabelerReport,
    warnings: Vec<output::Warning>,
}

impl<'a> ListedLabeler<'a> {
    fn new(report: &'a LabelerReport) -> Self {
        let name = &report.summary.name;
        let concerns =
            |warning: &output::Warning| warning.labelers().is_none_or(|labelers| labelers.contains(&&**name));
        Self { report, warnings: output::warnings().into_iter().filter(concerns).collect() }
    }
}

pub(crate) fn run(args: &AnalyzeArgs) -> anyhow::Result<()> {
    let model = AnyLabelModel::from_name(&args.model)?;
    if args.labels.is_some() {
        VoteInput::expect_in_memory(&args.signals, "labels")?;
    }
    let input =
        VoteInput::read(&args.signals, &[], |n_signals, n_classes| model.bytes_per_pattern(n_signals, n_classes))?;
    input.warn_of_labelers(None)?;
    let pairs = args.pairs.then(|| input.counted_for("--pairs").map(labeler_pairs_of_counts));
    let pairs = pairs.transpose()?;
    let labeler = VoteLabeler::fit(input, model, &KnownOfLabelers::default())?;
    let labelled = labeler.label(args.labels.as_deref(), None)?;
    labeler.warn(&labelled);
    output::refuse_warnings()?;
    let mut labelers = LabelerReport::with_confusions(&labelled.tally);
    let is_crowd = args.signals.source.task_votes.is_some();
    if is_crowd {
        // Those with as many votes stay in their order.
        labelers.sort_by_key(|labeler| Reverse(labeler.summary.n_votes));
    }
    let classes = labeler.fitted.classes();
    if let Some(path) = &args.csv {
        write_csv(path, &labelers, classes)?;
    }
    let krippendorff_alpha = labelled.tally.krippendorff_alpha();
    let report = match &pairs {
        None if !is_crowd => Report::Labelers(labelers.iter().map(ListedLabeler::new).collect()),
        pairs => Report::Whole(Whole {
            classes,
            labelers: &labelers,
            pairs: pairs.as_deref(),
            krippendorff_alpha,
            warnings: output::warnings(),
        }),
    };
    output::show(args.json.as_deref(), &report, || {
        output::print(&labeler_report::table(&labelers, classes))?;
        if let Some(pairs) = &pairs {
            output::print(&pairs_table(pairs))?;
        }
        let (n_rows, n_uncovered) = (labelled.tally.n_rows(), labelled.tally.n_uncovered());
        output::print(&format!("{n_rows} rows, {n_uncovered} of them without a vote"))?;
        let alpha = krippendorff_alpha.map_or_else(|| "not defined".to_owned(), |alpha| format!("{alpha:.3}"));
        output::print(&format!("agreement beyond chance (Krippendorff's alpha): {alpha}"))
    })
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
    let names = |of: &dyn Fn(&LabelerReport) -> String| ColumnValues::Names(labelers.iter().map(of).collect());
    let shares = |of: &dyn Fn(&LabelerReport) -> Option<f64>| {
        ColumnValues::Reals(labelers.iter().map(|labeler| of(labeler).unwrap_or(f64::NAN)).collect())
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
    let columns = columns.map(|(name, values)| Column::new(name, values));
    Ok(write_columns(path, &columns)?)
}
