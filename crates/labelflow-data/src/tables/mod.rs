//! Tables and arrays as they are in files.

pub(crate) mod cells;
pub(crate) mod columns;
pub(crate) mod csv_file;
pub(crate) mod foreign_decoder;
pub(crate) mod npy_file;
pub(crate) mod packed_text;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
pub(crate) mod parquet;
pub(crate) mod table;
pub(crate) mod unpacking;

pub use columns::{Column, ColumnValues, write_columns};
pub use csv_file::shown;
pub use foreign_decoder::guarded;
pub use npy_file::{NpyArray, NpzArray, write_npz};
pub use packed_text::{open_text, read_json, read_text, text_error, visit_lines};

use std::path::Path;

use labelflow_files::InputFile;

use crate::{Error, Result};

/// Opens a file to be read, a pipe, or standard input for `-`.
pub fn open_input(path: &Path) -> Result<InputFile> {
    InputFile::open(path).map_err(|source| Error::read(path, source))
}
