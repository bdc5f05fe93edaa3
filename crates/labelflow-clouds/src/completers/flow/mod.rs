//! The label learning flow for point clouds.

pub(crate) mod completion_batch;
mod completion_network;
pub(crate) mod completion_objective;
pub(crate) mod completion_stage;
mod completion_training;
mod discriminator;
mod generator_step;
pub(crate) mod latent_encoder;
mod players_step;
pub(crate) mod point_cloud_completer;

pub use completion_stage::Players;
pub use completion_training::CompletionTraining;
pub use point_cloud_completer::{FittedPointCloudCompleter, PointCloudCompleter};
