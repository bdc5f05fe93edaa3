//! Rows from memory or from files, and training on them in windows.

mod dealt_rows;
pub(crate) mod fit_rows;
pub(crate) mod row_source;
pub(crate) mod signal_totals;
pub(crate) mod two_class_signals;
mod window_pass;
mod window_plan;

pub use row_source::{RowSignals, RowSource, SignalForm, SourceRows};
