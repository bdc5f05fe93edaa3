//! Burst Header Packet flooding in Optical Burst Switching networks: may a node go on, or must it wait?

use std::path::PathBuf;

use crate::catalog::LabelledTable;
use crate::catalog::sets::number_table::{owned, two_class_table};
use crate::tables::cells::{into_table, parse_number};
use crate::tables::csv_file::visit_records;
use crate::{Error, Result, ensure};

const COLUMNS: &str = "node,utilised bandwidth rate,packet drop rate,full bandwidth,\
                       average delay time per second,percentage of lost packet rate,\
                       percentage of lost byte rate,packet received rate,used bandwidth,\
                       lost bandwidth,packet size,packets transmitted,packets received,packets lost,\
                       bytes transmitted,bytes received,10-run average drop rate,\
                       10-run average bandwidth use,10-run delay,node status,flood status";

const NODE_STATUS: usize = 19;

/// Of the four classes two are kept; rows with an unknown value (`?`) are dropped.
pub(crate) fn read(paths: &[PathBuf]) -> Result<LabelledTable> {
    let path = &paths[0];
    let columns = COLUMNS.split(',').collect::<Vec<_>>();
    let mut values = Vec::new();
    visit_records(path, b',', |record| {
        let cells = record.iter().map(|cell| cell.trim().trim_matches('\'')).collect::<Vec<_>>();
        // Some copies still have their declarations, others lost them.
        if cells[0].starts_with(['@', '%']) {
            return Ok(());
        }
        let expected = || format!("{} fields", columns.len() + 1);
        ensure(cells.len() == columns.len() + 1, || Error::content(path, expected(), cells.len()))?;
        let class = match cells[columns.len()] {
            "NB-No Block" => 0.0,
            "NB-Wait" => 1.0,
            _ => return Ok(()),
        };
        if cells.contains(&"?") {
            return Ok(());
        }
        for (column, cell) in cells[..columns.len()].iter().enumerate() {
            let value = if column == NODE_STATUS { node_status(cell) } else { parse_number(cell) };
            let name = columns[column];
            values.push(value.ok_or_else(|| Error::cell(path, "a number", cell).in_column(name))?);
        }
        values.push(class);
        Ok(())
    })?;
    let table = into_table(values, columns.len() + 1);
    two_class_table(path, &table, owned(&columns), [("no block", 0.0), ("wait", 1.0)])
}

/// Behaving, not behaving, potentially not behaving, in the numbers the source of the weak signals gave them.
fn node_status(cell: &str) -> Option<f64> {
    match cell {
        "NB" => Some(1.0),
        "B" => Some(2.0),
        "P NB" => Some(3.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_skipped_and_rows_chosen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("obs_network.data");
        let numbers = ["1"; 18].join(",");
        let row = |missing: &str, status: &str, class: &str| format!("{missing},{numbers},{status},0.5,{class}\n");
        let text = [
            "@relation obs\n\n@attribute 'Node Status' {NB, B, 'P NB'}\n@data\n",
            &row("3", "'P NB'", "'NB-No Block'"),
            &row("9", "B", "NB-Wait"),
            &row("9", "B", "Block"),
            &row("?", "NB", "NB-Wait"),
        ]
        .concat();
        std::fs::write(&path, &text).unwrap();
        let table = read(std::slice::from_ref(&path)).unwrap();
        assert_eq!(table.truth.labels(), [0, 1]);
        assert_eq!(table.features.values().column(NODE_STATUS).to_vec(), [3.0, 2.0]);
        std::fs::write(&path, text + &row("9", "X", "NB-Wait")).unwrap();
        let error = read(std::slice::from_ref(&path)).unwrap_err().to_string();
        assert!(error.contains("line 9, column 'node status'"), "{error}");
    }
}
