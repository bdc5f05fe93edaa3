//! Firm-Teacher Clave-Direction: two directions of Afro-Latin rhythm, from which of 16 beats sound.

use std::path::Path;

use ndarray::{Axis, s};

use crate::Result;
use crate::catalog::formats::number_lines::read_number_lines;
use crate::catalog::sets::number_table::{numbered_names, two_class_table};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader, UCI_LICENCE};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "clave-direction",
    title: "Firm-Teacher Clave-Direction",
    files: &[CatalogFile::new(
        FILE,
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00324/ClaveVectors_Firm-Teacher_Model.txt",
        "a37d311a3675fe62d4ebcdab22cc965608f5176e949e2d1266225aefa63e800e",
        432_169,
    )],
    licence: UCI_LICENCE,
    citation: "M. Vurkaç (2015), https://doi.org/10.24432/C5GC9F",
    counts: Counts { n_rows: 8606, d_features: 16, n_classes: 2 },
    load: Loader::ClassTable(read, &[0, 8, 15]),
};

const FILE: &str = "uci/clave-direction/ClaveVectors_Firm-Teacher_Model.txt";

/// Rows that carry two labels.
const LABELLED_TWICE: [usize; 2] = [640, 1085];

/// Sixteen beats, then one indicator for each of four directions, of which the second and third are kept.
fn read(dir: &Path) -> Result<LabelledTable> {
    let path = dir.join(FILE);
    let table = read_number_lines(&path, 20)?;
    let rows = (0..table.nrows()).filter(|row| !LABELLED_TWICE.contains(row)).collect::<Vec<_>>();
    let mut table = table.select(Axis(0), &rows);
    // The class takes the place of the first indicator: 2, 3 or neither.
    for mut row in table.rows_mut() {
        row[16] = if row[17] == 1.0 { 2.0 } else { 3.0 * f64::from(row[18] == 1.0) };
    }
    let classes = [("third direction", 3.0), ("second direction", 2.0)];
    let table = table.slice_move(s![.., ..17]);
    two_class_table(&path, &table, numbered_names(16), classes)
}
