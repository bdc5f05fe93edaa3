//! The label model that the votes ask for.
//!
//! ```text
//! Dawid and Skene   where most votes are by labelers that know several classes, rows have three votes or more on average, and pairs of
//!                   labelers agree as often as Dawid and Skene's model, in which they err independently, expects
//! hyper             everywhere else, and where some classes are known
//! ```
//!
//! Dawid and Skene's model is the best there is where its assumptions hold and votes are many, and too sure of itself elsewhere. Whether
//! they hold can be seen without labels: for two labelers that vote on n rows together and agree on o of them, where the fitted model
//! expects e, the deviation (o − e) / √(e (1 − e / n)) is 0.8 in size on average. Labelers that copy one another, or are misled
//! together, deviate by more.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::label_models::models::{DawidSkene, FittedDawidSkene, FittedHyperLabelModel, HyperLabelModel};
use crate::label_models::{ClassBalance, FittedLabelModel, KnownLabels, LabelModel, SignalShape};
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, VotePatterns, WeakSignals, cast_votes};

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

/// The label model that the votes ask for: [`DawidSkene`] for labelers that know several classes, vote often and err independently,
/// [`HyperLabelModel`] for all others. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{AutoLabelModel, FittedLabelModel, LabelModel};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = array![[0, -1, 1], [1, 1, -1], [0, 0, -1], [1, -1, 1], [0, -1, 0]];
/// let signals = WeakSignals::from_votes(Votes::from_indices(votes.view(), None)?)?;
/// let fitted = AutoLabelModel::default().fit_with(&signals, &None)?;
/// assert_eq!(fitted.chosen(), "hyper");
/// assert_eq!(fitted.remark(), Some("hyper was chosen: 2.0 votes per row are too few to learn from how labelers agree"));
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
        let (dawid_skene, why) = self.dawid_skene(counted, known.as_ref())?;
        let chosen = match dawid_skene {
            Some(fitted) => Chosen::DawidSkene(fitted),
            None => {
                let hyper = HyperLabelModel { class_balance: self.class_balance.clone() };
                Chosen::Hyper(hyper.fit_counts_with(counted, known)?)
            }
        };
        let remark = format!("{} was chosen: {why}", chosen.name());
        Ok(FittedAutoLabelModel { chosen, remark })
    }

    fn learns_accuracies(&self) -> bool {
        true
    }
}

impl AutoLabelModel {
    /// The fit of Dawid and Skene's model if it suits the votes, and why it does or does not.
    fn dawid_skene(
        &self,
        counted: &CountedVotes,
        known: Option<&KnownLabels>,
    ) -> Result<(Option<FittedDawidSkene>, String)> {
        if known.is_some_and(|known| known.n_rows() > 0.0) {
            return Ok((None, "it learns from the known classes too".to_owned()));
        }
        let (patterns, shape) = (&*counted.patterns.without_silence(), counted.shape());
        let votes = votes_of_labelers(patterns, shape);
        if share_of_several_classes(&votes, shape) < 0.5 {
            return Ok((None, "most votes are by labelers that vote for one class alone".to_owned()));
        }
        let per_row = votes.iter().sum::<f64>() / patterns.n_rows();
        if per_row < MANY_VOTES {
            return Ok((None, format!("{per_row:.1} votes per row are too few to learn from how labelers agree")));
        }
        let model = DawidSkene { class_balance: self.class_balance.clone(), ..DawidSkene::default() };
        let fitted = model.fit_counts(counted)?;
        let deviation = mean_deviation(patterns, shape, &votes, &fitted);
        Ok(match deviation > MOST_DEVIATION {
            true => (None, format!("labelers do not err independently; they agree {deviation:.1} standard errors off")),
            false => (Some(fitted), format!("{per_row:.1} votes per row, by labelers that err independently")),
        })
    }
}

/// How often each labeler votes for each class, `[n_signals, n_classes]`.
fn votes_of_labelers(patterns: &VotePatterns, SignalShape { n_signals, n_classes }: SignalShape) -> Vec<f64> {
    let mut votes = vec![0.0; n_signals * n_classes];
    for (row, count) in patterns.iter() {
        cast_votes(row).for_each(|(signal, class)| votes[signal * n_classes + class] += count);
    }
    votes
}

