//! A label model that learned on synthetic votes how to read votes, and so needs no assumption of its own.
//!
//! ```text
//! E step   p[i](c) ∝ exp(b(c) + Σ over labelers j that vote on row i of w[j](vote of j on i, c))
//! M step   w, b = network(sums over rows of the votes and of p)
//! label    p[i](c) ∝ exp(s[i] (b(c) + Σ w)),   s[i] = network(votes of row i): how sure such rows may be
//! ```
//!
//! These are the steps of [`DawidSkene`](crate::label_models::DawidSkene), with a network in place of the maximum of a likelihood. The
//! network was trained on problems with known classes (`tools/hyper_model`): rules for one class and labelers of all, sparse
//! crowds, copies, spammers, adversaries, rows that mislead everybody, 2 to 30 classes, even and uneven. It treats labelers alike and
//! classes alike, and reads sums over rows alone, so that any number of each will do, and counted votes are enough. Five rounds
//! are the whole fit. An abstention says nothing; a row without a vote gets the class balance.
//!
//! R. Wu, S. Chen, J. Zhang, X. Chu, *Learning hyper label model for programmatic weak supervision*, 2023, had the idea of a label
//! model that is trained on synthetic votes once.
//!
//! Deviation: theirs is a graph network over every vote, for one class against the rest, and gives row without a vote to class 1. Here the
//! classes are weighed jointly, and what is learned is a weight for each answer of each labeler, so that a fit can be read, and
//! labels new rows.

mod maximization;
mod network;
mod sums;

use serde::{Deserialize, Serialize};

use self::maximization::Step;
use self::network::{Dense, N_ROW, N_SHARED, NETWORKS, ROW_HIDDEN, STATE};
use self::sums::{Evidence, VoteSums};
use crate::Result;
use crate::label_models::{ClassBalance, FittedLabelModel, KnownLabels, LabelModel, SignalShape};
use crate::numerics::normalize_logs;
use crate::rows::SoftLabels;
use crate::votes::{CountedVotes, WeakSignals, cast_votes};

/// Rounds of both steps, as in training.
const N_ROUNDS: usize = 5;

/// A label model that was trained on synthetic votes. Probabilities are rounded to votes first.
///
/// ```
/// use labelflow_weak::label_models::{FittedLabelModel, HyperLabelModel};
/// use labelflow_weak::votes::{Votes, WeakSignals};
/// use ndarray::array;
///
/// let votes = Votes::from_indices(array![[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, -1], [0, -1, 0]].view(), None)?;
/// let signals = WeakSignals::from_votes(votes)?;
/// let labels = HyperLabelModel::default().fit_votes(&signals)?.predict_proba(&signals)?;
/// assert_eq!(labels.argmax(), [0, 1, 0, 1, 0]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HyperLabelModel {
    /// How common each class is. Default: estimated, which here means by the network itself.
    pub class_balance: ClassBalance,
}

impl HyperLabelModel {
    /// The fit to signals of which no row is known: [`fit_with`](LabelModel::fit_with) takes rows that are.
    pub fn fit_votes(&self, signals: &WeakSignals) -> Result<FittedHyperLabelModel> {
        self.fit_with(signals, &None)
    }
}

impl LabelModel for HyperLabelModel {
    type Fitted = FittedHyperLabelModel;
    type Known = Option<KnownLabels>;

    fn fit_counts_with(&self, counted: &CountedVotes, known: &Self::Known) -> Result<FittedHyperLabelModel> {
        counted.check_any_vote()?;
        let shape = counted.shape();
        self.class_balance.check(shape.n_classes)?;
        let given = self.class_balance.fixed(shape.n_classes);
        let known = known.as_ref();
        if let Some(known) = known {
            known.check(counted)?;
        }
        let votes = VoteSums::of(&counted.patterns, shape, known);
        let mut state = vec![0.0; shape.n_signals * shape.n_classes * shape.n_classes * STATE];
        let mut evidence = Evidence::first(shape);
        let mut shared = [0.0; N_SHARED];
        for round in 0..N_ROUNDS {
            let expected = evidence.expected(&counted.patterns, shape, known);
            let step = Step::new(shape, &votes, &expected, given.as_deref(), round);
            evidence = step.maximize(&mut state);
            shared = step.shared;
        }
        let [first, second] = NETWORKS.row_layers(&shared);
        Ok(FittedHyperLabelModel { shape, evidence, row_weights: first.numbers().chain(second.numbers()).collect() })
    }

    fn learns_accuracies(&self) -> bool {
        true
    }
}

/// A fitted learned label model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedHyperLabelModel {
    shape: SignalShape,
    evidence: Evidence,
    /// The layers that say how sure rows may be, so that another version of the program labels as this one does.
    row_weights: Vec<f64>,
}

