//! Label models turn signals into soft labels without looking at features.
//!
//! | label model | idea | `fit` takes |
//! |---|---|---|
//! | [`MajorityVote`] | every labeler counts the same | signals |
//! | [`AverageSignals`] | the mean of the probabilities that labelers give | signals |
//! | [`DawidSkene`] | each labeler has a confusion matrix | signals |
//! | [`DataProgramming`] | each labeler is right with one probability of its own | signals |
//! | [`FlyingSquid`] | accuracies from triplets of labelers, in closed form | signals |
//! | [`MinimaxEntropy`] | labelers have confusion matrices, and so have rows | signals |
//! | [`MeTaL`] | accuracies from how often votes occur together; labelers may depend on each other | signals |
//! | [`SnorkelLabelModel`] | the same without dependencies, as Snorkel does it | signals |
//! | [`PerformanceGuaranteedVote`] | majority vote of those labelers whose worst case is best | signals, [`LabelerErrors`](crate::labelers::LabelerErrors) |
//! | [`AdversarialMulticlass`] | the mixture of labelers whose worst case is best | signals, [`LabelerErrors`](crate::labelers::LabelerErrors) |
//! | [`ConstrainedLabels`] | labels under which labelers err as often as their bounds say | signals, [`Bounds`](crate::labelers::Bounds) |
//!
//! Each learns from [`CountedVotes`](crate::votes::CountedVotes), distinct rows of votes with counts, which may come from several files
//! or machines. Those that must know how common each class is take a [`ClassBalance`].

mod any_label_model;
mod average_signals;
pub(crate) mod class_balance;
mod data_programming;
mod dawid_skene;
mod flying_squid;
mod known_errors;
pub(crate) mod label_model;
pub(crate) mod label_warnings;
mod majority_vote;
mod minimax_entropy;
mod one_coin;
pub(crate) mod overlaps;
#[cfg(test)]
pub(crate) mod planted;

pub use any_label_model::{AnyLabelModel, FittedLabelModel, KnownOfLabelers};
pub use average_signals::{AverageSignals, FittedAverageSignals};
pub use class_balance::ClassBalance;
pub use data_programming::{Coverage, DataProgramming, FittedDataProgramming};
pub use dawid_skene::{Abstentions, DawidSkene, FittedDawidSkene};
pub use flying_squid::{
    FittedFlyingSquid, FlyingSquid, NegativeProbabilities, OneVersusRest, Triplets,
};
pub use known_errors::{
    AdversarialMulticlass, ConstrainedLabels, FittedAdversarialMulticlass, FittedConstrainedLabels,
    FittedPerformanceGuaranteedVote, GuaranteedSubset, PerformanceGuaranteedVote, VoteStatistics,
};
pub use label_model::{LabelModel, Labeler};
pub use label_warnings::{LabelWarning, label_warnings};
pub use majority_vote::{FittedMajorityVote, MajorityVote, Share};
pub use minimax_entropy::{FittedMinimaxEntropy, MinimaxEntropy};
pub use overlaps::{FittedMeTaL, FittedSnorkelLabelModel, MeTaL, Precision, SnorkelLabelModel};
