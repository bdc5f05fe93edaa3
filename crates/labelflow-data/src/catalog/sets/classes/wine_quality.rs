//! Wine Quality: is a wine rated 5 or 6?

use std::path::PathBuf;

use ndarray::{Axis, concatenate};

use crate::catalog::catalog_entry::Source;
use crate::catalog::sets::number_table::two_class_table;
use crate::catalog::{LabelledTable, WeakProblem, simulate};
use crate::tables::table::TableFile;
use crate::{Result, ensure};

/// The source of the weak signals splits this set always the same way, whatever the seed of a run.
const SPLIT_SEED: u64 = 42;

pub(crate) fn load(source: &Source<'_>) -> Result<WeakProblem> {
    simulate(&read(&source.paths)?, &[0, 7, 8], SPLIT_SEED, source.options.bounds)
}

/// White wines, then red ones; of the qualities only 5 and 6 are kept.
fn read(paths: &[PathBuf]) -> Result<LabelledTable> {
    let mut tables = Vec::new();
    let mut names = Vec::new();
    for path in paths {
        let table = TableFile::open_separated(path, b';')?;
        ensure(table.names.len() == 12, || table.error("12 columns", table.names.len()))?;
        tables.push(table.numbers::<f64>(&table.columns())??);
        names = table.names[..11].to_vec();
    }
    let table = concatenate(Axis(0), &[tables[0].view(), tables[1].view()]).expect("both tables have 12 columns");
    two_class_table(&paths[0], &table, names, [("quality 5", 5.0), ("quality 6", 6.0)])
}
