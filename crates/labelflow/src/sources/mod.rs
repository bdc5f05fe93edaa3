//! Rows from memory or from files, and training on them in windows.

mod dealt_rows;
mod row_source;
pub(crate) mod signal_totals;
mod streamed_classification;
mod streamed_fit;
mod streamed_regression;
pub(crate) mod two_class_signals;
mod window_pass;
mod window_plan;

pub use row_source::{RowSignals, RowSource, SignalForm, SourceRows};
pub use streamed_fit::StreamedFit;
pub use streamed_regression::StreamedRegression;
