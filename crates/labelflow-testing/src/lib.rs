//! What tests and fuzzers share: damage to files, and every reader as a function of bytes.

#![allow(clippy::unwrap_used)]

mod mutation;
mod readers;
mod valid;
mod workbook;

pub use mutation::damaged;
pub use readers::{READERS, Reader};

/// The README's Rust block, run as a doctest. Here, since this crate is never packaged: the README is outside of it.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
