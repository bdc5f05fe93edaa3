//! Tables for other programs: a line for each dataset and system.

use crate::report::ReportTable;

const HEADER: [&str; 13] = [
    "table",
    "set",
    "system",
    "runs",
    "mean",
    "deviation",
    "paper",
    "paper_deviation",
    "difference",
    "independent",
    "calibration_error",
    "seconds",
    "best",
];

/// All tables in one; numbers are not rounded, and what is not known is empty.
pub(crate) fn csv(tables: &[ReportTable]) -> String {
    let mut text = HEADER.join(",") + "\n";
    for table in tables {
        for cell in &table.cells {
            let known = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
            let fields = [
                quoted(&table.name),
                quoted(&cell.set),
                quoted(&cell.system),
                cell.n_runs.to_string(),
                cell.mean.to_string(),
                cell.deviation.to_string(),
                known(cell.paper),
                known(cell.paper_deviation),
                known(cell.difference),
                known(cell.independent),
                known(cell.calibration_error),
                cell.seconds.to_string(),
                cell.is_best.to_string(),
            ];
            text += &fields.join(",");
            text.push('\n');
        }
    }
    text
}

/// Names come from files that anybody may write.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", name.replace('"', "\"\""));
    }
    name.to_owned()
}
