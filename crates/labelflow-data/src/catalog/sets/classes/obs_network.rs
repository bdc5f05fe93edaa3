//! Burst Header Packet flooding in Optical Burst Switching networks: may a node go on, or must it wait?

use std::path::Path;

use crate::catalog::sets::number_table::{owned, two_class_table};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader, UCI_LICENCE};
use crate::tables::cells::{into_table, parse_number};
use crate::tables::csv_file::{Visit, visit_records};
use crate::{Error, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "obs-network",
    title: "Burst Header Packet flooding in an Optical Burst Switching network",
    files: &[CatalogFile {
        // The publisher's file still has the ARFF declarations that copies in circulation lack; both are read.
        other_sha256: &["c573b83a9b8db30658be8dd53ef5769a94bc03a0695e78d6c130306c60cc69de"],
        ..CatalogFile::new(
            FILE,
            "https://archive.ics.uci.edu/ml/machine-learning-databases/00404/OBS-Network-DataSet_2_Aug27.arff",
            "d72e9d742ce7e4c066070f5f81bfca19561bb2fb8d49e6c39d0928174ef93e91",
            181_574,
        )
    }],
    licence: UCI_LICENCE,
    citation: "A. Rajab (2017), https://doi.org/10.24432/C51C81",
    counts: Counts { n_rows: 795, d_features: 21, n_classes: 2 },
    load: Loader::ClassTable(read, &[1, 2, 20]),
};

const FILE: &str = "uci/obs-network/obs_network.data";

const COLUMNS: &str = "node,utilised bandwidth rate,packet drop rate,full bandwidth,\
                       average delay time per second,percentage of lost packet rate,\
                       percentage of lost byte rate,packet received rate,used bandwidth,\
                       lost bandwidth,packet size,packets transmitted,packets received,packets lost,\
                       bytes transmitted,bytes received,10-run average drop rate,\
                       10-run average bandwidth use,10-run delay,node status,flood status";

const NODE_STATUS: usize = 19;

/// Of the four classes two are kept; rows with an unknown value (`?`) are dropped.
fn read(dir: &Path) -> Result<LabelledTable> {
    let path = dir.join(FILE);
    let columns = COLUMNS.split(',').collect::<Vec<_>>();
    let mut values = Vec::new();
    visit_records(&path, b',', |_, record| {
        let cells = record.iter().map(|cell| cell.trim().trim_matches('\'')).collect::<Vec<_>>();
        // Some copies still have their declarations, others lost them.
        if cells[0].starts_with(['@', '%']) {
            return Ok(Visit::Next);
        }
        if cells.len() != columns.len() + 1 {
            let expected = format!("{} fields", columns.len() + 1);
            return Err(Error::content(&path, expected, cells.len()));
        }
        let class = match cells[columns.len()] {
            "NB-No Block" => 0.0,
            "NB-Wait" => 1.0,
            _ => return Ok(Visit::Next),
        };
        if cells.contains(&"?") {
            return Ok(Visit::Next);
        }
        for (column, cell) in cells[..columns.len()].iter().enumerate() {
            let value = if column == NODE_STATUS { node_status(cell) } else { parse_number(cell) };
            let name = columns[column];
            values.push(value.ok_or_else(|| Error::cell(&path, "a number", cell).in_column(name))?);
        }
        values.push(class);
        Ok(Visit::Next)
    })?;
    let table = into_table(values, columns.len() + 1);
    two_class_table(&path, &table, owned(&columns), [("no block", 0.0), ("wait", 1.0)])
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
        let path = dir.path().join(FILE);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
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
        let table = read(dir.path()).unwrap();
        assert_eq!(table.truth.labels(), [0, 1]);
        assert_eq!(table.features.values().column(NODE_STATUS).to_vec(), [3.0, 2.0]);
        std::fs::write(&path, text + &row("9", "X", "NB-Wait")).unwrap();
        let error = read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("line 9, column 'node status'"), "{error}");
    }
}
