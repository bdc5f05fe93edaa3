//! The page as one HTML file: styles and a small script are in it, and nothing is loaded from anywhere.

use std::fmt::Write;

use super::page::{Block, Figure, Page, PageCell, PageTable, Section};
use crate::chart::{Chart, Palette, SvgPlace, escape, svg};

const STYLE: &str = include_str!("page.css");
/// Keys that step through the marks of a chart, and the line that says their values.
const SCRIPT: &str = include_str!("page.js");

/// A whole page.
pub(crate) fn html(page: &Page) -> String {
    let mut html = head();
    html += "<header>\n<h1>labelflow report</h1>\n";
    if page.sections.len() > 1 {
        html += "<nav aria-label=\"Sections\">\n";
        for section in &page.sections {
            line(
                &mut html,
                format_args!("<a href=\"#{}\">{}</a>", section.name, escape(section.title)),
            );
        }
        html += "</nav>\n";
    }
    html += "</header>\n<main>\n";
    for section in &page.sections {
        write_section(&mut html, section);
    }
    let version = env!("CARGO_PKG_VERSION");
    html += "</main>\n";
    line(&mut html, format_args!("<footer>Written by labelflow {version}.</footer>"));
    line(&mut html, format_args!("<script>\n{SCRIPT}</script>\n</body>\n</html>"));
    html
}

fn head() -> String {
    let (light, dark) = (Palette::LIGHT.css(), Palette::DARK.css());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>labelflow report</title>\n<style>\n:root {{ {light} }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{STYLE}</style>\n</head>\n<body>\n"
    )
}

fn line(html: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(html, "{text}").expect("text can be written to a string");
}

fn write_section(html: &mut String, section: &Section) {
    let (name, title) = (section.name, escape(section.title));
    line(html, format_args!("<section id=\"{name}\" aria-labelledby=\"{name}-heading\">"));
    line(html, format_args!("<h2 id=\"{name}-heading\">{title}</h2>"));
    for block in &section.blocks {
        match block {
            Block::Text(text) => line(html, format_args!("<p>{}</p>", escape(text))),
            Block::Heading(text) => line(html, format_args!("<h3>{}</h3>", escape(text))),
            Block::Figures(figures) => write_figures(html, figures),
            Block::Charts(charts) => {
                html.push_str("<div class=\"charts\">\n");
                charts.iter().for_each(|chart| write_chart(html, chart));
                html.push_str("</div>\n");
            }
            Block::Table(table) => write_table(html, table),
            Block::Details { summary, table } => write_details(html, summary, table),
        }
    }
    html.push_str("</section>\n");
}

fn write_figures(html: &mut String, figures: &[Figure]) {
    html.push_str("<dl class=\"figures\">\n");
    for figure in figures {
        let (name, value) = (escape(&figure.name), escape(&figure.value));
        line(html, format_args!("<div><dt>{name}</dt><dd>{value}</dd></div>"));
    }
    html.push_str("</dl>\n");
}

fn write_chart(html: &mut String, chart: &Chart) {
    line(html, format_args!("<figure>\n<figcaption>{}</figcaption>", escape(&chart.title)));
    html.push_str(&svg(chart, SvgPlace::Page));
    html.push_str("<p class=\"value\" role=\"status\"></p>\n");
    let table = PageTable::new(&format!("{}: data", chart.title), chart.data.clone());
    write_details(html, "Data as table", &table);
    html.push_str("</figure>\n");
}

fn write_details(html: &mut String, summary: &str, table: &PageTable) {
    line(html, format_args!("<details>\n<summary>{}</summary>", escape(summary)));
    write_table(html, table);
    html.push_str("</details>\n");
}

fn write_table(html: &mut String, table: &PageTable) {
    let caption = escape(&table.caption);
    // Who uses keys alone must be able to reach what is to be scrolled.
    line(
        html,
        format_args!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">"
        ),
    );
    html.push_str("<table>\n<thead><tr>");
    let is_text: Vec<bool> =
        (0..table.header.len()).map(|column| holds_text(table, column)).collect();
    let class = |column: usize| match is_text.get(column) {
        Some(true) => " class=\"text\"",
        _ => "",
    };
    for (column, name) in table.header.iter().enumerate() {
        html.push_str(&format!("<th scope=\"col\"{}>{}</th>", class(column), escape(name)));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let (class, content) = (class(column), cell_html(cell));
            html.push_str(&match column {
                0 => format!("<th scope=\"row\"{class}>{content}</th>"),
                _ => format!("<td{class}>{content}</td>"),
            });
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
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

fn cell_html(cell: &PageCell) -> String {
    let text = escape(&cell.text);
    let text = if cell.is_bold { format!("<strong>{text}</strong>") } else { text };
    let remarks = cell.remarks.iter().map(|remark| format!("<small>{}</small>", escape(remark)));
    text + &remarks.collect::<String>()
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
            Block::Figures(vec![Figure::new(NASTY, NASTY)]),
            Block::Charts(vec![chart]),
            Block::Table(table.clone()),
            Block::Details { summary: NASTY.to_owned(), table },
        ];
        let page = Page { sections: vec![Section { name: "a", title: "A", blocks }] };
        let html = html(&page.with_unique_names());
        assert!(!html.contains("<img"), "{html}");
        assert_eq!(html.matches("</script>").count(), 1);
        assert_eq!(html.matches("<script>").count(), 1);
        assert!(html.contains(
            "&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; more"
        ));
    }

    #[test]
    fn nothing_is_loaded() {
        let html = html(&Page::default());
        for word in ["src=", "http://", "https://", "@import", "url("] {
            assert!(!html.contains(word), "{word}");
        }
    }
}
