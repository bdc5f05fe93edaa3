//! What readers of text have in common: lines, numbers, and what is said of damaged files.

use std::fmt::Display;
use std::path::Path;

use labelflow_data::tables::{shown, visit_lines};
use labelflow_data::{Error, Result};

/// The longest line: a file without line ends must not fill the memory.
pub(crate) const LONGEST_LINE: u64 = 1 << 20;
/// What a part must be.
pub(crate) const PART: &str = "a part as a whole number that is not negative";

/// Visits the lines of a file without the blanks around them.
pub(crate) fn visit_text(path: &Path, mut visit: impl FnMut(&str) -> Result<()>) -> Result<()> {
    visit_lines(path, LONGEST_LINE, |_, line| visit(String::from_utf8_lossy(line).trim()))
}

/// A text that is not what was expected.
pub(crate) fn unexpected(path: &Path, expected: impl Display, text: &str) -> Error {
    Error::content(path, expected, format!("'{}'", shown(text)))
}

/// A file that ends before its header says.
pub(crate) fn cut_off(path: &Path, expected: impl Display, found: impl Display) -> Error {
    Error::content(path, expected, found).with_hint("the file is damaged or cut")
}

/// Three coordinates at the start of a text.
pub(crate) fn coordinates(path: &Path, text: &str) -> Result<[f64; 3]> {
    let mut words = text.split_ascii_whitespace();
    let mut point = [0.0; 3];
    for value in &mut point {
        let word = words.next().unwrap_or_default();
        *value = word.parse().map_err(|_| unexpected(path, "three coordinates", text))?;
    }
    Ok(point)
}
