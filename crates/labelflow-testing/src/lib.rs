//! What tests and fuzzers share: damage to files, and every reader as a function of bytes.

#![allow(clippy::unwrap_used)]

mod mutation;
mod readers;
mod valid;
mod workbook;

pub use mutation::damaged;
pub use readers::{READERS, Reader};
