//! Problems whose best answer is known.

#[cfg(feature = "parquet")]
mod planted_parts;
mod planted_problems;
mod planted_regression;
mod planted_vote_kinds;

pub use planted_problems::{
    PlantedGaussian, PlantedGaussianProblem, PlantedVotes, PlantedVotesProblem, planted_votes_for,
};
pub use planted_regression::{PlantedFunction, PlantedRegression, PlantedRegressionProblem};
pub use planted_vote_kinds::VoteKind;
