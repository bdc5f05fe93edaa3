//! Files and datasets of weak supervision: what is on disk or in the catalog, as the types of [`labelflow_weak`].
//!
//! | module | holds |
//! |---|---|
//! | [`tables`] | tables as they are in files: csv, tsv, npy, npz, parquet, arff, idx, xls |
//! | [`inputs`] | features, signals, bounds, labels, rules and predictions, read from tables and written to them |
//! | `parts` | the same for rows that are larger than memory, in one file or many |
//! | [`texts`] | texts as features, and keywords that vote on them |
//! | [`synthetic`] | problems whose best answer is known |
//! | [`catalog`] | real datasets by name, embedded ones, and weak-supervision problems made of labelled tables |
//!
//! The cargo feature `catalog` is for real datasets, their downloads and the formats that only they have; the feature
//! `parquet` is for parquet files, and with them for rows that are larger than memory.
//!
//! ```
//! use labelflow_data::inputs::{SignalsOptions, read_signals};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("votes.csv");
//! std::fs::write(&path, "rule_a,rule_b\nspam,\nham,spam\n")?;
//! let signals = read_signals(&path, &SignalsOptions::default())?.value;
//! assert_eq!(signals.classes(), ["ham", "spam"]);
//! assert_eq!(signals.vote(0, 1), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic_file;
pub mod catalog;
mod error;
pub mod inputs;
#[cfg(feature = "parquet")]
pub mod parts;
pub mod synthetic;
pub mod tables;
pub mod texts;

pub use atomic_file::write_atomically;
pub(crate) use error::ensure;
pub use error::{Error, Place, Result};
pub use labelflow_weak::numerics::stream;

/// The folder with the real datasets, for tests in modules called `real_data`.
#[cfg(test)]
pub(crate) fn real_data_dir() -> std::path::PathBuf {
    std::env::var_os("LABELFLOW_DATA").expect("LABELFLOW_DATA, the folder with the datasets").into()
}
