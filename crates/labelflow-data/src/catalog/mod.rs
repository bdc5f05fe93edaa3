//! Real datasets by name, and weak-supervision problems made of labelled tables.

#[cfg(feature = "catalog")]
mod catalog_entry;
#[cfg(feature = "catalog")]
pub mod embedded;
#[cfg(feature = "catalog")]
mod fetch;
#[cfg(feature = "catalog")]
pub mod formats;
mod rule_problem;
#[cfg(feature = "catalog")]
mod sets;
mod simulated_problem;
mod split;
mod vote_problem;

#[cfg(feature = "catalog")]
pub use catalog_entry::{
    CatalogEntry, CatalogFile, CheckReport, Checksum, Counts, FileCheck, FileState, LoadOptions, SetKind, catalog,
    check, find, load, load_rules, load_votes,
};
#[cfg(feature = "catalog")]
pub use fetch::fetch;
pub use rule_problem::{RuleProblem, ValueTable, measure_rules, simulate_rules};
pub use simulated_problem::{BoundsFrom, EvaluatedRows, LabelledTable, WeakProblem, simulate};
pub use split::Split;
pub use vote_problem::VoteProblem;
