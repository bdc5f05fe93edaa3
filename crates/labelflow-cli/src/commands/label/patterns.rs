//! `labelflow label` on votes of which distinct rows are kept: parts larger than memory, and tables of counts.

use std::path::Path;

use anyhow::{Context, bail};
use labelflow::WeakSignals;
use labelflow::label_models::{
    AnyFittedLabelModel, AnyLabelModel, FittedLabelModel, KnownOfLabelers,
};
use labelflow::rows::SoftLabels;
use labelflow::votes::VoteTally;
use labelflow_data::inputs::{SavedLabelModel, write_counts};

use super::args::LabelArgs;
use crate::Outcome;
use crate::commands::label::{Report, known_of_labelers, model_for, print_report, read_settings};
use crate::inputs::pattern_input::{PatternInput, PatternLabels};
use crate::terminal::output;

/// What labels rows: a fresh fit, or one that was kept.
enum Source {
    Fitted(Box<AnyLabelModel>, Box<AnyFittedLabelModel>),
    Saved(Box<SavedLabelModel>),
}

impl Source {
    fn name(&self) -> &'static str {
        match self {
            Self::Fitted(model, _) => model.name(),
            Self::Saved(saved) => saved.fitted().name(),
        }
    }

    /// The same signals with the labelers of the fit.
    fn arrange(&self, signals: &WeakSignals) -> labelflow::weak::Result<WeakSignals> {
        match self {
            Self::Fitted(..) => Ok(signals.clone()),
            Self::Saved(saved) => saved.arrange(signals),
        }
    }

    fn label(&self, arranged: &WeakSignals) -> labelflow::weak::Result<SoftLabels> {
        match self {
            Self::Fitted(_, fitted) => fitted.predict_proba(arranged),
            Self::Saved(saved) => saved.fitted().predict_proba(arranged),
        }
    }
}

pub(super) fn run(args: &LabelArgs) -> anyhow::Result<Outcome> {
    refuse(args)?;
    let (input, source) = match &args.load {
        Some(path) => load(args, path)?,
        None => fit(args)?,
    };
    let place = || format!("{}", input.path.display());
    let example = source.arrange(&input.example()?).with_context(place)?;
    let mut tally = VoteTally::new(&example);
    let known = match input.counted() {
        Some(counted) => {
            let labels = source.label(&example).with_context(place)?;
            tally.add(&example, &counted.counts(), &labels)?;
            Some(PatternLabels::new(counted, labels))
        }
        None => None,
    };
    if let (Some(path), Some(counted)) = (&args.write_counts, input.counted()) {
        write_counts(path, counted)?;
    }
    let n_labelled = input.write_labels(&args.out, example.classes(), |signals| {
        if let Some(labels) = known.as_ref().and_then(|known| known.of(signals)) {
            return Ok(labels);
        }
        let arranged = source.arrange(signals)?;
        let labels = source.label(&arranged)?;
        if known.is_none() {
            tally.add(&arranged, &[], &labels)?;
        }
        Ok(labels)
    })?;
    if let (Some(path), Source::Fitted(_, fitted)) = (&args.save, &source) {
        SavedLabelModel::new((**fitted).clone(), &example).save(path)?;
    }
    let fitted = match (&source, input.counted()) {
        (Source::Fitted(model, _), Some(counted)) => Some((&**model, counted)),
        _ => None,
    };
    let report = Report::of_tally(source.name(), &tally, example.classes(), tally.warnings(fitted));
    print_report(args, &report, example.classes())?;
    let rows = input.row_word();
    output::note(&format!("{n_labelled} {rows} labelled in {}", args.out.display()));
    Ok(Outcome::Done)
}

/// What needs all rows in memory.
fn refuse(args: &LabelArgs) -> anyhow::Result<()> {
    let in_memory = "one file of votes that is read into memory";
    if args.labels_for_eval.is_some() {
        bail!("labels-for-eval: expected {in_memory}, found votes in parts or counts");
    }
    if args.bounds.as_deref() == Some("auto") {
        bail!("bounds: 'auto' expects {in_memory}, found votes in parts or counts");
    }
    Ok(())
}

fn fit(args: &LabelArgs) -> anyhow::Result<(PatternInput, Source)> {
    let settings = read_settings(args)?;
    // Settings that need the number of classes do not change what a pattern takes.
    let model = model_for(settings.clone(), args, None)?;
    let input = PatternInput::read(&args.signals, &[], |n_signals, n_classes| {
        model.bytes_per_pattern(n_signals, n_classes)
    })?;
    let place = || format!("{}", input.path.display());
    let example = input.example()?;
    let model = model_for(settings, args, Some(example.n_classes()))?;
    let known: KnownOfLabelers = known_of_labelers(args, &example)?;
    let fitted = match input.counted() {
        None if model.ignores_votes() && args.write_counts.is_none() => model.fit(&example, &known),
        None if model.ignores_votes() => {
            model.fit_counts(input.counted_for("--write-counts")?, &known)
        }
        _ => model.fit_counts(input.counted_for(model.name())?, &known),
    };
    let fitted = fitted.with_context(place)?;
    Ok((input, Source::Fitted(Box::new(model), Box::new(fitted))))
}

fn load(args: &LabelArgs, path: &Path) -> anyhow::Result<(PatternInput, Source)> {
    let saved = SavedLabelModel::load(path)?;
    let input = PatternInput::read(&args.signals, saved.classes(), |n_signals, n_classes| {
        2 * n_signals + 16 * n_classes
    })?;
    if args.write_counts.is_some() {
        input.counted_for("--write-counts")?;
    }
    Ok((input, Source::Saved(Box::new(saved))))
}
