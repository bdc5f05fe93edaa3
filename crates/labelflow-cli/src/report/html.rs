//! The page as one HTML file: styles and a small script are in it, and nothing is loaded from anywhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::page::{Block, Page, PageTable, Section};
use crate::chart::{Chart, Palette, SvgPlace, printable, svg};

const STYLE: &str = include_str!("page.css");
/// Keys that step through the marks of a chart, and the line that says their values.
const SCRIPT: &str = include_str!("page.js");
/// Whatever a name on the page may hold, nothing is loaded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A whole page.
pub(crate) fn html(page: &Page) -> String {
    let (light, dark) = (Palette::Light.css(), Palette::Dark.css());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                link rel="icon" href="data:,";
                title { "labelflow report" }
                style {
                    ":root { " (light) " }\n"
                    "@media (prefers-color-scheme: dark) { :root { " (dark) " } }\n"
                    (PreEscaped(STYLE))
                }
            }
            body {
                header {
                    h1 { "labelflow report" }
                    @if page.sections.len() > 1 {
                        nav aria-label="Sections" {
                            @for Section { name, title, .. } in &page.sections {
                                a href={ "#" (name) } { (title) } "\n"
                            }
                        }
                    }
                }
                main { @for section in &page.sections { (section_html(section)) } }
                footer { "Written by labelflow " (env!("CARGO_PKG_VERSION")) "." }
                script { "\n" (PreEscaped(SCRIPT)) }
            }
        }
        "\n"
    };
    printable(page)
}

fn section_html(Section { name, title, blocks }: &Section) -> Markup {
    html! {
        "\n"
        section id=(name) aria-labelledby={ (name) "-heading" } {
            h2 id={ (name) "-heading" } { (title) }
            @for block in blocks {
                "\n"
                @match block {
                    Block::Text(text) => { p { (text) } }
                    Block::Heading(text) => { h3 { (text) } }
                    Block::Figures(figures) => {
                        dl class="figures" {
                            @for (name, value) in figures { div { dt { (name) } dd { (value) } } }
                        }
                    }
                    Block::Charts(charts) => {
                        div class="charts" { @for chart in charts { (chart_html(chart)) } }
                    }
                    Block::Table(table) => { (table_html(table)) }
                    Block::Details { summary, table } => { (details_html(summary, table)) }
                }
            }
        }
    }
}

fn chart_html(chart: &Chart) -> Markup {
    let data = PageTable::new(&format!("{}: data", chart.title), chart.data.clone());
    html! {
        "\n"
        figure {
            figcaption { (chart.title) }
            (svg(chart, SvgPlace::Page))
            p class="value" role="status" {}
            (details_html("Data as table", &data))
        }
    }
}

fn details_html(summary: &str, table: &PageTable) -> Markup {
    html! { details { summary { (summary) } (table_html(table)) } }
}

fn table_html(table: &PageTable) -> Markup {
    let is_text: Vec<bool> = (0..table.header.len()).map(|column| holds_text(table, column)).collect();
    let class = |column: usize| is_text.get(column).is_some_and(|is| *is).then_some("text");
    html! {
        // Who uses keys alone must be able to reach what is to be scrolled.
        div class="scroll" tabindex="0" role="region" aria-label=(table.caption) {
            table {
                thead {
                    tr {
                        @for (column, name) in table.header.iter().enumerate() {
                            th scope="col" class=[class(column)] { (name) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        "\n"
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @let content = html! {
                                    @if cell.is_bold { strong { (cell.text) } } @else { (cell.text) }
                                    @for remark in &cell.remarks { small { (remark) } }
                                };
                                @if column == 0 { th scope="row" class=[class(column)] { (content) } }
                                @else { td class=[class(column)] { (content) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether a column has something else than numbers; the first column has names.
fn holds_text(table: &PageTable, column: usize) -> bool {
    let is_number = |text: &str| {
        let text = text.trim_start_matches(['−', '–', '-', '+']);
        text.is_empty() || text.starts_with(|sign: char| sign.is_ascii_digit())
    };
    let cells = table.rows.iter().filter_map(|row| row.get(column));
    column == 0 || cells.into_iter().any(|cell| !is_number(&cell.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Curve, DataTable};

    const NASTY: &str = "</script><img src=x onerror=\"alert('1')\"> & more";

    #[test]
    fn text_of_users_is_never_markup() {
        let curve = Curve { name: NASTY.to_owned(), points: vec![[0.0, 1.0], [1.0, 2.0]] };
        let chart = Chart::of_curves(NASTY, NASTY, NASTY, NASTY, &[curve.clone(), curve]);
        let table = PageTable::new(NASTY, DataTable::new([NASTY], vec![vec![NASTY.to_owned()]]));
        let blocks = vec![
            Block::Text(NASTY.to_owned()),
            Block::Heading(NASTY.to_owned()),
            Block::Figures(vec![(NASTY, NASTY.to_owned())]),
            Block::Charts(vec![chart]),
            Block::Table(table.clone()),
            Block::Details { summary: NASTY.to_owned(), table },
        ];
        let page = Page { sections: vec![Section { name: "a", title: "A", blocks }] };
        let html = html(&page.with_unique_names());
        assert!(!html.contains("<img"), "{html}");
        assert_eq!(html.matches("</script>").count(), 1);
        assert_eq!(html.matches("<script>").count(), 1);
        assert!(html.contains("&lt;/script&gt;&lt;img src=x onerror=&quot;alert('1')&quot;&gt; &amp; more"));
    }

    #[test]
    fn nothing_is_loaded() {
        let html = html(&Page::default());
        for word in ["src=", "http://", "https://", "@import", "url("] {
            assert!(!html.contains(word), "{word}");
        }
    }
}
