//! Letters for captions, drawn as lines: letters, digits and a few signs on a grid of 5 by 7, with two more rows below for descenders.

use super::cloud_tile::Rgb;

/// A picture that text is drawn on.
#[derive(Debug)]
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<Rgb>,
}

/// The distance of two grid lines in pixels.
const UNIT: f32 = 1.75;
/// From the start of a letter to that of the next.
const ADVANCE: f32 = 5.6 * UNIT;
/// Half the width of a line.
const PEN: f32 = 0.7;
/// The height of a letter in pixels.
pub(crate) const LETTER_HEIGHT: f32 = 6.0 * UNIT;

/// A line for each sign, or for several that look the same: the signs, then their lines.
const SIGNS: &str = include_str!("stroke_font.txt");
/// What stands for a sign that is not known.
const BOX: &str = "1016363010";

/// The lines of a sign: grid places as column and row, one line after the other. What is not known is shown as a box.
fn lines(sign: char) -> &'static str {
    if sign == ' ' {
        return "";
    }
    let mut known = SIGNS.lines().filter_map(|line| line.split_once(' '));
    known.find(|(signs, _)| signs.contains(sign)).map_or(BOX, |(_, lines)| lines)
}

/// A sign as lines, for whoever draws text where there is no font.
#[derive(Debug, Clone, PartialEq)]
pub struct StrokeLetter {
    /// Points to be joined one after the other, x from left to right and y from the top of capitals (0) down to the line on which they
    /// stand (6) and below it (8). A line of two equal points is a dot.
    pub lines: Vec<Vec<[f32; 2]>>,
    /// How far the sign reaches to the right, on the same scale.
    pub width: f32,
}

/// The lines of a sign, moved so that they start at the left. What is not known is a box, a blank has no lines.
///
/// ```
/// let letter = labelflow_clouds::pictures::stroke_letter('l');
/// assert_eq!((letter.width, letter.lines.len()), (0.0, 1));
/// ```
pub fn stroke_letter(sign: char) -> StrokeLetter {
    let mut lines: Vec<Vec<[f32; 2]>> = grid_lines(sign).collect();
    let columns = || lines.iter().flatten().map(|place| place[0]);
    let left = columns().reduce(f32::min).unwrap_or(0.0);
    let width = columns().reduce(f32::max).map_or(2.0, |right| right - left);
    lines.iter_mut().flatten().for_each(|place| place[0] -= left);
    StrokeLetter { lines, width }
}

/// The lines of a sign as places on the grid.
fn grid_lines(sign: char) -> impl Iterator<Item = Vec<[f32; 2]>> {
    let place = |pair: &[u8]| [f32::from(pair[0] - b'0'), f32::from(pair[1] - b'0')];
    let lines = lines(sign).split_ascii_whitespace();
    lines.map(move |line| line.as_bytes().chunks(2).map(place).collect())
}

impl Canvas {
    /// Writes text whose top left corner is at (`x`, `y`). Text wider than `width` is cut, and two dots say so.
    pub(crate) fn write(&mut self, text: &str, [x, y]: [f32; 2], width: f32, color: Rgb) {
        let most = (width / ADVANCE) as usize;
        let n_signs = text.chars().count();
        let n_kept = if n_signs <= most { n_signs } else { most.saturating_sub(2) };
        let dots = if n_signs <= most { "" } else { ".." };
        for (index, sign) in text.chars().take(n_kept).chain(dots.chars()).enumerate() {
            let left = x + index as f32 * ADVANCE;
            let pixel = |place: [f32; 2]| [left + place[0] * UNIT, y + place[1] * UNIT];
            for line in grid_lines(sign) {
                line.windows(2).for_each(|ends| self.draw_line(pixel(ends[0]), pixel(ends[1]), color));
            }
        }
    }

    fn draw_line(&mut self, from: [f32; 2], to: [f32; 2], color: Rgb) {
        let range = |axis: usize, length: usize| {
            let first = (from[axis].min(to[axis]) - PEN - 1.0).max(0.0) as usize;
            first..((from[axis].max(to[axis]) + PEN + 2.0).max(0.0) as usize).min(length)
        };
        for row in range(1, self.height) {
            for column in range(0, self.width) {
                let cover = (PEN + 0.5 - distance([column as f32, row as f32], from, to)).clamp(0.0, 1.0);
                let pixel = &mut self.pixels[row * self.width + column];
                *pixel = std::array::from_fn(|channel| {
                    let old = f32::from(pixel[channel]);
                    (old + cover * (f32::from(color[channel]) - old)).round() as u8
                });
            }
        }
    }
}

/// How far a point is from a line between two others.
fn distance(point: [f32; 2], from: [f32; 2], to: [f32; 2]) -> f32 {
    let along: [f32; 2] = [to[0] - from[0], to[1] - from[1]];
    let offset: [f32; 2] = [point[0] - from[0], point[1] - from[1]];
    let length = (along[0] * along[0] + along[1] * along[1]).max(1e-9);
    let share = ((offset[0] * along[0] + offset[1] * along[1]) / length).clamp(0.0, 1.0);
    let (dx, dy) = (offset[0] - share * along[0], offset[1] - share * along[1]);
    (dx * dx + dy * dy).sqrt()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn written(text: &str, width: f32) -> Vec<Rgb> {
        let mut canvas = Canvas { width: 80, height: 16, pixels: vec![[255; 3]; 80 * 16] };
        canvas.write(text, [2.0, 2.0], width, [0; 3]);
        canvas.pixels
    }

    #[test]
    fn signs_differ_and_lie_on_the_grid() {
        let signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz123456789-_.,:;/()+='\"<>[]&!?#@~%*|−±×·…é";
        let different: HashSet<&str> = signs.chars().map(lines).collect();
        assert_eq!(different.len(), signs.chars().count());
        for sign in signs.chars() {
            for line in lines(sign).split(' ') {
                assert!(line.len() % 2 == 0 && line.len() >= 4, "{sign}");
                assert!(line.bytes().step_by(2).all(|column| (b'0'..=b'4').contains(&column)), "{sign}");
                assert!(line.bytes().skip(1).step_by(2).all(|row| (b'0'..=b'8').contains(&row)), "{sign}");
            }
        }
    }

    #[test]
    fn letters_start_at_the_left() {
        let letter = stroke_letter('i');
        assert_eq!(letter.lines, [[[0.0, 2.0], [0.0, 6.0]], [[0.0, 0.0], [0.0, 0.0]]]);
        assert_eq!(stroke_letter('n').width, 4.0);
        assert_eq!((stroke_letter(' ').width, stroke_letter(' ').lines.len()), (2.0, 0));
    }

    #[test]
    fn long_text_is_cut_and_never_leaves_the_canvas() {
        assert_ne!(written("chair", 80.0), written("", 80.0));
        assert_ne!(written("chair", 80.0), written("CHAIR", 80.0));
        assert_eq!(written("chairs in a row", 40.0), written("ch..", 80.0));
        assert_eq!(written("a", 3.0), written("..", 80.0));
        written(&"é漢\u{202e}".repeat(50), 1e4);
    }
}
