//! Label models that explain how often votes occur together.

mod explained_overlaps;
mod masked_factorization;
mod metal;
pub(crate) mod overlap_counts;
mod overlap_fit;
mod snorkel_label_model;
mod vote_rates;

pub use metal::{FittedMeTaL, MeTaL};
pub use snorkel_label_model::{FittedSnorkelLabelModel, Precision, SnorkelLabelModel};
