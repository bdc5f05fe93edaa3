//! Statlog Landsat Satellite: red soil or very damp grey soil, from 3 × 3 pixels in four spectral bands.

use std::path::Path;

use ndarray::{Axis, concatenate};

use crate::Result;
use crate::catalog::formats::number_lines::read_number_lines;
use crate::catalog::sets::number_table::two_class_table;
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader, UCI_LICENCE};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "statlog-satellite",
    title: "Statlog Landsat Satellite",
    files: &[
        CatalogFile::new(
            FILES[0],
            "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/satimage/sat.trn",
            "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613",
            525_830,
        ),
        CatalogFile::new(
            FILES[1],
            "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/satimage/sat.tst",
            "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479",
            236_745,
        ),
    ],
    licence: UCI_LICENCE,
    citation: "A. Srinivasan (1993), https://doi.org/10.24432/C55887",
    counts: Counts { n_rows: 3041, d_features: 36, n_classes: 2 },
    load: Loader::ClassTable(read, &[0, 17, 35]),
};

const FILES: [&str; 2] = ["uci/statlog-satellite/sat.trn", "uci/statlog-satellite/sat.tst"];

/// Both files together; of six classes the first and the last are kept.
fn read(dir: &Path) -> Result<LabelledTable> {
    let paths = FILES.map(|file| dir.join(file));
    let tables = [read_number_lines(&paths[0], 37)?, read_number_lines(&paths[1], 37)?];
    let table = concatenate(Axis(0), &[tables[0].view(), tables[1].view()])
        .expect("both tables have 37 columns");
    let names = (0..36).map(|column| format!("pixel {} band {}", column / 4, column % 4));
    let classes = [("very damp grey soil", 7.0), ("red soil", 1.0)];
    two_class_table(&paths[0], &table, names.collect(), classes)
}
