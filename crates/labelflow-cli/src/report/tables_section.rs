//! The tables of runs, with the paper's numbers below ours.

use super::page::{Block, PageCell, PageTable, Section};
use crate::chart::DataTable;
use crate::experiments::metric::Metric;
use crate::report::{ReportCell, ReportTable};
use crate::terminal::output::percent;

/// The section of at least one table.
pub(crate) fn tables_section(tables: &[ReportTable]) -> Section {
    let mut blocks = Vec::new();
    for table in tables {
        blocks.push(Block::Heading(format!("{}: {}", table.name, table.metric.title())));
        blocks.push(Block::Table(numbers(table)));
        blocks.extend(intervals(table).map(Block::Table));
    }
    blocks.push(Block::Text(
        "The best system of a dataset is bold; systems that use true labels do not compete. Differences are ours minus the paper's."
            .to_owned(),
    ));
    Section { name: "tables", title: "Results", blocks }
}

fn numbers(table: &ReportTable) -> PageTable {
    let (rows, columns) = table.rows_and_columns();
    let corner = if table.is_transposed() { "system" } else { "dataset" };
    let row = |row: &String| {
        let cells = columns.iter().map(|column| {
            table
                .cell_at(row, column)
                .map_or_else(PageCell::default, |cell| shown(cell, table.metric))
        });
        std::iter::once(PageCell::from(row.clone())).chain(cells).collect()
    };
    PageTable {
        caption: format!("{}: {}", table.name, table.metric.title()),
        header: std::iter::once(corner.to_owned()).chain(columns.iter().cloned()).collect(),
        rows: rows.iter().map(row).collect(),
    }
}

fn shown(cell: &ReportCell, metric: Metric) -> PageCell {
    let mut remarks = Vec::new();
    if let (Some(paper), Some(difference)) = (cell.paper, cell.difference) {
        let paper_text = metric.with_deviation(paper, cell.paper_deviation);
        remarks.push(format!("paper {paper_text} ({})", metric.signed(difference, paper)));
    }
    if let Some(error) = cell.calibration_error {
        remarks.push(format!("calibration error {error:.1} %"));
    }
    PageCell {
        // One run does not deviate.
        text: metric.with_deviation(cell.mean, (cell.n_runs > 1).then_some(cell.deviation)),
        is_bold: cell.is_best,
        remarks,
    }
}

/// One line a dataset and system whose labels come with intervals.
fn intervals(table: &ReportTable) -> Option<PageTable> {
    let known: Vec<&ReportCell> =
        table.cells.iter().filter(|cell| !cell.intervals.is_empty()).collect();
    let first = known.first()?;
    let mut header = vec!["dataset".to_owned(), "system".to_owned()];
    for interval in &first.intervals {
        header.push(format!("{:.0} %: held", interval.level * 100.0));
        header.push("width".to_owned());
    }
    let row = |cell: &&ReportCell| {
        let numbers = cell.intervals.iter().flat_map(|interval| {
            let width = table.metric.show(interval.width, interval.width);
            [format!("{} %", percent(interval.coverage)), width]
        });
        [cell.set.clone(), cell.system.clone()].into_iter().chain(numbers).collect()
    };
    let rows = known.iter().map(row).collect();
    let caption = format!("{}: what intervals hold", table.name);
    Some(PageTable::new(&caption, DataTable { header, rows }))
}
