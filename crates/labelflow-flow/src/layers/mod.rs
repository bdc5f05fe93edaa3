//! The layers that maps are made of, each for several networks at once.

mod activation;
mod conditioner_bank;
mod initializer;
mod linear;
mod normalization;
mod parts;
mod point_layer;

pub use activation::Activation;
pub use conditioner_bank::{ConditionerBank, SecondLayerInit};
pub use initializer::Initializer;
pub use linear::Linear;
pub(crate) use normalization::EPSILON;
pub use normalization::{MOMENTUM, Normalization, StatisticsRecorder, absorb};
pub use parts::max_points;
pub(crate) use parts::{sum_of_products, sum_points};
pub(crate) use point_layer::per_point;
pub use point_layer::{PointLayer, PointLayerConfig, PointNorm};
