//! Diabetes: the progression of the disease, known through five rules. It is embedded and needs no file.

use crate::catalog::embedded;
use crate::catalog::sets::{CatalogEntry, Counts, Loader};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "diabetes",
    title: "Diabetes",
    files: &[],
    licence: "embedded, from scikit-learn (BSD 3-Clause)",
    citation: "B. Efron, T. Hastie, I. Johnstone, R. Tibshirani (2004), https://doi.org/10.1214/009053604000000067",
    counts: Counts { n_rows: 442, d_features: 10, n_classes: 0 },
    load: Loader::ValueTable(|_| Ok(embedded::diabetes()), &RULE_FEATURES),
};

/// Body mass index, blood pressure, and the serum measurements that say most of the label.
const RULE_FEATURES: [&str; 5] = ["bmi", "bp", "s3", "s5", "s6"];
