//! `labelflow label`: labels from votes alone.

pub(crate) mod args;
mod relabel;
pub(crate) mod unvoted;
pub(crate) mod vote_labeler;

use std::path::Path;

use anyhow::{Context, bail, ensure};
use labelflow::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
use labelflow::labelers::LabelerErrors;
use labelflow::{Bounds, WeakSignals};
use labelflow_data::inputs::{
    AbstainConvention, Keyed, SavedLabelModel, SignalsOptions, read_bounds, read_labels, read_signals, write_counts,
};
use labelflow_data::tables::read_text;
use serde::Serialize;

use super::class_metrics::ClassMetrics;
use super::eval::Metrics;
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::labeler_report::{self, LabelerReport};
use crate::inputs::vote_input::VoteInput;
use crate::terminal::output::{self, percent};
use args::{DEFAULT_LABEL_MODEL, LabelArgs};
use vote_labeler::{Labelled, VoteLabeler};

const CLASS_BALANCE: &str = "class_balance";

/// What machines read.
#[derive(Serialize)]
struct Report {
    model: &'static str,
    /// What a user should know of the fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
    n_rows: usize,
    n_uncovered: usize,
    classes: Vec<ClassReport>,
    labelers: Vec<LabelerReport>,
    warnings: Vec<output::Warning>,
    /// Only with true labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<ClassMetrics>,
}

/// How common a class is: by the labels' probabilities, and as a share of all votes.
#[derive(Serialize)]
struct ClassReport {
    name: String,
    balance: f64,
    votes: f64,
}

pub(crate) fn run(args: &LabelArgs) -> anyhow::Result<()> {
    if args.labels_for_eval.is_some() {
        VoteInput::expect_in_memory(&args.signals, "labels-for-eval")?;
    }
    if args.known_labels.is_some() {
        VoteInput::expect_in_memory(&args.signals, "known-labels")?;
    }
    if args.relabel.is_some() {
        VoteInput::expect_in_memory(&args.signals, "relabel")?;
    }
    if args.bounds.as_deref() == Some("auto") {
        VoteInput::expect_in_memory(&args.signals, "bounds: 'auto'")?;
    }
    let labeler = match &args.load {
        Some(path) => load(args, path)?,
        None => fit(args)?,
    };
    let input = &labeler.input;
    let counted = args.write_counts.is_some().then(|| input.counted_for("--write-counts"));
    let counted = counted.transpose()?;
    if output::is_strict() {
        // Before labels are written.
        labeler.warn(&labeler.label(args.labels_for_eval.as_deref(), None)?);
        output::refuse_warnings()?;
    }
    let vote_shares = || Ok(input.counted_for("--unvoted majority")?.vote_shares());
    let unvoted = args.unvoted.rule(labeler.fitted.classes(), vote_shares)?;
    let labelled = labeler.label(args.labels_for_eval.as_deref(), Some((&args.out, unvoted)))?;
    if let Some(path) = &args.save {
        labeler.fitted.save(path)?;
    }
    if let (Some(path), Some(counted)) = (&args.write_counts, counted) {
        write_counts(path, counted)?;
    }
    let relabel = args.relabel.zip(args.relabel_out.as_deref());
    let n_listed = relabel.map(|(n, path)| relabel::write(&labeler, n, path)).transpose()?;
    let (n_written, rows) = (labelled.n_written, input.row_word());
    labeler.warn(&labelled);
    let report = Report::new(&labeler, labelled);
    output::show(args.json.as_deref(), &report, || report.print(labeler.fitted.classes()))?;
    output::note(&format!("{n_written} {rows} labelled in {}", output::place(&args.out)));
    if let (Some(n_listed), Some(path)) = (n_listed, &args.relabel_out) {
        output::note(&format!("{n_listed} rows worth another vote in {}", output::place(path)));
    }
    Ok(())
}

/// A label model fitted to the votes.
fn fit(args: &LabelArgs) -> anyhow::Result<VoteLabeler> {
    // Before any file of votes is read: settings are quick to check.
    let model = read_model(args)?;
    let input =
        VoteInput::read(&args.signals, &[], |n_signals, n_classes| model.bytes_per_pattern(n_signals, n_classes))?;
    let mut known = known_of_labelers(args, &*input.example()?)?;
    if let Some(path) = &args.known_labels {
        ensure!(
            model.uses_known_labels(),
            "known-labels: expected a label model that learns from labels too, auto or hyper, found {}",
            model.name()
        );
        known.labels = Some(input.known_labels(path)?);
    }
    input.warn_of_labelers(known.bounds.as_ref())?;
    VoteLabeler::fit(input, model, &known)
}

/// A label model of an earlier fit.
fn load(args: &LabelArgs, path: &Path) -> anyhow::Result<VoteLabeler> {
    let saved = SavedLabelModel::load(path)?;
    let bytes = |n_signals: usize, n_classes: usize| 2 * n_signals + 16 * n_classes;
    let input = VoteInput::read(&args.signals, saved.classes(), bytes)?;
    input.warn_of_labelers(None)?;
    let input = input.of_known_workers(&saved, &args.signals)?;
    Ok(VoteLabeler::saved(input, saved, path))
}

impl Report {
    fn new(labeler: &VoteLabeler, labelled: Labelled) -> Self {
        let Labelled { tally, metrics, .. } = labelled;
        let classes = labeler.fitted.classes().iter().zip(tally.label_balance());
        let class =
            |((name, balance), votes): ((&String, f64), f64)| ClassReport { name: name.clone(), balance, votes };
        Self {
            model: labeler.name(),
            remark: labeler.fitted.fitted().remark().map(str::to_owned),
            n_rows: tally.n_rows(),
            n_uncovered: tally.n_uncovered(),
            classes: classes.zip(tally.vote_shares()).map(class).collect(),
            labelers: LabelerReport::of_tally(&tally),
            warnings: output::warnings(),
            metrics: metrics.map(|metrics| ClassMetrics::new(metrics, labeler.fitted.classes())),
        }
    }

