//! KT-Net: knowledge of complete clouds, transferred to partial ones.

mod knowledge_transfer;
mod spectral_layers;
mod transfer_network;
mod transfer_training;

pub use knowledge_transfer::{FittedKnowledgeTransfer, KnowledgeTransfer};
