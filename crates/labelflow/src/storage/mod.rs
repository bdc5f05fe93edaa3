//! Models and checkpoints on disk.

mod atomic_file;
pub(crate) mod checkpoint;
mod folder_lock;
mod model_record;
mod saved_learners;
mod saved_model;

pub use checkpoint::Checkpoint;
pub use folder_lock::FolderLock;
pub use model_record::ModelRecord;
pub use saved_model::{Manifest, ModelTask, SavedModel, n_hidden_weights, n_products};
