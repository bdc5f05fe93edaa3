//! Checks that many settings and tables have in common.

use crate::{Error, Result, ensure};

/// Checks that counts are at least 1.
pub fn check_at_least_one(settings: &[(&str, usize)]) -> Result<()> {
    settings.iter().try_for_each(|&(setting, count)| ensure(count > 0, || Error::config(setting, "at least 1", 0)))
}

/// The most cells of a table that settings ask for, such as rows times columns. More are a slip of the finger, and would end the program
/// for want of memory.
pub const MOST_CELLS: usize = 1 << 28;

/// Checks that a table has at most [`MOST_CELLS`] cells: as many rows as the setting says, of so many columns.
pub fn check_cells(setting: &str, n_rows: usize, n_columns: usize) -> Result<()> {
    let most = MOST_CELLS / n_columns.max(1);
    ensure(n_rows <= most, || Error::config(setting, format!("at most {most}"), n_rows))
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
    settings.iter().try_for_each(|&(setting, value)| ensure(is_good(value), || Error::config(setting, expected, value)))
}

/// Checks that something has as many rows as something else.
pub fn check_rows(what: &str, found: usize, expected: usize, others: &str) -> Result<()> {
    ensure(found == expected, || Error::data(what, format!("{expected} rows, as many as {others}"), found))
}

/// Checks that something is about as many labelers and classes, in this order, as something else.
pub fn check_labelers(what: &str, found: (usize, usize), expected: (usize, usize), others: &str) -> Result<()> {
    let shown = |(labelers, classes)| format!("{labelers} labelers and {classes} classes");
    ensure(found == expected, || Error::data(what, format!("{}, as {others}", shown(expected)), shown(found)))
}

/// Reads a type that is derived with `#[serde(remote = "Self")]`, and checks it by its method `check`: a file may
/// contradict itself.
#[doc(hidden)]
#[macro_export]
macro_rules! checked_when_read {
    ($Type:ty) => {
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, into)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let read = Self::deserialize(from)?;
                read.check().map_err(serde::de::Error::custom)?;
                Ok(read)
            }
        }
    };
}
