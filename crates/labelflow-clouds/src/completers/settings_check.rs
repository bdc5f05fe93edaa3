//! Which numbers the settings of completers may hold: each check takes the name of a setting and its value.

use std::fmt::Display;

use labelflow::{Error, Result};
use labelflow_weak::settings::MOST_CELLS;

/// More points, clouds, neurons or epochs than this are a slip of the finger, and would end the program for want of memory.
const MOST: usize = 1 << 20;

/// A count that must be at least this.
pub(crate) fn at_least(least: usize) -> impl Fn(&str, &usize) -> Result<()> {
    move |setting, count| {
        is(setting, format!("at least {least}"), count, *count >= least)?;
        is(setting, format!("at most {MOST}"), count, *count <= MOST)
    }
}

/// Widths of layers, of which there may be none.
pub(crate) fn widths(setting: &str, widths: &[usize]) -> Result<()> {
    is(setting, format!("widths of 1 to {MOST}"), format!("{widths:?}"), are_widths(widths))
}

/// Widths of layers, of which there is at least one.
pub(crate) fn some_widths(setting: &str, widths: &[usize]) -> Result<()> {
    let expected = format!("at least one width, each from 1 to {MOST}");
    is(setting, expected, format!("{widths:?}"), !widths.is_empty() && are_widths(widths))
}

fn are_widths(widths: &[usize]) -> bool {
    widths.iter().all(|width| (1..=MOST).contains(width))
}

/// Networks with at least so many weights, if they can be counted.
pub(crate) fn weights(n_weights: Option<usize>) -> Result<()> {
    let found = n_weights.map_or("more than can be counted".to_owned(), |n_weights| n_weights.to_string());
    is("widths", format!("networks of at most {MOST_CELLS} weights"), found, n_weights.is_some_and(|n| n <= MOST_CELLS))
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

/// What is checked of each of several numbers.
pub(crate) fn each(check: impl Fn(&str, &f64) -> Result<()>) -> impl Fn(&str, &[f64]) -> Result<()> {
    move |setting, numbers| numbers.iter().try_for_each(|number| check(setting, number))
}

/// What is checked only where it is given.
pub(crate) fn if_given<T>(check: impl Fn(&str, &T) -> Result<()>) -> impl Fn(&str, &Option<T>) -> Result<()> {
    move |setting, value| value.iter().try_for_each(|value| check(setting, value))
}

/// That a setting is as expected.
pub(crate) fn is(setting: &str, expected: impl Display, found: impl Display, is_good: bool) -> Result<()> {
    if is_good { Ok(()) } else { Err(Error::config(setting, expected, found)) }
}
