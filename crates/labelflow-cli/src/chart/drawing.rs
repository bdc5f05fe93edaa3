//! A picture as shapes in pixels, before anybody has decided on a format.

use super::palette::Ink;

/// A picture: y grows downwards.
#[derive(Debug, Clone)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
}

/// One thing that is drawn, after those before it.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Line { points: Vec<[f64; 2]>, ink: Ink, width: f64, dashes: &'static [f32] },
    Area { points: Vec<[f64; 2]>, ink: Ink, opacity: f64, value: Option<String> },
    Circle { middle: [f64; 2], radius: f64, ink: Ink, value: Option<String>, is_quiet: bool },
    Text(Text),
}

/// Text on one line.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// Where the line on which letters stand begins, is halved, or ends.
    pub(super) at: [f64; 2],
    pub(super) text: String,
    pub(super) size: f64,
    pub(super) ink: Ink,
    pub(super) anchor: Anchor,
    /// Whether it runs upwards.
    pub(super) is_upright: bool,
    pub(super) is_bold: bool,
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The width of the narrowest sign, as a share of the size of letters.
const NARROWEST: f64 = 0.28;

/// About how wide a text is: nobody knows which font a reader has.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let width = |sign: char| match sign {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => NARROWEST,
        'f' | 'r' | 't' | ' ' | '(' | ')' | '-' | '/' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '<' | '>' | '=' | '+' | '~' => 0.9,
        sign if sign.is_ascii_uppercase() => 0.7,
        sign if sign.is_ascii() => 0.61,
        // Signs of other scripts may be as wide as they are high.
        '−' | '±' | '–' | '·' | '×' => 0.84,
        _ => 1.0,
    };
    text.chars().map(width).sum::<f64>() * size
}

/// The text, or as much of its start as fits.
pub(super) fn fitting(text: &str, size: f64, room: f64) -> String {
    shortened(text, size, room, |n_kept| (n_kept, 0))
}

/// The text, or as much of its start and its end as fits: names often differ in their last letters alone.
pub(super) fn fitting_ends(text: &str, size: f64, room: f64) -> String {
    shortened(text, size, room, |n_kept| (n_kept.div_ceil(2), n_kept / 2))
}

/// The text, or of its first and last signs as many as fit; `ends` parts what is kept.
fn shortened(text: &str, size: f64, room: f64, ends: fn(usize) -> (usize, usize)) -> String {
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let signs: Vec<char> = text.chars().collect();
    let cut = |n_kept: usize| {
        let (start, end) = ends(n_kept);
        let start: String = signs[..start].iter().collect();
        let end: String = signs[signs.len() - end..].iter().collect();
        format!("{}…{end}", start.trim_end())
    };
    // No more fit than of the narrowest sign: texts may be long.
    let most = (room / (NARROWEST * size)) as usize;
    let mut cuts = (0..=most.min(signs.len().saturating_sub(1))).rev().map(cut);
    cuts.find(|text| text_width(text, size) <= room).unwrap_or_else(|| "…".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_at_its_end_or_in_its_middle() {
        let name = "keyword_with_a_long_name_27";
        assert_eq!(fitting(name, 10.0, 1000.0), name);
        assert_eq!(fitting_ends(name, 10.0, 1000.0), name);
        let (cut, both) = (fitting(name, 10.0, 80.0), fitting_ends(name, 10.0, 80.0));
        assert!(cut.starts_with("keyword") && cut.ends_with('…'), "{cut}");
        assert!(both.starts_with("keyw") && both.contains('…') && both.ends_with("_27"), "{both}");
        for room in [0.0, 5.0, 30.0, 80.0] {
            assert!(text_width(&fitting_ends(name, 10.0, room), 10.0) <= room.max(10.0));
        }
    }
}
