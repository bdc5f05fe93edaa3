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

mod bijections;
mod flow;
mod fused;
mod layers;
mod recording;
mod state;

pub use bijections::{
    AffineMap, Bijection, Chain, Composed, Coupling, MAX_LOG_SCALE, Mapped, Mode, N_AXES, PointCoupling, bounded_scale,
    fold_inverse,
};
pub use flow::{AffineFlowConfig, CouplingFlowConfig, Flow, PointFlowConfig, standard_normal_log_prob};
pub use fused::release_buffers;
pub use layers::{
    Activation, ConditionerBank, Initializer, Linear, MOMENTUM, Normalization, PointLayer, PointLayerConfig, PointNorm,
    SecondLayerInit, StatisticsRecorder, absorb, max_points,
};
pub use recording::{
    NOT_RECORDED, PointGradients, PointTape, Recording, Slot, SlotKind, flat_batch_statistics, flat_statistics,
    flat_weights, generate_with_tape, records, with_flat_statistics, with_flat_weights,
};
pub use state::{State, StateError, load_state, n_parameters, state};
