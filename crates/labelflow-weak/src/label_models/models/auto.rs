//! The label model that the votes ask for.
//!
//! ```text
//! hyper             where labelers err together, and where some classes are known
//! Dawid and Skene   where labelers err independently, know several classes, and give three votes per row or more on average
//! the mean of both  where labelers vote for one class each, or seldom: neither knows enough alone
//! ```
//!
//! Dawid and Skene's model is the best there is where its assumptions hold and votes are many, and too sure of itself elsewhere. Whether
//! they hold can be seen without labels: for two labelers that vote on n rows together and agree on o of them, where the fitted model
//! expects e, the deviation (o − e) / √(e (1 − e / n)) is 0.8 in size on average. Labelers that copy one another, or are misled
//! together, deviate by more. Of labelers that vote for one class alone nothing of this shows.
//!
//! The rule was chosen on planted votes (`VoteKind` in labelflow-data).

use serde::{Deserialize, Serialize};

use crate::label_models::models::{DawidSkene, FittedDawidSkene, FittedHyperLabelModel, HyperLabelModel};
use crate::label_models::{ClassBalance, FittedLabelModel, KnownLabels, LabelModel, SignalShape};
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, VotePatterns, WeakSignals, cast_votes};
use crate::{Error, Result};

/// Votes per row with votes from which confusion matrices can be learned.
const MANY_VOTES: f64 = 3.0;
/// A labeler knows several classes if this share of its votes, or more, is not for its most frequent one.
const OTHER_CLASSES: f64 = 0.05;
/// The mean deviation above which labelers are not independent.
const MOST_DEVIATION: f64 = 1.0;
/// Pairs are looked at among so many labelers, those with the most votes.
const MOST_LABELERS: usize = 50;
/// Rows that two labelers must share to be looked at.
const FEWEST_SHARED: f64 = 5.0;
/// For the check, confusion matrices are learned from the votes alone, or nearly so.
const PRIOR_VOTES: f64 = 1.0;
/// After so many rounds they are good enough for it.
const MOST_ROUNDS: usize = 100;

/// The label model that the votes ask for: [`DawidSkene`] for labelers that know several classes, vote often and err independently,
/// [`HyperLabelModel`] for those that err together, the mean of both for others. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{AutoLabelModel, FittedLabelModel, LabelModel};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = array![[0, -1, 1], [1, 1, -1], [0, 0, -1], [1, -1, 1], [0, -1, 0]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let fitted = AutoLabelModel::default().fit_with(&signals, &None)?;
/// let why = "the mean of hyper and dawid-skene was chosen: labelers err independently, but with 2.0 votes per row";
/// assert_eq!(fitted.remark(), Some(why));
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoLabelModel {
    /// How common each class is. Default: estimated, by the label model that is chosen.
    pub class_balance: ClassBalance,
}

impl LabelModel for AutoLabelModel {
    type Fitted = FittedAutoLabelModel;
    type Known = Option<KnownLabels>;

    fn fit_counts_with(&self, counted: &CountedVotes, known: &Self::Known) -> Result<FittedAutoLabelModel> {
        counted.check_any_vote()?;
        let (choice, why) = self.choice(counted, known.as_ref())?;
        let class_balance = || self.class_balance.clone();
        let hyper = || HyperLabelModel { class_balance: class_balance() }.fit_counts_with(counted, known);
        let dawid_skene = || DawidSkene { class_balance: class_balance(), ..DawidSkene::default() }.fit_counts(counted);
        Ok(FittedAutoLabelModel {
            hyper: (choice != Choice::DawidSkene).then(hyper).transpose()?,
            dawid_skene: (choice != Choice::Hyper).then(dawid_skene).transpose()?,
            remark: format!("{} was chosen: {why}", choice.name()),
        })
    }

    fn learns_accuracies(&self) -> bool {
        true
    }
}

impl AutoLabelModel {
    /// What suits the votes, and why.
    fn choice(&self, counted: &CountedVotes, known: Option<&KnownLabels>) -> Result<(Choice, String)> {
        if known.is_some_and(|known| known.n_rows() > 0.0) {
            return Ok((Choice::Hyper, "it learns from the known classes too".to_owned()));
        }
        let (patterns, shape) = (&*counted.patterns.without_silence(), counted.shape());
        let labelers = LabelersOfSeveralClasses::of(patterns, shape);
        if labelers.share_of_votes < 0.5 {
            return Ok((Choice::Both, "most votes are by labelers that vote for one class alone".to_owned()));
        }
        let check = DawidSkene {
            class_balance: self.class_balance.clone(),
            prior_votes: PRIOR_VOTES,
            max_iterations: MOST_ROUNDS,
            tempered: false,
            ..DawidSkene::default()
        };
        let deviation = mean_deviation(patterns, shape, &labelers.busiest, &check.fit_counts(counted)?);
        if deviation > MOST_DEVIATION {
            let why = format!("labelers do not err independently; they agree {deviation:.1} standard errors off");
            return Ok((Choice::Hyper, why));
        }
        let per_row = labelers.n_votes / patterns.n_rows();
        Ok(if per_row < MANY_VOTES {
            (Choice::Both, format!("labelers err independently, but with {per_row:.1} votes per row"))
        } else {
            (Choice::DawidSkene, format!("labelers err independently, with {per_row:.1} votes per row"))
        })
    }
}

