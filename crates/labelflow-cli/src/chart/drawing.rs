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

/// About how wide a text is: nobody knows which font a reader has.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let width = |sign: char| match sign {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.28,
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
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for sign in text.chars() {
        if text_width(&short, size) + text_width(&format!("{sign}…"), size) > room {
            break;
        }
        short.push(sign);
    }
    short.trim_end().to_owned() + "…"
}
