//! Rows from memory or from files, and the windows that training sees of them.

mod dealt_rows;
pub(crate) mod fit_rows;
pub(crate) mod row_source;
mod window_plan;

pub(crate) use dealt_rows::DealtRows;
pub(crate) use fit_rows::{Demands, FitRows, RowLearner};
pub(crate) use row_source::{GatheredRows, RowBytes, RowLayout, read_all};
pub use row_source::{RowSignals, RowSource, SignalForm, SourceRows};
pub(crate) use window_plan::{WindowPlan, places};
