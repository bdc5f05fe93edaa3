//! What settings of completers have in common: which numbers they may hold.

use std::fmt::Display;

use labelflow::{Error, Result};

/// Counts of something that must be there.
pub(crate) fn at_least_one(counts: &[(&str, usize)]) -> Result<()> {
    at_least(1, counts)
}

/// Counts that must be at least this.
pub(crate) fn at_least(least: usize, counts: &[(&str, usize)]) -> Result<()> {
    each(counts, &format!("at least {least}"), |&count| count >= least)
}

/// Widths of layers, of which there may be none.
pub(crate) fn widths(widths: &[(&str, &[usize])]) -> Result<()> {
    match widths.iter().find(|(_, widths)| widths.contains(&0)) {
        Some((setting, found)) => {
            Err(Error::config(*setting, "widths of at least 1", format!("{found:?}")))
        }
        None => Ok(()),
    }
}

/// Widths of layers, of which there is at least one.
pub(crate) fn some_widths(setting: &str, widths: &[usize]) -> Result<()> {
    if widths.is_empty() || widths.contains(&0) {
        let expected = "at least one width, each at least 1";
        return Err(Error::config(setting, expected, format!("{widths:?}")));
    }
    Ok(())
}

/// Weights of terms.
pub(crate) fn not_negative(weights: &[(&str, f64)]) -> Result<()> {
    let is_good = |weight: &f64| weight.is_finite() && *weight >= 0.0;
    each(weights, "a number that is not negative", is_good)
}

/// Step sizes, deviations.
pub(crate) fn positive(numbers: &[(&str, f64)]) -> Result<()> {
    each(numbers, "a positive number", |number| number.is_finite() && *number > 0.0)
}

/// Shares of a whole.
pub(crate) fn shares(shares: &[(&str, f64)]) -> Result<()> {
    each(shares, "a share between 0 and 1", |share| (0.0..=1.0).contains(share))
}

/// Shares that leave something.
pub(crate) fn shares_below_one(shares: &[(&str, f64)]) -> Result<()> {
    each(shares, "a share from 0 to below 1", |share| (0.0..1.0).contains(share))
}

fn each<T: Display>(
    settings: &[(&str, T)],
    expected: &str,
    is_good: impl Fn(&T) -> bool,
) -> Result<()> {
    match settings.iter().find(|(_, value)| !is_good(value)) {
        Some((setting, value)) => Err(Error::config(*setting, expected, value)),
        None => Ok(()),
    }
}
