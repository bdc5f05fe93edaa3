//! Rules of thumb about real-valued labels: "where this feature is at least that, the mean is about so much".

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rows::{Features, is_single};
use crate::{Error, Result};

/// A claim about the labels of the rows in a region.
///
/// ```
/// use labelflow_weak::rows::Features;
/// use labelflow_weak::rules::{Claim, Rule};
/// use ndarray::array;
///
/// let [above, below] = Rule::on_both_sides("bmi", 25.0, Claim::mean(190.0), Claim::mean(120.0));
/// assert_eq!(above.name, "bmi >= 25");
/// let features = Features::with_names(array![[22.0], [25.0]], vec!["bmi".to_owned()])?;
/// assert_eq!(above.region.members(&features)?, [false, true]);
/// assert_eq!(below.region.members(&features)?, [true, false]);
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What messages call it.
    pub name: String,
    /// The rows it speaks of.
    pub region: Region,
    /// What it says of their labels.
    pub claim: Claim,
}

impl Rule {
    /// A rule that is named after its region.
    pub fn new(region: Region, claim: Claim) -> Self {
        Self { name: region.to_string(), region, claim }
    }

    /// The same rule with another name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// A claim about the rows at or above a threshold, and one about those below it.
    pub fn on_both_sides(feature: impl Into<String>, threshold: f64, above: Claim, below: Claim) -> [Self; 2] {
        let feature = feature.into();
        let at_least = Region::AtLeast { feature: feature.clone(), threshold };
        [Self::new(at_least, above), Self::new(Region::Below { feature, threshold }, below)]
    }
}

/// Which rows a rule speaks of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Region {
    /// All rows.
    All,
    /// Rows where a feature is at least the threshold.
    AtLeast {
        /// The name of the feature.
        feature: String,
        /// The threshold, in the feature's own units.
        threshold: f64,
    },
    /// Rows where a feature is below the threshold.
    Below {
        /// The name of the feature.
        feature: String,
        /// The threshold, in the feature's own units.
        threshold: f64,
    },
    /// Rows that are in each of these regions; all rows if there is none.
    AllOf(Vec<Region>),
    /// These rows of the dataset, one entry per row. Such a region means nothing for the rows of another table.
    Rows(Vec<bool>),
}

impl Region {
    /// Which rows of `features` are in the region, one entry per row.
    ///
    /// Features are kept in single precision, so a threshold is rounded likewise before it is compared: a cell `0.7` is at
    /// least a threshold of `0.7`.
    pub fn members(&self, features: &Features) -> Result<Vec<bool>> {
        match self {
            Self::All => Ok(vec![true; features.n_rows()]),
            Self::AtLeast { feature, threshold } => compare(features, feature, *threshold, f64::ge),
            Self::Below { feature, threshold } => compare(features, feature, *threshold, f64::lt),
            Self::AllOf(regions) => {
                let mut members = vec![true; features.n_rows()];
                for region in regions {
                    let also = region.members(features)?;
                    members.iter_mut().zip(also).for_each(|(member, also)| *member &= also);
                }
                Ok(members)
            }
            Self::Rows(rows) if rows.len() == features.n_rows() => Ok(rows.clone()),
            Self::Rows(rows) => Err(Error::data(
                "rule about given rows",
                format!("one entry for each of {} rows", features.n_rows()),
                format!("{} entries", rows.len()),
            )
            .with_hint("such a rule speaks of the rows of one table only")),
        }
    }

    /// Whether the region can be found in any table with the right columns, that is, names no rows by their place.
    pub fn is_general(&self) -> bool {
        match self {
            Self::All | Self::AtLeast { .. } | Self::Below { .. } => true,
            Self::AllOf(regions) => regions.iter().all(Self::is_general),
            Self::Rows(_) => false,
        }
    }
}

fn compare(
    features: &Features,
    feature: &str,
    threshold: f64,
    holds: impl Fn(&f64, &f64) -> bool,
) -> Result<Vec<bool>> {
    if !threshold.is_finite() {
        let place = format!("rule about '{feature}', threshold");
        return Err(Error::data(place, "a finite number", threshold));
    }
    let column = features.column(feature)?;
    // 0.1 in single precision is at least 0.1: numbers that single precision holds are compared as those.
    let single = f64::from(threshold as f32);
    let threshold_for = |value: f64| if is_single(value) { single } else { threshold };
    Ok(features.values().column(column).iter().map(|value| holds(value, &threshold_for(*value))).collect())
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "all rows"),
            Self::AtLeast { feature, threshold } => write!(f, "{feature} >= {threshold}"),
            Self::Below { feature, threshold } => write!(f, "{feature} < {threshold}"),
            Self::AllOf(regions) if regions.is_empty() => write!(f, "all rows"),
            Self::AllOf(regions) => {
                let shown: Vec<String> = regions.iter().map(Self::to_string).collect();
                f.write_str(&shown.join(" and "))
            }
            Self::Rows(rows) => write!(f, "{} given rows", rows.iter().filter(|&&row| row).count()),
        }
    }
}

