//! Features, signals, bounds, labels, rules, predictions and fitted label models in files.

pub(crate) mod abstain_convention;
mod bounds_file;
mod counts_file;
pub(crate) mod features_file;
pub(crate) mod keys;
mod label_stream;
pub(crate) mod labels_file;
mod predictions_file;
mod rules;
mod saved_label_model;
pub(crate) mod signals_file;
mod task_votes_file;
mod values_file;
pub(crate) mod vote_cells;
mod wrench_folder;

pub use abstain_convention::{AbstainConvention, convention_doubt};
pub use bounds_file::read_bounds;
pub use counts_file::{PatternTable, read_counts, write_counts};
pub use features_file::{read_features, write_features};
pub use keys::{KeyColumn, KeyHead, Keyed, RowKeys, RowNames, Rows};
pub use label_stream::{LabelColumns, LabelRows, write_labels_as_they_come};
pub use labels_file::{read_labels, write_labels};
pub use predictions_file::{ClassPredictions, Predictions, read_predictions};
pub use rules::{RulesFile, read_rules, write_rules};
pub use saved_label_model::SavedLabelModel;
pub use signals_file::{SignalsKind, SignalsOptions, read_signals, write_signals};
pub use task_votes_file::{DuplicateVotes, TaskVotesColumns, TaskVotesOptions, read_task_votes, read_truth_of};
pub use values_file::{ValueLabels, read_values, write_value_labels, write_value_labels_as_they_come};
pub use wrench_folder::{WrenchFolder, WrenchRows, read_wrench};
