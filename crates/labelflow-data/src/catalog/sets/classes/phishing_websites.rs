//! Phishing Websites: legitimate or phishing, from 30 properties of a site.

use std::path::Path;

use crate::catalog::formats::read_arff;
use crate::catalog::sets::number_table::two_class_table;
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader, UCI_LICENCE};
use crate::{Error, Result};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "phishing-websites",
    title: "Phishing Websites",
    files: &[CatalogFile::new(
        FILE,
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00327/Training%20Dataset.arff",
        "0dfcd84ccdedca6e1be2ce26452c1f1089ac3f839b9a1b0ab1cdcf6d895f9a70",
        800_856,
    )],
    licence: UCI_LICENCE,
    citation: "R. Mohammad, L. McCluskey (2012), https://doi.org/10.24432/C51W2X",
    counts: Counts { n_rows: 11_055, d_features: 30, n_classes: 2 },
    load: Loader::ClassTable(read, &[13, 25, 27]),
};

const FILE: &str = "uci/phishing/Training Dataset.arff";

fn read(dir: &Path) -> Result<LabelledTable> {
    let path = dir.join(FILE);
    let table = read_arff(&path)?;
    if table.names.len() != 31 {
        return Err(Error::content(&path, "31 attributes", table.names.len()));
    }
    let names = table.names[..30].to_vec();
    two_class_table(&path, &table.values, names, [("legitimate", 1.0), ("phishing", -1.0)])
}
