//! The one error type of this crate: what was expected, what was found, where, what to do.

use std::fmt::Display;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A setting or a piece of data that cannot be used.
///
/// There are only two kinds: a bad setting, which the user changes, and bad data, which the user repairs.
/// Everything else would be a bug, and panics with the reason why it cannot happen.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside what the method allows.
    #[error("{setting}: expected {expected}, found {found}{}", hint_suffix(.hint))]
    Config {
        /// The name of the setting, as in TOML and on the command line.
        setting: String,
        /// What would have been accepted.
        expected: String,
        /// What was given.
        found: String,
        /// What the user can do, or nothing.
        hint: Option<String>,
    },
    /// Data that contradict themselves or the other data.
    #[error("{place}: expected {expected}, found {found}{}", hint_suffix(.hint))]
    Data {
        /// Which data, and where in them (row, labeler, class).
        place: String,
        /// What would have been accepted.
        expected: String,
        /// What was given.
        found: String,
        /// What the user can do, or nothing.
        hint: Option<String>,
    },
}

fn hint_suffix(hint: &Option<String>) -> String {
    hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default()
}

/// Returns the error unless something holds.
pub(crate) fn ensure(holds: bool, error: impl FnOnce() -> Error) -> Result<()> {
    if holds { Ok(()) } else { Err(error()) }
}

impl Error {
    /// A setting outside what the method allows.
    pub fn config(setting: impl Display, expected: impl Display, found: impl Display) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::Config { setting: setting.to_string(), expected, found, hint: None }
    }

    /// Data that cannot be used.
    pub fn data(place: impl Display, expected: impl Display, found: impl Display) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::Data { place: place.to_string(), expected, found, hint: None }
    }

    /// The same error with advice.
    #[must_use]
    pub fn with_hint(mut self, advice: impl Display) -> Self {
        let (Self::Config { hint, .. } | Self::Data { hint, .. }) = &mut self;
        *hint = Some(advice.to_string());
        self
    }
}
