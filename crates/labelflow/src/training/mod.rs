//! Training: the objective, the optimiser, batches, epochs, and what observes them.

pub(crate) mod adam;
pub(crate) mod batch;
mod device;
mod epoch_log;
pub(crate) mod epochs;
mod flat_module;
#[cfg(test)]
mod golden;
mod objective;
mod observer;
mod recorded_training;
pub(crate) mod train;
mod weight_decay;

pub use adam::{Adam, AdamState, AdamVectors, add_flat, flat_gradient, flat_gradients};
pub use batch::{Batch, Rows};
pub use device::DeviceKind;
pub use epoch_log::{EpochLog, TrainingState};
pub use flat_module::FlatModule;
/// The random numbers that a purpose draws for the n-th time.
pub use labelflow_weak::numerics::indexed_stream as stream;
pub use objective::{Objective, ObjectiveValue};
pub use observer::{CheckpointFile, EpochEvent, Observer, TimeLimit};
pub use train::{BatchSize, EpochRecord, Preset, Report, StopReason, TrainConfig};
