//! Weak signals q: what several labelers say of each row.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, s};

use crate::votes::{ABSTAIN, Votes, check_n_classes};
use crate::{Error, Result, ensure};

/// Votes or probabilities of named labelers about named classes, `[n_rows, n_signals, n_classes]`.
///
/// Any entry may abstain. Probabilities need not sum to one over the classes: a labeler may speak of some classes only.
#[derive(Debug, Clone, PartialEq)]
pub struct WeakSignals {
    labelers: Vec<String>,
    /// Whether whoever made the signals named their labelers.
    has_labeler_names: bool,
    classes: Vec<String>,
    values: SignalValues,
}

/// The two forms of weak signals.
#[derive(Debug, Clone, PartialEq)]
pub enum SignalValues {
    /// One byte per vote.
    Votes(Votes),
    /// Probabilities, `[n_rows, n_signals, n_classes]`, NaN where a labeler abstains.
    Probabilities(Array3<f32>),
}

/// Signals of some rows, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum SignalView<'a> {
    /// One class per row and labeler, or [`ABSTAIN`].
    Votes {
        /// The classes, `[n_rows, n_signals]`.
        bytes: ArrayView2<'a, u8>,
        /// How many classes there are.
        n_classes: usize,
    },
    /// Probabilities of the classes, NaN where a labeler abstains: `[n_rows, n_signals, n_classes]`.
    Probabilities(ArrayView3<'a, f32>),
}

impl SignalView<'_> {
    /// How many rows they are.
    pub fn n_rows(self) -> usize {
        match self {
            Self::Votes { bytes, .. } => bytes.nrows(),
            Self::Probabilities(p) => p.len_of(Axis(0)),
        }
    }

    /// Visits all that labelers say of a row: cell `signal * n_classes + class`, class and probability. A vote gives its
    /// class a probability of 1, and the others 0.
    pub fn for_each_given(self, row: usize, mut visit: impl FnMut(usize, usize, f32)) {
        match self {
            Self::Votes { bytes, n_classes } => {
                let votes = bytes.index_axis_move(Axis(0), row);
                for (signal, &vote) in votes.iter().enumerate().filter(|(_, v)| **v != ABSTAIN) {
                    for class in 0..n_classes {
                        let q = if class == usize::from(vote) { 1.0 } else { 0.0 };
                        visit(signal * n_classes + class, class, q);
                    }
                }
            }
            Self::Probabilities(p) => {
                let n_classes = p.len_of(Axis(2));
                let p = p.index_axis_move(Axis(0), row);
                for (cell, &q) in p.iter().enumerate().filter(|(_, q)| !q.is_nan()) {
                    visit(cell, cell % n_classes, q);
                }
            }
        }
    }
}

impl WeakSignals {
    /// Signals that are votes.
    pub fn from_votes(votes: Votes) -> Result<Self> {
        let (n_signals, n_classes) = (votes.n_signals(), votes.n_classes());
        Self::new(SignalValues::Votes(votes), n_signals, n_classes)
    }

    /// Signals that are probabilities of each class, NaN for an abstention.
    pub fn from_probabilities(probabilities: Array3<f32>) -> Result<Self> {
        let (_, n_signals, n_classes) = probabilities.dim();
        // A vote for each class must fit in a byte beside the abstention.
        check_n_classes(n_classes)?;
        let invalid = |&p: &f32| !p.is_nan() && !(0.0..=1.0).contains(&p);
        if let Some(((row, signal, class), p)) = probabilities.indexed_iter().find(|(_, p)| invalid(p)) {
            let place = format!("signals, row {row}, labeler {signal}, class {class}");
            return Err(Error::data(place, "a probability from 0 to 1", p));
        }
        Self::new(SignalValues::Probabilities(probabilities), n_signals, n_classes)
    }

    /// Signals of a two-class problem as probabilities of class 1, `[n_rows, n_signals]`, NaN for an abstention.
    pub fn from_class1_probabilities(class1: Array2<f32>) -> Result<Self> {
        let (n_rows, n_signals) = class1.dim();
        let both = Array3::from_shape_fn((n_rows, n_signals, 2), |(row, signal, class)| {
            let p = class1[[row, signal]];
            if class == 1 { p } else { 1.0 - p }
        });
        Self::from_probabilities(both)
    }

