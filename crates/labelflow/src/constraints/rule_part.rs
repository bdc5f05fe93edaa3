//! A rule about all rows, and some of the rows.

use labelflow_weak::rules::{Claim, RuleDataset};

/// What a rule claims, and which of some rows it speaks of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RulePart<'a> {
    pub(crate) claim: Claim,
    /// Whether each of the rows is in its region.
    pub(crate) members: &'a [bool],
    /// How many of all rows are.
    pub(crate) n_members: u64,
}

impl<'a> RulePart<'a> {
    /// The rules of a dataset, with all of its rows.
    pub(crate) fn of_dataset(dataset: &'a RuleDataset) -> Vec<Self> {
        let groups = dataset.groups().iter();
        let part = groups.map(|group| Self {
            claim: group.rule.claim,
            members: &group.members,
            n_members: group.n_members as u64,
        });
        part.collect()
    }
}
