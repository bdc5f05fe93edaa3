//! From a chart to shapes: legend above, axes around, marks within.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing, Shape, Text, fitting, fitting_ends, text_width};
use super::palette::{Ink, corners, dashes};
use crate::chart::{Chart, Key, Mark, Symbol};

/// The width of every chart.
const WIDTH: f64 = 400.0;
/// The size of letters; on a phone a chart is shrunk to about three quarters.
const LETTERS: f64 = 13.0;
const TITLE_LETTERS: f64 = 15.0;
/// Around everything.
const MARGIN: f64 = 8.0;
/// The height of a line of the legend.
const LINE: f64 = 20.0;
/// Between an axis and its numbers.
const GAP: f64 = 7.0;
/// The room for names beside an axis.
const NAMES: f64 = 120.0;
/// Half the size of a sign.
const SIGN: f64 = 4.2;
/// Cells narrower than this have no text.
const NARROWEST_TEXT: f64 = 30.0;

/// Where the marks are.
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// A chart as shapes, with its title above it or without.
pub(super) fn draw(chart: &Chart, with_title: bool) -> Drawing {
    let mut shapes = Vec::new();
    let mut top = MARGIN;
    if with_title {
        let title = fitting(&chart.title, TITLE_LETTERS, WIDTH - 2.0 * MARGIN);
        let title = text([MARGIN, top + TITLE_LETTERS], &title, Ink::Text, Anchor::Start);
        shapes.push(Shape::Text(Text { size: TITLE_LETTERS, is_bold: true, ..title }));
        top += TITLE_LETTERS + 12.0;
    }
    top = draw_legend(&chart.legend, top, &mut shapes);
    let ticks = [chart.x.ticks(), chart.y.ticks()];
    let widest = |ticks: &[(f64, String)]| {
        ticks.iter().map(|(_, text)| text_width(text, LETTERS)).fold(0.0, f64::max).min(NAMES)
    };
    let left = MARGIN + label_room(&chart.y) + widest(&ticks[1]) + GAP;
    let right = WIDTH - MARGIN - 10.0;
    // Names that do not fit side by side run upwards.
    let is_upright = chart.x.has_names() && widest(&ticks[0]) + 6.0 > (right - left) / ticks[0].len().max(1) as f64;
    let plot = Plot { left, right, top: top + 4.0, bottom: top + 4.0 + chart.height };
    let below = if is_upright { widest(&ticks[0]) } else { LETTERS };
    draw_axes(chart, &plot, &ticks, is_upright, below, &mut shapes);
    for mark in &chart.marks {
        draw_mark(chart, &plot, mark, &mut shapes);
    }
    if chart.is_empty() {
        let middle = [(plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0];
        let nothing = text(middle, "nothing to show", Ink::Faint, Anchor::Middle);
        shapes.push(Shape::Text(nothing));
    }
    let height = plot.bottom + GAP + below + label_room(&chart.x) + MARGIN;
    Drawing { width: WIDTH, height: height.ceil(), shapes }
}

fn label_room(axis: &Axis) -> f64 {
    if axis.label.is_empty() { 0.0 } else { LETTERS + 6.0 }
}

fn text(at: [f64; 2], text: &str, ink: Ink, anchor: Anchor) -> Text {
    Text { at, text: text.to_owned(), size: LETTERS, ink, anchor, is_upright: false, is_bold: false }
}

/// Draws as many keys a line as fit, and says where the next line would be.
fn draw_legend(legend: &[Key], top: f64, shapes: &mut Vec<Shape>) -> f64 {
    const SYMBOL: f64 = 26.0;
    if legend.is_empty() {
        return top;
    }
    let (mut x, mut y) = (MARGIN, top);
    for key in legend {
        let name = fitting(&key.text, LETTERS, WIDTH - 2.0 * MARGIN - SYMBOL);
        let width = SYMBOL + text_width(&name, LETTERS) + 14.0;
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + LINE);
        }
        let middle = y + LINE / 2.0;
        let ink = Ink::Series(key.style);
        match key.symbol {
            Symbol::Line => {
                let ends = vec![[x, middle], [x + SYMBOL - 6.0, middle]];
                shapes.push(line(ends, ink, 2.2, dashes(key.style)));
            }
            Symbol::Point => shapes.push(sign([x + 9.0, middle], key.style, None, false)),
            Symbol::Bar => {
                let points = rectangle([x + 2.0, x + 16.0], [middle - 5.0, middle + 5.0]);
                shapes.push(Shape::Area { points, ink, opacity: 1.0, value: None });
            }
        }
        let place = [x + SYMBOL, middle + LETTERS * 0.35];
        shapes.push(Shape::Text(text(place, &name, Ink::Text, Anchor::Start)));
        x += width;
    }
    y + LINE + 8.0
}

