//! Labelers that say nothing, or what cannot be; and bounds that cannot hold, or hold of all labels.
//!
//! ```text
//! identifier    at least 10 classes, and more than half as many as votes
//! contradict    correlation of two labelers' votes ≤ −0.5 on at least 30 common rows (see labeler_pairs.rs)
//! cannot hold   Σ over common rows |q[a][·][c] − q[b][·][c]|  >  n_a b[a][c] + n_b b[b][c] + 5 % of the common rows
//! says nothing  b[a][c] ≥ (C − 1) / C for all labelers and classes: labels of 1 / C each keep such bounds, whatever is voted
//! ```
//!
//! The third is so for any labels y, since |q_a − q_b| ≤ |q_a − y| + |y − q_b|.

use std::fmt;

use serde::Serialize;

use super::{are_odd, first_of, listed};
use crate::labelers::Bounds;
use crate::labelers::labeler_pairs::JointVotes;
use crate::votes::{ABSTAIN, CountedVotes, SignalView, cast_votes};

/// Fewer rows tell nothing.
const LEAST_ROWS: u64 = 20;
/// Labelers times classes of which each two are compared; of more, none.
const MOST_CELLS: usize = 512;
/// After so many rows, no more pairs are counted.
const PAIR_ROWS: u64 = 200_000;
const LEAST_COMMON: u64 = 30;
const CONTRADICTION: f64 = -0.5;
const SLACK: f64 = 0.05;
/// A labeler with this many classes may be an identifier.
const IDENTIFIER_CLASSES: usize = 10;
/// A class with fewer votes cannot be learned.
const LEAST_VOTES: u64 = 5;
/// Names of classes that say that there is none, in lower case.
const ABSTENTIONS: [&str; 10] =
    ["abstain", "abstains", "abstained", "abstention", "none", "null", "unknown", "n/a", "?", "-"];

/// What looks wrong in votes or bounds. Shown, it is a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LabelerWarning {
    /// A labeler with nearly as many classes as votes.
    #[error(
        "the labeler '{labeler}' votes for {n_classes} classes in {n_votes} votes, so that it looks like an identifier: \
         leave it out of the signals"
    )]
    IdentifierLabeler {
        /// Its name.
        labeler: String,
        /// Number of classes that it votes for.
        n_classes: usize,
        /// Number of its votes.
        n_votes: u64,
    },
    /// Labelers that abstain on all rows.
    #[error("{} on no row and cannot help: leave {} out", vote(.labelers), if .labelers.len() == 1 { "it" } else { "them" })]
    SilentLabelers {
        /// Their names.
        labelers: Vec<String>,
    },
    /// A labeler that says the same on all rows.
    #[error(
        "the labeler '{labeler}' votes for '{class}' on every row, so that it tells no row from another: leave it out"
    )]
    ConstantLabeler {
        /// Its name.
        labeler: String,
        /// The name of the class.
        class: String,
    },
    /// Two labelers that agree less often than by chance.
    #[error(
        "the labelers '{first}' and '{second}' agree on {:.1} % of {n_both} common rows, and would on {:.1} % by chance: the classes of \
         one of them may be swapped; check its votes, or leave it out",
        100.0 * .agreement, 100.0 * .chance
    )]
    ContradictoryLabelers {
        /// The name of the first.
        first: String,
        /// The name of the second.
        second: String,
        /// Number of rows on which both vote.
        n_both: u64,
        /// The share of them on which they agree.
        agreement: f64,
        /// The share on which they would by chance.
        chance: f64,
    },
    /// Classes with hardly any votes.
    #[error("hardly a vote is for {}: no row may be labelled so; add labelers of it, or, if it is no class, name those that are", first_of(.classes.iter().map(ToString::to_string)))]
    RareClasses {
        /// Each with its votes.
        classes: Vec<RareClass>,
    },
    /// A class whose name says that there is none.
    #[error(
        "the class '{class}' ({n_votes} votes, first of the labeler '{labeler}') sounds like an abstention, and is taken for a class: leave such cells \
         empty, or name the classes"
    )]
    AbstentionClass {
        /// Its name.
        class: String,
        /// Number of its votes.
        n_votes: u64,
        /// The first labeler that votes so.
        labeler: String,
    },
    /// Bounds that no labels keep.
    #[error(
        "bounds: '{first}' and '{second}' disagree about '{class}' on {n_disagree} of {n_both} common rows, more than their bounds \
         {first_bound:.3} and {second_bound:.3} allow{}: no labels keep both, so raise the bounds, or let them be estimated",
        more_pairs(*.n_pairs)
    )]
    ImpossibleBounds {
        /// The name of the first labeler.
        first: String,
        /// The name of the second.
        second: String,
        /// The name of the class.
        class: String,
        /// Number of rows on which one of them votes for it, and the other for another class.
        n_disagree: u64,
        /// Number of rows on which both vote.
        n_both: u64,
        /// How often the first may err about the class.
        first_bound: f64,
        /// How often the second may.
        second_bound: f64,
        /// Number of pairs of labelers of which this is so; these are the farthest off.
        n_pairs: usize,
    },
    /// Bounds that all labels keep.
    #[error(
        "bounds: all are {limit:.3} or more, so that any labels keep them and nothing follows from the votes: give smaller bounds, or let \
         them be estimated"
    )]
    EmptyBounds {
        /// What bounds must be below to say something.
        limit: f64,
    },
}

