//! Which numbers in a table of votes are classes, and which mean "no opinion".

use labelflow_weak::votes::{ABSTAIN, SignalValues, WeakSignals};
use serde::{Deserialize, Serialize};

use crate::inputs::SignalsOptions;
use crate::{Error, Result, ensure};

/// How a table of numbers says that a labeler abstains, and with it how classes are counted.
///
/// Classes without other names are called by their numbers in the table.
///
/// | setting | classes | abstains | written by |
/// |---|---|---|---|
/// | `minus_one` | 0, 1, …, k − 1 | −1, missing | most tools for labeling functions |
/// | `zero` | 1, 2, …, k | 0, missing | tools that count classes from 1 |
/// | `missing` | 0, 1, …, k − 1 | missing | tables with empty cells, null or NaN |
/// | `signed` | −1 and 1 | 0, missing | two-class tools: −1 is class 0, 1 is class 1 |
/// | `detect` (default) | the first of `minus_one`, `zero` and `signed` that has a place for every number and a vote for every class | | |
///
/// Where the classes are named, or where none of the three has both, `detect` is `minus_one`. So numbers from 1 to 4 are classes 1 to 4, and −1 and 1
/// without a 0 are two classes; [`convention_doubt`] says what was assumed.
///
/// # What a wrong setting shows, and what it does not
///
/// A number that the setting has no place for is an error, with advice if another setting fits every number. That catches
/// class k of `zero` under `minus_one` once the classes are named, −1 under `zero` and `missing`, and 2 under `signed`.
///
/// It does not catch −1, 0 and 1 in a table of two classes, nor 0, 1, …, k in a table whose classes are not named: both have
/// two readings, and nothing in the numbers tells them apart. How often a number occurs is no sign either: abstentions may
/// be rare or frequent. Both are read as `minus_one`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbstainConvention {
    /// −1 or a missing cell abstains; classes count from 0. What this project writes.
    #[serde(alias = "minus-one")]
    MinusOne,
    /// 0 or a missing cell abstains; classes count from 1.
    Zero,
    /// Only a missing cell abstains; classes count from 0.
    Missing,
    /// 0 or a missing cell abstains; −1 is class 0 and 1 is class 1.
    Signed,
    /// The one of `MinusOne`, `Zero` and `Signed` that the numbers look like.
    #[default]
    Detect,
}

/// What one number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Abstains,
    Class(usize),
    /// The convention has no place for it.
    Nothing,
}

/// The conventions that [`AbstainConvention::Detect`] chooses among. `Missing` reads nothing that `MinusOne` does not.
const DETECTED: [AbstainConvention; 3] =
    [AbstainConvention::MinusOne, AbstainConvention::Zero, AbstainConvention::Signed];

/// How the classes of [`AbstainConvention::Signed`] are called where they have no names.
pub(crate) const SIGNED_CLASSES: [&str; 2] = ["-1", "1"];

impl AbstainConvention {
    /// The name of the setting, the number that abstains, and that of the first class.
    const fn facts(self) -> (&'static str, Option<i8>, u8) {
        match self {
            Self::MinusOne => ("minus_one", Some(-1), 0),
            Self::Zero => ("zero", Some(0), 1),
            Self::Missing => ("missing", None, 0),
            // The classes do not follow each other: −1 and 1.
            Self::Signed => ("signed", Some(0), 0),
            Self::Detect => ("detect", Some(-1), 0),
        }
    }

    /// The name of the setting.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// The number that stands for an abstention, or nothing where only missing cells abstain.
    pub(crate) fn mark(self) -> Option<i8> {
        self.facts().1
    }

    /// Classes that have no other names, as tables of this convention write them.
    pub(crate) fn class_names(self, n_classes: usize) -> Vec<String> {
        match self {
            Self::Signed => SIGNED_CLASSES.map(str::to_owned).to_vec(),
            _ => (0..n_classes).map(|class| (class + usize::from(self.facts().2)).to_string()).collect(),
        }
    }