/// A statistic of labels and the interval in which it lies, in the label's own units.
///
/// An exact claim has equal ends. Whether the numbers make sense is checked where they are used, by
/// [`RuleDataset::new`](super::RuleDataset::new).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Of what the claim speaks.
    pub statistic: Statistic,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// What a claim says something about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean of the labels.
    Mean,
    /// The value below which this share of the labels lies; 0.5 is the median.
    Quantile(f64),
}

impl Claim {
    /// The mean is this.
    pub fn mean(value: f64) -> Self {
        Self::mean_between(value, value)
    }

    /// The mean is this, give or take the tolerance.
    pub fn mean_with_tolerance(value: f64, tolerance: f64) -> Self {
        Self::mean_between(value - tolerance, value + tolerance)
    }

    /// The mean is between these.
    pub fn mean_between(lower: f64, upper: f64) -> Self {
        Self { statistic: Statistic::Mean, lower, upper }
    }

    /// The quantile of this level, from 0 to 1, is this.
    pub fn quantile(level: f64, value: f64) -> Self {
        Self::quantile_between(level, value, value)
    }

    /// The quantile of this level, from 0 to 1, is between these.
    pub fn quantile_between(level: f64, lower: f64, upper: f64) -> Self {
        Self { statistic: Statistic::Quantile(level), lower, upper }
    }

    /// The middle of the interval; for an exact claim, its value.
    pub fn middle(&self) -> f64 {
        // Halves first: the sum of two large numbers may be too large.
        if self.lower == self.upper { self.lower } else { self.lower / 2.0 + self.upper / 2.0 }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statistic {
            Statistic::Mean => write!(f, "mean ")?,
            Statistic::Quantile(level) => write!(f, "quantile {level} ")?,
        }
        if self.lower == self.upper {
            write!(f, "{}", self.lower)
        } else {
            write!(f, "{} to {}", self.lower, self.upper)
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn features() -> Features {
        let names = ["a", "b"].map(str::to_owned).to_vec();
        Features::with_names(array![[0.1, 5.0], [0.7, 6.0], [0.8, 7.0]], names).unwrap()
    }

    fn at_least(feature: &str, threshold: f64) -> Region {
        Region::AtLeast { feature: feature.to_owned(), threshold }
    }

    #[test]
    fn regions_have_the_rows_that_they_say() {
        let below = Region::Below { feature: "b".to_owned(), threshold: 7.0 };
        for (region, expected) in [
            (Region::All, [true, true, true]),
            // 0.7 in single precision is a little below 0.7 in double precision.
            (at_least("a", 0.7), [false, true, true]),
            (below.clone(), [true, true, false]),
            (Region::AllOf(vec![at_least("a", 0.7), below]), [false, true, false]),
            (Region::AllOf(Vec::new()), [true, true, true]),
            (Region::Rows(vec![true, false, true]), [true, false, true]),
        ] {
            assert_eq!(region.members(&features()).unwrap(), expected, "{region}");
        }
    }

    #[test]
    fn the_two_sides_of_a_threshold_are_a_partition() {
        for threshold in [-1.0, 0.1, 0.7, 0.75, 0.8, 9.0] {
            let [above, below] = Rule::on_both_sides("a", threshold, Claim::mean(1.0), Claim::mean(0.0));
            let above = above.region.members(&features()).unwrap();
            let below = below.region.members(&features()).unwrap();
            assert!(above.iter().zip(&below).all(|(above, below)| above != below));
        }
    }

    #[test]
    fn unknown_columns_and_other_tables_are_errors() {
        let error = at_least("c", 0.0).members(&features()).unwrap_err().to_string();
        assert_eq!(error, "features: expected a column 'c', found a, b");
        let error = Region::Rows(vec![true]).members(&features()).unwrap_err().to_string();
        assert!(error.contains("one entry for each of 3 rows, found 1 entries"), "{error}");
        assert!(at_least("a", f64::NAN).members(&features()).is_err());
        let nested = Region::AllOf(vec![Region::All, at_least("c", 0.0)]);
        assert!(nested.members(&features()).is_err());
        assert!(!Region::AllOf(vec![Region::Rows(vec![true])]).is_general());
    }

    #[test]
    fn claims_have_a_middle_and_names_are_readable() {
        assert_eq!(Claim::mean_with_tolerance(10.0, 2.0), Claim::mean_between(8.0, 12.0));
        assert_eq!(Claim::mean_between(8.0, 12.0).middle(), 10.0);
        assert_eq!(Claim::mean(0.1).middle(), 0.1);
        assert_eq!(Claim::mean_between(-f64::MAX, f64::MAX).middle(), 0.0);
        assert_eq!(Claim::quantile(0.5, 3.0).to_string(), "quantile 0.5 3");
        let region = Region::AllOf(vec![at_least("a", 0.5), at_least("b", 6.0)]);
        assert_eq!(Rule::new(region, Claim::mean(1.0)).name, "a >= 0.5 and b >= 6");
    }

    #[test]
    fn the_stored_rule_is_the_same() {
        let region = Region::AllOf(vec![Region::All, at_least("a", 0.5), Region::Rows(vec![true])]);
        let rule = Rule::new(region, Claim::quantile_between(0.9, 1.0, 2.0)).with_name("mine");
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
    }
}