/// A class with hardly any votes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RareClass {
    /// Its name.
    pub class: String,
    /// Number of its votes.
    pub n_votes: u64,
    /// The first labeler that votes so.
    pub labeler: Option<String>,
}

impl fmt::Display for RareClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { class, n_votes, .. } = self;
        match &self.labeler {
            None => write!(f, "'{class}'"),
            Some(labeler) => write!(f, "'{class}' ({n_votes} of '{labeler}')"),
        }
    }
}

fn vote(labelers: &[String]) -> String {
    match labelers {
        [labeler] => format!("the labeler '{labeler}' votes"),
        _ => format!("{} labelers ({}) vote", labelers.len(), listed(labelers)),
    }
}

fn more_pairs(n_pairs: usize) -> String {
    if n_pairs == 1 { String::new() } else { format!(" (as do {} more pairs of labelers)", n_pairs - 1) }
}

/// What warnings must know of votes, from one pass over rows that need not be in memory. Probabilities are rounded to votes.
///
/// ```
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use labelflow_weak::warnings::LabelerTally;
/// use ndarray::Array2;
///
/// let votes = Array2::from_shape_fn((40, 2), |(row, labeler)| (row as i64 + labeler as i64) % 2);
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let mut tally = LabelerTally::new(signals.labelers(), signals.classes());
/// tally.add(signals.view());
/// assert!(tally.warnings(None)[0].to_string().contains("agree on 0.0 % of 40 common rows"));
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LabelerTally {
    labelers: Vec<String>,
    classes: Vec<String>,
    n_rows: u64,
    /// Votes of each labeler for each class.
    n_votes: Vec<u64>,
    /// Rows on which one labeler votes for one class and a later one for another; none where there are too many.
    joint: Option<Vec<u64>>,
    /// Whether all signals were votes.
    are_votes: bool,
    /// Whether the classes were named by whoever brings the votes.
    are_named: bool,
}

impl LabelerTally {
    /// Of no rows yet.
    pub fn new(labelers: &[String], classes: &[String]) -> Self {
        let n_cells = labelers.len() * classes.len();
        Self {
            labelers: labelers.to_vec(),
            classes: classes.to_vec(),
            n_rows: 0,
            n_votes: vec![0; n_cells],
            joint: (n_cells <= MOST_CELLS).then(|| vec![0; n_cells * n_cells]),
            are_votes: true,
            are_named: false,
        }
    }

    /// The same for classes that were not taken from the votes: whatever they are called, they are classes.
    #[must_use]
    pub fn with_named_classes(self) -> Self {
        Self { are_named: true, ..self }
    }

    /// Adds rows.
    pub fn add(&mut self, signals: SignalView<'_>) {
        let mut votes = vec![ABSTAIN; self.labelers.len()];
        for row in 0..signals.n_rows() {
            match signals {
                SignalView::Votes { bytes, .. } => {
                    votes.iter_mut().zip(bytes.row(row)).for_each(|(to, from)| *to = *from)
                }
                SignalView::Probabilities(_) => {
                    self.are_votes = false;
                    round_row(signals, row, self.classes.len(), &mut votes);
                }
            }
            self.add_row(&votes, 1);
        }
    }

    /// Adds distinct rows with their counts.
    pub fn add_counted(&mut self, counted: &CountedVotes) {
        counted.iter().for_each(|(votes, count)| self.add_row(votes, count));
    }

