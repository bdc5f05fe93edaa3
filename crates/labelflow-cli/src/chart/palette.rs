//! Colours, dash patterns and signs of series.
//!
//! Hues that people with any kind of colour vision tell apart (after Okabe and Ito), darkened for light paper and lightened for dark
//! paper until each stands out against it by at least 3 : 1. Dashes and signs say the same again without colour.

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Text,
    Faint,
    Grid,
    Paper,
    Series(usize),
    Heat,
}

/// The name of each colour, and the colour on light and on dark paper.
const COLORS: [(&str, [&str; 2]); 11] = [
    ("text", ["#1c2330", "#e8ecf2"]),
    ("faint", ["#596273", "#a5afbd"]),
    ("grid", ["#dfe4ea", "#343c48"]),
    ("paper", ["#ffffff", "#1a1f27"]),
    ("heat", ["#0b558f", "#7cc4f2"]),
    ("series-0", ["#0067a5", "#5cb6ec"]),
    ("series-1", ["#c04a00", "#ff935c"]),
    ("series-2", ["#00795a", "#3acb9f"]),
    ("series-3", ["#a23f7a", "#eb9dc8"]),
    ("series-4", ["#8a6100", "#e4ba45"]),
    ("series-5", ["#525b69", "#b4bdc9"]),
];
/// The colours that series have in turn.
const N_SERIES: usize = 6;

impl Ink {
    fn index(self) -> usize {
        match self {
            Self::Text => 0,
            Self::Faint => 1,
            Self::Grid => 2,
            Self::Paper => 3,
            Self::Heat => 4,
            Self::Series(style) => COLORS.len() - N_SERIES + style % N_SERIES,
        }
    }

    /// The CSS variable of its colour.
    pub(crate) fn variable(self) -> String {
        format!("--{}", COLORS[self.index()].0)
    }
}

/// Colours for one kind of paper.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Palette {
    Light,
    Dark,
}

impl Palette {
    pub(crate) fn color(self, ink: Ink) -> &'static str {
        COLORS[ink.index()].1[self as usize]
    }

    /// The colours as CSS variables.
    pub(crate) fn css(self) -> String {
        COLORS.iter().map(|(name, colors)| format!("--{name}:{};", colors[self as usize])).collect()
    }
}

/// Lengths of dashes and gaps. Five patterns and six colours: thirty series that differ.
pub(super) fn dashes(style: usize) -> &'static [f32] {
    const PATTERNS: [&[f32]; 5] = [&[], &[7.0, 3.0], &[2.0, 2.5], &[9.0, 3.0, 2.0, 3.0], &[4.0, 4.0]];
    PATTERNS[style % PATTERNS.len()]
}

/// The corners of a series' sign around its middle; none for a circle.
pub(super) fn corners(style: usize) -> &'static [[f64; 2]] {
    const SIGNS: [&[[f64; 2]]; 4] = [
        &[],
        &[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
        &[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
        &[[0.0, -1.25], [1.25, 0.0], [0.0, 1.25], [-1.25, 0.0]],
    ];
    SIGNS[style % SIGNS.len()]
}

/// Red, green and blue of a colour such as `#0067a5`.
pub(super) fn channels(color: &str) -> [u8; 3] {
    let channel = |index: usize| {
        let digits = color.get(1 + 2 * index..3 + 2 * index);
        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or(0)
    };
    [channel(0), channel(1), channel(2)]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// As WCAG defines it.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |color: &str| {
            let linear = channels(color).map(|channel| {
                let c = f64::from(channel) / 255.0;
                if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn colours_stand_out_on_their_paper() {
        for palette in [Palette::Light, Palette::Dark] {
            let paper = palette.color(Ink::Paper);
            for (ink, least) in [(Ink::Text, 7.0), (Ink::Faint, 4.5), (Ink::Heat, 4.5)] {
                assert!(contrast(palette.color(ink), paper) >= least, "{ink:?}");
            }
            for style in 0..N_SERIES {
                assert!(contrast(palette.color(Ink::Series(style)), paper) >= 3.0, "{style}");
            }
        }
    }

    #[test]
    fn many_series_differ_in_colour_or_dashes() {
        let look = |style: usize| (Palette::Light.color(Ink::Series(style)), format!("{:?}", dashes(style)));
        assert_eq!((0..30).map(look).collect::<HashSet<_>>().len(), 30);
    }
}
