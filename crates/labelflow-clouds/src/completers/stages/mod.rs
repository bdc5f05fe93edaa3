//! Training in stages: a step that is recorded on a GPU, and its epochs.

pub(crate) mod course;
mod stage_training;
pub(crate) mod step_batch;
pub(crate) mod step_numbers;
pub(crate) mod trained_network;

pub use stage_training::StageTraining;
