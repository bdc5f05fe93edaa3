//! Reasons to doubt labels that can be seen without knowing the truth.
//!
//! Nobody can tell from votes alone whether a label model does better or worse than a majority vote. But it can only do
//! worse where its labels differ:
//!
//! ```text
//! clear row           one class has more votes than any other
//! accuracy(majority) − accuracy(labels), over clear rows  ≤  share of clear rows with another label than the majority's
//! ```
//!
//! So labels that differ on at most 2 % of the clear rows are at most two points worse there, and need no warning; those
//! that differ on more get one, though they may be better. The other signs are of fits that went astray: a class that
//! nobody gets, labelers of whom most are held to be worse than chance, rows without votes that all get a class which
//! few others have, a class balance that the votes cannot tell, and too few labelers to learn from.

use serde::Serialize;

use crate::Result;
use crate::label_models::{AnyLabelModel, ClassBalance};
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, VoteTally, WeakSignals, cast_votes};

/// Labels may differ from the majority on this share of the rows where it is clear.
const MAX_AGAINST: f64 = 0.02;
/// Fewer rows without votes are not worth a warning.
const MIN_SILENT: f64 = 0.02;
/// With fewer labelers, "good labelers and equal classes" and "poor labelers" explain the votes equally well.
const MIN_LABELERS: usize = 3;

/// A reason to doubt labels. Shown, it is a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LabelWarning {
    /// Labels differ from the majority on more than 2 % of the rows where one class has the most votes.
    #[error(
        "the labels differ from a clear majority of the votes on {n_against} of {n_clear} rows ({:.1} %); \
         they may be worse than a majority vote: check some of these rows yourself",
        100.0 * *n_against as f64 / *n_clear as f64
    )]
    AgainstMajority {
        /// Number of such rows with another label.
        n_against: usize,
        /// Number of such rows.
        n_clear: usize,
    },
    /// A class that has the most votes on some rows is the most probable one on none.
    #[error(
        "no row is labelled '{class}', though it has the most votes on {n_rows} rows; \
         the labels may be worse than a majority vote"
    )]
    ClassWithoutRows {
        /// Its name.
        class: String,
        /// Number of rows on which it has the most votes.
        n_rows: usize,
    },
    /// Rows without votes, at least 2 % of all, get another class than the most frequent one of the other rows.
    #[error(
        "the {n_rows} rows without a vote are all labelled '{class}', though most rows with votes are \
         '{majority}' by majority; the labels may be worse than a majority vote"
    )]
    SilentRows {
        /// The class they get.
        class: String,
        /// The class with the most votes on most rows.
        majority: String,
        /// Number of rows without votes.
        n_rows: usize,
    },
    /// More than half of the labelers are held to be right less often than by guessing.
    #[error(
        "{n_worse} of {n_labelers} labelers are held to be right less often than by guessing; \
         the classes may be swapped"
    )]
    WorseThanChance {
        /// Number of such labelers.
        n_worse: usize,
        /// Number of labelers with votes.
        n_labelers: usize,
    },
    /// The class balance was to be estimated, but the votes cannot tell it, and it is uniform.
    #[error(
        "the votes cannot tell how common the classes are, so all are taken to be equally common; \
         give the class balance if you know it"
    )]
    UniformBalance,
    /// Whom to trust was to be learned, from fewer than three labelers.
    #[error("{n_labelers} labelers with votes are too few to learn whom to trust; it takes three")]
    FewLabelers {
        /// Number of labelers with votes.
        n_labelers: usize,
    },
}

