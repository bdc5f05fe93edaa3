//! What looks wrong in data that can be trained on all the same: which column or labeler, what follows, and what to do.

mod feature_warnings;
mod labeler_warnings;
mod new_row_warnings;

use serde::Serialize;

pub use feature_warnings::{FeatureTally, FeatureWarning};
pub use labeler_warnings::{LabelerTally, LabelerWarning, RareClass};
pub use new_row_warnings::NewRowWarning;

use crate::rules::RuleWarning;

/// What looks wrong in the data of a fit. Shown, it is a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(untagged)]
#[non_exhaustive]
pub enum DataWarning {
    /// In features.
    #[error(transparent)]
    Features(FeatureWarning),
    /// In votes, or in bounds on the errors of labelers.
    #[error(transparent)]
    Labelers(LabelerWarning),
    /// In rules.
    #[error(transparent)]
    Rules(RuleWarning),
}

/// Whether so many of all columns or labelers that say nothing are odd: of many, fewer than a fifth are ordinary, as pixels that are never
/// lit and rules that match no row.
fn are_odd(n_silent: usize, n_all: usize) -> bool {
    const MANY: usize = 50;
    n_silent > 0 && (n_all < MANY || 5 * n_silent >= n_all)
}

/// Names one after the other; of many, some and the number of the others.
fn listed(names: &[String]) -> String {
    first_of(names.iter().map(|name| format!("'{name}'")))
}

fn first_of(texts: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 5;
    let n_more = texts.len().saturating_sub(SHOWN);
    let shown = texts.take(SHOWN).collect::<Vec<_>>().join(", ");
    if n_more == 0 { shown } else { format!("{shown} and {n_more} more") }
}
