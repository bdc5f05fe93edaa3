//! All that training from rules may see.

use serde::Serialize;

use super::rule_contradictions::check_contradictions;
use crate::rows::{Features, LabelRange};
use crate::rules::{CheckedRules, Claim, CountedRule, Rule, RuleTally, Statistic};
use crate::{Error, Result, ensure};

/// A range taken from the rules is wider than their claims by so many times their width, on both sides: the first of these
/// with which the rules can hold together.
const MARGINS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// Features, rules about their labels, and the range of the labels. It holds no true label, so training cannot cheat.
///
/// ```
/// use labelflow_weak::rows::{Features, LabelRange};
/// use labelflow_weak::rules::{Claim, Rule, RuleDataset};
/// use ndarray::array;
///
/// let features = Features::with_names(array![[1.0], [2.0], [3.0]], vec!["hour".to_owned()])?;
/// let rules = Rule::on_both_sides("hour", 2.5, Claim::mean(30.0), Claim::mean(10.0)).to_vec();
/// let dataset = RuleDataset::new(features, rules, Some(LabelRange::new(0.0, 100.0)?))?;
/// assert_eq!(dataset.groups()[1].members, [true, true, false]);
/// assert!(dataset.warnings().is_empty());
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RuleDataset {
    features: Features,
    range: LabelRange,
    groups: Vec<RuleGroup>,
    warnings: Vec<RuleWarning>,
}

/// A rule and the rows it speaks of.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleGroup {
    /// The rule.
    pub rule: Rule,
    /// Whether each row of the dataset is in the rule's region.
    pub members: Vec<bool>,
    /// Number of rows in the region, at least one.
    pub n_members: usize,
}

/// Something about rules that the user should know. Shown, it is a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RuleWarning {
    /// A rule speaks of no row, and was skipped.
    #[error("the rule '{rule}' speaks of no row and is skipped")]
    EmptyGroup {
        /// Its name.
        rule: String,
    },
    /// No range of the labels was given, and it was taken from the rules.
    #[error(
        "no range of the labels is given; from the rules, they are taken to lie between {lower} and {upper}: \
         give the range if you know it"
    )]
    RangeFromRules {
        /// The lowest label.
        lower: f64,
        /// The highest label.
        upper: f64,
    },
}

impl RuleDataset {
    /// Finds the rows of each rule and checks that the rules can hold together.
    ///
    /// Without a `range`, the labels are taken to lie between the lowest and the highest end of all claims, widened on both
    /// sides by as much again, since single labels are farther apart than means of groups; and by twice, four times, up to
    /// 32 times as much if otherwise two rules could not both hold. The range is then a [warning](Self::warnings), since
    /// the user should look at it. A rule about no row is skipped, with a warning too.
    ///
    /// Errors are: no rule about any row; an unknown feature; a claim whose ends are not finite or in the wrong order, or
    /// that lies outside the range; a level of a quantile outside 0 to 1; two rules that no labels in the range can both
    /// satisfy.
    pub fn new(features: Features, rules: Vec<Rule>, range: Option<LabelRange>) -> Result<Self> {
        let mut tally = RuleTally::new(rules)?;
        let members = tally.add(&features)?.into_iter().zip(tally.are_used());
        let members = members.filter(|(_, is_used)| *is_used).map(|(members, _)| members);
        let members: Vec<Vec<bool>> = members.collect();
        let CheckedRules { range, rules, warnings, .. } = tally.finish(range)?;
        let group = |(rule, members): (CountedRule, Vec<bool>)| {
            let n_members = rule.n_members as usize;
            RuleGroup { rule: rule.rule, members, n_members }
        };
        let groups = rules.into_iter().zip(members).map(group).collect();
        Ok(Self { features, range, groups, warnings })
    }

    /// The input table.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.features.n_rows()
    }

    /// The range of the labels.
    pub fn range(&self) -> LabelRange {
        self.range
    }

    /// The rules that speak of some row, each with its rows.
    pub fn groups(&self) -> &[RuleGroup] {
        &self.groups
    }

    /// What the user should know of the rules.
    pub fn warnings(&self) -> &[RuleWarning] {
        &self.warnings
    }

    /// Number of rows that no rule speaks of.
    pub fn n_uncovered(&self) -> usize {
        let is_covered = |row: usize| self.groups.iter().any(|group| group.members[row]);
        (0..self.n_rows()).filter(|&row| !is_covered(row)).count()
    }
}

pub(crate) fn check_claim(rule: &Rule) -> Result<()> {
    let Claim { statistic, lower, upper } = rule.claim;
    if !(lower.is_finite() && upper.is_finite() && lower <= upper) {
        let place = format!("rule '{}'", rule.name);
        let expected = "a finite number, or a lower and an upper one";
        return Err(Error::data(place, expected, format!("{lower} to {upper}")));
    }
    let Statistic::Quantile(level) = statistic else { return Ok(()) };
    ensure(level > 0.0 && level < 1.0, || {
        let place = format!("rule '{}', level of the quantile", rule.name);
        Error::data(place, "a number between 0 and 1", level)
            .with_hint("0.5 is the median, 0.9 the value that one label in ten exceeds")
    })
}