fn draw_axes(
    chart: &Chart,
    plot: &Plot,
    ticks: &[Vec<(f64, String)>; 2],
    is_upright: bool,
    below: f64,
    shapes: &mut Vec<Shape>,
) {
    let mut grid = |from: [f64; 2], to: [f64; 2]| {
        shapes.push(line(vec![from, to], Ink::Grid, 1.0, &[]));
    };
    if !chart.y.has_names() {
        for (share, _) in &ticks[1] {
            let y = plot.y(*share, chart);
            grid([plot.left, y], [plot.right, y]);
        }
    }
    if chart.y.has_names() && !chart.x.has_names() {
        for (share, _) in &ticks[0] {
            let x = plot.x(*share);
            grid([x, plot.top], [x, plot.bottom]);
        }
    }
    let widest = ticks[0].iter().map(|(_, name)| text_width(name, LETTERS)).fold(1.0, f64::max);
    let needed = if is_upright { LETTERS } else { widest.min(NAMES) + 6.0 };
    for (share, name) in spaced(&ticks[0], plot.right - plot.left, needed) {
        let x = plot.x(*share);
        let name = fitting_ends(name, LETTERS, NAMES);
        let place = match is_upright {
            true => [x + LETTERS * 0.35, plot.bottom + GAP],
            false => [x, plot.bottom + GAP + LETTERS * 0.85],
        };
        let anchor = if is_upright { Anchor::End } else { Anchor::Middle };
        let name = text(place, &name, Ink::Faint, anchor);
        shapes.push(Shape::Text(Text { is_upright, ..name }));
    }
    for (share, name) in spaced(&ticks[1], plot.bottom - plot.top, LETTERS) {
        let place = [plot.left - GAP, plot.y(*share, chart) + LETTERS * 0.35];
        let name = fitting_ends(name, LETTERS, NAMES);
        shapes.push(Shape::Text(text(place, &name, Ink::Faint, Anchor::End)));
    }
    let middle = [(plot.left + plot.right) / 2.0, (plot.top + plot.bottom) / 2.0];
    if !chart.x.label.is_empty() {
        let place = [middle[0], plot.bottom + GAP + below + LETTERS + 4.0];
        shapes.push(Shape::Text(text(place, &chart.x.label, Ink::Text, Anchor::Middle)));
    }
    if !chart.y.label.is_empty() {
        let place = [MARGIN + LETTERS * 0.8, middle[1]];
        let label = text(place, &chart.y.label, Ink::Text, Anchor::Middle);
        shapes.push(Shape::Text(Text { is_upright: true, ..label }));
    }
}

/// The ticks that do not run into each other when each needs so much room.
fn spaced(ticks: &[(f64, String)], room: f64, needed: f64) -> impl Iterator<Item = &(f64, String)> {
    let most = (room / needed).max(1.0) as usize;
    // Numbers have ticks at both ends, so that there is one more of them than there are gaps.
    let every = ticks.len().saturating_sub(1).div_ceil(most).max(1);
    ticks.iter().step_by(every)
}

