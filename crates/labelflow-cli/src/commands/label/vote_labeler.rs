//! Votes and what labels them: a label model that was fitted to them, or one of an earlier fit.

use std::path::Path;

use anyhow::Context;
use labelflow::WeakSignals;
use labelflow::evaluation::{ClassificationMetrics, classification_metrics_of};
use labelflow::label_models::{AnyLabelModel, FittedLabelModel, KnownOfLabelers, LabelWarning};
use labelflow::rows::{SoftLabels, Truth};
use labelflow::votes::{VoteCounter, VoteTally};
use labelflow_data::inputs::SavedLabelModel;

use super::unvoted::UnvotedRule;
use crate::inputs::vote_input::VoteInput;
use crate::terminal::output;

pub(crate) struct VoteLabeler {
    pub(crate) input: VoteInput,
    /// The label model with its settings, if it was fitted to these votes.
    model: Option<AnyLabelModel>,
    pub(crate) fitted: SavedLabelModel,
    place: String,
}

/// What votes and their labels show.
pub(crate) struct Labelled {
    pub(crate) tally: VoteTally,
    /// The true labels, where they are known.
    pub(crate) truth: Option<Truth>,
    /// Only with true labels.
    pub(crate) metrics: Option<ClassificationMetrics>,
    pub(crate) warnings: Vec<LabelWarning>,
    /// How many rows were written.
    pub(crate) n_written: u64,
}

impl VoteLabeler {
    /// Fits a label model to the votes.
    pub(crate) fn fit(input: VoteInput, model: AnyLabelModel, known: &KnownOfLabelers) -> anyhow::Result<Self> {
        let fitted = SavedLabelModel::new(input.fit(&model, known)?, &*input.example()?);
        Ok(Self { place: input.place(), input, model: Some(model), fitted })
    }

    /// Takes the label model of an earlier fit, read from the file `path`.
    pub(crate) fn saved(input: VoteInput, fitted: SavedLabelModel, path: &Path) -> Self {
        let place = format!("{}, {}", path.display(), input.place());
        Self { input, model: None, fitted, place }
    }

    /// The name of the label model.
    pub(crate) fn name(&self) -> &'static str {
        self.fitted.fitted().name()
    }

    /// Labels all rows, compares the labels with a file of true ones if there is one, and writes them if `out` is named, which also says what
    /// rows without a vote get.
    pub(crate) fn label(&self, truth: Option<&Path>, out: Option<(&Path, UnvotedRule)>) -> anyhow::Result<Labelled> {
        let place = || match truth {
            Some(path) => format!("{}, {}", self.place, path.display()),
            None => self.place.clone(),
        };
        let truth = self.input.truth(truth)?;
        let example = self.arrange(&*self.input.example()?)?;
        let (mut tally, mut metrics) = (VoteTally::new(&example), None);
        let patterns = match self.input.patterns() {
            Some(counted) => {
                let labels = self.predict(&example)?;
                tally.add(&example, &counted.counts(), &labels, None)?;
                Some((VoteCounter::of(counted), labels))
            }
            None => None,
        };
        let mut label = |signals: &WeakSignals| {
            let arranged = self.arrange(signals)?;
            let known = patterns.as_ref().and_then(|(patterns, labels)| Some((labels, places(patterns, signals)?)));
            let labels = match known {
                Some((labels, places)) => labels.select_rows(&places),
                None => self.predict(&arranged)?,
            };
            if patterns.is_none() {
                tally.add(&arranged, &[], &labels, truth.as_ref()).with_context(place)?;
            }
            let classes = self.fitted.fitted().choose(&arranged, &labels).with_context(place)?;
            if let Some(truth) = &truth {
                metrics = Some(classification_metrics_of(&labels, &classes, truth).with_context(place)?);
            }
            anyhow::Ok((arranged, labels, classes))
        };
        let n_written = match out {
            // Votes of labelers that the fit does not know are none.
            Some((out, unvoted)) => self.input.write_labels(out, self.fitted.classes(), |signals| {
                let (arranged, labels, classes) = label(signals)?;
                let (chosen, n_votes) = unvoted.apply(&arranged, classes);
                Ok((labels, chosen, n_votes))
            })?,
            None if patterns.is_some() => 0,
            None => self.input.visit(|signals| label(signals).map(|_| ())).map(|()| 0)?,
        };
        let warnings = match &self.model {
            Some(model) if !model.ignores_votes() => {
                tally.warnings(Some((model, self.input.counted_for(model.name())?)))
            }
            _ => tally.warnings(None),
        };
        Ok(Labelled { tally, truth, metrics, warnings, n_written })
    }

    /// Warns of labels that look wrong.
    pub(crate) fn warn(&self, labelled: &Labelled) {
        labelled.warnings.iter().for_each(|warning| output::warn(self.name(), warning));
    }

    /// The same signals with the labelers of the fit.
    fn arrange(&self, signals: &WeakSignals) -> anyhow::Result<WeakSignals> {
        self.fitted.arrange(signals).with_context(|| self.place.clone())
    }

    fn predict(&self, arranged: &WeakSignals) -> anyhow::Result<SoftLabels> {
        self.fitted.fitted().predict_proba(arranged).with_context(|| self.place.clone())
    }
}

/// Which of the distinct rows each row is; nothing if one of them is none.
fn places(patterns: &VoteCounter, signals: &WeakSignals) -> Option<Vec<usize>> {
    let votes = signals.votes();
    votes.as_slice().chunks_exact(signals.n_signals()).map(|row| patterns.find(row)).collect()
}
