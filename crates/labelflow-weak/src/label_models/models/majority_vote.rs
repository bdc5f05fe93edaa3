//! Majority vote: every labeler counts the same.
//!
//! ```text
//! p(c | row) = votes for c / votes              (Share::Votes)
//! p(c | row) = 1[c is a maximum] / |maxima|     (Share::Winners)
//! ```
//!
//! A row without votes is uniform.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::label_models::{FittedLabelModel, LabelModel, SignalShape};
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, WeakSignals, cast_votes};

/// What probability is shared out among.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// A class gets its share of the votes.
    #[default]
    Votes,
    /// The classes with the most votes share the whole.
    Winners,
}

/// Majority vote. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{LabelModel, FittedLabelModel, MajorityVote};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[1, 1, 0], [1, 0, -1]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let labels = MajorityVote::default().fit(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.values(), array![[1.0 / 3.0, 2.0 / 3.0], [0.5, 0.5]]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MajorityVote {
    /// What probability is shared out among. Default: the votes.
    pub share: Share,
}

/// A majority vote among a known number of labelers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedMajorityVote {
    shape: SignalShape,
    share: Share,
}

impl LabelModel for MajorityVote {
    type Fitted = FittedMajorityVote;
    type Known = ();

    const IGNORES_VOTES: bool = true;

    fn fit_counts_with(&self, counted: &CountedVotes, (): &()) -> Result<FittedMajorityVote> {
        Ok(FittedMajorityVote { shape: counted.shape(), share: self.share })
    }
}

impl FittedMajorityVote {
    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        Ok(self.shape)
    }
}

impl FittedLabelModel for FittedMajorityVote {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        self.shape.label_votes(signals, |votes, counts| {
            count_votes(votes, counts);
            if self.share == Share::Winners {
                keep_winners(counts);
            }
        })
    }
}

/// Adds the votes of one row to the counts of the classes.
pub(crate) fn count_votes(votes: &[u8], counts: &mut [f64]) {
    cast_votes(votes).for_each(|(_, class)| counts[class] += 1.0);
}

/// One for each class with the largest count, zero for the others.
fn keep_winners(counts: &mut [f64]) {
    let most = counts.iter().copied().fold(0.0, f64::max);
    counts.iter_mut().for_each(|count| *count = f64::from(u8::from(*count == most)));
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::votes::Votes;

    fn signals() -> WeakSignals {
        let votes = array![[0, 0, -1], [-1, 0, 1], [1, 1, 0], [-1, -1, -1]];
        WeakSignals::from_votes(Votes::from_indices(votes.view(), None).unwrap()).unwrap()
    }

    #[test]
    fn counts_are_normalised() {
        let labels = MajorityVote::default().fit(&signals()).unwrap();
        let third = 1.0 / 3.0;
        assert_eq!(
            labels.predict_proba(&signals()).unwrap().values(),
            array![[1.0, 0.0], [0.5, 0.5], [third, 2.0 * third], [0.5, 0.5]]
        );
    }

    #[test]
    fn one_vote_each_is_a_tie() {
        let votes = array![[0, 0, -1], [-1, 0, 1], [1, -1, 0]];
        let votes = Votes::from_indices(votes.view(), None).unwrap();
        let signals = WeakSignals::from_votes(votes).unwrap();
        for share in [Share::Votes, Share::Winners] {
            let labels = MajorityVote { share }.fit(&signals).unwrap().predict_proba(&signals);
            assert_eq!(labels.unwrap().values(), array![[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]);
        }
    }

    #[test]
    fn winners_share_the_whole() {
        let model = MajorityVote { share: Share::Winners };
        let labels = model.fit(&signals()).unwrap().predict_proba(&signals()).unwrap();
        assert_eq!(labels.values(), array![[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]);
    }

    #[test]
    fn other_labelers_are_an_error() {
        let fitted = MajorityVote::default().fit(&signals()).unwrap();
        let two = Votes::from_indices(array![[0, 1]].view(), None).unwrap();
        let error = fitted.predict_proba(&WeakSignals::from_votes(two).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "signals: expected 3 labelers and 2 classes, as in the fit, found 2 labelers and 2 classes"
        );
    }
}