/// What speaks against labels of the rows of `signals`, without knowing the truth. `fitted` is the label model that gave
/// them, if it was fitted to these signals: with it, the fit itself is judged too.
///
/// ```
/// use labelflow_weak::label_models::{LabelWarning, label_warnings};
/// use labelflow_weak::rows::SoftLabels;
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, 0], [1, 1, 0], [1, 0, 0]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let labels = SoftLabels::new(array![[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]])?;
/// let warnings = label_warnings(&signals, &labels, None)?;
/// assert_eq!(warnings[0], LabelWarning::AgainstMajority { n_against: 1, n_clear: 3 });
/// assert_eq!(warnings[1], LabelWarning::ClassWithoutRows { class: "1".to_owned(), n_rows: 1 });
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
pub fn label_warnings(
    signals: &WeakSignals,
    labels: &SoftLabels,
    fitted: Option<&AnyLabelModel>,
) -> Result<Vec<LabelWarning>> {
    let mut tally = VoteTally::new(signals);
    tally.add(signals, &[], labels, None)?;
    let learner = fitted.filter(|model| !model.ignores_votes());
    let learner = learner.map(|model| (model, CountedVotes::of(signals)));
    Ok(tally.warnings(learner.as_ref().map(|(model, counted)| (*model, counted))))
}

/// What votes of `n_labelers` cannot teach this label model.
pub(crate) fn doubts_of_fit(
    model: &AnyLabelModel,
    n_labelers: usize,
    tells_balance: impl FnOnce() -> bool,
) -> Vec<LabelWarning> {
    let mut warnings = Vec::new();
    if model.class_balance() == Some(&ClassBalance::Estimated) && !tells_balance() {
        warnings.push(LabelWarning::UniformBalance);
    }
    if model.learns_accuracies() && n_labelers < MIN_LABELERS {
        warnings.push(LabelWarning::FewLabelers { n_labelers });
    }
    warnings
}

/// Labels beside the majority of the votes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison {
    n_clear: usize,
    n_against: usize,
    /// Rows on which each class has the most votes.
    n_won: Vec<usize>,
    /// Rows on which each class is the most probable.
    n_labelled: Vec<usize>,
    /// Rows without votes that get each class.
    n_silent: Vec<usize>,
    /// Votes of one row for each class.
    votes_for: Vec<usize>,
}

impl Comparison {
    pub(crate) fn new(n_classes: usize) -> Self {
        let none = vec![0; n_classes];
        let (n_won, n_labelled) = (none.clone(), none.clone());
        Self { n_won, n_labelled, n_silent: none.clone(), votes_for: none, ..Self::default() }
    }

    /// Adds `count` rows with these votes and this label.
    pub(crate) fn add(&mut self, votes: &[u8], count: usize, label: usize) {
        self.n_labelled[label] += count;
        self.votes_for.fill(0);
        cast_votes(votes).for_each(|(_, class)| self.votes_for[class] += 1);
        match majority(&self.votes_for) {
            Majority::Silent => self.n_silent[label] += count,
            Majority::Tied => {}
            Majority::Clear(class) => {
                self.n_clear += count;
                self.n_won[class] += count;
                self.n_against += if label == class { 0 } else { count };
            }
        }
    }

    /// Number of rows without votes.
    pub(crate) fn n_uncovered(&self) -> usize {
        self.n_silent.iter().sum()
    }

    /// What the labels themselves show.
    pub(crate) fn warnings(&self, classes: &[String]) -> Vec<LabelWarning> {
        let mut warnings: Vec<LabelWarning> = self.against_majority().into_iter().collect();
        warnings.extend(self.classes_without_rows(classes));
        warnings.extend(self.silent_rows(classes));
        warnings
    }

    fn against_majority(&self) -> Option<LabelWarning> {
        let (n_against, n_clear) = (self.n_against, self.n_clear);
        let is_much = n_against as f64 > MAX_AGAINST * n_clear as f64;
        is_much.then_some(LabelWarning::AgainstMajority { n_against, n_clear })
    }

    fn classes_without_rows(&self, classes: &[String]) -> Vec<LabelWarning> {
        let lost = (0..classes.len()).filter(|&c| self.n_labelled[c] == 0 && self.n_won[c] > 0);
        lost.map(|c| LabelWarning::ClassWithoutRows { class: classes[c].clone(), n_rows: self.n_won[c] }).collect()
    }

