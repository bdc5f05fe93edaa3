//! How often votes occur together, and what explains it: what MeTaL and Snorkel's label model share.

pub(crate) mod explained_overlaps;
pub(crate) mod masked_factorization;
pub(crate) mod overlap_counts;
pub(crate) mod overlap_fit;
pub(crate) mod vote_rates;

pub(crate) use explained_overlaps::explained_overlaps;
pub(crate) use masked_factorization::Descent;
pub(crate) use overlap_counts::Overlaps;
pub(crate) use overlap_fit::{OverlapFit, check_descent, diverged, drawn_scale};
pub(crate) use vote_rates::VoteRates;
