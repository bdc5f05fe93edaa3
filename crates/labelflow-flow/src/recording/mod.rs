//! Training steps that cost a GPU few launches: recorded as a graph, with one vector of weights and a way back written by hand.

mod flat;
mod point_tape;
#[allow(clippy::module_inception, reason = "the room is named for its main type")]
mod recording;

pub use flat::{flat_batch_statistics, flat_statistics, flat_weights, with_flat_statistics, with_flat_weights};
pub use point_tape::{PointGradients, PointTape, generate_with_tape};
pub use recording::{NOT_RECORDED, Recording, Slot, SlotKind, records};