    /// Rows without votes all look the same to a label model, so they have one class.
    fn silent_rows(&self, classes: &[String]) -> Option<LabelWarning> {
        let n_rows: usize = self.n_silent.iter().sum();
        let class = most(&self.n_silent);
        let is_much = n_rows as f64 >= MIN_SILENT * self.n_labelled.iter().sum::<usize>() as f64;
        // A class as frequent as any other is no odd choice.
        let is_odd = self.n_won[class] < self.n_won[most(&self.n_won)];
        (n_rows > 0 && is_much && is_odd).then(|| LabelWarning::SilentRows {
            class: classes[class].clone(),
            majority: classes[most(&self.n_won)].clone(),
            n_rows,
        })
    }
}

/// What counts of votes for each class say.
pub(crate) enum Majority {
    Silent,
    Tied,
    Clear(usize),
}

pub(crate) fn majority(counts: &[usize]) -> Majority {
    let class = most(counts);
    let n_most = counts.iter().filter(|&&count| count == counts[class]).count();
    match counts[class] {
        0 => Majority::Silent,
        _ if n_most > 1 => Majority::Tied,
        _ => Majority::Clear(class),
    }
}

/// The index of the largest count; the first of several.
fn most(counts: &[usize]) -> usize {
    (0..counts.len()).rev().max_by_key(|&index| counts[index]).unwrap_or(0)
}

