//! Ten kinds of votes whose classes are known, to compare label models on. Every seed is another problem of its kind.
//!
//! They are drawn by other means than the votes that the learned label model was trained on (`tools/hyper_model`).

use labelflow_weak::numerics::stream;
use labelflow_weak::rows::Truth;
use labelflow_weak::votes::{ABSTAIN, Votes, WeakSignals};
use ndarray::Array2;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use self::VoteKind::{
    Adversaries, BiasedCrowd, Copies, DenseCrowd, HardRows, ManyClassRules, OneClassRules, RareClass, SingleVotes,
    SparseCrowd,
};
use super::planted_problems::draw_class;
use crate::Result;
use crate::catalog::VoteProblem;

/// A kind of votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoteKind {
    /// Every worker answers everything, each as well as it can.
    DenseCrowd,
    /// Three to five answers for each row, by many workers, some much busier than others.
    SparseCrowd,
    /// Workers who lean to a class: right in one more often than in the other.
    BiasedCrowd,
    /// Rules that vote for one class or not at all, a vote or two for a row.
    OneClassRules,
    /// Rules for eight classes, uneven.
    ManyClassRules,
    /// A few labelers and several copies of some of them.
    Copies,
    /// Among good labelers some that answer at random, or the same always, or the wrong class on purpose.
    Adversaries,
    /// One row in ten is of class 1.
    RareClass,
    /// Hardly a row with two votes.
    SingleVotes,
    /// Rows that mislead all labelers alike.
    HardRows,
}

impl VoteKind {
    /// All kinds by their names.
    pub const ALL: [(&str, Self); 10] = [
        ("dense-crowd", Self::DenseCrowd),
        ("sparse-crowd", Self::SparseCrowd),
        ("biased-crowd", Self::BiasedCrowd),
        ("one-class-rules", Self::OneClassRules),
        ("many-class-rules", Self::ManyClassRules),
        ("copies", Self::Copies),
        ("adversaries", Self::Adversaries),
        ("rare-class", Self::RareClass),
        ("single-votes", Self::SingleVotes),
        ("hard-rows", Self::HardRows),
    ];

    /// A problem of this kind.
    ///
    /// ```
    /// use labelflow_data::synthetic::VoteKind;
    ///
    /// let problem = VoteKind::SparseCrowd.generate(3)?;
    /// assert_eq!(problem.signals.n_classes(), 4);
    /// # Ok::<(), labelflow_data::Error>(())
    /// ```
    pub fn generate(self, seed: u64) -> Result<VoteProblem> {
        Draw { kind: self, rng: stream(seed, self.name()) }.problem()
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _)| *own == name).map(|(_, kind)| *kind)
    }

    fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// How a labeler votes on rows of each class: whether it votes, and for what.
struct Voter {
    coverage: Vec<f64>,
    /// `[class, answer]`.
    answers: Vec<Vec<f64>>,
}

