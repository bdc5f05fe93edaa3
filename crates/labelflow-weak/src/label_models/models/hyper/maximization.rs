//! The learned maximisation step: weights of votes and a class balance from sums over the rows.
//!
//! Each triple of a labeler, an answer and a class is described by numbers, a network makes hidden features of them, and a second one
//! sees these beside those of the same answer, the same class and the same labeler. All labelers and all classes are treated alike.

use rayon::prelude::*;

use super::network::{HIDDEN, N_CELL, N_OUT, N_SHARED, NETWORKS, STATE, silu};
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
    pub(super) fn maximize(&self, state: &mut [f64]) -> Evidence {
        let SignalShape { n_signals, n_classes } = self.shape;
        let n_cells = n_classes * n_classes;
        let labelers = || 0..n_signals;
        // Of each labeler the answers for their own classes, averaged by the votes.
        let own: Vec<Vec<f64>> = labelers()
            .into_par_iter()
            .map(|signal| {
                let state = &state[signal * n_cells * STATE..][..n_cells * STATE];
                (0..n_classes).flat_map(|class| self.hidden(signal, class, class, state)).collect()
            })
            .collect();
        let of_all = self.by_votes(&own);
        let mut weights = vec![0.0; n_signals * n_cells];
        let own: Vec<Vec<f64>> = weights
            .par_chunks_mut(n_cells)
            .zip(state.par_chunks_mut(n_cells * STATE))
            .enumerate()
            .map(|(signal, (weights, state))| self.labeler(signal, &of_all, weights, state))
            .collect();
        let log_balance = match self.given {
            Some(balance) => balance.iter().map(|p| p.ln()).collect(),
            None => self.log_balance(&self.by_votes(&own)),
        };
        Evidence { weights, log_balance }
    }

    /// The weights and the state of one labeler. Returns the last hidden features of its answers for their own classes.
    fn labeler(&self, signal: usize, of_all: &[f64], weights: &mut [f64], state: &mut [f64]) -> Vec<f64> {
        let n_classes = self.shape.n_classes;
        let hidden: Vec<f64> = (0..n_classes)
            .flat_map(|answer| (0..n_classes).map(move |class| (answer, class)))
            .flat_map(|(answer, class)| self.hidden(signal, answer, class, state))
            .collect();
        let of = |answer: usize, class: usize| &hidden[(answer * n_classes + class) * HIDDEN..][..HIDDEN];
        let mean = |of: &dyn Fn(usize) -> usize| -> Vec<f64> {
            let sum = (0..n_classes).fold(vec![0.0; HIDDEN], |mut sum, other| {
                sum.iter_mut().zip(&hidden[of(other) * HIDDEN..]).for_each(|(sum, value)| *sum += value);
                sum
            });
            sum.into_iter().map(|sum| sum / n_classes as f64).collect()
        };
        let [of_cell, of_answer, of_class, own_answer, own_class, of_everyone] = &NETWORKS.contexts[..] else {
            unreachable!("six contexts are read")
        };
        // What does not depend on the class, with the bias, and what does not depend on the answer.
        let by_answer: Vec<[f64; HIDDEN]> = (0..n_classes)
            .map(|answer| {
                let mut sums = [0.0; HIDDEN];
                sums.copy_from_slice(of_cell.bias());
                of_answer.add_to(&mean(&|class| answer * n_classes + class), &mut sums);
                own_answer.add_to(of(answer, answer), &mut sums);
                sums
            })
            .collect();
        let by_class: Vec<[f64; HIDDEN]> = (0..n_classes)
            .map(|class| {
                let mut sums = [0.0; HIDDEN];
                of_class.add_to(&mean(&|answer| answer * n_classes + class), &mut sums);
                own_class.add_to(of(class, class), &mut sums);
                of_everyone.add_to(&of_all[class * HIDDEN..][..HIDDEN], &mut sums);
                sums
            })
            .collect();
        let mut own = Vec::with_capacity(n_classes * HIDDEN);
        for (cell, (weight, state)) in weights.iter_mut().zip(state.chunks_exact_mut(STATE)).enumerate() {
            let (answer, class) = (cell / n_classes, cell % n_classes);
            let mut sums = by_answer[answer];
            sums.iter_mut().zip(&by_class[class]).for_each(|(sum, value)| *sum += value);
            of_cell.add_to(of(answer, class), &mut sums);
            silu(&mut sums);
            let (mut last, mut out) = ([0.0; HIDDEN], [0.0; N_OUT]);
            NETWORKS.context.activate(&sums, &mut last);
            NETWORKS.weight.apply(&last, &mut out);
            *weight = out[0] * self.lift(signal, answer, class, &self.expected.by_others)
                + out[1] * self.given_vote(signal, answer, class)
                + 2.0 * out[2];
            state.iter_mut().zip(&out[3..]).for_each(|(state, out)| *state = out.tanh());
            if answer == class {
                own.extend(last);
            }
        }
        own
    }

    /// Hidden features of a triple.
    fn hidden(&self, signal: usize, answer: usize, class: usize, state: &[f64]) -> [f64; HIDDEN] {
        let n_classes = self.shape.n_classes;
        let mut input = [0.0; N_CELL + N_SHARED + STATE];
        input[..N_CELL].copy_from_slice(&self.of_triple(signal, answer, class));
        input[N_CELL..][..N_SHARED].copy_from_slice(&self.shared);
        input[N_CELL + N_SHARED..].copy_from_slice(&state[(answer * n_classes + class) * STATE..][..STATE]);
        let [first, second] = &NETWORKS.cell;
        let (mut half, mut hidden) = ([0.0; HIDDEN], [0.0; HIDDEN]);
        first.activate(&input, &mut half);
        second.apply(&half, &mut hidden);
        hidden
    }

    /// What is known of a labeler's answer and a class.
    fn of_triple(&self, signal: usize, answer: usize, class: usize) -> [f64; N_CELL] {
        let ExpectedSums { by_others, by_all, .. } = self.expected;
        let of_answer = self.of_answer(signal, answer);
        let of_labeler = self.votes.of_labeler[signal];
        let of_class = self.of_class(signal, class);
        let n_known: f64 = self.classes_of(&self.votes.of_known, signal, answer).iter().sum();
        [
            f64::from(u8::from(answer == class)),
            self.lift(signal, answer, class, by_others),
            self.lift(signal, answer, class, by_all),
            self.given_vote(signal, answer, class),
            of_answer.ln_1p() / 5.0,
            self.classes_of(by_others, signal, answer)[class].ln_1p() / 5.0,
            of_class.ln_1p() / 5.0,
            self.prior[class].ln(),
            self.prior[answer].ln(),
            self.crowded(signal, answer),
            of_answer / of_labeler.max(1.0),
            of_labeler / self.votes.n_voted.max(1.0),
            self.agreement(signal) - self.chance(signal),
            n_known.ln_1p() / 3.0,
            lift(self.classes_of(&self.votes.of_known, signal, answer)[class], n_known, self.prior[class]),
        ]
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
    fn log_balance(&self, hidden: &[f64]) -> Vec<f64> {
        let n_classes = self.shape.n_classes;
        let share = 1.0 / n_classes as f64;
        let [first, second] = &NETWORKS.balance;
        let of_class = |class: usize| {
            let votes: f64 = (0..self.shape.n_signals).map(|signal| self.of_answer(signal, class)).sum();
            let vote_share = (votes + share) / (self.votes.n_votes() + 1.0);
            let row_share = (self.votes.row_shares[class] + share) / (self.votes.n_voted + 1.0);
            let mut input = vec![self.prior[class].ln(), vote_share.ln(), row_share.ln()];
            input.extend(self.shared);
            input.extend(&hidden[class * HIDDEN..][..HIDDEN]);
            let (mut half, mut out) = ([0.0; HIDDEN], [0.0; 2]);
            first.activate(&input, &mut half);
            second.apply(&half, &mut out);
            out[0] * self.prior[class].ln() + out[1]
        };
        (0..n_classes).map(of_class).collect()
    }

    /// The mean over labelers of something they have for each class, weighted by their votes.
    fn by_votes(&self, of_labelers: &[Vec<f64>]) -> Vec<f64> {
        let n_votes = self.votes.n_votes().max(1.0);
        let mut sums = vec![0.0; self.shape.n_classes * HIDDEN];
        for (values, of_labeler) in of_labelers.iter().zip(&self.votes.of_labeler) {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * of_labeler / n_votes);
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
    fn given_vote(&self, signal: usize, answer: usize, class: usize) -> f64 {
        let n_classes = self.shape.n_classes as f64;
        let rate = (self.of_answer(signal, answer) + 1.0 / n_classes) / (self.votes.of_labeler[signal] + 1.0);
        let expected = self.classes_of(&self.expected.by_others, signal, answer)[class];
        ((expected + rate) / (self.of_class(signal, class) + 1.0) / rate).ln()
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
