//! `labelflow analyze` on votes of which distinct rows are kept.

use anyhow::{Context, bail};
use labelflow::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
use labelflow::labelers::labeler_pairs_of_counts;
use labelflow::votes::VoteTally;

use super::args::AnalyzeArgs;
use crate::Outcome;
use crate::commands::analyze::Analysis;
use crate::inputs::labeler_report::LabelerReport;
use crate::inputs::pattern_input::PatternInput;

pub(super) fn run(args: &AnalyzeArgs, model: &AnyLabelModel) -> anyhow::Result<Outcome> {
    if args.labels.is_some() {
        bail!(
            "labels: expected one file of votes that is read into memory, found votes in parts or counts"
        );
    }
    let input = PatternInput::read(&args.signals, &[], |n_signals, n_classes| {
        model.bytes_per_pattern(n_signals, n_classes)
    })?;
    let place = || format!("{}", input.path.display());
    let example = input.example()?;
    let known = KnownOfLabelers::default();
    let mut tally = VoteTally::new(&example);
    let counted = match input.counted() {
        None if model.ignores_votes() && !args.pairs => None,
        None if args.pairs => Some(input.counted_for("--pairs")?),
        _ => Some(input.counted_for(model.name())?),
    };
    if let Some(counted) = counted {
        let fitted = model.fit_counts(counted, &known).with_context(place)?;
        tally.add(&example, &counted.counts(), &fitted.predict_proba(&example)?)?;
    } else {
        let fitted = model.fit(&example, &known).with_context(place)?;
        input.visit(|signals| Ok(tally.add(signals, &[], &fitted.predict_proba(signals)?)?))?;
    }
    let pairs = counted.filter(|_| args.pairs).map(labeler_pairs_of_counts).unwrap_or_default();
    Analysis {
        labelers: LabelerReport::of_tally(&tally),
        pairs,
        classes: example.classes(),
        n_rows: tally.n_rows(),
        n_uncovered: tally.n_uncovered(),
        warnings: tally.warnings(counted.map(|counted| (model, counted))),
    }
    .show(args, model)
}
