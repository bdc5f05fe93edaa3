//! Label models that know how often each labeler may err.

mod adversarial_multiclass;
mod constrained_labels;
mod performance_guaranteed_vote;

pub use adversarial_multiclass::{AdversarialMulticlass, FittedAdversarialMulticlass};
pub use constrained_labels::{ConstrainedLabels, FittedConstrainedLabels};
pub use performance_guaranteed_vote::{
    FittedPerformanceGuaranteedVote, GuaranteedSubset, PerformanceGuaranteedVote, VoteStatistics,
};
