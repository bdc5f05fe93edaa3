//! Rules about the means of real-valued labels.

mod average_rules;
mod rule;
mod rule_contradictions;
mod rule_dataset;
mod rule_tally;

pub use average_rules::{AverageRules, FittedAverageRules};
pub use rule::{Claim, Region, Rule, Statistic};
pub use rule_dataset::{RuleDataset, RuleGroup, RuleWarning};
pub use rule_tally::{CheckedRules, CountedRule, RuleTally};
