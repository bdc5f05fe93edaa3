//! Training in stages: a step that is recorded on a GPU, and its epochs.

mod course;
mod stage_training;
mod step_batch;
mod trained_network;

pub(crate) use course::Course;
pub(crate) use course::{Schedule, Stage, StepResult, foreign};
pub use stage_training::StageTraining;
pub(crate) use step_batch::{CloudDraw, StepBatch, draw_clouds, fields, noise_row, point_rows, to_batch};
pub(crate) use trained_network::{NetworkSlots, TrainedNetwork, UpdateRule};
