//! What every label model does: learn from signals alone, then turn signals into soft labels.
//!
//! ```text
//! fit: signals → labeler,   predict_proba: signals → p(label | signals), [n_rows, n_classes]
//! ```

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, SoftLabels, WeakSignals};

/// The configuration of a label model. Fitting it gives another type, so nothing can predict before it was fitted.
pub trait LabelModel {
    /// What fitting returns.
    type Fitted: Labeler;

    /// Learns from the signals how far each labeler can be trusted.
    fn fit(&self, signals: &WeakSignals) -> Result<Self::Fitted>;
}

/// A fitted label model.
pub trait Labeler {
    /// The probability of each class for each row, `[n_rows, n_classes]`.
    ///
    /// A row's answer depends on that row's signals only. The signals must come from the same labelers and speak of
    /// the same classes as those of the fit.
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels>;
}

/// Fewer labelers can be explained in more than one way.
const MIN_TO_COMPARE: usize = 3;

/// How many labelers and classes a labeler was fitted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignalShape {
    pub(crate) n_signals: usize,
    pub(crate) n_classes: usize,
}

impl SignalShape {
    pub(crate) fn of(signals: &WeakSignals) -> Self {
        Self { n_signals: signals.n_signals(), n_classes: signals.n_classes() }
    }

    /// Checks that `signals` have the shape of the fit.
    pub(crate) fn check(self, signals: &WeakSignals) -> Result<()> {
        let found = Self::of(signals);
        if found == self {
            return Ok(());
        }
        Err(Error::data(
            "signals",
            format!("{} labelers and {} classes, as in the fit", self.n_signals, self.n_classes),
            format!("{} labelers and {} classes", found.n_signals, found.n_classes),
        ))
    }

    /// Checks that there are enough labelers to find out from their agreement who is right.
    pub(crate) fn check_three_labelers(self) -> Result<()> {
        if self.n_signals >= MIN_TO_COMPARE {
            return Ok(());
        }
        let expected = format!("at least {MIN_TO_COMPARE} labelers");
        Err(Error::data("signals", expected, self.n_signals)
            .with_hint("with fewer, agreement does not tell who is right; use a majority vote"))
    }

    /// The classes that need a model of their own against the rest: with two classes, class 1 decides both.
    pub(crate) fn classes_against_rest(self) -> Range<usize> {
        if self.n_classes == 2 { 1..2 } else { 0..self.n_classes }
    }
}
