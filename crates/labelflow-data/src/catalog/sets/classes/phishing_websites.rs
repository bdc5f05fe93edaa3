//! Phishing Websites: legitimate or phishing, from 30 properties of a site.

use std::path::PathBuf;

use crate::catalog::LabelledTable;
use crate::catalog::formats::read_arff;
use crate::catalog::sets::number_table::two_class_table;
use crate::{Error, Result, ensure};

pub(crate) fn read(paths: &[PathBuf]) -> Result<LabelledTable> {
    let path = &paths[0];
    let table = read_arff(path)?;
    ensure(table.names.len() == 31, || Error::content(path, "31 attributes", table.names.len()))?;
    let names = table.names[..30].to_vec();
    two_class_table(path, &table.values, names, [("legitimate", 1.0), ("phishing", -1.0)])
}
