//! Training in stages: a step that is recorded on a GPU, and its epochs.

pub(crate) mod batch_slots;
pub(crate) mod player;
pub(crate) mod stage;
mod stage_training;
pub(crate) mod step_numbers;

pub use stage_training::StageTraining;
