//! Statlog German Credit, the numeric form: good or bad credit risk.

use std::path::Path;

use crate::Result;
use crate::catalog::formats::number_lines::read_number_lines;
use crate::catalog::sets::number_table::{numbered_names, two_class_table};
use crate::catalog::sets::{CatalogEntry, CatalogFile, Counts, LabelledTable, Loader, UCI_LICENCE};
use crate::catalog::{LoadOptions, simulate};

pub(crate) const ENTRY: CatalogEntry = CatalogEntry {
    name: "credit-card",
    title: "Statlog German Credit",
    files: &[CatalogFile::new(
        FILE,
        "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data-numeric",
        "2752b044394958ab6dd193a0b56ca0f0b3a2d8bc7cb8c008e35a5e84bbec02f8",
        102_000,
    )],
    licence: UCI_LICENCE,
    citation: "H. Hofmann (1994), https://doi.org/10.24432/C5NC77",
    counts: Counts { n_rows: 700, d_features: 24, n_classes: 2 },
    load: Loader::Classes(|dir, seed, options| {
        simulate(&read(dir, options)?, &[0, 7, 15], seed, options.bounds)
    }),
};

const FILE: &str = "uci/german-credit/german.data-numeric";

/// The source of the weak signals drops the first 300 good risks, which leaves 400 good and 300 bad.
const N_DROPPED: usize = 300;

fn read(dir: &Path, options: &LoadOptions) -> Result<LabelledTable> {
    let path = dir.join(FILE);
    let table = read_number_lines(&path, 25)?;
    let classes = [("good", 1.0), ("bad", 2.0)];
    let all = two_class_table(&path, &table, numbered_names(24), classes)?;
    if options.keep_all_rows {
        return Ok(all);
    }
    // A stable sort by class followed by dropping rows: the order of the rest is the sorted one.
    let mut rows = (0..all.truth.n_rows()).collect::<Vec<_>>();
    rows.sort_by_key(|&row| all.truth.labels()[row]);
    Ok(all.select_rows(rows.get(N_DROPPED..).filter(|rest| !rest.is_empty()).unwrap_or(&rows)))
}
