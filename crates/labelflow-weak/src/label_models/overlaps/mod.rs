//! How often votes occur together, and what explains it: what MeTaL and Snorkel's label model share.

pub(crate) mod explained_overlaps;
pub(crate) mod masked_factorization;
pub(crate) mod overlap_counts;
pub(crate) mod overlap_fit;
pub(crate) mod vote_rates;
