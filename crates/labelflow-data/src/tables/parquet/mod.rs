//! Parquet files, whose pages are checked before they are unpacked.

mod checked_pages;
mod column_as;
mod footer;
mod page_header;
mod parquet_file;
mod parquet_writer;

pub(crate) use column_as::column_as;
pub(crate) use parquet_file::{BATCH_ROWS, ParquetFile, check_number, number_table};
pub(crate) use parquet_writer::ParquetStream;
