//! Formats that only datasets of the catalog have: arff, idx, old Excel workbooks, and numbers in lines.

mod arff;
mod compound_file;
mod idx;
pub(crate) mod number_lines;
mod xls_sheet;

pub use arff::{ArffTable, read_arff};
pub use idx::{IdxArray, read_idx};
pub use xls_sheet::XlsSheet;
