//! Clouds, shapes made of parts, frames, nearest neighbours, and partial clouds.

mod nearest_neighbors;
pub(crate) mod nearest_tree;
mod normalization;
mod part_cut;
mod point_cloud;
mod point_set;
mod resampling;
mod shape;

pub use nearest_neighbors::Neighbor;
pub use nearest_tree::NearestTree;
pub use normalization::Normalization;
pub use part_cut::{PartialCloud, PartialCut};
pub use point_cloud::PointCloud;
pub use point_set::PointSet;
#[cfg(feature = "completers")]
pub(crate) use resampling::farthest_apart;
pub use resampling::{farthest_points, resample};
pub use shape::{Shape, shape_stream};
