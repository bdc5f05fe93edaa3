//! Invertible maps from labels to noise and back, given what the features of a row say.

mod affine_map;
mod bijection;
mod chain;
mod coupling;
mod point_coupling;

pub use affine_map::{AffineMap, Composed};
pub(crate) use bijection::FLOOR;
pub use bijection::{Bijection, MAX_LOG_SCALE, Mapped, Mode, bounded_scale};
pub use chain::{Chain, fold_inverse};
pub use coupling::Coupling;
pub(crate) use coupling::{GAIN_FLOOR, N_HEADS, block_of, gain_and_offset};
pub(crate) use point_coupling::{Axes, add, to_axes, to_points, to_rows};
pub use point_coupling::{N_AXES, PointCoupling};
