//! Text without what is not words: markup, addresses, mentions, tags, digits and punctuation.
//!
//! ```text
//! <br />  &amp;  https://…  www.…  @name  #tag  "RT "   →  a space
//! every other character that is no ASCII letter         →  a space
//! letters                                               →  in lower case
//! ```
//!
//! Spaces that follow each other become one, and those at the ends go. A text of which nothing remains is empty.

/// The longest entity that is recognised, such as `&hellip;`.
const LONGEST_ENTITY: usize = 10;

/// The words of a text, in lower case and separated by single spaces.
///
/// ```
/// use labelflow_data::texts::clean_text;
///
/// assert_eq!(clean_text("RT @critic: It's <b>GREAT</b>!<br />See https://a.org/x?y=1 #movie 10/10"), "it s great see");
/// ```
pub fn clean_text(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_word_start = true;
    while let Some(letter) = rest.chars().next() {
        let n_skipped = skipped_length(rest, is_word_start);
        if n_skipped == 0 && letter.is_ascii_alphabetic() {
            cleaned.push(letter.to_ascii_lowercase());
        } else if cleaned.ends_with(|last| last != ' ') {
            cleaned.push(' ');
        }
        is_word_start = n_skipped > 0 || !letter.is_alphanumeric();
        rest = &rest[n_skipped.max(letter.len_utf8())..];
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

/// How many bytes at the start of `rest` are something that goes as a whole.
fn skipped_length(rest: &str, is_word_start: bool) -> usize {
    match rest.as_bytes()[0] {
        b'<' => tag_length(rest),
        b'&' => entity_length(rest),
        b'@' | b'#' => match run_length(&rest[1..], is_name_byte) {
            0 => 0,
            length => 1 + length,
        },
        b'R' if is_word_start && rest.starts_with("RT ") => 3,
        b'h' | b'H' | b'w' | b'W' if is_word_start && is_address(rest) => {
            run_length(rest, |byte| !byte.is_ascii_whitespace() && byte != b'<')
        }
        _ => 0,
    }
}

/// `<name …>`, `</name>` or `<!…>`, but not the sign in `a < b`.
fn tag_length(rest: &str) -> usize {
    let starts_tag = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!');
    if !rest.as_bytes().get(1).is_some_and(starts_tag) {
        return 0;
    }
    match rest[1..].find(['<', '>']) {
        Some(end) if rest.as_bytes()[1 + end] == b'>' => end + 2,
        _ => 0,
    }
}

fn entity_length(rest: &str) -> usize {
    let length = run_length(&rest[1..], |byte| byte.is_ascii_alphanumeric() || byte == b'#');
    let is_entity = (1..=LONGEST_ENTITY).contains(&length) && rest.as_bytes().get(1 + length) == Some(&b';');
    if is_entity { length + 2 } else { 0 }
}

fn is_address(rest: &str) -> bool {
    ["http://", "https://", "www."]
        .iter()
        .any(|start| rest.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Bytes at the start for which `holds`. It must hold for all bytes of a character beyond ASCII or for none.
fn run_length(text: &str, holds: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|&byte| holds(byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_kind_of_noise_goes() {
        for (text, expected) in [
            ("So <i>good</i>!<br /><br />Really.", "so good really"),
            ("3 < 4 and a<b", "and a b"),
            ("<unclosed tag", "unclosed tag"),
            ("Tom &amp; Jerry &#39;s &notanentityatall;", "tom jerry s notanentityatall"),
            ("see HTTP://x.org/a_b?c=d#e<br>now", "see now"),
            ("www.site.com is down, awww.no", "is down awww no"),
            ("by @some_one at #tag1 # @ end", "by at end"),
            ("RT this ART RTX \"RT that", "this art rtx that"),
            ("crème\u{a0}brûlée 10/10", "cr me br l e"),
            ("  \t\n", ""),
            ("123 !?", ""),
            ("", ""),
        ] {
            assert_eq!(clean_text(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_becomes_words_and_stays_so(text in any::<String>(), noise in "[<>&@#;RTht:/w. é]{0,40}") {
            for text in [text, noise] {
                let cleaned = clean_text(&text);
                let words = cleaned.split(' ').filter(|word| !word.is_empty());
                prop_assert!(words.clone().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
                prop_assert_eq!(words.collect::<Vec<_>>().join(" "), cleaned.clone());
                prop_assert_eq!(clean_text(&cleaned), cleaned);
            }
        }
    }
}
