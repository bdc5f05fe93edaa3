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
//! | `completion_training.rs`, `completion_stage.rs`, `players_step.rs` | its training: settings, the stage, a step |
//! | `completion_options.rs` | what users choose when completing |
//! | `frame_search.rs` | where a scan lies in the frame of the shapes |
//! | `completer.rs`, `completion_method.rs`, `any_completer.rs` | the traits of all completers, their names, and one type for all of them |
//! | `code_completer.rs` | pcl2pcl, mm-pcl2pcl and mm-pcl2pcl-im: the learner and the fitted completer |
//! | `code_network.rs`, `point_autoencoder.rs`, `point_variational_autoencoder.rs`, `noise_reader.rs`, `dense_layers.rs` | their networks |
//! | `code_batch.rs`, `code_training.rs`, `code_stage.rs`, `code_players_stage.rs`, `stage_training.rs`, `earth_movers_loss.rs` | their training, in stages |
//! | `stage.rs`, `player.rs`, `batch_slots.rs`, `step_numbers.rs` | what every stage of training shares: a step that is recorded on a GPU, and the epochs of it |
//! | `shape_inversion.rs` | shape-inversion: the learner and the fitted completer |
//! | `tree_generator.rs`, `shape_critic.rs` | its networks |
//! | `inversion_training.rs`, `patch_variance.rs` | its training |
//! | `latent_inversion.rs`, `several_nearest.rs` | what it does with a scan |
//! | `knowledge_transfer.rs`, `transfer_network.rs`, `spectral_layers.rs`, `transfer_training.rs` | KT-Net: the learner and the fitted completer, its networks, its training |

mod any_completer;
mod batch_slots;
mod code_batch;
mod code_completer;
mod code_network;
mod code_players_stage;
mod code_stage;
mod code_training;
mod completer;
mod completion_batch;
mod completion_dataset;
mod completion_method;
mod completion_network;
mod completion_objective;
mod completion_options;
mod completion_stage;
mod completion_training;
mod dense_layers;
mod discriminator;
mod earth_movers_loss;
mod frame_search;
mod generator_step;
mod inversion_training;
mod knowledge_transfer;
mod latent_encoder;
mod latent_inversion;
mod nearest_points;
mod noise_reader;
mod patch_variance;
mod player;
mod players_step;
mod point_autoencoder;
mod point_cloud_completer;
mod point_features;
mod point_variational_autoencoder;
mod settings_check;
mod several_nearest;
mod shape_critic;
mod shape_inversion;
mod spectral_layers;
mod stage;
mod stage_training;
mod step_numbers;
mod transfer_network;
mod transfer_training;
mod tree_generator;

pub use any_completer::{AnyCompleter, AnyCompletionLearner};
pub use code_completer::{CodeCompleter, FittedCodeCompleter};
pub use completer::{Completer, CompletionLearner};
pub use completion_dataset::CompletionDataset;
pub use completion_method::CompletionMethod;
pub use completion_options::{CompletionOptions, LatentSource};
pub use completion_training::CompletionTraining;
pub use frame_search::{FrameSearch, ScanFrame};
pub use knowledge_transfer::{FittedKnowledgeTransfer, KnowledgeTransfer};
pub use point_cloud_completer::{FittedPointCloudCompleter, PointCloudCompleter};
pub use shape_inversion::{FittedShapeInversion, Inversion, ShapeInversion};
pub use stage_training::StageTraining;

pub(crate) use code_network::CodeNetwork;
pub(crate) use completion_stage::Players;
pub(crate) use inversion_training::TreePlayers;
pub(crate) use transfer_network::TransferPlayers;
