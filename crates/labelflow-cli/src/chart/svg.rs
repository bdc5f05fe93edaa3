//! Charts as SVG: on a page, where CSS variables give the colours, or as a file with colours of its own.

use maud::{Markup, html};

use super::drawing::{Anchor, Drawing, Shape, Text};
use super::layout::draw;
use super::palette::{Ink, Palette};
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
pub(crate) fn svg(chart: &Chart, place: SvgPlace) -> Markup {
    let Drawing { width, height, shapes } = draw(chart, place == SvgPlace::File);
    let name = &chart.name;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox=(format_args!("0 0 {width} {height}"))
            role="img" tabindex="0" aria-labelledby=(format_args!("{name}-title {name}-text"))
            font-family="system-ui, sans-serif" {
            title id={ (name) "-title" } { (chart.title) }
            desc id={ (name) "-text" } { (chart.description) }
            @if place == SvgPlace::File {
                rect width=(width) height=(height) fill=(Palette::Light.color(Ink::Paper)) {}
            }
            @for shape in &shapes { "\n" (shape_svg(shape, place)) }
        }
        "\n"
    }
}

fn shape_svg(shape: &Shape, place: SvgPlace) -> Markup {
    let color = |ink: &Ink| match place {
        SvgPlace::Page => format!("var({})", ink.variable()),
        SvgPlace::File => Palette::Light.color(*ink).to_owned(),
    };
    // Marks are found by their class, and quiet ones are hidden by it.
    let class =
        |value: &Option<String>, is_quiet: bool| value.as_ref().map(|_| if is_quiet { "mark quiet" } else { "mark" });
    html! {
        @match shape {
            Shape::Line { points, ink, width, dashes } => {
                @let dashes = dashes.iter().map(f32::to_string).collect::<Vec<_>>().join(" ");
                path d=(path(points)) fill="none" stroke=(color(ink)) stroke-width=(width)
                    stroke-linejoin="round" stroke-dasharray=[(!dashes.is_empty()).then_some(dashes)] {}
            }
            Shape::Area { points, ink, opacity, value } => {
                path class=[class(value, false)] d={ (path(points)) "Z" } fill=(color(ink))
                    fill-opacity=(format_args!("{opacity:.3}")) {
                    @if let Some(value) = value { title { (value) } }
                }
            }
            // What nobody can point at is not in a file.
            Shape::Circle { is_quiet: true, .. } if place == SvgPlace::File => {}
            Shape::Circle { middle, radius, ink, value, is_quiet } => {
                @let [x, y] = middle.map(round);
                circle class=[class(value, *is_quiet)] cx=(x) cy=(y) r=(radius) fill=(color(ink)) {
                    @if let Some(value) = value { title { (value) } }
                }
            }
            Shape::Text(Text { at, text, size, ink, anchor, is_upright, is_bold }) => {
                @let [x, y] = at.map(round);
                @let turn = is_upright.then(|| format!("rotate(-90 {x} {y})"));
                @let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                text x=(x) y=(y) font-size=(size) text-anchor=(anchor) fill=(color(ink))
                    transform=[turn] font-weight=[is_bold.then_some("600")] { (text) }
            }
        }
    }
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

/// Markup as text. Control characters, which XML has no place for, become blanks.
pub(crate) fn printable(markup: Markup) -> String {
    let is_unprintable = |sign: char| (sign.is_control() && sign != '\n') || matches!(sign, '\u{fffe}' | '\u{ffff}');
    markup.into_string().replace(is_unprintable, " ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::curve;
    use super::super::{Axis, Chart, DataTable, Key, Mark, Symbol};
    use super::*;

    fn text(chart: &Chart, place: SvgPlace) -> String {
        printable(svg(chart, place))
    }

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
        let mut chart = Chart::of_curves("c", "A < B & \"C\"", "x", "y", &[curve("<i>", [[0.0, 1.0], [2.0, 3.0]])]);
        let value = "'</title>'".to_owned();
        chart.marks.extend([
            Mark::Guide { from: [0.0, 0.0], to: [1.0, 1.0] },
            Mark::Area { points: vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], style: 1 },
            Mark::Bar { x: [0.0, 1.0], y: [0.0, 2.0], style: 2, value: value.clone() },
            Mark::Cell { column: 0, row: 0, share: f64::NAN, text: "1".to_owned(), value: value.clone() },
        ]);
        for style in 0..5 {
            chart.marks.push(Mark::Point { at: [1.0, 2.0], style, value: value.clone(), is_quiet: false });
            let symbol = [Symbol::Line, Symbol::Point, Symbol::Bar][style % 3];
            chart.legend.push(Key { text: "\u{1}<b>".to_owned() + &"long ".repeat(style * 5), style, symbol });
        }
        chart
    }

    #[test]
    fn every_mark_is_well_formed() {
        for place in [SvgPlace::Page, SvgPlace::File] {
            let svg = text(&everything(), place);
            assert_well_formed(&svg);
            for part in
                ["role=\"img\"", "tabindex=\"0\"", "<title id=\"c-title\">A &lt; B", "<desc id=", "class=\"mark\""]
            {
                assert!(svg.contains(part), "no {part} in {svg}");
            }
            assert!(!svg.contains("<b>") && !svg.contains('\u{1}'));
        }
    }

    #[test]
    fn files_have_colours_of_their_own_and_pages_those_of_the_reader() {
        let file = text(&everything(), SvgPlace::File);
        assert!(file.contains(Palette::Light.color(Ink::Series(0))) && !file.contains("var("));
        assert!(!file.contains("quiet"));
        let page = text(&everything(), SvgPlace::Page);
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
            let svg = text(&chart, SvgPlace::Page);
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
                height: 100.0,
                data: DataTable::default(),
                ..everything()
            };
            assert_well_formed(&text(&chart, SvgPlace::File));
        }
    }
}
