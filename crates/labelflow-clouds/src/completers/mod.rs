//! Completion without pairs: partial scans and unrelated complete shapes in, several complete clouds for each scan out.
//!
//! A completer is a folder: `flow` is the label learning flow, `codes` the three pcl2pcl systems, `inversion` shape-inversion,
//! `transfer` KT-Net. They share `stages` (training) and `networks`. Each implements [`CompletionLearner`] for its settings and
//! [`Completer`] for its trained model, and is one line of the list in `any_completer`.

mod any_completer;
mod codes;
mod completer;
mod completion_dataset;
mod fitted_completer;
mod flow;
mod frame_search;
mod inversion;
mod networks;
mod older_names;
mod scan_input;
mod settings_check;
mod stages;
mod transfer;

pub use any_completer::{AnyCompleter, AnyCompletionLearner};
pub(crate) use codes::CodeNetwork;
pub use codes::{CodeCompleter, FittedCodeCompleter};
pub use completer::{CommonSettings, Completer, CompletionLearner, CompletionOptions, LatentSource, System};
pub use completion_dataset::CompletionDataset;
pub use fitted_completer::FittedCompleter;
pub use flow::{CompletionTraining, FittedPointCloudCompleter, PointCloudCompleter};
pub use frame_search::{FrameSearch, ScanFrame};
pub use inversion::{FittedShapeInversion, Inversion, ShapeInversion};
pub use stages::StageTraining;
pub use transfer::{FittedKnowledgeTransfer, KnowledgeTransfer};
