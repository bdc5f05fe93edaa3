//! Charts as SVG: on a page, where CSS variables give the colours, or as a file with colours of its own.

use std::fmt::Write;

use super::Chart;
use super::drawing::{Anchor, Drawing, Shape, Text};
use super::layout::draw;
use super::palette::{Ink, Palette, variable};

/// Where the SVG will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SvgPlace {
    /// Part of a page, which has the title and the colours.
    Page,
    /// A file of its own, on light paper.
    File,
}

/// A chart as SVG.
pub(crate) fn svg(chart: &Chart, place: SvgPlace) -> String {
    let drawing = draw(chart, place == SvgPlace::File);
    let Drawing { width, height, .. } = drawing;
    let (name, title, text) =
        (escape(&chart.name), escape(&chart.title), escape(&chart.description));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         tabindex=\"0\" aria-labelledby=\"{name}-title {name}-text\" font-family=\"system-ui, sans-serif\">\n\
         <title id=\"{name}-title\">{title}</title>\n<desc id=\"{name}-text\">{text}</desc>\n"
    );
    if place == SvgPlace::File {
        let paper = Palette::LIGHT.paper;
        line(
            &mut svg,
            format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>"),
        );
    }
    for shape in &drawing.shapes {
        // What nobody can point at is not in a file.
        let is_hidden = matches!(shape, Shape::Circle { is_quiet: true, .. });
        if place == SvgPlace::Page || !is_hidden {
            write_shape(&mut svg, shape, place);
        }
    }
    svg + "</svg>\n"
}

fn line(svg: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(svg, "{text}").expect("text can be written to a string");
}

fn write_shape(svg: &mut String, shape: &Shape, place: SvgPlace) {
    let color = |ink: Ink| match place {
        SvgPlace::Page => format!("var({})", variable(ink)),
        SvgPlace::File => Palette::LIGHT.color(ink).to_owned(),
    };
    match shape {
        Shape::Line { points, ink, width, dashes } => {
            let color = color(*ink);
            let dashes = dashes.iter().map(f32::to_string).collect::<Vec<_>>().join(" ");
            let dashes = match dashes.is_empty() {
                true => String::new(),
                false => format!(" stroke-dasharray=\"{dashes}\""),
            };
            let d = path(points);
            line(
                svg,
                format_args!(
                    "<path d=\"{d}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" \
                     stroke-linejoin=\"round\"{dashes}/>"
                ),
            );
        }
        Shape::Area { points, ink, opacity, value } => {
            let (color, d) = (color(*ink), path(points));
            let (class, title) = (class(value, false), title(value));
            line(
                svg,
                format_args!(
                    "<path{class} d=\"{d}Z\" fill=\"{color}\" fill-opacity=\"{opacity:.3}\">{title}</path>"
                ),
            );
        }
        Shape::Circle { middle, radius, ink, value, is_quiet } => {
            let color = color(*ink);
            let [x, y] = middle.map(round);
            let (class, title) = (class(value, *is_quiet), title(value));
            line(
                svg,
                format_args!(
                    "<circle{class} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{color}\">{title}</circle>"
                ),
            );
        }
        Shape::Text(text) => write_text(svg, text, &color(text.ink)),
    }
}

fn write_text(svg: &mut String, text: &Text, color: &str) {
    let [x, y] = text.at.map(round);
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let turn =
        if text.is_upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let bold = if text.is_bold { " font-weight=\"600\"" } else { "" };
    let (size, content) = (text.size, escape(&text.text));
    line(
        svg,
        format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{color}\"{turn}{bold}>{content}</text>"
        ),
    );
}

/// Marks are found by their class, and quiet ones are hidden by it.
fn class(value: &Option<String>, is_quiet: bool) -> &'static str {
    match (value, is_quiet) {
        (None, _) => "",
        (Some(_), false) => " class=\"mark\"",
        (Some(_), true) => " class=\"mark quiet\"",
    }
}

fn title(value: &Option<String>) -> String {
    value.as_ref().map_or_else(String::new, |value| format!("<title>{}</title>", escape(value)))
}

fn path(points: &[[f64; 2]]) -> String {
    let place = |(index, point): (usize, &[f64; 2])| {
        let [x, y] = point.map(round);
        format!("{}{x} {y}", if index == 0 { 'M' } else { 'L' })
    };
    points.iter().enumerate().map(place).collect()
}

/// Tenths of a pixel are enough.
fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Text that HTML and XML read as text. Control characters, which XML has no place for, become blanks.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            sign if sign.is_control() || matches!(sign, '\u{fffe}' | '\u{ffff}') => {
                escaped.push(' ')
            }
            sign => escaped.push(sign),
        }
    }
    escaped
}
