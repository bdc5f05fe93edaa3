//! pcl2pcl, mm-pcl2pcl and mm-pcl2pcl-im: completion of the codes of an autoencoder.

mod code_adversarial_stage;
mod code_completer;
mod code_models;
mod code_network;
mod code_stage;
mod code_training;

pub use code_completer::{CodeCompleter, FittedCodeCompleter};
pub(crate) use code_network::CodeNetwork;
