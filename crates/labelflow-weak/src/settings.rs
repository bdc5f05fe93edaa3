//! Checks that many settings have in common.

use crate::{Error, Result};

/// Checks that counts are at least 1.
pub fn check_at_least_one(settings: &[(&str, usize)]) -> Result<()> {
    settings.iter().try_for_each(|&(setting, count)| match count {
        0 => Err(Error::config(setting, "at least 1", 0)),
        _ => Ok(()),
    })
}

/// Checks that numbers are positive and finite.
pub fn check_positive(settings: &[(&str, f64)]) -> Result<()> {
    check(settings, "a positive number", |value| value > 0.0 && value.is_finite())
}

/// Checks that numbers are finite and not negative.
pub fn check_not_negative(settings: &[(&str, f64)]) -> Result<()> {
    check(settings, "a number that is not negative", |value| value >= 0.0 && value.is_finite())
}

fn check(settings: &[(&str, f64)], expected: &str, is_good: impl Fn(f64) -> bool) -> Result<()> {
    match settings.iter().find(|(_, value)| !is_good(*value)) {
        None => Ok(()),
        Some((setting, value)) => Err(Error::config(setting, expected, value)),
    }
}