/// What labels the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Hyper,
    DawidSkene,
    Both,
}

impl Choice {
    fn name(self) -> &'static str {
        match self {
            Self::Hyper => "hyper",
            Self::DawidSkene => "dawid-skene",
            Self::Both => "the mean of hyper and dawid-skene",
        }
    }
}

/// Labelers that know several classes.
struct LabelersOfSeveralClasses {
    /// Those with the most votes.
    busiest: Vec<usize>,
    /// The share of all votes that are theirs.
    share_of_votes: f64,
    /// How many votes all labelers have.
    n_votes: f64,
}

impl LabelersOfSeveralClasses {
    fn of(patterns: &VotePatterns, shape: SignalShape) -> Self {
        let SignalShape { n_signals, n_classes } = shape;
        let mut votes = vec![0.0; n_signals * n_classes];
        for (row, count) in patterns.iter() {
            cast_votes(row).for_each(|(signal, class)| votes[signal * n_classes + class] += count);
        }
        let votes_of: Vec<f64> = votes.chunks_exact(n_classes).map(|votes| votes.iter().sum()).collect();
        let knows_several = |signal: &usize| {
            let most = votes[signal * n_classes..][..n_classes].iter().copied().fold(0.0, f64::max);
            votes_of[*signal] - most > OTHER_CLASSES * votes_of[*signal]
        };
        let mut busiest: Vec<usize> = (0..n_signals).filter(knows_several).collect();
        let n_votes: f64 = votes_of.iter().sum();
        let share_of_votes = busiest.iter().map(|&signal| votes_of[signal]).sum::<f64>() / n_votes;
        busiest.sort_by(|&a, &b| votes_of[b].total_cmp(&votes_of[a]));
        busiest.truncate(MOST_LABELERS);
        Self { busiest, share_of_votes, n_votes }
    }
}

/// How far these labelers are from agreeing as often as the model expects, in standard errors: the mean over pairs; 0 without pairs.
fn mean_deviation(patterns: &VotePatterns, shape: SignalShape, busiest: &[usize], model: &FittedDawidSkene) -> f64 {
    let n_classes = shape.n_classes;
    let mut place = vec![None; shape.n_signals];
    busiest.iter().enumerate().for_each(|(index, &signal)| place[signal] = Some(index));
    let n_places = busiest.len();

    // P(both answer alike | class) of each two labelers.
    let confusions = model.confusions();
    let alike = |a: usize, b: usize, class: usize| -> f64 {
        (0..n_classes).map(|answer| confusions[[a, class, answer]] * confusions[[b, class, answer]]).sum()
    };
    let alike: Vec<f64> = (0..n_places * n_places)
        .flat_map(|pair| (0..n_classes).map(move |class| (pair, class)))
        .map(|(pair, class)| alike(busiest[pair / n_places], busiest[pair % n_places], class))
        .collect();

    // Of each pair the rows of both, those on which they agree, and those on which they are expected to.
    let parameters = model.log_parameters();
    let sums = patterns.sum(3 * n_places * n_places, |rows, sums| {
        let (mut p, mut answers) = (vec![0.0; n_classes], Vec::new());
        for (row, count) in rows {
            parameters.posterior(row, &mut p);
            answers.clear();
            answers.extend(cast_votes(row).filter_map(|(signal, class)| Some((place[signal]?, class))));
            for (index, &(a, of_a)) in answers.iter().enumerate() {
                for &(b, of_b) in &answers[..index] {
                    let pair = a.max(b) * n_places + a.min(b);
                    let expected: f64 = p.iter().zip(&alike[pair * n_classes..]).map(|(p, alike)| p * alike).sum();
                    let sums = &mut sums[3 * pair..][..3];
                    sums[0] += count;
                    sums[1] += if of_a == of_b { count } else { 0.0 };
                    sums[2] += count * expected;
                }
            }
        }
    });
    let deviations = sums.chunks_exact(3).filter(|sums| sums[0] >= FEWEST_SHARED).map(|sums| {
        let expected = (sums[2] / sums[0]).clamp(0.01, 0.99);
        (sums[1] - sums[2]).abs() / (sums[0] * expected * (1.0 - expected)).sqrt()
    });
    let (n_pairs, sum) = deviations.fold((0.0, 0.0), |(n, sum), deviation| (n + 1.0, sum + deviation));
    if n_pairs > 0.0 { sum / n_pairs } else { 0.0 }
}

/// The fit of what was chosen: of one label model, or of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedAutoLabelModel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hyper: Option<FittedHyperLabelModel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dawid_skene: Option<FittedDawidSkene>,
    /// What was chosen, and why.
    remark: String,
}

