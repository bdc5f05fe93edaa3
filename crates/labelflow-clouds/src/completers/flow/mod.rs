//! The label learning flow for point clouds.

mod completion_batch;
mod completion_objective;
mod completion_training;
mod flow_networks;
mod flow_stage;
mod generator_step;
mod point_cloud_completer;

pub(crate) use completion_objective::{discriminator_loss, weighted_sum};
pub use completion_training::CompletionTraining;
pub(crate) use flow_networks::Latent;
pub use point_cloud_completer::{FittedPointCloudCompleter, PointCloudCompleter};