struct Draw {
    kind: VoteKind,
    rng: ChaCha8Rng,
}

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.rng.random::<f64>()
    }

    /// A whole number whose logarithm is spread evenly.
    fn size(&mut self, low: f64, high: f64) -> usize {
        self.between(low.ln(), high.ln()).exp().round() as usize
    }

    fn problem(mut self) -> Result<VoteProblem> {
        let n_classes = match self.kind {
            SparseCrowd => 4,
            ManyClassRules => 8,
            Copies | Adversaries | HardRows => 3,
            DenseCrowd | BiasedCrowd | OneClassRules | RareClass | SingleVotes => 2,
        };
        let n_rows = self.size(300.0, 3000.0);
        let balance = self.balance(n_classes);
        let labels: Vec<usize> = (0..n_rows).map(|_| draw_class(&balance, &mut self.rng)).collect();
        // What labelers take a row for.
        let misleading = if self.kind == HardRows { self.between(0.1, 0.3) } else { 0.0 };
        let seen: Vec<usize> = labels
            .iter()
            .map(|&class| match self.rng.random_bool(misleading) {
                true => (class + self.rng.random_range(1..n_classes)) % n_classes,
                false => class,
            })
            .collect();
        let voters = self.voters(&balance);
        let mut votes = Array2::from_shape_fn((n_rows, voters.len()), |(row, voter)| {
            let (voter, class) = (&voters[voter], seen[row]);
            match self.rng.random_bool(voter.coverage[class]) {
                true => draw_class(&voter.answers[class], &mut self.rng) as u8,
                false => ABSTAIN,
            }
        });
        if self.kind == Copies {
            self.copy_some(&mut votes);
        }
        let signals = WeakSignals::from_votes(Votes::from_bytes(votes, n_classes)?)?;
        VoteProblem::new(signals, Truth::new(labels, n_classes)?)
    }

    fn balance(&mut self, n_classes: usize) -> Vec<f64> {
        if self.kind == RareClass {
            return vec![0.9, 0.1];
        }
        let spread = if self.kind == ManyClassRules { 0.2 } else { 0.6 };
        let weights: Vec<f64> = (0..n_classes).map(|_| self.between(spread, 1.0)).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    fn voters(&mut self, balance: &[f64]) -> Vec<Voter> {
        let n_classes = balance.len();
        match self.kind {
            DenseCrowd => {
                let n_voters = self.size(5.0, 40.0);
                (0..n_voters).map(|_| self.worker(1.0, (0.5, 0.95), n_classes)).collect()
            }
            SparseCrowd => {
                let n_voters = self.size(30.0, 150.0);
                let busy: Vec<f64> = (0..n_voters).map(|_| self.between(0.0, 3.0).exp()).collect();
                let per_row = self.between(3.0, 5.0) / busy.iter().sum::<f64>();
                busy.into_iter().map(|busy| self.worker((per_row * busy).min(1.0), (0.45, 0.95), n_classes)).collect()
            }
            BiasedCrowd => {
                let n_voters = self.size(8.0, 40.0);
                let per_worker = |draw: &mut Self| {
                    let leaning = draw.between(-0.3, 0.3);
                    let skill = draw.between(0.62, 0.8);
                    let right = [skill + leaning, skill - leaning].map(|p| p.clamp(0.05, 0.98));
                    let answers = vec![vec![right[0], 1.0 - right[0]], vec![1.0 - right[1], right[1]]];
                    Voter { coverage: vec![draw.between(0.4, 1.0); 2], answers }
                };
                (0..n_voters).map(|_| per_worker(self)).collect()
            }
            OneClassRules | RareClass => {
                let n_voters = self.size(8.0, 60.0);
                (0..n_voters).map(|_| self.rule(balance, 2.0 / n_voters as f64, (0.6, 0.95))).collect()
            }
            ManyClassRules => {
                let n_voters = self.size(20.0, 80.0);
                (0..n_voters).map(|_| self.rule(balance, 2.0 / n_voters as f64, (0.4, 0.95))).collect()
            }
            Copies | HardRows => {
                let n_voters = self.size(5.0, 15.0);
                let coverage = self.between(0.3, 0.9);
                (0..n_voters).map(|_| self.worker(coverage, (0.5, 0.9), n_classes)).collect()
            }
            Adversaries => {
                let n_good = self.size(6.0, 15.0);
                let coverage = self.between(0.3, 0.9);
                let mut voters: Vec<Voter> =
                    (0..n_good).map(|_| self.worker(coverage, (0.55, 0.9), n_classes)).collect();
                let n_bad = self.rng.random_range(1..=n_good / 3);
                voters.extend((0..n_bad).map(|_| self.bad_worker(coverage, n_classes)));
                voters
            }
            SingleVotes => {
                let n_voters = self.size(5.0, 30.0);
                let coverage = 1.1 / n_voters as f64;
                (0..n_voters).map(|_| self.worker(coverage, (0.55, 0.95), n_classes)).collect()
            }
        }
    }

    /// Right with a probability drawn between these, wrong in any other way alike.
    fn worker(&mut self, coverage: f64, (low, high): (f64, f64), n_classes: usize) -> Voter {
        let right = self.between(low, high);
        let wrong = (1.0 - right) / (n_classes - 1) as f64;
        let answers = |class| (0..n_classes).map(|answer| if answer == class { right } else { wrong }).collect();
        Voter { coverage: vec![coverage; n_classes], answers: (0..n_classes).map(answers).collect() }
    }

    /// Answers at random, or the same always, or swaps the classes.
    fn bad_worker(&mut self, coverage: f64, n_classes: usize) -> Voter {
        let (kind, constant) = (self.rng.random_range(0..3), self.rng.random_range(0..n_classes));
        let answers = |class: usize| {
            let always = |wanted: usize| (0..n_classes).map(|answer| f64::from(u8::from(answer == wanted))).collect();
            match kind {
                0 => vec![1.0 / n_classes as f64; n_classes],
                1 => always(constant),
                _ => always((class + 1) % n_classes),
            }
        };
        Voter { coverage: vec![coverage; n_classes], answers: (0..n_classes).map(answers).collect() }
    }

    /// Votes for one class: on so many rows, of which a share drawn between these is of the class.
    fn rule(&mut self, balance: &[f64], coverage: f64, (low, high): (f64, f64)) -> Voter {
        let n_classes = balance.len();
        let own = draw_class(&vec![1.0 / n_classes as f64; n_classes], &mut self.rng);
        let coverage = coverage * self.between(-1.0, 1.0).exp();
        // No rule finds more than a third of a class.
        let precision = self.between(low, high).max(balance[own] + 0.05).min(0.98);
        let coverage = coverage.min(balance[own] / precision / 3.0);
        let wrong = coverage * (1.0 - precision) / (1.0 - balance[own]);
        let fires = |class| if class == own { coverage * precision / balance[own] } else { wrong };
        let answers = (0..n_classes).map(|answer| f64::from(u8::from(answer == own))).collect();
        Voter { coverage: (0..n_classes).map(fires).collect(), answers: vec![answers; n_classes] }
    }

    /// Adds copies of some labelers that differ in a few votes.
    fn copy_some(&mut self, votes: &mut Array2<u8>) {
        let n_sources = self.rng.random_range(1..=2);
        for _ in 0..n_sources {
            let source = votes.column(self.rng.random_range(0..votes.ncols())).to_owned();
            for _ in 0..self.rng.random_range(2..=6) {
                let faithful = self.between(0.85, 1.0);
                let copy = source.mapv(|vote| if self.rng.random_bool(faithful) { vote } else { ABSTAIN });
                votes.push_column(copy.view()).expect("as many rows as votes");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_repeatable_and_their_votes_say_something() {
        for (name, kind) in VoteKind::ALL {
            assert_eq!(kind.name(), name);
            let problem = kind.generate(1).unwrap();
            assert_eq!(problem.signals, kind.generate(1).unwrap().signals);
            assert_ne!(problem.truth, kind.generate(2).unwrap().truth);
            let (mut n_votes, mut n_right) = (0.0, 0.0);
            for row in 0..problem.signals.n_rows() {
                for vote in (0..problem.signals.n_signals()).filter_map(|signal| problem.signals.vote(row, signal)) {
                    n_votes += 1.0;
                    n_right += f64::from(u8::from(vote == problem.truth.labels()[row]));
                }
            }
            let chance = 1.0 / problem.signals.n_classes() as f64;
            assert!(n_right / n_votes > chance + 0.05, "{name}: {}", n_right / n_votes);
        }
    }
}