fn draw_mark(chart: &Chart, plot: &Plot, mark: &Mark, shapes: &mut Vec<Shape>) {
    let at = |place: &[f64; 2]| [plot.x(chart.x.place(place[0])), plot.y(chart.y.place(place[1]), chart)];
    let all = |points: &[[f64; 2]]| points.iter().map(at).collect::<Vec<_>>();
    match mark {
        Mark::Line { points, style } => {
            shapes.push(line(all(points), Ink::Series(*style), 2.0, dashes(*style)));
        }
        Mark::Guide { from, to } => {
            shapes.push(line(all(&[*from, *to]), Ink::Faint, 1.2, &[4.0, 4.0]));
        }
        Mark::Area { points, style } => {
            let (points, ink) = (all(points), Ink::Series(*style));
            shapes.push(Shape::Area { points, ink, opacity: 0.18, value: None });
        }
        Mark::Bar { x, y, style, value } => {
            let (from, to) = (at(&[x[0], y[0]]), at(&[x[1], y[1]]));
            // A bar of nothing is still a line that can be found.
            let thick = |a: f64, b: f64| if (a - b).abs() < 1.0 { [a - 0.5, a + 0.5] } else { [a, b] };
            let points = rectangle(thick(from[0], to[0]), thick(from[1], to[1]));
            let (ink, value) = (Ink::Series(*style), Some(value.clone()));
            shapes.push(Shape::Area { points, ink, opacity: 1.0, value });
        }
        Mark::Point { at: place, style, value, is_quiet } => {
            shapes.push(sign(at(place), *style, Some(value.clone()), *is_quiet));
        }
        Mark::Cell { column, row, share, text: shown, value } => {
            let from = at(&[*column as f64, *row as f64]);
            let to = at(&[*column as f64 + 1.0, *row as f64 + 1.0]);
            let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
            let points = rectangle([from[0] + 0.5, to[0] - 0.5], [from[1] + 0.5, to[1] - 0.5]);
            let (opacity, value) = (0.04 + 0.92 * share, Some(value.clone()));
            shapes.push(Shape::Area { points, ink: Ink::Heat, opacity, value });
            let width = to[0] - from[0];
            if width >= NARROWEST_TEXT && text_width(shown, LETTERS) <= width {
                let middle = [(from[0] + to[0]) / 2.0, (from[1] + to[1]) / 2.0 + LETTERS * 0.35];
                let ink = if share > 0.65 { Ink::Paper } else { Ink::Text };
                shapes.push(Shape::Text(text(middle, shown, ink, Anchor::Middle)));
            }
        }
    }
}

impl Plot {
    fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    /// Numbers grow upwards; names are read downwards.
    fn y(&self, share: f64, chart: &Chart) -> f64 {
        let share = if chart.y.has_names() { 1.0 - share } else { share };
        self.bottom - share * (self.bottom - self.top)
    }
}

fn line(points: Vec<[f64; 2]>, ink: Ink, width: f64, dashes: &'static [f32]) -> Shape {
    Shape::Line { points, ink, width, dashes }
}

fn rectangle(x: [f64; 2], y: [f64; 2]) -> Vec<[f64; 2]> {
    vec![[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]]
}

/// The sign of a series; quiet ones are all circles.
fn sign(middle: [f64; 2], style: usize, value: Option<String>, is_quiet: bool) -> Shape {
    let ink = Ink::Series(style);
    let corners = corners(style);
    if corners.is_empty() || is_quiet {
        return Shape::Circle { middle, radius: SIGN, ink, value, is_quiet };
    }
    let corner = |corner: &[f64; 2]| [middle[0] + SIGN * corner[0], middle[1] + SIGN * corner[1]];
    Shape::Area { points: corners.iter().map(corner).collect(), ink, opacity: 1.0, value }
}