impl FittedAutoLabelModel {
    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let hyper = self.hyper.as_ref().map(FittedHyperLabelModel::checked_shape).transpose()?;
        let dawid_skene = self.dawid_skene.as_ref().map(FittedDawidSkene::checked_shape).transpose()?;
        let refuse = || Error::data("auto", "one label model, or two of the same labelers and classes", "others");
        match (hyper, dawid_skene) {
            (Some(one), Some(other)) if one != other => Err(refuse()),
            (one, other) => one.or(other).ok_or_else(refuse),
        }
    }
}

impl FittedLabelModel for FittedAutoLabelModel {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let of_hyper = self.hyper.as_ref().map(|fitted| fitted.predict_proba(signals)).transpose()?;
        let of_dawid_skene = self.dawid_skene.as_ref().map(|fitted| fitted.predict_proba(signals)).transpose()?;
        match (of_hyper, of_dawid_skene) {
            (Some(one), Some(other)) => SoftLabels::try_normalized((&one.values() + &other.values()) / 2.0),
            (one, other) => one.or(other).ok_or_else(|| Error::data("auto", "a fitted label model", "none")),
        }
    }

    fn remark(&self) -> Option<&str> {
        Some(&self.remark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_models::planted::Planted;
    use crate::votes::Votes;
    use ndarray::{Array2, Axis, concatenate};

    fn fit(signals: &WeakSignals) -> FittedAutoLabelModel {
        AutoLabelModel::default().fit_with(signals, &None).unwrap()
    }

    fn chosen(fitted: &FittedAutoLabelModel) -> &str {
        fitted.remark().unwrap().split_once(" was chosen: ").unwrap().0
    }

    #[test]
    fn independent_labelers_with_many_votes_get_confusion_matrices() {
        for (n_classes, seed) in [(2, 1), (4, 2)] {
            let planted = Planted::new(1500, n_classes, &[0.6, 0.65, 0.7, 0.75, 0.8, 0.85], 0.2, seed);
            let fitted = fit(&planted.signals);
            assert_eq!(chosen(&fitted), "dawid-skene", "{:?}", fitted.remark());
            let alone = DawidSkene::default().fit(&planted.signals).unwrap();
            let labels = fitted.predict_proba(&planted.signals).unwrap();
            assert_eq!(labels, alone.predict_proba(&planted.signals).unwrap());
        }
    }

    #[test]
    fn labelers_that_copy_and_known_classes_are_for_hyper() {
        let planted = Planted::new(1500, 2, &[0.6, 0.65, 0.7, 0.75, 0.8], 0.1, 3);
        let votes = Array2::from_shape_fn((1500, 5), |(row, signal)| {
            planted.signals.vote(row, signal).map_or(-1, |class| class as i64)
        });
        let first = votes.select(Axis(1), &[0, 0, 0]);
        let copied = concatenate(Axis(1), &[votes.view(), first.view()]).unwrap();
        let copied = WeakSignals::from_votes(Votes::from_indices(copied.view(), Some(2)).unwrap()).unwrap();
        assert_eq!(chosen(&fit(&copied)), "hyper");
        let known: Vec<Option<usize>> = planted.truth.labels().iter().map(|&class| Some(class)).collect();
        let known = KnownLabels::new(&planted.signals, &known).unwrap();
        assert_eq!(chosen(&AutoLabelModel::default().fit_with(&planted.signals, &Some(known)).unwrap()), "hyper");
    }

    #[test]
    fn rules_and_few_votes_get_the_mean_of_both() {
        let sparse = Planted::new(1500, 2, &[0.7; 6], 0.7, 4).signals;
        let rules = Planted::keywords(1500, &[0, 1, 0, 1], 0.5, 0.05, 5).signals;
        for (signals, why) in [(&sparse, "votes per row"), (&rules, "one class")] {
            let fitted = fit(signals);
            assert_eq!(chosen(&fitted), "the mean of hyper and dawid-skene");
            assert!(fitted.remark().unwrap().contains(why), "{:?}", fitted.remark());
            let hyper = HyperLabelModel::default().fit_votes(signals).unwrap().predict_proba(signals).unwrap();
            let dawid_skene = DawidSkene::default().fit(signals).unwrap().predict_proba(signals).unwrap();
            let mean = (&hyper.values() + &dawid_skene.values()) / 2.0;
            assert!((&mean - &fitted.predict_proba(signals).unwrap().values()).iter().all(|d| d.abs() < 1e-12));
        }
    }

    #[test]
    fn a_fit_that_contradicts_itself_is_refused() {
        let signals = Planted::keywords(200, &[0, 1, 0], 0.5, 0.05, 5).signals;
        let fitted = fit(&signals);
        assert!(fitted.checked_shape().is_ok());
        let other = Planted::keywords(200, &[0, 1], 0.5, 0.05, 5).signals;
        let other = DawidSkene::default().fit(&other).unwrap();
        assert!(FittedAutoLabelModel { dawid_skene: Some(other), ..fitted.clone() }.checked_shape().is_err());
        let none = FittedAutoLabelModel { hyper: None, dawid_skene: None, ..fitted };
        assert!(none.checked_shape().is_err() && none.predict_proba(&signals).is_err());
    }
}
