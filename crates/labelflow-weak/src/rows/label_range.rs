//! From the lowest to the highest value that a label can have.
//!
//! ```text
//! unit = (label − lower) / (upper − lower)
//! ```

use serde::{Deserialize, Serialize};

use crate::{Error, Result, checked_when_read, ensure};

/// The range of real-valued labels. Learning happens on [0, 1], people write and read the label's own units.
///
/// ```
/// use labelflow_weak::rows::LabelRange;
///
/// let range = LabelRange::new(-10.0, 30.0)?;
/// assert_eq!(range.to_unit(0.0), 0.25);
/// assert_eq!(range.from_unit(0.25), 0.0);
/// assert!(LabelRange::new(1.0, 1.0).is_err());
/// # Ok::<(), labelflow_weak::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct LabelRange {
    lower: f64,
    upper: f64,
}

checked_when_read!(LabelRange);

impl LabelRange {
    /// Checks that both ends are finite, that `lower` is below `upper`, and that the width is finite too.
    pub fn new(lower: f64, upper: f64) -> Result<Self> {
        let range = Self { lower, upper };
        range.check()?;
        Ok(range)
    }

    fn check(&self) -> Result<()> {
        let &Self { lower, upper } = self;
        let width = self.width();
        ensure(lower.is_finite() && upper.is_finite() && width > 0.0 && width.is_finite(), || {
            Error::data("label range", "two finite numbers, the lower one first", format!("{lower} to {upper}"))
        })
    }

    /// The lowest label.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The highest label.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    /// The highest label minus the lowest.
    pub fn width(&self) -> f64 {
        self.upper - self.lower
    }

    /// A label on the scale on which the lowest is 0 and the highest is 1.
    pub fn to_unit(&self, value: f64) -> f64 {
        (value - self.lower) / self.width()
    }

    /// The label that [`to_unit`](Self::to_unit) turns into `value`.
    #[allow(clippy::wrong_self_convention)] // The counterpart of `to_unit`; it converts by the range, not into one.
    pub fn from_unit(&self, value: f64) -> f64 {
        self.lower + value * self.width()
    }

    /// Whether a label is in the range, its ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_that_are_no_range_are_errors() {
        for (lower, upper) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)] {
            let error = LabelRange::new(lower, upper).unwrap_err().to_string();
            assert!(error.starts_with("label range: expected two finite numbers"), "{error}");
        }
        assert!(serde_json::from_str::<LabelRange>(r#"{"lower": 3.0, "upper": 1.0}"#).is_err());
    }

    #[test]
    fn the_stored_range_is_the_same() {
        let range = LabelRange::new(0.1847, 2.231).unwrap();
        let text = serde_json::to_string(&range).unwrap();
        assert_eq!(text, r#"{"lower":0.1847,"upper":2.231}"#);
        assert_eq!(serde_json::from_str::<LabelRange>(&text).unwrap(), range);
    }

    proptest! {
        #[test]
        fn there_and_back_again(lower in -1e6f64..1e6, width in 1e-3f64..1e6, at in 0.0f64..1.0) {
            let range = LabelRange::new(lower, lower + width).unwrap();
            let value = range.from_unit(at);
            prop_assert!((range.to_unit(value) - at).abs() < 1e-6);
            prop_assert_eq!(range.to_unit(range.lower()), 0.0);
            prop_assert_eq!(range.to_unit(range.upper()), 1.0);
        }
    }
}