    fn add_row(&mut self, votes: &[u8], count: u64) {
        let n_classes = self.classes.len();
        let n_cells = self.n_votes.len();
        let count_pairs = self.n_rows < PAIR_ROWS;
        self.n_rows += count;
        for (signal, class) in cast_votes(votes) {
            let cell = signal * n_classes + class;
            self.n_votes[cell] += count;
            let Some(joint) = self.joint.as_mut().filter(|_| count_pairs) else { continue };
            for (other, class) in cast_votes(&votes[signal + 1..]) {
                joint[cell * n_cells + (signal + 1 + other) * n_classes + class] += count;
            }
        }
    }

    /// What looks wrong, with bounds on the errors of the labelers if there are any.
    pub fn warnings(&self, bounds: Option<&Bounds>) -> Vec<LabelerWarning> {
        let identifiers = self.identifiers();
        // Identifiers bring classes of their own: whatever else is odd follows from that.
        let mut warnings = match identifiers.is_empty() {
            true => self.about_votes(),
            false => identifiers,
        };
        warnings.extend(bounds.into_iter().flat_map(|bounds| self.bounds_warnings(bounds)));
        warnings
    }

    fn votes_of(&self, signal: usize) -> &[u64] {
        &self.n_votes[signal * self.classes.len()..][..self.classes.len()]
    }

    fn votes_for(&self, class: usize) -> RareClass {
        let n_votes = |signal: &usize| self.votes_of(*signal)[class];
        let labelers = 0..self.labelers.len();
        RareClass {
            class: self.classes[class].clone(),
            n_votes: labelers.clone().map(|signal| n_votes(&signal)).sum(),
            labeler: labelers
                .into_iter()
                .find(|signal| n_votes(signal) > 0)
                .map(|signal| self.labelers[signal].clone()),
        }
    }

    fn n_votes_of(&self, signal: usize) -> u64 {
        self.votes_of(signal).iter().sum()
    }

    fn identifiers(&self) -> Vec<LabelerWarning> {
        let warning = |(signal, labeler): (usize, &String)| {
            let (n_votes, votes) = (self.n_votes_of(signal), self.votes_of(signal));
            let n_classes = votes.iter().filter(|&&n| n > 0).count();
            let is_identifier = n_classes >= IDENTIFIER_CLASSES && 2 * n_classes as u64 > n_votes;
            is_identifier.then(|| LabelerWarning::IdentifierLabeler { labeler: labeler.clone(), n_classes, n_votes })
        };
        self.labelers.iter().enumerate().filter_map(warning).collect()
    }

    fn about_votes(&self) -> Vec<LabelerWarning> {
        let mut warnings = Vec::new();
        let silent = (0..self.labelers.len()).filter(|&signal| self.n_votes_of(signal) == 0);
        let labelers: Vec<String> = silent.map(|signal| self.labelers[signal].clone()).collect();
        if are_odd(labelers.len(), self.labelers.len()) {
            warnings.push(LabelerWarning::SilentLabelers { labelers });
        }
        if self.n_rows < LEAST_ROWS {
            return warnings;
        }
        warnings.extend(self.pairs().filter_map(|(pair, joint)| self.contradiction(pair, &joint)));
        // Probabilities that are rounded to the same vote may differ.
        if !self.are_votes {
            return warnings;
        }
        for (signal, labeler) in self.labelers.iter().enumerate() {
            if let Some(class) = self.votes_of(signal).iter().position(|&n| n == self.n_rows) {
                let (labeler, class) = (labeler.clone(), self.classes[class].clone());
                warnings.push(LabelerWarning::ConstantLabeler { labeler, class });
            }
        }
        let classes = (0..self.classes.len()).map(|class| self.votes_for(class));
        let (abstentions, classes): (Vec<_>, Vec<_>) = classes.partition(|found| {
            !self.are_named && found.n_votes > 0 && ABSTENTIONS.contains(&&*found.class.to_lowercase())
        });
        warnings.extend(abstentions.into_iter().map(|RareClass { class, n_votes, labeler }| {
            let labeler = labeler.unwrap_or_default();
            LabelerWarning::AbstentionClass { class, n_votes, labeler }
        }));
        let classes: Vec<RareClass> = classes.into_iter().filter(|found| found.n_votes < LEAST_VOTES).collect();
        // Of few rows, every class may have few votes.
        if !classes.is_empty() && self.n_rows >= LEAST_VOTES * LEAST_ROWS {
            warnings.push(LabelerWarning::RareClasses { classes });
        }
        warnings
    }

