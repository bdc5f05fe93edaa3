//! The one error type of this crate.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A bad setting, bad data, a failure of training, or of the outside world.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting or a piece of data that cannot be used.
    #[error(transparent)]
    Weak(#[from] labelflow_weak::Error),
    /// The loss is no longer a number.
    #[error(
        "training: the {term} term is {value} at epoch {epoch} \
         (lower the learning rate, or check the scale of the features)"
    )]
    NotFinite {
        /// The first part of the objective that is not finite.
        term: String,
        /// Its value.
        value: f64,
        /// The epoch, counted from 0.
        epoch: usize,
    },
    /// A device that is not there.
    #[error("device {device}: {reason}")]
    Device {
        /// Its name.
        device: String,
        /// Why it cannot be used, and what to do.
        reason: String,
    },
    /// Rows that their source cannot give.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// A file that cannot be read or written.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that is there, but is not what it should be.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What would have been accepted.
        expected: String,
        /// What is there.
        found: String,
    },
}

impl Error {
    /// A setting outside what the method allows.
    pub fn config(setting: impl Display, expected: impl Display, found: impl Display) -> Self {
        labelflow_weak::Error::config(setting, expected, found).into()
    }

    /// Data that cannot be used.
    pub fn data(place: impl Display, expected: impl Display, found: impl Display) -> Self {
        labelflow_weak::Error::data(place, expected, found).into()
    }

    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }

    /// A file or folder that is not what it should be.
    pub fn format(path: &Path, expected: impl Display, found: impl Display) -> Self {
        Self::Format { path: path.to_owned(), expected: expected.to_string(), found: found.to_string() }
    }
}
