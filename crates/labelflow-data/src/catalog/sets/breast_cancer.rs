//! Breast Cancer Wisconsin (Diagnostic): benign or malignant, from measurements of cell nuclei.

use std::path::Path;

use ndarray::Array2;

use crate::catalog::catalog_entry::Loader;
use crate::catalog::sets::{UCI_LICENCE, two_class_table};
use crate::catalog::{
    CatalogEntry, CatalogFile, Checksum, LabelledTable, LoadOptions, WeakProblem, simulate,
};
use crate::tables::cells::parse_number;
use crate::tables::csv_file::{Visit, shown, visit_records};
use crate::{Error, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "breast-cancer",
    title: "Breast Cancer Wisconsin (Diagnostic)",
    files: &[CatalogFile {
        path: FILE,
        url: "https://archive.ics.uci.edu/ml/machine-learning-databases/breast-cancer-wisconsin/wdbc.data",
        sha256: "d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
        bytes: 124_103,
        checksum: Checksum::File,
        other_sha256: &[],
    }],
    licence: UCI_LICENCE,
    citation: "W. Wolberg, O. Mangasarian, N. Street, W. Street (1995), https://doi.org/10.24432/C5DW2B",
    n_rows: 569,
    d_features: 30,
    n_classes: 2,
    load: Loader::Classes(load),
};

const FILE: &str = "uci/breast-cancer/wdbc.data";

/// Names of the classes 0 and 1.
pub(crate) const CLASSES: [&str; 2] = ["benign", "malignant"];

const MEASURES: [&str; 10] = [
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
];

/// Ten measures of the nuclei in an image: their means, standard errors and worst values.
pub(crate) fn column_names() -> Vec<String> {
    let means = MEASURES.iter().map(|measure| format!("mean {measure}"));
    let errors = MEASURES.iter().map(|measure| format!("{measure} error"));
    let worst = MEASURES.iter().map(|measure| format!("worst {measure}"));
    means.chain(errors).chain(worst).collect()
}

fn load(dir: &Path, seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
    simulate(&read(dir)?, &[0, 10, 20], seed, options.bounds)
}

/// Each line: an id, `M` or `B`, then the measurements.
pub(super) fn read(dir: &Path) -> Result<LabelledTable> {
    let path = dir.join(FILE);
    let mut values = Vec::new();
    visit_records(&path, b',', |_, record| {
        if record.len() != 32 {
            return Err(Error::content(&path, "32 fields", record.len()));
        }
        for cell in record.iter().skip(2) {
            values.push(
                parse_number(cell).ok_or_else(|| {
                    Error::content(&path, "a number", format!("'{}'", shown(cell)))
                })?,
            );
        }
        values.push(match &record[1] {
            "B" => 0.0,
            "M" => 1.0,
            other => return Err(Error::content(&path, "M or B", format!("'{}'", shown(other)))),
        });
        Ok(Visit::Next)
    })?;
    let table = Array2::from_shape_vec((values.len() / 31, 31), values)
        .expect("every line gave 31 numbers");
    two_class_table(&path, &table, column_names(), CLASSES, |row| Some(row[30] as usize))
}