    fn contradiction(&self, [first, second]: [usize; 2], joint: &JointVotes) -> Option<LabelerWarning> {
        let n_both = joint.n_both as u64;
        let contradict = n_both >= LEAST_COMMON && joint.correlation().is_some_and(|found| found <= CONTRADICTION);
        contradict.then(|| LabelerWarning::ContradictoryLabelers {
            first: self.labelers[first].clone(),
            second: self.labelers[second].clone(),
            n_both,
            agreement: joint.agreement(),
            chance: joint.chance(),
        })
    }

    /// What looks wrong in bounds alone.
    pub fn bounds_warnings(&self, bounds: &Bounds) -> Vec<LabelerWarning> {
        let n_classes = self.classes.len();
        let limit = (n_classes - 1) as f64 / n_classes as f64;
        let mut warnings = Vec::new();
        if bounds.values().iter().all(|&bound| bound >= limit) {
            warnings.push(LabelerWarning::EmptyBounds { limit });
        }
        if self.are_votes {
            warnings.extend(self.impossible_bounds(bounds));
        }
        warnings
    }

    /// The pair of labelers that is farthest from what its bounds allow.
    fn impossible_bounds(&self, bounds: &Bounds) -> Option<LabelerWarning> {
        let bounds = bounds.values();
        let mut n_pairs = 0;
        let mut farthest: Option<(f64, LabelerWarning)> = None;
        for ([first, second], joint) in self.pairs().filter(|(_, joint)| joint.n_both > 0.0) {
            let n_votes = [first, second].map(|signal| self.n_votes_of(signal) as f64);
            let mut is_counted = false;
            for class in 0..self.classes.len() {
                let [first_bound, second_bound] = [first, second].map(|signal| bounds[[signal, class]]);
                let n_disagree = joint.votes[0][class] + joint.votes[1][class] - 2.0 * joint.agreements[class];
                let allowed = first_bound * n_votes[0] + second_bound * n_votes[1];
                let excess = (n_disagree - allowed) / joint.n_both;
                if excess <= SLACK {
                    continue;
                }
                n_pairs += usize::from(!is_counted);
                is_counted = true;
                if farthest.as_ref().is_none_or(|(most, _)| excess > *most) {
                    let warning = LabelerWarning::ImpossibleBounds {
                        first: self.labelers[first].clone(),
                        second: self.labelers[second].clone(),
                        class: self.classes[class].clone(),
                        n_disagree: n_disagree as u64,
                        n_both: joint.n_both as u64,
                        first_bound,
                        second_bound,
                        n_pairs: 0,
                    };
                    farthest = Some((excess, warning));
                }
            }
        }
        let (_, mut warning) = farthest?;
        if let LabelerWarning::ImpossibleBounds { n_pairs: n, .. } = &mut warning {
            *n = n_pairs;
        }
        Some(warning)
    }

    /// Each two labelers, and what they do together; nothing where that is not counted.
    fn pairs(&self) -> impl Iterator<Item = ([usize; 2], JointVotes)> {
        let (n_labelers, n_classes, n_cells) = (self.labelers.len(), self.classes.len(), self.n_votes.len());
        self.joint.iter().flat_map(move |counts| {
            let pairs =
                (0..n_labelers).flat_map(move |first| (first + 1..n_labelers).map(move |second| [first, second]));
            pairs.map(move |[first, second]| {
                let count = |of_first: usize, of_second: usize| {
                    counts[(first * n_classes + of_first) * n_cells + second * n_classes + of_second] as f64
                };
                ([first, second], JointVotes::new(n_classes, count))
            })
        })
    }
}

