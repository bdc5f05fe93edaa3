//! The label learning flow for point clouds.

mod completion_batch;
mod completion_network;
pub(crate) mod completion_objective;
mod completion_training;
mod discriminator;
mod flow_stage;
mod generator_step;
pub(crate) mod latent_encoder;
mod point_cloud_completer;

pub use completion_training::CompletionTraining;
pub use point_cloud_completer::{FittedPointCloudCompleter, PointCloudCompleter};
