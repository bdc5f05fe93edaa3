//! Parquet files, whose pages are checked before they are unpacked.

mod checked_pages;
mod page_header;
pub(crate) mod parquet_file;