/// The most probable class of each labeler on a row.
fn round_row(signals: SignalView<'_>, row: usize, n_classes: usize, votes: &mut [u8]) {
    let mut largest = vec![f32::NEG_INFINITY; votes.len()];
    votes.fill(ABSTAIN);
    signals.for_each_given(row, |cell, class, p| {
        let signal = cell / n_classes;
        if p > largest[signal] {
            (largest[signal], votes[signal]) = (p, class as u8);
        }
    });
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::votes::{Votes, WeakSignals};

    const N_ROWS: usize = 200;

    fn signals(n_signals: usize, n_classes: usize, vote: impl Fn(usize, usize) -> i64) -> WeakSignals {
        let votes = Array2::from_shape_fn((N_ROWS, n_signals), |(row, signal)| vote(row, signal));
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(n_classes)).unwrap()).unwrap()
    }

    fn warnings(signals: &WeakSignals, bounds: Option<f64>) -> Vec<LabelerWarning> {
        let mut tally = LabelerTally::new(signals.labelers(), signals.classes());
        tally.add(signals.view());
        let bounds = bounds.map(|bound| Bounds::constant(bound, signals).unwrap());
        let warnings = tally.warnings(bounds.as_ref());
        let mut counted = LabelerTally::new(signals.labelers(), signals.classes());
        counted.add_counted(&CountedVotes::of(signals));
        assert_eq!(counted.warnings(bounds.as_ref()), warnings);
        warnings
    }

    /// Votes of three labelers that are right on four rows in five.
    fn ordinary(row: usize, signal: usize) -> i64 {
        let truth = row % 2;
        (if (row / 2 + signal * 37).is_multiple_of(5) { 1 - truth } else { truth }) as i64
    }

    #[test]
    fn ordinary_labelers_and_bounds_are_quiet() {
        assert_eq!(warnings(&signals(3, 2, ordinary), Some(0.2)), []);
        // Keyword rules, each about one class.
        let rules = signals(4, 2, |row, signal| if (row + signal * 3) % 7 < 2 { signal as i64 % 2 } else { -1 });
        assert_eq!(warnings(&rules, None), []);
    }

    #[test]
    fn labelers_that_contradict_each_other_and_bounds_that_cannot_hold_are_named() {
        let swapped =
            signals(3, 2, |row, signal| if signal == 2 { 1 - ordinary(row, 0) } else { ordinary(row, signal) });
        let found = warnings(&swapped, Some(0.0));
        assert!(
            found[0]
                .to_string()
                .starts_with("the labelers 'labeler0' and 'labeler2' agree on 0.0 % of 200 common rows"),
            "{found:?}"
        );
        let last = found.last().unwrap().to_string();
        assert!(
            last.starts_with("bounds: 'labeler0' and 'labeler2' disagree about '0' on 200 of 200 common rows"),
            "{last}"
        );
        assert!(last.contains("(as do 2 more pairs of labelers)"), "{last}");
        // Each may err on half of the rows.
        assert!(
            !warnings(&swapped, Some(0.49))
                .iter()
                .any(|warning| matches!(warning, LabelerWarning::ImpossibleBounds { .. }))
        );
    }

    #[test]
    fn bounds_that_any_labels_keep_say_nothing() {
        let is_empty = |warning: &LabelerWarning| matches!(warning, LabelerWarning::EmptyBounds { .. });
        for (bound, expected) in [(1.0, true), (0.5, true), (0.49, false)] {
            assert_eq!(warnings(&signals(3, 2, ordinary), Some(bound)).iter().any(is_empty), expected, "{bound}");
        }
    }

    #[test]
    fn labelers_that_say_nothing_and_classes_without_votes_are_named() {
        let odd = signals(3, 3, |row, signal| [-1, 1, ordinary(row, 0)][signal]);
        let texts: Vec<String> = warnings(&odd, None).iter().map(ToString::to_string).collect();
        let expected = [
            "the labeler 'labeler0' votes on no row and cannot help: leave it out",
            "the labeler 'labeler1' votes for '1' on every row, so that it tells no row from another: leave it out",
            "hardly a vote is for '2': no row may be labelled so; add labelers of it, or, if it is no class, name those that are",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn cells_that_look_like_no_class_are_named_unless_somebody_named_the_classes() {
        let classes = ["ABSTAIN", "ham", "spam", "spma"].map(str::to_owned).to_vec();
        let odd = signals(2, 4, |row, signal| match row {
            7 if signal == 1 => 3,
            _ if row % 10 == signal => 0,
            _ => 1 + ordinary(row, signal),
        });
        let odd = odd.with_classes(classes).unwrap();
        let texts: Vec<String> = warnings(&odd, None).iter().map(ToString::to_string).collect();
        let expected = [
            "the class 'ABSTAIN' (40 votes, first of the labeler 'labeler0') sounds like an abstention, and is taken for a class: leave such cells \
             empty, or name the classes",
            "hardly a vote is for 'spma' (1 of 'labeler1'): no row may be labelled so; add labelers of it, or, if it is no class, name those that are",
        ];
        assert_eq!(texts, expected);
        let mut named = LabelerTally::new(odd.labelers(), odd.classes()).with_named_classes();
        named.add(odd.view());
        assert_eq!(named.warnings(None).len(), 1);
    }

    #[test]
    fn an_identifier_is_no_labeler() {
        let odd = signals(2, N_ROWS, |row, signal| if signal == 1 { row as i64 } else { ordinary(row, 0) });
        let expected =
            LabelerWarning::IdentifierLabeler { labeler: "labeler1".to_owned(), n_classes: 200, n_votes: 200 };
        assert_eq!(warnings(&odd, None), [expected]);
    }
}
