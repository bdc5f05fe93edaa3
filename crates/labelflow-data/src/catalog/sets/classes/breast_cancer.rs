//! Breast Cancer Wisconsin (Diagnostic): benign or malignant, from measurements of cell nuclei.

use std::path::Path;

use crate::catalog::sets::number_table::{number, two_class_table};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader, UCI_LICENCE};
use crate::tables::cells::into_table;
use crate::tables::csv_file::{Visit, visit_records};
use crate::{Error, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "breast-cancer",
    title: "Breast Cancer Wisconsin (Diagnostic)",
    files: &[CatalogFile::new(
        FILE,
        "https://archive.ics.uci.edu/ml/machine-learning-databases/breast-cancer-wisconsin/wdbc.data",
        "d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
        124_103,
    )],
    licence: UCI_LICENCE,
    citation: "W. Wolberg, O. Mangasarian, N. Street, W. Street (1995), https://doi.org/10.24432/C5DW2B",
    counts: Counts { n_rows: 569, d_features: 30, n_classes: 2 },
    load: Loader::ClassTable(read, &[0, 10, 20]),
};

const FILE: &str = "uci/breast-cancer/wdbc.data";

/// Names of the classes 0 and 1.
pub(crate) const CLASSES: [&str; 2] = ["benign", "malignant"];

const MEASURES: &str = "radius,texture,perimeter,area,smoothness,compactness,concavity,\
                        concave points,symmetry,fractal dimension";

/// Ten measures of the nuclei in an image: their means, standard errors and worst values.
pub(crate) fn column_names() -> Vec<String> {
    let measures = || MEASURES.split(',');
    let means = measures().map(|measure| format!("mean {measure}"));
    let errors = measures().map(|measure| format!("{measure} error"));
    means.chain(errors).chain(measures().map(|measure| format!("worst {measure}"))).collect()
}

/// Each line: an id, `M` or `B`, then the measurements.
fn read(dir: &Path) -> Result<LabelledTable> {
    let path = dir.join(FILE);
    let mut values = Vec::new();
    visit_records(&path, b',', |_, record| {
        if record.len() != 32 {
            return Err(Error::content(&path, "32 fields", record.len()));
        }
        for cell in record.iter().skip(2) {
            values.push(number(&path, cell)?);
        }
        values.push(match &record[1] {
            "B" => 0.0,
            "M" => 1.0,
            other => return Err(Error::cell(&path, "M or B", other)),
        });
        Ok(Visit::Next)
    })?;
    let [benign, malignant] = CLASSES;
    let classes = [(benign, 0.0), (malignant, 1.0)];
    two_class_table(&path, &into_table(values, 31), column_names(), classes)
}
