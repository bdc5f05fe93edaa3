//! Wine Quality: is a wine rated 5 or 6?

use std::path::Path;

use ndarray::{Axis, concatenate};

use crate::Result;
use crate::catalog::sets::number_table::two_class_table;
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader, UCI_LICENCE};
use crate::catalog::simulate;
use crate::tables::table::TableFile;

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "wine-quality",
    title: "Wine Quality",
    files: &[
        CatalogFile::new(
            FILES[0],
            "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/winequality-white.csv",
            "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
            264_426,
        ),
        CatalogFile::new(
            FILES[1],
            "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/winequality-red.csv",
            "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
            84_199,
        ),
    ],
    licence: UCI_LICENCE,
    citation: "P. Cortez, A. Cerdeira, F. Almeida, T. Matos, J. Reis (2009), https://doi.org/10.24432/C56S3T",
    counts: Counts { n_rows: 4974, d_features: 11, n_classes: 2 },
    load: Loader::Classes(|dir, _, options| simulate(&read(dir)?, &[0, 7, 8], SPLIT_SEED, options.bounds)),
};

const FILES: [&str; 2] = ["uci/wine-quality/winequality-white.csv", "uci/wine-quality/winequality-red.csv"];

/// The source of the weak signals splits this set always the same way, whatever the seed of a run.
const SPLIT_SEED: u64 = 42;

/// White wines, then red ones; of the qualities only 5 and 6 are kept.
fn read(dir: &Path) -> Result<LabelledTable> {
    let paths = FILES.map(|file| dir.join(file));
    let mut tables = Vec::new();
    let mut names = Vec::new();
    for path in &paths {
        let table = TableFile::open_separated(path, b';')?;
        if table.names.len() != 12 {
            return Err(table.error("12 columns", table.names.len()));
        }
        tables.push(table.numbers::<f64>(&table.columns())??);
        names = table.names[..11].to_vec();
    }
    let table = concatenate(Axis(0), &[tables[0].view(), tables[1].view()]).expect("both tables have 12 columns");
    two_class_table(&paths[0], &table, names, [("quality 5", 5.0), ("quality 6", 6.0)])
}