/// The share of votes that are by labelers which know several classes.
fn share_of_several_classes(votes: &[f64], shape: SignalShape) -> f64 {
    let (mut several, mut all) = (0.0, 0.0);
    for votes in votes.chunks_exact(shape.n_classes) {
        let n_votes: f64 = votes.iter().sum();
        let most = votes.iter().copied().fold(0.0, f64::max);
        all += n_votes;
        several += if n_votes - most > OTHER_CLASSES * n_votes { n_votes } else { 0.0 };
    }
    several / all
}

/// How far labelers are from agreeing as often as the model expects, in standard errors: the mean over pairs; 0 without pairs.
fn mean_deviation(patterns: &VotePatterns, shape: SignalShape, votes: &[f64], model: &FittedDawidSkene) -> f64 {
    let SignalShape { n_signals, n_classes } = shape;
    let n_votes: Vec<f64> = votes.chunks_exact(n_classes).map(|votes| votes.iter().sum()).collect();
    let mut busiest: Vec<usize> = (0..n_signals).collect();
    busiest.sort_by(|&a, &b| n_votes[b].total_cmp(&n_votes[a]));
    busiest.truncate(MOST_LABELERS);
    let mut place = vec![None; n_signals];
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

/// The fit of the label model that was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedAutoLabelModel {
    chosen: Chosen,
    /// Which model was chosen, and why.
    remark: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Chosen {
    DawidSkene(FittedDawidSkene),
    Hyper(FittedHyperLabelModel),
}

impl Chosen {
    fn name(&self) -> &'static str {
        match self {
            Self::DawidSkene(_) => "dawid-skene",
            Self::Hyper(_) => "hyper",
        }
    }
}

impl FittedAutoLabelModel {
    /// The name of the label model that was chosen.
    pub fn chosen(&self) -> &'static str {
        self.chosen.name()
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        match &self.chosen {
            Chosen::DawidSkene(fitted) => fitted.checked_shape(),
            Chosen::Hyper(fitted) => fitted.checked_shape(),
        }
    }
}

impl FittedLabelModel for FittedAutoLabelModel {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        match &self.chosen {
            Chosen::DawidSkene(fitted) => fitted.predict_proba(signals),
            Chosen::Hyper(fitted) => fitted.predict_proba(signals),
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

    #[test]
    fn independent_labelers_with_many_votes_get_confusion_matrices() {
        for (n_classes, seed) in [(2, 1), (4, 2)] {
            let planted = Planted::new(1500, n_classes, &[0.6, 0.65, 0.7, 0.75, 0.8, 0.85], 0.2, seed);
            let fitted = fit(&planted.signals);
            assert_eq!(fitted.chosen(), "dawid-skene", "{:?}", fitted.remark());
            let alone = DawidSkene::default().fit(&planted.signals).unwrap();
            assert_eq!(fitted.predict_proba(&planted.signals).unwrap(), alone.predict_proba(&planted.signals).unwrap());
        }
    }

    #[test]
    fn copies_few_votes_rules_and_known_classes_are_for_hyper() {
        let planted = Planted::new(1500, 2, &[0.6, 0.65, 0.7, 0.75, 0.8], 0.1, 3);
        let votes = Array2::from_shape_fn((1500, 5), |(row, signal)| {
            planted.signals.vote(row, signal).map_or(-1, |class| class as i64)
        });
        let first = votes.select(Axis(1), &[0, 0, 0]);
        let copied = concatenate(Axis(1), &[votes.view(), first.view()]).unwrap();
        let copied = WeakSignals::from_votes(Votes::from_indices(copied.view(), Some(2)).unwrap()).unwrap();
        let sparse = Planted::new(1500, 2, &[0.7; 6], 0.7, 4).signals;
        let rules = Planted::keywords(1500, &[0, 1, 0, 1], 0.5, 0.05, 5).signals;
        for (signals, why) in [(&copied, "independently"), (&sparse, "too few"), (&rules, "one class")] {
            let fitted = fit(signals);
            assert_eq!(fitted.chosen(), "hyper");
            assert!(fitted.remark().unwrap().contains(why), "{:?}", fitted.remark());
        }
        let known: Vec<Option<usize>> = planted.truth.labels().iter().map(|&class| Some(class)).collect();
        let known = KnownLabels::new(&planted.signals, &known).unwrap();
        let fitted = AutoLabelModel::default().fit_with(&planted.signals, &Some(known)).unwrap();
        assert_eq!(fitted.chosen(), "hyper");
    }
}
