//! Tables for papers: deviations as subscripts, the best in bold.

use labelflow_files::visible;

use crate::experiments::metric::Metric;
use crate::report::{ReportCell, ReportTable};

/// One tabular after the other; they need the package booktabs.
pub(crate) fn latex(tables: &[ReportTable]) -> String {
    tables.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(table: &ReportTable) -> String {
    let header: Vec<String> = table.header().iter().skip(1).map(|name| escaped(name)).collect();
    let mut lines = vec![
        format!("% {}", visible(&table.name).replace('\n', " ")),
        format!("\\begin{{tabular}}{{l|{}}}", "l".repeat(header.len())),
        "\\toprule".to_owned(),
        format!(" & {} \\\\", header.join(" & ")),
        "\\midrule".to_owned(),
    ];
    for (row, cells) in table.lines() {
        lines.push(line(&escaped(row), &cells, |cell| Some(measured(cell, table.metric))));
        if cells.iter().flatten().any(|cell| cell.paper.is_some()) {
            lines.push(line("\\quad paper", &cells, |cell| {
                Some(number(cell.paper?, cell.paper_deviation, table.metric))
            }));
            lines.push(line("\\quad difference", &cells, |cell| {
                Some(table.metric.signed(cell.difference?, cell.paper?).replace('−', "-"))
            }));
        }
    }
    lines.extend(["\\bottomrule".to_owned(), "\\end{tabular}".to_owned()]);
    lines.join("\n")
}

/// A line of the table; `show` gives what stands between dollar signs.
fn line(name: &str, cells: &[Option<&ReportCell>], show: impl Fn(&ReportCell) -> Option<String>) -> String {
    let cells = cells.iter().map(|cell| cell.and_then(&show).map_or_else(String::new, |text| format!("${text}$")));
    let cells: Vec<String> = cells.collect();
    format!("{name} & {} \\\\", cells.join(" & "))
}

fn measured(cell: &ReportCell, metric: Metric) -> String {
    // One run does not deviate.
    let text = number(cell.mean, (cell.n_runs > 1).then_some(cell.deviation), metric);
    if cell.is_best { format!("\\mathbf{{{text}}}") } else { text }
}

fn number(mean: f64, deviation: Option<f64>, metric: Metric) -> String {
    let text = metric.show(mean, mean);
    match deviation {
        Some(deviation) => format!("{text}_{{{}}}", metric.show(deviation, mean)),
        None => text,
    }
}

fn escaped(name: &str) -> String {
    let escape = |sign: char| match sign {
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '<' => "\\textless{}".to_owned(),
        '>' => "\\textgreater{}".to_owned(),
        '|' => "\\textbar{}".to_owned(),
        // After the end of a line these would say how far the next one is from it.
        '[' | '*' => format!("{{{sign}}}"),
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{sign}"),
        _ => sign.to_string(),
    };
    visible(name).chars().map(escape).collect()
}