    fn new(values: SignalValues, n_signals: usize, n_classes: usize) -> Result<Self> {
        let signals = Self {
            labelers: (0..n_signals).map(|signal| format!("labeler{signal}")).collect(),
            has_labeler_names: false,
            classes: (0..n_classes).map(|class| class.to_string()).collect(),
            values,
        };
        if signals.n_rows() == 0 || n_signals == 0 {
            let found = format!("{} rows and {n_signals} labelers", signals.n_rows());
            return Err(Error::data("signals", "at least one row and one labeler", found));
        }
        Ok(signals)
    }

    /// The same signals with named labelers.
    pub fn with_labelers(self, labelers: Vec<String>) -> Result<Self> {
        check_names("labeler names", &labelers, self.n_signals())?;
        Ok(Self { labelers, has_labeler_names: true, ..self })
    }

    /// The same signals with named classes.
    pub fn with_classes(self, classes: Vec<String>) -> Result<Self> {
        check_names("class names", &classes, self.n_classes())?;
        Ok(Self { classes, ..self })
    }

    /// Names of the labelers: `labeler0`, `labeler1`, … where they have none of their own.
    pub fn labelers(&self) -> &[String] {
        &self.labelers
    }

    /// Whether the labelers have names of their own. Those without are told apart by place.
    pub fn has_labeler_names(&self) -> bool {
        self.has_labeler_names
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Votes or probabilities.
    pub fn values(&self) -> &SignalValues {
        &self.values
    }

    /// What the labelers say, borrowed.
    pub fn view(&self) -> SignalView<'_> {
        match &self.values {
            SignalValues::Votes(votes) => SignalView::Votes { bytes: votes.bytes(), n_classes: votes.n_classes() },
            SignalValues::Probabilities(p) => SignalView::Probabilities(p.view()),
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.view().n_rows()
    }

    /// Number of labelers.
    pub fn n_signals(&self) -> usize {
        self.labelers.len()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// The probability that labeler `signal` gives `class` on `row`, or nothing where it abstains.
    /// A vote is a probability of 0 or 1.
    pub fn probability(&self, row: usize, signal: usize, class: usize) -> Option<f32> {
        match &self.values {
            SignalValues::Votes(votes) => votes.get(row, signal).map(|vote| if vote == class { 1.0 } else { 0.0 }),
            SignalValues::Probabilities(p) => {
                let p = p[[row, signal, class]];
                (!p.is_nan()).then_some(p)
            }
        }
    }

    /// The probability of class 1 of two that a labeler gives on a row, or nothing where it abstains. Where it speaks of
    /// class 0 only, class 1 has the rest.
    pub fn class1_probability(&self, row: usize, signal: usize) -> Option<f32> {
        let of_class0 = || self.probability(row, signal, 0).map(|p| 1.0 - p);
        self.probability(row, signal, 1).or_else(of_class0)
    }

    /// The class that labeler `signal` holds most probable on `row`; nothing where it abstains on every class.
    /// Ties go to the lowest class, so a probability of exactly one half is a vote for class 0.
    pub fn vote(&self, row: usize, signal: usize) -> Option<usize> {
        match &self.values {
            SignalValues::Votes(votes) => votes.get(row, signal),
            SignalValues::Probabilities(p) => {
                let of_classes = p.slice(s![row, signal, ..]);
                let given = of_classes.iter().enumerate().filter(|(_, p)| !p.is_nan());
                given.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(class, _)| class)
            }
        }
    }

    /// Whether any labeler says anything of `row`.
    pub fn is_covered(&self, row: usize) -> bool {
        match &self.values {
            SignalValues::Votes(votes) => votes.row_bytes(row).iter().any(|&vote| vote != ABSTAIN),
            SignalValues::Probabilities(p) => p.index_axis(Axis(0), row).iter().any(|p| !p.is_nan()),
        }
    }

    /// The rows of which any labeler says anything, ascending.
    pub fn covered_rows(&self) -> Vec<usize> {
        (0..self.n_rows()).filter(|&row| self.is_covered(row)).collect()
    }

    /// How many labelers say anything of each row.
    pub fn n_votes_of_rows(&self) -> Vec<usize> {
        let n_votes = |row: usize| match &self.values {
            SignalValues::Votes(votes) => votes.row_bytes(row).iter().filter(|&&vote| vote != ABSTAIN).count(),
            SignalValues::Probabilities(p) => {
                let labelers = p.index_axis(Axis(0), row);
                labelers.outer_iter().filter(|p| p.iter().any(|p| !p.is_nan())).count()
            }
        };
        (0..self.n_rows()).map(n_votes).collect()
    }

    /// Number of rows on which every labeler abstains.
    pub fn n_uncovered(&self) -> usize {
        (0..self.n_rows()).filter(|&row| !self.is_covered(row)).count()
    }

    /// Checks that not all is abstentions: nothing can be learned from those.
    pub fn check_any_vote(&self) -> Result<()> {
        ensure((0..self.n_rows()).any(|row| self.is_covered(row)), no_vote)
    }

    /// Checks that there is a count for each row.
    pub(crate) fn check_counts(&self, counts: &[u64]) -> Result<()> {
        let n_rows = self.n_rows();
        ensure(counts.len() == n_rows, || Error::data("counts", format!("{n_rows}, one per row"), counts.len()))
    }

    /// The hard votes behind these signals: borrowed when they are votes, rounded when they are probabilities.
    pub fn votes(&self) -> Cow<'_, Votes> {
        match &self.values {
            SignalValues::Votes(votes) => Cow::Borrowed(votes),
            SignalValues::Probabilities(_) => {
                let shape = (self.n_rows(), self.n_signals());
                let bytes = Array2::from_shape_fn(shape, |(row, signal)| {
                    self.vote(row, signal).map_or(ABSTAIN, |class| class as u8)
                });
                let votes = Votes::from_bytes(bytes, self.n_classes());
                Cow::Owned(votes.expect("rounded votes are in range"))
            }
        }
    }