impl FittedHyperLabelModel {
    /// How common each class is, `[n_classes]`.
    pub fn class_balance(&self) -> Vec<f64> {
        let mut balance = self.evidence.log_balance.clone();
        normalize_logs(&mut balance);
        balance
    }

    /// What a labeler's answer counts for a class, before it is decided how sure a row may be.
    pub fn weight(&self, labeler: usize, answer: usize, class: usize) -> f64 {
        let n_classes = self.shape.n_classes;
        self.evidence.weights[(labeler * n_classes + answer) * n_classes + class]
    }

    pub(crate) fn checked_shape(&self) -> Result<SignalShape> {
        let SignalShape { n_signals, n_classes } = self.shape;
        let check = |list, found, dimensions: &[usize]| self.shape.check_list(list, found, dimensions);
        check("weights", self.evidence.weights.len(), &[n_signals, n_classes, n_classes])?;
        check("log_balance", self.evidence.log_balance.len(), &[n_classes])?;
        check("row_weights", self.row_weights.len(), &[(N_ROW + 1) * ROW_HIDDEN + ROW_HIDDEN + 1])
    }

    /// How sure a row may be: what its logits are multiplied with.
    fn scale(&self, votes: &[u8], logits: &[f64], [first, second]: &[Dense; 2]) -> f64 {
        let mut counts = vec![0.0; logits.len()];
        cast_votes(votes).for_each(|(_, class)| counts[class] += 1.0);
        let n_votes: f64 = counts.iter().sum();
        let most = counts.into_iter().fold(0.0, f64::max);
        let mut p = logits.to_vec();
        let log_sum = normalize_logs(&mut p);
        let entropy: f64 = p.iter().zip(logits).map(|(p, logit)| p * (logit - log_sum)).sum();
        let (highest, next) = logits.iter().fold((f64::NEG_INFINITY, f64::NEG_INFINITY), |(highest, next), &logit| {
            (highest.max(logit), next.max(logit.min(highest)))
        });
        let facts = [n_votes.ln_1p(), highest - next, most / n_votes, entropy, n_votes / self.shape.n_signals as f64];
        let (mut half, mut out) = ([0.0; ROW_HIDDEN], [0.0]);
        first.activate(&facts, &mut half);
        second.apply(&half, &mut out);
        (0.5 * out[0].clamp(-4.0, 4.0)).exp()
    }
}

impl FittedLabelModel for FittedHyperLabelModel {
    fn predict_proba(&self, signals: &WeakSignals) -> Result<SoftLabels> {
        let row_layers = Dense::of_row(&self.row_weights);
        self.shape.label_votes(signals, |votes, p| {
            self.evidence.logits(votes, p);
            if cast_votes(votes).next().is_some() {
                let scale = self.scale(votes, p, &row_layers);
                p.iter_mut().for_each(|logit| *logit *= scale);
            }
            normalize_logs(p);
        })
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::Array2;
    use serde_json::Value;

    use super::*;
    use crate::votes::Votes;

    fn signals(votes: &Array2<i64>, n_classes: usize) -> WeakSignals {
        WeakSignals::from_votes(Votes::from_indices(votes.view(), Some(n_classes)).unwrap()).unwrap()
    }

    /// `tools/hyper_model/train.py` writes votes and the probabilities that its network gives them.
    #[test]
    fn labels_are_those_of_the_trained_network() {
        let cases: Vec<Value> = serde_json::from_str(include_str!("../../../../tests/golden/hyper.json")).unwrap();
        for case in cases {
            let table = |name: &str| -> Vec<Vec<f64>> { serde_json::from_value(case[name].clone()).unwrap() };
            let n_classes = case["n_classes"].as_u64().unwrap() as usize;
            let votes = table("votes");
            let shape = (votes.len(), votes[0].len());
            let votes = Array2::from_shape_fn(shape, |(row, labeler)| votes[row][labeler] as i64);
            let signals = signals(&votes, n_classes);
            let balance: Option<Vec<f64>> = serde_json::from_value(case["balance"].clone()).unwrap();
            let model = HyperLabelModel { class_balance: balance.map_or(ClassBalance::Estimated, ClassBalance::Given) };
            let known: Vec<i64> = serde_json::from_value(case["known"].clone()).unwrap();
            let known: Vec<Option<usize>> = known.into_iter().map(|class| usize::try_from(class).ok()).collect();
            let fitted = model.fit_with(&signals, &Some(KnownLabels::new(&signals, &known).unwrap())).unwrap();
            let (expected, found) = (table("p"), fitted.predict_proba(&signals).unwrap());
            for (found, expected) in found.values().rows().into_iter().zip(&expected) {
                assert_abs_diff_eq!(&found.to_vec()[..], &expected[..], epsilon = 1e-6);
            }
        }
    }
}
