//! `labelflow label`: labels from votes alone.

pub(crate) mod args;
mod patterns;

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::evaluation::{ClassificationMetrics, classification_metrics};
use labelflow::label_models::{
    AnyFittedLabelModel, AnyLabelModel, FittedLabelModel, KnownOfLabelers, LabelWarning,
    label_warnings,
};
use labelflow::labelers::LabelerErrors;
use labelflow::rows::SoftLabels;
use labelflow::votes::{CountedVotes, VoteTally};
use labelflow::{Bounds, WeakSignals};
use labelflow_data::inputs::{
    AbstainConvention, SavedLabelModel, SignalsOptions, read_bounds, read_labels, read_signals,
    write_counts,
};
use ndarray::Axis;
use serde::Serialize;

use super::eval::print_metrics;
use crate::Outcome;
use crate::inputs::bounds_setting::BoundsSetting;
use crate::inputs::labeler_report;
use crate::inputs::labeler_report::LabelerReport;
use crate::inputs::pattern_input::PatternInput;
use crate::inputs::signals_input::SignalsInput;
use crate::terminal::output;
use crate::terminal::output::percent;
use args::{DEFAULT_LABEL_MODEL, LabelArgs};

const CLASS_BALANCE: &str = "class_balance";

/// What machines read.
#[derive(Serialize)]
pub(super) struct Report {
    model: String,
    n_rows: usize,
    n_uncovered: usize,
    classes: Vec<ClassReport>,
    labelers: Vec<LabelerReport>,
    warnings: Vec<WarningReport>,
    /// Only with true labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<ClassificationMetrics>,
}

/// How common a class is: by the labels' probabilities, and as a share of all votes.
#[derive(Serialize)]
struct ClassReport {
    name: String,
    balance: f64,
    votes: f64,
}

#[derive(Serialize)]
struct WarningReport {
    #[serde(flatten)]
    warning: LabelWarning,
    text: String,
}

/// Labels, and where they come from.
struct Labelled {
    input: SignalsInput,
    labels: SoftLabels,
    /// The name of the label model.
    name: &'static str,
    /// The label model, if it was fitted to the rows that it labels.
    fit: Option<(AnyLabelModel, AnyFittedLabelModel)>,
}

pub(crate) fn run(args: &LabelArgs) -> anyhow::Result<Outcome> {
    if PatternInput::is_named(&args.signals) {
        return patterns::run(args);
    }
    let labelled = match &args.load {
        Some(path) => label_with_saved(args, path)?,
        None => fit_and_label(args)?,
    };
    let report = Report::new(&labelled, args.labels_for_eval.as_deref())?;
    let Labelled { input, labels, fit, .. } = labelled;
    input.write_labels(&args.out, &labels)?;
    if let (Some(path), Some((_, fitted))) = (&args.save, fit) {
        SavedLabelModel::new(fitted, &input.signals).save(path)?;
    }
    if let Some(path) = &args.write_counts {
        write_counts(path, &CountedVotes::of(&input.signals))?;
    }
    print_report(args, &report, input.signals.classes())?;
    output::note(&format!("{} rows labelled in {}", labels.n_rows(), args.out.display()));
    Ok(Outcome::Done)
}

/// Says and writes what was learned.
pub(super) fn print_report(
    args: &LabelArgs,
    report: &Report,
    classes: &[String],
) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        report.print(classes)?;
    }
    for warning in &report.warnings {
        output::note(&format!("warning: {}: {}", report.model, warning.text));
    }
    Ok(())
}

/// A label model fitted to the votes, and its labels of the same rows.
fn fit_and_label(args: &LabelArgs) -> anyhow::Result<Labelled> {
    // Before any file of votes is read: settings are quick to check.
    let settings = read_settings(args)?;
    let input = SignalsInput::read(&args.signals, &[])?;
    let signals = &input.signals;
    let model = model_for(settings, args, Some(signals.n_classes()))?;
    let known = known_of_labelers(args, signals)?;
    let fitted = model.fit(signals, &known).with_context(|| format!("{}", input.path.display()))?;
    let labels = fitted.predict_proba(signals)?;
    Ok(Labelled { labels, name: model.name(), fit: Some((model, fitted)), input })
}

