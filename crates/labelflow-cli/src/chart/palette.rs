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

/// Colours for one kind of paper.
#[derive(Debug)]
pub(crate) struct Palette {
    pub(crate) text: &'static str,
    pub(crate) faint: &'static str,
    pub(crate) grid: &'static str,
    pub(crate) paper: &'static str,
    pub(crate) series: [&'static str; 6],
    pub(crate) heat: &'static str,
}

impl Palette {
    pub(crate) const LIGHT: Self = Self {
        text: "#1c2330",
        faint: "#596273",
        grid: "#dfe4ea",
        paper: "#ffffff",
        series: ["#0067a5", "#c04a00", "#00795a", "#a23f7a", "#8a6100", "#525b69"],
        heat: "#0b558f",
    };
    pub(crate) const DARK: Self = Self {
        text: "#e8ecf2",
        faint: "#a5afbd",
        grid: "#343c48",
        paper: "#1a1f27",
        series: ["#5cb6ec", "#ff935c", "#3acb9f", "#eb9dc8", "#e4ba45", "#b4bdc9"],
        heat: "#7cc4f2",
    };

    pub(crate) fn color(&self, ink: Ink) -> &'static str {
        match ink {
            Ink::Text => self.text,
            Ink::Faint => self.faint,
            Ink::Grid => self.grid,
            Ink::Paper => self.paper,
            Ink::Series(style) => self.series[style % self.series.len()],
            Ink::Heat => self.heat,
        }
    }

    /// The colours as CSS variables.
    pub(crate) fn css(&self) -> String {
        let inks = [Ink::Text, Ink::Faint, Ink::Grid, Ink::Paper, Ink::Heat];
        let inks = inks.into_iter().chain((0..self.series.len()).map(Ink::Series));
        inks.map(|ink| format!("{}:{};", variable(ink), self.color(ink))).collect()
    }
}

/// The CSS variable of a colour.
pub(crate) fn variable(ink: Ink) -> String {
    match ink {
        Ink::Text => "--text".to_owned(),
        Ink::Faint => "--faint".to_owned(),
        Ink::Grid => "--grid".to_owned(),
        Ink::Paper => "--paper".to_owned(),
        Ink::Series(style) => format!("--series-{}", style % Palette::LIGHT.series.len()),
        Ink::Heat => "--heat".to_owned(),
    }
}

/// Lengths of dashes and gaps. Five patterns and six colours: thirty series that differ.
pub(super) fn dashes(style: usize) -> &'static [f32] {
    const PATTERNS: [&[f32]; 5] =
        [&[], &[7.0, 3.0], &[2.0, 2.5], &[9.0, 3.0, 2.0, 3.0], &[4.0, 4.0]];
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
        for palette in [Palette::LIGHT, Palette::DARK] {
            for (color, least) in [(palette.text, 7.0), (palette.faint, 4.5), (palette.heat, 4.5)] {
                assert!(contrast(color, palette.paper) >= least, "{color}");
            }
            for color in palette.series {
                assert!(contrast(color, palette.paper) >= 3.0, "{color}");
            }
        }
    }

    #[test]
    fn many_series_differ_in_colour_or_dashes() {
        let look = |style: usize| {
            (Palette::LIGHT.color(Ink::Series(style)), format!("{:?}", dashes(style)))
        };
        assert_eq!((0..30).map(look).collect::<HashSet<_>>().len(), 30);
    }
}
