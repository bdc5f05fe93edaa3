//! The tables of runs, with the paper's numbers below ours.

use super::page::{Block, PageCell, PageTable, Section};
use crate::experiments::metric::Metric;
use crate::report::{ReportCell, ReportTable};

/// The section of at least one table.
pub(crate) fn tables_section(tables: &[ReportTable]) -> Section {
    let mut blocks = Vec::new();
    for table in tables {
        blocks.push(Block::Heading(format!("{}: {}", table.name, table.metric.facts().title)));
        blocks.push(Block::Table(numbers(table)));
        let caption = format!("{}: prediction intervals", table.name);
        let intervals = table.intervals().map(|data| PageTable::new(&caption, data));
        blocks.extend(intervals.map(Block::Table));
    }
    blocks.push(Block::Text(
        "The best system of a dataset is bold; systems that use true labels do not compete. Differences are ours minus the paper's."
            .to_owned(),
    ));
    Section { name: "tables", title: "Results", blocks }
}

fn numbers(table: &ReportTable) -> PageTable {
    let row = |(row, cells): (&str, Vec<Option<&ReportCell>>)| {
        let cells = cells.into_iter().map(|cell| cell.map_or_else(PageCell::default, |cell| shown(cell, table.metric)));
        std::iter::once(PageCell::from(row.to_owned())).chain(cells).collect()
    };
    PageTable {
        caption: format!("{}: {}", table.name, table.metric.facts().title),
        header: table.header(),
        rows: table.lines().map(row).collect(),
    }
}

fn shown(cell: &ReportCell, metric: Metric) -> PageCell {
    let paper = cell.published(metric).map(|paper| format!("paper {paper}"));
    let error = cell.calibration_error.map(|error| format!("calibration error {error:.1} %"));
    PageCell { text: cell.shown(metric), is_bold: cell.is_best, remarks: paper.into_iter().chain(error).collect() }
}
