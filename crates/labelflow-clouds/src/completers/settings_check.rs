//! Which numbers the settings of completers may hold: each check takes the name of a setting and its value.

use std::fmt::Display;

use labelflow::{Error, Result};

/// A count that must be at least this.
pub(crate) fn at_least(least: usize) -> impl Fn(&str, &usize) -> Result<()> {
    move |setting, count| is(setting, format!("at least {least}"), count, *count >= least)
}

/// Widths of layers, of which there may be none.
pub(crate) fn widths(setting: &str, widths: &[usize]) -> Result<()> {
    is(setting, "widths of at least 1", format!("{widths:?}"), !widths.contains(&0))
}

/// Widths of layers, of which there is at least one.
pub(crate) fn some_widths(setting: &str, widths: &[usize]) -> Result<()> {
    let is_good = !widths.is_empty() && !widths.contains(&0);
    is(setting, "at least one width, each at least 1", format!("{widths:?}"), is_good)
}

/// The weight of a term.
pub(crate) fn not_negative(setting: &str, weight: &f64) -> Result<()> {
    let is_good = weight.is_finite() && *weight >= 0.0;
    is(setting, "a number that is not negative", weight, is_good)
}

/// A step size or a deviation.
pub(crate) fn positive(setting: &str, number: &f64) -> Result<()> {
    is(setting, "a positive number", number, number.is_finite() && *number > 0.0)
}

/// A share of a whole.
pub(crate) fn share(setting: &str, share: &f64) -> Result<()> {
    is(setting, "a share between 0 and 1", share, (0.0..=1.0).contains(share))
}

/// A share that leaves something.
pub(crate) fn share_below_one(setting: &str, share: &f64) -> Result<()> {
    is(setting, "a share from 0 to below 1", share, (0.0..1.0).contains(share))
}

/// What is checked only where it is given.
pub(crate) fn if_given<T>(check: impl Fn(&str, &T) -> Result<()>) -> impl Fn(&str, &Option<T>) -> Result<()> {
    move |setting, value| value.iter().try_for_each(|value| check(setting, value))
}

/// That a setting is as expected.
pub(crate) fn is(setting: &str, expected: impl Display, found: impl Display, is_good: bool) -> Result<()> {
    if is_good { Ok(()) } else { Err(Error::config(setting, expected, found)) }
}