    /// The hard votes behind these signals, rounding probabilities.
    pub fn to_votes(&self) -> Votes {
        self.votes().into_owned()
    }

    /// The probabilities behind these signals, or nothing when they are votes.
    pub fn probabilities(&self) -> Option<ArrayView3<'_, f32>> {
        match &self.values {
            SignalValues::Votes(_) => None,
            SignalValues::Probabilities(p) => Some(p.view()),
        }
    }

    /// What these labelers say, in this order: those of this name, or as many by place where labelers have no names. Further labelers are left
    /// out.
    pub fn select_labelers(&self, labelers: &[String]) -> Result<Self> {
        if self.labelers == labelers {
            return Ok(self.clone());
        }
        let differ = |found: String| Error::data("signals", format!("the labelers {}", labelers.join(", ")), found);
        if !self.has_labeler_names {
            ensure(self.n_signals() == labelers.len(), || differ(format!("{} without names", self.n_signals())))?;
            return self.clone().with_labelers(labelers.to_vec());
        }
        let places = self.labelers.iter().enumerate().map(|(place, name)| (name, place)).collect::<HashMap<_, _>>();
        let places = labelers.iter().map(|labeler| places.get(labeler).copied()).collect::<Option<Vec<_>>>();
        let places = places.ok_or_else(|| differ(self.labelers.join(", ")))?;
        let values = match &self.values {
            SignalValues::Votes(votes) => {
                SignalValues::Votes(Votes::from_bytes(votes.bytes().select(Axis(1), &places), votes.n_classes())?)
            }
            SignalValues::Probabilities(p) => SignalValues::Probabilities(p.select(Axis(1), &places)),
        };
        Ok(Self { labelers: labelers.to_vec(), has_labeler_names: true, classes: self.classes.clone(), values })
    }

    /// What these labelers say, in this order, and how many others are left out. Those that are not here abstain; one at least must be here. As
    /// [`select_labelers`](Self::select_labelers) where labelers have no names.
    ///
    /// ```
    /// use labelflow_weak::votes::{Votes, WeakSignals};
    /// use ndarray::array;
    ///
    /// let votes = Votes::from_indices(array![[0, 1], [1, 1]].view(), None)?;
    /// let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    /// let signals = WeakSignals::from_votes(votes)?.with_labelers(names(["ann", "new"]))?;
    /// let (known, n_unknown) = signals.select_known_labelers(&names(["bob", "ann"]))?;
    /// assert_eq!((known.vote(1, 0), known.vote(1, 1), n_unknown), (None, Some(1), 1));
    /// # Ok::<(), labelflow_weak::Error>(())
    /// ```
    pub fn select_known_labelers(&self, labelers: &[String]) -> Result<(Self, usize)> {
        if self.labelers == labelers || !self.has_labeler_names {
            return Ok((self.select_labelers(labelers)?, 0));
        }
        check_distinct("labelers", "names that differ", labelers)?;
        let places = labelers.iter().enumerate().map(|(place, name)| (name, place)).collect::<HashMap<_, _>>();
        // Where each labeler that is known stands here, and where it goes.
        let moved: Vec<(usize, usize)> =
            self.labelers.iter().enumerate().filter_map(|(from, name)| Some((from, *places.get(name)?))).collect();
        ensure(!moved.is_empty(), || {
            Error::data("signals", format!("one of the labelers {}", listed(labelers)), listed(&self.labelers))
        })?;
        let (n_rows, n_signals) = (self.n_rows(), labelers.len());
        let values = match &self.values {
            SignalValues::Votes(votes) => {
                let mut bytes = Array2::from_elem((n_rows, n_signals), ABSTAIN);
                for &(from, to) in &moved {
                    bytes.column_mut(to).assign(&votes.bytes().column(from));
                }
                SignalValues::Votes(Votes::from_bytes(bytes, votes.n_classes())?)
            }
            SignalValues::Probabilities(p) => {
                let mut known = Array3::from_elem((n_rows, n_signals, p.dim().2), f32::NAN);
                for &(from, to) in &moved {
                    known.index_axis_mut(Axis(1), to).assign(&p.index_axis(Axis(1), from));
                }
                SignalValues::Probabilities(known)
            }
        };
        let known =
            Self { labelers: labelers.to_vec(), has_labeler_names: true, classes: self.classes.clone(), values };
        Ok((known, self.n_signals() - moved.len()))
    }

    /// The rows with these indices, in this order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let values = match &self.values {
            SignalValues::Votes(votes) => SignalValues::Votes(votes.select_rows(rows)),
            SignalValues::Probabilities(p) => SignalValues::Probabilities(p.select(Axis(0), rows)),
        };
        Self { labelers: self.labelers.clone(), classes: self.classes.clone(), values, ..*self }
    }
}