    /// The convention whose numbers these classes are called by, if they do not count from 0.
    pub(crate) fn of_class_names(classes: &[String]) -> Option<Self> {
        let is_of = |convention: &Self| !classes.is_empty() && convention.class_names(classes.len()) == classes;
        [Self::Zero, Self::Signed].into_iter().find(is_of)
    }

    /// What stands for an abstention, for messages.
    fn shown_mark(self) -> String {
        self.mark().map_or("nothing".to_owned(), |mark| mark.to_string())
    }

    fn is_abstention(self, value: f32) -> bool {
        value.is_nan() || self.mark().is_some_and(|mark| value == f32::from(mark))
    }

    /// Whether probabilities can be read: 0 and −1 are no votes there.
    pub(crate) fn check_probabilities(self) -> Result<()> {
        let expected = "minus_one or missing, since the signals are probabilities";
        ensure(self.mark() != Some(0), || Error::config("abstain", expected, self.name()))
    }

    /// A probability, NaN where it abstains; or, if it is none, what would have been accepted.
    pub(crate) fn read_probability(self, value: f32) -> Result<f32, String> {
        match value {
            value if self.is_abstention(value) => Ok(f32::NAN),
            0.0..=1.0 => Ok(value),
            _ => Err(format!("a probability from 0 to 1, or {} for an abstention", self.shown_mark())),
        }
    }

    /// What a number says when there are at most `n_classes` classes.
    pub(crate) fn read(self, value: f32, n_classes: usize) -> Reading {
        let class = match self {
            _ if self.is_abstention(value) => return Reading::Abstains,
            Self::Signed if value.abs() == 1.0 => f32::from(u8::from(value > 0.0)),
            Self::Signed => return Reading::Nothing,
            _ => value - f32::from(self.facts().2),
        };
        let is_class = class.fract() == 0.0 && (0.0..n_classes as f32).contains(&class);
        if is_class { Reading::Class(class as usize) } else { Reading::Nothing }
    }

    /// What is accepted when there are at most `n_classes` classes, in words.
    pub(crate) fn expected(self, n_classes: usize) -> String {
        let (first, mark) = (usize::from(self.facts().2), self.shown_mark());
        match self {
            Self::Signed => format!("-1, 1, or {mark} for an abstention"),
            _ => format!("a class from {first} to {}, or {mark} for an abstention", first + n_classes - 1),
        }
    }

    /// The largest number of classes a table can have. `n_named` is 0 when they are not named.
    pub(crate) fn n_most_classes(self, n_named: usize) -> usize {
        match (self, n_named) {
            (Self::Signed, _) => 2,
            (_, 0) => usize::from(ABSTAIN),
            (_, n_named) => n_named,
        }
    }

    /// The convention itself, or the one that the numbers of a table look like.
    pub(crate) fn resolve<'values>(self, values: impl Iterator<Item = &'values f32> + Clone, n_named: usize) -> Self {
        if self != Self::Detect {
            return self;
        }
        let gives_all_classes_votes = |convention: &Self| {
            let usage = usage(*convention, values.clone(), n_named);
            usage.is_some_and(|usage| usage.n_voted >= 2 && usage.n_voted == usage.last)
        };
        let found = DETECTED.into_iter().find(|convention| n_named == 0 && gives_all_classes_votes(convention));
        // The error of the usual convention says what is wrong.
        found.unwrap_or(Self::MinusOne)
    }

    /// Advice when a number has no place here but every number has one elsewhere.
    pub(crate) fn advice<'values>(
        self,
        values: impl Iterator<Item = &'values f32> + Clone,
        n_named: usize,
    ) -> Option<String> {
        let mut others = DETECTED.into_iter().filter(|&other| other != self);
        others.find_map(|other| {
            let usage = usage(other, values.clone(), n_named).filter(|usage| usage.n_voted >= 2)?;
            Some(format!("if {}, set abstain = \"{}\"", other.describe(&usage), other.name()))
        })
    }

    /// A reading in words.
    fn describe(self, usage: &Usage) -> String {
        let (mark, first) = (self.shown_mark(), usize::from(self.facts().2));
        match self {
            Self::Signed => format!("{mark} abstains and the classes are -1 and 1"),
            _ => format!("{mark} abstains and the classes are {first} to {}", first + usage.last - 1),
        }
    }
}

