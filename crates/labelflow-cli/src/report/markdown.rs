//! Tables for people, on a terminal or in a page of Markdown.

use super::{ReportCell, ReportTable, signed};
use crate::output::{percents, table_of};

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
        lines.push(line(row, &cells, measured));
        if cells.iter().flatten().any(|cell| cell.paper.is_some()) {
            lines.push(line("paper (difference)", &cells, published));
        }
    }
    format!(
        "{}: mean accuracy over runs ± deviation, in percent\n\n{}",
        table.name,
        table_of(header.collect(), lines)
    )
}

fn line(name: &str, cells: &[Option<&ReportCell>], show: fn(&ReportCell) -> String) -> Vec<String> {
    let cells = cells.iter().map(|cell| cell.map_or_else(String::new, show));
    std::iter::once(name.to_owned()).chain(cells).collect()
}

fn measured(cell: &ReportCell) -> String {
    // One run does not deviate.
    let text = percents(cell.mean, (cell.n_runs > 1).then_some(cell.deviation));
    if cell.is_best { format!("**{text}**") } else { text }
}

fn published(cell: &ReportCell) -> String {
    match (cell.paper, cell.difference) {
        (Some(paper), Some(difference)) => {
            format!("{} ({})", percents(paper, cell.paper_deviation), signed(difference))
        }
        _ => String::new(),
    }
}
