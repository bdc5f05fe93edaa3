//! Charts as SVG: on a page, where CSS variables give the colours, or as a file with colours of its own.

use std::fmt::Write;

use super::drawing::{Anchor, Drawing, Shape, Text};
use super::layout::draw;
use super::palette::{Ink, Palette, variable};
use crate::chart::Chart;

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

#[cfg(test)]
mod tests {
    use super::super::tests::curve;
    use super::super::{Axis, Chart, ChartSize, DataTable, Key, Mark, Symbol};
    use super::*;

    /// Every tag is closed in its turn, and outside tags there is no bare sign of markup.
    fn assert_well_formed(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = svg;
        while let Some((text, tail)) = rest.split_once('<') {
            assert!(!text.contains('>'), "{text}");
            let (tag, tail) = tail.split_once('>').expect("a tag has an end");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            assert!(!tag.contains("NaN") && !tag.contains("inf"), "{tag}");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{svg}");
            } else if !tag.ends_with('/') {
                open.push(name);
            }
            rest = tail;
        }
        assert_eq!((open.len(), rest.trim()), (0, ""));
    }

    /// One chart with every kind of mark.
    fn everything() -> Chart {
        let mut chart = Chart::of_curves(
            "c",
            "A < B & \"C\"",
            "x",
            "y",
            &[curve("<i>", [[0.0, 1.0], [2.0, 3.0]])],
        );
        let value = "'</title>'".to_owned();
        chart.marks.extend([
            Mark::Guide { from: [0.0, 0.0], to: [1.0, 1.0] },
            Mark::Area { points: vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], style: 1 },
            Mark::Bar { x: [0.0, 1.0], y: [0.0, 2.0], style: 2, value: value.clone() },
            Mark::Cell {
                column: 0,
                row: 0,
                share: f64::NAN,
                text: "1".to_owned(),
                value: value.clone(),
            },
        ]);
        for style in 0..5 {
            chart.marks.push(Mark::Point {
                at: [1.0, 2.0],
                style,
                value: value.clone(),
                is_quiet: false,
            });
            let symbol = [Symbol::Line, Symbol::Point, Symbol::Bar][style % 3];
            chart.legend.push(Key {
                text: "\u{1}<b>".to_owned() + &"long ".repeat(style * 5),
                style,
                symbol,
            });
        }
        chart
    }

    #[test]
    fn every_mark_is_well_formed() {
        for place in [SvgPlace::Page, SvgPlace::File] {
            let svg = svg(&everything(), place);
            assert_well_formed(&svg);
            for part in [
                "role=\"img\"",
                "tabindex=\"0\"",
                "<title id=\"c-title\">A &lt; B",
                "<desc id=",
                "class=\"mark\"",
            ] {
                assert!(svg.contains(part), "no {part} in {svg}");
            }
            assert!(!svg.contains("<b>") && !svg.contains('\u{1}'));
        }
    }

    #[test]
    fn files_have_colours_of_their_own_and_pages_those_of_the_reader() {
        let file = svg(&everything(), SvgPlace::File);
        assert!(file.contains(Palette::LIGHT.series[0]) && !file.contains("var("));
        assert!(!file.contains("quiet"));
        let page = svg(&everything(), SvgPlace::Page);
        assert!(page.contains("var(--series-0)") && page.contains("quiet"));
    }

    #[test]
    fn empty_single_constant_and_odd_data() {
        let many = || (0..5000).map(|index| [f64::from(index), 7.0]);
        for points in [
            vec![],
            vec![[0.0, 1.0]],
            vec![[3.0, f64::NAN]],
            vec![[f64::INFINITY, 1.0], [0.0, -1e308]],
            vec![[0.0, 0.0], [1.0, 0.0]],
            vec![[0.0, 1e-300], [1.0, 1e299]],
            many().collect(),
        ] {
            let chart = Chart::of_curves("c", "t", "x", "y", &[curve("a", points)]);
            let svg = svg(&chart, SvgPlace::Page);
            assert_well_formed(&svg);
            assert_eq!(svg.contains("nothing to show"), chart.is_empty());
            assert!(svg.len() < 40_000, "{}", svg.len());
        }
    }

    #[test]
    fn names_of_any_length_beside_axes() {
        for n_names in [0, 1, 3, 60] {
            let names: Vec<String> = (0..n_names).map(|index| "labeler ".repeat(index)).collect();
            let chart = Chart {
                x: Axis::names("", names.clone()),
                y: Axis::names("names", names),
                size: ChartSize::Height(100.0),
                data: DataTable::default(),
                ..everything()
            };
            assert_well_formed(&svg(&chart, SvgPlace::File));
        }
    }
}
