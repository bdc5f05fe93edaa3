//! Rows from memory or from files, and training on them in windows.

mod dealt_rows;
pub(crate) mod fit_rows;
pub(crate) mod row_source;
mod window_pass;
mod window_plan;

pub(crate) use fit_rows::{Demands, FitRows, PartLearner, Window};
pub(crate) use row_source::{GatheredRows, RowBytes, RowLayout, read_all};
pub use row_source::{RowSignals, RowSource, SignalForm, SourceRows};
