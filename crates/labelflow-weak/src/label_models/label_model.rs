//! What every label model does: learn from signals alone, then turn signals into soft labels.
//!
//! ```text
//! fit: signals → counted votes → labeler,   predict_proba: signals → p(label | signals), [n_rows, n_classes]
//! ```

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::rows::SoftLabels;
use crate::votes::votes::check_n_classes;
use crate::votes::{CountedVotes, WeakSignals};
use crate::{Error, Result};

/// The configuration of a label model. Fitting it gives another type, so nothing can predict before it was fitted.
pub trait LabelModel {
    /// What fitting returns.
    type Fitted: Labeler;

    /// Learns from counted votes how far each labeler can be trusted.
    fn fit_counts(&self, counted: &CountedVotes) -> Result<Self::Fitted>;

    /// Learns from the signals how far each labeler can be trusted: the fit to their counted votes.
    fn fit(&self, signals: &WeakSignals) -> Result<Self::Fitted> {
        self.fit_counts(&CountedVotes::of(signals))
    }
}

/// A fitted label model.
pub trait Labeler {
    /// The probability of each class for each row, `[n_rows, n_classes]`.
    ///
    /// A row's answer depends on that row's signals only. The signals must come from the same labelers and speak of
    /// the same classes as those of the fit.
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels>;
}

/// What a fitted label model that was read from a file is asked before it labels: a file may contradict itself.
pub(crate) trait FittedLists {
    /// How many labelers and classes it was fitted with.
    fn shape(&self) -> SignalShape;

    /// Checks that every list is as long as the shape says, and that what names a labeler names one of them.
    fn check_lists(&self) -> Result<()>;
}

/// Fewer labelers can be explained in more than one way.
const MIN_TO_COMPARE: usize = 3;
/// A table of this size squared takes half a gigabyte.
const MOST_COMPARED: usize = 8192;
/// Of so many there are a billion triplets.
const MOST_IN_TRIPLETS: usize = 2048;

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

    /// Checks that a list of a fit that was read from a file has as many entries as its dimensions say. What they
    /// say is no reason to believe that so many fit into memory, nor into a number.
    pub(crate) fn check_list(self, list: &str, found: usize, dimensions: &[usize]) -> Result<()> {
        let expected = dimensions.iter().try_fold(1, |n: usize, &size| n.checked_mul(size));
        if expected == Some(found) {
            return Ok(());
        }
        let sizes: Vec<String> = dimensions.iter().map(usize::to_string).collect();
        let expected = format!(
            "{} entries for {} labelers and {} classes",
            sizes.join(" × "),
            self.n_signals,
            self.n_classes
        );
        Err(Error::data(list, expected, found))
    }

    /// Checks that a fit with so many labelers and classes belongs to these.
    pub(crate) fn check_names(self, n_labelers: usize, n_classes: usize) -> Result<()> {
        let named = Self { n_signals: n_labelers, n_classes };
        check_n_classes(n_classes)?;
        if named == self && n_labelers > 0 {
            return Ok(());
        }
        let expected =
            format!("names of {} labelers and {} classes", self.n_signals, self.n_classes);
        Err(Error::data("names", expected, format!("{n_labelers} and {n_classes}")))
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

    /// Checks that all votes of all labelers can be compared with each other: a table of that size squared is made of them.
    pub(crate) fn check_overlaps(self) -> Result<()> {
        self.check_most(self.n_signals * self.n_classes, MOST_COMPARED, "labelers times classes")
    }

    /// Checks that all labelers can be compared with each other.
    pub(crate) fn check_pairs(self) -> Result<()> {
        self.check_most(self.n_signals, MOST_COMPARED, "labelers")
    }

    /// Checks that every three labelers can be compared.
    pub(crate) fn check_triplets(self) -> Result<()> {
        self.check_most(self.n_signals, MOST_IN_TRIPLETS, "labelers")
    }

    fn check_most(self, found: usize, most: usize, what: &str) -> Result<()> {
        if found <= most {
            return Ok(());
        }
        Err(Error::data("signals", format!("at most {most} {what}"), found).with_hint(
            "this label model compares all of them with each other; a majority vote or dawid-skene does not",
        ))
    }

    /// The classes that need a model of their own against the rest: with two classes, class 1 decides both.
    pub(crate) fn classes_against_rest(self) -> Range<usize> {
        if self.n_classes == 2 { 1..2 } else { 0..self.n_classes }
    }
}
