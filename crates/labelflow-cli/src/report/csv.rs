//! Tables for other programs: a line for each dataset and system.

use labelflow_files::visible;

use crate::report::{ReportCell, ReportTable};

/// What stands in a column.
type Field = fn(&ReportTable, &ReportCell) -> String;

const COLUMNS: [(&str, Field); 13] = [
    ("table", |table, _| quoted(&table.name)),
    ("set", |_, cell| quoted(&cell.set)),
    ("system", |_, cell| quoted(&cell.system)),
    ("runs", |_, cell| cell.n_runs.to_string()),
    ("mean", |_, cell| cell.mean.to_string()),
    ("deviation", |_, cell| cell.deviation.to_string()),
    ("paper", |_, cell| known(cell.paper)),
    ("paper_deviation", |_, cell| known(cell.paper_deviation)),
    ("difference", |_, cell| known(cell.difference)),
    ("independent", |_, cell| known(cell.independent)),
    ("calibration_error", |_, cell| known(cell.calibration_error)),
    ("seconds", |_, cell| cell.seconds.to_string()),
    ("best", |_, cell| cell.is_best.to_string()),
];

/// All tables in one; numbers are not rounded, and what is not known is empty.
pub(crate) fn csv(tables: &[ReportTable]) -> String {
    let mut text = COLUMNS.map(|(name, _)| name).join(",") + "\n";
    for table in tables {
        for cell in &table.cells {
            text += &COLUMNS.map(|(_, field)| field(table, cell)).join(",");
            text.push('\n');
        }
    }
    text
}

fn known(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// Names come from files that anybody may write, and this table is opened in spreadsheets, which compute cells that begin like a
/// formula: an apostrophe makes them text.
fn quoted(name: &str) -> String {
    let is_formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let name = format!("{}{}", if is_formula { "'" } else { "" }, visible(name));
    if name.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", name.replace('"', "\"\""));
    }
    name
}
