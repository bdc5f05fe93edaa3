//! What settings of completers have in common: which numbers they may hold.

use labelflow::{Error, Result};

/// Counts of something that must be there.
pub(crate) fn at_least_one(counts: &[(&str, usize)]) -> Result<()> {
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((setting, count)) => Err(Error::config(*setting, "at least 1", count)),
        None => Ok(()),
    }
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

/// Weights of terms.
pub(crate) fn not_negative(weights: &[(&str, f64)]) -> Result<()> {
    match weights.iter().find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0)) {
        Some((setting, weight)) => {
            Err(Error::config(*setting, "a number that is not negative", weight))
        }
        None => Ok(()),
    }
}

/// Step sizes, deviations.
pub(crate) fn positive(numbers: &[(&str, f64)]) -> Result<()> {
    match numbers.iter().find(|(_, number)| !(number.is_finite() && *number > 0.0)) {
        Some((setting, number)) => Err(Error::config(*setting, "a positive number", number)),
        None => Ok(()),
    }
}
