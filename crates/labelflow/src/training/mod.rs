//! Training: the objective, the optimiser, batches, epochs, and what observes them.

pub(crate) mod adam;
pub(crate) mod batch;
pub(crate) mod course;
mod device;
mod flat_module;
mod foreign_panic;
#[cfg(test)]
mod golden;
mod objective;
mod observer;
mod recorded_training;
pub(crate) mod train;
mod weight_decay;
pub(crate) mod window_pass;

pub use adam::{Adam, AdamState, AdamVectors, add_flat, flat_gradient, flat_gradients};
pub use batch::{Batch, Rows};
pub(crate) use batch::{Tracker, no_labels};
pub(crate) use course::{Course, Start, run_epochs};
pub use device::DeviceKind;
pub use flat_module::FlatModule;
pub use foreign_panic::{becomes_an_error, is_out_of_device_memory};
/// The random numbers that a purpose draws for the n-th time.
pub use labelflow_weak::numerics::indexed_stream as stream;
pub use objective::{Objective, ObjectiveValue};
pub use observer::{CheckpointFile, EpochEvent, EpochLog, Observer, TimeLimit, Trainee, TrainingState};
pub use train::{BatchSize, EpochRecord, Preset, Report, StepNumbers, StopReason, TrainConfig};
pub(crate) use train::{StepInput, bytes_per_row, step};
pub(crate) use weight_decay::shrink_weights;
pub(crate) use window_pass::{Task, Window, Windows, train};