/// Some names, and how many more there are: crowds have thousands of workers.
fn listed(names: &[String]) -> String {
    const N_SHOWN: usize = 20;
    let shown = names[..names.len().min(N_SHOWN)].join(", ");
    if names.len() > N_SHOWN { format!("{shown}, … ({} in all)", names.len()) } else { shown }
}

/// The error of signals that are abstentions only.
pub(crate) fn no_vote() -> Error {
    Error::data("signals", "at least one vote", "abstentions only")
        .with_hint("check which value means an abstention in your file")
}

pub(crate) fn check_names(what: &str, names: &[String], expected: usize) -> Result<()> {
    ensure(names.len() == expected, || Error::data(what, expected, names.len()))?;
    check_distinct(what, "names that differ", names)
}

pub(crate) fn check_distinct(what: &str, expected: &str, names: &[String]) -> Result<()> {
    // Workers of a crowd are labelers by the thousand.
    let mut known = HashSet::new();
    names
        .iter()
        .try_for_each(|name| ensure(known.insert(name), || Error::data(what, expected, format!("'{name}' twice"))))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn class1_probabilities_have_two_complementary_columns() {
        let signals = WeakSignals::from_class1_probabilities(array![[0.25, f32::NAN]]).unwrap();
        assert_eq!(signals.probability(0, 0, 1), Some(0.25));
        assert_eq!(signals.probability(0, 0, 0), Some(0.75));
        assert_eq!(signals.probability(0, 1, 0), None);
        assert_eq!(signals.vote(0, 0), Some(0));
        assert_eq!(signals.vote(0, 1), None);
    }

    #[test]
    fn one_half_is_a_vote_for_class_0() {
        let signals = WeakSignals::from_class1_probabilities(array![[0.5, 0.51]]).unwrap();
        assert_eq!((signals.vote(0, 0), signals.vote(0, 1)), (Some(0), Some(1)));
    }

    #[test]
    fn coverage_counts_rows_with_a_vote() {
        let votes = Votes::from_indices(array![[0, -1], [-1, -1], [1, 1]].view(), None).unwrap();
        let signals = WeakSignals::from_votes(votes).unwrap();
        assert_eq!(signals.n_uncovered(), 1);
        assert!(!signals.is_covered(1));
        assert_eq!(signals.select_rows(&[2, 0]).vote(1, 0), Some(0));
    }

    #[test]
    fn a_probability_out_of_range_names_its_place() {
        let error = WeakSignals::from_class1_probabilities(array![[0.2, 1.5]]).unwrap_err();
        assert!(error.to_string().starts_with("signals, row 0, labeler 1, class 0"), "{error}");
    }
}
