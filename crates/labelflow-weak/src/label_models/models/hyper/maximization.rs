//! The learned maximisation step: weights of votes and a class balance from sums over the rows.
//!
//! Each triple of a labeler, an answer and a class is described by numbers, a network makes hidden features of them, and a second one
//! sees these beside those of the same answer, the same class and the same labeler. All labelers and all classes are treated alike.

use std::ops::Range;

use ndarray::{Array2, ArrayView3, Axis};
use rayon::prelude::*;

use super::network::{HIDDEN, N_CELL, N_SHARED, NETWORKS, STATE, silu};
use super::sums::{Evidence, ExpectedSums, VoteSums};
use crate::label_models::SignalShape;

/// What one step knows: sums over the rows, and what follows from them for all labelers.
pub(super) struct Step<'a> {
    pub(super) shape: SignalShape,
    pub(super) votes: &'a VoteSums,
    pub(super) expected: &'a ExpectedSums,
    /// The class balance where it is known.
    pub(super) given: Option<&'a [f64]>,
    /// How common the classes are as expected, with one row that is shared by all.
    prior: Vec<f64>,
    /// How many votes for an answer are expected on rows of a class, of all labelers, `[n_classes, n_classes]`.
    of_all_labelers: Vec<f64>,
    /// What is known of all votes together.
    pub(super) shared: [f64; N_SHARED],
}

/// Labelers with about so many triples are computed together.
const TRIPLES: usize = 4096;

/// What is known of a labeler, beside its answers.
struct LabelerFacts {
    /// How many of its votes are expected on rows of each class.
    of_class: Vec<f64>,
    /// By answer: votes for the same class on its rows, against what independent labelers would give.
    crowded: Vec<f64>,
    /// By answer: how many of its rows are known.
    n_known: Vec<f64>,
    /// How much more often it is right than by chance.
    above_chance: f64,
}

