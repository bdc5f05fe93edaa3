//! Tables for people, on a terminal or in a page of Markdown.

use labelflow_files::visible;

use crate::report::{ReportCell, ReportTable};
use crate::terminal::output::table_of;

/// One table after the other. Below each row stands what the paper has.
pub(crate) fn markdown(tables: &[ReportTable]) -> String {
    tables.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

fn one(table: &ReportTable) -> String {
    let measured = |cell: &ReportCell| {
        let text = cell.shown(table.metric);
        if cell.is_best { format!("**{text}**") } else { text }
    };
    let published = |cell: &ReportCell| cell.published(table.metric).unwrap_or_default();
    let mut lines = Vec::new();
    for (row, cells) in table.lines() {
        lines.push(line(row, &cells, measured));
        if cells.iter().flatten().any(|cell| cell.paper.is_some()) {
            lines.push(line("paper (difference)", &cells, published));
        }
    }
    let numbers = table_of(table.header(), lines);
    let name = visible(&table.name);
    let mut text = format!("{name}: {}\n\n{numbers}", table.metric.facts().title);
    if let Some(intervals) = table.intervals() {
        let intervals = table_of(intervals.header, intervals.rows);
        text += &format!("\n\n{name}: prediction intervals\n\n{intervals}");
    }
    text
}

fn line(name: &str, cells: &[Option<&ReportCell>], show: impl Fn(&ReportCell) -> String) -> Vec<String> {
    let cells = cells.iter().map(|cell| cell.map_or_else(String::new, &show));
    std::iter::once(name.to_owned()).chain(cells).collect()
}