/// What a convention makes of a whole table.
struct Usage {
    /// Number of classes that get a vote.
    n_voted: usize,
    /// One more than the last class that gets a vote.
    last: usize,
}

/// What a convention makes of these numbers, or nothing when it has no place for one of them.
fn usage<'values>(
    convention: AbstainConvention,
    values: impl Iterator<Item = &'values f32>,
    n_named: usize,
) -> Option<Usage> {
    if convention == AbstainConvention::Signed && n_named > 2 {
        return None;
    }
    let n_most = convention.n_most_classes(n_named);
    let mut is_voted = [false; ABSTAIN as usize];
    for &value in values {
        match convention.read(value, n_most) {
            Reading::Abstains => {}
            Reading::Class(class) => is_voted[class] = true,
            Reading::Nothing => return None,
        }
    }
    let n_voted = is_voted.iter().filter(|&&is_voted| is_voted).count();
    let last = is_voted.iter().rposition(|&is_voted| is_voted).map_or(0, |last| last + 1);
    Some(Usage { n_voted, last })
}

/// A sign that votes may have been written otherwise than they were read with these options: nobody ever votes for class 0, or the classes were
/// taken from the numbers.
///
/// That may be so, which makes it a doubt and no error; probabilities give none.
///
/// ```
/// use labelflow_data::inputs::{SignalsOptions, convention_doubt};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[1, -1], [-1, 1]].view(), None)?;
/// let doubt = convention_doubt(&WeakSignals::from_votes(votes)?, &SignalsOptions::default());
/// assert!(doubt.is_some_and(|doubt| doubt.contains("abstain = \"signed\"")));
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn convention_doubt(signals: &WeakSignals, options: &SignalsOptions) -> Option<String> {
    let SignalValues::Votes(votes) = signals.values() else { return None };
    doubt_about(votes.as_slice(), signals.classes(), options)
}

/// The same from all votes, or from each different one once.
pub(crate) fn doubt_about(votes: &[u8], classes: &[String], options: &SignalsOptions) -> Option<String> {
    if votes.iter().all(|&vote| vote == ABSTAIN) {
        return None;
    }
    if let Some(found) = AbstainConvention::of_class_names(classes) {
        let is_assumed = options.abstain == AbstainConvention::Detect && options.classes.is_empty();
        return is_assumed.then(|| {
            let (first, last, name) = (&classes[0], &classes[classes.len() - 1], found.name());
            format!("no number is 0: {first} to {last} are taken for the classes, and nobody abstains but in missing cells; if so, set abstain = \"{name}\"")
        });
    }
    if votes.contains(&0) {
        return None;
    }
    let otherwise = match classes.len() {
        2 => "if -1 is a class and 0 abstains, set abstain = \"signed\"",
        _ => "if classes count from 1 and 0 abstains, set abstain = \"zero\"",
    };
    Some(format!("no labeler ever votes for class '{}'; {otherwise}", classes[0]))
}

#[cfg(test)]
mod tests {
    use labelflow_weak::votes::Votes;
    use ndarray::array;

    use super::*;

    #[test]
    fn votes_that_never_name_class_0_are_doubted() {
        let doubt = |votes: ndarray::Array2<i64>, n_classes| {
            let votes = Votes::from_indices(votes.view(), Some(n_classes)).unwrap();
            convention_doubt(&WeakSignals::from_votes(votes).unwrap(), &SignalsOptions::default())
        };
        assert!(doubt(array![[1, 2], [-1, 1]], 3).unwrap().contains("abstain = \"zero\""));
        assert!(doubt(array![[1, 1], [-1, 1]], 2).unwrap().contains("class '0'"));
        assert_eq!(doubt(array![[1, 0], [-1, 1]], 2), None);
        assert_eq!(doubt(array![[-1, -1]], 2), None);
        // Numbers that were read as -1 and 1, because nothing else was said, or because it was.
        let votes = Votes::from_indices(array![[1, -1], [1, 1]].view(), Some(2)).unwrap();
        let signed = WeakSignals::from_votes(votes).unwrap().with_classes(AbstainConvention::Signed.class_names(2));
        let signed = signed.unwrap();
        let assumed = convention_doubt(&signed, &SignalsOptions::default()).unwrap();
        assert!(assumed.starts_with("no number is 0: -1 to 1 are taken for the classes"), "{assumed}");
        let said = SignalsOptions { abstain: AbstainConvention::Signed, ..Default::default() };
        assert_eq!(convention_doubt(&signed, &said), None);
    }