/// `accuracies` are those of the labelers with votes, by the labels.
pub(crate) fn worse_than_chance(accuracies: &[f64], n_classes: usize) -> Option<LabelWarning> {
    // A labeler that guesses must not fall on the wrong side by rounding.
    let chance = 1.0 / n_classes as f64 - 1e-9;
    let n_labelers = accuracies.len();
    let n_worse = accuracies.iter().filter(|&&accuracy| accuracy < chance).count();
    (2 * n_worse > n_labelers).then_some(LabelWarning::WorseThanChance { n_worse, n_labelers })
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::label_models::planted::Planted;
    use crate::label_models::{FittedLabelModel, KnownOfLabelers};
    use crate::votes::Votes;

    fn signals(rows: &[&[i64]]) -> WeakSignals {
        let votes = Array2::from_shape_fn((rows.len(), rows[0].len()), |(r, c)| rows[r][c]);
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(2)).unwrap()).unwrap()
    }

    /// Labels that are 90 % sure of these classes.
    fn labels(classes: &[usize]) -> SoftLabels {
        let p = |(row, class)| if classes[row] == class { 0.9 } else { 0.1 };
        SoftLabels::new(Array2::from_shape_fn((classes.len(), 2), p)).unwrap()
    }

    fn warnings(model: &str, signals: &WeakSignals, classes: &[usize]) -> Vec<LabelWarning> {
        let model = AnyLabelModel::from_name(model).unwrap();
        label_warnings(signals, &labels(classes), Some(&model)).unwrap()
    }

    /// Three labelers that agree on a hundred rows, half of each class.
    fn unanimous() -> (WeakSignals, Vec<usize>) {
        let rows: Vec<[i64; 3]> = (0..100).map(|row| [row % 2; 3]).collect();
        let rows: Vec<&[i64]> = rows.iter().map(|row| &row[..]).collect();
        (signals(&rows), (0..100).map(|row| row % 2).collect())
    }

    #[test]
    fn labels_of_the_majority_need_no_warning() {
        let planted = Planted::new(2000, 3, &[0.8, 0.7, 0.7, 0.6], 0.2, 1);
        for name in ["majority-vote", "average"] {
            let model = AnyLabelModel::from_name(name).unwrap();
            let fitted = model.fit(&planted.signals, &KnownOfLabelers::default()).unwrap();
            let labels = fitted.predict_proba(&planted.signals).unwrap();
            let warnings = label_warnings(&planted.signals, &labels, Some(&model)).unwrap();
            assert_eq!(warnings, [], "{name}");
        }
    }

    #[test]
    fn more_than_two_in_a_hundred_against_the_majority() {
        let (signals, mut classes) = unanimous();
        assert_eq!(warnings("dawid-skene", &signals, &classes), []);
        classes[0] = 1;
        classes[1] = 0;
        assert_eq!(warnings("dawid-skene", &signals, &classes), []);
        classes[2] = 1;
        let expected = LabelWarning::AgainstMajority { n_against: 3, n_clear: 100 };
        assert_eq!(warnings("dawid-skene", &signals, &classes), std::slice::from_ref(&expected));
        let text = expected.to_string();
        assert!(text.contains("on 3 of 100 rows (3.0 %)"), "{text}");
        assert!(text.contains("may be worse than a majority vote"), "{text}");
    }

    #[test]
    fn ties_and_silence_have_no_majority() {
        let signals = signals(&[&[0, 1, -1], &[0, 0, 1], &[1, 1, -1], &[0, 0, -1], &[1, 0, -1]]);
        assert_eq!(warnings("majority-vote", &signals, &[1, 0, 1, 0, 1]), []);
    }

    #[test]
    fn a_class_that_nobody_gets() {
        let (signals, _) = unanimous();
        let found = warnings("majority-vote", &signals, &[0; 100]);
        let expected = LabelWarning::ClassWithoutRows { class: "1".to_owned(), n_rows: 50 };
        assert_eq!(found[1], expected);
        assert!(expected.to_string().contains("no row is labelled '1'"));
    }

    #[test]
    fn silent_rows_with_the_rarer_class() {
        let rows: [&[i64]; 5] = [&[0, 0, 0], &[0, 0, 0], &[1, 1, 1], &[-1, -1, -1], &[-1, -1, -1]];
        let signals = signals(&rows);
        assert_eq!(warnings("majority-vote", &signals, &[0, 0, 1, 0, 0]), []);
        let expected = LabelWarning::SilentRows { class: "1".to_owned(), majority: "0".to_owned(), n_rows: 2 };
        assert_eq!(warnings("majority-vote", &signals, &[0, 0, 1, 1, 1]), [expected]);
    }

    #[test]
    fn most_labelers_worse_than_chance() {
        let (signals, classes) = unanimous();
        let turned: Vec<usize> = classes.iter().map(|class| 1 - class).collect();
        let found = warnings("majority-vote", &signals, &turned);
        assert_eq!(found[1], LabelWarning::WorseThanChance { n_worse: 3, n_labelers: 3 });
    }

    #[test]
    fn a_balance_that_votes_cannot_tell() {
        // Rules that vote for one class only.
        let signals = signals(&[&[0, -1, -1], &[-1, 1, 1], &[0, -1, -1], &[-1, 1, -1]]);
        let classes = [0, 1, 0, 1];
        for name in ["data-programming", "flying-squid", "minimax-entropy", "metal", "snorkel"] {
            assert_eq!(warnings(name, &signals, &classes), [LabelWarning::UniformBalance], "{name}");
        }
        assert_eq!(warnings("majority-vote", &signals, &classes), []);
        let given = r#"{"model": "snorkel", "class_balance": [0.5, 0.5]}"#;
        let given: AnyLabelModel = serde_json::from_str(given).unwrap();
        assert_eq!(label_warnings(&signals, &labels(&classes), Some(&given)).unwrap(), []);
        assert!(!warnings("snorkel", &unanimous().0, &unanimous().1).contains(&LabelWarning::UniformBalance));
    }

    #[test]
    fn two_labelers_are_too_few_to_learn_from() {
        let signals = signals(&[&[0, 0, -1], &[1, 1, -1], &[0, 1, -1]]);
        let few = LabelWarning::FewLabelers { n_labelers: 2 };
        assert_eq!(warnings("dawid-skene", &signals, &[0, 1, 0]), [few]);
        assert_eq!(warnings("majority-vote", &signals, &[0, 1, 0]), []);
    }

    #[test]
    fn labels_of_other_rows_are_an_error() {
        let error = label_warnings(&unanimous().0, &labels(&[0, 1]), None).unwrap_err();
        assert!(error.to_string().starts_with("labels: expected 100 rows"), "{error}");
    }
}
