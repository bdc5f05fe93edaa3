//! How many labelers and classes a label model was fitted with, and what a fit asks of them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::numerics::fill_rows;
use crate::rows::SoftLabels;
use crate::settings::check_labelers;
use crate::votes::{WeakSignals, check_n_classes};
use crate::{Error, Result, ensure};

/// Fewer labelers can be explained in more than one way.
const MIN_TO_COMPARE: usize = 3;
/// A table of this size squared takes half a gigabyte.
const MOST_COMPARED: usize = 8192;
/// Of so many there are a billion triplets.
const MOST_IN_TRIPLETS: usize = 2048;

/// How many labelers and classes a label model was fitted with.
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
        let found = (signals.n_signals(), signals.n_classes());
        check_labelers("signals", found, (self.n_signals, self.n_classes), "in the fit")
    }

    /// Labels of rows with the shape of the fit. `write` is given a row's votes and zeros, one for each class, and writes
    /// the class's probabilities up to a factor.
    pub(crate) fn label_votes(
        self,
        signals: &WeakSignals,
        write: impl Fn(&[u8], &mut [f64]) + Sync,
    ) -> Result<SoftLabels> {
        self.check(signals)?;
        let votes = signals.votes();
        let rows = fill_rows(signals.n_rows(), self.n_classes, |row, p| write(votes.row_bytes(row), p));
        SoftLabels::try_normalized(rows)
    }

    /// Checks that a list of a fit that was read from a file has as many entries as its dimensions say. What they
    /// say is no reason to believe that so many fit into memory, nor into a number.
    pub(crate) fn check_list(self, list: &str, found: usize, dimensions: &[usize]) -> Result<Self> {
        let expected = dimensions.iter().try_fold(1, |n: usize, &size| n.checked_mul(size));
        if expected == Some(found) {
            return Ok(self);
        }
        let sizes: Vec<String> = dimensions.iter().map(usize::to_string).collect();
        let expected =
            format!("{} entries for {} labelers and {} classes", sizes.join(" × "), self.n_signals, self.n_classes);
        Err(Error::data(list, expected, found))
    }

    /// Checks that a fit with so many labelers and classes belongs to these.
    pub(crate) fn check_names(self, n_labelers: usize, n_classes: usize) -> Result<()> {
        let named = Self { n_signals: n_labelers, n_classes };
        check_n_classes(n_classes)?;
        ensure(named == self && n_labelers > 0, || {
            let expected = format!("names of {} labelers and {} classes", self.n_signals, self.n_classes);
            Error::data("names", expected, format!("{n_labelers} and {n_classes}"))
        })
    }

    /// Checks that there are enough labelers to find out from their agreement who is right.
    pub(crate) fn check_three_labelers(self) -> Result<()> {
        ensure(self.n_signals >= MIN_TO_COMPARE, || {
            Error::data("signals", format!("at least {MIN_TO_COMPARE} labelers"), self.n_signals)
                .with_hint("with fewer, agreement does not tell who is right; use a majority vote")
        })
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
        ensure(found <= most, || {
            Error::data("signals", format!("at most {most} {what}"), found).with_hint(
                "this label model compares all of them with each other; a majority vote or dawid-skene does not",
            )
        })
    }

    /// The classes that need a model of their own against the rest: with two classes, class 1 decides both.
    pub(crate) fn classes_against_rest(self) -> Range<usize> {
        if self.n_classes == 2 { 1..2 } else { 0..self.n_classes }
    }
}
