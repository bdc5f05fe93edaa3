//! Formats that only datasets of the catalog have: arff, idx and old Excel workbooks.

mod arff;
mod compound_file;
mod idx;
mod xls_sheet;

pub use arff::{ArffTable, read_arff};
pub use idx::{IdxArray, read_idx};
pub use xls_sheet::XlsSheet;