/// Puts the rule's name before the place of an error.
pub(crate) fn in_rule(rule: &Rule, mut error: Error) -> Error {
    if let Error::Data { place, .. } = &mut error {
        *place = format!("rule '{}', {place}", rule.name);
    }
    error
}

/// The narrowest range with one of the margins in which no two rules contradict each other.
pub(crate) fn range_from_rules(groups: &[CountedRule], n_shared: impl Fn(usize, usize) -> u64) -> Result<LabelRange> {
    let claims = groups.iter().map(|group| &group.rule.claim);
    let lowest = claims.clone().map(|claim| claim.lower).fold(f64::INFINITY, f64::min);
    let highest = claims.map(|claim| claim.upper).fold(f64::NEG_INFINITY, f64::max);
    if lowest == highest {
        return Err(Error::data("rules", "claims that differ, or the range of the labels", lowest)
            .with_hint("give the lowest and the highest value that a label can have"));
    }
    let mut contradiction = None;
    for margin in MARGINS.map(|margin| margin * (highest - lowest)) {
        let range = LabelRange::new(lowest - margin, highest + margin)?;
        match check_contradictions(groups, &n_shared, &range) {
            Ok(()) => return Ok(range),
            Err(error) => contradiction = Some(error),
        }
    }
    Err(contradiction.expect("there is a margin to try"))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::rules::Region;

    fn features() -> Features {
        Features::with_names(array![[1.0], [2.0], [3.0]], vec!["hour".to_owned()]).unwrap()
    }

    fn at_least(threshold: f64, claim: Claim) -> Rule {
        Rule::new(Region::AtLeast { feature: "hour".to_owned(), threshold }, claim)
    }

    fn dataset(rules: Vec<Rule>) -> Result<RuleDataset> {
        RuleDataset::new(features(), rules, Some(LabelRange::new(0.0, 100.0).unwrap()))
    }

    #[test]
    fn rules_about_no_row_are_skipped_with_a_warning() {
        let rules = vec![at_least(2.0, Claim::mean(30.0)), at_least(9.0, Claim::mean(50.0))];
        let dataset = dataset(rules).unwrap();
        assert_eq!(dataset.groups().len(), 1);
        assert_eq!(dataset.groups()[0].members, [false, true, true]);
        assert_eq!(dataset.groups()[0].n_members, 2);
        assert_eq!(dataset.n_uncovered(), 1);
        let warning = dataset.warnings()[0].to_string();
        assert_eq!(warning, "the rule 'hour >= 9' speaks of no row and is skipped");
    }

    #[test]
    fn the_range_is_taken_from_the_rules_when_none_is_given() {
        let rules = vec![at_least(1.0, Claim::mean(20.0)), at_least(2.0, Claim::mean_with_tolerance(23.0, 2.0))];
        let dataset = RuleDataset::new(features(), rules, None).unwrap();
        assert_eq!((dataset.range().lower(), dataset.range().upper()), (15.0, 30.0));
        assert!(matches!(dataset.warnings(), [RuleWarning::RangeFromRules { .. }]));
        // Of three labels with sum 60, two have the sum 56: the third is 4, below 20 − 1·8 but not below 20 − 2·8.
        let rules = vec![at_least(1.0, Claim::mean(20.0)), at_least(2.0, Claim::mean(28.0))];
        let dataset = RuleDataset::new(features(), rules, None).unwrap();
        assert_eq!((dataset.range().lower(), dataset.range().upper()), (4.0, 44.0));
        let same_rows = vec![at_least(1.0, Claim::mean(5.0)), at_least(0.5, Claim::mean(6.0))];
        assert!(RuleDataset::new(features(), same_rows, None).is_err());
        let alike = vec![at_least(1.0, Claim::mean(5.0)), at_least(2.0, Claim::mean(5.0))];
        let error = RuleDataset::new(features(), alike, None).unwrap_err().to_string();
        assert!(error.starts_with("rules: expected claims that differ, or the range"), "{error}");
    }

    #[test]
    fn rules_that_cannot_be_used_are_named() {
        let unknown = Region::Below { feature: "day".to_owned(), threshold: 1.0 };
        for (rules, expected) in [
            (vec![], "at least one that speaks of some row, found no rule"),
            (vec![at_least(9.0, Claim::mean(1.0))], "found none of 1"),
            (
                vec![Rule::new(unknown, Claim::mean(1.0))],
                "rule 'day < 1', features: expected a column 'day', found hour",
            ),
            (vec![at_least(1.0, Claim::mean(f64::NAN))], "rule 'hour >= 1': expected a finite"),
            (vec![at_least(1.0, Claim::mean_between(2.0, 1.0))], "found 2 to 1"),
            (vec![at_least(1.0, Claim::mean_with_tolerance(2.0, -1.0))], "found 3 to 1"),
            (vec![at_least(1.0, Claim::quantile(1.0, 2.0))], "between 0 and 1, found 1"),
            (vec![at_least(1.0, Claim::quantile(f64::NAN, 2.0))], "level of the quantile"),
            (vec![at_least(1.0, Claim::mean(100.5))], "range of the labels, 0 to 100"),
            (vec![Rule::new(Region::Rows(vec![true]), Claim::mean(1.0))], "each of 3 rows"),
        ] {
            let error = dataset(rules).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