    fn detect(values: &[f32], n_named: usize) -> AbstainConvention {
        AbstainConvention::Detect.resolve(values.iter(), n_named)
    }

    #[test]
    fn numbers_say_one_of_three_things() {
        use AbstainConvention::{MinusOne, Missing, Signed, Zero};
        use Reading::{Abstains, Class, Nothing};
        for (value, [minus_one, zero, missing, signed]) in [
            (f32::NAN, [Abstains; 4]),
            (-2.0, [Nothing; 4]),
            (-1.0, [Abstains, Nothing, Nothing, Class(0)]),
            (0.0, [Class(0), Abstains, Class(0), Abstains]),
            (0.5, [Nothing; 4]),
            (1.0, [Class(1), Class(0), Class(1), Class(1)]),
            (2.0, [Class(2), Class(1), Class(2), Nothing]),
            (3.0, [Nothing, Class(2), Nothing, Nothing]),
            (f32::INFINITY, [Nothing; 4]),
        ] {
            for (convention, expected) in [(MinusOne, minus_one), (Zero, zero), (Missing, missing), (Signed, signed)] {
                assert_eq!(convention.read(value, 3), expected, "{value} as {}", convention.name());
            }
        }
    }

    #[test]
    fn numbers_are_read_so_that_every_class_has_a_vote() {
        use AbstainConvention::{MinusOne, Signed, Zero};
        for (values, n_named, expected) in [
            (&[0.0, 1.0][..], 0, MinusOne),
            (&[-1.0, 0.0, 1.0, 2.0], 0, MinusOne),
            (&[-1.0, 0.0, 1.0], 0, MinusOne),
            (&[0.0, 1.0, 2.0], 0, MinusOne),
            (&[-1.0, 1.0], 0, Signed),
            (&[1.0, 2.0, 3.0, f32::NAN], 0, Zero),
            // No reading gives every class a vote.
            (&[-1.0, 1.0, 2.0], 0, MinusOne),
            (&[1.0], 0, MinusOne),
            // Classes that have names are not guessed: other rows of the same table may have other numbers.
            (&[-1.0, 1.0], 2, MinusOne),
            (&[1.0, 2.0], 2, MinusOne),
        ] {
            assert_eq!(detect(values, n_named), expected, "{values:?}, {n_named}");
        }
    }

    #[test]
    fn advice_names_a_setting_that_fits() {
        let advice = |convention: AbstainConvention, values: &[f32], n_named| convention.advice(values.iter(), n_named);
        let zero = advice(AbstainConvention::MinusOne, &[0.0, 1.0, 2.0], 2).unwrap();
        assert!(zero.contains("abstain = \"zero\""), "{zero}");
        let native = advice(AbstainConvention::Zero, &[-1.0, 0.0, 2.0], 3).unwrap();
        assert!(native.contains("abstain = \"minus_one\""), "{native}");
        assert_eq!(advice(AbstainConvention::MinusOne, &[-7.0, 1.0], 2), None);
    }

    #[test]
    fn settings_read_as_written() {
        for convention in [DETECTED[0], DETECTED[1], DETECTED[2], AbstainConvention::Missing] {
            let text = format!("\"{}\"", convention.name());
            assert_eq!(serde_json::from_str::<AbstainConvention>(&text).unwrap(), convention);
        }
    }
}
