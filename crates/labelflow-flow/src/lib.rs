//! Conditional bijections and densities on any device that burn supports. Knows nothing of weak supervision.
//!
//! A [`Bijection`] maps labels to noise and back, given what a row's features say; both directions return the value and
//! the logarithm of the Jacobian's determinant. A [`Chain`] of bijections is a fold, its inverse the reversed fold. A
//! [`Flow`] is a chain, the [`ConditionerBank`] that evaluates all its feature-side networks at once, and a standard
//! normal base density.
//!
//! | bijection | warps |
//! |---|---|
//! | [`Coupling`] | one label given the other labels and the features |
//! | [`AffineMap`] | all labels given the features alone |
//! | [`PointCoupling`] | one or two axes of each point of a cloud, given the other axes and what is known of the cloud |
//!
//! Nothing is mutated behind a reference: a training pass records batch statistics into a [`StatisticsRecorder`], and
//! [`absorb`] moves the running statistics afterwards.

mod activation;
mod affine_map;
mod bijection;
mod bounded_scale;
mod chain;
mod conditioner_bank;
mod coupling;
mod flat;
mod flow;
mod fused;
mod initializer;
mod linear;
mod normalization;
mod parts;
mod point_coupling;
mod point_layer;
mod point_tape;
mod recording;
mod state;

pub use activation::Activation;
pub use affine_map::{AffineMap, AffineMapConfig, Composed};
pub use bijection::{Bijection, Mode};
pub use bounded_scale::bounded_scale;
pub use chain::{Chain, fold_inverse};
pub use conditioner_bank::{ConditionerBank, ConditionerBankConfig, SecondLayerInit};
pub use coupling::{Coupling, CouplingConfig};
pub use flat::{
    flat_batch_statistics, flat_statistics, flat_weights, with_flat_statistics, with_flat_weights,
};
pub use flow::{
    AffineFlowConfig, CouplingFlowConfig, Flow, PointFlowConfig, standard_normal_log_prob,
};
pub use fused::release_buffers;
pub use initializer::Initializer;
pub use linear::Linear;
pub use normalization::{MOMENTUM, Normalization, StatisticsRecorder, absorb};
pub use parts::max_points;
pub use point_coupling::{N_AXES, PointCoupling, PointCouplingConfig};
pub use point_layer::{PointLayer, PointLayerConfig, PointNorm};
pub use point_tape::{PointGradients, PointTape, generate_with_tape};
pub use recording::{NOT_RECORDED, Recording, Slot, SlotKind, records};
pub use state::{State, StateError, load_state, n_parameters, state};
