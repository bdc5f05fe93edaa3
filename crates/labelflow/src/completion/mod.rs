//! Point cloud completion without pairs: partial scans and unrelated complete shapes in, several complete clouds for each scan out.
//!
//! | file | holds |
//! |---|---|
//! | `point_cloud_completer.rs` | the learner and the fitted completer |
//! | `completion_dataset.rs`, `completion_batch.rs` | what it learns from, and what a step sees |
//! | `completion_network.rs` | the generator: `point_features.rs`, `latent_encoder.rs` and the flow |
//! | `discriminator.rs` | the other player |
//! | `completion_objective.rs`, `nearest_points.rs` | what both minimise |
//! | `generator_step.rs` | the generator's gradient, partly by hand |
//! | `completion_training.rs` | the loop |
//! | `completion_options.rs` | what users choose when completing |
//! | `frame_search.rs` | where a scan lies in the frame of the shapes |

mod completion_batch;
mod completion_dataset;
mod completion_network;
mod completion_objective;
mod completion_options;
mod completion_training;
mod discriminator;
mod frame_search;
mod generator_step;
mod latent_encoder;
mod nearest_points;
mod point_cloud_completer;
mod point_features;

pub use completion_dataset::CompletionDataset;
pub use completion_options::{CompletionOptions, LatentSource};
pub use completion_training::CompletionTraining;
pub use frame_search::{FrameSearch, ScanFrame};
pub use point_cloud_completer::{FittedPointCloudCompleter, PointCloudCompleter};

pub(crate) use completion_training::Players;
