//! Models and checkpoints on disk.

pub(crate) mod checkpoint;
mod model_files;
mod model_record;
mod saved_learners;
mod saved_model;

pub use checkpoint::Checkpoint;
pub use labelflow_files::FolderLock;
pub use model_files::ModelFiles;
pub use model_record::ModelRecord;
pub use saved_model::{Manifest, ModelTask, SavedModel, n_hidden_weights, n_products};