/// What a step gives labelers.
struct Moved {
    weights: Vec<f64>,
    state: Vec<f64>,
    /// The last hidden features of their answers for their own classes, `[labelers × n_classes, HIDDEN]`.
    own: Array2<f64>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        shape: SignalShape,
        votes: &'a VoteSums,
        expected: &'a ExpectedSums,
        given: Option<&'a [f64]>,
        round: usize,
    ) -> Self {
        let share = 1.0 / shape.n_classes as f64;
        let prior: Vec<f64> = expected.totals.iter().map(|total| (total + share) / (votes.n_voted + 1.0)).collect();
        let mut of_all_labelers = vec![0.0; shape.n_classes * shape.n_classes];
        for of_labeler in expected.by_all.chunks_exact(of_all_labelers.len()) {
            of_all_labelers.iter_mut().zip(of_labeler).for_each(|(sum, value)| *sum += value);
        }
        let mut step = Self { shape, votes, expected, given, prior, of_all_labelers, shared: [0.0; N_SHARED] };
        step.shared = step.of_all_votes(round);
        step
    }

    /// The new evidence. `state` is what each triple remembers, `[n_signals, n_classes, n_classes, STATE]`.
    pub(super) fn maximize(&self, state: &mut Vec<f64>) -> Evidence {
        let SignalShape { n_signals, n_classes } = self.shape;
        let n_together = (TRIPLES / (n_classes * n_classes)).max(1);
        let parts: Vec<Range<usize>> =
            (0..n_signals).step_by(n_together).map(|first| first..(first + n_together).min(n_signals)).collect();
        // Of each labeler the answers for their own classes, averaged by the votes.
        let own = parts.par_iter().map(|labelers| {
            let own = labelers.clone().flat_map(|signal| (0..n_classes).map(move |class| [signal, class, class]));
            self.hidden(labelers, own, state)
        });
        let of_all = self.by_votes(&own.collect::<Vec<_>>());
        let moved: Vec<Moved> = parts.par_iter().map(|labelers| self.labelers(labelers, &of_all, state)).collect();
        let log_balance = match self.given {
            Some(balance) => balance.iter().map(|p| p.ln()).collect(),
            None => {
                let own: Vec<Array2<f64>> = moved.iter().map(|moved| moved.own.clone()).collect();
                self.log_balance(&self.by_votes(&own))
            }
        };
        *state = moved.iter().flat_map(|moved| &moved.state).copied().collect();
        let weights = moved.into_iter().flat_map(|moved| moved.weights).collect();
        Evidence { weights, log_balance }
    }

    /// The weights and the state of some labelers.
    fn labelers(&self, labelers: &Range<usize>, of_all: &Array2<f64>, state: &[f64]) -> Moved {
        let n_classes = self.shape.n_classes;
        let n_pairs = labelers.len() * n_classes;
        let [of_cell, of_answer, of_class, own_answer, own_class, of_everyone] = &NETWORKS.contexts[..] else {
            unreachable!("six contexts are read")
        };
        let triples = || {
            let pairs = labelers.clone().flat_map(|signal| (0..n_classes).map(move |answer| [signal, answer]));
            pairs.flat_map(|[signal, answer]| (0..n_classes).map(move |class| [signal, answer, class]))
        };
        let hidden = self.hidden(labelers, triples(), state);
        let table = hidden.to_shape((labelers.len(), n_classes, n_classes, HIDDEN)).expect("a row of each triple");
        let pairs =
            |table: ArrayView3<'_, f64>| table.to_shape((n_pairs, HIDDEN)).expect("a row of each pair").into_owned();
        let mean = |axis: usize| table.sum_axis(Axis(axis)) / n_classes as f64;
        let of_own = |row: usize| (row * n_classes + row % n_classes, row);
        let mut own = Array2::zeros((n_pairs, HIDDEN));
        (0..n_pairs).map(of_own).for_each(|(triple, row)| own.row_mut(row).assign(&hidden.row(triple)));
        // What does not depend on the class, with the bias, and what does not depend on the answer.
        let by_answer = of_answer.product(&pairs(mean(2).view())) + own_answer.of_rows(&own);
        let by_class = of_class.product(&pairs(mean(1).view())) + own_class.product(&own);
        let of_everyone = of_everyone.product(of_all);
        let mut sums = of_cell.product(&hidden);
        for ((mut sums, [signal, answer, class]), row) in sums.rows_mut().into_iter().zip(triples()).zip(0..) {
            let first = (signal - labelers.start) * n_classes;
            debug_assert_eq!(row, (first + answer) * n_classes + class);
            sums += &by_answer.row(first + answer);
            sums += &by_class.row(first + class);
            sums += &of_everyone.row(class);
        }
        silu(sums.as_slice_mut().expect("rows lie side by side"));
        let last = NETWORKS.context.activate_rows(&sums);
        let out = NETWORKS.weight.of_rows(&last);
        let mut moved = Moved {
            weights: Vec::with_capacity(out.nrows()),
            state: Vec::with_capacity(out.nrows() * STATE),
            own: Array2::zeros((n_pairs, HIDDEN)),
        };
        (0..n_pairs).map(of_own).for_each(|(triple, row)| moved.own.row_mut(row).assign(&last.row(triple)));
        let facts: Vec<LabelerFacts> = labelers.clone().map(|signal| self.facts(signal)).collect();
        for (out, [signal, answer, class]) in out.rows().into_iter().zip(triples()) {
            let weight = out[0] * self.lift(signal, answer, class, &self.expected.by_others)
                + out[1] * self.given_vote(&facts[signal - labelers.start], [signal, answer, class])
                + 2.0 * out[2];
            moved.weights.push(weight);
            moved.state.extend(out.iter().skip(3).map(|out| out.tanh()));
        }
        moved
    }

    /// Hidden features of triples of these labelers, a row each.
    fn hidden(&self, labelers: &Range<usize>, triples: impl Iterator<Item = [usize; 3]>, state: &[f64]) -> Array2<f64> {
        let n_classes = self.shape.n_classes;
        let facts: Vec<LabelerFacts> = labelers.clone().map(|signal| self.facts(signal)).collect();
        let mut input = Vec::new();
        for triple in triples {
            let [signal, answer, class] = triple;
            input.extend(self.of_triple(&facts[signal - labelers.start], triple));
            input.extend(self.shared);
            input.extend(&state[((signal * n_classes + answer) * n_classes + class) * STATE..][..STATE]);
        }
        let n_inputs = N_CELL + N_SHARED + STATE;
        let input = Array2::from_shape_vec((input.len() / n_inputs, n_inputs), input).expect("whole rows");
        let [first, second] = &NETWORKS.cell;
        second.of_rows(&first.activate_rows(&input))
    }

    /// What is known of a labeler's answer and a class.
    fn of_triple(&self, facts: &LabelerFacts, [signal, answer, class]: [usize; 3]) -> [f64; N_CELL] {
        let ExpectedSums { by_others, by_all, .. } = self.expected;
        let of_answer = self.of_answer(signal, answer);
        let of_labeler = self.votes.of_labeler[signal];
        let n_known = facts.n_known[answer];
        [
            f64::from(u8::from(answer == class)),
            self.lift(signal, answer, class, by_others),
            self.lift(signal, answer, class, by_all),
            self.given_vote(facts, [signal, answer, class]),
            of_answer.ln_1p() / 5.0,
            self.classes_of(by_others, signal, answer)[class].ln_1p() / 5.0,
            facts.of_class[class].ln_1p() / 5.0,
            self.prior[class].ln(),
            self.prior[answer].ln(),
            facts.crowded[answer],
            of_answer / of_labeler.max(1.0),
            of_labeler / self.votes.n_voted.max(1.0),
            facts.above_chance,
            n_known.ln_1p() / 3.0,
            lift(self.classes_of(&self.votes.of_known, signal, answer)[class], n_known, self.prior[class]),
        ]
    }

    /// What is known of a labeler.
    fn facts(&self, signal: usize) -> LabelerFacts {
        let classes = || 0..self.shape.n_classes;
        let known_of = |answer: usize| self.classes_of(&self.votes.of_known, signal, answer).iter().sum();
        LabelerFacts {
            of_class: classes().map(|class| self.of_class(signal, class)).collect(),
            crowded: classes().map(|answer| self.crowded(signal, answer)).collect(),
            n_known: classes().map(known_of).collect(),
            above_chance: self.agreement(signal) - self.chance(signal),
        }
    }

    /// What is known of all votes together.
    fn of_all_votes(&self, round: usize) -> [f64; N_SHARED] {
        let SignalShape { n_signals, n_classes } = self.shape;
        let votes = self.votes;
        let n_votes = votes.n_votes();
        let by_votes = |of: &dyn Fn(usize) -> f64| -> f64 {
            (0..n_signals).map(|signal| of(signal) * votes.of_labeler[signal] / n_votes.max(1.0)).sum()
        };
        let one_sided = |signal: usize| {
            let most = (0..n_classes).map(|answer| self.of_answer(signal, answer)).fold(0.0, f64::max);
            most / votes.of_labeler[signal].max(1.0)
        };
        let log_classes = (n_classes as f64).ln();
        [
            votes.n_voted.ln_1p() / 5.0,
            (n_signals as f64).ln() / 3.0,
            log_classes,
            ((n_votes + 1.0) / (votes.n_voted + 1.0)).ln(),
            by_votes(&|signal| self.agreement(signal)),
            by_votes(&|signal| self.chance(signal)),
            (0..n_signals).map(one_sided).sum::<f64>() / n_signals as f64,
            -self.prior.iter().map(|p| p * p.ln()).sum::<f64>() - log_classes,
            (round as f64 - 2.0) / 2.0,
        ]
    }

    /// How common the classes are, as a logarithm up to a constant, from hidden features `[n_classes, HIDDEN]`.
    fn log_balance(&self, hidden: &Array2<f64>) -> Vec<f64> {
        let n_classes = self.shape.n_classes;
        let share = 1.0 / n_classes as f64;
        let [first, second] = &NETWORKS.balance;
        let of_class = |class: usize| {
            let votes: f64 = (0..self.shape.n_signals).map(|signal| self.of_answer(signal, class)).sum();
            let vote_share = (votes + share) / (self.votes.n_votes() + 1.0);
            let row_share = (self.votes.row_shares[class] + share) / (self.votes.n_voted + 1.0);
            let mut input = vec![self.prior[class].ln(), vote_share.ln(), row_share.ln()];
            input.extend(self.shared);
            input.extend(hidden.row(class));
            let (mut half, mut out) = ([0.0; HIDDEN], [0.0; 2]);
            first.activate(&input, &mut half);
            second.apply(&half, &mut out);
            out[0] * self.prior[class].ln() + out[1]
        };
        (0..n_classes).map(of_class).collect()
    }

    /// The mean over labelers, weighted by their votes, of what they have for each class, `[labelers × n_classes, HIDDEN]` in parts.
    fn by_votes(&self, parts: &[Array2<f64>]) -> Array2<f64> {
        let (n_classes, n_votes) = (self.shape.n_classes, self.votes.n_votes().max(1.0));
        let mut sums = Array2::zeros((n_classes, HIDDEN));
        for (row, values) in parts.iter().flat_map(|part| part.rows()).enumerate() {
            sums.row_mut(row % n_classes).scaled_add(self.votes.of_labeler[row / n_classes] / n_votes, &values);
        }
        sums
    }

    fn of_answer(&self, signal: usize, answer: usize) -> f64 {
        self.votes.of_answer[signal * self.shape.n_classes + answer]
    }

    /// Of the sums by labeler, answer and class, those of an answer.
    fn classes_of<'s>(&self, sums: &'s [f64], signal: usize, answer: usize) -> &'s [f64] {
        let n_classes = self.shape.n_classes;
        &sums[(signal * n_classes + answer) * n_classes..][..n_classes]
    }

    /// How many votes of a labeler are expected on rows of a class.
    fn of_class(&self, signal: usize, class: usize) -> f64 {
        (0..self.shape.n_classes).map(|answer| self.classes_of(&self.expected.by_others, signal, answer)[class]).sum()
    }

    /// log p(class | answer) / p(class).
    fn lift(&self, signal: usize, answer: usize, class: usize, sums: &[f64]) -> f64 {
        lift(self.classes_of(sums, signal, answer)[class], self.of_answer(signal, answer), self.prior[class])
    }

    /// log p(answer | class, it votes) / p(answer | it votes).
    fn given_vote(&self, facts: &LabelerFacts, [signal, answer, class]: [usize; 3]) -> f64 {
        let n_classes = self.shape.n_classes as f64;
        let rate = (self.of_answer(signal, answer) + 1.0 / n_classes) / (self.votes.of_labeler[signal] + 1.0);
        let expected = self.classes_of(&self.expected.by_others, signal, answer)[class];
        ((expected + rate) / (facts.of_class[class] + 1.0) / rate).ln()
    }

    /// Votes for the same class on the rows of an answer, against what independent labelers would give.
    fn crowded(&self, signal: usize, answer: usize) -> f64 {
        let n_classes = self.shape.n_classes;
        let of_answer = self.of_answer(signal, answer);
        let precisions = self.classes_of(&self.expected.by_others, signal, answer);
        let own = self.classes_of(&self.expected.by_all, signal, answer);
        let expected: f64 = (0..n_classes)
            .map(|class| {
                let others = (self.of_all_labelers[answer * n_classes + class] - own[class]).max(0.0);
                others / self.expected.totals[class].max(1e-3) * precisions[class] / of_answer.max(1e-6)
            })
            .sum();
        let together = self.votes.together[signal * n_classes + answer];
        ((together + 1.0) / (expected * of_answer + 1.0)).ln()
    }

    /// How often a labeler's votes are right by the other votes of their rows.
    fn agreement(&self, signal: usize) -> f64 {
        let right: f64 = (0..self.shape.n_classes)
            .map(|answer| self.classes_of(&self.expected.by_others, signal, answer)[answer])
            .sum();
        (right + 1.0) / (self.votes.of_labeler[signal] + 2.0)
    }

    /// How often a labeler's votes would be right by chance.
    fn chance(&self, signal: usize) -> f64 {
        let right: f64 = self.prior.iter().enumerate().map(|(answer, p)| p * self.of_answer(signal, answer)).sum();
        right / self.votes.of_labeler[signal].max(1.0)
    }
}

/// log p(class | answer) / p(class), with one more row that is as likely as the prior.
fn lift(expected: f64, count: f64, prior: f64) -> f64 {
    ((expected + prior) / (count + 1.0) / prior).ln()
}
