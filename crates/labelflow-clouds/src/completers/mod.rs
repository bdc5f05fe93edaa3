//! Completion without pairs: partial scans and unrelated complete shapes in, several complete clouds for each scan out.
//!
//! A completer is a folder: `flow` is the label learning flow, `codes` the three pcl2pcl systems, `inversion` shape-inversion,
//! `transfer` KT-Net. They share `stages` (training) and `networks`.

mod any_completer;
pub(crate) mod codes;
mod completer;
mod completion_dataset;
mod completion_method;
mod completion_options;
pub(crate) mod flow;
mod frame_search;
pub(crate) mod inversion;
pub(crate) mod networks;
mod saved_completers;
mod settings_check;
pub(crate) mod stages;
pub(crate) mod transfer;

pub use any_completer::{AnyCompleter, AnyCompletionLearner};
pub use codes::{CodeCompleter, CodeNetwork, FittedCodeCompleter};
pub use completer::{Completer, CompletionLearner};
pub use completion_dataset::CompletionDataset;
pub use completion_method::CompletionMethod;
pub use completion_options::{CompletionOptions, LatentSource};
pub use flow::{CompletionTraining, FittedPointCloudCompleter, Players, PointCloudCompleter};
pub use frame_search::{FrameSearch, ScanFrame};
pub use inversion::{FittedShapeInversion, Inversion, ShapeInversion, TreePlayers};
pub use stages::StageTraining;
pub use transfer::{FittedKnowledgeTransfer, KnowledgeTransfer, TransferPlayers};