/// A label model of an earlier fit, and its labels.
fn label_with_saved(args: &LabelArgs, path: &Path) -> anyhow::Result<Labelled> {
    let saved = SavedLabelModel::load(path)?;
    let mut input = SignalsInput::read(&args.signals, saved.classes())?;
    let place = || format!("{}, {}", path.display(), input.path.display());
    let signals = saved.arrange(&input.signals).with_context(place)?;
    let labels = saved.predict_proba(&signals).with_context(place)?;
    input.signals = signals;
    Ok(Labelled { input, labels, name: saved.fitted().name(), fit: None })
}

impl Report {
    /// `truth` is a file of true labels, for an evaluation.
    fn new(labelled: &Labelled, truth: Option<&Path>) -> anyhow::Result<Self> {
        let Labelled { input, labels, name, fit } = labelled;
        let signals = &input.signals;
        let place = || match truth {
            Some(path) => format!("{}, {}", input.path.display(), path.display()),
            None => format!("{}", input.path.display()),
        };
        let truth = input.truth(truth)?;
        let metrics = truth.as_ref().map(|truth| classification_metrics(labels, truth));
        let warnings = label_warnings(signals, labels, fit.as_ref().map(|(model, _)| model))?;
        let warnings = warnings.into_iter();
        Ok(Self {
            model: (*name).to_owned(),
            n_rows: signals.n_rows(),
            n_uncovered: signals.n_uncovered(),
            classes: class_reports(signals, labels),
            metrics: metrics.transpose().with_context(place)?,
            labelers: LabelerReport::of_all(signals, truth.as_ref(), labels).with_context(place)?,
            warnings: warnings
                .map(|warning| WarningReport { text: warning.to_string(), warning })
                .collect(),
        })
    }

    /// The report of votes that are not in memory.
    pub(super) fn of_tally(
        model: &str,
        tally: &VoteTally,
        classes: &[String],
        warnings: Vec<LabelWarning>,
    ) -> Self {
        let classes = classes.iter().zip(tally.label_balance()).zip(tally.vote_shares());
        let class = |((name, balance), votes): ((&String, f64), f64)| ClassReport {
            name: name.clone(),
            balance,
            votes,
        };
        let warnings = warnings.into_iter();
        Self {
            model: model.to_owned(),
            n_rows: tally.n_rows(),
            n_uncovered: tally.n_uncovered(),
            classes: classes.map(class).collect(),
            labelers: LabelerReport::of_tally(tally),
            warnings: warnings
                .map(|warning| WarningReport { text: warning.to_string(), warning })
                .collect(),
            metrics: None,
        }
    }

    fn print(&self, classes: &[String]) -> anyhow::Result<()> {
        output::print(&labeler_report::table(&self.labelers, classes))?;
        let rows = self
            .classes
            .iter()
            .map(|class| [class.name.clone(), percent(class.votes), percent(class.balance)]);
        output::print(&output::table(["class", "votes %", "labels %"], rows))?;
        output::print(&format!(
            "{}: {} rows, {} of them without a vote",
            self.model, self.n_rows, self.n_uncovered
        ))?;
        self.metrics.as_ref().map_or(Ok(()), print_metrics)
    }
}

fn class_reports(signals: &WeakSignals, labels: &SoftLabels) -> Vec<ClassReport> {
    let mut n_votes = vec![0.0; signals.n_classes()];
    for row in 0..signals.n_rows() {
        for class in (0..signals.n_signals()).filter_map(|labeler| signals.vote(row, labeler)) {
            n_votes[class] += 1.0;
        }
    }
    let n_all = n_votes.iter().sum::<f64>().max(1.0);
    let balance = labels.values().mean_axis(Axis(0)).expect("signals have rows");
    let classes = signals.classes().iter().zip(&balance).zip(n_votes);
    classes
        .map(|((name, &balance), n)| ClassReport { name: name.clone(), balance, votes: n / n_all })
        .collect()
}

