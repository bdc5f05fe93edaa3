//! pcl2pcl, mm-pcl2pcl and mm-pcl2pcl-im: completion of the codes of an autoencoder.

pub(crate) mod code_batch;
mod code_completer;
mod code_network;
mod code_players_stage;
mod code_stage;
pub(crate) mod code_training;
pub(crate) mod earth_movers_loss;
mod point_variational_autoencoder;

pub use code_completer::{CodeCompleter, FittedCodeCompleter};
pub use code_network::CodeNetwork;
