//! How many rows rules speak of, from one pass over features that need not be in memory: all that tells whether rules can hold together.

use super::rule_contradictions::check_contradictions;
use super::rule_dataset::{check_claim, in_rule, range_from_rules};
use crate::rows::{Features, LabelRange};
use crate::rules::{Rule, RuleWarning};
use crate::{Error, Result};

/// Counts the rows of rules, part after part.
///
/// ```
/// use labelflow_weak::rows::{Features, LabelRange};
/// use labelflow_weak::rules::{Claim, Rule, RuleTally};
/// use ndarray::array;
///
/// let rules = Rule::on_both_sides("hour", 2.5, Claim::mean(30.0), Claim::mean(10.0)).to_vec();
/// let mut tally = RuleTally::new(rules)?;
/// for part in [array![[1.0], [2.0]], array![[3.0]]] {
///     tally.add(&Features::with_names(part, vec!["hour".to_owned()])?)?;
/// }
/// let rules = tally.finish(Some(LabelRange::new(0.0, 100.0)?))?;
/// assert_eq!(rules.rules[1].n_members, 2);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RuleTally {
    rules: Vec<Rule>,
    n_members: Vec<u64>,
    /// Rows that each rule shares with each earlier one.
    n_shared: Vec<Vec<u64>>,
    n_uncovered: u64,
}

/// A rule and how many rows it speaks of.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedRule {
    /// The rule.
    pub rule: Rule,
    /// Number of rows in its region, at least one.
    pub n_members: u64,
}

/// Rules that can hold together.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedRules {
    /// The range of the labels.
    pub range: LabelRange,
    /// The rules that speak of some row.
    pub rules: Vec<CountedRule>,
    /// What the user should know of the rules.
    pub warnings: Vec<RuleWarning>,
    /// Number of rows that no rule speaks of.
    pub n_uncovered: u64,
}

impl RuleTally {
    /// Of no rows. A claim whose ends are not finite or in the wrong order is an error, and so is a level of a quantile outside 0 to 1.
    pub fn new(rules: Vec<Rule>) -> Result<Self> {
        rules.iter().try_for_each(check_claim)?;
        let n_rules = rules.len();
        let n_shared = (0..n_rules).map(|earlier| vec![0; earlier]).collect();
        Ok(Self { rules, n_members: vec![0; n_rules], n_shared, n_uncovered: 0 })
    }

    /// Adds rows, and says of each rule which of them are in its region.
    pub fn add(&mut self, features: &Features) -> Result<Vec<Vec<bool>>> {
        let members = |rule: &Rule| rule.region.members(features).map_err(|error| in_rule(rule, error));
        let members: Vec<Vec<bool>> = self.rules.iter().map(members).collect::<Result<_>>()?;
        let bits: Vec<Vec<u64>> = members.iter().map(|members| packed(members)).collect();
        for (rule, of_rule) in bits.iter().enumerate() {
            self.n_members[rule] += n_shared(of_rule, of_rule);
            for (earlier, n_together) in self.n_shared[rule].iter_mut().enumerate() {
                *n_together += n_shared(&bits[earlier], of_rule);
            }
        }
        let is_covered = |row: usize| members.iter().any(|members| members[row]);
        self.n_uncovered += (0..features.n_rows()).filter(|&row| !is_covered(row)).count() as u64;
        Ok(members)
    }

    /// Whether each rule speaks of some row.
    pub fn are_used(&self) -> Vec<bool> {
        self.n_members.iter().map(|&n_members| n_members > 0).collect()
    }

    /// Checks that the rules can hold together; see [`RuleDataset::new`](super::RuleDataset::new).
    pub fn finish(self, range: Option<LabelRange>) -> Result<CheckedRules> {
        let used: Vec<usize> = (0..self.rules.len()).filter(|&rule| self.n_members[rule] > 0).collect();
        let n_shared = |earlier: usize, later: usize| self.n_shared[used[later]][used[earlier]];
        let mut warnings = Vec::new();
        let mut rules = Vec::with_capacity(used.len());
        for (rule, &n_members) in self.rules.into_iter().zip(&self.n_members) {
            match n_members {
                0 => warnings.push(RuleWarning::EmptyGroup { rule: rule.name }),
                n_members => rules.push(CountedRule { rule, n_members }),
            }
        }
        if rules.is_empty() {
            let found = match warnings.len() {
                0 => "no rule".to_owned(),
                n_rules => format!("none of {n_rules}"),
            };
            return Err(Error::data("rules", "at least one that speaks of some row", found));
        }
        let range = match range {
            Some(range) => {
                check_contradictions(&rules, n_shared, &range)?;
                range
            }
            None => {
                let range = range_from_rules(&rules, n_shared)?;
                let (lower, upper) = (range.lower(), range.upper());
                warnings.push(RuleWarning::RangeFromRules { lower, upper });
                range
            }
        };
        Ok(CheckedRules { range, rules, warnings, n_uncovered: self.n_uncovered })
    }
}

/// Membership as bits: counting shared rows is then one instruction for 64 of them.
fn packed(members: &[bool]) -> Vec<u64> {
    let word =
        |rows: &[bool]| rows.iter().enumerate().fold(0, |word, (bit, &member)| word | (u64::from(member) << bit));
    members.chunks(64).map(word).collect()
}

fn n_shared(one: &[u64], other: &[u64]) -> u64 {
    one.iter().zip(other).map(|(one, other)| u64::from((one & other).count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;
    use crate::rules::{Claim, Region, RuleDataset};

    #[test]
    fn parts_are_counted_as_the_whole() {
        let values = Array2::from_shape_fn((150, 1), |(row, _)| (row * 37 % 150) as f32);
        let features = |rows: Array2<f32>| Features::with_names(rows, vec!["x".to_owned()]).unwrap();
        let at_least = |threshold: f64| Region::AtLeast { feature: "x".to_owned(), threshold };
        let rules = vec![
            Rule::new(at_least(100.0), Claim::mean(5.0)),
            Rule::new(at_least(900.0), Claim::mean(6.0)),
            Rule::new(at_least(70.0), Claim::mean(4.0)),
        ];
        for range in [None, Some(LabelRange::new(0.0, 10.0).unwrap())] {
            let whole = RuleDataset::new(features(values.clone()), rules.clone(), range).unwrap();
            let mut tally = RuleTally::new(rules.clone()).unwrap();
            for start in (0..150).step_by(40) {
                let rows = values.slice(s![start..(start + 40).min(150), ..]);
                tally.add(&features(rows.to_owned())).unwrap();
            }
            assert_eq!(tally.are_used(), [true, false, true]);
            let found = tally.finish(range).unwrap();
            assert_eq!(found.range, whole.range());
            assert_eq!(found.warnings, whole.warnings());
            assert_eq!(found.n_uncovered, whole.n_uncovered() as u64);
            for (found, group) in found.rules.iter().zip(whole.groups()) {
                assert_eq!((&found.rule, found.n_members), (&group.rule, group.n_members as u64));
            }
        }
        let contradicting =
            vec![Rule::new(at_least(1.0), Claim::mean(1.0)), Rule::new(at_least(1.0), Claim::mean(9.0))];
        let mut tally = RuleTally::new(contradicting.clone()).unwrap();
        tally.add(&features(values.clone())).unwrap();
        let found = tally.finish(None).unwrap_err().to_string();
        let expected = RuleDataset::new(features(values), contradicting, None).unwrap_err();
        assert_eq!(found, expected.to_string());
    }
}
