//! Rows to train on that need not be in memory.

use std::ops::Range;

use ndarray::Array2;

use crate::Result;

/// Some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRows {
    /// `[n_rows, d_features]`
    pub features: Array2<f32>,
    /// A class or [`ABSTAIN`](labelflow_weak::ABSTAIN), `[n_rows, n_signals]`.
    pub votes: Array2<u8>,
}

/// Features and votes of the same rows, which can be read any number of times and never change.
pub trait RowSource {
    /// Number of rows.
    fn n_rows(&self) -> u64;

    /// Names of the features.
    fn feature_names(&self) -> &[String];

    /// Names of the labelers.
    fn labelers(&self) -> &[String];

    /// Names of the classes.
    fn classes(&self) -> &[String];

    /// Runs of at most `most_rows` rows that are cheap to read one by one; together all rows, in order.
    fn blocks(&self, most_rows: u64) -> Vec<Range<u64>>;

    /// Reads a run of rows.
    fn read(&self, rows: Range<u64>) -> Result<SourceRows>;

    /// Visits all rows in order, some at a time; how many does not depend on the machine.
    fn visit(&self, visit: &mut dyn FnMut(SourceRows) -> Result<()>) -> Result<()>;
}
