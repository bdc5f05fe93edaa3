//! Breast Cancer Wisconsin (Diagnostic): benign or malignant, from measurements of cell nuclei.

use std::path::PathBuf;

use crate::catalog::LabelledTable;
use crate::catalog::sets::number_table::{number, two_class_table};
use crate::tables::cells::into_table;
use crate::tables::csv_file::visit_records;
use crate::{Error, Result, ensure};

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
pub(crate) fn read(paths: &[PathBuf]) -> Result<LabelledTable> {
    let path = &paths[0];
    let mut values = Vec::new();
    visit_records(path, b',', |record| {
        ensure(record.len() == 32, || Error::content(path, "32 fields", record.len()))?;
        for cell in record.iter().skip(2) {
            values.push(number(path, cell)?);
        }
        values.push(match &record[1] {
            "B" => 0.0,
            "M" => 1.0,
            other => return Err(Error::cell(path, "M or B", other)),
        });
        Ok(())
    })?;
    let [benign, malignant] = CLASSES;
    let classes = [(benign, 0.0), (malignant, 1.0)];
    two_class_table(path, &into_table(values, 31), column_names(), classes)
}
