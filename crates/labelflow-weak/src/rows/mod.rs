//! Rows: features, sparse rows, soft labels, true labels, and the dataset that training may see.

pub(crate) mod features;
mod label_range;
mod soft_labels;
mod sparse_rows;
mod ties;
mod true_values;
mod truth;
mod weak_dataset;

pub use features::{Features, is_single};
pub(crate) use features::{check_columns, check_table};
pub use label_range::LabelRange;
pub use soft_labels::SoftLabels;
pub use sparse_rows::SparseRows;
pub use ties::Ties;
pub use true_values::TrueValues;
pub use truth::Truth;
pub(crate) use truth::check_classes;
pub use weak_dataset::WeakDataset;
