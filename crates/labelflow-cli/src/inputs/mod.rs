//! What several commands read.

pub(crate) mod bounds_setting;
pub(crate) mod cloud_files;
pub(crate) mod completer;
pub(crate) mod config_table;
pub(crate) mod data_folder;
pub(crate) mod evaluation_file;
pub(crate) mod labeler_report;
pub(crate) mod memory_size;
pub(crate) mod model_files;
pub(crate) mod new_rows;
pub(crate) mod vote_input;
