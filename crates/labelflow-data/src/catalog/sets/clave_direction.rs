//! Firm-Teacher Clave-Direction: two directions of Afro-Latin rhythm, from which of 16 beats sound.

use std::path::Path;

use ndarray::Axis;

use crate::Result;
use crate::catalog::catalog_entry::Loader;
use crate::catalog::formats::number_lines::read_number_lines;
use crate::catalog::sets::{UCI_LICENCE, numbered_names, two_class_table};
use crate::catalog::{
    CatalogEntry, CatalogFile, Checksum, LabelledTable, LoadOptions, WeakProblem, simulate,
};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "clave-direction",
    title: "Firm-Teacher Clave-Direction",
    files: &[CatalogFile {
        path: FILE,
        url: "https://archive.ics.uci.edu/ml/machine-learning-databases/00324/ClaveVectors_Firm-Teacher_Model.txt",
        sha256: "a37d311a3675fe62d4ebcdab22cc965608f5176e949e2d1266225aefa63e800e",
        bytes: 432_169,
        checksum: Checksum::File,
        other_sha256: &[],
    }],
    licence: UCI_LICENCE,
    citation: "M. Vurkaç (2015), https://doi.org/10.24432/C5GC9F",
    n_rows: 8606,
    d_features: 16,
    n_classes: 2,
    load: Loader::Classes(load),
};

const FILE: &str = "uci/clave-direction/ClaveVectors_Firm-Teacher_Model.txt";

/// Rows that carry two labels.
const LABELLED_TWICE: [usize; 2] = [640, 1085];

fn load(dir: &Path, seed: u64, options: &LoadOptions) -> Result<WeakProblem> {
    simulate(&read(dir)?, &[0, 8, 15], seed, options.bounds)
}

/// Sixteen beats, then one indicator for each of four directions, of which the second and third are kept.
pub(super) fn read(dir: &Path) -> Result<LabelledTable> {
    let path = dir.join(FILE);
    let table = read_number_lines(&path, 20)?;
    let rows = (0..table.nrows()).filter(|row| !LABELLED_TWICE.contains(row)).collect::<Vec<_>>();
    let table = table.select(Axis(0), &rows);
    two_class_table(
        &path,
        &table,
        numbered_names(16),
        ["third direction", "second direction"],
        |row| match (row[17] == 1.0, row[18] == 1.0) {
            (true, _) => Some(1),
            (false, true) => Some(0),
            (false, false) => None,
        },
    )
}