/// The settings of the label model as a table, with its name in it.
pub(super) fn read_settings(args: &LabelArgs) -> anyhow::Result<toml::Table> {
    let mut settings = toml::Table::new();
    if let Some(path) = &args.settings {
        let context = || format!("reading {}", path.display());
        let text = std::fs::read_to_string(path).with_context(context)?;
        settings = toml::from_str(&text).with_context(context)?;
    }
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
    if args.class_balance.is_some() && !known.iter().any(|key| key == CLASS_BALANCE) {
        bail!("class-balance: expected a label model that has one, found {name}");
    }
    settings.insert("model".to_owned(), name.into());
    Ok(settings)
}

fn setting_names(model: &AnyLabelModel) -> Vec<String> {
    let written = serde_json::to_value(model).expect("settings can be written as JSON");
    let keys = written.as_object().into_iter().flat_map(|settings| settings.keys());
    keys.filter(|key| *key != "model").cloned().collect()
}

/// All label models estimate the balance unless they are told otherwise.
fn set_class_balance(
    settings: &mut toml::Table,
    text: &str,
    n_classes: usize,
) -> anyhow::Result<()> {
    let balance: Vec<f64> = match text {
        "estimated" => {
            settings.remove(CLASS_BALANCE);
            return Ok(());
        }
        "uniform" => vec![1.0 / n_classes as f64; n_classes],
        numbers => numbers.split(',').map(|number| number.trim().parse()).collect::<Result<_, _>>().map_err(
            |_| {
                anyhow::anyhow!(
                    "class-balance: expected 'estimated', 'uniform' or numbers separated by commas, found '{text}'"
                )
            },
        )?,
    };
    settings.insert(CLASS_BALANCE.to_owned(), balance.into());
    Ok(())
}

/// The label model with its settings; how common the classes are by the flags, once their number is known.
pub(super) fn model_for(
    mut settings: toml::Table,
    args: &LabelArgs,
    n_classes: Option<usize>,
) -> anyhow::Result<AnyLabelModel> {
    if let (Some(text), Some(n_classes)) = (&args.class_balance, n_classes) {
        set_class_balance(&mut settings, text, n_classes)?;
    }

    settings.try_into().with_context(|| match &args.settings {
        Some(path) => format!("reading {}", path.display()),
        None => "settings of the label model".to_owned(),
    })
}

/// What the flags say of the labelers; what they do not say is measured on labelled rows, if there are any.
pub(super) fn known_of_labelers(
    args: &LabelArgs,
    signals: &WeakSignals,
) -> anyhow::Result<KnownOfLabelers> {
    let bounds = args.bounds.as_deref().map(|text| BoundsSetting::parse(text).resolve(signals));
    let errors = args.errors.as_deref().map(|text| read_errors(text, signals));
    let mut known = KnownOfLabelers { errors: errors.transpose()?, bounds: bounds.transpose()? };
    if let (Some(path), Some(truth_path)) = (&args.labelled_signals, &args.labelled_truth) {
        let place = || format!("{}, {}", path.display(), truth_path.display());
        let options = SignalsOptions {
            classes: signals.classes().to_vec(),
            abstain: args.signals.abstain.map(AbstainConvention::from).unwrap_or_default(),
            ..Default::default()
        };
        let labelled = read_signals(path, &options)?;
        if labelled.labelers() != signals.labelers() {
            bail!(
                "{}: expected the labelers {}, found {}",
                path.display(),
                signals.labelers().join(", "),
                labelled.labelers().join(", ")
            );
        }
        let truth = read_labels(truth_path, signals.classes())?;
        let measured = Bounds::measured(&labelled, &truth).with_context(place)?;
        known.bounds.get_or_insert(measured);
        known.errors.get_or_insert(LabelerErrors::measured(&labelled, &truth)?);
    }
    Ok(known)
}

/// One error rate for all labelers, or a file with one a labeler.
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
        bail!("{text}: expected one error rate a labeler, found one a class");
    }
    let rates = rates.column(0).to_vec();
    Ok(LabelerErrors::per_labeler(&rates, signals.n_classes())?)
}
