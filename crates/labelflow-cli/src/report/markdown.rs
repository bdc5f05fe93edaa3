//! Tables for people, on a terminal or in a page of Markdown.

use crate::experiments::metric::Metric;
use crate::report::{ReportCell, ReportTable};
use crate::terminal::output::{percent, table_of};

/// One table after the other. Below each row stands what the paper has.
pub(crate) fn markdown(tables: &[ReportTable]) -> String {
    tables.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

fn one(table: &ReportTable) -> String {
    let (rows, columns) = table.rows_and_columns();
    let corner = if table.is_transposed() { "system" } else { "set" };
    let header = std::iter::once(corner.to_owned()).chain(columns.iter().cloned());
    let mut lines = Vec::new();
    for row in rows {
        let cells: Vec<Option<&ReportCell>> =
            columns.iter().map(|column| table.cell_at(row, column)).collect();
        lines.push(line(row, &cells, |cell| measured(cell, table.metric)));
        if cells.iter().flatten().any(|cell| cell.paper.is_some()) {
            lines.push(line("paper (difference)", &cells, |cell| published(cell, table.metric)));
        }
    }
    let numbers = table_of(header.collect(), lines);
    let mut text = format!("{}: {}\n\n{numbers}", table.name, table.metric.title());
    if table.cells.iter().any(|cell| !cell.intervals.is_empty()) {
        text += &format!("\n\n{}: what intervals hold\n\n{}", table.name, intervals(table));
    }
    text
}

/// One line a dataset and system whose labels come with intervals.
fn intervals(table: &ReportTable) -> String {
    let known: Vec<&ReportCell> =
        table.cells.iter().filter(|cell| !cell.intervals.is_empty()).collect();
    let mut header = vec!["set".to_owned(), "system".to_owned()];
    for interval in &known[0].intervals {
        header.push(format!("{:.0} %: coverage", interval.level * 100.0));
        header.push("width".to_owned());
    }
    let line = |cell: &&ReportCell| {
        let mut line = vec![cell.set.clone(), cell.system.clone()];
        for interval in &cell.intervals {
            line.push(percent(interval.coverage) + " %");
            line.push(table.metric.show(interval.width, interval.width));
        }
        line
    };
    table_of(header, known.iter().map(line).collect())
}

fn line(
    name: &str,
    cells: &[Option<&ReportCell>],
    show: impl Fn(&ReportCell) -> String,
) -> Vec<String> {
    let cells = cells.iter().map(|cell| cell.map_or_else(String::new, &show));
    std::iter::once(name.to_owned()).chain(cells).collect()
}

fn measured(cell: &ReportCell, metric: Metric) -> String {
    // One run does not deviate.
    let text = metric.with_deviation(cell.mean, (cell.n_runs > 1).then_some(cell.deviation));
    if cell.is_best { format!("**{text}**") } else { text }
}

fn published(cell: &ReportCell, metric: Metric) -> String {
    match (cell.paper, cell.difference) {
        (Some(paper), Some(difference)) => {
            let paper_text = metric.with_deviation(paper, cell.paper_deviation);
            format!("{paper_text} ({})", metric.signed(difference, paper))
        }
        _ => String::new(),
    }
}