    fn print(&self, classes: &[String]) -> anyhow::Result<()> {
        output::print(&labeler_report::table(&self.labelers, classes))?;
        let rows = self.classes.iter().map(|class| [class.name.clone(), percent(class.votes), percent(class.balance)]);
        output::print(&output::table(["class", "votes %", "labels %"], rows))?;
        if let Some(remark) = &self.remark {
            output::print(&format!("{}: {remark}", self.model))?;
        }
        output::print(&format!("{}: {} rows, {} of them without a vote", self.model, self.n_rows, self.n_uncovered))?;
        self.metrics.as_ref().map_or(Ok(()), Metrics::print)
    }
}

/// The label model with the settings of its file and of the flags.
fn read_model(args: &LabelArgs) -> anyhow::Result<AnyLabelModel> {
    let reading = || match &args.settings {
        Some(path) => format!("reading {}", path.display()),
        None => "settings of the label model".to_owned(),
    };
    let mut settings: toml::Table = match &args.settings {
        Some(path) => toml::from_str(&read_text(path)?).with_context(reading)?,
        None => toml::Table::new(),
    };
    let in_file = match settings.get("model") {
        None => None,
        Some(toml::Value::String(name)) => Some(name.clone()),
        Some(other) => bail!("model: expected a name, found {other}"),
    };
    let name = match (&args.model, in_file) {
        (Some(flag), Some(name)) if *flag != name => {
            bail!("model: expected {flag}, as --model says, found '{name}' in the settings")
        }
        (Some(flag), _) => flag.clone(),
        (None, in_file) => in_file.unwrap_or_else(|| DEFAULT_LABEL_MODEL.to_owned()),
    };
    let default = AnyLabelModel::from_name(&name)?;
    let known = setting_names(&default);
    if let Some(unknown) = settings.keys().find(|key| *key != "model" && !known.contains(key)) {
        let expected = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let place = args.settings.as_deref().unwrap_or(Path::new("settings"));
        bail!("{}: expected settings of {name} ({expected}), found '{unknown}'", place.display());
    }
    if let Some(text) = &args.class_balance {
        if !known.iter().any(|key| key == CLASS_BALANCE) {
            bail!("class-balance: expected a label model that has one, found {name}");
        }
        settings.insert(CLASS_BALANCE.to_owned(), class_balance(text)?);
    }
    settings.insert("model".to_owned(), name.into());
    settings.try_into().with_context(reading)
}

fn setting_names(model: &AnyLabelModel) -> Vec<String> {
    let written = serde_json::to_value(model).expect("settings can be written as JSON");
    let keys = written.as_object().into_iter().flat_map(|settings| settings.keys());
    keys.filter(|key| *key != "model").cloned().collect()
}

/// The setting that a flag gives.
fn class_balance(text: &str) -> anyhow::Result<toml::Value> {
    if let "estimated" | "uniform" = text {
        return Ok(text.into());
    }
    let balance: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let balance = balance.with_context(|| {
        format!("class-balance: expected 'estimated', 'uniform' or numbers separated by commas, found '{text}'")
    });
    Ok(balance?.into())
}

/// What the flags say of the labelers; what they do not say is measured on labelled rows, if there are any.
fn known_of_labelers(args: &LabelArgs, signals: &WeakSignals) -> anyhow::Result<KnownOfLabelers> {
    let bounds = args.bounds.as_deref().map(|text| BoundsSetting::from(text).resolve(signals));
    let errors = args.errors.as_deref().map(|text| read_errors(text, signals));
    let mut known = KnownOfLabelers { errors: errors.transpose()?, bounds: bounds.transpose()?, labels: None };
    if let (Some(path), Some(truth_path)) = (&args.labelled_signals, &args.labelled_truth) {
        let place = || format!("{}, {}", path.display(), truth_path.display());
        let options = SignalsOptions {
            classes: signals.classes().to_vec(),
            abstain: args.signals.abstain.map(AbstainConvention::from).unwrap_or_default(),
            key: args.signals.key.column(),
            ..Default::default()
        };
        let Keyed { value: labelled, keys } = read_signals(path, &options)?;
        let labelled = labelled.select_labelers(signals.labelers()).with_context(|| format!("{}", path.display()))?;
        let truth = read_labels(truth_path, signals.classes(), &options.key)?.in_order_of(&keys)?;
        let measured = Bounds::measured(&labelled, &truth).with_context(place)?;
        known.bounds.get_or_insert(measured);
        known.errors.get_or_insert(LabelerErrors::measured(&labelled, &truth)?);
    }
    Ok(known)
}

/// One error rate for all labelers, or a file with one per labeler.
fn read_errors(text: &str, signals: &WeakSignals) -> anyhow::Result<LabelerErrors> {
    if let Ok(rate) = text.parse::<f64>() {
        if !(0.0..=1.0).contains(&rate) {
            bail!("errors: expected an error rate from 0 to 1 or a file, found {rate}");
        }
        let rates = vec![rate; signals.n_signals()];
        return Ok(LabelerErrors::per_labeler(&rates, signals.n_classes())?);
    }
    let rates = read_bounds(Path::new(text), signals)?;
    let rates = rates.values();
    if rates.rows().into_iter().any(|row| row.iter().any(|rate| *rate != row[0])) {
        bail!("{text}: expected one error rate per labeler, found one per class");
    }
    let rates = rates.column(0).to_vec();
    Ok(LabelerErrors::per_labeler(&rates, signals.n_classes())?)
}
