//! Rules that no labels can satisfy together.
//!
//! Labels lie between 0 and 1 once scaled by their range. What a rule about the rows A says of the rows that A shares with
//! B, n∩ of them, is an interval for the sum of their labels: the labels of A \ B can be anything between 0 and 1.
//!
//! ```text
//! mean between l and u:        |A| l − |A \ B|  ≤  sum over A ∩ B  ≤  |A| u
//! quantile p between l and u:  at least ⌈p |A|⌉ − 1 − |A \ B| labels of A ∩ B are ≤ u,
//!                              at least ⌈(1 − p) |A|⌉ − 1 − |A \ B| of them are ≥ l
//! any:                         0  ≤  sum over A ∩ B  ≤  n∩
//! ```
//!
//! Two rules contradict each other if their intervals do not meet. For two means this is exact: whenever the intervals
//! meet, there are labels that satisfy both. Two quantiles also contradict each other if more labels must be low and high
//! than there are, or if they speak of the same rows and the higher quantile is the lower one. The −1 makes room for every
//! convention of what a quantile is.

use crate::rows::LabelRange;
use crate::rules::{CountedRule, Statistic};
use crate::{Error, Result};

/// Sums of measured claims differ by rounding; so much a label is no contradiction.
const TOLERANCE: f64 = 1e-9;

/// Checks that each rule can hold, and each two of them together. `n_shared` is the number of rows that an earlier and a later rule share.
pub(crate) fn check_contradictions(
    groups: &[CountedRule],
    n_shared: impl Fn(usize, usize) -> u64,
    range: &LabelRange,
) -> Result<()> {
    let tolerance = TOLERANCE * (range.lower().abs().max(range.upper().abs()) / range.width()).max(1.0);
    let claims: Vec<UnitClaim> = groups.iter().map(|group| UnitClaim::new(group, range)).collect();
    for (group, claim) in groups.iter().zip(&claims) {
        if claim.upper < -tolerance || claim.lower > 1.0 + tolerance {
            let place = format!("rule '{}'", group.rule.name);
            let (lower, upper) = (range.lower(), range.upper());
            let expected = format!("a claim within the range of the labels, {lower} to {upper}");
            return Err(Error::data(place, expected, group.rule.claim));
        }
    }
    for later in 1..groups.len() {
        for earlier in 0..later {
            let n_shared = n_shared(earlier, later);
            if contradict(&claims[earlier], &claims[later], n_shared, tolerance) {
                return Err(contradiction(&groups[earlier], &groups[later], n_shared));
            }
        }
    }
    Ok(())
}

fn contradiction(one: &CountedRule, other: &CountedRule, n_shared: u64) -> Error {
    let shown = |group: &CountedRule| format!("{} on {} rows", group.rule.claim, group.n_members);
    let place = format!("rules '{}' and '{}'", one.rule.name, other.rule.name);
    let found = format!("{} and {}, {n_shared} of them shared", shown(one), shown(other));
    Error::data(place, "claims that some labels in their range satisfy together", found)
        .with_hint("correct one of the two, or give it a tolerance")
}

/// A claim on the scale from 0 to 1, and the number of rows it speaks of.
struct UnitClaim {
    statistic: Statistic,
    lower: f64,
    upper: f64,
    n_members: u64,
}

impl UnitClaim {
    fn new(group: &CountedRule, range: &LabelRange) -> Self {
        let claim = &group.rule.claim;
        Self {
            statistic: claim.statistic,
            lower: range.to_unit(claim.lower),
            upper: range.to_unit(claim.upper),
            n_members: group.n_members,
        }
    }

    /// The least and the greatest sum of the labels of `n_shared` rows of the group.
    fn sum_of_shared(&self, n_shared: u64) -> (f64, f64) {
        let (n, n_others) = (self.n_members as f64, (self.n_members - n_shared) as f64);
        let n_shared = n_shared as f64;
        let (lower, upper) = match self.statistic {
            Statistic::Mean => (n * self.lower - n_others, n * self.upper),
            Statistic::Quantile(level) => {
                let n_low = n_certain(level, n, n_others);
                let n_high = n_certain(1.0 - level, n, n_others);
                (n_high * self.lower, n_low * self.upper + (n_shared - n_low))
            }
        };
        (lower.max(0.0), upper.min(n_shared))
    }

    /// Whether this quantile and a higher claim about another one cannot both hold.
    fn is_too_low_for(&self, higher: &Self, n_shared: u64, tolerance: f64) -> bool {
        let (Statistic::Quantile(level), Statistic::Quantile(other)) = (self.statistic, higher.statistic) else {
            return false;
        };
        if self.upper >= higher.lower - tolerance {
            return false;
        }
        let are_same_rows = n_shared == self.n_members && n_shared == higher.n_members;
        if are_same_rows && level >= other {
            return true;
        }
        let n_others = |claim: &Self| (claim.n_members - n_shared) as f64;
        let n_low = n_certain(level, self.n_members as f64, n_others(self));
        let n_high = n_certain(1.0 - other, higher.n_members as f64, n_others(higher));
        n_low + n_high > n_shared as f64
    }
}

