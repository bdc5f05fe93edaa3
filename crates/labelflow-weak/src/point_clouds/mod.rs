//! Point clouds: shapes made of parts, partial clouds cut from them, nearest neighbours, and the measures of completion.
//!
//! | to | use |
//! |---|---|
//! | hold a cloud as it was measured, with parts, normals and colours | [`PointCloud`] |
//! | bring it into the frame of a shape, and back | [`Normalization`] |
//! | hold coordinates to compute with | [`PointSet`] |
//! | hold a shape with a part for each point | [`Shape`] |
//! | take away random parts of it | [`PartialCut`] |
//! | have more or fewer points | [`resample`], [`farthest_points`] |
//! | find nearest neighbours | [`NearestTree`]; the k nearest: [`NearestTree::nearest_neighbors`] |
//! | compare two clouds | [`Chamfer`], [`directed_hausdorff`], [`FScore`], [`exact_earth_movers_distance`], [`auction_earth_movers_distance`], [`AnnealedMatching`] |
//! | compare sets of clouds | [`minimum_matching_distance`], [`total_mutual_difference`], [`unidirectional_hausdorff`] |
//! | know what a perfect method would score | [`SamplingFloor`] |
//! | print a table's row | [`CompletionScores`] |
//!
//! Everything random comes from [`shape_stream`], which depends on a seed, the name of a shape and a purpose: neither the
//! order in which shapes are visited nor the number of threads changes a result.

mod annealed_matching;
mod chamfer;
mod completion_scores;
mod earth_movers;
mod f_score;
mod hausdorff;
mod matching_distance;
mod mutual_difference;
mod nearest_neighbors;
mod nearest_tree;
mod normalization;
mod part_cut;
mod point_cloud;
mod point_set;
mod resampling;
mod sampling_floor;
mod shape;
mod shape_stream;

pub use annealed_matching::AnnealedMatching;
pub use chamfer::Chamfer;
pub use completion_scores::{CompletionScores, MMD_UNIT, TMD_UNIT, UHD_UNIT};
pub use earth_movers::{MovingCost, auction_earth_movers_distance, exact_earth_movers_distance};
pub use f_score::{FScore, share_within};
pub use hausdorff::{FarthestPair, directed_hausdorff, unidirectional_hausdorff};
pub use matching_distance::{MatchingDistance, minimum_matching_distance};
pub use mutual_difference::{mutual_difference, total_mutual_difference};
pub use nearest_neighbors::Neighbor;
pub use nearest_tree::NearestTree;
pub use normalization::Normalization;
pub use part_cut::{PartialCloud, PartialCut};
pub use point_cloud::PointCloud;
pub use point_set::PointSet;
pub use resampling::{farthest_points, resample};
pub use sampling_floor::SamplingFloor;
pub use shape::Shape;
pub use shape_stream::shape_stream;
