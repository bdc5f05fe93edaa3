//! Text from files as it may be shown at a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a sign is none that is seen: a control sign, or one that turns the direction or the line of the text around it.
///
/// A terminal obeys them: a name in a file could move the cursor, hide an error or set the title of the window.
pub fn is_unseen(sign: char) -> bool {
    let turns_text =
        matches!(sign, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    sign.is_control() || turns_text
}

/// The text with every sign that [`is_unseen`] as it is written in Rust: `\u{1b}`. Line ends and tabs stay.
///
/// ```
/// use labelflow_files::visible;
///
/// assert_eq!(visible("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\n");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_shown = |sign: char| !is_unseen(sign) || matches!(sign, '\n' | '\t');
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for sign in text.chars() {
        match is_shown(sign) {
            true => shown.push(sign),
            false => write!(shown, "{}", sign.escape_unicode()).expect("a string grows"),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_a_terminal_obeys_are_seen() {
        assert_eq!(visible("naïve Ωμέγα 数据 👍\n\tR²"), "naïve Ωμέγα 数据 👍\n\tR²");
        assert_eq!(visible("\u{1b}]0;owned\u{7}"), "\\u{1b}]0;owned\\u{7}");
        assert_eq!(visible("old\rnew\u{8}\u{7f}"), "old\\u{d}new\\u{8}\\u{7f}");
        // The same escape as one sign of eight bits, and the signs that let text run from right to left.
        assert_eq!(visible("\u{9b}31m \u{202e}gpj\u{2066}"), "\\u{9b}31m \\u{202e}gpj\\u{2066}");
    }
}