/// How many of the shared rows must be on one side of a quantile, whatever the `n_others` are.
fn n_certain(share: f64, n_members: f64, n_others: f64) -> f64 {
    ((share * n_members).ceil() - 1.0 - n_others).max(0.0)
}

fn contradict(one: &UnitClaim, other: &UnitClaim, n_shared: u64, tolerance: f64) -> bool {
    if n_shared == 0 {
        return false;
    }
    let (one_least, one_most) = one.sum_of_shared(n_shared);
    let (other_least, other_most) = other.sum_of_shared(n_shared);
    let slack = tolerance * one.n_members.max(other.n_members) as f64;
    one_least > other_most + slack
        || other_least > one_most + slack
        || one.is_too_low_for(other, n_shared, tolerance)
        || other.is_too_low_for(one, n_shared, tolerance)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::rows::Features;
    use crate::rules::{Claim, Region, Rule, RuleDataset};

    fn rows(members: &[u8]) -> Region {
        Region::Rows(members.iter().map(|&member| member == 1).collect())
    }

    fn check(rules: Vec<Rule>) -> Result<RuleDataset> {
        let Region::Rows(members) = &rules[0].region else { unreachable!("tests give rows") };
        let features = Features::new(Array2::<f64>::zeros((members.len(), 1))).unwrap();
        RuleDataset::new(features, rules, Some(LabelRange::new(0.0, 10.0).unwrap()))
    }

    fn pair(one: (&[u8], Claim), other: (&[u8], Claim)) -> Result<RuleDataset> {
        check(vec![
            Rule::new(rows(one.0), one.1).with_name("one"),
            Rule::new(rows(other.0), other.1).with_name("other"),
        ])
    }

    #[test]
    fn two_means_of_the_same_rows_must_agree() {
        let error = pair((&[1, 1], Claim::mean(3.0)), (&[1, 1], Claim::mean(4.0))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rules 'one' and 'other': expected claims that some labels in their range satisfy together, \
             found mean 3 on 2 rows and mean 4 on 2 rows, 2 of them shared \
             (correct one of the two, or give it a tolerance)"
        );
        let wide = Claim::mean_with_tolerance(4.0, 1.0);
        assert!(pair((&[1, 1], Claim::mean(3.0)), (&[1, 1], wide)).is_ok());
    }

    #[test]
    fn a_part_and_the_whole_must_leave_room_for_the_rest() {
        // Of three rows with sum 9, two with sum s leave 9 − s, which must lie in [0, 10].
        let whole = Claim::mean(3.0);
        for (part, holds) in [(4.5, true), (4.6, false), (0.0, true)] {
            let found = pair((&[1, 1, 1], whole), (&[1, 1, 0], Claim::mean(part)));
            assert_eq!(found.is_ok(), holds, "{part}");
        }
        // Of three rows with sum 27, two have at least 17.
        for (part, holds) in [(8.5, true), (8.4, false)] {
            let found = pair((&[1, 1, 1], Claim::mean(9.0)), (&[0, 1, 1], Claim::mean(part)));
            assert_eq!(found.is_ok(), holds, "{part}");
        }
    }

    #[test]
    fn rows_that_overlap_or_do_not_are_told_apart() {
        // A shared row must be at least 2·9 − 10 = 8 for the one and at most 2·3 = 6 for the other.
        let found = pair((&[1, 1, 0], Claim::mean(9.0)), (&[0, 1, 1], Claim::mean(3.0)));
        assert!(found.is_err());
        assert!(pair((&[1, 1, 0], Claim::mean(9.0)), (&[0, 1, 1], Claim::mean(4.0))).is_ok());
        assert!(pair((&[1, 1, 0], Claim::mean(9.0)), (&[0, 0, 1], Claim::mean(0.0))).is_ok());
    }

    #[test]
    fn a_claim_outside_the_range_names_its_rule() {
        let rule = |claim| vec![Rule::new(rows(&[1]), claim).with_name("mine")];
        let error = check(rule(Claim::mean(11.0))).unwrap_err().to_string();
        assert_eq!(error, "rule 'mine': expected a claim within the range of the labels, 0 to 10, found mean 11");
        assert!(check(rule(Claim::mean_between(9.0, 11.0))).is_ok());
        assert!(check(rule(Claim::quantile(0.5, -0.1))).is_err());
    }

    #[test]
    fn quantiles_of_the_same_rows_grow_with_their_level() {
        let all = &[1; 4][..];
        let quantile = Claim::quantile;
        assert!(pair((all, quantile(0.5, 4.0)), (all, quantile(0.5, 5.0))).is_err());
        assert!(pair((all, quantile(0.9, 4.0)), (all, quantile(0.1, 5.0))).is_err());
        assert!(pair((all, quantile(0.1, 4.0)), (all, quantile(0.9, 5.0))).is_ok());
        let wide = Claim::quantile_between(0.5, 3.0, 5.0);
        assert!(pair((all, quantile(0.5, 4.0)), (all, wide)).is_ok());
    }

    #[test]
    fn quantiles_of_nested_rows_and_means_are_compared_by_counting() {
        let (whole, part) = ([[1; 50], [1; 50]].concat(), [[1; 50], [0; 50]].concat());
        // Nine in ten of all are at most 2, so the part has at most ten or so above: not half of its 50.
        let low = Claim::quantile(0.9, 2.0);
        assert!(pair((&whole, low), (&part, Claim::quantile(0.5, 3.0))).is_err());
        assert!(pair((&whole, low), (&part, Claim::quantile(0.9, 3.0))).is_ok());
        // At least 89 labels of at most 2: the mean is at most (89·2 + 11·10) / 100 = 2.88.
        assert!(pair((&whole, low), (&whole, Claim::mean(2.9))).is_err());
        assert!(pair((&whole, low), (&whole, Claim::mean(2.8))).is_ok());
    }

    fn mean_of(labels: &[f64]) -> f64 {
        labels.iter().sum::<f64>() / labels.len() as f64
    }

    /// The quantile between order statistics, as most libraries compute it.
    fn quantile_of(labels: &[f64], level: f64) -> f64 {
        let mut sorted = labels.to_vec();
        sorted.sort_by(f64::total_cmp);
        let place = level * (sorted.len() - 1) as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + place.fract() * (above - below)
    }

    proptest! {
        #[test]
        fn rules_measured_from_labels_never_contradict(
            labels in proptest::collection::vec(-5.0f64..5.0, 1..30),
            groups in proptest::collection::vec(
                (any::<u32>(), proptest::option::of(0.01f64..0.99)), 1..8),
            (shift, scale) in (-1e6f64..1e6, 1e-3f64..1e3),
        ) {
            let labels: Vec<f64> = labels.iter().map(|label| shift + scale * label).collect();
            let rules = groups.iter().filter_map(|&(bits, level)| {
                let members: Vec<bool> =
                    (0..labels.len()).map(|row| bits >> row & 1 == 1).collect();
                let inside: Vec<f64> = labels.iter().zip(&members)
                    .filter(|(_, member)| **member).map(|(label, _)| *label).collect();
                (!inside.is_empty()).then(|| Rule::new(Region::Rows(members), match level {
                    None => Claim::mean(mean_of(&inside)),
                    Some(level) => Claim::quantile(level, quantile_of(&inside, level)),
                }))
            }).collect::<Vec<_>>();
            prop_assume!(!rules.is_empty());
            let features = Features::new(Array2::<f64>::zeros((labels.len(), 1))).unwrap();
            let range = LabelRange::new(shift - 5.0 * scale, shift + 5.0 * scale).unwrap();
            let found = RuleDataset::new(features, rules, Some(range));
            prop_assert!(found.is_ok(), "{}", found.unwrap_err());
        }

        #[test]
        fn two_means_that_pass_can_both_hold(
            (n_one, n_shared, n_other) in (0usize..5, 1usize..5, 0usize..5),
            (one, other) in (0.0f64..10.0, 0.0f64..10.0),
        ) {
            let part = |n: usize, value: u8| vec![value; n];
            let first = [part(n_one, 1), part(n_shared, 1), part(n_other, 0)].concat();
            let second = [part(n_one, 0), part(n_shared, 1), part(n_other, 1)].concat();
            let passes = pair((&first, Claim::mean(one)), (&second, Claim::mean(other))).is_ok();
            // A sum of the shared labels that leaves possible sums to the others, searched on a grid.
            let possible = (0..=10_000).map(|step| n_shared as f64 * f64::from(step) / 1000.0).any(|sum| {
                let rest = |n: usize, mean: f64| (n + n_shared) as f64 * mean - sum;
                let fits = |n: usize, rest: f64| (-0.01..=10.0 * n as f64 + 0.01).contains(&rest);
                fits(n_one, rest(n_one, one)) && fits(n_other, rest(n_other, other))
            });
            // The grid is generous by its step: what it refuses must be refused, what passes must be possible.
            prop_assert!(!passes || possible);
        }
    }
}
