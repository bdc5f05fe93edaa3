//! The one error type of this crate: which file, where in it, what was expected, what was found, what to do.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

use labelflow_files::is_standard;

use crate::tables::shown;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in a file something is, counted from 1 as editors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// The file as a whole.
    #[default]
    Whole,
    /// A line of a text file.
    Line(u64),
    /// A row of a file that has no lines, such as parquet.
    Row(u64),
}

impl Place {
    /// The place of the row with this index, which counts from 0.
    pub(crate) fn row(index: usize) -> Self {
        Self::Row(index as u64 + 1)
    }
}

impl Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) => write!(formatter, ", line {line}"),
            Self::Row(row) => write!(formatter, ", row {row}"),
        }
    }
}

/// A setting, a file or an address that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file whose content cannot be used.
    #[error(
        "{}{place}{}: expected {expected}, found {found}{}",
        name(.path, "read"), suffix(.column, ", column '", "'"), suffix(.hint, " (", ")")
    )]
    Content {
        /// The file.
        path: Box<Path>,
        /// Where in the file.
        place: Place,
        /// The name of the column, or nothing.
        column: Option<Box<str>>,
        /// What would have been accepted.
        expected: Box<str>,
        /// What was found.
        found: Box<str>,
        /// What the user can do, or nothing.
        hint: Option<Box<str>>,
    },
    /// A file that can be read, but whose data contradict themselves or other data.
    #[error("{}: {source}", name(.path, "read"))]
    Weak {
        /// The file.
        path: Box<Path>,
        /// What is wrong with the data.
        source: labelflow_weak::Error,
    },
    /// A setting outside what is allowed, such as the name of an unknown dataset, or data without a file that cannot be used.
    #[error(transparent)]
    Data(#[from] labelflow_weak::Error),
    /// A file that the system could not read or write.
    #[error("cannot {action} {}: {source}{}", name(.path, action), disk_hint(.source))]
    Io {
        /// What was tried: `read`, `write`, ….
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An address from which nothing usable came.
    #[error("cannot fetch {address}: {reason} ({hint})")]
    Network {
        /// The address.
        address: String,
        /// What went wrong.
        reason: String,
        /// What the user can do.
        hint: String,
    },
}

fn suffix(text: &Option<Box<str>>, before: &str, after: &str) -> String {
    text.as_ref().map(|text| format!("{before}{text}{after}")).unwrap_or_default()
}

/// A file for people.
fn name(path: &Path, action: &str) -> String {
    match (is_standard(path), action) {
        (false, _) => path.display().to_string(),
        (true, "write") => "standard output".to_owned(),
        (true, _) => "standard input".to_owned(),
    }
}

fn disk_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull => " (free some space or write elsewhere)",
        _ => "",
    }
}

/// Returns the error unless something holds.
pub(crate) fn ensure(holds: bool, error: impl FnOnce() -> Error) -> Result<()> {
    if holds { Ok(()) } else { Err(error()) }
}

impl Error {
    /// A setting outside what is allowed.
    pub fn config(setting: impl Display, expected: impl Display, found: impl Display) -> Self {
        Self::Data(labelflow_weak::Error::config(setting, expected, found))
    }

    /// A file whose content cannot be used.
    pub fn content(path: &Path, expected: impl Display, found: impl Display) -> Self {
        Self::Content {
            path: path.into(),
            place: Place::Whole,
            column: None,
            expected: expected.to_string().into(),
            found: found.to_string().into(),
            hint: None,
        }
    }

    /// A cell or word of a file that cannot be used, shown in quotes and not too long.
    pub fn cell(path: &Path, expected: impl Display, cell: &str) -> Self {
        Self::content(path, expected, format!("'{}'", shown(cell)))
    }

    /// A file that the system could not read.
    pub fn read(path: &Path, source: io::Error) -> Self {
        Self::Io { action: "read", path: path.to_owned(), source }
    }

    /// A file that the system could not write.
    pub fn write(path: &Path, source: io::Error) -> Self {
        Self::Io { action: "write", path: path.to_owned(), source }
    }

    /// Gives an error of the data the name of the file they came from.
    pub fn in_file(path: &Path) -> impl FnOnce(labelflow_weak::Error) -> Self {
        let path = path.into();
        move |source| Self::Weak { path, source }
    }

    /// The same error at a place of its file.
    #[must_use]
    pub fn at(mut self, new: Place) -> Self {
        if let Self::Content { place, .. } = &mut self {
            *place = new;
        }
        self
    }

    /// The same error in a column of its file.
    #[must_use]
    pub fn in_column(mut self, name: impl Display) -> Self {
        if let Self::Content { column, .. } = &mut self {
            *column = Some(name.to_string().into());
        }
        self
    }

    /// The same error with advice.
    #[must_use]
    pub fn with_hint(mut self, advice: impl Display) -> Self {
        match &mut self {
            Self::Content { hint, .. } => *hint = Some(advice.to_string().into()),
            Self::Data(error) => return Self::Data(error.clone().with_hint(advice)),
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_where_what_and_what_to_do() {
        let error = Error::content(Path::new("votes.csv"), "a class from 0 to 2", "'7'")
            .at(Place::Line(3))
            .in_column("rule_a")
            .with_hint("write -1 for an abstention");
        assert_eq!(
            error.to_string(),
            "votes.csv, line 3, column 'rule_a': expected a class from 0 to 2, found '7' \
             (write -1 for an abstention)"
        );
    }

    #[test]
    fn standard_streams_have_their_names() {
        let error = Error::content(Path::new("-"), "one row", "none").at(Place::Line(2)).to_string();
        assert_eq!(error, "standard input, line 2: expected one row, found none");
        let error = Error::write(Path::new("-"), io::ErrorKind::BrokenPipe.into()).to_string();
        assert!(error.starts_with("cannot write standard output: "), "{error}");
    }

    #[test]
    fn errors_cross_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<Error>();
    }

    #[test]
    fn a_full_disk_says_so_with_the_path() {
        let error = Error::write(Path::new("out/labels.csv"), io::ErrorKind::StorageFull.into());
        assert!(error.to_string().starts_with("cannot write out/labels.csv: "), "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
    }
}
